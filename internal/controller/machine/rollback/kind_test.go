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

package rollback

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/act"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
)

// TestRollbackTarget finds which snapshot the spec means.
func TestRollbackTarget(t *testing.T) {
	at := metav1.NewTime(time.Unix(1_700_000_000, 0))
	ready := v1alpha1.SnapshotObservation{Name: "s1", VMUUID: strings.ToUpper(uuid), ReadyToUse: true, Time: &at}
	foreign, begun := ready, ready
	foreign.VMUUID, begun.ReadyToUse = other, false
	cases := map[string]struct {
		reason   string
		snapshot *v1alpha1.SnapshotObservation
		want     request
	}{
		"Name":  {reason: "What is no Snapshot is a name of PVE.", want: request{Snapshot: "before"}},
		"Ready": {reason: "A Snapshot has a name and a time.", snapshot: &ready, want: request{Snapshot: "s1", Taken: at.Time}},
		"Foreign": {
			reason: "A Snapshot has to be of the VM.", snapshot: &foreign,
			want: request{Snapshot: "before", Problem: `Snapshot "before" is not of the VM of this Machine`},
		},
		"Begun": {
			reason:   "A Snapshot has to be there in Proxmox VE.",
			snapshot: &begun, want: request{Snapshot: "before", Problem: `Snapshot "before" is not ready to use`},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			kube := fake.NewClientBuilder().WithScheme(scheme(t)).Build()
			if tc.snapshot != nil {
				s := &namespaced.Snapshot{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "before"}}
				s.Status.AtProvider = *tc.snapshot
				if err := kube.Create(t.Context(), s); err != nil {
					t.Fatal(err)
				}
			}
			m := &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Annotations: map[string]string{object.AnnotationUUID: uuid}}}
			k, q := Kind{Env: act.Env{Kube: kube, GroupVersion: namespaced.SchemeGroupVersion}}, request{}
			if err := k.resolve(t.Context(), m, "before", &q); err != nil {
				t.Fatal(err)
			}
			if !q.Taken.Equal(tc.want.Taken) || q.Snapshot != tc.want.Snapshot || q.Problem != tc.want.Problem {
				t.Errorf("%s\nwant %+v, got %+v", tc.reason, tc.want, q)
			}
		})
	}
}

func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	if err := namespaced.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	return s
}
