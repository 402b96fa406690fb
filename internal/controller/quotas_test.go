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
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	kresource "k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/providerconfig"
	"github.com/vitistack/provider-proxmox/internal/controller/snapshot"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
)

// withQuota gives the first tenant a quota.
func withQuota(q v1alpha1.TenantQuota) func(*tenantWorld) {
	return func(w *tenantWorld) {
		w.rules = func() []v1alpha1.ProviderTenant {
			all := w.tenants()
			all[0].Quota = &q
			return all
		}
	}
}

// sized is a VM with a number of cores that is stopped.
func sized(cores int32) v1alpha1.MachineParameters {
	p := linux()
	p.CPU, p.PowerState = &v1alpha1.MachineCPU{Cores: &cores}, new(v1alpha1.PowerStateStopped)
	return p
}

// waitsForRoom waits until a resource is shown to wait for room, with these parts of the message.
func (w *tenantWorld) waitsForRoom(mg resource.Managed, parts ...string) {
	w.Helper()
	w.becomes(mg, "waits for "+strings.Join(parts, ", "), func() bool { return isShort(mg, parts...) })
}

// isShort reports whether a resource is shown to wait for room, with these parts of the message.
func isShort(mg resource.Managed, parts ...string) bool {
	c := mg.GetCondition(kind.TypeUpToDate)
	return c.Status == corev1.ConditionFalse && c.Reason == v1alpha1.ReasonQuotaExceeded && c.ObservedGeneration == mg.GetGeneration() &&
		!slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(c.Message, p) })
}

// cores returns the number of VMs of Machines in a range of VMIDs, and of their cores.
func (w *tenantWorld) cores(lowest, highest int) (vms, cores int) {
	w.pve.Edit(func(s *simulator.State) {
		for id, g := range s.Guests {
			if id >= lowest && id <= highest && g.Config["smbios1"] != "" {
				n, _ := strconv.Atoi(g.Config["cores"])
				vms, cores = vms+1, cores+max(n, 1)
			}
		}
	})
	return vms, cores
}

// gib returns the size of the disks of the VMs in a range of VMIDs.
func (w *tenantWorld) gib(lowest, highest int) int {
	var all int64
	w.pve.Edit(func(s *simulator.State) {
		for id, g := range s.Guests {
			if disk, err := proxmox.ParseDisk(g.Config["scsi0"]); err == nil && id >= lowest && id <= highest {
				size, _ := disk.Size()
				all += int64(size)
			}
		}
	})
	return int(all >> 30)
}

// providerConfig returns the provider configuration of the world.
func (w *tenantWorld) providerConfig() providerconfig.Config {
	w.Helper()
	pc := w.scope.config(w.meta(), v1alpha1.ProviderConfigSpec{}).(providerconfig.Config)
	if err := w.kube.Get(w.Context(), client.ObjectKeyFromObject(pc), pc); err != nil {
		w.Fatal(err)
	}
	return pc
}

// TestQuotas makes a team request more than its quota, and checks that what does not fit waits, what fits passes it, and the former is created when
// there is room. What exists grows while there is room, and other changes are made anyway.
func TestQuotas(t *testing.T) {
	t.Parallel()
	rarePairings(t, func(t *testing.T, p pairing) {
		t.Helper()
		w := newPairedWorld(t, p, "quota", withQuota(v1alpha1.TenantQuota{Cores: new(int32(5)), Memory: new(kresource.MustParse("8Gi"))}))
		first, large, small := w.of("a", "first", sized(2)), w.of("a", "large", sized(4)), w.of("a", "small", sized(1))
		w.make(first)
		w.well(first)
		w.make(large)
		w.waitsForRoom(large, `tenant "team-a"`, "cores: 4 more, of 5 2 are used by 1 resource")
		w.waitNotReady(large, v1alpha1.ReasonQuotaExceeded)
		<-time.After(time.Second) // Resources created within one second can be in any order.
		w.make(small)
		w.well(small)
		w.edit(small, func() {
			small.Parameters().CPU.Cores, small.Parameters().Description = new(int32(4)), new("changed")
		})
		w.waitsForRoom(small, "cores: 3 more, of 5 3 are used by 2 resources")
		w.becomes(small, "is changed otherwise", func() bool {
			return w.described(small) == "changed" && small.GetCondition(xpv2.TypeReady).Status == corev1.ConditionTrue
		})
		if vms, cores := w.cores(20000, 20049); vms != 2 || cores != 3 {
			t.Errorf("want 2 VMs with 3 cores, got %d with %d", vms, cores)
		}
		w.remove(first)
		w.well(large)
		w.waitsForRoom(small, "cores: 3 more, of 5 5 are used by 2 resources")
		w.becomes(small, "shows the usage", func() bool { return usageOf(w.providerConfig(), "team-a")["cores"] != "" })
		w.remove(large)
		w.becomes(small, "has grown", func() bool {
			_, cores := w.cores(20000, 20049)
			return cores == 4 && small.GetCondition(kind.TypeUpToDate).Status == corev1.ConditionTrue
		})
		w.remove(small)
	})
}

// TestQuotasWarned makes a team request more than a quota that is not enforced, and checks that everything is created, and what would wait is
// reported until there is room. What existed before counts as allowed, and nothing is written while nothing changes.
func TestQuotasWarned(t *testing.T) {
	t.Parallel()
	rarePairings(t, func(t *testing.T, p pairing) {
		t.Helper()
		w := newTenantWorldIn(t, p, "quotawarn"+p.version[:1], v1alpha1.TenantWarn, nil, withQuota(v1alpha1.TenantQuota{Cores: new(int32(5))}))
		first, large, small := w.warned("first", 20001, 2), w.warned("large", 20002, 4), w.warned("small", 20003, 1)
		for _, m := range []machine.Machine{first, large} {
			w.make(m)
			w.well(m)
			<-time.After(time.Second) // Resources created within one second can be in any order.
		}
		w.wouldWait(large, "cores: 4 more, of 5 2 are used by 1 resource")
		w.make(small)
		w.well(small)
		w.isAllowed(small) // The larger one would not exist.
		w.isAllowed(first)
		w.wouldWait(large, "cores: 4 more, of 5 3 are used by 2 resources")
		if vms, cores := w.cores(20000, 20049); vms != 3 || cores != 7 {
			t.Errorf("want 3 VMs with 7 cores, got %d with %d", vms, cores)
		}
		w.staysAsItIs(large)
		w.remove(first)
		w.isAllowed(large)
		w.edit(small, func() { small.Parameters().CPU.Cores = new(int32(3)) })
		w.wouldWait(small, "cores: 2 more, of 5 5 are used by 2 resources")
		w.becomes(small, "has grown", func() bool {
			_, cores := w.cores(20000, 20049)
			return cores == 7 && isUpToDate(small)
		})
		w.wouldWait(small, "cores: 2 more, of 5 5 are used by 2 resources")
		w.isAllowed(large)
		w.edit(small, func() { small.Parameters().Tags = []string{"team-b"} })
		w.becomes(small, "is told of the rule first", func() bool {
			return small.GetCondition(v1alpha1.TypeTenantAllowed).Reason == v1alpha1.ReasonTenantRefused
		})
	})
}

// warned returns a Machine of the first team that follows all rules.
func (w *tenantWorld) warned(name string, vmid, cores int32) machine.Machine {
	spec := sized(cores)
	spec.Template, spec.Pool, spec.VMID, spec.Node = linux().Template, new("team-a"), &vmid, new("pve1")
	return w.of("a", name, spec)
}

// wouldWait waits until a resource is reported to wait if quotas were enforced, with a text.
func (w *tenantWorld) wouldWait(mg resource.Managed, text string) {
	w.Helper()
	w.becomes(mg, "would wait for "+text, func() bool {
		c := mg.GetCondition(v1alpha1.TypeTenantAllowed)
		return c.Status == corev1.ConditionFalse && c.Reason == v1alpha1.ReasonQuotaExceeded && strings.HasPrefix(c.Message, "would wait: ") &&
			strings.Contains(c.Message, text) && c.ObservedGeneration == mg.GetGeneration()
	})
}

// isAllowed waits until no part of a resource would be refused or wait.
func (w *tenantWorld) isAllowed(mg resource.Managed) {
	w.Helper()
	w.becomes(mg, "is allowed", func() bool { return mg.GetCondition(v1alpha1.TypeTenantAllowed).Status == corev1.ConditionTrue })
}

// staysAsItIs checks that nothing is written once everything has settled, while a resource is reconciled several times, once a second.
func (w *tenantWorld) staysAsItIs(mg resource.Managed) {
	w.Helper()
	version := ""
	w.becomes(mg, "has settled", func() bool {
		before := version
		version = mg.GetResourceVersion()
		<-time.After(2 * time.Second)
		return before == version
	})
	n := len(w.writes())
	<-time.After(3 * time.Second)
	if w.show(mg); mg.GetResourceVersion() != version {
		w.Errorf("%s was written while nothing has changed: %s", mg.GetName(), described(mg))
	}
	w.wroteNothing(n)
}

// described returns the description of the VM of a Machine.
func (w *tenantWorld) described(mg resource.Managed) string {
	m := mg.(machine.Machine)
	if m.Observation().VMID == nil {
		return ""
	}
	g, _ := w.pve.Guest(int(*m.Observation().VMID))
	return g.Config["description"]
}

// usageOf returns the usage of a tenant in the status of the configuration.
func usageOf(pc providerconfig.Config, tenant string) map[string]string {
	all := map[string]string{}
	for _, t := range pc.Observation().Tenants {
		for _, u := range t.Usage {
			if t.Name == tenant {
				all[u.Resource] = u.Used.String() + "/" + u.Limit.String()
			}
		}
	}
	return all
}

// TestQuotasOfDisks makes a team try to get more disks than its quota allows, by detaching one after the other, and by a Volume that no provider
// reconciles. A detached disk counts until it is destroyed, even if a Volume adopts it.
func TestQuotasOfDisks(t *testing.T) {
	t.Parallel()
	rarePairings(t, func(t *testing.T, p pairing) {
		t.Helper()
		w := newPairedWorld(t, p, "quotadisk", withQuota(v1alpha1.TenantQuota{Disks: []v1alpha1.TenantStorageQuota{
			{Storage: "ceph", Size: kresource.MustParse("12Gi")},
		}}), func(w *tenantWorld) {
			rules := w.rules
			w.rules = func() []v1alpha1.ProviderTenant {
				all := rules()
				all[0].Allow = &v1alpha1.TenantPermissions{Adopt: []string{"team-a"}}
				return all
			}
		})
		w.m = w.of("a", "own", sized(1))
		w.m.Parameters().Disks = listOf(data("scsi5"))
		w.make(w.m)
		w.well(w.m)
		list := func(more ...v1alpha1.MachineDisk) { w.edit(w.m, func() { w.m.Parameters().Disks = listOf(more...) }) }
		list(data("scsi6"))
		w.becomes(w.m, "has another disk", func() bool { return w.detached() != "" && isUpToDate(w.m) })
		list(data("scsi7"))
		w.waitsForRoom(w.m, "disks/ceph: 3Gi more, of 12Gi 10Gi are used by 1 resource")
		w.becomes(w.m, "has detached the disk before", func() bool { return w.option("scsi6") == "" })
		found := w.volumeOf("a", "found")
		meta.SetExternalName(found, w.detached())
		found.Parameters().Size = nil
		w.make(found)
		w.well(found)
		w.becomes(found, "has left the Machine's VM", func() bool { return w.option("unused0") == "" || w.option("unused1") == "" })
		w.waitsForRoom(w.m, "disks/ceph: 3Gi more, of 12Gi 10Gi are used by 2 resources")
		w.forgesVolume(list)
		w.waitsForRoom(w.m, "disks/ceph: 3Gi more, of 12Gi 10Gi are used by 2 resources")
	})
}

// TestQuotasOfLeft makes a team try to get more disks than its quota allows, by deleting Volumes that leave their disks, in the VM of a Machine that
// no provider reconciles, or retained.
func TestQuotasOfLeft(t *testing.T) {
	t.Parallel()
	rarePairings(t, func(t *testing.T, p pairing) {
		t.Helper()
		w := newPairedWorld(t, p, "quotaleft", withQuota(v1alpha1.TenantQuota{Disks: []v1alpha1.TenantStorageQuota{
			{Storage: "ceph", Size: kresource.MustParse("12Gi")},
		}}))
		w.m = w.of("a", "own", sized(1))
		bound, kept, more := w.volumeOf("a", "bound"), w.volumeOf("a", "kept"), w.volumeOf("a", "more")
		bound.Parameters().Size, kept.Parameters().Size, more.Parameters().Size = new("3G"), new("2G"), new("4G")
		kept.Parameters().ReclaimPolicy = new(v1alpha1.VolumeRetain)
		w.m.Parameters().Disks = listOf(v1alpha1.MachineDisk{Name: "data", VolumeRef: &v1alpha1.VolumeReference{Name: bound.GetName()}})
		for _, mg := range []resource.Managed{bound, w.m, kept} {
			w.make(mg)
			w.well(mg)
		}
		w.becomes(bound, "is the Machine's", func() bool { return isSynced(bound) && bound.GetCondition("Bound").Status == corev1.ConditionTrue })
		w.shows("team-a", map[string]string{"disks/ceph": "9Gi/12Gi"}) // The Machine no longer counts the disk.
		device := bound.Observation().Device
		pause := func(value string) {
			w.edit(w.m, func() { meta.AddAnnotations(w.m, map[string]string{meta.AnnotationKeyReconciliationPaused: value}) })
		}
		pause("true")
		w.edit(bound, func() {
			meta.AddAnnotations(bound, map[string]string{meta.AnnotationKeyReconciliationPaused: "true"})
			bound.SetFinalizers(nil)
		})
		w.remove(bound)
		w.remove(kept)
		w.make(more)
		w.waitsForRoom(more, "disks/ceph: 4Gi more, of 12Gi 9Gi are used by 3 resources")
		pause("false")
		w.waitsForRoom(more, "disks/ceph: 4Gi more, of 12Gi 9Gi are used by 2 resources")
		w.delete()
		w.becomes(w.m, "is kept for the disk of the Volume", func() bool {
			return strings.Contains(w.m.GetCondition(xpv2.TypeSynced).Message, "is the disk of Volume '"+bound.GetName()+"', which is gone")
		})
		w.pve.Edit(func(s *simulator.State) { delete(s.Guests[w.vmid()].Config, device) })
		w.gone()
		w.well(more)
	})
}

// TestQuotasOfAdopted makes a team try to get more VMs than its quota allows, by one that stays in the pool where it was adopted when its Machine is
// deleted.
func TestQuotasOfAdopted(t *testing.T) {
	t.Parallel()
	rarePairings(t, func(t *testing.T, p pairing) {
		t.Helper()
		w := newPairedWorld(t, p, "quotaadopt", func(w *tenantWorld) {
			w.rules = func() []v1alpha1.ProviderTenant {
				all := w.tenants()
				all[1].Quota = &v1alpha1.TenantQuota{VMs: new(int32(3))} // It has two.
				return all
			}
		})
		const next = 20060
		w.pve.Edit(func(s *simulator.State) { s.Guests[next].Config["net0"] = s.Guests[20050].Config["net0"] })
		first := w.adopts("b", 20050)
		w.edit(first, func() {
			first.SetManagementPolicies(xpv2.ManagementPolicies{xpv2.ManagementActionObserve, xpv2.ManagementActionCreate, xpv2.ManagementActionUpdate})
		})
		w.well(first)
		w.remove(first)
		second := w.of("b", "next", v1alpha1.MachineParameters{})
		meta.SetExternalName(second, strconv.Itoa(next))
		w.make(second)
		w.waitsForRoom(second, "vms: 1 more, of 3 3 are used by 3 resources")
		w.pve.Edit(func(s *simulator.State) { delete(s.Pools["handover"].VMs, 20050) })
		w.well(second)
	})
}

func isUpToDate(mg resource.Managed) bool {
	c := mg.GetCondition(kind.TypeUpToDate)
	return c.Status == corev1.ConditionTrue && c.ObservedGeneration == mg.GetGeneration()
}

// data returns a disk with a device and its name.
func data(device string) v1alpha1.MachineDisk {
	return v1alpha1.MachineDisk{Name: "at-" + device, Device: &device, Size: new("3G"), Storage: new("ceph")}
}

// listOf returns a list of disks including that of the template.
func listOf(more ...v1alpha1.MachineDisk) []v1alpha1.MachineDisk {
	return append([]v1alpha1.MachineDisk{{Name: "root"}}, more...)
}

// option returns an option of the Machine's VM.
func (w *tenantWorld) option(name string) string {
	g, _ := w.pve.Guest(w.vmid())
	return g.Config[name]
}

// detached returns a disk of the Machine's VM that is not attached, or an empty name if there is none.
func (w *tenantWorld) detached() string {
	return cmp.Or(w.option("unused0"), w.option("unused1"))
}

// forgesVolume forges the record of a Volume that no provider reconciles, so that it has the detached disk of the Machine and the Machine attaches it
// free of charge.
func (w *tenantWorld) forgesVolume(list func(...v1alpha1.MachineDisk)) {
	w.Helper()
	last := w.detached()
	forged := w.volumeOf("a", "forged")
	meta.AddAnnotations(forged, map[string]string{meta.AnnotationKeyReconciliationPaused: "true", tenancy.AnnotationVolume: fmt.Sprintf(
		`{"volume":%q,"holder":{"uuid":%q},"machine":%q}`, last, w.m.GetAnnotations()[object.AnnotationUUID], w.m.GetUID(),
	)})
	w.make(forged)
	list(v1alpha1.MachineDisk{Name: "free", VolumeRef: &v1alpha1.VolumeReference{Name: forged.GetName()}})
	w.becomes(w.m, "has the disk", func() bool { return strings.Contains(fmt.Sprint(w.m.Observation().Disks), last) && isUpToDate(w.m) })
	list(v1alpha1.MachineDisk{Name: "free", VolumeRef: &v1alpha1.VolumeReference{Name: forged.GetName()}}, data("scsi7"))
}

// TestQuotasOfSnapshots checks that Snapshots and Backups wait for room.
func TestQuotasOfSnapshots(t *testing.T) {
	t.Parallel()
	rarePairings(t, func(t *testing.T, p pairing) {
		t.Helper()
		w := newPairedWorld(t, p, "quotasnap", withQuota(v1alpha1.TenantQuota{Snapshots: new(int32(1)), Backups: new(int32(1))}))
		w.m = w.of("a", "own", sized(1))
		w.make(w.m)
		w.ready()
		first, second := w.snapshotOf("a", w.m.GetName()), w.snapshotOf("a", w.m.GetName())
		second.SetName(second.GetName() + "-second")
		w.make(first)
		w.well(first)
		w.make(second)
		w.waitsForRoom(second, "snapshots: 1 more, of 1 1 are used by 1 resource")
		w.waitNotReady(second, v1alpha1.ReasonQuotaExceeded)
		w.takesSafety(first.GetName())
		kept, waits := w.backupOf("a", "first", w.m.GetName()), w.backupOf("a", "second", w.m.GetName())
		w.make(kept)
		w.well(kept)
		w.make(waits)
		w.waitsForRoom(waits, "backups: 1 more, of 1 1 are used by 1 resource")
		w.takesAnother(first)
		w.remove(first)
		w.remove(kept)
		w.well(second)
		w.well(waits)
		w.remove(second)
		w.remove(waits)
		w.delete()
		w.gone()
	})
}

// takesAnother changes the name of a Snapshot, and removes the record of the snapshot that it has taken.
func (w *tenantWorld) takesAnother(mg resource.Managed) {
	w.Helper()
	s, n := mg.(snapshot.Snapshot), len(w.writes())
	for _, name := range []string{"another", "more"} {
		w.edit(s, func() {
			a := s.GetAnnotations()
			delete(a, kind.AnnotationSnapshot)
			a[meta.AnnotationKeyExternalName], a[meta.AnnotationKeyReconciliationPaused] = name, "true"
			s.SetAnnotations(a)
		})
		w.becomes(s, "is paused", func() bool { return s.GetCondition(xpv2.TypeSynced).Reason == xpv2.ReasonReconcilePaused })
		w.forgeStatus(s, func() { *s.Observation() = v1alpha1.SnapshotObservation{} })
		w.edit(s, func() {
			a := s.GetAnnotations()
			delete(a, meta.AnnotationKeyReconciliationPaused)
			delete(a, kind.AnnotationSnapshot)
			s.SetAnnotations(a)
		})
		w.waitNotReady(s, v1alpha1.ReasonQuotaExceeded, "has taken snapshot")
	}
	w.wroteNothing(n)
	if g, _ := w.pve.Guest(w.vmid()); len(g.Snapshots) != 1 {
		w.Errorf("want one snapshot, got %v", g.Snapshots)
	}
}

// takesSafety requests a safety snapshot, which is not a Snapshot that a quota counts.
func (w *tenantWorld) takesSafety(snapshot string) {
	w.Helper()
	w.change(func(p *v1alpha1.MachineParameters) {
		p.Rollback = &v1alpha1.MachineRollback{Snapshot: snapshot, Token: "1", AllowRunning: new(true), SafetySnapshot: new(true)}
	})
	w.becomes(w.m, "has an act that has ended", func() bool {
		o := w.m.Observation().Rollback
		return o != nil && (o.State == v1alpha1.ActRefused || o.State == v1alpha1.ActSucceeded)
	})
	if n := len(w.vm().Snapshots); n != 1 || !w.refusedAct("limits snapshots") {
		w.Errorf("want no snapshot beside the one that counts, got %d and %+v", n, w.m.Observation().Rollback)
	}
}

// TestQuotasAtOnce makes teams request twice of what they may have, all at the same time, from two providers.
func TestQuotasAtOnce(t *testing.T) {
	t.Parallel()
	rarePairings(t, func(t *testing.T, p pairing) {
		t.Helper()
		atOnce(t, p, 3, 6)
	})
}

// TestQuotasOfBothScopes makes a team request in both scopes twice of what it may have for one cluster, all at the same time, from two providers.
func TestQuotasOfBothScopes(t *testing.T) {
	t.Parallel()
	rarePairings(t, func(t *testing.T, p pairing) {
		t.Helper()
		atOnce(t, p, 1, 12, inBothScopes)
	})
}

// TestQuotasOfMany does the same with 500 Machines of twenty teams, which are namespaced, and with SCOPES=all as many cluster-scoped ones.
func TestQuotasOfMany(t *testing.T) {
	t.Parallel()
	among := []string{"Namespaced"}
	if os.Getenv("SCOPES") == "all" {
		among = slices.Sorted(maps.Keys(scopes()))
	}
	for _, scope := range among {
		t.Run(scope, func(t *testing.T) {
			t.Parallel()
			all, made := madeAtOnce(t, pairing{scope, versionOf(scope)}, 20, 25)
			all[0].quotasAreKept(20, 25, made)
			all[0].removeAll(made)
		})
	}
}

// atOnce makes teams create Machines at the same time, half of which have room, and the others once those are deleted.
func atOnce(t *testing.T, p pairing, teams, each int, in ...func(*tenantWorld) []*tenantWorld) {
	t.Helper()
	all, made := madeAtOnce(t, p, teams, each, in...)
	w := all[0]
	w.quotasAreKept(teams, each, made)
	for _, w := range all {
		w.shows(w.space("t0"), map[string]string{"vms": fmt.Sprintf("%d/%[1]d", each/2)})
	}
	half := w.readyOf(made)
	w.removeAll(half)
	left := slices.DeleteFunc(slices.Clone(made), func(m machine.Machine) bool { return slices.Contains(half, m) })
	w.quotasAreKept(teams, each, left)
	w.removeAll(left)
}

// shows waits until the configuration shows what a tenant uses of its limits.
func (w *tenantWorld) shows(tenant string, want map[string]string) {
	w.Helper()
	asked := 0
	w.eventually(fmt.Sprintf("%s shows that %s uses %v", w.config, tenant, want), func() bool {
		pc := w.providerConfig()
		if maps.Equal(usageOf(pc, tenant), want) {
			return true
		}
		if asked++; asked%80 == 1 { // The provider counts once a minute, and after each change.
			w.recounts(pc)
		}
		return false
	})
}

// recounts changes a configuration in a field that no tenant needs, so that the provider counts again.
func (w *tenantWorld) recounts(pc providerconfig.Config) {
	w.Helper()
	if s := pc.Settings(); s.DefaultBridge == nil {
		s.DefaultBridge = new("vmbr0")
	} else {
		s.DefaultBridge = nil
	}
	if err := w.kube.Update(w.Context(), pc); err != nil && !kerrors.IsConflict(err) {
		w.Fatal(err)
	}
}

// madeAtOnce returns Machines of teams, which two providers manage as two shards, and the worlds to which the Machines belong in turn.
func madeAtOnce(t *testing.T, p pairing, teams, each int, in ...func(*tenantWorld) []*tenantWorld) ([]*tenantWorld, []machine.Machine) {
	t.Helper()
	w := newPairedWorld(t, p, fmt.Sprintf("many%d-", teams), func(w *tenantWorld) {
		w.options, w.teams = sharded("0"), nil
		for i := range teams {
			w.teams = append(w.teams, "t"+strconv.Itoa(i))
		}
		w.pve.Edit(func(s *simulator.State) {
			for _, team := range w.teams {
				s.Pools[w.space(team)] = &simulator.Pool{VMs: map[int]bool{}}
			}
		})
		w.rules = func() []v1alpha1.ProviderTenant { return w.teamRules(each) }
	})
	all := []*tenantWorld{w}
	for _, worlds := range in {
		all = worlds(w)
	}
	w.another(sharded("1"))
	var made []machine.Machine
	for i := range teams * each {
		m := all[i/teams/2%len(all)].of(w.teams[i%teams], strconv.Itoa(i), sized(2))
		m.GetLabels()[shard] = strconv.Itoa(i / teams % 2)
		made = append(made, m)
	}
	w.makeAll(made)
	return all, made
}

// teamRules returns as many tenants as there are teams, each with a quota that has room for half of their Machines, by their number, their cores or
// their disks. Every other tenant has a pool, which contains no VM while it is being created. No other world has tenants of these names, which would
// share a ConfigMap with these.
func (w *tenantWorld) teamRules(each int) []v1alpha1.ProviderTenant {
	quotas := []v1alpha1.TenantQuota{
		{VMs: new(int32(each / 2))}, {Cores: new(int32(each / 2 * 2))}, {Disks: []v1alpha1.TenantStorageQuota{
			{Storage: "ceph", Size: kresource.MustParse(fmt.Sprintf("%dGi", each/2*4))},
		}},
	}
	all := make([]v1alpha1.ProviderTenant, 0, len(w.teams))
	for i, team := range w.teams {
		q := quotas[i%len(quotas)]
		lowest, pools := int32(21000+100*i), []string{w.space(team)}
		if i%2 == 0 {
			pools = nil
		}
		all = append(all, v1alpha1.ProviderTenant{
			Name: w.space(team), Namespaces: []string{w.space(team)}, VMIDRange: &v1alpha1.VMIDRange{Min: lowest + 60, Max: lowest + 99}, Pools: pools,
			Storages: []string{"ceph"},
			Bridges:  []v1alpha1.TenantBridge{{Name: "vmbr1"}}, Templates: []string{"base-*"}, Quota: q.DeepCopy(),
		})
	}
	return all
}

// makeAll creates Machines, several at a time.
func (w *tenantWorld) makeAll(all []machine.Machine) {
	w.Helper()
	var made sync.WaitGroup
	for _, m := range all {
		made.Go(func() {
			if err := w.kube.Create(w.Context(), m); err != nil {
				w.Error(err)
			}
		})
	}
	made.Wait()
}

// removeAll deletes Machines, and waits until they no longer exist.
func (w *tenantWorld) removeAll(all []machine.Machine) {
	w.Helper()
	for _, m := range all {
		if err := w.kube.Delete(w.Context(), m); err != nil {
			w.Fatal(err)
		}
	}
	w.eventually("all are gone", func() bool { return !slices.ContainsFunc(all, func(m machine.Machine) bool { return w.show(m) }) })
}

// readyOf returns the Machines that are ready.
func (w *tenantWorld) readyOf(all []machine.Machine) []machine.Machine {
	w.Helper()
	return slices.DeleteFunc(slices.Clone(all), func(m machine.Machine) bool {
		return !w.show(m) || m.GetCondition(xpv2.TypeReady).Status != corev1.ConditionTrue
	})
}

// quotasAreKept waits until as many Machines are ready as the quotas allow, and the others wait. It checks that no quota is exceeded meanwhile. It
// keeps waiting as long as more of them become ready, or start to wait.
func (w *tenantWorld) quotasAreKept(teams, each int, all []machine.Machine) {
	w.Helper()
	for most, late := -1, time.Now(); ; <-time.After(time.Second) {
		w.withinQuotas(teams, each)
		ready, waits := len(w.readyOf(all)), 0
		for _, m := range all {
			if m.GetCondition(kind.TypeUpToDate).Reason == v1alpha1.ReasonQuotaExceeded {
				waits++
			}
		}
		if ready == teams*(each/2) && ready+waits == len(all) {
			return
		}
		if ready+waits > most {
			most, late = ready+waits, time.Now().Add(slowest)
		}
		if time.Now().After(late) {
			w.Fatalf("want %d Machines ready and the others wait, got %d and %d of %d", teams*(each/2), ready, waits, len(all))
		}
	}
}

// withinQuotas checks that no team has more than its quota.
func (w *tenantWorld) withinQuotas(teams, each int) {
	w.Helper()
	for i := range teams {
		lowest, highest := 21000+100*i+60, 21000+100*i+99
		if vms, cores := w.cores(lowest, highest); vms > each/2 || cores > each || w.gib(lowest, highest) > each/2*4 {
			w.Fatalf("team %d has %d VMs with %d cores and %d GiB, of room for %d", i, vms, cores, w.gib(lowest, highest), each/2)
		}
	}
}

// TestQuotasOfAddresses checks that a Machine takes no address of a pool, of which others have some too, while it waits for room.
func TestQuotasOfAddresses(t *testing.T) {
	installIPAM(t)
	t.Parallel()
	rarePairings(t, func(t *testing.T, p pairing) {
		t.Helper()
		w := newPairedWorld(t, p, "quotapool", withQuota(v1alpha1.TenantQuota{Cores: new(int32(2))}))
		first := w.of("a", "first", sized(2))
		w.m = w.of("a", "pooled", sized(2))
		w.m.Parameters().Networks, w.m.Parameters().CloudInit = fromPools("lan", "").Networks, &v1alpha1.MachineCloudInit{Storage: new("ceph")}
		w.m.Parameters().Networks[0].Bridge, w.m.Parameters().Networks[0].VLAN = new("vmbr1"), new(int32(100))
		w.m.Parameters().Networks[0].IPConfig.PoolRef.Namespace = new(w.space("a"))
		claims := func() []v1beta2.IPAddressClaim {
			var list v1beta2.IPAddressClaimList
			if err := w.kube.List(w.Context(), &list, client.InNamespace(w.space("a"))); err != nil {
				t.Fatal(err)
			}
			return list.Items
		}
		w.make(first)
		w.well(first)
		w.make(w.m)
		w.waitsForRoom(w.m, "cores: 2 more, of 2 2 are used by 1 resource")
		if all := claims(); len(all) > 0 {
			t.Errorf("want no claim of a Machine that waits for room, got %+v", all)
		}
		w.remove(first)
		w.becomes(w.m, "waits for its address", func() bool {
			return len(claims()) == 1 && strings.Contains(w.m.GetCondition(kind.TypeUpToDate).Message, "has no address yet")
		})
		w.allocate(&claims()[0], "192.0.2.10", 24, "192.0.2.1")
		w.well(w.m)
	})
}
