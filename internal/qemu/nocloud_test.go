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
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/nocloud"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

const (
	ourImage   = "files:iso/cidata-10000-" + ourUUID + "-0123456789abcdef.iso"
	theirImage = "files:iso/cidata-10001-11111111-2222-4333-8444-555555555555-0123456789abcdef.iso"
)

func TestSeedDrive(t *testing.T) {
	cases := map[string]struct {
		reason string
		config map[string]string
		iso    string
		cdrom  string
		want   string
	}{
		"Ours": {
			reason: "The drive that has an image of Ours keeps it.",
			config: map[string]string{"ide0": "none,media=cdrom", "ide1": ourImage + ",media=cdrom", "ide2": "local-lvm:vm-10000-cloudinit,media=cdrom"},
			want:   "ide1",
		},
		"Source": {
			reason: "A clone has the image of its source in the drive for its own.",
			config: map[string]string{"ide0": "none,media=cdrom", "sata1": theirImage + ",media=cdrom"}, want: "sata1",
		},
		"Empty": {reason: "A drive that was emptied for it is taken.", config: map[string]string{"ide0": "none,media=cdrom"}, want: "ide0"},
		"ISO": {
			reason: "The drive that the spec has for another medium is not taken.", config: map[string]string{"ide0": "none,media=cdrom"}, iso: "ide0",
			want: "ide2",
		},
		"CDROM":  {reason: "A drive of the list of drives is not taken.", config: map[string]string{"ide0": "none,media=cdrom"}, cdrom: "ide0", want: "ide2"},
		"NotYet": {reason: "A drive that the list is yet to get is not taken.", config: map[string]string{}, cdrom: "ide2", want: "ide0"},
		"PVE": {
			reason: "PVE's own drive gives way.",
			config: map[string]string{"ide0": "none,media=cdrom", "ide2": "local-lvm:vm-10000-cloudinit,media=cdrom"}, want: "ide2",
		},
		"None":    {reason: "A new drive is made where there is none.", config: map[string]string{}, want: "ide2"},
		"Foreign": {reason: "Somebody's own medium stays where it is.", config: map[string]string{"ide2": "files:iso/debian.iso,media=cdrom"}, want: "ide0"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := Desired{Identity: Identity{UUID: ourUUID, VMID: 10000}, Devices: Devices{ISO: tc.iso, CDROMs: map[string]string{"a": tc.cdrom}}}
			if got := d.NoCloudDrive(tc.config); got != tc.want {
				t.Errorf("%s Want %q, got %q", tc.reason, tc.want, got)
			}
		})
	}
}

// TestDriveAfterImage checks that PVE's own drive is restored if user data is no longer declared.
func TestDriveAfterImage(t *testing.T) {
	cases := map[string]struct {
		reason string
		config Config
		frozen bool
		want   proxmox.Params
	}{
		"Image": {
			reason: "An image of the VM's own gives way: with two of them it would be left to chance which one the guest reads.",
			config: Config{"ide2": ourImage + ",media=cdrom,size=58K"}, want: proxmox.Params{"ide2": "local:cloudinit,media=cdrom"},
		},
		"Full": {
			reason: "No other drive need be free for that.",
			config: Config{
				"ide0": "none,media=cdrom", "ide1": "none,media=cdrom", "ide2": ourImage + ",media=cdrom", "ide3": "none,media=cdrom",
				"sata0": "none,media=cdrom", "sata1": "none,media=cdrom", "sata2": "none,media=cdrom", "sata3": "none,media=cdrom",
				"sata4": "none,media=cdrom", "sata5": "none,media=cdrom",
			},
			want: proxmox.Params{"ide2": "local:cloudinit,media=cdrom"},
		},
		"Told": {reason: "A guest that was told all keeps it.", config: Config{"ide2": ourImage + ",media=cdrom"}, frozen: true, want: proxmox.Params{}},
		"Medium": {
			reason: "A medium of somebody else's stays in its drive.",
			config: Config{"ide2": "files:iso/debian.iso,media=cdrom"}, want: proxmox.Params{"ide0": "local:cloudinit,media=cdrom"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := Desired{
				MachineParameters: &v1alpha1.MachineParameters{CloudInit: &v1alpha1.MachineCloudInit{Storage: new("local")}},
				Identity:          Identity{UUID: ourUUID, VMID: 10000}, CloudInitFrozen: tc.frozen,
			}
			diff := Difference{Set: proxmox.Params{}}
			d.cloudInitDrive(tc.config, &diff)
			if out := cmp.Diff(tc.want, diff.Set); out != "" {
				t.Errorf("%s -want, +got:\n%s", tc.reason, out)
			}
			if no := d.cloudInitRejections(tc.config); len(no) > 0 {
				t.Errorf("%s Want no rejections, got %v", tc.reason, no)
			}
		})
	}
}

func TestGuestData(t *testing.T) {
	static := v1alpha1.MachineNetwork{Name: "lan", IPConfig: &v1alpha1.MachineIPConfig{Address: new("192.0.2.2/24")}}
	none := v1alpha1.MachineNetwork{Name: "lan", IPConfig: &v1alpha1.MachineIPConfig{Address: new("")}}
	servers := &v1alpha1.MachineCloudInit{Nameservers: []string{"192.0.2.53"}}
	config := Config{"net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0", "net1": "virtio=BC:24:11:00:00:02,bridge=vmbr0"}
	template := Config{
		"net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0", "ipconfig0": "ip=dhcp,ip6=auto", "ciuser": "debian", "ciupgrade": "0",
		"sshkeys": "ssh-ed25519%20AAAA%20a%0A", "nameserver": "192.0.2.1 192.0.2.2", "searchdomain": "example.org",
	}
	cases := map[string]struct {
		reason string
		spec   v1alpha1.MachineParameters
		config Config
		want   nocloud.Data
		later  bool
	}{
		"None": {
			reason: "The guest configures networks by itself.", config: config,
			spec: v1alpha1.MachineParameters{CloudInit: &v1alpha1.MachineCloudInit{}},
		},
		"Declared": {
			reason: "What is declared is configured.", config: config,
			spec: v1alpha1.MachineParameters{CloudInit: servers, Networks: []v1alpha1.MachineNetwork{static}},
			want: nocloud.Data{Nameservers: []string{"192.0.2.53"}, Networks: []nocloud.Network{{MAC: "BC:24:11:00:00:01", Address: "192.0.2.2/24"}}},
		},
		"Nothing": {
			reason: "An address that is declared may be none.", config: config, spec: v1alpha1.MachineParameters{Networks: []v1alpha1.MachineNetwork{none}},
			want: nocloud.Data{Networks: []nocloud.Network{{MAC: "BC:24:11:00:00:01"}}},
		},
		"Unknown": {
			reason: "Nothing can be said yet of a network without its MAC address.", config: Config{},
			spec: v1alpha1.MachineParameters{Networks: []v1alpha1.MachineNetwork{static}}, later: true,
		},
		"Servers": {
			reason: "Name servers are for the first network, which the guest would configure by DHCP.", config: config,
			spec: v1alpha1.MachineParameters{CloudInit: servers},
			want: nocloud.Data{Nameservers: []string{"192.0.2.53"}, Networks: []nocloud.Network{{MAC: "BC:24:11:00:00:01", Address: "dhcp"}}},
		},
		"ServersSoon": {
			reason: "The first network may be yet to come.", config: Config{},
			spec: v1alpha1.MachineParameters{CloudInit: servers, Networks: []v1alpha1.MachineNetwork{network("lan")}},
			want: nocloud.Data{Nameservers: []string{"192.0.2.53"}}, later: true,
		},
		"ServersOnly": {
			reason: "A VM without networks asks no server.", config: Config{}, spec: v1alpha1.MachineParameters{CloudInit: servers},
			want: nocloud.Data{Nameservers: []string{"192.0.2.53"}},
		},
		"Template": {
			reason: "What the spec leaves open is as the template has it, as PVE's own drive would tell it.", config: template,
			spec: v1alpha1.MachineParameters{CloudInit: &v1alpha1.MachineCloudInit{}},
			want: nocloud.Data{
				User: "debian", SSHKeys: []string{
					"ssh-ed25519 AAAA a",
				}, Upgrade: new(false), Nameservers: []string{"192.0.2.1", "192.0.2.2"}, SearchDomains: []string{"example.org"},
				Networks: []nocloud.Network{{MAC: "BC:24:11:00:00:01", Address: "dhcp", Address6: "auto"}},
			},
		},
		"Upgrade": {
			reason: "What is PVE's default need not be the guest's.", config: config,
			spec: v1alpha1.MachineParameters{CloudInit: &v1alpha1.MachineCloudInit{Upgrade: new(true)}}, want: nocloud.Data{Upgrade: new(true)},
		},
		"Over": {
			reason: "What the spec says counts, also where it says nothing.", config: template,
			spec: v1alpha1.MachineParameters{
				CloudInit: &v1alpha1.MachineCloudInit{User: new("admin"), SSHKeys: []string{}, Nameservers: []string{}, SearchDomains: []string{}, Upgrade: new(true)},
				Networks:  []v1alpha1.MachineNetwork{static},
			},
			want: nocloud.Data{User: "admin", Upgrade: new(true), Networks: []nocloud.Network{{MAC: "BC:24:11:00:00:01", Address: "192.0.2.2/24", Address6: "auto"}}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, known := desiredOf(t, tc.spec, Devices{}, tc.config).GuestData(tc.config)
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" || known == tc.later {
				t.Errorf("\n%s\nknown %t, data: -want, +got:\n%s", tc.reason, known, diff)
			}
		})
	}
}
