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
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func isInvalid(err error) bool { return apierrors.IsInvalid(err) }

// refusal is bad input and what its refusal must say: the field, the value and the range.
type refusal struct {
	reason string
	spec   string
	want   []string
}

func TestMachineRefused(t *testing.T) {
	for _, table := range []map[string]refusal{
		identityRefusals(), sourceRefusals(), cpuRefusals(), memoryRefusals(), diskRefusals(),
		cdromRefusals(), networkRefusals(), cloudInitRefusals(), optionRefusals(), lifecycleRefusals(), placementRefusals(),
	} {
		for name, tc := range table {
			t.Run(name, func(t *testing.T) { testMachineRefused(t, tc) })
		}
	}
}

func testMachineRefused(t *testing.T, tc refusal) {
	t.Helper()
	for name, s := range scopes() {
		t.Run(name, func(t *testing.T) {
			err := tryCreate(t.Context(), s.machine(t, tc.spec))
			wantRefused(t, tc.reason, err, tc.want...)
		})
	}
}

func identityRefusals() map[string]refusal {
	return map[string]refusal{
		"VMIDTooLow": {
			reason: "VMIDs below 100 are PVE's own.",
			spec:   `{vmid: 99}`,
			want:   []string{"spec.forProvider.vmid", "99", "greater than or equal to 100"},
		},
		"VMIDTooHigh": {
			reason: "A VMID has at most nine digits.",
			spec:   `{vmid: 1000000000}`,
			want:   []string{"spec.forProvider.vmid", "1000000000", "less than or equal to 999999999"},
		},
		"VMIDNotANumber": {
			reason: "A VMID is a number.",
			spec:   `{vmid: "100"}`,
			want:   []string{"spec.forProvider.vmid", "integer"},
		},
		"NameWithUnderscore": {
			reason: "PVE takes DNS names only.",
			spec:   `{name: web_1}`,
			want:   []string{"spec.forProvider.name", `"web_1"`, "should match"},
		},
		"NameTooLong": {
			reason: "A name has at most 100 characters.",
			spec:   `{name: ` + strings.Repeat("a", 101) + `}`,
			want:   []string{"spec.forProvider.name", "Too long", "100"},
		},
		"NameEmpty": {
			reason: "A name has at least one character.",
			spec:   `{name: ""}`,
			want:   []string{"spec.forProvider.name", `""`, "at least 1"},
		},
		"NameEndsWithHyphen": {
			reason: "No label of a DNS name ends with a hyphen.",
			spec:   `{name: web-.example.com}`,
			want:   []string{"spec.forProvider.name", `"web-.example.com"`, "should match"},
		},
		"NodeWithDot": {
			reason: "A node is named by its host name without a domain.",
			spec:   `{node: pve1.example.com}`,
			want:   []string{"spec.forProvider.node", `"pve1.example.com"`, "should match"},
		},
		"PoolWithSpace": {
			reason: "Pool names have no spaces.",
			spec:   `{pool: my pool}`,
			want:   []string{"spec.forProvider.pool", `"my pool"`, "should match"},
		},
	}
}

func sourceRefusals() map[string]refusal {
	return map[string]refusal{
		"TemplateAndImage": {
			reason: "A Machine has one source.",
			spec:   `{template: ubuntu-24.04, image: {volume: "local:import/ubuntu.qcow2"}}`,
			want:   []string{"spec.forProvider", "template", "image", "at most one source"},
		},
		"TagsAndImage": {
			reason: "Tags choose a template, which is a source.",
			spec:   `{templateTags: [lts], image: {volume: "local:import/ubuntu.qcow2"}, disks: [{name: root}]}`,
			want:   []string{"spec.forProvider", "templateTags", "image", "at most one source"},
		},
		"TagOfTemplate": {
			reason: "A tag is what PVE takes for one.",
			spec:   `{templateTags: ["L T S"]}`,
			want:   []string{"spec.forProvider.templateTags[0]", "should match"},
		},
		"NoTags": {
			reason: "An empty list would choose any template.",
			spec:   `{templateTags: []}`,
			want:   []string{"spec.forProvider.templateTags", "at least 1 items"},
		},
		"SnapshotOfTagged": {
			reason: "A template has no snapshots.",
			spec:   `{templateTags: [lts], clone: {snapshot: before}}`,
			want:   []string{"spec.forProvider", "a template has no snapshots"},
		},
		"TemplateAndISO": {
			reason: "A Machine has one source.",
			spec:   `{template: 9000, iso: "local:iso/debian.iso"}`,
			want:   []string{"spec.forProvider", "template", "iso", "at most one source"},
		},
		"TemplateAndCloneMachine": {
			reason: "A Machine has one source.",
			spec:   `{template: ubuntu-24.04, clone: {machine: golden}}`,
			want:   []string{"spec.forProvider", "template", "clone.machine", "at most one source"},
		},
		"ImageAndISO": {
			reason: "A Machine has one source.",
			spec:   `{image: {volume: "local:import/ubuntu.qcow2"}, iso: "local:iso/debian.iso"}`,
			want:   []string{"spec.forProvider", "image", "iso", "at most one source"},
		},
		"TemplateRefAndImage": {
			reason: "A template of an Image is a source.",
			spec:   `{templateRef: {name: debian}, image: {ref: {name: debian}}, disks: [{name: root}]}`,
			want:   []string{"spec.forProvider", "templateRef", "at most one source"},
		},
		"SelectorAndVM": {
			reason: "A template that a selector means is a source, and so is a VM.",
			spec:   `{templateSelector: {matchLabels: {os: debian}}, clone: {vm: 100}}`,
			want:   []string{"spec.forProvider", "clone.vm", "at most one source"},
		},
		"RestoreAndTemplate": {
			reason: "A backup is a source.",
			spec:   `{template: ubuntu, restore: {backupRef: {name: nightly}}}`,
			want:   []string{"spec.forProvider", "restore", "at most one source"},
		},
		"RestoreAndISO": {
			reason: "An image to install from is a source beside a backup.",
			spec:   `{iso: "local:iso/debian.iso", restore: {backupRef: {name: nightly}}}`,
			want:   []string{"spec.forProvider", "restore", "at most one source"},
		},
		"RestoreOfTwo": {
			reason: "A VM has one backup.",
			spec:   `{restore: {backupRef: {name: nightly}, volume: "nas:backup/vzdump-qemu-100-2026_11_22-17_00_00.vma.zst"}}`,
			want:   []string{"spec.forProvider.restore", "one of backupRef, volume and latestOf"},
		},
		"RestoreOfNone": {
			reason: "A restore has one backup at least.",
			spec:   `{restore: {storage: local-lvm}}`,
			want:   []string{"spec.forProvider.restore", "one of backupRef, volume and latestOf"},
		},
		"RestoreLatestOfTwo": {
			reason: "The newest backup is that of one VM.",
			spec:   `{restore: {latestOf: {storage: nas, vmid: 100, machineRef: {name: web}}}}`,
			want:   []string{"spec.forProvider.restore.latestOf", "one of machineRef and vmid"},
		},
		"RestoreLatestOfTwoStorages": {
			reason: "One storage has the backups.",
			spec:   `{restore: {latestOf: {storage: nas, storageRef: {name: nas}, vmid: 100}}}`,
			want:   []string{"spec.forProvider.restore.latestOf", "set one of storage and storageRef"},
		},
		"RestoreLatestNowhere": {
			reason: "Some storage has the backups.",
			spec:   `{restore: {latestOf: {vmid: 100}}}`,
			want:   []string{"spec.forProvider.restore.latestOf", "set one of storage and storageRef"},
		},
		"RestoreToTwoStorages": {
			reason: "All disks go to one storage.",
			spec:   `{restore: {backupRef: {name: nightly}, storage: local-lvm, storageRef: {name: fast}}}`,
			want:   []string{"spec.forProvider.restore", "set only one of storage and storageRef"},
		},
		"RestoreOfAPath": {
			reason: "Paths are for root on the node.",
			spec:   `{restore: {volume: /var/lib/vz/dump/vzdump-qemu-100-2026_11_22-17_00_00.vma.zst}}`,
			want:   []string{"spec.forProvider.restore.volume"},
		},
		"ImageOfTwo": {
			reason: "An image comes from one place.",
			spec:   `{image: {ref: {name: debian}, volume: "local:import/ubuntu.qcow2"}, disks: [{name: root}]}`,
			want:   []string{"spec.forProvider.image", "volume, ref and url"},
		},
		"ImageOfNone": {
			reason: "An image comes from one place at least.",
			spec:   `{image: {disk: root}, disks: [{name: root}]}`,
			want:   []string{"spec.forProvider.image", "volume, ref and url"},
		},
		"ChecksumOfARef": {
			reason: "An Image has its checksum itself.",
			spec:   `{image: {ref: {name: debian}, storages: [local]}, disks: [{name: root}]}`,
			want:   []string{"spec.forProvider.image", "need url"},
		},
		"TwoChecksums": {
			reason: "An image has one checksum only.",
			spec: `{image: {url: "https://example.org/a.raw", checksum: "md5:d41d8cd98f00b204e9800998ecf8427e", checksumURL: ` +
				`"https://example.org/SUMS"}, disks: [{name: root}]}`,
			want: []string{"spec.forProvider.image", "one of checksum and checksumURL"},
		},
		"SnapshotOfATemplateRef": {
			reason: "Templates have no snapshots.",
			spec:   `{templateRef: {name: debian}, clone: {snapshot: before}}`,
			want:   []string{"spec.forProvider", "no snapshots"},
		},
		"CloneOfAVMIDTooLow": {
			reason: "VMIDs begin at 100.",
			spec:   `{clone: {vm: 99}}`,
			want:   []string{"spec.forProvider.clone.vm", "VMID"},
		},
		"CloneWithoutSource": {
			reason: "There is nothing to clone.",
			spec:   `{clone: {full: true}}`,
			want:   []string{"spec.forProvider", "clone needs a source", "template"},
		},
		"CloneStorageOfALinkedClone": {
			reason: "A linked clone stays where its template is.",
			spec:   `{template: ubuntu-24.04, clone: {storage: local-lvm}}`,
			want:   []string{"spec.forProvider.clone", "clone.storage", "clone.full", "linked clone"},
		},
		"CloneStorageWithFullFalse": {
			reason: "A linked clone stays where its template is.",
			spec:   `{template: ubuntu-24.04, clone: {full: false, storage: local-lvm}}`,
			want:   []string{"spec.forProvider.clone", "clone.storage", "clone.full"},
		},
		"CloneFormatOfALinkedClone": {
			reason: "A linked clone keeps the format of its template.",
			spec:   `{template: ubuntu-24.04, clone: {format: qcow2}}`,
			want:   []string{"spec.forProvider.clone", "clone.format", "clone.full"},
		},
		"CloneOfASnapshot": {
			reason: "Templates of PVE have no snapshots.",
			spec:   `{template: ubuntu-24.04, clone: {full: true, snapshot: before}}`,
			want:   []string{"spec.forProvider", "clone.snapshot", "clone.machine"},
		},
		"ImageWithoutDisk": {
			reason: "An image needs a disk that it fills.",
			spec:   `{image: {volume: "local:import/debian.qcow2"}}`,
			want:   []string{"spec.forProvider", "image", "disks"},
		},
		"ImageForNoDisk": {
			reason: "The disk that an image fills must be one of the Machine.",
			spec:   `{image: {volume: "local:import/debian.qcow2", disk: root}, disks: [{name: data, size: 1G}]}`,
			want:   []string{"spec.forProvider", "image", "disks"},
		},
		"ImageThatIsNone": {
			reason: "An ISO image is no image of a disk.",
			spec:   `{image: {volume: "local:iso/debian.iso"}, disks: [{name: root}]}`,
			want:   []string{"spec.forProvider.image.volume", "should match"},
		},
		"ISOThatIsNone": {
			reason: "An ISO image is on a storage, as one.",
			spec:   `{iso: "debian.iso"}`,
			want:   []string{"spec.forProvider.iso", "should match"},
		},
		"CloneSnapshotWithDot": {
			reason: "Snapshot names have no dots.",
			spec:   `{template: ubuntu-24.04, clone: {full: true, snapshot: v1.2}}`,
			want:   []string{"spec.forProvider.clone.snapshot", `"v1.2"`, "should match"},
		},
		"TemplateVMIDTooLow": {
			reason: "A template's VMID is in the range of VMIDs.",
			spec:   `{template: 99}`,
			want:   []string{"spec.forProvider.template", "99", "100 to 999999999"},
		},
		"TemplateVMIDTooHigh": {
			reason: "A template's VMID is in the range of VMIDs.",
			spec:   `{template: 1000000000}`,
			want:   []string{"spec.forProvider.template", "1000000000", "100 to 999999999"},
		},
		"TemplateEmpty": {
			reason: "A template's name is not empty.",
			spec:   `{template: ""}`,
			want:   []string{"spec.forProvider.template", "1 to 100 characters"},
		},
		"TemplateNameTooLong": {
			reason: "No VM has such a long name.",
			spec:   `{template: ` + strings.Repeat("a", 101) + `}`,
			want:   []string{"spec.forProvider.template", "1 to 100 characters"},
		},
	}
}

func cpuRefusals() map[string]refusal {
	return map[string]refusal{
		"NoCores": {
			reason: "A VM has a core at least.",
			spec:   `{cpu: {cores: 0}}`,
			want:   []string{"spec.forProvider.cpu.cores", "0", "greater than or equal to 1"},
		},
		"TooManyCores": {
			reason: "No host has so many cores.",
			spec:   `{cpu: {cores: 1025}}`,
			want:   []string{"spec.forProvider.cpu.cores", "1025", "less than or equal to 1024"},
		},
		"NoSockets": {
			reason: "A VM has a socket at least.",
			spec:   `{cpu: {sockets: 0}}`,
			want:   []string{"spec.forProvider.cpu.sockets", "0", "greater than or equal to 1"},
		},
		"TooManySockets": {
			reason: "A VM has four sockets at most.",
			spec:   `{cpu: {sockets: 5}}`,
			want:   []string{"spec.forProvider.cpu.sockets", "5", "less than or equal to 4"},
		},
		"ProvisioningWithoutAgent": {
			reason: "The agent is what tells of cloud-init.",
			spec:   `{agent: false, reportProvisioning: true}`,
			want:   []string{"reportProvisioning asks the guest agent for cloud-init"},
		},
		"ProvisioningOfWindows": {
			reason: "Windows has no cloud-init.",
			spec:   `{osType: win11, reportProvisioning: true}`,
			want:   []string{"reportProvisioning asks the guest agent for cloud-init"},
		},
		"TooManyThreads": {
			reason: "A core has two threads at most.",
			spec:   `{cpu: {cores: 6, threadsPerCore: 3}}`,
			want:   []string{"spec.forProvider.cpu.threadsPerCore", "3", "less than or equal to 2"},
		},
		"ThreadsDoNotFitCores": {
			reason: "Three cores cannot be seen as cores of two threads.",
			spec:   `{cpu: {cores: 3, threadsPerCore: 2}}`,
			want:   []string{"spec.forProvider.cpu", "threadsPerCore 2", "cores 3", "multiple of sockets * threadsPerCore"},
		},
		"ThreadsDoNotFitSockets": {
			reason: "Six cores per socket on four sockets cannot be seen so.",
			spec:   `{cpu: {cores: 6, sockets: 4, threadsPerCore: 2}}`,
			want:   []string{"spec.forProvider.cpu", "threadsPerCore 2", "cores 6", "sockets 4"},
		},
		"ThreadsWithoutCores": {
			reason: "Threads say how cores are seen, so cores must be given.",
			spec:   `{cpu: {threadsPerCore: 2}}`,
			want:   []string{"spec.forProvider.cpu", "threadsPerCore 2", "cores"},
		},
		"MoreVCPUsThanCores": {
			reason: "Only cores that exist can be plugged in.",
			spec:   `{cpu: {cores: 2, sockets: 2, vcpus: 5}}`,
			want:   []string{"spec.forProvider.cpu", "vcpus 5", "4", "cores * sockets"},
		},
		"VCPUsWithoutCores": {
			reason: "How many CPUs can be plugged in is unknown without cores.",
			spec:   `{cpu: {vcpus: 1}}`,
			want:   []string{"spec.forProvider.cpu", "vcpus 1", "cores"},
		},
		"LimitTooHigh": {
			reason: "PVE limits CPU use to 128 cores at most.",
			spec:   `{cpu: {limit: "128.5"}}`,
			want:   []string{"spec.forProvider.cpu.limit", "128.5", "0 to 128"},
		},
		"LimitNegative": {
			reason: "CPU use cannot be negative.",
			spec:   `{cpu: {limit: "-1"}}`,
			want:   []string{"spec.forProvider.cpu.limit", "-1", "0 to 128"},
		},
		"UnitsTooHigh": {
			reason: "PVE's weights end at 262144.",
			spec:   `{cpu: {units: 262145}}`,
			want:   []string{"spec.forProvider.cpu.units", "262145", "less than or equal to 262144"},
		},
		"TypeWithComma": {
			reason: "A comma would add options to PVE's cpu property.",
			spec:   `{cpu: {type: "host,flags=+aes"}}`,
			want:   []string{"spec.forProvider.cpu.type", `"host,flags=+aes"`, "should match"},
		},
		"FlagWithoutSign": {
			reason: "A flag is turned on or off.",
			spec:   `{cpu: {type: host, flags: [aes]}}`,
			want:   []string{"spec.forProvider.cpu.flags[0]", `"aes"`, "should match"},
		},
		"FlagsWithoutType": {
			reason: "PVE's cpu property begins with the type.",
			spec:   `{cpu: {flags: [+aes]}}`,
			want:   []string{"spec.forProvider.cpu", "flags", "type"},
		},
	}
}

func memoryRefusals() map[string]refusal {
	return map[string]refusal{
		"TooLittle": {
			reason: "64 MiB are the least that a VM gets.",
			spec:   `{memory: 1Mi}`,
			want:   []string{"spec.forProvider.memory", "1Mi", "64Mi to 16Ti"},
		},
		"TooLittleAsANumber": {
			reason: "Memory is in bytes: 2048 is not 2 GiB.",
			spec:   `{memory: 2048}`,
			want:   []string{"spec.forProvider.memory", "2048", "64Mi to 16Ti"},
		},
		"NotWholeMiB": {
			reason: "PVE counts memory in MiB.",
			spec:   `{memory: 2147483649}`,
			want:   []string{"spec.forProvider.memory", "2147483649", "whole number of MiB"},
		},
		"DecimalGigabyte": {
			reason: "A decimal gigabyte is no whole number of MiB.",
			spec:   `{memory: 2G}`,
			want:   []string{"spec.forProvider.memory", "2G", "whole number of MiB", "such as 4Gi"},
		},
		"Fraction": {
			reason: "There is no fraction of a byte.",
			spec:   `{memory: "67108864500m"}`,
			want:   []string{"spec.forProvider.memory", "67108864500m", "whole number of MiB"},
		},
		"TooMuch": {
			reason: "16 TiB are the most that a VM gets.",
			spec:   `{memory: 64Ti}`,
			want:   []string{"spec.forProvider.memory", "64Ti", "64Mi to 16Ti"},
		},
		"BeyondAnInteger": {
			reason: "A quantity that no integer can hold is out of range, not an error of the rule.",
			spec:   `{memory: 16Ei}`,
			want:   []string{"spec.forProvider.memory", "16Ei", "64Mi to 16Ti"},
		},
		"NotAQuantity": {
			reason: "Kubernetes does not know MB.",
			spec:   `{memory: 512MB}`,
			want:   []string{"spec.forProvider.memory", "512MB", "should match"},
		},
		"MinimumAboveMemory": {
			reason: "Ballooning leaves the guest no more than it has.",
			spec:   `{memory: 1Gi, memoryOptions: {minimum: 2Gi}}`,
			want:   []string{"spec.forProvider", "memoryOptions.minimum 2Gi", "memory 1Gi"},
		},
		"MinimumNotWholeMiB": {
			reason: "PVE counts memory in MiB.",
			spec:   `{memoryOptions: {minimum: 1000000}}`,
			want:   []string{"spec.forProvider.memoryOptions.minimum", "1000000", "whole number of MiB"},
		},
		"MinimumWithoutBalloon": {
			reason: "Without the device nothing can be ballooned.",
			spec:   `{balloon: false, memoryOptions: {minimum: 512Mi}}`,
			want:   []string{"spec.forProvider", "memoryOptions.minimum", "balloon"},
		},
		"SharesTooHigh": {
			reason: "PVE's shares end at 50000.",
			spec:   `{memoryOptions: {shares: 50001}}`,
			want:   []string{"spec.forProvider.memoryOptions.shares", "50001", "less than or equal to 50000"},
		},
	}
}

func diskRefusals() map[string]refusal {
	return map[string]refusal{
		"UnknownType": {
			reason: "PVE has four buses.",
			spec:   `{disks: [{name: root, size: 20G, type: nvme}]}`,
			want:   []string{"spec.forProvider.disks[0].type", `"nvme"`, `"ide", "sata", "scsi", "virtio"`},
		},
		"TwoOfOneName": {
			reason: "The name stands for one disk.",
			spec:   `{disks: [{name: root, size: 20G}, {name: root, size: 30G}]}`,
			want:   []string{"spec.forProvider.disks[1]", "Duplicate value", `"root"`},
		},
		"TwoOnOneDevice": {
			reason: "A device is one disk.",
			spec:   `{disks: [{name: a, device: scsi1}, {name: b, device: scsi1}]}`,
			want:   []string{"spec.forProvider.disks", "scsi1", "same device"},
		},
		"WithoutName": {
			reason: "The name is the key of the list.",
			spec:   `{disks: [{size: 20G}]}`,
			want:   []string{"spec.forProvider.disks[0].name", "Required value"},
		},
		"SizeWithUnknownUnit": {
			reason: "X is no unit.",
			spec:   `{disks: [{name: root, size: 20X}]}`,
			want:   []string{"spec.forProvider.disks[0].size", `"20X"`, "K, M, G or T", "1M to 100T"},
		},
		"SizeZero": {
			reason: "A disk of no size is no disk.",
			spec:   `{disks: [{name: root, size: 0G}]}`,
			want:   []string{"spec.forProvider.disks[0].size", `"0G"`, "should match"},
		},
		"SizeWithoutUnit": {
			reason: "PVE takes a bare number for bytes here and for GiB there.",
			spec:   `{disks: [{name: root, size: "20"}]}`,
			want:   []string{"spec.forProvider.disks[0].size", `"20"`, "should match"},
		},
		"SizeANumber": {
			reason: "A size has a unit.",
			spec:   `{disks: [{name: root, size: 20}]}`,
			want:   []string{"spec.forProvider.disks[0].size", "string"},
		},
		"SizeTooSmall": {
			reason: "A disk has 1 MiB at least.",
			spec:   `{disks: [{name: root, size: 1023K}]}`,
			want:   []string{"spec.forProvider.disks[0].size", "1023K", "1M to 100T"},
		},
		"SizeTooLarge": {
			reason: "A disk has 100 TiB at most.",
			spec:   `{disks: [{name: root, size: 101T}]}`,
			want:   []string{"spec.forProvider.disks[0].size", "101T", "1M to 100T"},
		},
		"SizeBeyondAnInteger": {
			reason: "A number that no integer can hold is out of range, not an error of the rule.",
			spec:   `{disks: [{name: root, size: 99999999999999T}]}`,
			want:   []string{"spec.forProvider.disks[0].size", "99999999999999T", "1M to 100T"},
		},
		"TypeAndDeviceDisagree": {
			reason: "scsi0 is no virtio disk.",
			spec:   `{disks: [{name: root, type: virtio, device: scsi0}]}`,
			want:   []string{"spec.forProvider.disks[0]", "type virtio", "device scsi0"},
		},
		"UnknownDevice": {
			reason: "The scsi bus ends at 30.",
			spec:   `{disks: [{name: root, device: scsi31}]}`,
			want:   []string{"spec.forProvider.disks[0].device", `"scsi31"`, "should match"},
		},
		"UnknownCache": {
			reason: "QEMU has five cache modes.",
			spec:   `{disks: [{name: root, cache: fast}]}`,
			want:   []string{"spec.forProvider.disks[0].cache", `"fast"`, `"none", "writethrough", "writeback", "unsafe", "directsync"`},
		},
		"UnknownFormat": {
			reason: "PVE makes disks of three formats.",
			spec:   `{disks: [{name: root, format: vhd}]}`,
			want:   []string{"spec.forProvider.disks[0].format", `"vhd"`, `"raw", "qcow2", "vmdk"`},
		},
		"StorageWithComma": {
			reason: "A comma would add options to PVE's disk property.",
			spec:   `{disks: [{name: root, storage: "ceph,size=1T"}]}`,
			want:   []string{"spec.forProvider.disks[0].storage", `"ceph,size=1T"`, "should match"},
		},
		"SSDOnVirtio": {
			reason: "virtio disks have no ssd option.",
			spec:   `{disks: [{name: root, type: virtio, ssd: true}]}`,
			want:   []string{"spec.forProvider.disks[0]", "ssd", "ide, sata or scsi", "virtio"},
		},
		"SSDOnVirtioByDevice": {
			reason: "The device says the type.",
			spec:   `{disks: [{name: root, device: virtio0, ssd: true}]}`,
			want:   []string{"spec.forProvider.disks[0]", "ssd", "ide, sata or scsi", "virtio"},
		},
		"IOThreadOnSATA": {
			reason: "Only scsi and virtio disks have I/O threads.",
			spec:   `{disks: [{name: root, type: sata, ioThread: true}]}`,
			want:   []string{"spec.forProvider.disks[0]", "ioThread", "scsi or virtio", "sata"},
		},
		"IOThreadOnSATAByDevice": {
			reason: "The device says the type.",
			spec:   `{disks: [{name: root, device: sata0, ioThread: true}]}`,
			want:   []string{"spec.forProvider.disks[0]", "ioThread", "scsi or virtio", "sata"},
		},
		"ReadOnlyOnIDE": {
			reason: "Only scsi and virtio disks can be read-only.",
			spec:   `{disks: [{name: root, type: ide, readOnly: true}]}`,
			want:   []string{"spec.forProvider.disks[0]", "readOnly", "scsi or virtio", "ide"},
		},
		"SerialWithComma": {
			reason: "A comma would end the serial number on QEMU's command line.",
			spec:   `{disks: [{name: root, serial: "a,b"}]}`,
			want:   []string{"spec.forProvider.disks[0].serial", `"a,b"`, "should match"},
		},
		"SerialTooLong": {
			reason: "A serial number has 20 characters at most.",
			spec:   `{disks: [{name: root, serial: "123456789012345678901"}]}`,
			want:   []string{"spec.forProvider.disks[0].serial", "Too long", "20"},
		},
		"ReadIOPSNegative": {
			reason: "No limit is 0.",
			spec:   `{disks: [{name: root, limits: {readIOPS: -1}}]}`,
			want:   []string{"spec.forProvider.disks[0].limits.readIOPS", "-1", "greater than or equal to 0"},
		},
		"WriteIOPSNegative": {
			reason: "No limit is 0.",
			spec:   `{disks: [{name: root, limits: {writeIOPS: -1}}]}`,
			want:   []string{"spec.forProvider.disks[0].limits.writeIOPS", "-1", "greater than or equal to 0"},
		},
		"ReadMBpsNegative": {
			reason: "A throughput cannot be negative.",
			spec:   `{disks: [{name: root, limits: {readMBps: "-1"}}]}`,
			want:   []string{"spec.forProvider.disks[0].limits.readMBps", "-1", "0 or more"},
		},
		"BurstAlone": {
			reason: "PVE takes no burst without its limit.",
			spec:   `{disks: [{name: root, limits: {readMBps: 0, readBurstMBps: "20"}}]}`,
			want:   []string{"spec.forProvider.disks[0].limits", "limits.readBurstMBps needs limits.readMBps"},
		},
		"BurstOfOtherDirection": {
			reason: "A limit of one direction is none of the other.",
			spec:   `{disks: [{name: root, limits: {readIOPS: 10, writeBurstIOPS: 20}}]}`,
			want:   []string{"spec.forProvider.disks[0].limits", "limits.writeBurstIOPS needs limits.writeIOPS"},
		},
		"BurstLengthAlone": {
			reason: "What is no burst has no length.",
			spec:   `{disks: [{name: root, limits: {totalMBps: 10, totalBurstSeconds: 5}}]}`,
			want:   []string{"spec.forProvider.disks[0].limits", "limits.totalBurstSeconds needs limits.totalBurstMBps"},
		},
		"IOPSBurstLengthAlone": {
			reason: "What is no burst has no length.",
			spec:   `{disks: [{name: root, limits: {totalIOPS: 10, totalIOPSBurstSeconds: 5}}]}`,
			want:   []string{"spec.forProvider.disks[0].limits", "limits.totalIOPSBurstSeconds needs limits.totalBurstIOPS"},
		},
		"VendorEndsInSpace": {
			reason: "PVE keeps no space at the end.",
			spec:   `{disks: [{name: root, vendor: "ACME "}]}`,
			want:   []string{"spec.forProvider.disks[0].vendor", "should match"},
		},
		"WriteMBpsNegative": {
			reason: "A throughput cannot be negative, as a number neither.",
			spec:   `{disks: [{name: root, limits: {writeMBps: -1}}]}`,
			want:   []string{"spec.forProvider.disks[0].limits.writeMBps", "-1", "0 or more"},
		},
	}
}

func cdromRefusals() map[string]refusal {
	return map[string]refusal{
		"CDROMWithoutName": {
			reason: "A drive is known by its name.",
			spec:   `{cdroms: [{iso: "local:iso/a.iso"}]}`,
			want:   []string{"spec.forProvider.cdroms[0].name", "Required"},
		},
		"CDROMTwice": {
			reason: "Which is that of one drive.",
			spec:   `{cdroms: [{name: a}, {name: a}]}`,
			want:   []string{"spec.forProvider.cdroms[1]", "Duplicate"},
		},
		"CDROMNotAnISO": {
			reason: "What is in a drive is an ISO image, or nothing.",
			spec:   `{cdroms: [{name: a, iso: none}]}`,
			want:   []string{"spec.forProvider.cdroms[0].iso", "should match"},
		},
		"CDROMOnVirtio": {
			reason: "virtio has no such drives.",
			spec:   `{cdroms: [{name: a, type: virtio}]}`,
			want:   []string{"spec.forProvider.cdroms[0].type", "ide", "sata", "scsi"},
		},
		"CDROMTypeAndDevice": {
			reason: "A device says its bus.",
			spec:   `{cdroms: [{name: a, type: ide, device: sata0}]}`,
			want:   []string{"spec.forProvider.cdroms[0]", "type ide and device sata0 disagree"},
		},
		"CDROMNoDevice": {
			reason: "A bus has an end.",
			spec:   `{cdroms: [{name: a, device: ide4}]}`,
			want:   []string{"spec.forProvider.cdroms[0].device", "should match"},
		},
		"CDROMBothMedia": {
			reason: "A drive has one medium.",
			spec:   `{cdroms: [{name: a, iso: "local:iso/a.iso", physical: true}]}`,
			want:   []string{"spec.forProvider.cdroms[0]", "drive a", "set iso or physical"},
		},
		"CDROMSameDevice": {
			reason: "A device is one drive.",
			spec:   `{cdroms: [{name: a, device: ide0}, {name: b, device: ide0}]}`,
			want:   []string{"spec.forProvider.cdroms", "two CD-ROM drives have the same device: ide0"},
		},
		"CDROMSameDeviceAsDisk": {
			reason: "A device is a CD-ROM drive or a disk.",
			spec:   `{disks: [{name: root, size: 1G, device: ide0}], cdroms: [{name: a, device: ide0}]}`,
			want:   []string{"spec.forProvider", "a disk and a CD-ROM drive have the same device: ide0"},
		},
		"BootFromUnknownCDROM": {
			reason: "A boot order names drives of the Machine.",
			spec:   `{cdroms: [{name: a}], bootOrder: [b]}`,
			want:   []string{"spec.forProvider", "bootOrder", "CD-ROM drive"},
		},
	}
}

func networkRefusals() map[string]refusal {
	return map[string]refusal{
		"VLANTooHigh": {
			reason: "VLAN 4095 is reserved.",
			spec:   `{networks: [{name: lan, vlan: 4095}]}`,
			want:   []string{"spec.forProvider.networks[0].vlan", "4095", "less than or equal to 4094"},
		},
		"VLANBelowZero": {
			reason: "0 is no VLAN, and below there is nothing.",
			spec:   `{networks: [{name: lan, vlan: -1}]}`,
			want:   []string{"spec.forProvider.networks[0].vlan", "-1", "greater than or equal to 0"},
		},
		"BridgeAndNetworkRef": {
			reason: "A bridge is named in one way.",
			spec:   `{networks: [{name: lan, bridge: vmbr0, networkRef: {name: vmbr20}}]}`,
			want:   []string{"spec.forProvider.networks[0]", "bridge and networkRef exclude each other"},
		},
		"EmptyNetworkRef": {
			reason: "A reference names something.",
			spec:   `{networks: [{name: lan, networkRef: {}}]}`,
			want:   []string{"spec.forProvider.networks[0].networkRef", "either name or selector"},
		},
		"TwoNetworkRefs": {
			reason: "A reference names a network in one way.",
			spec:   `{networks: [{name: lan, networkRef: {name: vmbr20, selector: {matchLabels: {network: storage}}}}]}`,
			want:   []string{"spec.forProvider.networks[0].networkRef", "either name or selector"},
		},
		"NetworkRefToAll": {
			reason: "A selector without labels would match everything.",
			spec:   `{networks: [{name: lan, networkRef: {selector: {matchLabels: {}}}}]}`,
			want:   []string{"spec.forProvider.networks[0].networkRef.selector.matchLabels", "at least 1 properties"},
		},
		"NetworkRefName": {
			reason: "A name is one that an interface may have.",
			spec:   `{networks: [{name: lan, networkRef: {name: "vmbr 20"}}]}`,
			want:   []string{"spec.forProvider.networks[0].networkRef.name", "should match"},
		},
		"TwoOfOneName": {
			reason: "The name stands for one interface.",
			spec:   `{networks: [{name: lan}, {name: lan}]}`,
			want:   []string{"spec.forProvider.networks[1]", "Duplicate value", `"lan"`},
		},
		"TwoOnOneDevice": {
			reason: "A device is one interface.",
			spec:   `{networks: [{name: a, device: net1}, {name: b, device: net1}]}`,
			want:   []string{"spec.forProvider.networks", "net1", "same device"},
		},
		"MulticastMAC": {
			reason: "An interface has a unicast address.",
			spec:   `{networks: [{name: lan, macAddress: "01:00:5E:00:00:01"}]}`,
			want:   []string{"spec.forProvider.networks[0].macAddress", `"01:00:5E:00:00:01"`, "should match"},
		},
		"ShortMAC": {
			reason: "A MAC address has six parts.",
			spec:   `{networks: [{name: lan, macAddress: "BC:24:11:00:00"}]}`,
			want:   []string{"spec.forProvider.networks[0].macAddress", `"BC:24:11:00:00"`, "should match"},
		},
		"BridgeWithComma": {
			reason: "A comma would add options to PVE's network property.",
			spec:   `{networks: [{name: lan, bridge: "vmbr0,tag=7"}]}`,
			want:   []string{"spec.forProvider.networks[0].bridge", `"vmbr0,tag=7"`, "should match"},
		},
		"BridgeTooLong": {
			reason: "The name of an interface of Linux has 15 characters at most.",
			spec:   `{networks: [{name: lan, bridge: vmbr0123456789ab}]}`,
			want:   []string{"spec.forProvider.networks[0].bridge", "Too long", "15"},
		},
		"UnknownModel": {
			reason: "QEMU has no such card.",
			spec:   `{networks: [{name: lan, model: ne3000}]}`,
			want:   []string{"spec.forProvider.networks[0].model", `"ne3000"`, `"virtio"`},
		},
		"UnknownDevice": {
			reason: "PVE has interfaces 0 to 31.",
			spec:   `{networks: [{name: lan, device: net32}]}`,
			want:   []string{"spec.forProvider.networks[0].device", `"net32"`, "should match"},
		},
		"TrunksWithComma": {
			reason: "PVE separates VLANs by semicolons.",
			spec:   `{networks: [{name: lan, trunks: "10,20"}]}`,
			want:   []string{"spec.forProvider.networks[0].trunks", `"10,20"`, "should match"},
		},
		"MTUTooHigh": {
			reason: "65520 is the largest MTU.",
			spec:   `{networks: [{name: lan, mtu: 65521}]}`,
			want:   []string{"spec.forProvider.networks[0].mtu", "65521", "less than or equal to 65520"},
		},
		"MTUTooLow": {
			reason: "PVE starts no VM with less than IP needs: PVE::QemuServer::print_netdevice_full.",
			spec:   `{networks: [{name: lan, mtu: 575}]}`,
			want:   []string{"spec.forProvider.networks[0].mtu", "mtu 575 is less than IP needs"},
		},
		"ClipboardWithoutDisplay": {
			reason: "PVE has no clipboard without a display: PVE::QemuServer::assert_clipboard_config.",
			spec:   `{vga: {type: serial0, clipboard: vnc}}`,
			want:   []string{"spec.forProvider.vga", "vga.clipboard vnc does not go with vga.type serial0"},
		},
		"MTUOfAnE1000": {
			reason: "PVE sets the MTU of virtio interfaces only.",
			spec:   `{networks: [{name: lan, model: e1000, mtu: 1400}]}`,
			want:   []string{"spec.forProvider.networks[0]", "mtu", "virtio", "e1000"},
		},
		"TooManyQueues": {
			reason: "64 queues are the most.",
			spec:   `{networks: [{name: lan, queues: 65}]}`,
			want:   []string{"spec.forProvider.networks[0].queues", "65", "less than or equal to 64"},
		},
		"RateNegative": {
			reason: "A throughput cannot be negative.",
			spec:   `{networks: [{name: lan, rateMBps: "-0.5"}]}`,
			want:   []string{"spec.forProvider.networks[0].rateMBps", "-0.5", "0 or more"},
		},
		"GatewayWithoutAddress": {
			reason: "A gateway is reached from an address.",
			spec:   `{networks: [{name: lan, ipConfig: {gateway: 192.0.2.1}}]}`,
			want:   []string{"spec.forProvider.networks[0].ipConfig", "gateway 192.0.2.1", "static address"},
		},
		"GatewayWithDHCP": {
			reason: "DHCP brings its own gateway.",
			spec:   `{networks: [{name: lan, ipConfig: {address: dhcp, gateway: 192.0.2.1}}]}`,
			want:   []string{"spec.forProvider.networks[0].ipConfig", "gateway 192.0.2.1", "static address"},
		},
		"GatewayElsewhere": {
			reason: "Nothing reaches a gateway that is in another network.",
			spec:   `{networks: [{name: lan, ipConfig: {address: 192.0.2.10/24, gateway: 192.0.20.1}}]}`,
			want:   []string{"spec.forProvider.networks[0].ipConfig", "gateway 192.0.20.1 is not in the network of address 192.0.2.10/24"},
		},
		"Gateway6Elsewhere": {
			reason: "Nothing reaches a gateway of IPv6 that is in another network.",
			spec:   `{networks: [{name: lan, ipConfig: {address6: "2001:db8::2/64", gateway6: "2001:db8:1::1"}}]}`,
			want:   []string{"spec.forProvider.networks[0].ipConfig", "gateway6 2001:db8:1::1", "2001:db8::2/64"},
		},
		"Gateway6WithSLAAC": {
			reason: "SLAAC brings its own gateway.",
			spec:   `{networks: [{name: lan, ipConfig: {address6: auto, gateway6: "2001:db8::1"}}]}`,
			want:   []string{"spec.forProvider.networks[0].ipConfig", "gateway6 2001:db8::1", "static address6"},
		},
		"AddressWithoutPrefix": {
			reason: "An address has a prefix length.",
			spec:   `{networks: [{name: lan, ipConfig: {address: 192.0.2.10}}]}`,
			want:   []string{"spec.forProvider.networks[0].ipConfig.address", "192.0.2.10", "IPv4 address with prefix length"},
		},
		"AddressWithABadPrefix": {
			reason: "A prefix of IPv4 has 32 bits at most.",
			spec:   `{networks: [{name: lan, ipConfig: {address: 192.0.2.10/33}}]}`,
			want:   []string{"spec.forProvider.networks[0].ipConfig.address", "192.0.2.10/33", "IPv4 address with prefix length"},
		},
		"IPv6AsAddress": {
			reason: "IPv6 addresses have a field of their own.",
			spec:   `{networks: [{name: lan, ipConfig: {address: "2001:db8::10/64"}}]}`,
			want:   []string{"spec.forProvider.networks[0].ipConfig.address", "2001:db8::10/64", "IPv4 address with prefix length"},
		},
		"IPv4AsAddress6": {
			reason: "IPv4 addresses have a field of their own.",
			spec:   `{networks: [{name: lan, ipConfig: {address6: 192.0.2.10/24}}]}`,
			want:   []string{"spec.forProvider.networks[0].ipConfig.address6", "192.0.2.10/24", "IPv6 address with prefix length"},
		},
		"IPv6AsGateway": {
			reason: "An IPv4 gateway has an IPv4 address.",
			spec:   `{networks: [{name: lan, ipConfig: {address: 192.0.2.10/24, gateway: "2001:db8::1"}}]}`,
			want:   []string{"spec.forProvider.networks[0].ipConfig.gateway", "2001:db8::1", "not an IPv4 address"},
		},
		"PoolBesideAddress": {
			reason: "A pool gives the address.",
			spec:   `{networks: [{name: lan, ipConfig: {address: dhcp, poolRef: {apiGroup: example.org, kind: Pool, name: a}}}]}`,
			want:   []string{"spec.forProvider.networks[0].ipConfig", "poolRef excludes address and gateway"},
		},
		"PoolBesideGateway6": {
			reason: "A pool of IPv6 gives the gateway too, as one of IPv4 does.",
			spec:   `{networks: [{name: lan, ipConfig: {gateway6: "", poolRef6: {apiGroup: example.org, kind: Pool, name: a}}}]}`,
			want:   []string{"spec.forProvider.networks[0].ipConfig", "poolRef6 excludes address6 and gateway6"},
		},
		"PoolIncomplete": {
			reason: "A pool is named by group, kind and name.",
			spec:   `{networks: [{name: lan, ipConfig: {poolRef: {apiGroup: example.org, name: a}}}]}`,
			want:   []string{"spec.forProvider.networks[0].ipConfig.poolRef.kind", "Required"},
		},
		"IPConfigEmpty": {
			reason: "An empty configuration configures nothing.",
			spec:   `{networks: [{name: lan, ipConfig: {}}]}`,
			want:   []string{"spec.forProvider.networks[0].ipConfig", "at least 1"},
		},
	}
}

func cloudInitRefusals() map[string]refusal {
	return map[string]refusal{
		"NameserverNotAnAddress": {
			reason: "A resolver cannot be resolved by name.",
			spec:   `{cloudInit: {nameservers: [192.0.2.53, dns.example.com]}}`,
			want:   []string{"spec.forProvider.cloudInit.nameservers", "dns.example.com", "IP address"},
		},
		"KeyNotAKey": {
			reason: "A public key begins with its type.",
			spec:   `{cloudInit: {sshKeys: [not-a-public-key-at-all]}}`,
			want:   []string{"spec.forProvider.cloudInit.sshKeys[0]", `"not-a-public-key-at-all"`, "should match"},
		},
		"TwoKeysInOne": {
			reason: "Every key is an entry of its own.",
			spec:   `{cloudInit: {sshKeys: ["ssh-ed25519 AAAA a\nssh-ed25519 BBBB b"]}}`,
			want:   []string{"spec.forProvider.cloudInit.sshKeys[0]", "should match"},
		},
		"UserWithSpace": {
			reason: "User names have no spaces.",
			spec:   `{cloudInit: {user: first last}}`,
			want:   []string{"spec.forProvider.cloudInit.user", `"first last"`, "should match"},
		},
		"SearchDomainWithSpace": {
			reason: "PVE would take two domains.",
			spec:   `{cloudInit: {searchDomains: ["a.example b.example"]}}`,
			want:   []string{"spec.forProvider.cloudInit.searchDomains[0]", `"a.example b.example"`, "should match"},
		},
		"TwoPasswords": {
			reason: "A user has one password.",
			spec:   `{cloudInit: {generatePassword: true, passwordSecretRef: {namespace: team, name: web, key: password}}}`,
			want:   []string{"spec.forProvider.cloudInit", "cloudInit.generatePassword does not go with passwordSecretRef"},
		},
	}
}

func optionRefusals() map[string]refusal {
	return map[string]refusal{
		"UnknownOSType": {
			reason: "PVE does not know it.",
			spec:   `{osType: beos}`,
			want:   []string{"spec.forProvider.osType", `"beos"`, `"linux", "windows", "solaris", "other"`},
		},
		"BootOrderUnknown": {
			reason: "PVE refuses a boot order with a device that does not exist.",
			spec:   `{disks: [{name: root, size: 20G}], bootOrder: [root, parallel0]}`,
			want:   []string{"spec.forProvider", "bootOrder", "parallel0", "disk, network, cdrom"},
		},
		"BootOrderEmpty": {
			reason: "A VM boots from something.",
			spec:   `{bootOrder: []}`,
			want:   []string{"spec.forProvider.bootOrder", "at least 1"},
		},
		"TagUpperCase": {
			reason: "PVE lowers tags, which would be a difference for ever.",
			spec:   `{tags: [Production]}`,
			want:   []string{"spec.forProvider.tags[0]", `"Production"`, "should match"},
		},
		"TagWithSpace": {
			reason: "A space separates tags in PVE.",
			spec:   `{tags: [my tag]}`,
			want:   []string{"spec.forProvider.tags[0]", `"my tag"`, "should match"},
		},
		"TwoEqualTags": {
			reason: "Tags are a set.",
			spec:   `{tags: [web, web]}`,
			want:   []string{"spec.forProvider.tags[1]", "Duplicate value", `"web"`},
		},
		"DescriptionTooLong": {
			reason: "PVE keeps 8192 characters, some of which the provider may need.",
			spec:   `{description: ` + strings.Repeat("a", 8001) + `}`,
			want:   []string{"spec.forProvider.description", "Too long", "8000"},
		},
		"UnknownBIOS": {
			reason: "PVE has two kinds of firmware.",
			spec:   `{bios: coreboot}`,
			want:   []string{"spec.forProvider.bios", `"coreboot"`, `"seabios", "ovmf"`},
		},
		"UnknownMachineType": {
			reason: "QEMU has no such machine.",
			spec:   `{machineType: x99}`,
			want:   []string{"spec.forProvider.machineType", `"x99"`, "should match"},
		},
		"UnknownSCSIController": {
			reason: "QEMU has no such controller.",
			spec:   `{scsiController: adaptec}`,
			want:   []string{"spec.forProvider.scsiController", `"adaptec"`, `"virtio-scsi-single"`},
		},
		"UnknownHotplug": {
			reason: "PVE has six features.",
			spec:   `{hotplug: [gpu]}`,
			want:   []string{"spec.forProvider.hotplug[0]", `"gpu"`, `"network", "disk", "cpu", "memory", "usb", "cloudinit"`},
		},
		"ExtraConfigName": {
			reason: "Options of PVE have lower-case names.",
			spec:   `{extraConfig: {"Scsi 0": x}}`,
			want:   []string{"spec.forProvider.extraConfig", "names of Proxmox VE's options"},
		},
		"ExtraConfigLines": {
			reason: "A value of a configuration is one line.",
			spec:   `{extraConfig: {args: "a\nb"}}`,
			want:   []string{"spec.forProvider.extraConfig", "one line"},
		},
		"PCIDeviceOfNothing": {
			reason: "A device is from a mapping or of the node.",
			spec:   `{pciDevices: [{name: gpu}]}`,
			want:   []string{"spec.forProvider.pciDevices[0]", "gpu", "either mapping or host"},
		},
		"PCIDeviceOfBoth": {
			reason: "A device is either from a mapping or of the node.",
			spec:   `{pciDevices: [{name: gpu, mapping: gpu, host: "0000:01:00.0"}]}`,
			want:   []string{"spec.forProvider.pciDevices[0]", "gpu", "either mapping or host"},
		},
		"PCIAddress": {
			reason: "PVE writes addresses in lower case.",
			spec:   `{pciDevices: [{name: gpu, host: "0000:0A:00.0"}]}`,
			want:   []string{"spec.forProvider.pciDevices[0].host", `"0000:0A:00.0"`, "should match"},
		},
		"USBDeviceOfNothing": {
			reason: "A device is from a mapping or of the node.",
			spec:   `{usbDevices: [{name: key}]}`,
			want:   []string{"spec.forProvider.usbDevices[0]", "key", "either mapping or host"},
		},
		"AudioWithoutDevice": {
			reason: "A sound device has a model.",
			spec:   `{audio: {driver: none}}`,
			want:   []string{"spec.forProvider.audio", "needs device"},
		},
		"RNGWithoutSource": {
			reason: "Random numbers come from somewhere.",
			spec:   `{rng: {maxBytes: 1}}`,
			want:   []string{"spec.forProvider.rng", "needs source"},
		},
		"StartupOffWithOrder": {
			reason: "What is off has no order.",
			spec:   `{startup: {enabled: false, order: 1}}`,
			want:   []string{"spec.forProvider.startup", "not enabled"},
		},
		"KeysWithoutSpace": {
			reason: "The small variable store has no room for secure boot.",
			spec:   `{efiDisk: {type: 2m, preEnrolledKeys: true}}`,
			want:   []string{"spec.forProvider.efiDisk", "preEnrolledKeys", "4m"},
		},
		"LimitsOfBothSorts": {
			reason: "QEMU takes a total or one limit for each direction.",
			spec:   `{disks: [{name: root, limits: {totalMBps: 1, readBurstMBps: 2}}]}`,
			want:   []string{"spec.forProvider.disks[0].limits", "not both"},
		},
		"VendorOfVirtioDisk": {
			reason: "Only scsi disks have a vendor.",
			spec:   `{disks: [{name: root, type: virtio, vendor: ACME}]}`,
			want:   []string{"spec.forProvider.disks[0]", "vendor", "scsi", "virtio"},
		},
		"ModelOfSCSIDisk": {
			reason: "Only ide disks have a model.",
			spec:   `{disks: [{name: root, device: scsi0, model: Disk}]}`,
			want:   []string{"spec.forProvider.disks[0]", "model", "ide", "scsi0"},
		},
		"OneQueue": {
			reason: "PVE wants two queues at least, where it wants any.",
			spec:   `{disks: [{name: root, queues: 1}]}`,
			want:   []string{"spec.forProvider.disks[0].queues", "0 or 2"},
		},
		"Affinity": {
			reason: "Cores are numbers and ranges.",
			spec:   `{cpu: {affinity: "0;1"}}`,
			want:   []string{"spec.forProvider.cpu.affinity", `"0;1"`, "should match"},
		},
		"Hookscript": {
			reason: "Scripts are snippets of a storage.",
			spec:   `{hookscript: /usr/bin/true}`,
			want:   []string{"spec.forProvider.hookscript", "/usr/bin/true", "should match"},
		},
		"AddressWidth": {
			reason: "Addresses have 32 to 64 bits.",
			spec:   `{machineOptions: {awBits: 31}}`,
			want:   []string{"spec.forProvider.machineOptions.awBits", "31", "0 nor 32 to 64"},
		},
		"SerialPortNotADevice": {
			reason: "A port is a socket or a device of the host.",
			spec:   `{serialPorts: [ttyS0]}`,
			want:   []string{"spec.forProvider.serialPorts[0]", `"ttyS0"`, "should match"},
		},
		"TooManySerialPorts": {
			reason: "A VM has four serial ports at most.",
			spec:   `{serialPorts: [socket, socket, socket, socket, socket]}`,
			want:   []string{"spec.forProvider.serialPorts", "5", "at most 4"},
		},
		"VGAMemoryTooSmall": {
			reason: "A display has 4 MiB at least.",
			spec:   `{vga: {memoryMiB: 3}}`,
			want:   []string{"spec.forProvider.vga.memoryMiB", "3", "neither 0 nor 4 to 512"},
		},
		"StartupOrderNegative": {
			reason: "The order begins with 0.",
			spec:   `{startup: {order: -1}}`,
			want:   []string{"spec.forProvider.startup.order", "-1", "greater than or equal to 0"},
		},
		"StartupEmpty": {
			reason: "An empty order orders nothing.",
			spec:   `{startup: {}}`,
			want:   []string{"spec.forProvider.startup", "at least 1"},
		},
		"UnknownAgentType": {
			reason: "The agent's channel is virtio or isa.",
			spec:   `{agentOptions: {type: usb}}`,
			want:   []string{"spec.forProvider.agentOptions.type", `"usb"`, `"virtio", "isa"`},
		},
	}
}

func lifecycleRefusals() map[string]refusal {
	return map[string]refusal{
		"UnknownPowerState": {
			reason: "A VM is not kept rebooting.",
			spec:   `{powerState: Rebooting}`,
			want:   []string{"spec.forProvider.powerState", `"Rebooting"`, `"Running", "Stopped", "Paused", "Suspended"`},
		},
		"ShutdownTimeoutZero": {
			reason: "A guest needs some time.",
			spec:   `{shutdownTimeoutSeconds: 0}`,
			want:   []string{"spec.forProvider.shutdownTimeoutSeconds", "0", "greater than or equal to 1"},
		},
		"ShutdownTimeoutTooLong": {
			reason: "An hour is the longest.",
			spec:   `{shutdownTimeoutSeconds: 3601}`,
			want:   []string{"spec.forProvider.shutdownTimeoutSeconds", "3601", "less than or equal to 3600"},
		},
		"ManualPower": {
			reason: "Who leaves the power to people wants no power state.",
			spec:   `{runStrategy: Manual, powerState: Running}`,
			want:   []string{"spec.forProvider", "runStrategy Manual and powerState Running disagree"},
		},
		"HaltedPower": {
			reason: "A VM that is halted does not run.",
			spec:   `{runStrategy: Halted, powerState: Running}`,
			want:   []string{"spec.forProvider", "runStrategy Halted and powerState Running disagree"},
		},
		"HAPower": {
			reason: "HA and the power state agree.",
			spec:   `{highAvailability: {state: stopped}, powerState: Running}`,
			want:   []string{"spec.forProvider", "highAvailability.state stopped and powerState Running disagree"},
		},
		"HAPaused": {
			reason: "HA keeps no VM both stopped and paused.",
			spec:   `{highAvailability: {state: stopped}, powerState: Paused}`,
			want:   []string{"spec.forProvider", "highAvailability.state stopped and powerState Paused disagree"},
		},
		"ManualPaused": {
			reason: "Who leaves the power to people has no VM paused.",
			spec:   `{runStrategy: Manual, powerState: Paused}`,
			want:   []string{"spec.forProvider", "runStrategy Manual and powerState Paused disagree"},
		},
		"HASuspended": {
			reason: "PVE does not suspend what HA manages.",
			spec:   `{highAvailability: {}, powerState: Suspended}`,
			want:   []string{"spec.forProvider", "cannot be suspended to disk"},
		},
		"HAOff": {
			reason: "Who takes a VM out of HA tells HA nothing else.",
			spec:   `{highAvailability: {enabled: false, maxRestart: 2}}`,
			want:   []string{"spec.forProvider.highAvailability", "leave the other fields out"},
		},
		"HARulesAndGroup": {
			reason: "A group cannot be the user's and the provider's.",
			spec:   `{highAvailability: {group: g, rules: Placement}}`,
			want:   []string{"spec.forProvider.highAvailability", "rules Placement chooses the group: leave group out"},
		},
		"HARulesUnknown": {
			reason: "Rules are kept or not.",
			spec:   `{highAvailability: {rules: Some}}`,
			want:   []string{"spec.forProvider.highAvailability.rules", "Some", "None", "Placement"},
		},
		"HARulesWithoutHA": {
			reason: "HA keeps rules for what it manages only.",
			spec:   `{highAvailability: {enabled: false, rules: Placement}}`,
			want:   []string{"spec.forProvider.highAvailability", "leave the other fields out"},
		},
		"HARestarts": {
			reason: "HA tries a few times.",
			spec:   `{highAvailability: {maxRestart: 11}}`,
			want:   []string{"spec.forProvider.highAvailability.maxRestart", "11", "less than or equal to 10"},
		},
		"UnknownAction": {
			reason: "Actions are those of PVE.",
			spec:   `{powerAction: {action: Explode, token: a}}`,
			want:   []string{"spec.forProvider.powerAction.action", `"Explode"`, `"Reboot", "Reset", "Shutdown", "Stop", "Start"`},
		},
		"RollbackToken": {
			reason: "Nobody knows without a token whether a rollback was done.",
			spec:   `{rollback: {snapshot: s1, token: ""}}`,
			want:   []string{"spec.forProvider.rollback.token", "at least 1 chars long"},
		},
		"RollbackCurrent": {
			reason: "The present state is no snapshot.",
			spec:   `{rollback: {snapshot: current, token: a}}`,
			want:   []string{"spec.forProvider.rollback.snapshot", "current is what the VM is now"},
		},
		"RecreationToken": {
			reason: "A request without a token could not be told from another.",
			spec:   `{recreation: {lostNode: pve1, token: ""}}`,
			want:   []string{"spec.forProvider.recreation.token", "at least 1 chars long"},
		},
		"RecreationNode": {
			reason: "Which node was lost is said, and not guessed.",
			spec:   `{recreation: {token: a}}`,
			want:   []string{"spec.forProvider.recreation.lostNode", "Required"},
		},
		"RecreationVMID": {
			reason: "What is created again gets another VMID.",
			spec:   `{vmid: 100, recreation: {lostNode: pve1, token: a}}`,
			want:   []string{"spec.forProvider", "vmid must be left out"},
		},
		"RestoreInPlaceToken": {
			reason: "Nobody knows without a token whether a restore was done.",
			spec:   `{restoreInPlace: {backupRef: {name: nightly}, token: ""}}`,
			want:   []string{"spec.forProvider.restoreInPlace.token", "at least 1 chars long"},
		},
		"RestoreInPlaceOfTwo": {
			reason: "A VM is put back to one backup.",
			spec:   `{restoreInPlace: {token: a, backupRef: {name: nightly}, volume: "nas:backup/vzdump-qemu-100-2026_11_22-17_00_00.vma.zst"}}`,
			want:   []string{"spec.forProvider.restoreInPlace", "one of backupRef and volume"},
		},
		"RestoreInPlaceOfNone": {
			reason: "A VM is put back to a backup that is named.",
			spec:   `{restoreInPlace: {token: a}}`,
			want:   []string{"spec.forProvider.restoreInPlace", "one of backupRef and volume"},
		},
		"RestoreInPlaceSafety": {
			reason: "A safety backup goes somewhere.",
			spec:   `{restoreInPlace: {token: a, backupRef: {name: nightly}, safetyBackup: {storage: "-"}}}`,
			want:   []string{"spec.forProvider.restoreInPlace.safetyBackup.storage"},
		},
		"RestoreInPlaceUnsafe": {
			reason: "A safety backup that goes nowhere is none.",
			spec:   `{restoreInPlace: {token: a, backupRef: {name: nightly}, safetyBackup: {}}}`,
			want:   []string{"spec.forProvider.restoreInPlace.safetyBackup", "set one of storage and storageRef"},
		},
		"NoToken": {
			reason: "Without a token nobody knows what was done.",
			spec:   `{powerAction: {action: Reset, token: ""}}`,
			want:   []string{"spec.forProvider.powerAction.token", "at least 1 chars long"},
		},
		"WindowFields": {
			reason: "A schedule has five fields.",
			spec:   `{maintenanceWindow: {schedule: "0 2 * * * *", durationMinutes: 60}}`,
			want:   []string{"spec.forProvider.maintenanceWindow.schedule", "0 2 * * * *"},
		},
		"RestartTimeout": {
			reason: "A guest has some time to restart.",
			spec:   `{restartTimeoutSeconds: 0}`,
			want:   []string{"spec.forProvider.restartTimeoutSeconds", "greater than or equal to 1"},
		},
		"WindowZone": {
			reason: "A time zone has a name that is known.",
			spec:   `{maintenanceWindow: {schedule: "0 2 * * *", durationMinutes: 60, timeZone: Europe/Olso}}`,
			want:   []string{"spec.forProvider.maintenanceWindow.timeZone"},
		},
		"WindowZoneLocal": {
			reason: "Local means the zone of the provider's own machine, and names none.",
			spec:   `{maintenanceWindow: {schedule: "0 2 * * *", durationMinutes: 60, timeZone: Local}}`,
			want:   []string{"spec.forProvider.maintenanceWindow.timeZone", "unknown time zone"},
		},
		"WindowOffset": {
			reason: "An offset is no time zone, since it has no summer time.",
			spec:   `{maintenanceWindow: {schedule: "0 2 * * *", durationMinutes: 60, timeZone: "+02:00"}}`,
			want:   []string{"spec.forProvider.maintenanceWindow.timeZone", "should match"},
		},
		"WindowTooLong": {
			reason: "A window lasts a day at most.",
			spec:   `{maintenanceWindow: {schedule: "0 2 * * *", durationMinutes: 1441}}`,
			want:   []string{"spec.forProvider.maintenanceWindow.durationMinutes", "1441", "less than or equal to 1440"},
		},
		"RemovalPolicy": {
			reason: "There are three policies.",
			spec:   `{disks: [{name: a, size: 1G, removalPolicy: Shred}]}`,
			want:   []string{"spec.forProvider.disks[0].removalPolicy", `"Shred"`, `"Detach", "Retain", "Destroy"`},
		},
		"VolumePath": {
			reason: "A volume is on a storage.",
			spec:   `{disks: [{name: a, volume: /dev/sda}]}`,
			want:   []string{"spec.forProvider.disks[0].volume", "/dev/sda"},
		},
		"PoolTooDeep": {
			reason: "Pools are three levels deep.",
			spec:   `{pool: a/b/c/d}`,
			want:   []string{"spec.forProvider.pool", "a/b/c/d"},
		},
		"UnknownRestartPolicy": {
			reason: "There are two policies.",
			spec:   `{restartPolicy: Always}`,
			want:   []string{"spec.forProvider.restartPolicy", `"Always"`, `"Never", "WhenRequired"`},
		},
	}
}
