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
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/importer"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/qemu/export"
	"github.com/vitistack/provider-proxmox/internal/qemu/qemutest"
	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
)

// TestAdoptFound adopts VMs in the state in which years, other tools and manual changes leave them: with an empty spec, then with the one that
// describes them.
func TestAdoptFound(t *testing.T) {
	t.Parallel()
	configs, err := qemutest.Configs()
	if err != nil {
		t.Fatal(err)
	}
	admission, err := importer.NewSchema(os.DirFS("../../package"), "crds/proxmox.vitistack.io_machines.yaml")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]scenario{}
	for name, config := range configs {
		described := describedBy(t, config, admission)
		all["found-"+name] = scenario{reason: "A VM that is found is left as it is, and observed.", run: func(w *world) { adoptFound(w, config, described) }}
	}
	runVersions(t, all)
}

// layBridges adds the bridges of a VM to all nodes.
func layBridges(s *simulator.State, config map[string]string) {
	for key, value := range config {
		nic, err := proxmox.ParseNIC(value)
		if !strings.HasPrefix(key, "net") || err != nil || nic.Bridge() == "" {
			continue
		}
		for _, n := range s.Nodes {
			if n.Interfaces[nic.Bridge()] == nil {
				n.Interfaces[nic.Bridge()] = &simulator.Interface{Name: nic.Bridge(), Type: "bridge"}
			}
		}
	}
}

func adoptFound(w *world, config map[string]string, described v1alpha1.MachineParameters) {
	w.pve.Edit(func(s *simulator.State) {
		g := s.Guests[router]
		g.Config = maps.Clone(config)
		if config["lock"] == "suspended" {
			g.Power = simulator.Stopped
		}
		layBridges(s, config)
	})
	before := w.router()
	w.create(v1alpha1.MachineParameters{ShowConfig: new(true)}, adopting)
	w.ready()
	w.observes(config)
	w.change(func(p *v1alpha1.MachineParameters) { *p = *described.DeepCopy() })
	w.ready()
	if diff := cmp.Diff(before, w.router(), simulatortest.IgnoreRuntime()); diff != "" || len(w.writes()) > 0 {
		w.Fatalf("adoption changes nothing: -before, +after:\n%s\n%s", diff, w)
	}
	w.pve.Edit(func(s *simulator.State) { delete(s.Guests[router].Config, "lock") })
	w.change(func(p *v1alpha1.MachineParameters) { p.Description = new("ours now") })
	w.eventually("the VM is managed", func() bool { return strings.TrimSpace(w.router().Config["description"]) == "ours now" })
	w.ready()
	writes := w.writes()
	if len(writes) != 1 || !slices.Equal(slices.Sorted(maps.Keys(writes[0].Params)), []string{"description", "digest", "node", "vmid"}) {
		w.Errorf("want one write, of what changes alone:\n%s", w)
	}
}

// describedBy returns the spec that describes a VM.
func describedBy(t *testing.T, config map[string]string, admission *importer.Schema) v1alpha1.MachineParameters {
	t.Helper()
	var values []proxmox.PendingValue
	for option, value := range config {
		values = append(values, proxmox.PendingValue{Key: option, Value: &value})
	}
	d, err := export.Describe(export.Subject{Options: values}, admission.Refuses)
	if err != nil {
		t.Fatal(err)
	}
	return d.Parameters
}

// observes checks that the status shows the VM as it is.
func (w *world) observes(config qemu.Config) {
	w.Helper()
	o := w.m.Observation()
	disks, networks := []string{}, []string{}
	for _, d := range o.Disks {
		disks = append(disks, d.Device)
	}
	for _, n := range o.Networks {
		networks = append(networks, n.Device)
	}
	if want := slices.Concat(config.Disks(), config.Firmware(), config.Unused()); !cmp.Equal(
		slices.Sorted(slices.Values(want)), slices.Sorted(slices.Values(disks)),
	) {
		w.Errorf("disks: want %q, got %q", want, disks)
	}
	if want := config.NICs(); !slices.Equal(want, networks) {
		w.Errorf("networks: want %q, got %q", want, networks)
	}
	for option, want := range config {
		if got, shown := o.Config[option]; shown && got != want {
			w.Errorf("%s: want %q, got %q", option, want, got)
		} else if !shown && !slices.Contains([]string{"args", "cipassword", "description", "sshkeys"}, option) {
			w.Errorf("%s is not shown", option)
		}
	}
	if o.UUID != config.UUID() || o.Name != config["name"] || *o.MemoryBytes != config.Memory() || o.CPU.Cores != config.Integer("cores", 1) ||
		o.Lock != config["lock"] {
		w.Errorf("observed %+v", o)
	}
}
