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

package machine

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// A specFuzzer generates specs for a running VM. Disks only grow.
type specFuzzer struct {
	*rand.Rand

	sizes map[string]int
}

func (g specFuzzer) one(values ...string) string { return values[g.IntN(len(values))] }

func (g specFuzzer) some(values ...string) string {
	var out []string
	for _, v := range values {
		if g.IntN(2) == 0 {
			out = append(out, v)
		}
	}
	return strings.Join(out, ", ")
}

func (g specFuzzer) disk(name, bus string) string {
	g.sizes[name] += g.IntN(2)
	return fmt.Sprintf("{name: %s, type: %s, size: %dG, storage: %s, cache: %s, discard: %s, limits: {readMBps: %s}, removalPolicy: %s}", name, bus, 1+
		g.sizes[name],
		g.one("local-lvm", "ceph"), g.one("none", "writeback"), g.one("true", "false"), g.one("0", "10"), g.one("Detach", "Destroy"))
}

func (g specFuzzer) network(name string) string {
	return fmt.Sprintf("{name: %s, bridge: %s, model: %s, vlan: %s, linkDown: %s, queues: %s}", name,
		g.one("vmbr0", "vmbr1"), g.one("virtio", "e1000"), g.one("0", "7"), g.one("true", "false"), g.one("0", "2"))
}

func (g specFuzzer) spec() string {
	lines := []string{
		"hotplug: [" + g.some("disk", "network", "usb", "cpu") + "]",
		"cpu: {cores: " + g.one("2", "4") + ", numa: " + g.one("true", "false") + ", limit: " + g.one("0", "1") + "}",
		"memory: " + g.one("1Gi", "2Gi"),
		"balloon: " + g.one("true", "false"),
		"agent: " + g.one("true", "false"),
		"machineType: " + g.one("q35", "pc"),
		"serialPorts: [" + g.some("socket") + "]",
		"usbDevices: [" + g.some("{name: a, host: spice}", "{name: b, mapping: key}") + "]",
		"pciDevices: [" + g.some("{name: gpu, mapping: gpu}") + "]",
		"efiDisk: {enabled: " + g.one("true", "false") + "}",
		"tpm: {enabled: " + g.one("true", "false") + "}",
		"disks: [" + g.some(g.disk("data", "virtio"), g.disk("more", "sata"), g.disk("old", "scsi")) + "]",
		"networks: [" + g.some(g.network("lan"), g.network("dmz")) + "]",
		g.some("bootOrder: [disk, network]"),
	}
	return strings.Join(lines, "\n")
}

// edit returns a manual change of a VM with a configuration.
func (g specFuzzer) edit(config map[string]string) proxmox.Params {
	all := proxmox.Params{"numa": "1", "cores": "3", "agent": "enabled=0", "balloon": "512", "machine": "q35,viommu=virtio", "serial0": "socket"}
	if nic := config["net0"]; nic != "" {
		all["net0"] = strings.Replace(nic, "virtio=", "e1000=", 1)
	}
	for _, option := range slices.Sorted(maps.Keys(all)) {
		if g.IntN(2) == 0 {
			delete(all, option)
		}
	}
	all["description"] = "edited"
	return all
}

// quiet reconciles until nothing is done any more, though changes may wait for a restart.
func (r *rig) quiet(p v1alpha1.MachineParameters) {
	r.t.Helper()
	r.m.Spec.ForProvider = p
	for range 50 {
		e := r.external()
		e.connectTo(r.client, r.inventory)
		e.checks.Superuser = true
		before := r.writes.Load()
		s := r.reconcileWith(r.t.Context(), e)
		switch {
		case s.err != nil:
			r.t.Fatalf("cannot reconcile: %v", s.err)
		case r.writes.Load() > before:
			r.await()
		case s.exists:
			return
		}
	}
	r.t.Fatalf("what is done has no end: %+v", r.m.Status.AtProvider.Difference)
}

// macs returns the addresses of the networks that a VM is to have.
func (r *rig) macs() map[string]string {
	r.t.Helper()
	config, _ := r.config()
	devices, err := qemu.ParseDevices(r.m.Annotations[object.AnnotationDevices])
	if err != nil {
		r.t.Fatal(err)
	}
	found := map[string]string{}
	for _, n := range r.m.Spec.ForProvider.Networks {
		if nic, err := proxmox.ParseNIC(config[devices.Networks[n.Name]]); err == nil {
			found[n.Name] = nic.MAC
		}
	}
	return found
}

// TestSpecFuzz changes the spec of a running VM repeatedly, and the VM by hand, while many changes wait for a restart that comes at the end.
func TestSpecFuzz(t *testing.T) {
	const running, stopped = "powerState: Running", "powerState: Stopped"
	c := newCluster(t, "9.2")
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			g := specFuzzer{Rand: rand.New(rand.NewPCG(seed, 0)), sizes: map[string]int{}}
			r := c.rig(t)
			spec := g.spec()
			r.settle(parameters(t, spec, running))
			for range 5 {
				before := r.macs()
				spec = g.spec()
				r.quiet(parameters(t, spec, running))
				for name, mac := range r.macs() {
					if was := before[name]; was != "" && was != mac {
						t.Errorf("The MAC address of %s has become %s, and was %s.", name, mac, was)
					}
				}
				config, _ := r.config()
				if err := r.client.Configure(t.Context(), proxmox.Ref{Node: r.m.Status.AtProvider.Node, VMID: r.vmid()}, proxmox.Change{Set: g.edit(config)}); err != nil {
					t.Fatal(err)
				}
				r.cache.Forget(r.m)
			}
			r.settle(parameters(t, spec, stopped))
			r.settle(parameters(t, spec, running))
			if _, pending := r.config(); len(pending) > 0 {
				t.Errorf("After a restart this waits for one: %q", pending)
			}
			if n := r.settle(parameters(t, spec, running)); n > 0 {
				t.Errorf("%d calls wrote when nothing had changed.", n)
			}
		})
	}
}
