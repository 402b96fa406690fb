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

package storage_test

import (
	"maps"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/vitistack/provider-proxmox/internal/controller/config/configtest"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/simulator"
)

// container adds a container to the cluster.
func container(s *simulator.State, config map[string]string) *simulator.Guest {
	c := &simulator.Guest{
		VMID: 9100, Node: "pve1", Power: simulator.Stopped, Config: map[string]string{"hostname": "db"}, Snapshots: map[string]*simulator.Snapshot{},
	}
	maps.Copy(c.Config, config)
	s.Containers = map[int]*simulator.Guest{c.VMID: c}
	return c
}

// TestUsers deletes a Storage that Proxmox VE cannot list, because it is disabled, and that a guest uses nevertheless.
func TestUsers(t *testing.T) {
	const disk = "files:9000/vm-9000-disk-9.qcow2,size=1G"
	cases := map[string]struct {
		reason string
		use    func(*simulator.State)
		user   string
	}{
		"Root": {
			reason: "The root disk of a container is on the storage.", user: "container 9100",
			use: func(s *simulator.State) {
				container(s, map[string]string{"rootfs": "files:9100/vm-9100-disk-0.raw,size=8G"})
			},
		},
		"MountPoint": {
			reason: "A mount point of a container may name its volume by a key.", user: "container 9100",
			use: func(s *simulator.State) {
				container(s, map[string]string{"mp3": "mp=/srv,volume=files:9100/vm-9100-disk-1.raw"})
			},
		},
		"MountPointInForce": {
			reason: "A mount point whose removal waits for a restart is in use until then.", user: "container 9100",
			use: func(s *simulator.State) {
				container(s, map[string]string{"mp0": "files:9100/vm-9100-disk-1.raw,mp=/srv"}).Delete = map[string]bool{"mp0": false}
			},
		},
		"ContainerSnapshot": {
			reason: "The container has been moved away since its snapshot was taken.", user: "container 9100",
			use: func(s *simulator.State) {
				container(s, nil).Snapshots["before"] = &simulator.Snapshot{Config: map[string]string{"rootfs": "files:9100/vm-9100-disk-0.raw"}}
			},
		},
		"Disk": {
			reason: "A disk of a VM is on the storage.", user: "VM 9000",
			use: func(s *simulator.State) { s.Guests[9000].Config["scsi9"] = disk },
		},
		"DiskInForce": {
			reason: "A disk whose removal waits for a restart is in use until then.", user: "VM 9000",
			use: func(s *simulator.State) {
				s.Guests[9000].Config["scsi9"] = disk
				s.Guests[9000].Delete["scsi9"] = false
			},
		},
		"DiskPending": {
			reason: "A disk that waits for a restart is in use from then on.", user: "VM 9000",
			use: func(s *simulator.State) { s.Guests[9000].Pending["scsi9"] = disk },
		},
		"Snapshot": {
			reason: "The disk has been moved away since a snapshot was taken.", user: "VM 9000",
			use: func(s *simulator.State) {
				s.Guests[9000].Snapshots["before"] = &simulator.Snapshot{Config: map[string]string{"scsi9": disk}}
			},
		},
		"Memory": {
			reason: "The memory of a snapshot is on the storage.", user: "VM 9000",
			use: func(s *simulator.State) {
				s.Guests[9000].Snapshots["before"] = &simulator.Snapshot{Config: map[string]string{"vmstate": "files:9000/vm-9000-state-before.raw"}}
			},
		},
		"StateStorage": {
			reason: "The memory of the next snapshot goes to the storage.", user: "VM 9000",
			use: func(s *simulator.State) { s.Guests[9000].Config["vmstatestorage"] = "files" },
		},
		"Job": {
			reason: "A backup job would fail without the storage.", user: "backup job nightly",
			use: func(s *simulator.State) {
				s.Backups["nightly"] = map[string]string{"id": "nightly", "storage": "files", "schedule": "daily", "vmid": "9000", "enabled": "0"}
			},
		},
		"Fleecing": {
			reason: "A backup job keeps old data on the storage while it runs.", user: "backup job nightly",
			use: func(s *simulator.State) {
				s.Backups["nightly"] = map[string]string{
					"id": "nightly", "storage": "local", "fleecing": "enabled=1,storage=files", "schedule": "daily", "vmid": "9000", "enabled": "0",
				}
			},
		},
		"Snippet": {
			reason: "Cloud-init reads a snippet from the storage at the next start.", user: "VM 9000",
			use: func(s *simulator.State) {
				s.Guests[9000].Config["cicustom"] = "meta=local:snippets/m,user=files:snippets/u"
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			configtest.RunIn(t, files(), func(l *configtest.Life) {
				mg := l.Resource(1, "{name: files, dir: {path: /srv/files}, content: [images, rootdir, snippets], disabled: true}", nil)
				l.Settle(mg)
				l.Edit(tc.use)
				l.StartDelete(mg)
				for range 3 {
					l.Reconcile(mg)
				}
				if l.Options("files") == nil {
					l.Fatalf("%s\nThe storage is gone.", tc.reason)
				}
				l.Until(mg, xpv2.TypeSynced, xpv2.ReasonReconcileError, "in use", tc.user)
			})
		})
	}
}

// TestOthers deletes a Storage that no guest uses.
func TestOthers(t *testing.T) {
	cases := map[string]struct {
		reason string
		edit   func(*simulator.State)
	}{
		"OtherStorage": {
			reason: "The name of another storage may begin with that of the storage.",
			edit: func(s *simulator.State) {
				container(s, map[string]string{"rootfs": "files2:9100/vm-9100-disk-0.raw,size=8G"})
			},
		},
		"Notes": {
			reason: "Notes are words and use no storage.",
			edit:   func(s *simulator.State) { s.Guests[9000].Config["description"] = "files: see the wiki, user=files:x" },
		},
		"Address": {
			reason: "The MAC address of a NIC is no volume.",
			edit:   func(s *simulator.State) { s.Guests[9000].Config["net7"] = "virtio=files:24:11:00:04:01,bridge=vmbr0" },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			configtest.RunIn(t, files(), func(l *configtest.Life) {
				l.Edit(tc.edit)
				mg := l.Resource(1, "{name: files, dir: {path: /srv/files}, content: [images]}", nil)
				l.Settle(mg)
				l.Delete(mg)
				if l.Options("files") != nil {
					l.Errorf("%s\nThe storage is left.", tc.reason)
				}
			})
		})
	}
}

// TestOwners deletes a Storage with volumes of guests that no configuration names.
func TestOwners(t *testing.T) {
	configtest.RunIn(t, files(), func(l *configtest.Life) {
		mg := l.Resource(1, "{name: files, dir: {path: /srv/files}, content: [images]}", nil)
		l.Settle(mg)
		keys := map[string]simulator.VolumeKey{}
		for id, vmid := range map[string]int{"VM 9000": 9000, "guest 777": 777} {
			keys[id] = simulator.VolumeKey{Storage: "files", Node: "pve1", Name: id[len(id)-3:] + "/disk.raw"}
			l.Edit(func(s *simulator.State) {
				s.Volumes[keys[id]] = &simulator.Volume{VMID: vmid, Content: "images", Format: "raw", Size: 1 << 20}
			})
		}
		l.StartDelete(mg)
		l.Until(mg, xpv2.TypeSynced, xpv2.ReasonReconcileError, "in use", "VM 9000", "guest 777")
		l.Edit(func(s *simulator.State) {
			for _, key := range keys {
				delete(s.Volumes, key)
			}
		})
		l.UntilGone(mg)
		if l.Options("files") != nil {
			l.Error("the storage is left")
		}
	})
}

// TestUnseen deletes a Storage while the user of the provider does not see the guests that might use it.
func TestUnseen(t *testing.T) {
	configtest.RunIn(t, files(), func(l *configtest.Life) {
		mg := l.Resource(1, "{name: files, dir: {path: /srv/files}, content: [images], disabled: true}", nil)
		l.Settle(mg)
		l.Edit(func(s *simulator.State) {
			s.Guests[9000].Config["scsi9"] = "files:9000/vm-9000-disk-9.raw,size=1G"
			s.ACL = []simulator.Grant{
				{Path: "/", Kind: "user", ID: "crossplane@pve", Role: "Administrator", Propagate: true},
				{Path: "/vms", Kind: "user", ID: "crossplane@pve", Role: "NoAccess", Propagate: true},
			}
		})
		l.StartDelete(mg)
		l.Until(mg, xpv2.TypeSynced, xpv2.ReasonReconcileError, proxmox.Privilege{Path: "/vms", Names: []string{"VM.Audit"}}.String())
		if l.Options("files") == nil {
			l.Error("the storage is gone")
		}
	})
}
