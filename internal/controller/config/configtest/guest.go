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

package configtest

import (
	"reflect"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/google/go-cmp/cmp"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind/target"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// The VM of a Guest.
const (
	VMID = 500
	UUID = "11111111-2222-4333-8444-555555555555"
)

// GuestRef returns the reference to the VM.
func GuestRef() proxmox.Ref { return proxmox.Ref{Node: "pve1", VMID: VMID} }

// A Guest is a Runner whose cluster has a VM, for kinds whose resources are copies of the VM.
type Guest struct{ *Runner }

// NewGuest returns a Guest for a kind.
func NewGuest(t *testing.T, setup Setup, w Way) *Guest {
	t.Helper()
	g := &Guest{Runner: newRunner(t, setup, w)}
	g.makeVM("local-lvm:1", UUID)
	return g
}

// Ended waits for the end of a task that the provider has not started.
func (g *Guest) Ended(u proxmox.UPID, err error) proxmox.Task {
	g.Helper()
	g.Must(err)
	for {
		t, err := g.Client.Task(g.Context(), u)
		g.Must(err)
		if !t.Running {
			return t
		}
		<-time.After(time.Millisecond)
	}
}

// Succeeded waits for the end of a task that the provider has not started, and fails the test if the task has failed.
func (g *Guest) Succeeded(u proxmox.UPID, err error) {
	g.Helper()
	if t := g.Ended(u, err); !t.OK() {
		g.Fatal(t.ExitStatus)
	}
}

// makeVM creates the VM with a disk and a UUID.
func (g *Guest) makeVM(disk, uuid string) {
	g.Helper()
	g.Succeeded(g.Client.Create(g.Context(), GuestRef(), proxmox.Params{"name": "web", "memory": "64", "scsi0": disk, "smbios1": "uuid=" + uuid}))
}

// ReplaceVM replaces the VM by another one with its VMID.
func (g *Guest) ReplaceVM(disk, uuid string) {
	g.Helper()
	g.Ended(g.Client.Delete(g.Context(), GuestRef(), proxmox.DeleteOptions{}))
	g.makeVM(disk, uuid)
}

// Machine creates a Machine that has the VM with the UUID, or none yet.
func (g *Guest) Machine(uuid string) target.Machine {
	g.Helper()
	m, ok := g.Object("Machine", "web", 0, "{}", nil).(target.Machine)
	if !ok {
		g.Fatal("it is no Machine")
	}
	if uuid != "" {
		g.HasVM(m, uuid)
	}
	return m
}

// HasVM makes a Machine report its VM.
func (g *Guest) HasVM(m target.Machine, uuid string) {
	g.Helper()
	o := m.Observation()
	o.VMID, o.UUID, o.Phase = new(int32(VMID)), uuid, v1alpha1.MachineRunning
	g.Must(g.Kube.Status().Update(g.Context(), m))
}

// TakesConfiguration checks the life of a resource that waits for its Machine and names no provider configuration. It takes that of the Machine, and
// keeps it when the Machine is deleted.
func (g *Guest) TakesConfiguration(mg resource.Managed) {
	g.Helper()
	named, empty := g.another(mg), g.another(mg)
	g.Change(mg, func() { v1alpha1.CopyConfiguration(mg, empty) })
	g.Reconcile(mg)
	if v1alpha1.NamesConfiguration(mg) {
		g.Errorf("without its Machine it names a provider configuration")
	}
	m := g.Machine(UUID)
	g.Until(mg, "it is made", Settled(mg))
	v1alpha1.CopyConfiguration(named, m)
	g.sameConfiguration(named, mg)
	g.Must(g.Kube.Delete(g.Context(), m))
	g.Reconcile(mg)
	if !Settled(mg)() {
		g.Errorf("it does not stay as it was when its Machine has gone")
	}
	g.sameConfiguration(named, mg)
	g.Delete(mg)
}

// sameConfiguration fails the test unless both resources name the same provider configuration.
func (g *Guest) sameConfiguration(want, mg resource.Managed) {
	g.Helper()
	got := g.another(mg)
	v1alpha1.CopyConfiguration(got, mg)
	if diff := cmp.Diff(want, got); diff != "" {
		g.Errorf("it does not name the provider configuration of its Machine: -want, +got:\n%s", diff)
	}
}

// another returns an empty resource of the same kind.
func (g *Guest) another(of resource.Managed) resource.Managed {
	g.Helper()
	mg, ok := reflect.New(reflect.TypeOf(of).Elem()).Interface().(resource.Managed)
	if !ok {
		g.Fatalf("a %T is no managed resource", of)
	}
	return mg
}
