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

package simulator_test

import (
	"testing"

	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/guest"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
)

// TestFits checks that a VM for which PVE::QemuServer::config_to_command fails does not start, and that a similar valid one does.
func TestFits(t *testing.T) {
	cases := map[string]struct {
		reason string
		config map[string]string
		want   string
	}{
		"Plain": {reason: "A plain VM starts.", config: map[string]string{}},
		"Plugged": {
			reason: "Memory is plugged into NUMA nodes.", config: map[string]string{"hotplug": "disk,memory"},
			want: "NUMA needs to be enabled for memory hotplug",
		},
		"PluggedNUMA": {reason: "Memory is plugged in where there are NUMA nodes.", config: map[string]string{"hotplug": "disk,memory", "numa": "1"}},
		"HugePages": {
			reason: "Huge pages need NUMA nodes.", config: map[string]string{"hugepages": "2"},
			want: "numa needs to be enabled to use hugepages at /usr/share/perl5/PVE/QemuServer/Memory.pm line 388.",
		},
		"PCIe": {
			reason: "The bus is that of q35.", config: map[string]string{"hostpci0": "mapping=gpu,pcie=1"},
			want: "q35 machine model is not enabled at /usr/share/perl5/PVE/QemuServer/PCI.pm line 510.",
		},
		"PCIeQ35": {reason: "Which this one is.", config: map[string]string{"hostpci0": "mapping=gpu,pcie=1", "machine": "pc-q35-9.2"}},
		"IGD": {
			reason: "The only display is passed on.", config: map[string]string{"hostpci0": "0000:00:02.0,legacy-igd=1"},
			want: "legacy IGD assignment requires VGA mode to be 'none'",
		},
		"IGDQ35": {
			reason: "On an old machine.", config: map[string]string{"hostpci0": "0000:00:02.0,legacy-igd=1", "vga": "none", "machine": "q35"},
			want: "legacy IGD assignment is not compatible with q35",
		},
		"MTU": {
			reason: "IP needs an MTU of 576 at least.", config: map[string]string{"net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0,mtu=575"},
			want: "netdev net0: MTU '575' is smaller than the IP minimum MTU '576'",
		},
		"MTUOfBridge":  {reason: "1 stands for that of the bridge.", config: map[string]string{"net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0,mtu=1"}},
		"MTUElsewhere": {reason: "PVE ignores that of another model.", config: map[string]string{"net0": "e1000=BC:24:11:00:00:01,bridge=vmbr0,mtu=100"}},
		"SEV": {
			reason: "Encrypted memory needs OVMF.", config: map[string]string{"amd-sev": "std"},
			want: "To use AMD SEV, you need to change the BIOS to OVMF.",
		},
		"TDX": {
			reason: "Trust domains need OVMF.", config: map[string]string{"intel-tdx": "tdx"},
			want: "To use Intel TDX, you need to change the BIOS to OVMF.",
		},
		"TDXOVMF": {reason: "Trust domains start with OVMF.", config: map[string]string{"intel-tdx": "tdx", "bios": "ovmf"}},
		"Clipboard": {
			reason: "There is none without a display.", config: map[string]string{"vga": "serial0,clipboard=vnc"},
			want: "vga type serial0 is not compatible with VNC clipboard",
		},
		"ClipboardQXL": {reason: "A display has one.", config: map[string]string{"vga": "qxl2,clipboard=vnc"}},
	}
	s := simulatortest.NewTest(t, simulator.Options{Version: "9.2"})
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := guest.Fits(s.Engine, tc.config); err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Errorf("%s Want %q, got %q.", tc.reason, tc.want, got)
			}
		})
	}
}
