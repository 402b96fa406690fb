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
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	kresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/metrics"
	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
)

// inBothScopes returns a world and the same one in the other scope, where another configuration has the same tenants for the same cluster.
func inBothScopes(w *tenantWorld) []*tenantWorld {
	w.Helper()
	other := *w
	other.namespaced = !w.namespaced
	other.world = &world{
		T: w.T, name: w.name, kube: w.kube, pve: w.pve, admin: w.admin, stop: func() {},
		scope: scope{machine: w.scope.machine, config: func(o metav1.ObjectMeta, spec v1alpha1.ProviderConfigSpec) client.Object {
			if other.namespaced {
				return &namespaced.ClusterProviderConfig{ObjectMeta: o, Spec: spec}
			}
			return &cluster.ProviderConfig{ObjectMeta: o, Spec: spec}
		}},
	}
	if err := w.kube.Create(w.Context(), other.scope.config(w.meta(), *w.providerConfig().Settings().DeepCopy())); err != nil {
		w.Fatal(err)
	}
	return []*tenantWorld{w, &other}
}

// shard is a label by which providers divide resources.
const shard = "example.org/shard"

// sharded returns options of a provider that manages only one shard.
func sharded(name string) func(ctrl.Manager) kind.Options {
	return func(mgr ctrl.Manager) kind.Options {
		o := kindOptions(mgr)
		o.Shard = kind.Shard{Selector: labels.SelectorFromSet(labels.Set{shard: name})}
		return o
	}
}

// another starts another provider in addition to the one that is running.
func (w *tenantWorld) another(options func(ctrl.Manager) kind.Options) {
	w.Helper()
	stop := w.stop
	w.options = options
	w.start()
	other := w.stop
	w.stop = func() { stop(); other() }
}

// measured returns options of a provider whose metrics are gathered.
func measured(t *testing.T, by *prometheus.Registry, of func(ctrl.Manager) kind.Options) func(ctrl.Manager) kind.Options {
	t.Helper()
	return func(mgr ctrl.Manager) kind.Options {
		o := of(mgr)
		o.Metrics = metrics.New()
		if err := o.Metrics.Register(by); err != nil {
			t.Fatal(err)
		}
		return o
	}
}

// gauge returns the values of a metric of a tenant, by the resource.
func gauge(t *testing.T, from prometheus.Gatherer, name, tenant string) map[string]int64 {
	t.Helper()
	families, err := from.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]int64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			of := map[string]string{}
			for _, l := range m.GetLabel() {
				of[l.GetName()] = l.GetValue()
			}
			if f.GetName() == name && of["tenant"] == tenant {
				all[of["resource"]] = int64(m.GetGauge().GetValue())
			}
		}
	}
	return all
}

// TestQuotasTogether makes a team request more memory, addresses, snapshots and backups than it may have, all at the same time, from two providers.
// It checks that no limit is exceeded at any time, that what fits is created, and that metrics show what exists and that others wait.
func TestQuotasTogether(t *testing.T) {
	t.Parallel()
	rarePairings(t, func(t *testing.T, p pairing) {
		t.Helper()
		by := prometheus.NewRegistry()
		w := newPairedWorld(t, p, "together", withQuota(v1alpha1.TenantQuota{
			Memory: new(kresource.MustParse("6Gi")), Snapshots: new(int32(3)), Backups: new(int32(2)),
			PublicAddresses: []v1alpha1.TenantAddressQuota{{Bridge: "vmbr1", Count: 3}},
		}), func(w *tenantWorld) { w.options = measured(t, by, sharded("0")) })
		w.another(sharded("1"))
		w.m = w.of("a", "own", gibibyte(sized(1)))
		w.m.GetLabels()[shard] = "0"
		w.make(w.m)
		w.well(w.m)
		all := w.asksForAll()
		for range 2 {
			w.areKept(all, map[string]int{"Machine": 5, "Snapshot": 3, "Backup": 2})
			w.measures(by)
			all = w.removesOneOfEach(all)
		}
	})
}

// gibibyte gives a VM that much memory.
func gibibyte(p v1alpha1.MachineParameters) v1alpha1.MachineParameters {
	p.Memory = new(kresource.MustParse("1Gi"))
	return p
}

// asksForAll creates twice of what there is room for, at the same time: VMs with an address, VMs without, and snapshots and backups of the existing
// VM.
func (w *tenantWorld) asksForAll() []resource.Managed {
	w.Helper()
	var all []resource.Managed
	for i := range 5 {
		name := fmt.Sprint(i)
		plain := gibibyte(v1alpha1.MachineParameters{PowerState: new(v1alpha1.PowerStateStopped)})
		all = append(all, w.of("a", "public"+name, gibibyte(sized(1))), w.of("a", "plain"+name, plain), w.takes(name), w.backupOf("a", name, w.m.GetName()))
	}
	made := make(chan error, len(all))
	for i, mg := range all {
		mg.GetLabels()[shard] = fmt.Sprint(i / 4 % 2)
		go func() { made <- w.kube.Create(w.Context(), mg) }()
	}
	for range all {
		if err := <-made; err != nil {
			w.Fatal(err)
		}
	}
	return all
}

// has returns what the VMs of team-a have, and its backups.
func (w *tenantWorld) has() map[string]int64 {
	all := map[string]int64{"backups": int64(len(w.backedUp())), "memory": 0, "snapshots": 0, "publicAddresses/vmbr1": 0}
	w.pve.Edit(func(s *simulator.State) {
		for id := range s.Pools["team-a"].VMs {
			g := s.Guests[id]
			var mib int64
			_, _ = fmt.Sscan(g.Config["memory"], &mib)
			all["memory"] += mib << 20
			all["snapshots"] += int64(len(g.Snapshots))
			for name, value := range g.Config {
				if strings.HasPrefix(name, "net") && strings.Contains(value, "bridge=vmbr1") {
					all["publicAddresses/vmbr1"]++
				}
			}
		}
	})
	return all
}

// allTogether returns the limits of team-a in this test.
func allTogether() map[string]int64 {
	return map[string]int64{"memory": 6 << 30, "snapshots": 3, "backups": 2, "publicAddresses/vmbr1": 3}
}

// areKept waits until as many resources of each kind are ready as there is room for, and all others wait for room. It checks that no limit is
// exceeded meanwhile.
func (w *tenantWorld) areKept(all []resource.Managed, want map[string]int) {
	w.Helper()
	most, late := -1, time.Now()
	for ; ; <-time.After(pace) {
		for name, n := range w.has() {
			if n > allTogether()[name] {
				w.Fatalf("want at most %d of %s, got %d", allTogether()[name], name, n)
			}
		}
		ready, waits, sum := map[string]int{}, 0, 0
		for _, mg := range all {
			switch w.show(mg); {
			case mg.GetCondition(xpv2.TypeReady).Status == corev1.ConditionTrue:
				ready[tenancy.KindOf(mg)]++
				sum++
			case mg.GetCondition(kind.TypeUpToDate).Reason == v1alpha1.ReasonQuotaExceeded:
				waits++
			}
		}
		if maps.Equal(ready, want) && sum+waits == len(all) {
			return
		}
		if sum+waits > most {
			most, late = sum+waits, time.Now().Add(slowest)
		}
		if time.Now().After(late) {
			w.Fatalf("want %v ready and the others wait, got %v and %d of %d", want, ready, waits, len(all))
		}
	}
}

// measures waits until the metrics show what exists, and who waits for more.
func (w *tenantWorld) measures(by prometheus.Gatherer) {
	w.Helper()
	const metric = "proxmox_operator_tenant_quota_"
	asked := 0
	w.eventually("the metrics show what there is", func() bool {
		if asked++; asked%80 == 1 {
			w.recounts(w.providerConfig())
		}
		waiting := gauge(w.T, by, metric+"waiting", "team-a")
		return maps.Equal(gauge(w.T, by, metric+"used", "team-a"), w.has()) && waiting["snapshots"] > 0 && waiting["backups"] > 0 && waiting["memory"] > 0
	})
	if got := gauge(w.T, by, metric+"limit", "team-a"); !maps.Equal(got, allTogether()) {
		w.Errorf("want the limits %v, got %v", allTogether(), got)
	}
	if got := gauge(w.T, by, metric+"used", "team-a"); got["memory"] != allTogether()["memory"] || got["snapshots"] != 3 || got["backups"] != 2 {
		w.Errorf("want all memory, snapshots and backups used, got %v", got)
	}
}

// removesOneOfEach removes one resource of each kind of those that are ready. It returns the remaining ones.
func (w *tenantWorld) removesOneOfEach(all []resource.Managed) []resource.Managed {
	w.Helper()
	removed := map[string]bool{}
	return slices.DeleteFunc(all, func(mg resource.Managed) bool {
		of := tenancy.KindOf(mg)
		if removed[of] || mg.GetCondition(xpv2.TypeReady).Status != corev1.ConditionTrue {
			return false
		}
		removed[of] = true
		w.remove(mg)
		return true
	})
}
