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

package apis_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// change is a Machine before and after an edit, and what its refusal must say, if it is refused.
type change struct {
	reason string
	before string
	after  string
	want   []string
}

func TestMachineChangeRefused(t *testing.T) {
	cases := map[string]change{
		"VMID": {
			reason: "The VMID is the identity of the VM.",
			before: `{vmid: 100}`,
			after:  `{vmid: 101}`,
			want:   []string{"spec.forProvider.vmid", "cannot change", "100", "101"},
		},
		"RollbackSnapshot": {
			reason: "What a token stands for is one thing.",
			before: `{rollback: {snapshot: s1, token: a}}`,
			after:  `{rollback: {snapshot: s2, token: a}}`,
			want:   []string{"spec.forProvider.rollback", "needs another rollback.token"},
		},
		"RecreationNode": {
			reason: "What a token stands for is one thing.",
			before: `{recreation: {lostNode: pve1, token: a}}`,
			after:  `{recreation: {lostNode: pve2, token: a}}`,
			want:   []string{"spec.forProvider.recreation", "needs another recreation.token"},
		},
		"RestoreInPlaceBackup": {
			reason: "What a token stands for is one thing.",
			before: `{restoreInPlace: {token: a, backupRef: {name: monday}}}`,
			after:  `{restoreInPlace: {token: a, backupRef: {name: tuesday}}}`,
			want:   []string{"spec.forProvider.restoreInPlace", "needs another restoreInPlace.token"},
		},
		"RestoreInPlaceStorage": {
			reason: "A restore does not go elsewhere under the same token.",
			before: `{restoreInPlace: {token: a, volume: "nas:backup/vzdump-qemu-100-2026_11_22-17_00_00.vma.zst"}}`,
			after:  `{restoreInPlace: {token: a, volume: "nas:backup/vzdump-qemu-100-2026_11_22-17_00_00.vma.zst", storage: ceph}}`,
			want:   []string{"spec.forProvider.restoreInPlace", "needs another restoreInPlace.token"},
		},
		"TemplateName": {
			reason: "A VM is cloned once.",
			before: `{template: ubuntu-24.04}`,
			after:  `{template: debian-13}`,
			want:   []string{"spec.forProvider.template", "cannot change", "ubuntu-24.04"},
		},
		"TemplateNumber": {
			reason: "A VM is cloned once.",
			before: `{template: 9000}`,
			after:  `{template: 9001}`,
			want:   []string{"spec.forProvider.template", "cannot change", "9000"},
		},
		"TemplateNameToNumber": {
			reason: "Whether both mean the same template cannot be told here.",
			before: `{template: ubuntu-24.04}`,
			after:  `{template: 9000}`,
			want:   []string{"spec.forProvider.template", "cannot change", "ubuntu-24.04"},
		},
		"TemplateRemoved": {
			reason: "A VM that was cloned stays a clone.",
			before: `{template: ubuntu-24.04}`,
			after:  `{}`,
			want:   []string{"spec.forProvider", "template can be neither added nor removed"},
		},
		"TemplateAdded": {
			reason: "A VM that exists is not cloned any more.",
			before: `{}`,
			after:  `{template: ubuntu-24.04}`,
			want:   []string{"spec.forProvider", "template can be neither added nor removed"},
		},
		"TemplateTags": {
			reason: "The template that was chosen stays the source.",
			before: `{templateTags: [lts]}`,
			after:  `{templateTags: [edge]}`,
			want:   []string{"spec.forProvider.templateTags", "cannot change"},
		},
		"TemplateTagsAdded": {
			reason: "Tags are not added to a template that was chosen.",
			before: `{template: ubuntu-24.04}`,
			after:  `{template: ubuntu-24.04, templateTags: [lts]}`,
			want:   []string{"spec.forProvider", "templateTags can be neither added nor removed"},
		},
		"TemplateRef": {
			reason: "A VM that was cloned from an Image is not cloned from another one.",
			before: `{templateRef: {name: debian}}`,
			after:  `{templateRef: {name: ubuntu}}`,
			want:   []string{"spec.forProvider.templateRef", "cannot change"},
		},
		"TemplateRefAdded": {
			reason: "A VM that was made of no Image is not cloned from one later.",
			before: `{}`,
			after:  `{templateSelector: {matchLabels: {os: debian}}}`,
			want:   []string{"spec.forProvider", "templateRef can be neither added nor removed"},
		},
		"CloneVM": {
			reason: "A VM that was cloned from a VM is not cloned from another one.",
			before: `{clone: {vm: 100}}`,
			after:  `{clone: {vm: 101}}`,
			want:   []string{"spec.forProvider.clone.vm", "cannot change"},
		},
		"ImageRef": {
			reason: "An image fills a disk once.",
			before: `{image: {ref: {name: debian}}, disks: [{name: root}]}`,
			after:  `{image: {ref: {name: ubuntu}}, disks: [{name: root}]}`,
			want:   []string{"spec.forProvider.image", "cannot change"},
		},
		"Restore": {
			reason: "A VM is restored once, from one backup.",
			before: `{restore: {backupRef: {name: monday}}}`,
			after:  `{restore: {backupRef: {name: tuesday}}}`,
			want:   []string{"spec.forProvider.restore", "cannot change"},
		},
		"RestoreAdded": {
			reason: "A VM that exists is not restored any more.",
			before: `{}`,
			after:  `{restore: {volume: "nas:backup/vzdump-qemu-100-2026_11_22-17_00_00.vma.zst"}}`,
			want:   []string{"spec.forProvider", "restore can be neither added nor removed"},
		},
		"RestoreRemoved": {
			reason: "A VM that was restored stays so.",
			before: `{restore: {backupRef: {name: monday}}}`,
			after:  `{}`,
			want:   []string{"spec.forProvider", "restore can be neither added nor removed"},
		},
		"CloneAdded": {
			reason: "A VM that exists is not cloned any more.",
			before: `{template: ubuntu-24.04}`,
			after:  `{template: ubuntu-24.04, clone: {full: true}}`,
			want:   []string{"spec.forProvider", "clone counts at creation only", "neither added nor removed"},
		},
		"CloneRemoved": {
			reason: "A VM that was cloned in full stays so.",
			before: `{template: ubuntu-24.04, clone: {full: true}}`,
			after:  `{template: ubuntu-24.04}`,
			want:   []string{"spec.forProvider", "clone counts at creation only", "neither added nor removed"},
		},
		"CDROMType": {
			reason: "A CD-ROM drive does not change its bus.",
			before: `{cdroms: [{name: a, type: ide}]}`,
			after:  `{cdroms: [{name: a, type: sata}]}`,
			want:   []string{"spec.forProvider.cdroms[0]", "type of CD-ROM drive a cannot change", "ide", "sata"},
		},
		"CDROMDevice": {
			reason: "A CD-ROM drive does not change its device.",
			before: `{cdroms: [{name: a, device: ide0}]}`,
			after:  `{cdroms: [{name: a, device: ide1}]}`,
			want:   []string{"spec.forProvider.cdroms[0]", "device of CD-ROM drive a cannot change", "ide0", "ide1"},
		},
		"DiskType": {
			reason: "A disk does not change its bus.",
			before: `{disks: [{name: root, size: 20G, type: scsi}]}`,
			after:  `{disks: [{name: root, size: 20G, type: virtio}]}`,
			want:   []string{"spec.forProvider.disks[0]", "type of disk root cannot change", "scsi", "virtio"},
		},
		"DiskDevice": {
			reason: "A disk does not change its place.",
			before: `{disks: [{name: root, size: 20G, device: scsi0}]}`,
			after:  `{disks: [{name: root, size: 20G, device: scsi1}]}`,
			want:   []string{"spec.forProvider.disks[0]", "device of disk root cannot change", "scsi0", "scsi1"},
		},
		"DiskDeviceAfterReorder": {
			reason: "Disks are told apart by name, not by position.",
			before: `{disks: [{name: a, device: scsi0}, {name: b, device: scsi1}]}`,
			after:  `{disks: [{name: b, device: scsi2}, {name: a, device: scsi0}]}`,
			want:   []string{"spec.forProvider.disks[0]", "device of disk b cannot change", "scsi1", "scsi2"},
		},
		"NetworkDevice": {
			reason: "An interface does not change its place.",
			before: `{networks: [{name: lan, device: net0}]}`,
			after:  `{networks: [{name: lan, device: net1}]}`,
			want:   []string{"spec.forProvider.networks[0]", "device of network lan cannot change", "net0", "net1"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for name, s := range scopes() {
				t.Run(name, func(t *testing.T) { wantRefused(t, tc.reason, s.tryChange(t, tc), tc.want...) })
			}
		})
	}
}

func TestMachineChangeAccepted(t *testing.T) {
	cases := map[string]change{
		"Reorder": {
			reason: "The order of disks and networks means nothing.",
			before: `{disks: [{name: a, device: scsi0}, {name: b, device: scsi1}], networks: [{name: lan, device: net0}, {name: wan, device: net1}]}`,
			after:  `{disks: [{name: b, device: scsi1}, {name: a, device: scsi0}], networks: [{name: wan, device: net1}, {name: lan, device: net0}]}`,
		},
		"DiskRemoved": {
			reason: "A disk can be taken off the list, and its device be given to another.",
			before: `{disks: [{name: a, device: scsi0}, {name: b, device: scsi1}]}`,
			after:  `{disks: [{name: a, device: scsi0}, {name: c, device: scsi1, size: 10G}]}`,
		},
		"TemplateNumberToString": {
			reason: "9000 and \"9000\" are the same VMID.",
			before: `{template: 9000}`,
			after:  `{template: "9000"}`,
		},
		"VMIDAdded": {
			reason: "A VMID that was assigned may be written down.",
			before: `{}`,
			after:  `{vmid: 10000}`,
		},
		"DiskTypeAdded": {
			reason: "What was left open may be written down.",
			before: `{disks: [{name: root, size: 20G}]}`,
			after:  `{disks: [{name: root, size: 20G, type: scsi, device: scsi0, format: raw}]}`,
		},
		"Hardware": {
			reason: "Hardware may change at any time.",
			before: `{name: a, cpu: {cores: 1}, memory: 1Gi, disks: [{name: root, size: 20G}], powerState: Running}`,
			after:  `{name: b, cpu: {cores: 2}, memory: 2Gi, disks: [{name: root, size: 30G}], powerState: Stopped}`,
		},
		"MemoryWrittenOtherwise": {
			reason: "2Gi and 2147483648 are the same.",
			before: `{memory: 2Gi}`,
			after:  `{memory: 2147483648}`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for name, s := range scopes() {
				t.Run(name, func(t *testing.T) { wantAccepted(t, tc.reason, s.tryChange(t, tc)) })
			}
		})
	}
}

// tryChange creates the Machine as it was and asks the API server whether it would accept the change.
func (s scope) tryChange(t *testing.T, tc change) error {
	t.Helper()
	before := s.machine(t, tc.before)
	before.SetName(objectName(t))
	create(t, before)
	after := before.DeepCopy()
	after.Object["spec"] = map[string]any{"forProvider": parse(t, tc.after)}
	return kube.Update(t.Context(), after, client.DryRunAll)
}

// create the object for the time of the test.
func create(t *testing.T, o *unstructured.Unstructured) {
	t.Helper()
	if err := kube.Create(t.Context(), o); err != nil {
		t.Fatalf("cannot create %s %q: %v", o.GetKind(), o.GetName(), err)
	}
	t.Cleanup(func() {
		if err := kube.Delete(context.WithoutCancel(t.Context()), o); err != nil {
			t.Errorf("cannot delete %s %q: %v", o.GetKind(), o.GetName(), err)
		}
	})
}

// objectName that no other test uses.
func objectName(t *testing.T) string {
	t.Helper()
	name := strings.NewReplacer("/", "-", "_", "-", "#", "-").Replace(strings.ToLower(t.Name()))
	return fmt.Sprintf("%.250s", name)
}
