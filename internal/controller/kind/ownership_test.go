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
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	kerrors "k8s.io/apimachinery/pkg/api/errors"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
)

func TestIntent(t *testing.T) {
	c := kube(t, newMachine())
	m := machine(t, c)
	want := Intent{Name: "web", Options: map[string]string{"comment": "a,b=c"}}
	if err := NoteIntent(t.Context(), c, m, want); err != nil {
		t.Fatal(err)
	}
	for where, mg := range map[string]*cluster.Machine{"in memory": m, "in the API": machine(t, c)} {
		got, ok := IntentOf(mg)
		if diff := cmp.Diff(want, got); !ok || diff != "" {
			t.Errorf("IntentOf(): %s: -want, +got:\n%s", where, diff)
		}
	}
	stale := machine(t, c)
	if err := Own(t.Context(), c, m, "web", map[string]string{"where": "lab"}); err != nil {
		t.Fatal(err)
	}
	annotations := map[string]string{"mine": "1", "where": "lab", meta.AnnotationKeyExternalName: "web"}
	if diff := cmp.Diff(annotations, machine(t, c).GetAnnotations()); diff != "" {
		t.Errorf("Own(): -want, +got:\n%s", diff)
	}
	if err := DropIntent(t.Context(), c, stale); !kerrors.IsConflict(err) {
		t.Errorf("DropIntent(): want a conflict for an object that has changed, got: %v", err)
	}
	if err := c.Status().Update(t.Context(), m); err != nil {
		t.Errorf("Own(): the object must be good for the next write, got: %v", err)
	}
}

func TestDropIntent(t *testing.T) {
	c := kube(t, newMachine())
	m := machine(t, c)
	if err := NoteIntent(t.Context(), c, m, Intent{Name: "web"}); err != nil {
		t.Fatal(err)
	}
	if err := DropIntent(t.Context(), c, m); err != nil {
		t.Fatal(err)
	}
	if _, ok := IntentOf(machine(t, c)); ok {
		t.Error("DropIntent(): want no intent in the API")
	}
}

func TestMayChange(t *testing.T) {
	cases := map[string]struct {
		reason   string
		policies xpv2.ManagementPolicies
		want     bool
	}{
		"Default": {reason: "Without policies everything is allowed.", want: true},
		"Observe": {reason: "Observe alone changes nothing.", policies: xpv2.ManagementPolicies{xpv2.ManagementActionObserve}},
		"Deletion": {
			reason:   "A resource that may delete changes something.",
			policies: xpv2.ManagementPolicies{xpv2.ManagementActionObserve, xpv2.ManagementActionDelete}, want: true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m := newMachine()
			m.SetManagementPolicies(tc.policies)
			if got := MayChange(m); got != tc.want {
				t.Errorf("%s MayChange(): want %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}
