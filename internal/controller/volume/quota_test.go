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
	"net/http"
	"strings"
	"testing"
	"time"

	kresource "k8s.io/apimachinery/pkg/api/resource"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/config/configtest"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/kind/quotas"
	"github.com/vitistack/provider-proxmox/internal/controller/volume"
	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
	"github.com/vitistack/provider-proxmox/internal/volumeref"
)

// counting returns a lab where quotas count.
func counting(t *testing.T) *lab {
	t.Helper()
	l := newLab(t, configtest.Scopes()["Cluster"], "9.2")
	l.volumes.setup = func(mgr ctrl.Manager, o kind.Options, s kind.Scope) error {
		o.Now = l.clock.Now
		k := volume.Kinds{Identity: s.Identity("Volume"), Lists: s.Lists("Volume"), Machine: s.Identity("Machine"), Quotas: quotas.New()}
		return volume.Setup(mgr, o, k)
	}
	return l
}

// TestQuotaWarned checks that a disk is created even if there is no room for it in a quota that is not enforced.
func TestQuotaWarned(t *testing.T) {
	for name, tc := range configtest.QuotaWarnings() {
		t.Run(name, func(t *testing.T) {
			l := counting(t)
			limit := func(n int32) {
				team := configtest.Team("a", 10000, 10099, "local-lvm")
				if tc.Refused {
					team.Storages = []string{"ceph"}
				}
				team.Quota = &v1alpha1.TenantQuota{VMs: &n}
				configtest.SetTenants(t, l.kube, v1alpha1.TenantWarn, team)
			}
			limit(tc.Limit)
			v := l.volume("data", onLVM)
			l.until("the disk is made", l.unbound(v))
			tc.Check(t, v, "vms: 1 more, of 0 0 are used by 0 resources", func() bool { return l.reconcile(v) }, limit)
		})
	}
}

// TestQuotaWarnedGrowth checks that a disk grows although there is no room for that, and that the growth is reported until there is room.
func TestQuotaWarnedGrowth(t *testing.T) {
	l := counting(t)
	limit := func(gib int32) {
		team := configtest.Team("a", 10000, 10099, "local-lvm")
		size := *kresource.NewQuantity(int64(gib)<<30, kresource.BinarySI)
		team.Quota = &v1alpha1.TenantQuota{Disks: []v1alpha1.TenantStorageQuota{{Storage: "local-lvm", Size: size}}}
		configtest.SetTenants(t, l.kube, v1alpha1.TenantWarn, team)
	}
	limit(2)
	v := l.volume("data", onLVM)
	l.until("the disk is made", l.unbound(v))
	l.change(v, func() { v.Parameters().Size = new("5G") })
	l.until("the disk has grown", func() bool { return v.Observation().Size == "5G" && configtest.Settled(v)() })
	want := configtest.Says(v, v1alpha1.TypeTenantAllowed, v1alpha1.ReasonQuotaExceeded, "disks/local-lvm: 3Gi more, of 2Gi 2Gi are used by 1 resource")
	if l.reconcile(v); !want() {
		t.Errorf("want it to wait for what it has grown by, got %+v", v.GetCondition(v1alpha1.TypeTenantAllowed))
	}
	limit(5)
	if l.reconcile(v); want() {
		t.Errorf("want it allowed once there is room, got %+v", v.GetCondition(v1alpha1.TypeTenantAllowed))
	}
}

// limited returns a lab whose team has a pool and a quota.
func limited(t *testing.T, q v1alpha1.TenantQuota) *lab {
	t.Helper()
	l := counting(t)
	l.pve.Edit(func(s *state.State) { s.Pools["a"] = &state.Pool{VMs: map[int]bool{}, Storages: map[string]bool{}} })
	team := configtest.Team("a", 10000, 10099, "local-lvm")
	team.Pools, team.Quota = []string{"a"}, &q
	configtest.SetTenants(t, l.kube, v1alpha1.TenantRefuse, team)
	return l
}

// takes takes, as someone else, the VMID of the stub VM of a Volume while the call that creates it is under way, for a VM of this configuration. It
// returns the VMID.
func (l *lab) takes(v volume.Volume, config map[string]string) int {
	l.Helper()
	arrive := l.pve.Inject(simulator.Fault{Method: http.MethodPost, Path: "/nodes/*/qemu", Delay: time.Minute, Count: 1})
	called := make(chan struct{})
	go func() {
		defer close(called)
		for f := l.pve.Faults(); len(f) > 0 && f[0].Hit == 0; f = l.pve.Faults() {
			l.reconcile(v)
		}
	}()
	for l.pve.Faults()[0].Hit == 0 {
		<-time.After(time.Millisecond)
	}
	now := l.scope.Identity("Volume").Object.DeepCopyObject().(volume.Volume)
	now.SetName(v.GetName())
	now.SetNamespace(v.GetNamespace())
	l.read(now)
	r, err := volumeref.RecordOf(now)
	l.must(err)
	l.pve.Edit(func(s *state.State) {
		s.Guests[r.VMID] = &state.Guest{VMID: r.VMID, Node: "pve3", Config: config, Power: state.Stopped}
	})
	arrive()
	<-called
	return r.VMID
}

// others returns the configuration of a VM of someone else.
func others() map[string]string {
	return map[string]string{"name": "others", "smbios1": "uuid=11111111-2222-4333-8444-555555555555"}
}

// TestQuotaTaken checks that a Volume keeps the room that it was granted with another VMID if someone else has taken its VMID, even while that VM is
// being created and its owner is not visible yet.
func TestQuotaTaken(t *testing.T) {
	for name, config := range map[string]map[string]string{"Made": others(), "BeingMade": {"lock": "clone", "description": " qmclone temporary file"}} {
		t.Run(name, func(t *testing.T) {
			l := limited(t, v1alpha1.TenantQuota{VMs: new(int32(1))})
			v := l.volume("data", onLVM)
			taken := l.takes(v, config)
			l.until("the disk is made", l.unbound(v))
			if got := l.stub(v).VMID; got == taken || got == 0 {
				t.Errorf("want another VMID than %d, got %d", taken, got)
			}
		})
	}
}

// TestQuotaNamed checks that a Volume whose record names another VM of the team, which is not its stub VM, counts in addition to that, and once.
func TestQuotaNamed(t *testing.T) {
	const named = 10050
	for name, tc := range map[string]struct {
		reason string
		vms    int32
		short  bool
	}{
		"Beside": {reason: "There is no room beside the VM that it names.", vms: 1, short: true},
		"Once":   {reason: "There is room for its disk, once.", vms: 2},
	} {
		t.Run(name, func(t *testing.T) {
			l := limited(t, v1alpha1.TenantQuota{
				VMs: &tc.vms, Disks: []v1alpha1.TenantStorageQuota{{Storage: "local-lvm", Size: kresource.MustParse("2Gi")}},
			})
			l.pve.Edit(func(s *state.State) {
				s.Guests[named] = &state.Guest{VMID: named, Node: "pve3", Config: others(), Power: state.Stopped}
				s.Pools["a"].VMs[named] = true
			})
			v, ok := l.object("Volume", "data", 0, onLVM, map[string]string{
				tenancy.AnnotationVolume: `{"vmid":10050,"uuid":"f0f0f0f0-0000-4000-8000-000000000001"}`,
			}).(volume.Volume)
			if !ok {
				t.Fatal("it is no Volume")
			}
			if !tc.short {
				l.until("the disk is made", l.unbound(v))
				return
			}
			l.until(tc.reason, configtest.Says(v, kind.TypeUpToDate, v1alpha1.ReasonQuotaExceeded))
			if m := v.GetCondition(kind.TypeUpToDate).Message; !strings.Contains(m, "vms: 1 more, of 1 1 are used") {
				t.Errorf("%s Got %q", tc.reason, m)
			}
		})
	}
}
