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

package vmcache

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/google/go-cmp/cmp"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// users is a cluster of three nodes, with the options of VMs by VMID.
type users struct {
	options map[int][]proxmox.PendingValue
	offline string
	read    []int
}

func (u *users) Guests(context.Context, time.Duration) ([]proxmox.Guest, error) {
	return []proxmox.Guest{
		{VMID: 100, Node: "pve1", Type: "qemu"},
		{VMID: 101, Node: "pve1", Type: "qemu"},
		{VMID: 102, Node: "pve2", Type: "qemu"},
		{VMID: 103, Node: "pve1", Type: "lxc"},
	}, nil
}

func (u *users) Nodes(context.Context) ([]proxmox.Node, error) {
	all := []proxmox.Node{{Name: "pve1", Status: "online"}, {Name: "pve2", Status: "online"}}
	for i := range all {
		if strings.Contains(u.offline, all[i].Name) {
			all[i].Status = "offline"
		}
	}
	return all, nil
}

func (u *users) ClusterStatus(context.Context, time.Duration) (proxmox.ClusterStatus, error) {
	return proxmox.ClusterStatus{}, nil
}

func (u *users) VMIDTaken(context.Context, int) (bool, error) { return true, nil }

func (u *users) Pending(_ context.Context, ref proxmox.Ref) ([]proxmox.PendingValue, error) {
	u.read = append(u.read, ref.VMID)
	return append(u.options[ref.VMID], proxmox.PendingValue{Key: "name", Value: new("vm")}), nil
}

func TestCheckUnused(t *testing.T) {
	has := func(value string) []proxmox.PendingValue {
		return []proxmox.PendingValue{{Key: "scsi1", Value: &value}}
	}
	ofOne := func(g proxmox.Guest) (vm, node bool) { return g.VMID == 101, g.Node == "pve1" }
	cases := map[string]struct {
		reason  string
		storage string
		options map[int][]proxmox.PendingValue
		offline string
		mayName func(proxmox.Guest) (vm, node bool)
		want    string // A part of the error, empty for none.
		read    []int
	}{
		"Unused": {reason: "All VMs are read that could use the volume, but the one that may.", storage: "ceph", read: []int{101, 102}},
		"Local":  {reason: "On local storage those of other nodes could not.", storage: "local-lvm", read: []int{101}},
		"Hidden": {reason: "A storage that is not listed may be one that all nodes reach.", storage: "hidden", read: []int{101, 102}},
		"Used": {
			reason: "A VM uses it.", storage: "ceph", options: map[int][]proxmox.PendingValue{102: has("ceph:vm-100-disk-1,size=1G")},
			want: "is used by VM 102", read: []int{101, 102},
		},
		"Namesake": {
			reason: "A volume of that name on local storage of another node is another one.", storage: "local-lvm",
			options: map[int][]proxmox.PendingValue{102: has("local-lvm:vm-100-disk-1,size=1G")}, read: []int{101},
		},
		"Detaching": {
			reason: "A VM has it until its next start.", storage: "local-lvm",
			options: map[int][]proxmox.PendingValue{101: {{Key: "scsi1", Value: new("local-lvm:vm-100-disk-1"), Delete: 1}}},
			want:    "is used by VM 101", read: []int{101},
		},
		"Attaching": {
			reason: "A VM has it from its next start on.", storage: "local-lvm",
			options: map[int][]proxmox.PendingValue{101: {{Key: "scsi1", Pending: new("local-lvm:vm-100-disk-1")}}},
			want:    "is used by VM 101", read: []int{101},
		},
		"Offline": {
			reason: "A VM that cannot be read may use it; the others need not be read.", storage: "ceph", offline: "pve2",
			want: `VM 102 uses the volume: node "pve2"`,
		},
		"AllOffline": {
			reason: "All that is in the way is told at once.", storage: "ceph", offline: "pve1 pve2",
			want: `VMs 101, 102 use the volume: node "pve1" is offline; node "pve2" is offline`,
		},
		"OthersUse": {
			reason: "A VM of others is not named.", storage: "ceph", options: map[int][]proxmox.PendingValue{102: has("ceph:vm-100-disk-1,size=1G")},
			mayName: ofOne, want: "volume ceph:vm-100-disk-1 is used by another VM", read: []int{101, 102},
		},
		"OthersOffline": {
			reason: "A VM of others that cannot be read is not named, nor is its node.", storage: "ceph", offline: "pve2", mayName: ofOne,
			want: "cannot see whether another VM uses the volume: a node cannot be asked",
		},
		"BothOffline": {
			reason: "One's own VM is named beside others, and a node of one's own.", storage: "ceph", offline: "pve1 pve2", mayName: ofOne,
			want: `cannot see whether VM 101 or another one uses the volume: node "pve1" is offline; a node cannot be asked`,
		},
		"LocalOffline": {reason: "A VM cannot use local storage of another node.", storage: "local-lvm", offline: "pve2", read: []int{101}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			u := &users{options: tc.options, offline: tc.offline}
			err := NewReader(u, u).CheckUnused(t.Context(), Disks{
				Volumes: []string{tc.storage + ":vm-100-disk-1"}, Node: "pve1",
				Storages: []proxmox.Storage{{Name: "local-lvm", Node: "pve1"}, {Name: "local-lvm", Node: "pve2"}, {Name: "ceph", Node: "pve1", Shared: true}},
				MayName:  tc.mayName,
			}, 100)
			if (err != nil) != (tc.want != "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s Want error %q, got %v", tc.reason, tc.want, err)
			}
			if off := errors.As(err, &OfflineError{}); off != (tc.want != "" && tc.offline != "") {
				t.Errorf("%s Want that nodes are off to be told apart, got %v", tc.reason, err)
			}
			if tc.mayName != nil && (strings.Contains(err.Error(), "102") || strings.Contains(err.Error(), "pve2")) {
				t.Errorf("%s It tells of others: %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.read, u.read); diff != "" {
				t.Errorf("%s VMs that were read: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestUsers checks that all VMs that use a volume are named, including those that use it in a snapshot.
func TestUsers(t *testing.T) {
	iso := proxmox.PendingValue{Key: "ide2", Value: new("local:iso/a.iso,media=cdrom")}
	u := &users{options: map[int][]proxmox.PendingValue{100: {iso}}}
	disks := Disks{Volumes: []string{"local:iso/a.iso"}, Snapshots: func(_ context.Context, ref proxmox.Ref) ([]qemu.Config, error) {
		if ref.VMID == 102 {
			return []qemu.Config{{"ide2": "local:iso/b.iso,media=cdrom"}, {"ide2": "local:iso/a.iso,media=cdrom"}}, nil
		}
		return nil, nil
	}}
	got, err := NewReader(u, u).Users(t.Context(), disks)
	if diff := cmp.Diff([]string{"VM 100", "VM 102"}, got); diff != "" || err != nil {
		t.Errorf("want the VM that has it in a drive, and the one whose snapshot has: %v, -want, +got:\n%s", err, diff)
	}
	u.offline = "pve2"
	if got, err := NewReader(u, u).Users(t.Context(), disks); !errors.As(err, &OfflineError{}) || !strings.Contains(err.Error(), "VM 102") {
		t.Errorf("want the VM to be named that cannot be read, got %v, %v", got, err)
	}
}
