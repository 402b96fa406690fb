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
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
)

// TestDeletedTogether checks that a resource can be deleted together with its configuration and Secret, such as when the namespace of all three is
// deleted.
func TestDeletedTogether(t *testing.T) {
	cases := map[string]struct {
		reason string
		// What is deleted in addition to the Secret, and whether the namespace is.
		resource, config, terminating bool
		// held is true if a finalizer keeps the configuration.
		held bool
		// restarted is true if this process of the provider has not connected before.
		restarted bool
		wait      time.Duration
		want      bool
	}{
		"All":       {reason: "What the resource stands for can be removed.", resource: true, config: true, want: true},
		"Held":      {reason: "A configuration that is held back by its finalizer goes all the same.", resource: true, config: true, held: true, want: true},
		"Namespace": {reason: "Nothing can be recorded in a namespace that is deleted.", resource: true, config: true, terminating: true, want: true},
		"Late":      {reason: "A deletion may take some tries.", resource: true, config: true, wait: 9 * time.Minute, want: true},
		"Kept":      {reason: "Credentials that were taken away alone are not used any more.", resource: true},
		"Living":    {reason: "Nothing else can be done to what stays.", config: true},
		"Forgotten": {reason: "Nothing is kept for ever.", resource: true, config: true, wait: 11 * time.Minute},
		"Restarted": {reason: "Nothing is kept but in memory.", resource: true, config: true, restarted: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			ctx, clock, terminating := t.Context(), newClock(), false
			pc, s := namespacedConfigOf("team", "site"), tokenSecretOf("team", "pve")
			if tc.held {
				pc.Finalizers = []string{"example.org/held"}
			}
			c := kube(t, s, pc)
			connector := New(interceptor.NewClient(c, interceptor.Funcs{
				Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
					if terminating {
						return terminatingError()
					}
					return c.Create(ctx, o, opts...)
				},
			}), WithClock(clock.Now))
			mg := namespacedMachine("team", "ProviderConfig", "site")
			if _, err := connector.Connect(ctx, mg); err != nil && !tc.restarted {
				t.Fatal(err)
			}
			if tc.restarted {
				connector = New(c, WithClock(clock.Now))
			}

			gone := []client.Object{s}
			if tc.config {
				gone = append(gone, pc)
			}
			for _, o := range gone {
				if err := c.Delete(ctx, o); err != nil {
					t.Fatal(err)
				}
			}
			if terminating = tc.terminating; terminating {
				if err := c.DeleteAllOf(ctx, &namespaced.ProviderConfigUsage{}, client.InNamespace("team")); err != nil {
					t.Fatal(err)
				}
			}
			if tc.resource {
				mg.SetDeletionTimestamp(&metav1.Time{Time: clock.Now()})
			}
			connector.sweep(ctx)
			for range tc.wait / time.Minute {
				clock.Add(time.Minute)
				connector.sweep(ctx)
			}
			for range 2 {
				clock.Add(defaultMaxAge)
				to, err := connector.Connect(ctx, mg)
				if got := err == nil; got != tc.want || got && len(to.Config.Endpoints) != 1 {
					t.Errorf("\n%s\nwant a connection %t, got error %v", tc.reason, tc.want, err)
				}
			}
		})
	}
}

// terminatingError returns the error of an API server for creating an object in a namespace that is being deleted.
func terminatingError() error {
	err := kerrors.NewForbidden(schema.GroupResource{Resource: "providerconfigusages"}, "u", nil)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	return err
}
