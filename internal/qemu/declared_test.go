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

package qemu

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// TestWithdrawn checks that a value that an entry no longer declares is as if it had never been declared.
func TestWithdrawn(t *testing.T) {
	lan := func(edits ...func(*v1alpha1.MachineNetwork)) spec {
		n := network("lan")
		for _, edit := range edits {
			edit(&n)
		}
		return networksOf(n)
	}
	vlan := func(n *v1alpha1.MachineNetwork) { n.VLAN = new(int32(20)) }
	none := func(n *v1alpha1.MachineNetwork) { n.VLAN = new(int32(0)) }
	bridge := func(n *v1alpha1.MachineNetwork) { n.Bridge = new("vmbr7") }
	ref := func(n *v1alpha1.MachineNetwork) { n.NetworkRef = &v1alpha1.MachineNetworkReference{Name: new("vmbr7")} }
	model := func(n *v1alpha1.MachineNetwork) { n.Model = new("vmxnet3") }
	static := func(n *v1alpha1.MachineNetwork) {
		n.IPConfig = &v1alpha1.MachineIPConfig{Address: new("192.0.2.5/24"), Gateway: new("192.0.2.1"), Address6: new("auto")}
	}
	auto6 := func(n *v1alpha1.MachineNetwork) { n.IPConfig = &v1alpha1.MachineIPConfig{Address6: new("auto")} }
	everything := sized("root", "8G")
	everything.Cache, everything.AIO, everything.SSD, everything.Discard = new("writeback"), new("threads"), new(true), new(true)
	everything.IOThread, everything.Backup, everything.Serial = new(true), new(false), new("a b")
	everything.Limits = &v1alpha1.MachineDiskLimits{ReadMBps: new(resource.MustParse("10")), ReadBurstMBps: new(resource.MustParse("20"))}
	everything.Geometry = &v1alpha1.MachineDiskGeometry{Heads: new(int32(4))}
	source := Config{"net0": "e1000=BC:24:11:00:00:01,bridge=vmbr1,tag=5", "ipconfig0": "ip=dhcp", "ide2": "local:vm-100-cloudinit,media=cdrom"}
	withDrive := func() Config { return Config{"ide2": source["ide2"]} }
	cases := map[string]struct {
		reason string
		vm     Config
		edits  []spec
		want   map[string]string
	}{
		"VLAN":    {reason: "A VLAN that is declared no more goes.", edits: []spec{lan(vlan), lan()}, want: map[string]string{"net0": made("bridge=vmbr0")}},
		"Changed": {reason: "Other parts stay when one goes.", edits: []spec{lan(vlan, bridge), lan(bridge)}, want: map[string]string{"net0": made("bridge=vmbr7")}},
		"Bridge":  {reason: "A bridge becomes the default one again.", edits: []spec{lan(bridge), lan()}, want: map[string]string{"net0": made("bridge=vmbr0")}},
		"BridgeOfReference": {
			reason: "What another object names is not told by its absence.", edits: []spec{lan(bridge), lan(ref)},
			want: map[string]string{"net0": made("bridge=vmbr7")},
		},
		"Model": {
			reason: "A model becomes the default one again.", edits: []spec{lan(model), lan()},
			want: map[string]string{"net0": made("bridge=vmbr0")},
		},
		"Source": {
			reason: "A device of the source has what it came with.", vm: source, edits: []spec{lan(vlan, bridge, model, static), lan()},
			want: map[string]string{"net0": "e1000=BC:24:11:00:00:01,bridge=vmbr1,tag=5", "ipconfig0": "ip=dhcp"},
		},
		"SourceWithout": {
			reason: "A device of the source has what it came with where the entry had asked for nothing.", vm: source, edits: []spec{lan(none), lan()},
			want: map[string]string{"net0": "e1000=BC:24:11:00:00:01,bridge=vmbr1,tag=5"},
		},
		"Addresses": {
			reason: "An address goes with its gateway.", vm: withDrive(), edits: []spec{lan(static), lan(auto6), lan()},
			want: map[string]string{"net0": made("bridge=vmbr0"), "ipconfig0": ""},
		},
		"Gateway": {
			reason: "No gateway is left without an address.", vm: withDrive(), edits: []spec{lan(static), lan(auto6)},
			want: map[string]string{"ipconfig0": "ip6=auto"},
		},
		"Disk": {
			reason: "A disk has no options again.", edits: []spec{disksOf(everything), disksOf(sized("root", "8G"))},
			want: map[string]string{"scsi0": "local-lvm:vm-100-disk-0,size=8G"},
		},
		"LeftAndBack": {
			reason: "A disk that was away in between has no options again.", edits: []spec{disksOf(everything), disksOf(), disksOf(sized("root", "8G"))},
			want: map[string]string{"scsi0": "local-lvm:vm-100-disk-0,size=8G"},
		},
		"ListAbsent": {
			reason: "A network has no options again when its list was left out in between.",
			edits:  []spec{lan(vlan), {}, lan()}, want: map[string]string{"net0": made("bridge=vmbr0")},
		},
		"Renamed": {
			reason: "A network has no options again under another name.", edits: []spec{lan(vlan), networksOf(networkOn("dmz", "net0"))},
			want: map[string]string{"net0": made("bridge=vmbr0")},
		},
		"Drive": {
			reason: "A drive is empty again.",
			edits:  []spec{{CDROMs: []v1alpha1.MachineCDROM{cdromOf("a", "local:iso/a.iso")}}, {CDROMs: []v1alpha1.MachineCDROM{{Name: "a"}}}},
			want:   map[string]string{"ide2": "none,media=cdrom"},
		},
		"PCI": {
			reason: "A device of the node has its defaults.", edits: []spec{
				{PCIDevices: []v1alpha1.MachinePCIDevice{{Name: "gpu", Mapping: new("gpu"), PCIe: new(true), ROMBar: new(false)}}},
				{PCIDevices: []v1alpha1.MachinePCIDevice{{Name: "gpu", Mapping: new("gpu")}}},
			},
			want: map[string]string{"hostpci0": "mapping=gpu"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := &lifetime{t: t, config: tc.vm}
			if tc.vm == nil {
				l.config = Config{}
			}
			for i, p := range tc.edits {
				if err := l.edit(p); err != nil {
					t.Fatalf("\n%s\nedit %d: %v", tc.reason, i, err)
				}
			}
			got := map[string]string{}
			for option := range tc.want {
				got[option] = l.config[option]
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\nVM: -want, +got:\n%s\nkept: %s", tc.reason, diff, l.devices)
			}
			if again := l.desired.Difference(l.config); !again.Empty() {
				t.Errorf("\n%s\nwant nothing left to change, got %v", tc.reason, again)
			}
		})
	}
}

// made returns the interface of a network that was created for its entry and still has its MAC address.
func made(options string) string { return "virtio=BC:24:11:99:00:00," + options }

// TestWithdrawnIsForgotten checks that a value that an entry no longer declares is forgotten once it is removed, so that a later manual change stays.
func TestWithdrawnIsForgotten(t *testing.T) {
	l := &lifetime{t: t, config: Config{}}
	tagged := network("lan")
	tagged.VLAN = new(int32(20))
	for _, p := range []spec{networksOf(tagged), networksOf(network("lan")), networksOf(network("lan"))} {
		if err := l.edit(p); err != nil {
			t.Fatal(err)
		}
	}
	if len(l.devices.Declared) != 0 {
		t.Errorf("want nothing remembered, got %v", l.devices.Declared)
	}
	l.config["net0"] += ",tag=30"
	if err := l.edit(networksOf(network("lan"))); err != nil {
		t.Fatal(err)
	}
	if want := made("bridge=vmbr0,tag=30"); l.config["net0"] != want {
		t.Errorf("want %s, got %s", want, l.config["net0"])
	}
}
