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

package volume_test

import (
	"strings"
	"testing"
	"time"

	xpmeta "github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/config/configtest"
	"github.com/vitistack/provider-proxmox/internal/controller/volume"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
)

// recorded returns what the provider has signed about a Volume.
func (l *lab) recorded(v volume.Volume) (tenancy.VolumeRecord, bool) {
	l.Helper()
	return configtest.Records(l.T, l.kube).Volume(v)
}

// adoptsUnused makes a Volume lose its disk, and adopt one that no other VM uses.
func (l *lab) adoptsUnused(v volume.Volume) {
	l.Helper()
	other := proxmox.Ref{Node: "pve1", VMID: 500}
	l.ended(l.root.Create(l.Context(), other, proxmox.Params{
		"memory": "64", "scsi1": "local-lvm:2", "smbios1": "uuid=11111111-2222-4333-8444-555555555555",
	}))
	l.must(l.root.Configure(l.Context(), other, proxmox.Change{Delete: []string{"scsi1"}}))
	l.forgets(l.stub(v), v)
	l.change(v, func() { xpmeta.SetExternalName(v, "local-lvm:vm-500-disk-0") })
	l.until("it is adopted", func() bool {
		return v.Observation().Volume != "" && l.config(500)["unused0"] == "" && configtest.Settled(v)()
	})
}

// recovers makes a Volume lose its disk, and take it again.
func (l *lab) recovers(v volume.Volume) {
	l.Helper()
	stub, disk := l.stub(v), v.Observation().Volume
	l.forgets(stub, v)
	l.finds(stub.VMID, "unused0", disk)
	l.seen(v, "it is found", func() bool { return shown(v) != "" })
	l.consents(v, shown(v))
	l.until("it is recovered", l.unbound(v))
}

// TestTenantUnchecked checks that nothing is signed that is added to a record while no tenant is checked, even if the record was signed before.
func TestTenantUnchecked(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(*lab, volume.Volume)
	}{
		"Adopted":   {reason: "A name is for users to write.", change: (*lab).adoptsUnused},
		"Recovered": {reason: "A disk that is there again may be one of others.", change: (*lab).recovers},
		"Handed": {reason: "The VM that gets it may be one of others.", change: func(l *lab, v volume.Volume) {
			l.Helper()
			l.until("it is handed over", l.bound(v, l.machine("web", "data")))
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, configtest.Scopes()["Cluster"], "9.2")
			team := configtest.Team("a", 10000, 19999, "local-lvm")
			configtest.SetTenants(t, l.kube, v1alpha1.TenantRefuse, team)
			v := l.volume("data", onLVM)
			l.until("the disk is made", l.unbound(v))
			if _, signed := l.recorded(v); !signed {
				t.Fatalf("want a record that is signed, got %v", v.GetAnnotations())
			}
			configtest.SetTenants(t, l.kube, v1alpha1.TenantWarn, team)
			tc.change(l, v)
			if r, signed := l.recorded(v); signed {
				t.Errorf("\n%s\nsigned is %+v", tc.reason, r)
			}
		})
	}
}

// TestTenantsByLabels checks that no disk is given to a Machine of another tenant if only labels distinguish tenants.
func TestTenantsByLabels(t *testing.T) {
	l := newLab(t, configtest.Scopes()["Cluster"], "9.2")
	configtest.SetTenants(t, l.kube, v1alpha1.TenantRefuse,
		configtest.Labelled(configtest.Team("a", 10000, 10999, "local-lvm")), configtest.Labelled(configtest.Team("b", 11000, 11999, "local-lvm")))
	of := func(team string, mg resource.Managed) {
		l.change(mg, func() { mg.SetLabels(map[string]string{"team": team}) })
	}
	v, theirs := l.volume("data", onLVM), l.machine("theirs", "data")
	of("a", v)
	of("b", theirs)
	l.until("the disk is made", func() bool { return v.Observation().Volume != "" })
	for range 6 {
		l.reconcile(theirs)
		l.reconcile(v)
		l.clock.Pass(time.Second)
	}
	if is := v.GetCondition(volume.TypeBound); v.Observation().Machine != "" || !l.unbound(v)() {
		t.Fatalf("want a disk that no Machine of another tenant gets, got Machine %q: %+v", v.Observation().Machine, is)
	}
	ours := l.machine("ours", "data")
	of("a", ours)
	l.until("the Machine of the tenant has the disk", l.bound(v, ours))
}

// replaces gives the VMID of a Volume's stub VM to another VM, with a disk of the same name as the lost one.
func (l *lab) replaces(v volume.Volume) {
	l.Helper()
	stub, disk := l.stub(v), v.Observation().Volume
	l.forgets(stub, v)
	l.pve.Edit(func(s *state.State) {
		c := s.Guests[stub.VMID].Config
		c["unused0"], c["smbios1"], c["description"] = disk, "uuid=33333333-2222-4333-8444-555555555555", ""
	})
	l.seen(v, "it is found", configtest.Says(v, xpv2.TypeReady, "Lost", "another one than had it"))
}

// TestTenantRecovers checks that a tenant gets a disk for a lost one only from the VM that had it, unless the tenant may adopt the disk. A record
// that names another VM may be forged.
func TestTenantRecovers(t *testing.T) {
	l := newLab(t, configtest.Scopes()["Cluster"], "9.2")
	configtest.SetTenants(t, l.kube, v1alpha1.TenantRefuse, configtest.Team("a", 10000, 19999, "local-lvm"))
	v := l.volume("data", onLVM)
	l.until("the disk is made", l.unbound(v))
	l.recovers(v)
	stub := l.stub(v).VMID
	l.replaces(v)
	l.consents(v, shown(v))
	l.seen(v, "it is refused", configtest.Says(v, xpv2.TypeUpToDate, v1alpha1.ReasonTenantRefused, "(allow.adopt)"))
	if l.config(stub)["unused0"] == "" {
		t.Error("want the disk left where it is")
	}
}

// TestTenantsRecords checks that users cannot keep others from a disk, or from a stub VM, with what they have written into their Volumes.
func TestTenantsRecords(t *testing.T) {
	l := newLab(t, configtest.Scopes()["Cluster"], "9.2")
	a, b := configtest.Labelled(configtest.Team("a", 10000, 10999, "local-lvm")), configtest.Labelled(configtest.Team("b", 11000, 11999, "local-lvm"))
	a.Allow = &v1alpha1.TenantPermissions{Adopt: []string{"free"}}
	configtest.SetTenants(t, l.kube, v1alpha1.TenantRefuse, a, b)
	other := proxmox.Ref{Node: "pve1", VMID: 500}
	l.pve.Edit(func(s *state.State) { s.Pools["free"] = &state.Pool{VMs: map[int]bool{}, Storages: map[string]bool{}} })
	l.ended(l.root.Create(l.Context(), other, proxmox.Params{
		"memory": "64", "scsi1": "local-lvm:2", "smbios1": "uuid=11111111-2222-4333-8444-555555555555", "pool": "free",
	}))
	l.must(l.root.Configure(l.Context(), other, proxmox.Change{Delete: []string{"scsi1"}}))
	const disk = "local-lvm:vm-500-disk-0"
	forged, named := l.adopting("forged", onLVM, ""), l.adopting("named", onLVM, disk)
	for _, v := range []volume.Volume{forged, named} {
		l.change(v, func() {
			v.SetLabels(map[string]string{"team": "b"})
			xpmeta.AddAnnotations(v, map[string]string{xpmeta.AnnotationKeyReconciliationPaused: "true"})
		})
	}
	l.change(forged, func() {
		record := `{"volume":"` + disk + `","holder":{"uuid":"11111111-2222-4333-8444-555555555555"}}`
		xpmeta.AddAnnotations(forged, map[string]string{tenancy.AnnotationVolume: record})
	})
	v := l.adopting("data", onLVM, disk)
	l.change(v, func() { v.SetLabels(map[string]string{"team": "a"}) })
	l.until("it is adopted", func() bool { return v.Observation().Volume != "" && configtest.Settled(v)() })
	late := l.adopting("late", onLVM, v.Observation().Volume)
	l.change(late, func() { late.SetLabels(map[string]string{"team": "a"}) })
	l.seen(late, "what the provider has signed counts", func() bool { return late.GetCondition(xpv2.TypeReady).Message != "" })
	if is := late.GetCondition(xpv2.TypeUpToDate); is.Status == "True" || strings.Contains(is.Message, "data") {
		t.Errorf("want it refused, and nobody named, got %+v", is)
	}
}

// TestTenantsUnseen checks that a tenant learns neither the names nor the places of VMs that cannot be seen, or of one that also uses its disk.
func TestTenantsUnseen(t *testing.T) {
	l := newLab(t, configtest.Scopes()["Cluster"], "9.2")
	team := configtest.Team("a", 10000, 19999, "local-lvm", "ceph")
	team.Nodes = []string{"pve1", "pve2"}
	configtest.SetTenants(t, l.kube, v1alpha1.TenantRefuse, team)
	v := l.volume("data", "size: 2G\nstorage: ceph\nnode: pve1\n")
	l.until("the disk is made", l.unbound(v))
	l.pve.Edit(func(s *state.State) { s.Nodes["pve3"].Offline = true }) // It has VM 101.
	web := l.machine("web", "data")
	l.until("it waits", configtest.Says(v, xpv2.TypeReady, "Failed", "cannot see whether another VM uses the volume: a node cannot be asked"))
	if is := v.GetCondition(xpv2.TypeReady); strings.Contains(is.Message, "101") || strings.Contains(is.Message, "pve3") {
		t.Errorf("it tells of others: %s", is.Message)
	}
	l.pve.Edit(func(s *state.State) { s.Nodes["pve3"].Offline = false })
	borrower := proxmox.Ref{Node: "pve1", VMID: 600}
	l.borrows(borrower, v.Observation().Volume)
	l.until("it is not handed over", configtest.Says(v, xpv2.TypeReady, "Failed", "is left alone: another VM uses it too: detach it there"))
	l.returns(borrower)
	l.until("the Machine gets it", l.bound(v, web))
}

// TestTenantsBait checks that nothing is revealed about a VM that the status of a Machine names, which users may write.
func TestTenantsBait(t *testing.T) {
	l := newLab(t, configtest.Scopes()["Cluster"], "9.2")
	configtest.SetTenants(t, l.kube, v1alpha1.TenantRefuse, configtest.Team("a", 10000, 19999, "local-lvm", "ceph"))
	v := l.volume("data", "size: 2G\nstorage: ceph\nnode: pve1\n")
	l.until("the disk is made", l.unbound(v))
	l.pve.Edit(func(s *state.State) { s.Nodes["pve3"].Offline = true }) // It has VM 101.
	bait := l.machine("bait", "data")
	l.change(bait, func() {
		xpmeta.AddAnnotations(bait, map[string]string{xpmeta.AnnotationKeyReconciliationPaused: "true"})
	})
	*bait.Observation() = v1alpha1.MachineObservation{VMID: new(int32(101)), UUID: "11111111-2222-4333-8444-555555555555", Phase: v1alpha1.MachineRunning}
	l.must(l.kube.Status().Update(t.Context(), bait))
	for range 3 {
		l.reconcile(v)
		l.clock.Pass(time.Second)
	}
	if is := v.GetCondition(xpv2.TypeReady); is.Reason == "NodeOffline" || strings.Contains(is.Message, "pve3") {
		t.Errorf("it tells of others: %+v", is)
	}
}
