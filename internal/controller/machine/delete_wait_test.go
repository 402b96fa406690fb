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

// A Snapshot that is retained holds up the deletion, before the guest is shut down, until it
// is given up.
func TestDeleteHeld(t *testing.T) {
	raw, err := json.Marshal(kind.SnapshotState{UUID: ourUUID, Done: true})
	if err != nil {
		t.Fatal(err)
	}
	retain := v1alpha1.SnapshotRetain
	s := &namespaced.Snapshot{ObjectMeta: metav1.ObjectMeta{
		Namespace: "team", Name: "before-upgrade", Annotations: map[string]string{kind.AnnotationSnapshot: string(raw)},
	}}
	s.Spec.ForProvider.RemovalPolicy = &retain
	scheme := runtime.NewScheme()
	if err := apis.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	kube := fake.NewClientBuilder().WithScheme(scheme).WithObjects(s).Build()
	b := newBench(t, deleted)
	b.vms[10000] = ourVM("running")
	reconcile := func() (string, error) {
		e := b.external()
		e.holds = kind.Holds{Reader: client.Reader(kube), Lists: []resource.ManagedList{&namespaced.SnapshotList{}}}
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
