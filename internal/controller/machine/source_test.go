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
	"strings"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// otherMachine returns a Machine whose VM has VMID 200.
func otherMachine() *namespaced.Machine {
	return &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "golden", Annotations: map[string]string{
		object.AnnotationUUID: otherUUID, object.AnnotationNode: "pve1", meta.AnnotationKeyExternalName: "200",
	}}}
}

func goldenVM() *guest {
	return &guest{node: "pve1", status: "running", config: map[string]string{
		"name": "golden", "smbios1": "uuid=" + otherUUID, "scsi0": "ceph:vm-200-disk-0,size=8G",
	}, snapshots: map[string]map[string]string{"before": {"name": "golden", "scsi0": "ceph:vm-200-disk-0,size=4G"}}}
}

func TestMachineAsSource(t *testing.T) {
	cases := map[string]struct {
		reason string
		clone  v1alpha1.MachineClone
		other  *namespaced.Machine
		vm     *guest
		size   string
		write  string
		err    string
	}{
		"Clone": {
			reason: "The VM of another Machine is cloned, running or not.",
			other:  otherMachine(), vm: goldenVM(), write: "Clone pve1/200 to 10000",
		},
		"Snapshot": {
			reason: "A snapshot is cloned with the disks that it has.", clone: v1alpha1.MachineClone{Snapshot: new("before")}, size: "4G",
			other: otherMachine(), vm: goldenVM(), write: "Clone pve1/200 to 10000",
		},
		"SmallerThanNow": {
			reason: "A disk that is smaller now in the spec than in the source is refused.", size: "4G",
			other: otherMachine(), vm: goldenVM(), err: "cannot shrink",
		},
		"NoSnapshot": {
			reason: "A snapshot must be there.", clone: v1alpha1.MachineClone{Snapshot: new("after")},
			other: otherMachine(), vm: goldenVM(), err: "snapshot 'after' of VM 200 (golden) not found; the snapshots of it are before",
		},
		"NoMachine": {reason: "The Machine must be there.", err: "machine 'golden' to clone not found"},
		"NoVM":      {reason: "The Machine must have its VM.", other: otherMachine(), err: "machine 'golden' to clone has no VM yet"},
		"NoIdentity": {
			reason: "A Machine that is not initialized has none.",
			other:  &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "golden"}}, err: "has no VM yet",
		},
		"OfAnother": {
			reason: "A VM that is not that Machine's is not cloned: its VMID was reused.",
			other:  otherMachine(), vm: &guest{node: "pve1", status: "running", config: map[string]string{"smbios1": "uuid=" + ourUUID}},
			err: "machine 'golden' to clone has no VM yet",
		},
		"BeingCreated": {
			reason: "A VM that is not complete is not cloned.", other: otherMachine(),
			vm:  &guest{node: "pve1", config: map[string]string{"smbios1": "uuid=" + otherUUID, "lock": "clone"}},
			err: "machine 'golden' to clone has no VM yet",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(m *namespaced.Machine) {
				delete(m.Annotations, meta.AnnotationKeyExternalCreatePending)
				delete(m.Annotations, object.AnnotationDevices)
				tc.clone.Machine = new("golden")
				m.Spec.ForProvider.Clone = &tc.clone
				if tc.size != "" {
					m.Spec.ForProvider.Disks = []v1alpha1.MachineDisk{{Name: "root", Size: &tc.size}}
				}
			})
			if tc.other != nil {
				if err := b.kube.Create(t.Context(), tc.other); err != nil {
					t.Fatal(err)
				}
			}
			if tc.vm != nil {
				b.vms[200] = tc.vm
			}
			s := b.reconcile(t.Context())
			if tc.err != "" {
				if s.err == nil || !strings.Contains(s.err.Error(), tc.err) || len(b.writes) > 0 {
					t.Errorf("\n%s\nwant error %q and no write, got %v and %q", tc.reason, tc.err, s.err, b.writes)
				}
				return
			}
			if s.err != nil || strings.Join(b.writes, "; ") != tc.write {
				t.Errorf("\n%s\nwant %q, got %q and %v", tc.reason, tc.write, b.writes, s.err)
			}
		})
	}
}

func TestMedia(t *testing.T) {
	disks := []v1alpha1.MachineDisk{{Name: "data", Size: new("1G")}, {Name: "root", Size: new("8G")}}
	image := v1alpha1.MachineParameters{Image: &v1alpha1.MachineImage{Volume: "files:import/debian.qcow2", Disk: new("root")}, Disks: disks}
	iso := v1alpha1.MachineParameters{ISO: new("files:iso/debian.iso"), Disks: disks}
	windows := iso
	windows.CDROMs = []v1alpha1.MachineCDROM{{Name: "drivers", ISO: new("files:iso/drivers.iso")}}
	cases := map[string]struct {
		reason string
		spec   v1alpha1.MachineParameters
		node   *string
		at     map[string][]string
		want   string
		set    map[string]string
		err    string
	}{
		"Image": {
			reason: "An image fills the disk that is named.", spec: image,
			at: map[string][]string{"pve1": {"files:import/debian.qcow2"}}, want: "pve1",
			set: map[string]string{"scsi0": "local-lvm:1", "scsi1": "local-lvm:0,import-from=files:import/debian.qcow2"},
		},
		"Archive": {
			reason: "PVE unpacks an OVA where it is, and lists no file in it.",
			spec:   v1alpha1.MachineParameters{Image: &v1alpha1.MachineImage{Volume: "whole:import/a.ova/b.vmdk"}, Disks: disks[1:]},
			at:     map[string][]string{"pve1": {"whole:import/a.ova"}}, want: "pve1",
			set: map[string]string{"scsi0": "local-lvm:0,import-from=whole:import/a.ova/b.vmdk"},
		},
		"NoArchive": {
			reason: "The OVA has to be there.",
			spec:   v1alpha1.MachineParameters{Image: &v1alpha1.MachineImage{Volume: "whole:import/a.ova/b.vmdk"}, Disks: disks[1:]}, node: new("pve1"),
			at:  map[string][]string{"pve1": {"whole:import/b.ova"}},
			err: "image 'whole:import/a.ova/b.vmdk' not found on node pve1; the volumes there are whole:import/b.ova",
		},
		"NowhereToUnpack": {
			reason: "The storage of the OVA has to hold what is unpacked.",
			spec:   v1alpha1.MachineParameters{Image: &v1alpha1.MachineImage{Volume: "packed:import/a.ova/b.vmdk"}, Disks: disks[1:]}, node: new("pve1"),
			at:  map[string][]string{"pve1": {"packed:import/a.ova"}},
			err: "image 'packed:import/a.ova/b.vmdk' cannot be unpacked: the content of storage 'packed' is import, and has to have images too",
		},
		"ISO": {
			reason: "An ISO image is put into a drive.", spec: iso,
			at: map[string][]string{"pve1": {"files:iso/debian.iso"}}, want: "pve1",
			set: map[string]string{"ide2": "files:iso/debian.iso,media=cdrom"},
		},
		"Elsewhere": {
			reason: "The image decides the node where the spec names none.", spec: image,
			at: map[string][]string{"pve2": {"files:import/debian.qcow2"}}, want: "pve2",
		},
		"NotThere": {
			reason: "On the node of the spec the image has to be.", spec: image, node: new("pve1"),
			at:  map[string][]string{"pve1": {"files:import/fedora.qcow2"}, "pve2": {"files:import/debian.qcow2"}},
			err: "image 'files:import/debian.qcow2' not found on node pve1; the volumes there are files:import/fedora.qcow2",
		},
		"Nowhere": {
			reason: "An image that no node has is not imported.", spec: iso,
			err: "iso 'files:iso/debian.iso' not found on node pve1; there are no volumes there",
		},
		"CDROMs": {
			reason: "Further images are put into drives of their own.", spec: windows,
			at: map[string][]string{"pve1": {"files:iso/debian.iso", "files:iso/drivers.iso"}}, want: "pve1",
			set: map[string]string{"ide2": "files:iso/debian.iso,media=cdrom", "ide0": "files:iso/drivers.iso,media=cdrom", "boot": "order=scsi0;ide2"},
		},
		"NoDrivers": {
			reason: "Images for further drives have to be on the same node.",
			spec:   windows, at: map[string][]string{"pve1": {"files:iso/debian.iso"}, "pve2": {"files:iso/drivers.iso"}},
			err: "iso 'files:iso/drivers.iso' not found on node pve1; the volumes there are files:iso/debian.iso",
		},
		"NoStorage": {
			reason: "A storage that is missing is named.", spec: v1alpha1.MachineParameters{ISO: new("nowhere:iso/debian.iso")},
			err: "storage 'nowhere' not found",
		},
		"WrongStorage": {
			reason: "A storage that holds other things is named.", spec: v1alpha1.MachineParameters{ISO: new("ceph:iso/debian.iso")},
			err: "storage 'ceph' does not take iso: its content is images",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(m *namespaced.Machine) {
				delete(m.Annotations, meta.AnnotationKeyExternalCreatePending)
				delete(m.Annotations, object.AnnotationDevices)
				delete(m.Annotations, object.AnnotationNode)
				m.Spec.ForProvider = tc.spec
				m.Spec.ForProvider.Node = tc.node
			})
			b.volumes = tc.at
			b.storages = append(b.storages, proxmox.Storage{
				Name: "packed", Node: "pve1", Content: []string{"import"},
			}, proxmox.Storage{Name: "whole", Node: "pve1", Content: []string{"images", "import"}})
			s := b.reconcile(t.Context())
			if tc.err != "" {
				if s.err == nil || !strings.Contains(s.err.Error(), tc.err) || len(b.writes) > 0 {
					t.Errorf("\n%s\nwant error %q and no write, got %v and %q", tc.reason, tc.err, s.err, b.writes)
				}
				return
			}
			if s.err != nil || strings.Join(b.writes, "; ") != "Create "+tc.want+"/10000" {
				t.Errorf("\n%s\nwant a VM on %s, got %q and %v", tc.reason, tc.want, b.writes, s.err)
			}
			for device, want := range tc.set {
				if got := b.created[device]; got != want {
					t.Errorf("\n%s\nwant %s %q, got %q", tc.reason, device, want, got)
				}
			}
		})
	}
}
