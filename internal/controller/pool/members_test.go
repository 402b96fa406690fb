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

package pool_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/internal/controller/config"
	"github.com/vitistack/provider-proxmox/internal/controller/config/configtest"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/pool"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// lives runs a test in its ways.
func lives(t *testing.T, run func(*configtest.Life)) {
	t.Helper()
	configtest.RunIn(t, configtest.Kind{Setup: config.Setup(pool.Table()), Kind: "Pool", Collection: pool.Table().Collection}, run)
}

// hasVM reports whether a pool has a VMID. Proxmox VE does not show a VMID that no guest has.
func hasVM(l *configtest.Life, vmid int) bool {
	has := false
	l.Edit(func(s *simulator.State) {
		has = s.Pools["crossplane/web"] != nil && s.Pools["crossplane/web"].VMs[vmid]
	})
	return has
}

// TestUnknownMembers checks a spec that names a VM which does not exist. Proxmox VE accepts any VMID into a pool, and a guest that gets the VMID
// later is in the pool.
func TestUnknownMembers(t *testing.T) {
	lives(t, func(l *configtest.Life) {
		l.Helper()
		mg := l.Resource(1, "{name: crossplane/web, vmids: [9000, 4711]}", nil)
		l.Until(mg, xpv2.TypeReady, pool.ReasonMembersMissing, "VM 4711 does not exist")
		if !hasVM(l, 9000) || hasVM(l, 4711) {
			l.Errorf("want VM 9000 in the pool and VMID 4711 in none: %v", l.Writes())
		}
		l.Edit(func(s *simulator.State) { s.Pools["crossplane/web"].VMs[4711] = true })
		l.Until(mg, xpv2.TypeReady, pool.ReasonMembersMissing, "VM 4711 does not exist")
		l.Delete(mg)
		if o := l.Options("crossplane/web"); o != nil {
			l.Errorf("the pool is left for a VMID that nobody has: %v", o)
		}
	})
}

// TestMovedMember moves a VM to another pool a moment before this one is to get it, and checks that it stays there and the others are added.
func TestMovedMember(t *testing.T) {
	lives(t, func(l *configtest.Life) {
		l.Helper()
		l.Edit(func(s *simulator.State) {
			for _, id := range []int{9100, 9200} {
				other := *s.Guests[9000]
				other.VMID, other.Config = id, maps.Clone(other.Config)
				s.Guests[id] = &other
			}
		})
		mg := l.Resource(1, "{name: crossplane/web, vmids: [9200]}", nil)
		l.Settle(mg)
		n := len(l.Writes())
		l.Edit(func(s *simulator.State) {
			s.Pools["theirs"] = &state.Pool{VMs: map[int]bool{9000: true}, Storages: map[string]bool{}}
		})
		l.EditSpec(mg, "{name: crossplane/web, vmids: [9000, 9100, 9200]}")
		l.Until(mg, xpv2.TypeReady, pool.ReasonMembersMissing, `VM 9000 is in pool "theirs", and is left there`)
		if w := l.Writes()[n:]; len(w) != 1 || hasVM(l, 9000) || !hasVM(l, 9100) {
			l.Errorf("want one call that adds VM 9100 alone, got %v", w)
		}
	})
}

// TestJoinableNow checks a pool whose members were created after the lists were read: it has them after one reconcile, and nothing reports that they
// do not exist.
func TestJoinableNow(t *testing.T) {
	theirs := func(s *simulator.State, vms map[int]bool) {
		s.Pools["theirs"] = &state.Pool{VMs: vms, Storages: map[string]bool{}}
	}
	guest := func(s *simulator.State) {
		made := *s.Guests[9000]
		made.VMID, made.Config = 9100, maps.Clone(made.Config)
		s.Guests[9100] = &made
	}
	cases := map[string]struct {
		reason, spec string
		before, then func(*simulator.State)
	}{
		"Machine": {reason: "The VM of a Machine is made.", spec: "vmids: [9000], machineRefs: [{name: web}]", then: guest},
		"VMID":    {reason: "A VM is made.", spec: "vmids: [9100]", then: guest},
		"Pool": {
			reason: "A VM leaves another pool.", spec: "vmids: [9100]",
			before: func(s *simulator.State) { guest(s); theirs(s, map[int]bool{9100: true}) },
			then:   func(s *simulator.State) { theirs(s, map[int]bool{}) },
		},
		"Storage": {
			reason: "A storage is made.", spec: "storages: [later]",
			then: func(s *simulator.State) {
				made := *s.Storages["local"]
				made.ID = "later"
				s.Storages["later"] = &made
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			lives(t, func(l *configtest.Life) {
				l.Helper()
				l.RestartBySigns()
				if tc.before != nil {
					l.Edit(tc.before)
				}
				web := l.Machine("web", "demo", 0, nil, nil)
				mg := l.Resource(1, "{name: crossplane/web, "+tc.spec+"}", nil)
				l.Until(mg, xpv2.TypeReady, pool.ReasonMembersMissing)
				l.Edit(tc.then)
				l.HasVM(web, 9100)
				l.Reconcile(mg)
				told := mg.GetCondition(xpv2.TypeReady)
				later := false
				l.Edit(func(s *simulator.State) { later = s.Pools["crossplane/web"].Storages["later"] })
				if !hasVM(l, 9100) && !later || told.Reason == pool.ReasonMembersMissing {
					l.Errorf("%s Want it in the pool after one look, got %q, writes %v", tc.reason, told.Message, l.Writes())
				}
			})
		})
	}
}

// inAndOut runs a test of pools in its ways, in a cluster and on a standalone node.
func inAndOut(t *testing.T, run func(*configtest.Life)) {
	t.Helper()
	for name, prepare := range map[string]func(configtest.Simulator){
		"Cluster": nil,
		"Standalone": func(s configtest.Simulator) {
			s.Edit(func(st *simulator.State) { st.ClusterName = "" })
		},
	} {
		t.Run(name, func(t *testing.T) {
			configtest.RunIn(t, configtest.Kind{Setup: config.Setup(pool.Table()), Kind: "Pool", Collection: pool.Table().Collection, Prepare: prepare}, run)
		})
	}
}

// TestOtherExternalName sets the external name of a resource that has a pool to another pool, and checks that neither is changed or removed.
func TestOtherExternalName(t *testing.T) {
	inAndOut(t, func(l *configtest.Life) {
		l.Helper()
		l.Edit(func(s *simulator.State) {
			s.Pools["theirs"] = &state.Pool{Comment: "Theirs", VMs: map[int]bool{}, Storages: map[string]bool{}}
		})
		mg := l.Resource(1, "{comment: Web}", nil)
		l.Settle(mg)
		n, own := len(l.Writes()), meta.GetExternalName(mg)
		rename := func(name string) {
			l.Must(l.Kube.Get(l.Context(), client.ObjectKeyFromObject(mg), mg))
			meta.SetExternalName(mg, name)
			l.Must(l.Kube.Update(l.Context(), mg))
		}
		rename("theirs")
		l.Until(mg, xpv2.TypeSynced, xpv2.ReasonReconcileError, `this resource stands for "`+own+`"`)
		l.Must(l.Kube.Delete(l.Context(), mg))
		l.Until(mg, xpv2.TypeSynced, xpv2.ReasonReconcileError, `this resource stands for "`+own+`"`)
		if w := l.Writes()[n:]; len(w) > 0 {
			l.Errorf("want nothing touched, got %v", w)
		}
		rename(own)
		l.UntilGone(mg)
		if l.Options("theirs")["comment"] != "Theirs" || l.Options(own) != nil {
			l.Errorf("want this resource's pool alone removed, got %v", l.Writes()[n:])
		}
	})
}

// TestOwnedName checks that the name of an adopted pool is recorded and reported, and that of a pool that an earlier version has managed is recorded
// only.
func TestOwnedName(t *testing.T) {
	inAndOut(t, func(l *configtest.Life) {
		l.Helper()
		l.Must(l.Client.CreateObject(l.Context(), pool.Table().Collection, "web", proxmox.Params{"comment": "Web"}))
		mg := l.Resource(1, "{comment: Web}", map[string]string{meta.AnnotationKeyExternalName: "web"})
		l.Settle(mg)
		noted := func() bool { return mg.GetAnnotations()[kind.AnnotationOwned] == "web" }
		if !noted() {
			l.Errorf("annotations are %v", mg.GetAnnotations())
		}
		meta.RemoveAnnotations(mg, kind.AnnotationOwned)
		l.Must(l.Kube.Update(l.Context(), mg))
		l.UntilHolds(mg, "the name is noted", noted)
		l.Settle(mg)
		told := slices.DeleteFunc(l.Events.All(), func(e string) bool { return !strings.HasPrefix(e, "Adopted: ") })
		if len(told) != 1 || len(l.Writes()) > 0 {
			l.Errorf("want one event and nothing written, got %v and %v", told, l.Writes())
		}
	})
}

// TestHiddenPool checks a user that may no longer see the pool, whose members Proxmox VE shows to anyone with ?poolid=. A pool that is not listed is
// not necessarily deleted.
func TestHiddenPool(t *testing.T) {
	lives(t, func(l *configtest.Life) {
		l.Helper()
		mg := l.Resource(1, "{name: crossplane/web, comment: Web, vmids: [9000]}", nil)
		l.Settle(mg)
		n := len(l.Writes())
		l.Edit(func(s *simulator.State) {
			s.ACL = slices.DeleteFunc(s.ACL, func(g simulator.Grant) bool { return g.ID == "crossplane@pve" })
			s.ACL = append(s.ACL, simulator.Grant{Path: "/", Kind: "user", ID: "crossplane@pve", Role: "PVEVMAdmin", Propagate: true})
		})
		audit := proxmox.Privilege{Path: "/pool/crossplane/web", Names: []string{"Pool.Audit"}}
		l.Until(mg, xpv2.TypeSynced, xpv2.ReasonReconcileError, audit.String())
		l.Must(l.Kube.Delete(l.Context(), mg))
		for range 3 {
			if !l.Reconcile(mg) {
				l.Fatal("the resource is gone, and its pool is left")
			}
		}
		if w := l.Writes(); len(w) != n {
			l.Errorf("the provider writes to what it does not see: %v", w[n:])
		}
	})
}
