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

package controller_test

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/google/uuid"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	kresource "k8s.io/apimachinery/pkg/api/resource"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
	"github.com/vitistack/provider-proxmox/internal/volumeref"
)

// A creatingAttempt is an attempt of a team to get more VMs than its quota allows, with a resource that leaves its VM while that is being created.
type creatingAttempt struct {
	// task that creates the VM. of returns the resource.
	task string
	of   func(name string) resource.Managed

	// leave makes the resource leave VM vmid. A concurrent write of the provider may undo that, so leave is repeated until done reports success.
	leave func(mg resource.Managed, vmid int)
	done  func(mg resource.Managed, vmid int) bool

	// cores that the VM was granted, disk, the size of its disk, and more, the message when the resource requests another one.
	cores, disk, more string

	// back makes the resource have its VM again, by its previous annotations; nil for one that cannot.
	back func(mg resource.Managed, before map[string]string)
}

// creatingAttempts returns the attempts of a team.
func (w *tenantWorld) creatingAttempts() map[string]creatingAttempt {
	ofMachine := func(name string) resource.Managed { return w.of("a", name, sized(4)) }
	ofVolume := func(name string) resource.Managed { return w.volumeOf("a", name) }
	annotated := func(to func(a map[string]string, vmid int)) func(resource.Managed, int) {
		return func(mg resource.Managed, vmid int) {
			a := maps.Clone(mg.GetAnnotations())
			to(a, vmid)
			mg.SetAnnotations(a)
		}
	}
	identity := func(names ...string) func(resource.Managed, map[string]string) {
		return func(mg resource.Managed, before map[string]string) {
			for _, name := range names {
				meta.AddAnnotations(mg, map[string]string{name: before[name]})
			}
		}
	}
	free := func(vmid int) string { return strconv.Itoa(vmid + 20) }
	return map[string]creatingAttempt{
		"identity": {
			task: "qmclone", of: ofMachine, cores: "4", disk: "4Gi", more: "disks/ceph: 4Gi more, of 4Gi 4Gi are used",
			leave: annotated(func(a map[string]string, vmid int) {
				a[meta.AnnotationKeyExternalName], a[object.AnnotationAllocated], a[object.AnnotationUUID] = free(vmid), free(vmid), uuid.NewString()
			}),
			done: func(mg resource.Managed, vmid int) bool { return meta.GetExternalName(mg) == free(vmid) },
			back: identity(meta.AnnotationKeyExternalName, object.AnnotationAllocated, object.AnnotationUUID),
		},
		"uuid": {
			task: "qmclone", of: ofMachine, cores: "4", disk: "4Gi", more: "disks/ceph: 4Gi more, of 4Gi 4Gi are used",
			leave: annotated(func(a map[string]string, _ int) { a[object.AnnotationUUID] = forgedUUID }),
			done:  func(mg resource.Managed, _ int) bool { return mg.GetAnnotations()[object.AnnotationUUID] == forgedUUID },
			back:  identity(object.AnnotationUUID),
		},
		"finalizer": {
			task: "qmclone", of: ofMachine, cores: "4", disk: "4Gi",
			leave: func(mg resource.Managed, _ int) { w.dropped(mg) },
		},
		"record": {
			task: "qmcreate", of: ofVolume, cores: "1", disk: "1Gi",
			leave: annotated(func(a map[string]string, _ int) { a[tenancy.AnnotationVolume] = "{}" }),
			done:  func(mg resource.Managed, _ int) bool { return mg.GetAnnotations()[tenancy.AnnotationVolume] == "{}" },
		},
		"volume": {
			task: "qmcreate", of: ofVolume, cores: "1", disk: "1Gi",
			leave: func(mg resource.Managed, _ int) { w.dropped(mg) },
		},
	}
}

// forgedUUID is a UUID that no VM has.
const forgedUUID = "f0f0f0f0-0000-4000-8000-000000000001"

// dropped deletes a resource without the work that its finalizers wait for.
func (w *tenantWorld) dropped(mg resource.Managed) {
	w.Helper()
	if err := w.kube.Delete(w.Context(), mg); err != nil {
		w.Fatal(err)
	}
	w.eventually(mg.GetName()+" is gone", func() bool {
		if !w.show(mg) {
			return true
		}
		mg.SetFinalizers(nil)
		if err := w.kube.Update(w.Context(), mg); err != nil && !kerrors.IsConflict(err) && !kerrors.IsNotFound(err) {
			w.Fatal(err)
		}
		return false
	})
}

// TestQuotasWhileCreating makes a team try to get more VMs than its quota allows, with resources that name other VMs, or are deleted, while their VMs
// are being created, even where pools identify the VMs of tenants, which contain no VM before it is complete.
func TestQuotasWhileCreating(t *testing.T) {
	t.Parallel()
	rarePairings(t, func(t *testing.T, p pairing) {
		t.Helper()
		for by, rule := range map[string]func(*v1alpha1.ProviderTenant){
			"pools": func(of *v1alpha1.ProviderTenant) { of.VMIDRange = nil },
			"range": func(of *v1alpha1.ProviderTenant) {
				of.VMIDRange, of.Pools = &v1alpha1.VMIDRange{Min: 20000, Max: 20049}, nil
			},
		} {
			t.Run(by, func(t *testing.T) {
				t.Parallel()
				w := newPairedWorld(t, p, "creating"+by, withQuota(v1alpha1.TenantQuota{VMs: new(int32(1)), Cores: new(int32(4)), Disks: []v1alpha1.TenantStorageQuota{
					{Storage: "ceph", Size: kresource.MustParse("4Gi")},
				}}), func(w *tenantWorld) {
					rules := w.rules
					w.rules = func() []v1alpha1.ProviderTenant {
						all := rules()
						rule(&all[0])
						return all
					}
				})
				all := w.creatingAttempts()
				for _, name := range slices.Sorted(maps.Keys(all)) {
					w.leavesNoRoom(name, all[name])
				}
			})
		}
	})
}

// leavesNoRoom checks that an attempt leaves no room for another VM, neither while the VM is being created nor later.
func (w *tenantWorld) leavesNoRoom(name string, a creatingAttempt) {
	w.Helper()
	release := w.pve.Inject(simulator.Fault{Task: a.task, Count: 1, Hold: true})
	before, mg, more := w.guests(), a.of(name), w.of("a", name+"-more", sized(4))
	w.make(mg)
	vmid := w.halfMade()
	w.becomes(mg, "has its record", func() bool { return !meta.ExternalCreateIncomplete(mg) && len(mg.GetFinalizers()) > 0 })
	own := maps.Clone(mg.GetAnnotations())
	if a.done == nil {
		a.leave(mg, vmid)
	} else {
		w.edit(mg, func() { a.leave(mg, vmid) })
	}
	w.make(more)
	w.waitsForRoom(more, "vms: 1 more, of 1 1 are used", "cores: 4 more, of 4 "+a.cores+" are used", "disks/ceph: 4Gi more, of 4Gi "+a.disk+" are used")
	release()
	w.eventually("the VM is complete", func() bool {
		g, there := w.pve.Guest(vmid)
		return there && g.Config["lock"] == ""
	})
	if a.done != nil {
		w.becomes(mg, "has no more to do with its VM, and waits", func() bool {
			if !a.done(mg, vmid) {
				w.edit(mg, func() { a.leave(mg, vmid) }) // The provider wrote its value at the same time, and last.
			}
			return isShort(mg, "vms: 1 more, of 1 1 are used", a.more)
		})
	}
	w.edit(more, func() { more.Parameters().Description = new("asks again") })
	if a.done == nil { // Otherwise, the VM also counts that the resource is yet to have.
		w.waitsForRoom(more, "vms: 1 more, of 1 1 are used", "disks/ceph: 4Gi more, of 4Gi "+a.disk+" are used")
	}
	w.waitsForRoom(more, "vms: 1 more, of 1 ")
	if got := slices.DeleteFunc(w.guests(), func(id int) bool { return slices.Contains(before, id) }); !slices.Equal(got, []int{vmid}) {
		w.Errorf("%s: want VM %d alone, got %v", name, vmid, got)
	}
	w.remove(more)
	if a.back != nil {
		w.edit(mg, func() {
			a.back(mg, own)
			mg.(machine.Machine).Parameters().Description = new("has its own VM again")
		})
		w.well(mg)
	}
	if a.done != nil {
		w.remove(mg)
	}
	w.pve.Edit(func(s *simulator.State) {
		delete(s.Guests, vmid)
		delete(s.Pools["team-a"].VMs, vmid)
	})
}

// guests returns the VMIDs of all guests.
func (w *tenantWorld) guests() (all []int) {
	w.pve.Edit(func(s *simulator.State) { all = slices.Sorted(maps.Keys(s.Guests)) })
	return all
}

// TestQuotasOfTaken takes, as someone else, the VMID that was chosen for a VM, which the call or its task reports, and checks that the Machine, or
// the Volume, has its room with another one. The VM with the VMID may be one that is being created, whose owner is not visible yet.
func TestQuotasOfTaken(t *testing.T) {
	t.Parallel()
	rarePairings(t, func(t *testing.T, p pairing) {
		t.Helper()
		w := newPairedWorld(t, p, "quotataken", withQuota(v1alpha1.TenantQuota{VMs: new(int32(1))}))
		const clone, create = "/nodes/*/qemu/*/clone", "/nodes/*/qemu"
		theirs := map[string]string{"name": "others", "smbios1": "uuid=" + forgedUUID}
		halfMade := map[string]string{"lock": "clone", "description": " qmclone temporary file"}
		for _, tc := range []struct {
			path, node string // Proxmox VE checks the node of the template, pve1, before it starts to clone.
			mg         resource.Managed
			config     map[string]string
		}{
			{path: clone, node: "pve1", mg: w.of("a", "called", sized(1)), config: theirs},
			{path: clone, node: "pve3", mg: w.of("a", "begun", sized(1)), config: theirs},
			{path: clone, node: "pve1", mg: w.of("a", "halfmade", sized(1)), config: halfMade},
			{path: create, node: "pve3", mg: w.volumeOf("a", "made"), config: theirs},
			{path: create, node: "pve3", mg: w.volumeOf("a", "made-beside"), config: halfMade},
		} {
			arrive := w.pve.Inject(simulator.Fault{Method: http.MethodPost, Path: tc.path, Delay: time.Minute, Count: 1})
			w.make(tc.mg)
			w.eventually("the call is on its way", func() bool { return w.pve.Faults()[0].Hit == 1 })
			w.show(tc.mg)
			taken := namedBy(t, tc.mg)
			w.pve.Edit(func(s *simulator.State) {
				s.Guests[taken] = &simulator.Guest{VMID: taken, Node: tc.node, Config: maps.Clone(tc.config), Power: simulator.Stopped}
			})
			arrive()
			w.well(tc.mg)
			if got := namedBy(t, tc.mg); got == taken {
				t.Errorf("%s: want another VMID than %d", tc.mg.GetName(), taken)
			}
			w.remove(tc.mg)
			w.pve.Edit(func(s *simulator.State) { delete(s.Guests, taken) })
		}
	})
}

// namedBy returns the VMID that a Machine, or the record of a Volume, names.
func namedBy(t *testing.T, mg resource.Managed) int {
	t.Helper()
	vmid := tenancy.VMIDOf(meta.GetExternalName(mg))
	if v, is := mg.(volumeref.Volume); is {
		r, err := volumeref.RecordOf(v)
		if err != nil {
			t.Fatal(err)
		}
		vmid = r.VMID
	}
	if vmid == 0 {
		t.Fatalf("%s names no VM: %v", mg.GetName(), mg.GetAnnotations())
	}
	return vmid
}
