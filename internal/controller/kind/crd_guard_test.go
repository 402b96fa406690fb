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
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
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

// TestFormerMarkCounts checks that a mark of an earlier release counts after an upgrade.
func TestFormerMarkCounts(t *testing.T) {
	m := newMachine()
	m.SetAnnotations(map[string]string{"proxmox.vitistack.io/outlived-definition": "true"})
	c := kube(t, m)
	m = machine(t, c)
	if err := RenameAnnotations(t.Context(), c, m, FormerAnnotations()); err != nil {
		t.Fatal(err)
	}
	now := metav1.Now()
	m.SetDeletionTimestamp(&now)
	next := &destroyer{}
	guarded := guardedClient[*cluster.Machine]{TypedExternalClient: next, crd: crdGuard{
		discovery: verbs{"create", "get"}, kind: cluster.MachineGroupVersionKind,
	}}
	if _, err := guarded.Delete(t.Context(), m); err == nil || next.count != 0 {
		t.Errorf("want nothing destroyed, got %d and error %v", next.count, err)
	}
	if want, got := map[string]string{AnnotationOrphaned: "true"}, machine(t, c).GetAnnotations(); !maps.Equal(want, got) {
		t.Errorf("want %q in the API, got %q", want, got)
	}
}

func TestDepartures(t *testing.T) {
	noon := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	at := func(s int) *metav1.Time { return &metav1.Time{Time: noon.Add(time.Duration(s) * time.Second)} }
	boom := errors.New("boom")
	cases := map[string]struct {
		reason     string
		asked      *metav1.Time
		made       *metav1.Time
		definition *metav1.Time
		err        error
		destroyed  int
	}{
		"Stays":     {reason: "A kind that stays is no reason to keep anything.", asked: at(0), destroyed: 1},
		"Before":    {reason: "What somebody has deleted before the kind went is to be destroyed.", asked: at(0), definition: at(31), destroyed: 1},
		"Skewed":    {reason: "The clock of the API server that deletes the resources may be behind.", asked: at(0), definition: at(30)},
		"SameTime":  {reason: "Times are whole seconds, and the definition is marked first.", asked: at(1), definition: at(1)},
		"After":     {reason: "What was deleted later was deleted by Kubernetes.", asked: at(2), definition: at(1)},
		"Replaced":  {reason: "What was deleted before the kind came is from the time of an earlier definition.", asked: at(0), made: at(1)},
		"Together":  {reason: "Times are whole seconds.", asked: at(1), made: at(1)},
		"Older":     {reason: "What is deleted after the kind came is to be destroyed.", asked: at(2), made: at(1), destroyed: 1},
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
					if tc.made != nil {
						obj.SetCreationTimestamp(*tc.made)
					}
					return tc.err
				},
			})
			mapper := meta.NewDefaultRESTMapper(nil)
			mapper.Add(cluster.MachineGroupVersionKind, meta.RESTScopeRoot)
			next := &destroyer{}
			c := guardedClient[*cluster.Machine]{TypedExternalClient: next, crd: crdGuard{
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

// TestDefinitionReadOnce checks that the definition is read once for all resources that are deleted in the cache, and again for one that is to be
// kept.
func TestDefinitionReadOnce(t *testing.T) {
	noon := metav1.NewTime(time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC))
	reads, goes := 0, (*metav1.Time)(nil)
	reader := interceptor.NewClient(nil, interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, _ client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
			reads++
			obj.SetDeletionTimestamp(goes)
			return nil
		},
	})
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(cluster.MachineGroupVersionKind, meta.RESTScopeRoot)
	deleted := func(uid types.UID) *cluster.Machine {
		m := &cluster.Machine{}
		m.SetUID(uid)
		m.SetDeletionTimestamp(&noon)
		return m
	}
	present := &cluster.Machine{}
	present.SetUID("e")
	var cached []resource.Managed
	guard := crdGuard{
		reader: reader, mapper: mapper, kind: cluster.MachineGroupVersionKind, requested: lru.New(mostRequested),
		listed: func(context.Context) ([]resource.Managed, error) {
			if cached == nil {
				return nil, errors.New("boom")
			}
			return cached, nil
		},
	}
	for _, step := range []struct {
		reason string
		uid    types.UID
		cached []resource.Managed
		goes   *metav1.Time
		reads  int
		kept   bool
	}{
		{reason: "The definition is read for a deletion that nothing is known of.", uid: "a", reads: 1},
		{reason: "A deletion that was asked for is not looked at again.", uid: "a", reads: 1},
		{reason: "A deletion that was asked for stays so when the kind goes afterwards.", uid: "a", goes: &noon, reads: 1},
		{reason: "What was read for one resource says nothing of another.", uid: "b", goes: &noon, reads: 2, kept: true},
		{reason: "What is kept is looked at again each time.", uid: "b", goes: &noon, reads: 3, kept: true},
		{reason: "Nothing is remembered of what has no UID.", goes: &noon, reads: 4, kept: true},
		{reason: "What the cache shows as deleted is judged at the same time.", uid: "c", cached: []resource.Managed{deleted("d"), present}, reads: 5},
		{reason: "What was judged with another is not looked at again.", uid: "d", goes: &noon, reads: 5},
		{reason: "What was not deleted when the definition was read is not judged by it.", uid: "e", goes: &noon, reads: 6, kept: true},
		{reason: "What goes with its definition is not remembered.", uid: "f", cached: []resource.Managed{deleted("g")}, goes: &noon, reads: 7, kept: true},
		{reason: "What the cache shows as deleted with its definition is not remembered.", uid: "g", goes: &noon, reads: 8, kept: true},
	} {
		goes, cached = step.goes, step.cached
		if err := guard.deletedWithCRD(t.Context(), deleted(step.uid)); (err != nil) != step.kept || reads != step.reads {
			t.Errorf("%s\nwant %d reads, got %d and error %v", step.reason, step.reads, reads, err)
		}
	}
}

// verbs is the discovery of a group with the kind Machine, for which an API server
// offers these verbs.
type verbs []string

func (v verbs) ServerResourcesForGroupVersion(version string) (*metav1.APIResourceList, error) {
	if len(v) == 0 {
		return nil, errors.Errorf("boom: %s", version)
	}
	return &metav1.APIResourceList{APIResources: []metav1.APIResource{
		{Name: "proxmoxnodes", Kind: "ProxmoxNode", Verbs: []string{"create"}},
		{Name: "machines/status", Kind: "Machine", Verbs: []string{"get", "patch", "update"}},
		{Name: "machines", Kind: "Machine", Verbs: metav1.Verbs(v)},
	}}, nil
}

func (v verbs) ServerGroupsAndResources() ([]*metav1.APIGroup, []*metav1.APIResourceList, error) {
	return nil, nil, errors.New("unexpected question")
}

func (v verbs) ServerPreferredResources() ([]*metav1.APIResourceList, error) {
	return nil, errors.New("unexpected question")
}

func (v verbs) ServerPreferredNamespacedResources() ([]*metav1.APIResourceList, error) {
	return nil, errors.New("unexpected question")
}

// patched accepts every patch.
type patched struct{ client.Client }

func (patched) Patch(context.Context, client.Object, client.Patch, ...client.PatchOption) error {
	return nil
}

// late is the discovery of an API server that learns of a deletion between two requests.
type late struct {
	verbs

	asked int
}

func (l *late) ServerResourcesForGroupVersion(version string) (*metav1.APIResourceList, error) {
	l.asked++
	if l.asked == 1 {
		return verbs{"create"}.ServerResourcesForGroupVersion(version)
	}
	return l.verbs.ServerResourcesForGroupVersion(version)
}

func TestLateDiscovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := &destroyer{}
		c := guardedClient[*cluster.Machine]{TypedExternalClient: next, crd: crdGuard{
			discovery: &late{verbs: verbs{"get"}}, kind: cluster.MachineGroupVersionKind, writer: patched{},
		}}
		m := &cluster.Machine{}
		m.SetDeletionTimestamp(&metav1.Time{Time: time.Now()})
		if _, err := c.Delete(t.Context(), m); err == nil || next.count != 0 || m.GetAnnotations()[AnnotationOrphaned] == "" {
			t.Errorf("Delete() before discovery knows: destroyed %d, error %v, annotations %v", next.count, err, m.GetAnnotations())
		}
	})
}

func TestDeparturesByDiscovery(t *testing.T) {
	going := verbs{"delete", "deletecollection", "get", "list", "watch"}
	staying := append(verbs{"create", "patch", "update"}, going...)
	group := cluster.MachineGroupVersionKind
	other := group
	other.Kind = "Volume"
	cases := map[string]struct {
		reason    string
		kind      schema.GroupVersionKind
		verbs     verbs
		age       time.Duration
		asked     bool
		marked    bool
		destroyed int
		waits     time.Duration
		marks     bool
	}{
		"Stays": {reason: "What can be created stays.", kind: group, verbs: staying, asked: true, age: time.Minute, destroyed: 1},
		"Goes":  {reason: "What can no longer be created goes.", kind: group, verbs: going, asked: true, age: time.Minute, marks: true},
		"Young": {reason: "What is known at once needs no time.", kind: group, verbs: going, asked: true, marks: true},
		"Marked": {
			reason: "What has outlived its definition stays when there is another.", kind: group, verbs: staying, asked: true, age: time.Minute,
			marked: true, marks: true,
		},
		"YoungStay": {reason: "After that time it is believed.", kind: group, verbs: staying, asked: true, age: 2 * time.Second, destroyed: 1, waits: time.Second},
		"Ahead": {
			reason: "A wrong clock does not make it wait for long.", kind: group, verbs: staying, asked: true, age: -time.Hour, destroyed: 1,
			waits: settlingTime,
		},
		"Unknown":   {reason: "Nothing is destroyed as long as it is not known whether the kind goes.", kind: group, asked: true, age: time.Minute},
		"Gone":      {reason: "Nothing is destroyed of a kind that is not there.", kind: other, verbs: staying, asked: true, age: time.Minute},
		"Reflected": {reason: "A look at a resource that nobody deletes asks nothing.", kind: group, destroyed: 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				next, begin := &destroyer{}, time.Now()
				c := guardedClient[*cluster.Machine]{TypedExternalClient: next, crd: crdGuard{
					discovery: tc.verbs, kind: tc.kind, writer: patched{},
				}}
				m := &cluster.Machine{}
				if tc.marked {
					m.SetAnnotations(map[string]string{AnnotationOrphaned: "true"})
				}
				if tc.asked {
					m.SetDeletionTimestamp(&metav1.Time{Time: begin.Add(-tc.age)})
				}
				_, err := c.Delete(t.Context(), m)
				if next.count != tc.destroyed || (err == nil) != (tc.destroyed == 1) {
					t.Errorf("\n%s\nDelete(): destroyed %d, error %v", tc.reason, next.count, err)
				}
				if marked := m.GetAnnotations()[AnnotationOrphaned] != ""; marked != tc.marks {
					t.Errorf("\n%s\nDelete(): marked %t, want %t", tc.reason, marked, tc.marks)
				}
				if waited := time.Since(begin); waited != tc.waits {
					t.Errorf("\n%s\nDelete(): waited %s, want %s", tc.reason, waited, tc.waits)
				}
			})
		})
	}
}

func TestCRDGuardInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m := &cluster.Machine{}
	m.SetDeletionTimestamp(&metav1.Time{Time: time.Now()})
	next := &destroyer{}
	c := guardedClient[*cluster.Machine]{TypedExternalClient: next, crd: crdGuard{
		discovery: verbs{"create"}, kind: cluster.MachineGroupVersionKind,
	}}
	if _, err := c.Delete(ctx, m); err == nil || next.count != 0 {
		t.Errorf("Delete() when the provider ends: destroyed %d, error %v", next.count, err)
	}
}

func TestWithoutDefinitions(t *testing.T) {
	next := &destroyer{}
	m := &cluster.Machine{}
	m.SetDeletionTimestamp(&metav1.Time{Time: time.Now()})
	c := guardedClient[*cluster.Machine]{TypedExternalClient: next}
	if _, err := c.Delete(t.Context(), m); err != nil || next.count != 1 {
		t.Errorf("Delete() without the right to see definitions: destroyed %d, error %v", next.count, err)
	}
}
