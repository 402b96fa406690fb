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

package validate

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/qemu/fields"
)

// TestNameFields checks that an error about a missing privilege names the fields that need it.
func TestNameFields(t *testing.T) {
	denied := func(path string, names ...string) error {
		return proxmox.Denial("create VM 7", proxmox.Privilege{Path: path, Names: names})
	}
	change := Change{
		Difference: set("cores", "2", "cpulimit", "1", "startup", "order=1", "net1", "virtio,bridge=vmbr1,tag=7", "ipconfig1", "ip=dhcp", "scsi1", "fast:8",
			"ide0", "local:iso/a.iso,media=cdrom", "ide2", "slow:cloudinit", "ide3", "local:iso/b.iso,media=cdrom", "keyboard", "de", "smbios1", "uuid=1",
			"hostpci0", "mapping=gpu"),
		Devices: qemu.Devices{
			Disks: map[string]string{"data": "scsi1"}, Networks: map[string]string{"dmz": "net1"}, CDROMs: map[string]string{"tools": "ide3"},
			PCI: map[string]string{"graphics": "hostpci0"}, ISO: "ide0",
		},
		At: Place{VMID: 7},
	}
	cases := map[string]struct {
		reason string
		err    error
		want   string
	}{
		"Nothing": {reason: "What worked is not refused."},
		"Several": {
			reason: "All fields that need it are named.", err: denied("/vms/7", "VM.Config.CPU"), want: "needed for cpu.cores (cores), cpu.limit (cpulimit)",
		},
		"Any": {
			reason: "A field that needs one of several privileges is named.", err: denied("/vms/7", "VM.Config.Network", "VM.Config.Cloudinit"),
			want: "needed for cloudInit (ide2), networks[dmz] (net1), networks[dmz].ipConfig (ipconfig1)",
		},
		"Value": {
			reason: "Whether a disk needs a storage's privilege depends on its value.",
			err:    denied("/storage/fast", "Datastore.AllocateSpace"), want: "needed for disks[data] (scsi1)",
		},
		"Root":   {reason: "A privilege may be needed elsewhere than on the VM.", err: denied("/", "Sys.Modify"), want: "needed for startup"},
		"Bridge": {reason: "A bridge has a VLAN.", err: denied("/sdn/zones/localnetwork/vmbr1/7", "SDN.Use"), want: "needed for networks[dmz] (net1)"},
		"Media": {
			reason: "Drives are told apart.", err: denied("/vms/7", "VM.Config.CDROM"), want: "needed for cdroms[tools] (ide3), cloudInit (ide2), iso (ide0)",
		},
		"Device":  {reason: "The name of a device is told.", err: denied("/mapping/pci/gpu", "Mapping.Use"), want: "needed for pciDevices[graphics] (hostpci0)"},
		"Extra":   {reason: "Some options have no field.", err: denied("/vms/7", "VM.Config.Options"), want: "needed for extraConfig[keyboard], startup"},
		"Feature": {reason: "Some fields set no option.", err: denied("/vms/7", "VM.PowerMgmt"), want: "needed for powerState"},
		"All": {
			reason: "Each is named once, whatever it needs.",
			err: proxmox.Denial("create VM 7", proxmox.Privilege{Path: "/vms/7", Names: []string{"VM.PowerMgmt"}},
				proxmox.Privilege{Path: "/", Names: []string{"Sys.Modify"}}, proxmox.Privilege{Path: "/vms/7", Names: []string{"VM.Config.Options"}}),
			want: "needed for extraConfig[keyboard], powerState, startup",
		},
		"Other":  {reason: "No field needs it.", err: denied("/vms/7", "VM.Clone"), want: "VM.Clone)"},
		"Failed": {reason: "An error that is no refusal stays as it is.", err: os.ErrNotExist, want: os.ErrNotExist.Error()},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := NameFields(tc.err, change, FieldRequirement{Field: "powerState", Needs: []PrivilegeRequirement{On("/vms/7", "VM.PowerMgmt")}})
			if (got == nil) != (tc.err == nil) || got != nil && !strings.HasSuffix(got.Error(), tc.want) {
				t.Errorf("%s\nwant an error that ends with %q, got %v", tc.reason, tc.want, got)
			}
			if proxmox.IsAuthorization(tc.err) != proxmox.IsAuthorization(got) {
				t.Errorf("%s\nwant an error of the same class, got %v", tc.reason, got)
			}
		})
	}
}

func TestNeeds(t *testing.T) {
	cases := map[string]struct {
		reason string
		change qemu.Difference
		config qemu.Config
		pool   string
		want   string
	}{
		"Nothing": {reason: "No change needs nothing."},
		"Options": {
			reason: "Each privilege is listed once.", change: set("cores", "2", "cpu", "host", "name", "a"),
			want: "/vms/7 VM.Config.CPU; /vms/7 VM.Config.Options",
		},
		"Either": {reason: "One of two is enough for cloud-init.", change: set("ipconfig0", "ip=dhcp"), want: "/vms/7 VM.Config.Cloudinit|VM.Config.Network"},
		"Pool": {
			reason: "A VM that is not there yet has those on its pool.", change: set("memory", "512"), pool: "team",
			want: "/pool/team VM.Config.Memory or /vms/7 VM.Config.Memory",
		},
		"NewDisk": {reason: "A new disk takes room.", change: set("scsi0", "fast:8,ssd=1"), want: "/vms/7 VM.Config.Disk; /storage/fast Datastore.AllocateSpace"},
		"OldDisk": {
			reason: "One that is there has its own.", change: set("scsi0", "fast:vm-7-disk-0,ssd=1"),
			config: qemu.Config{"scsi0": "fast:vm-7-disk-0"}, want: "/vms/7 VM.Config.Disk",
		},
		"Named": {
			reason: "A storage may be called as it likes.", change: set("scsi0", "cloudinit-store:8"),
			want: "/vms/7 VM.Config.Disk; /storage/cloudinit-store Datastore.AllocateSpace",
		},
		"EFIDisk": {
			reason: "The disk of the firmware needs room on its storage.", change: set("efidisk0", "fast:1,efitype=4m"),
			want: "/vms/7 VM.Config.Disk; /storage/fast Datastore.AllocateSpace",
		},
		"CDROM": {reason: "A medium is no disk.", change: set("ide2", "local:iso/a.iso,media=cdrom"), want: "/vms/7 VM.Config.CDROM"},
		"Drive": {
			reason: "The privilege for what was in the drive is needed.", change: set("ide2", "none,media=cdrom"),
			config: qemu.Config{"ide2": "ceph:vm-7-cloudinit,media=cdrom"}, want: "/vms/7 VM.Config.Cloudinit; /vms/7 VM.Config.CDROM",
		},
		"Detach": {
			reason: "Taking away is a change.", change: qemu.Difference{Delete: []string{"scsi1"}},
			config: qemu.Config{"scsi1": "fast:vm-7-disk-1"}, want: "/vms/7 VM.Config.Disk",
		},
		"Unused": {
			reason: "To destroy an unused disk is a change of disks.",
			change: qemu.Difference{Delete: []string{"unused0"}}, config: qemu.Config{"unused0": "fast:vm-7-disk-1"},
			want: "/vms/7 VM.Config.Disk",
		},
		"Mapping": {
			reason: "Mapped devices may be used by who may use the mapping.", change: set("hostpci0", "mapping=gpu,pcie=1"),
			want: "/vms/7 VM.Config.HWType; /mapping/pci/gpu Mapping.Use",
		},
		"USB": {
			reason: "The mapping that a device had needs a privilege, and the new one needs one.",
			change: set("usb0", "mapping=b"), config: qemu.Config{"usb0": "mapping=a"},
			want: "/vms/7 VM.Config.HWType; /mapping/usb/a Mapping.Use; /mapping/usb/b Mapping.Use",
		},
		"Directory": {
			reason: "Shared directories are mapped.", change: set("virtiofs0", "dirid=d,cache=auto"),
			want: "/vms/7 VM.Config.Disk; /mapping/dir/d Mapping.Use",
		},
		"Random": {
			reason: "The node's random numbers are one's own.", change: set("rng0", "source=/dev/hwrng"),
			want: "/vms/7 VM.Config.HWType; /mapping/hwrng Mapping.Use",
		},
		"Model": {
			reason: "Versions differ in whom they let use a CPU model of the cluster's.", change: set("cpu", "custom-a,flags=+aes"),
			want: "/vms/7 VM.Config.CPU; /nodes Sys.Audit or /mapping/cpu/a Mapping.Use",
		},
		"Startup": {reason: "The order of start-up is the node's.", change: set("startup", "order=1"), want: "/vms/7 VM.Config.Options; / Sys.Modify"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := told(RequiredPrivileges(tc.change, tc.config, Place{VMID: 7, Pool: tc.pool}))
			if diff := gocmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\nNeeds: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestNetworkNeeds(t *testing.T) {
	zone := func(bridge string) string {
		return map[string]string{"vmbr0": "localnetwork", "vmbr1": "localnetwork"}[bridge]
	}
	cases := map[string]struct {
		reason string
		change qemu.Difference
		config qemu.Config
		want   string
	}{
		"Bridge": {reason: "The use of the bridge.", change: set("net0", "virtio,bridge=vmbr0"), want: "/sdn/zones/localnetwork/vmbr0 SDN.Use"},
		"VLAN":   {reason: "The use of the VLAN is enough.", change: set("net0", "virtio,bridge=vmbr0,tag=7"), want: "/sdn/zones/localnetwork/vmbr0/7 SDN.Use"},
		"Old": {
			reason: "The privilege for the bridge that a network leaves is needed.", change: set("net0", "virtio,bridge=vmbr0"),
			config: qemu.Config{"net0": "virtio,bridge=vmbr1"},
			want:   "/sdn/zones/localnetwork/vmbr1 SDN.Use; /sdn/zones/localnetwork/vmbr0 SDN.Use",
		},
		"VNet":  {reason: "The zone of a VNet is not known.", change: set("net0", "virtio,bridge=blue")},
		"Other": {reason: "Other options have no bridge.", change: set("cores", "2")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := gocmp.Diff(tc.want, told(NetworkPrivileges(tc.change, tc.config, zone))); diff != "" {
				t.Errorf("\n%s\nNetworkNeeds: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestDocumentedFields checks that the document lists each field at the privilege that its options need.
func TestDocumentedFields(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "least-privilege.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for line := range strings.Lines(string(b)) {
		if cells := strings.Split(line, "|"); strings.HasPrefix(line, "| VM.Config.") {
			rows[strings.TrimSpace(cells[1])] = cells[2]
		}
	}
	for option, names := range privileges {
		top, _, _ := strings.Cut(cmp.Or(fields.Of(option), fields.Of(option+"0"), fields.Of(option+"1")), ".")
		if top, _, _ = strings.Cut(top, "["); top != "" && !strings.Contains(rows[names[0]], "`"+top+"`") &&
			!strings.Contains(rows[names[len(names)-1]], "`"+top+"`") {
			t.Errorf("%s (%s) is not listed at %s: %s", top, option, names[0], rows[names[0]])
		}
	}
}

// set returns a change that sets options.
func set(pairs ...string) qemu.Difference {
	d := qemu.Difference{Set: proxmox.Params{}}
	for i := 0; i < len(pairs); i += 2 {
		d.Set[pairs[i]] = pairs[i+1]
	}
	return d
}

// told returns requirements as text.
func told(needs []PrivilegeRequirement) string {
	var all []string
	for _, n := range needs {
		var either []string
		for _, p := range n {
			either = append(either, fmt.Sprintf("%s %s", p.Path, strings.Join(p.Names, "|")))
		}
		all = append(all, strings.Join(either, " or "))
	}
	return strings.Join(all, "; ")
}
