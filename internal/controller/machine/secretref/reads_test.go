/*
Copyright 2026 The provider-proxmox Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package secretref

import (
	"context"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// A countingReader counts reads, and fails on demand.
type countingReader struct {
	client.Client

	reads int
	err   error
}

func (c *countingReader) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	c.reads++
	if c.err != nil {
		return c.err
	}
	return c.Client.Get(ctx, key, o, opts...)
}

func TestReads(t *testing.T) {
	key := client.ObjectKey{Namespace: "team", Name: "data"}
	at := metav1.ObjectMeta{Namespace: "team", Name: "data"}
	for name, tc := range map[string]struct {
		reason string
		change func(t *testing.T, c *countingReader, now *Reads)
		same   bool
		reads  int // of the objects in question, by the comparison alone
	}{
		"Same": {reason: "What is as it was is read once for each object.", same: true, reads: 2, change: func(*testing.T, *countingReader, *Reads) {}},
		"Secret": {reason: "A changed Secret is another version.", reads: 1, change: func(t *testing.T, c *countingReader, now *Reads) {
			t.Helper()
			update(t, c, &corev1.Secret{ObjectMeta: at, Data: map[string][]byte{"a": []byte("b")}})
			get(t, now, key, &corev1.ConfigMap{})
		}},
		"ConfigMap": {reason: "A changed ConfigMap is another version.", reads: 1, change: func(t *testing.T, c *countingReader, now *Reads) {
			t.Helper()
			update(t, c, &corev1.ConfigMap{ObjectMeta: at, Data: map[string]string{"a": "b"}})
			get(t, now, key, &corev1.Secret{})
		}},
		"Gone": {reason: "An object that is gone has no version.", reads: 1, change: func(t *testing.T, c *countingReader, now *Reads) {
			t.Helper()
			if err := c.Delete(t.Context(), &corev1.Secret{ObjectMeta: at}); err != nil {
				t.Fatal(err)
			}
			get(t, now, key, &corev1.ConfigMap{})
		}},
		"Unreadable": {reason: "What cannot be read may have changed.", reads: 1, change: func(_ *testing.T, c *countingReader, _ *Reads) {
			c.err = errors.New("no answer")
		}},
		"Read": {reason: "What was read is not read again.", same: true, change: func(t *testing.T, _ *countingReader, now *Reads) {
			t.Helper()
			get(t, now, key, &corev1.Secret{})
			get(t, now, key, &corev1.ConfigMap{})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c := &countingReader{Client: fake.NewClientBuilder().WithObjects(&corev1.Secret{ObjectMeta: at}, &corev1.ConfigMap{ObjectMeta: at}).Build()}
			before, now := NewReads(c), NewReads(c)
			get(t, before, key, &corev1.Secret{})
			get(t, before, key, &corev1.ConfigMap{})
			tc.change(t, c, now)
			c.reads = 0
			if same := now.Unchanged(t.Context(), before.Versions()); same != tc.same || c.reads != tc.reads {
				t.Errorf("%s\nwant unchanged %t after %d reads, got %t after %d", tc.reason, tc.same, tc.reads, same, c.reads)
			}
		})
	}
}

// TestReadsWhileItChanges checks that an object that changes between two reads of one reconcile counts with its first version, because that was used.
func TestReadsWhileItChanges(t *testing.T) {
	at := metav1.ObjectMeta{Namespace: "team", Name: "data"}
	c := &countingReader{Client: fake.NewClientBuilder().WithObjects(&corev1.Secret{ObjectMeta: at}).Build()}
	before := NewReads(c)
	get(t, before, client.ObjectKeyFromObject(&corev1.Secret{ObjectMeta: at}), &corev1.Secret{})
	update(t, c, &corev1.Secret{ObjectMeta: at, Data: map[string][]byte{"a": []byte("b")}})
	get(t, before, client.ObjectKeyFromObject(&corev1.Secret{ObjectMeta: at}), &corev1.Secret{})
	if NewReads(c).Unchanged(t.Context(), before.Versions()) {
		t.Error("The Secret was another one when it was read first.")
	}
}

func update(t *testing.T, c client.Client, o client.Object) {
	t.Helper()
	if err := c.Update(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

// get reads an object, which may not exist.
func get(t *testing.T, r *Reads, key client.ObjectKey, o client.Object) {
	t.Helper()
	if err := client.IgnoreNotFound(r.Get(t.Context(), key, o)); err != nil {
		t.Fatal(err)
	}
}
