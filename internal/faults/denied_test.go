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

package faults

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/simulator"
)

// A roleCase is a life cycle in which privileges may be missing.
type roleCase struct {
	scenario

	// features whose privileges it needs, in addition to those for Machines.
	features []proxmox.Feature

	// rights that it needs in addition, by path.
	rights map[string][]string
}

// roleCases returns the scenarios that need different privileges, and some that PVE requires further privileges for.
func roleCases() map[string]roleCase {
	s := scenarios()
	return map[string]roleCase{
		"Empty":          {scenario: s["Empty"]},
		"LinkedClone":    {scenario: s["LinkedClone"]},
		"FullClone":      {scenario: s["FullClone"]},
		"LocalClone":     {scenario: s["LocalClone"], features: []proxmox.Feature{proxmox.FeatureMigration}},
		"Image":          {scenario: s["Image"], features: []proxmox.Feature{proxmox.FeatureUserData}},
		"ImageChanged":   {scenario: s["ImageChanged"], features: []proxmox.Feature{proxmox.FeatureUserData, proxmox.FeatureMigration}},
		"Disks":          {scenario: s["Disks"]},
		"Migration":      {scenario: s["Migration"], features: []proxmox.Feature{proxmox.FeatureMigration}},
		"LocalMigration": {scenario: s["LocalMigration"], features: []proxmox.Feature{proxmox.FeatureUserData, proxmox.FeatureMigration}},
		"HA":             {scenario: s["HA"], rights: map[string][]string{"/": {"Sys.Audit", "Sys.Console"}}},
		"Restart":        {scenario: s["Restart"]},
		"Paused":         {scenario: s["Paused"]},
		"Suspended":      {scenario: s["Suspended"]},
		"Firmware":       {scenario: s["Firmware"]},
		"Password":       {scenario: s["Password"]},
		"Options":        {scenario: options(), rights: map[string][]string{"/": {"Sys.Modify"}, "/mapping": {"Mapping.Use", "Mapping.Audit"}}},
		"Volume":         {scenario: s["Volume"], features: []proxmox.Feature{proxmox.FeatureMigration}},
		"Pool":           {scenario: pool(), features: []proxmox.Feature{proxmox.FeaturePools}},
	}
}

// options returns a scenario that changes options of all sorts.
func options() scenario {
	return scenario{
		reason: "Options of all sorts change.",
		before: func(s *simulator.State) {
			for _, id := range []string{"gpu", "other"} {
				s.Mappings["pci"][id] = map[string]string{"type": "pci", "map": "node=pve1,path=0000:01:00.0,id=10de:1db6"}
			}
		},
		spec: v1alpha1.MachineParameters{Template: new(intstr.FromString("ubuntu-24.04"))},
		changes: []func(*v1alpha1.MachineParameters){
			func(p *v1alpha1.MachineParameters) {
				p.Tags, p.Description, p.OnBoot = []string{"a"}, new("text"), new(true)
				p.Networks = []v1alpha1.MachineNetwork{{Name: "lan", Device: new("net0"), Bridge: new("vmbr1")}}
				p.CDROMs = []v1alpha1.MachineCDROM{{Name: "tools", ISO: new("nfs:iso/virtio-win.iso")}}
			},
			func(p *v1alpha1.MachineParameters) {
				p.PCIDevices = []v1alpha1.MachinePCIDevice{{Name: "gpu", Mapping: new("gpu")}}
				p.Startup = &v1alpha1.MachineStartup{Order: new(int32(1))}
			},
		},
	}
}

// pool returns a scenario in which a VM changes its pool.
func pool() scenario {
	return scenario{
		reason: "A VM is made in a pool, goes to another one and leaves that.",
		before: func(s *simulator.State) {
			s.Pools["other"] = &simulator.Pool{VMs: map[int]bool{}, Storages: map[string]bool{}}
		},
		spec: v1alpha1.MachineParameters{Template: new(intstr.FromString("ubuntu-24.04")), Pool: new("crossplane")},
		changes: []func(*v1alpha1.MachineParameters){
			func(p *v1alpha1.MachineParameters) { p.Pool = new("other") },
			func(p *v1alpha1.MachineParameters) { p.Pool = new("") },
		},
	}
}

// updated returns the releases of PVE with their latest updates.
func updated() map[string]proxmox.Version {
	return map[string]proxmox.Version{"8.4": {Version: "8.4.21"}, "9.2": {Version: "9.2.11"}}
}

// A right is a privilege on a path.
type right struct {
	path, privilege string

	// narrow is true if it is missing only on some parts: it is granted on the path.
	narrow bool
}

// parts returns the parts of the cluster that the runs use, by the paths above them.
func parts() map[string][]string {
	return map[string][]string{
		"/vms":     {"/vms/10000"},
		"/storage": {"/storage/local", "/storage/local-lvm", "/storage/ceph", "/storage/nfs"},
		"/sdn":     {"/sdn/zones/localnetwork"},
		"/pool":    {"/pool/crossplane", "/pool/other"},
		"/mapping": {"/mapping/pci/gpu"},
	}
}

// needed returns the rights that a life cycle needs, by path.
func (l roleCase) needed(version string) map[string][]string {
	needed := proxmox.Needed(updated()[version], append(l.features, proxmox.FeatureMachines)...)
	for path, names := range l.rights {
		needed[path] = append(needed[path], names...)
	}
	return needed
}

// grant grants exactly these privileges.
func (w *env) grant(needed map[string][]string, lacks right) {
	w.pve.Edit(func(s *simulator.State) {
		s.ACL = nil
		for path, names := range maps.All(needed) {
			if path != lacks.path {
				give(s, path, names)
				continue
			}
			rest := slices.DeleteFunc(slices.Clone(names), func(p string) bool { return p == lacks.privilege })
			if !lacks.narrow {
				give(s, path, rest)
				continue
			}
			give(s, path, names)
			for _, part := range parts()[path] {
				give(s, part, rest)
			}
		}
	})
}

// give grants privileges on a path and below it, replacing those granted above it.
func give(s *simulator.State, path string, names []string) {
	role := &simulator.Role{Privileges: map[string]bool{}}
	for _, p := range names {
		role.Privileges[p] = true
	}
	s.Roles["Least"+path] = role
	s.ACL = append(s.ACL, simulator.Grant{Path: path, Kind: "user", ID: "crossplane@pve", Role: "Least" + path, Propagate: true})
}

// TestDenied runs parts of the life cycle of a Machine, each without one privilege: the Machine names the privilege, nothing is half done, and the life
// cycle continues when the privilege is granted.
func TestDenied(t *testing.T) {
	t.Parallel()
	n := 0
	for _, name := range slices.Sorted(maps.Keys(roleCases())) {
		for _, version := range slices.Sorted(maps.Keys(updated())) {
			l := roleCases()[name]
			l.version = version
			needed := l.needed(version)
			for _, r := range rights(needed) {
				if n++; n%thinned() != 0 {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/%s", name, version, r), func(t *testing.T) {
					t.Parallel()
					l.without(t, needed, r)
				})
			}
		}
	}
}

// rights returns the rights of which one is missing at a time.
func rights(needed map[string][]string) []right {
	var all []right
	for _, path := range slices.Sorted(maps.Keys(needed)) {
		for _, p := range needed[path] {
			all = append(all, right{path: path, privilege: p})
			if parts()[path] != nil {
				all = append(all, right{path: path, privilege: p, narrow: true})
			}
		}
	}
	return all
}

// String returns the right as the name of a test.
func (r right) String() string {
	on := "on"
	if r.narrow {
		on = "below"
	}
	return fmt.Sprintf("%s %s %s", r.privilege, on, strings.ReplaceAll(r.path, "/", ":"))
}

// thinned returns n, if every n-th of the rights that may be missing is tested.
func thinned() int {
	switch {
	case all:
		return 1
	case many:
		return 17
	}
	return 61
}

// without runs a life cycle without a right. It continues in each part when the right is granted.
func (l roleCase) without(t *testing.T, needed map[string][]string, r right) {
	t.Helper()
	w := newEnv(t, l.scenario, 0)
	whole := []part{{name: "create", done: func() bool { return w.allSettled(t) }}}
	for i, change := range l.changes {
		whole = append(whole, part{name: fmt.Sprintf("change %d", i), begin: func() { w.change(t, change) }, done: func() bool { return w.allSettled(t) }})
	}
	for _, a := range l.acts {
		whole = append(whole, part{name: a.what, begin: func() { a.do(t, w) }, done: func() bool { return w.allSettled(t) }})
	}
	whole = append(whole, part{name: "delete", begin: func() { w.delete(t) }, done: func() bool { return !w.exists(t) }})
	whole = append(whole, part{name: "delete the rest", begin: func() { w.startDeleteRest(t) }, done: func() bool { return !w.restExists(t) }})
	for _, p := range whole {
		w.grant(needed, r)
		if r.narrow && r.path == "/vms" && p.name == "create" {
			w.grant(needed, right{}) // On a VM that does not exist, a privilege makes no difference.
		}
		w.lives(t, p, needed, r)
		if t.Failed() {
			return
		}
	}
	w.untouched(t, l.scenario)
}

// A part is a part of a life cycle.
type part struct {
	name  string
	begin func()
	done  func() bool
}

// Limits while a privilege is missing, and after it has been granted.
const (
	waitsFor = 20 * time.Minute
	maxTries = 12
	goesOn   = 12 * time.Minute

	// volumesPoll is the interval at which a waiting Volume is reconciled.
	volumesPoll = 5 * time.Second
)

// lives runs a part of a life cycle without a privilege, which is granted when the Machine has
// waited for it.
func (w *env) lives(t *testing.T, p part, needed map[string][]string, r right) {
	t.Helper()
	before, writes := w.victim(), len(w.writes())
	w.told = nil
	if p.begin != nil {
		p.begin()
	}
	start := w.clock.Now()
	w.until(t, fmt.Sprintf("%s is done, or waits for %s", p.name, r), func() bool {
		return p.done() || w.clock.Now().Sub(start) > waitsFor
	})
	if p.done() {
		return
	}
	w.denied(t, p, r, before)
	tries := maxTries
	if len(w.volumes) > 0 {
		tries += int(waitsFor / volumesPoll) // Each reconcile is of the Machine and its Volumes.
	}
	if all := w.writes()[writes:]; len(all) > tries {
		t.Errorf("%s: %d writes without %s:\n%s", p.name, len(all), r, w)
	}
	w.grant(needed, right{})
	w.process.end()
	w.process = nil // The queue of Machines without a node retries only by the wall clock.
	granted := w.clock.Now()
	w.until(t, p.name+" goes on", p.done)
	if took := w.clock.Now().Sub(granted); took > goesOn {
		t.Errorf("%s: goes on %s after %s was granted", p.name, took, r)
	}
}

// victim returns the Machine's VM, if it has one.
func (w *env) victim() simulator.Guest {
	if v := w.m.Observation().VMID; v != nil {
		return w.holdings().Guests[int(*v)]
	}
	return simulator.Guest{}
}

// denied checks the state while a right is missing: the Machine names it, and its VM is unchanged, or does not exist if it was not created before.
func (w *env) denied(t *testing.T, p part, r right, before simulator.Guest) {
	t.Helper()
	names := func(s string) bool { return strings.Contains(s, r.privilege) && strings.Contains(s, r.path) }
	shown := w.m.GetCondition(xpv2.TypeSynced).Status == corev1.ConditionFalse || len(w.tellsOfVolumes()) > 0
	if !shown || !slices.ContainsFunc(w.told, names) {
		t.Errorf("%s: told %q without %s\n%s", p.name, w.told, r, w)
	}
	if before.VMID == 0 {
		w.untouched(t, scenario{}, w.ours(t)...)
		return
	}
	if now := w.victim(); now.Power != before.Power && (len(w.volumes) == 0 || !meta.WasDeleted(w.m)) { // It is shut down before its Volumes are deleted.
		t.Errorf("%s: VM %d was %s, and is %s without %s\n%s", p.name, before.VMID, before.Power, now.Power, r, w)
	}
}
