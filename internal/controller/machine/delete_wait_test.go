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

package machine

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/vitistack/provider-proxmox/apis"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
)

// retainedSnapshot returns a Snapshot that keeps the VM.
func retainedSnapshot(t *testing.T) *namespaced.Snapshot {
	t.Helper()
	raw, err := json.Marshal(kind.SnapshotState{UUID: ourUUID, Done: true})
	if err != nil {
		t.Fatal(err)
	}
	s := &namespaced.Snapshot{ObjectMeta: metav1.ObjectMeta{
		Namespace: "team", Name: "before-upgrade", Annotations: map[string]string{kind.AnnotationSnapshot: string(raw)},
	}}
	s.Spec.ForProvider.RemovalPolicy = new(v1alpha1.SnapshotRetain)
	return s
}

// holding returns a Kubernetes API that has the Snapshots.
func holding(t *testing.T, snapshots ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := apis.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(snapshots...).Build()
}

// TestDeleteHeldUncached checks that a retained Snapshot that the cache does not have yet holds up the call that would destroy its VM.
func TestDeleteHeldUncached(t *testing.T) {
	b := newBench(t, deleted)
	b.vms[10000] = ourVM("stopped")
	e := b.external()
	e.holds = kind.Holds{Reader: holding(t), Direct: holding(t, retainedSnapshot(t)), Lists: []resource.ManagedList{&namespaced.SnapshotList{}}}
	seen := b.reconcileWith(t.Context(), e)
	message := b.m.GetCondition(xpv2.TypeReady).Message
	if seen.err == nil || !strings.Contains(message, "team/before-upgrade") || len(b.writes) > 0 {
		t.Errorf("want the VM kept and the Snapshot named, got %v, %q and %q", seen.err, message, b.writes)
	}
}

// TestDeleteHeld checks that a retained Snapshot holds up the deletion, before the guest is shut down, until it is given up.
func TestDeleteHeld(t *testing.T) {
	s := retainedSnapshot(t)
	kube := holding(t, s)
	b := newBench(t, deleted)
	b.vms[10000] = ourVM("running")
	reconcile := func() (string, error) {
		e := b.external()
		e.holds = kind.Holds{Reader: client.Reader(kube), Direct: client.Reader(kube), Lists: []resource.ManagedList{&namespaced.SnapshotList{}}}
		seen := b.reconcileWith(t.Context(), e)
		return b.m.GetCondition(xpv2.TypeReady).Message, seen.err
	}
	message, err := reconcile()
	if err == nil || !strings.Contains(message, "team/before-upgrade") || len(b.writes) > 0 {
		t.Errorf("want nothing done and the Snapshot named, got %v, %q and %q", err, message, b.writes)
	}
	if err := kube.Delete(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if _, err := reconcile(); err != nil || len(b.writes) != 1 {
		t.Errorf("want the VM shut down then, got %v and %q", err, b.writes)
	}
}
