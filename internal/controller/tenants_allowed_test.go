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
	"strings"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine"
	"github.com/vitistack/provider-proxmox/internal/simulator"
)

// allows adds permissions to team-a.
func allows(p v1alpha1.TenantPermissions) func(*tenantWorld) {
	return func(w *tenantWorld) {
		w.rules = func() []v1alpha1.ProviderTenant {
			all := w.tenants()
			all[0].Allow = &p
			return all
		}
	}
}

// TestTenantsAdoptTags checks that team-a adopts the VM with a tag, and no VM that it must not have.
func TestTenantsAdoptTags(t *testing.T) {
	t.Parallel()
	eachPairing(t, func(t *testing.T, p pairing) {
		t.Helper()
		w := newPairedWorld(t, p, "adopttags", allows(v1alpha1.TenantPermissions{AdoptTags: []string{"to-team-a"}}))
		w.pve.Edit(func(s *simulator.State) {
			for _, vmid := range []int{strayVM, victim, victimTemplate, 20050} {
				s.Guests[vmid].Config["tags"] = "to-team-a;web"
			}
		})
		adopts := func(name, vmid string, spec v1alpha1.MachineParameters) machine.Machine {
			m := w.of("a", name, spec)
			meta.SetExternalName(m, vmid)
			w.make(m)
			return m
		}
		w.m = adopts("adopted", "40001", v1alpha1.MachineParameters{Tags: []string{"mine"}})
		w.ready()
		w.eventually("the tag that tells whose it is stays", func() bool {
			tags := strings.Split(w.vm().Config["tags"], ";")
			return len(tags) == 3 && tags[0] == "mine" && tags[1] == "team-a" && tags[2] == "to-team-a"
		})
		w.ready()
		n := len(w.writes())
		for name, vmid := range map[string]string{"theirs": "30001", "template": "30002", "pooled": "20050", "untagged": "20051"} {
			m := adopts(name, vmid, v1alpha1.MachineParameters{})
			w.refused(m, "(allow.adopt): to adopt VM "+vmid)
			w.remove(m)
		}
		for team, says := range map[string]string{"a": "(allow.adoptTags): tag to-team-a", "b": "(tags): tag to-team-a"} {
			m := w.of(team, "retagged-"+team, linux())
			m.Parameters().Tags = []string{"to-team-a"}
			w.make(m)
			w.refused(m, says)
		}
		w.wroteNothing(n)
		w.losesVM(w.m, func(vmid int) {
			w.pve.Edit(func(s *simulator.State) { s.Guests[vmid].Config["tags"] = "mine" })
		}, "VM 40001, which is not the tenant's")
		n = len(w.writes())
		w.remove(w.m)
		w.wroteNothing(n)
		if _, there := w.pve.Guest(strayVM); !there {
			t.Error("a VM that operators have taken back is removed with its former Machine")
		}
		if told := w.leftBehind(w.m); len(told) != 1 {
			t.Errorf("want it told that the VM stays, got %q", told)
		}
	})
}

// TestTenantsPlantedTemplates checks that a template is not cloned if another tenant may adopt it by a tag, and may therefore have changed it.
func TestTenantsPlantedTemplates(t *testing.T) {
	t.Parallel()
	eachPairing(t, func(t *testing.T, p pairing) {
		t.Helper()
		w := newPairedWorld(t, p, "planted", allows(v1alpha1.TenantPermissions{AdoptTags: []string{"to-team-a"}}))
		w.pve.Edit(func(s *simulator.State) { s.Guests[9002].Config["tags"] = "to-team-a" })
		m := w.of("b", "clones", linux())
		w.make(m)
		w.refused(m, `template 'base-linux' not found among what tenant "team-b" may have (templates)`)
		w.wroteNothing(0)
	})
}

// TestTenantsRootOptions checks that a tenant that may set root-only options gets the error of Proxmox VE, because the provider uses a token.
func TestTenantsRootOptions(t *testing.T) {
	t.Parallel()
	eachPairing(t, func(t *testing.T, p pairing) {
		t.Helper()
		w := newPairedWorld(t, p, "rootoptions", allows(v1alpha1.TenantPermissions{RootOptions: new(true)}))
		attempts := w.editAttempts()
		for _, name := range []string{"hookscript", "affinity", "hugepages", "args", "parallel", "pcihost", "usbhost", "serial"} {
			spec := linux()
			attempts[name].spec(&spec)
			m := w.of("a", name, spec)
			w.make(m)
			w.becomes(m, "is refused by Proxmox VE's own rule", func() bool {
				c := m.GetCondition(kind.TypeUpToDate)
				return c.Status == corev1.ConditionFalse && strings.Contains(c.Message, "lets root@pam alone set")
			})
		}
		for name, says := range map[string]string{
			"cicustom": attempts["cicustom"].says, "romfile": attempts["romfile"].says, "physical": attempts["physical"].says, "startup": attempts["startup"].says,
		} {
			spec := linux()
			attempts[name].spec(&spec)
			m := w.of("a", name, spec)
			w.make(m)
			w.refused(m, says)
			if m.GetCondition(xpv2.TypeReady).Status == corev1.ConditionTrue {
				t.Errorf("%s is ready", name)
			}
		}
	})
}

// TestTenantPoliciesAllow checks that the API server accepts what the permissions of a tenant allow, and nothing else.
func TestTenantPoliciesAllow(t *testing.T) {
	t.Parallel()
	permissions := v1alpha1.TenantPermissions{RootOptions: new(true), AdoptTags: []string{"to-team-a"}}
	w := newPairedWorld(t, pairing{"Namespaced", "9.2"}, "policiesallow", allows(permissions))
	try, attempts := w.admit(), w.editAttempts()
	allowed := []string{
		"hookscript", "affinity", "hugepages", "keephuge", "hostnodes", "args", "parallel", "ivshmem", "pcihost", "usbhost", "serial", "adoptvictim",
	}
	refused := []string{"cicustom", "vmstate", "startup", "romfile", "pcimapping", "usbmapping", "virtiofs", "physical", "scsiblock", "hwrng", "tags"}
	for want, names := range map[bool][]string{false: allowed, true: refused} {
		for _, name := range names {
			m, a := w.of("a", name, linux()), attempts[name]
			if a.spec != nil {
				a.spec(m.Parameters())
			}
			if a.object != nil {
				a.object(m)
			}
			if err := try(name, m); refusedAtAdmission(err) != want || err != nil && !want {
				t.Errorf("%s: want refused %t, got %v", name, want, err)
			}
		}
	}
	m := w.of("a", "tagged", linux())
	m.Parameters().Tags = []string{"to-team-a"}
	if err := try("tagged", m); !refusedAtAdmission(err) {
		t.Errorf("a tag by which VMs are adopted is not refused: %v", err)
	}
}
