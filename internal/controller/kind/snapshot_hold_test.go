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

package kind

import (
	"encoding/json"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/vitistack/provider-proxmox/apis"
	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

func TestHolds(t *testing.T) {
	const uuid = "AAAAAAAA-2222-4333-8444-555555555555"
	taken := SnapshotState{UUID: "aaaaaaaa-2222-4333-8444-555555555555", Begun: 1, Done: true}
	begun, isGone, other, never := taken, taken, taken, taken
	begun.Done, isGone.Gone, other.UUID, never.Begun, never.Done = false, true, "bbbbbbbb-2222-4333-8444-555555555555", 0, false
	retain := v1alpha1.SnapshotRetain
	now := metav1.Now()
	cases := map[string]struct {
		reason  string
		state   *SnapshotState
		policy  *v1alpha1.SnapshotRemovalPolicy
		deleted bool
		lost    bool
		want    []string
	}{
		"Retained": {reason: "A snapshot that is retained holds up its VM.", state: &taken, policy: &retain, want: []string{"team/s1"}},
		"Begun":    {reason: "A snapshot that may be there holds up its VM.", state: &begun, policy: &retain, want: []string{"team/s1"}},
		"Lost": {
			reason: "A snapshot whose annotations a full update has removed holds up its VM.",
			state:  &taken, policy: &retain, lost: true, want: []string{"team/s1"},
		},
		"Default": {reason: "Others go with the VM.", state: &taken},
		"Never":   {reason: "What was never taken holds up nothing.", policy: &retain},
		"Failed":  {reason: "What could not be taken holds up nothing.", state: &never, policy: &retain},
		"Gone":    {reason: "A snapshot that is gone holds up nothing.", state: &isGone, policy: &retain},
		"Other":   {reason: "A snapshot of another VM holds up nothing.", state: &other, policy: &retain},
		"Deleted": {reason: "A snapshot that is given up holds up nothing.", state: &taken, policy: &retain, deleted: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := &namespaced.Snapshot{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "s1"}}
			s.Spec.ForProvider.RemovalPolicy = tc.policy
			if tc.state != nil {
				raw, err := json.Marshal(tc.state)
				if err != nil {
					t.Fatal(err)
				}
				s.Annotations = map[string]string{AnnotationSnapshot: string(raw)}
			}
			if tc.lost {
				s.Annotations, s.Status.AtProvider.Annotations = nil, s.Annotations
			}
			if tc.deleted {
				s.Finalizers, s.DeletionTimestamp = []string{"test/keep"}, &now
			}
			scheme := runtime.NewScheme()
			if err := apis.AddToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			h := Holds{
				Reader: fake.NewClientBuilder().WithScheme(scheme).WithObjects(s).Build(),
				Lists:  []resource.ManagedList{&cluster.SnapshotList{}, &namespaced.SnapshotList{}},
			}
			got, err := h.Of(t.Context(), uuid)
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Errorf("%s\nOf(): %v, -want, +got:\n%s", tc.reason, err, diff)
			}
			if none, err := h.Of(t.Context(), ""); len(none) > 0 || err != nil {
				t.Errorf("%s\na VM without a UUID has none: %q, %v", tc.reason, none, err)
			}
		})
	}
	if names, err := (Holds{}).Of(t.Context(), uuid); len(names) > 0 || err != nil {
		t.Errorf("the zero value finds none: %q, %v", names, err)
	}
}

func TestHeld(t *testing.T) {
	held := Held(errors.New("no"))
	if !isHeld(errors.Wrap(held, "x")) || isHeld(errors.New("no")) || held.Error() != "no" {
		t.Error("an error of Held is one, with its text")
	}
	if d := newBackoffReconciler(nil, nobody, nobody, even, atOnce).delay(reconcile.Request{}, held); d != shortestBackoff {
		t.Errorf("it is tried again soon, after %s, got %s", shortestBackoff, d)
	}
}
