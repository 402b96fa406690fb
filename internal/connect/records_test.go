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

package connect

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

func TestRecordKey(t *testing.T) {
	api := kube(t)
	first, second := recordKey{namespace: "system"}, recordKey{namespace: "system"}
	key, err := first.get(t.Context(), api)
	if err != nil || len(key) != recordKeySize {
		t.Fatalf("want a key, got %d bytes, %v", len(key), err)
	}
	if other, err := second.get(t.Context(), api); err != nil || !bytes.Equal(key, other) {
		t.Errorf("want another replica to have the same key: %v", err)
	}
	if none, err := (&recordKey{}).get(t.Context(), api); none != nil || err != nil {
		t.Errorf("want no key without a namespace, got %v", err)
	}
}

// TestRecordKeyRace lets another replica create the key meanwhile.
func TestRecordKeyRace(t *testing.T) {
	others := bytes.Repeat([]byte("k"), recordKeySize)
	api := interceptor.NewClient(kube(t), interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: o.GetNamespace(), Name: o.GetName()}, Data: map[string][]byte{recordDataKey: others}}
			if err := c.Create(ctx, s); err != nil {
				return err
			}
			return c.Create(ctx, o, opts...)
		},
	})
	r := recordKey{namespace: "system"}
	if key, err := r.get(t.Context(), api); err != nil || !bytes.Equal(key, others) {
		t.Errorf("want the key that was there first: %v", err)
	}
}

func TestRecordKeyFails(t *testing.T) {
	short := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: recordSecret}, Data: map[string][]byte{recordDataKey: []byte(hidden)}}
	r := recordKey{namespace: "system"}
	if _, err := r.get(t.Context(), kube(t, short)); err == nil || !strings.Contains(err.Error(), "less than 32 bytes") || strings.Contains(err.Error(), hidden) {
		t.Errorf("want a short key refused, got %v", err)
	}
	refuses := interceptor.NewClient(kube(t), interceptor.Funcs{
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
			return errors.New("forbidden")
		},
	})
	const want = `cannot read or make Secret "provider-proxmox-records" in namespace "system"`
	if _, err := r.get(t.Context(), refuses); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("want it told what is missing, got %v", err)
	}
}
