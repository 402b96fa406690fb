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
	"context"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
)

// destroyer counts what is destroyed.
type destroyer struct {
	managed.TypedExternalClient[*cluster.Machine]

	count int
}

func (d *destroyer) Delete(context.Context, *cluster.Machine) (managed.ExternalDelete, error) {
	d.count++
	return managed.ExternalDelete{}, nil
}

func TestDepartures(t *testing.T) {
	noon := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	at := func(s int) *metav1.Time { return &metav1.Time{Time: noon.Add(time.Duration(s) * time.Second)} }
	boom := errors.New("boom")
	cases := map[string]struct {
		reason     string
		asked      *metav1.Time
		definition *metav1.Time
		err        error
		destroyed  int
	}{
		"Stays":     {reason: "A kind that stays is no reason to keep anything.", asked: at(0), destroyed: 1},
		"Before":    {reason: "What somebody has deleted before the kind went is to be destroyed.", asked: at(0), definition: at(1), destroyed: 1},
		"SameTime":  {reason: "Times are whole seconds, and the definition is marked first.", asked: at(1), definition: at(1)},
		"After":     {reason: "What was deleted later was deleted by Kubernetes.", asked: at(2), definition: at(1)},
		"Unknown":   {reason: "Nothing is destroyed as long as it is not known whether the kind goes.", asked: at(0), err: boom},
		"Reflected": {reason: "A look at a resource that nobody deletes needs no definition.", err: boom, destroyed: 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var asked string
			reader := interceptor.NewClient(nil, interceptor.Funcs{
				Get: func(_ context.Context, _ client.WithWatch, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
					asked = key.Name
					obj.SetDeletionTimestamp(tc.definition)
					return tc.err
				},
			})
			mapper := meta.NewDefaultRESTMapper(nil)
			mapper.Add(cluster.MachineGroupVersionKind, meta.RESTScopeRoot)
			next := &destroyer{}
			c := keepingClient[*cluster.Machine]{TypedExternalClient: next, definition: definition{
				reader: reader, mapper: mapper, kind: cluster.MachineGroupVersionKind,
			}}
			m := &cluster.Machine{}
			m.SetDeletionTimestamp(tc.asked)
			_, err := c.Delete(t.Context(), m)
			if next.count != tc.destroyed || (err == nil) != (tc.destroyed == 1) {
				t.Errorf("\n%s\nDelete(): destroyed %d, error %v", tc.reason, next.count, err)
			}
			if tc.asked != nil && asked != "machines.proxmox.vitistack.io" {
				t.Errorf("\n%s\nDelete() has asked for %q", tc.reason, asked)
			}
		})
	}
}

func TestWithoutDefinitions(t *testing.T) {
	next := &destroyer{}
	m := &cluster.Machine{}
	m.SetDeletionTimestamp(&metav1.Time{Time: time.Now()})
	c := keepingClient[*cluster.Machine]{TypedExternalClient: next}
	if _, err := c.Delete(t.Context(), m); err != nil || next.count != 1 {
		t.Errorf("Delete() without the right to see definitions: destroyed %d, error %v", next.count, err)
	}
}
