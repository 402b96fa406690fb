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
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

func optionsOf(config map[string]string) []proxmox.PendingValue {
	values, _ := qemu.Difference{Set: config}.Predict(nil)
	return values
}

func TestDrift(t *testing.T) {
	known := func() *vmstate.VM {
		v := &vmstate.VM{Ref: proxmox.Ref{Node: "pve1", VMID: 100}, Status: proxmox.Status{Status: "running", QMPStatus: "running", Uptime: time.Hour}}
		v.Read(optionsOf(map[string]string{"name": "web", "tags": "b;a", "cores": "2", "memory": "1024", "ostype": "l26"}))
		return v
	}
	listed := proxmox.Guest{VMID: 100, Node: "pve1", Name: "web", Status: "running", Tags: []string{"a", "b"}, MaxCPU: 2, MaxMemory: 1 << 30, Uptime: time.Hour}
	cases := map[string]struct {
		reason string
		change func(*proxmox.Guest)
		want   Dirty
	}{
		"Same":      {reason: "What is known is listed.", change: func(*proxmox.Guest) {}},
		"Moved":     {reason: "A VM that moved is read.", change: func(g *proxmox.Guest) { g.Node = "pve2" }, want: DirtyAll},
		"Stopped":   {reason: "A VM that stopped is read.", change: func(g *proxmox.Guest) { g.Status = "stopped" }, want: DirtyAll},
		"Paused":    {reason: "A VM that was paused is read.", change: func(g *proxmox.Guest) { g.Status = "paused" }, want: DirtyAll},
		"Restarted": {reason: "A VM that was started again is read.", change: func(g *proxmox.Guest) { g.Uptime = time.Minute }, want: DirtyAll},
		"HA":        {reason: "A VM that HA manages now is read.", change: func(g *proxmox.Guest) { g.HAState = "started" }, want: DirtyAll},
		"HAIgnored": {reason: "One that HA is to ignore says nothing of it itself.", change: func(g *proxmox.Guest) { g.HAState = "ignored" }},
		"Tagged":    {reason: "Tags are options of a VM.", change: func(g *proxmox.Guest) { g.Tags = nil }, want: DirtyConfig},
		"Locked":    {reason: "A lock is an option.", change: func(g *proxmox.Guest) { g.Lock = "backup" }, want: DirtyConfig},
		"Renamed":   {reason: "The name is an option.", change: func(g *proxmox.Guest) { g.Name = "db" }, want: DirtyConfig},
		"Grown":     {reason: "Cores are options of a VM.", change: func(g *proxmox.Guest) { g.MaxCPU = 4 }, want: DirtyConfig},
		"Disk":      {reason: "A disk that is not known is.", change: func(g *proxmox.Guest) { g.MaxDisk = 1 << 30 }, want: DirtyConfig},
		"Unknown": {
			reason: "A node that does not tell puts nothing in doubt.",
			change: func(g *proxmox.Guest) { *g = proxmox.Guest{Node: "pve1", Status: "unknown", Tags: g.Tags} },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := listed
			tc.change(&g)
			if got := drift(known(), g); got != tc.want {
				t.Errorf("%s\ndoubts(): want %b, got %b", tc.reason, tc.want, got)
			}
		})
	}
}

func TestResized(t *testing.T) {
	const disk = "local-lvm:vm-100-disk-0,size=10G,ssd=1"
	cases := map[string]struct {
		reason string
		values map[string]string
		sizes  map[string]string
		want   map[string]string
	}{
		"Grown": {
			reason: "The disk has its new size, and what it had else.", values: map[string]string{"scsi0": disk},
			sizes: map[string]string{"scsi0": "20G"}, want: map[string]string{"scsi0": "local-lvm:vm-100-disk-0,size=20G,ssd=1"},
		},
		"Another": {
			reason: "Other disks stay as they are.", values: map[string]string{"scsi0": disk, "scsi1": disk},
			sizes: map[string]string{"scsi1": "20G"}, want: map[string]string{"scsi0": disk, "scsi1": "local-lvm:vm-100-disk-0,size=20G,ssd=1"},
		},
		"Sizeless": {
			reason: "A size is added where there was none.", values: map[string]string{"scsi0": "ceph:vm-100-disk-0"},
			sizes: map[string]string{"scsi0": "20G"}, want: map[string]string{"scsi0": "ceph:vm-100-disk-0,size=20G"},
		},
		"Gone": {
			reason: "What the VM does not have is not made up.", values: map[string]string{"cores": "2"}, sizes: map[string]string{"scsi0": "20G"},
			want: map[string]string{"cores": "2"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			options := func() (all []proxmox.PendingValue) {
				for _, k := range slices.Sorted(maps.Keys(tc.values)) {
					all = append(all, proxmox.PendingValue{Key: k, Value: new(tc.values[k])})
				}
				return all
			}
			before := options()
			if diff := cmp.Diff(qemu.Config(tc.want), qemu.Read(resized(before, tc.sizes)).Config); diff != "" {
				t.Errorf("%s\nresized(): -want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(options(), before); diff != "" {
				t.Errorf("%s\nwhat was known before is changed: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
