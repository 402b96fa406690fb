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
	stdcmp "cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu/bootorder"
)

//nolint:gochecknoglobals // A constant.
var lifetimeDefaults = Defaults{Storage: "local-lvm", Bridge: "vmbr0"}

// A lifetime is a VM with the record of its devices, through edits of its spec.
type lifetime struct {
	t          *testing.T
	devices    Devices
	config     Config
	generation int64
	desired    Desired

	// sizes of volumes, and the number of created ones.
	sizes map[string]string
	made  int

	// filled are the volumes that were filled from the image.
	filled []string
}

// edit changes the VM to another spec. It returns an error if the spec is rejected.
func (l *lifetime) edit(p v1alpha1.MachineParameters) error {
	l.t.Helper()
	l.generation++
	s := State{Config: l.config, Active: l.config}
	devices, err := l.devices.On(s, &p, lifetimeDefaults, l.generation)
	if err != nil {
		return err
	}
	l.desired = Desired{
		MachineParameters: Refilled(&p, devices, "", l.config), Identity: Identity{VMID: 100, UUID: ourUUID}, Defaults: lifetimeDefaults, Devices: devices,
	}
	if no := l.desired.Rejections(l.config); len(no) > 0 {
		return rejected(strings.Join(no, "; "))
	}
	gone := devices.Destroyed(&p, l.config)
	l.config = l.stored(l.desired.Difference(l.config))
	for _, device := range gone {
		remove(l.config, device)
	}
	if devices, err = devices.On(State{Config: l.config, Active: l.config}, &p, lifetimeDefaults, l.generation); err != nil {
		return err
	}
	if l.devices, err = ParseDevices(devices.String()); err != nil {
		l.t.Fatal(err)
	}
	return nil
}

// remove removes a device, which PVE also removes from the boot order.
func remove(config Config, device string) {
	delete(config, device)
	order := bootorder.Devices(config["boot"])
	if i := slices.Index(order, device); i >= 0 {
		config["boot"] = " "
		if order = slices.Delete(order, i, i+1); len(order) > 0 {
			config["boot"] = bootorder.Of(order)
		}
	}
}

// detach detaches a device. PVE keeps its volume as an unused disk.
func (l *lifetime) detach(config Config, device string) {
	if volume := config.Volume(device); volume != "" && !config.takesMedia(device) {
		config[l.unused(config)] = volume
	}
	remove(config, device)
}

type rejected string

func (r rejected) Error() string { return string(r) }

// stored returns the configuration that PVE stores for a change: with volumes of new disks, MAC addresses, and unused disks of detached ones.
func (l *lifetime) stored(change Difference) Config {
	after := maps.Clone(l.config)
	if l.sizes == nil {
		l.sizes = map[string]string{}
	}
	for _, device := range after.Drives() {
		if k, err := proxmox.ParseDisk(after[device]); err == nil {
			l.sizes[k.Volume] = k.Options.Get("size")
		}
	}
	for _, option := range change.Delete {
		l.detach(after, option)
	}
	for _, option := range slices.Sorted(maps.Keys(change.Set)) {
		value := change.Set[option]
		if nic, err := proxmox.ParseNIC(value); BusOf(option) == "net" && err == nil {
			nic.MAC = stdcmp.Or(nic.MAC, fmt.Sprintf("BC:24:11:99:00:%02X", deviceNumber(option)))
			value = nic.String()
		}
		if disk, err := proxmox.ParseDisk(value); BusOf(option) != "net" && BusOf(option) != "" && err == nil && !disk.CDROM() {
			value = l.allocated(after, disk)
		}
		after[option] = value
	}
	return after
}

func (l *lifetime) unused(config Config) string {
	for i := range 9 {
		if option := fmt.Sprintf("unused%d", i); config[option] == "" {
			return option
		}
	}
	l.t.Fatal("too many unused disks")
	return ""
}

// allocated returns a disk with its volume, which is created if the disk has only a size.
func (l *lifetime) allocated(config Config, disk proxmox.Disk) string {
	if _, gib, _ := strings.Cut(disk.Volume, ":"); !strings.HasPrefix(gib, "vm-") {
		disk.Volume = fmt.Sprintf("local-lvm:vm-100-disk-%d", l.made)
		l.sizes[disk.Volume] = gib + "G"
		l.made++
		if disk.Options.Get("import-from") != "" {
			l.filled = append(l.filled, disk.Volume)
			disk.Options.Delete("import-from")
		}
	}
	disk.Options.Set("size", l.sizes[disk.Volume])
	maps.DeleteFunc(config, func(option, value string) bool { return strings.HasPrefix(option, "unused") && value == disk.Volume })
	return disk.String()
}

// shown returns the volumes of the disks that the spec lists, and the MAC addresses of its networks.
func (l *lifetime) shown() map[string]string {
	found := map[string]string{}
	for _, k := range l.desired.Disks {
		device := l.devices.Disks[k.Name]
		found[k.Name] = device + " " + l.config.Volume(device)
	}
	for _, n := range l.desired.Networks {
		device := l.devices.Networks[n.Name]
		found[n.Name] = device + " " + l.config.mac(device)
	}
	return found
}

// ops returns the disks that are to be resized or moved.
func (l *lifetime) ops() []string {
	var all []string
	l.desired.Devices = l.devices
	for _, v := range l.desired.Moves(l.config) {
		all = append(all, v.Name+" to "+v.To())
	}
	for _, r := range l.desired.Resizes(l.config) {
		all = append(all, r.Name+" "+r.From.String()+" to "+r.To.String())
	}
	return all
}

// cloneConfig returns a VM that is a clone of a template with two disks and two networks.
func cloneConfig() Config {
	return Config{
		"smbios1": "uuid=" + ourUUID,
		"scsi0":   "local-lvm:vm-100-disk-0,discard=on,size=8G",
		"scsi1":   "local-lvm:vm-100-disk-1,size=2G",
		"ide2":    "local:iso/tools.iso,media=cdrom",
		"net0":    "e1000=BC:24:11:00:00:01,bridge=vmbr1,firewall=1",
		"net1":    "virtio=BC:24:11:00:00:02,bridge=vmbr0",
		"boot":    "order=scsi0;net0",
	}
}

type spec = v1alpha1.MachineParameters

func disksOf(all ...v1alpha1.MachineDisk) spec {
	return spec{Disks: append([]v1alpha1.MachineDisk{}, all...)}
}

func networksOf(all ...v1alpha1.MachineNetwork) spec {
	return spec{Networks: append([]v1alpha1.MachineNetwork{}, all...)}
}

// sized returns a disk with the fields that a new one needs.
func sized(name, size string) v1alpha1.MachineDisk {
	return v1alpha1.MachineDisk{Name: name, Size: &size}
}

func leaving(k v1alpha1.MachineDisk, policy string) v1alpha1.MachineDisk {
	k.RemovalPolicy = &policy
	return k
}

func withVolume(k v1alpha1.MachineDisk, volume string) v1alpha1.MachineDisk {
	k.Volume = &volume
	return k
}

// TestPathIndependence checks specs that are reached by edits. Each declared entry must be as on a new VM of the last spec, except for existing data.
func TestPathIndependence(t *testing.T) {
	type m = map[string]string
	root, data := "scsi0 local-lvm:vm-100-disk-0", "scsi1 local-lvm:vm-100-disk-1"
	cases := map[string]struct {
		reason string
		vm     Config // A clone by default.
		edits  []spec
		want   m
		config m        // Options of the VM at the end.
		filled []string // Volumes that the image has filled.
		ops    []string // What is to be done to disks at the end.
		err    string
	}{
		"Absent": {
			reason: "Lists that are left out change nothing.",
			edits:  []spec{disksOf(disk("root"), disk("data"), sized("more", "1G")), {}},
			config: m{"scsi0": "local-lvm:vm-100-disk-0,discard=on,size=8G", "scsi2": "local-lvm:vm-100-disk-2,size=1G"},
		},
		"AbsentNetworks": {
			reason: "No interface goes with its list.",
			edits:  []spec{networksOf(network("lan"), network("dmz"), network("more")), {}},
			config: m{"net0": "e1000=BC:24:11:00:00:01,bridge=vmbr1,firewall=1", "net2": "virtio=BC:24:11:99:00:02,bridge=vmbr0"},
		},
		"AbsentThenBack": {
			reason: "Entries of a list that comes back are what they were.",
			edits:  []spec{disksOf(disk("root"), disk("data"), sized("more", "1G")), {}, disksOf(sized("more", "1G"), disk("root"))},
			want:   m{"root": root, "more": "scsi2 local-lvm:vm-100-disk-2"},
		},
		"Empty": {
			reason: "An empty list takes off what was made for it, and nothing else.",
			edits:  []spec{disksOf(disk("root"), disk("data"), sized("more", "1G")), disksOf()},
			config: m{
				"scsi0": "local-lvm:vm-100-disk-0,discard=on,size=8G", "scsi1": "local-lvm:vm-100-disk-1,size=2G", "scsi2": "",
				"unused0": "local-lvm:vm-100-disk-2",
			},
		},
		"EmptyNetworks": {
			reason: "An empty list takes off networks that were made for it, and no others.",
			edits:  []spec{networksOf(network("lan"), network("dmz"), network("more")), networksOf()},
			config: m{"net0": "e1000=BC:24:11:00:00:01,bridge=vmbr1,firewall=1", "net1": "virtio=BC:24:11:00:00:02,bridge=vmbr0", "net2": ""},
		},
		"BootDiskMade": {
			reason: "A disk that the VM boots from stays although it was made for the list.",
			vm:     Config{},
			edits:  []spec{disksOf(sized("root", "8G"), sized("data", "1G")), disksOf()},
			config: m{"scsi0": "local-lvm:vm-100-disk-0,size=8G", "scsi1": ""},
		},
		"BootDiskDetached": {
			reason: "Unless its entry has said so.",
			vm:     Config{},
			edits:  []spec{disksOf(leaving(sized("root", "8G"), "Detach")), disksOf()},
			config: m{"scsi0": "", "unused0": "local-lvm:vm-100-disk-0"},
		},
		"BootDiskDestroyed": {
			reason: "The boot disk is destroyed if its entry has said so.",
			edits:  []spec{disksOf(leaving(disk("root"), "Destroy")), disksOf()},
			config: m{"scsi0": "", "unused0": ""},
		},
		"PutBack": {
			reason: "A disk that is put back has its data.",
			edits: []spec{
				disksOf(disk("root"), disk("data"), sized("more", "1G")), disksOf(disk("root"), disk("data")),
				disksOf(disk("root"), disk("data"), sized("more", "1G")),
			},
			want:   m{"root": root, "data": data, "more": "scsi2 local-lvm:vm-100-disk-2"},
			config: m{"unused0": ""},
		},
		"PutBackSource": {
			reason: "A disk of the source that is put back has the options that it came with.",
			edits:  []spec{disksOf(leaving(disk("root"), "Detach")), disksOf(), disksOf(disk("root"))},
			want:   m{"root": root},
			config: m{"scsi0": "local-lvm:vm-100-disk-0,discard=on,size=8G"},
		},
		"PutBackOtherBus": {
			reason: "A disk that is put back is attached where the spec asks for it.",
			edits: []spec{
				disksOf(disk("root"), disk("data"), sized("more", "1G")), disksOf(disk("root"), disk("data")),
				disksOf(disk("root"), disk("data"), v1alpha1.MachineDisk{Name: "more", Type: new("sata"), Size: new("1G")}),
			},
			want: m{"root": root, "data": data, "more": "sata0 local-lvm:vm-100-disk-2"},
		},
		"PutBackSmaller": {
			reason: "A size that is too small for its data is named with the remedy.",
			edits: []spec{
				disksOf(disk("root"), disk("data"), sized("more", "4G")), disksOf(disk("root"), disk("data")),
				disksOf(disk("root"), disk("data"), sized("more", "1G")),
			},
			err: `disk "more" comes back with its volume local-lvm:vm-100-disk-2 (unused0), which cannot shrink from 4G to 1G`,
		},
		"PutBackLarger": {
			reason: "A larger size is for its data to grow to.",
			edits: []spec{
				disksOf(disk("root"), disk("data"), sized("more", "1G")), disksOf(disk("root"), disk("data")),
				disksOf(disk("root"), disk("data"), sized("more", "4G")),
			},
			want: m{"root": root, "data": data, "more": "scsi2 local-lvm:vm-100-disk-2"},
			ops:  []string{"more 1G to 4G"},
		},
		"PutBackOtherStorage": {
			reason: "Another storage is for it to move to.",
			edits: []spec{
				disksOf(disk("root"), disk("data"), sized("more", "1G")), disksOf(disk("root"), disk("data")),
				disksOf(disk("root"), disk("data"), v1alpha1.MachineDisk{Name: "more", Storage: new("ceph"), Size: new("1G")}),
			},
			want: m{"root": root, "data": data, "more": "scsi2 local-lvm:vm-100-disk-2"},
			ops:  []string{"more to ceph"},
		},
		"PutBackBlank": {
			reason: "An empty volume asks for a new disk under an old name.",
			edits: []spec{
				disksOf(disk("root"), disk("data"), sized("more", "4G")), disksOf(disk("root"), disk("data")), disksOf(
					disk("root"), disk("data"), withVolume(sized("more", "1G"), ""),
				),
			},
			want:   m{"root": root, "data": data, "more": "scsi2 local-lvm:vm-100-disk-3"},
			config: m{"unused0": "local-lvm:vm-100-disk-2"},
		},
		"PutBackTaken": {
			reason: "A volume that another entry has got is no longer its own.",
			edits: []spec{
				disksOf(disk("root"), disk("data"), sized("more", "1G")), disksOf(disk("root"), disk("data")),
				disksOf(disk("root"), disk("data"), withVolume(disk("other"), "local-lvm:vm-100-disk-2")),
				disksOf(disk("root"), disk("data"), withVolume(disk("other"), "local-lvm:vm-100-disk-2"), sized("more", "1G")),
			},
			want: m{"root": root, "data": data, "other": "scsi2 local-lvm:vm-100-disk-2", "more": "scsi3 local-lvm:vm-100-disk-3"},
		},
		"Rename": {
			reason: "An entry of a new name with the device of one that has left is that one.",
			vm:     Config{},
			edits:  []spec{disksOf(sized("root", "8G"), sized("data", "1G")), disksOf(sized("root", "8G"), diskOn("files", "scsi1"))},
			want:   m{"root": root, "files": data},
		},
		"RenameExchanged": {
			reason: "Two names that are exchanged at once can be read in two ways.",
			edits:  []spec{disksOf(disk("root"), disk("data")), disksOf(diskOn("root", "scsi1"), diskOn("data", "scsi0"))},
			err: `disk "root" is device scsi0: it cannot become scsi1, which is "data": to exchange the names of both, ` +
				`give "root" a third name first, then "data" its name, then the third the name "data"`,
		},
		"RenameByThird": {
			reason: "Two disks keep their data if their names are exchanged by a third.",
			edits: []spec{
				disksOf(disk("root"), disk("data")), disksOf(diskOn("third", "scsi0"), diskOn("data", "scsi1")),
				disksOf(diskOn("third", "scsi0"), diskOn("root", "scsi1")), disksOf(diskOn("data", "scsi0"), diskOn("root", "scsi1")),
			},
			want: m{"data": root, "root": data},
		},
		"RenameLater": {
			reason: "A disk keeps its data under another name some edits later.",
			vm:     Config{},
			edits:  []spec{disksOf(sized("root", "8G"), sized("data", "1G")), disksOf(sized("root", "8G")), disksOf(sized("root", "8G"), diskOn("files", "scsi1"))},
			want:   m{"root": root, "files": data},
		},
		"RenameDestroyed": {
			reason: "A disk that gets another name is not destroyed.",
			vm:     Config{},
			edits:  []spec{disksOf(sized("root", "8G"), leaving(sized("data", "1G"), "Destroy")), disksOf(sized("root", "8G"), diskOn("files", "scsi1"))},
			want:   m{"root": root, "files": data},
		},
		"RenameBoot": {
			reason: "The boot disk may get another name.",
			edits:  []spec{disksOf(disk("root")), disksOf(diskOn("system", "scsi0"))},
			want:   m{"system": root},
		},
		"RenameSource": {
			reason: "A disk of the source gets another name without a device, as a new VM would mean it so.",
			edits:  []spec{disksOf(disk("root")), disksOf(disk("system"))},
			want:   m{"system": root},
		},
		"RenameNetwork": {
			reason: "A network keeps its MAC address.",
			edits:  []spec{networksOf(network("lan"), network("dmz"), network("x")), networksOf(network("lan"), network("dmz"), networkOn("y", "net2"))},
			want:   m{"lan": "net0 BC:24:11:00:00:01", "dmz": "net1 BC:24:11:00:00:02", "y": "net2 BC:24:11:99:00:02"},
		},
		"NetworkBack": {
			reason: "A network that is put back has its MAC address again.",
			edits: []spec{
				networksOf(network("lan"), network("dmz"), network("x")), networksOf(network("lan"), network("dmz")),
				networksOf(network("lan"), network("dmz"), network("x")),
			},
			want: m{"lan": "net0 BC:24:11:00:00:01", "dmz": "net1 BC:24:11:00:00:02", "x": "net2 BC:24:11:99:00:02"},
		},
		"NetworkBackOtherMAC": {
			reason: "Unless it asks for another one.",
			edits: []spec{
				networksOf(network("lan"), network("dmz"), network("x")), networksOf(network("lan"), network("dmz")),
				networksOf(network("lan"), network("dmz"), v1alpha1.MachineNetwork{Name: "x", MACAddress: new("BC:24:11:AA:00:01")}),
			},
			want: m{"lan": "net0 BC:24:11:00:00:01", "dmz": "net1 BC:24:11:00:00:02", "x": "net2 BC:24:11:AA:00:01"},
		},
		"NetworkSourceBack": {
			reason: "One of the source comes back as it was.",
			edits:  []spec{networksOf(goingNIC("lan")), networksOf(), networksOf(network("lan"))},
			want:   m{"lan": "net0 BC:24:11:00:00:01"},
			config: m{"net0": "e1000=BC:24:11:00:00:01,bridge=vmbr1,firewall=1"},
		},
		"Later": {
			reason: "Entries that are added later are the devices that the VM came with, as on a new one.",
			edits:  []spec{{}, {Disks: []v1alpha1.MachineDisk{sized("root", "30G")}, Networks: []v1alpha1.MachineNetwork{{Name: "lan", VLAN: new(int32(20))}}}},
			want:   m{"root": root, "lan": "net0 BC:24:11:00:00:01"},
			config: m{"net0": "e1000=BC:24:11:00:00:01,bridge=vmbr1,firewall=1,tag=20"},
		},
		"LaterSecond": {
			reason: "The second entry is the second disk.",
			edits:  []spec{disksOf(disk("root")), disksOf(disk("root"), disk("data"))},
			want:   m{"root": root, "data": data},
		},
		"LaterNew": {
			reason: "A disk that somebody has attached since is none of them.",
			vm:     Config{"scsi0": "local-lvm:vm-100-disk-0,size=8G"},
			edits:  []spec{{}, disksOf(disk("root"), sized("more", "1G"))},
			want:   m{"root": root, "more": "scsi2 local-lvm:vm-100-disk-2"},
		},
		"TwoWaysInFront": {
			reason: "An entry in front of that with the source's disk would mean this disk in a new VM.",
			edits:  []spec{disksOf(disk("root"), disk("data")), disksOf(sized("more", "9G"), disk("root"), disk("data"))},
			err:    `disk "more" can be read in two ways: as scsi0, with which the VM came and which is disk "root" here, or as a new disk; set its device`,
		},
		"InFrontByDevice": {
			reason: "An entry in front that names its device can be read in one way.",
			edits: []spec{
				disksOf(disk("root"), disk("data")),
				disksOf(v1alpha1.MachineDisk{Name: "more", Device: new("scsi2"), Size: new("1G")}, disk("root"), disk("data")),
			},
			want: m{"root": root, "data": data, "more": "scsi2 local-lvm:vm-100-disk-2"},
		},
		"TwoWaysDestroyed": {
			reason: "What is to go may not be what is to come.",
			edits:  []spec{disksOf(leaving(disk("root"), "Destroy")), disksOf(sized("system", "9G"))},
			err:    `disk "system" can be read in two ways: as scsi0, with which the VM came and which the removalPolicy of disk "root" takes away, or as a new disk`,
		},
		"TwoWaysDetached": {
			reason: "What has been detached may not be what is to come.",
			edits:  []spec{disksOf(leaving(disk("root"), "Detach")), disksOf(), disksOf(sized("system", "9G"))},
			err:    `disk "system" can be read in two ways: as local-lvm:vm-100-disk-0 at unused0, with which the VM came as scsi0, or as a new disk`,
		},
		"DetachedByVolume": {
			reason: "The volume says which it is.",
			edits:  []spec{disksOf(leaving(disk("root"), "Detach")), disksOf(), disksOf(withVolume(sized("system", "9G"), "local-lvm:vm-100-disk-0"))},
			want:   m{"system": "scsi0 local-lvm:vm-100-disk-0"},
		},
		"DetachedNew": {
			reason: "An empty volume says that the disk is a new one.",
			edits:  []spec{disksOf(leaving(disk("root"), "Detach")), disksOf(), disksOf(withVolume(sized("system", "9G"), ""))},
			want:   m{"system": "scsi0 local-lvm:vm-100-disk-2"},
		},
		"TwoWaysKept": {
			reason: "An old name with another one's device has two volumes.",
			vm:     Config{},
			edits: []spec{
				disksOf(sized("root", "8G"), sized("data", "1G"), sized("more", "1G")), disksOf(sized("root", "8G"), sized("data", "1G")),
				disksOf(sized("root", "8G"), diskOn("more", "scsi1")),
			},
			err: `disk "more" can be read in two ways: as the volume local-lvm:vm-100-disk-2 that it had, at unused0, or as the volume local-lvm:vm-100-disk-1 at scsi1`,
		},
		"ImageLater": {
			reason: "An entry that is added behind that which the image has filled is an empty disk.",
			vm:     Config{},
			edits:  []spec{imageOf("", sized("root", "8G")), imageOf("", sized("root", "8G"), sized("data", "1G"))},
			want:   m{"root": root, "data": data},
			filled: []string{"local-lvm:vm-100-disk-0"},
		},
		"ImageInFront": {
			reason: "An entry in front of that with the image would have the image in a new VM.",
			vm:     Config{},
			edits:  []spec{imageOf("", sized("root", "8G")), imageOf("", sized("data", "1G"), sized("root", "8G"))},
			err: `disk "data" can be read in two ways: as scsi0, which the image has filled and which is disk "root" here, or as a new disk; ` +
				`set its volume to "" for a new one, or list the entry of the other before it`,
		},
		"ImageInFrontByDevice": {
			reason: "The device of an entry does not tell which disk it is: a new VM would have the image there.",
			vm:     Config{},
			edits:  []spec{imageOf("", sized("root", "8G")), imageOf("", sizedOn("data", "scsi5"), sized("root", "8G"))},
			err:    `disk "data" can be read in two ways: as scsi0, which the image has filled, or as a new disk at scsi5; set its device to scsi0, or its volume to ""`,
		},
		"ImageInFrontNew": {
			reason: "An empty volume does.",
			vm:     Config{},
			edits:  []spec{imageOf("", sized("root", "8G")), imageOf("", withVolume(sized("data", "1G"), ""), sized("root", "8G"))},
			want:   m{"root": root, "data": data},
			filled: []string{"local-lvm:vm-100-disk-0"},
		},
		"ImageNamed": {
			reason: "An image that names its disk fills no other one.",
			vm:     Config{},
			edits:  []spec{imageOf("root", sized("root", "8G")), imageOf("root", sized("data", "1G"), sized("root", "8G"))},
			want:   m{"root": root, "data": data},
			filled: []string{"local-lvm:vm-100-disk-0"},
		},
		"ImageNamedGone": {
			reason: "No other disk is what the image has filled when the one that it names has left the list.",
			vm:     Config{},
			edits:  []spec{imageOf("root", sized("root", "8G")), imageOf("root", sized("data", "1G"))},
			want:   m{"data": data},
			filled: []string{"local-lvm:vm-100-disk-0"},
		},
		"ImageRenamed": {
			reason: "An entry in its place is the disk that it has filled, as on a new VM.",
			vm:     Config{},
			edits:  []spec{imageOf("", sized("root", "8G")), imageOf("", sized("data", "8G"))},
			want:   m{"data": root},
			filled: []string{"local-lvm:vm-100-disk-0"},
		},
		"ImageRenamedLater": {
			reason: "An entry in place of the disk that the image has filled is that disk, even when the list was left empty in between.",
			vm:     Config{},
			edits:  []spec{imageOf("", sized("root", "8G"), sized("more", "1G")), imageOf(""), imageOf("", sized("system", "8G"))},
			want:   m{"system": root},
			filled: []string{"local-lvm:vm-100-disk-0"},
		},
		"ImageOtherType": {
			reason: "On another bus it cannot be that.",
			vm:     Config{},
			edits:  []spec{imageOf("", sized("root", "8G")), imageOf("", v1alpha1.MachineDisk{Name: "data", Type: new("virtio"), Size: new("8G")})},
			err:    `disk "data" can be read in two ways: as scsi0, which the image has filled, or as a new disk of type virtio`,
		},
		"ImageReordered": {
			reason: "The order of entries that have their disks is of no meaning.",
			vm:     Config{},
			edits:  []spec{imageOf("", sized("root", "8G"), sized("data", "1G")), imageOf("", sized("data", "1G"), sized("root", "8G"))},
			want:   m{"root": root, "data": data},
			filled: []string{"local-lvm:vm-100-disk-0"},
		},
		"ImageDetached": {
			reason: "What was filled may be what comes.",
			vm:     Config{},
			edits:  []spec{imageOf("", leaving(sized("root", "8G"), "Detach")), imageOf("", []v1alpha1.MachineDisk{}...), imageOf("", sized("system", "8G"))},
			err:    `disk "system" can be read in two ways: as local-lvm:vm-100-disk-0 at unused0, which the image has filled as scsi0, or as a new disk`,
		},
		"ImageDestroyed": {
			reason: "What is gone is filled again, as on a new VM.",
			vm:     Config{},
			edits: []spec{
				imageOf("", leaving(sized("root", "8G"), "Destroy")), imageOf("", []v1alpha1.MachineDisk{}...),
				imageOf("", sized("system", "8G")), imageOf("", sized("system", "8G"), sized("more", "1G")),
			},
			want:   m{"system": "scsi0 local-lvm:vm-100-disk-1", "more": "scsi1 local-lvm:vm-100-disk-2"},
			filled: []string{"local-lvm:vm-100-disk-0", "local-lvm:vm-100-disk-1"},
		},
		"ImageElsewhere": {
			reason: "Where it was attached again it is still what the image has filled.",
			vm:     Config{},
			edits: []spec{
				imageOf("", leaving(sized("root", "8G"), "Detach")), imageOf("", []v1alpha1.MachineDisk{}...),
				imageOf("", v1alpha1.MachineDisk{Name: "root", Type: new("sata"), Size: new("8G")}),
				imageOf("", sized("data", "1G"), v1alpha1.MachineDisk{Name: "root", Type: new("sata"), Size: new("8G")}),
			},
			err: `disk "data" can be read in two ways: as sata0, which the image has filled and which is disk "root" here, or as a new disk`,
		},
		"SourceElsewhere": {
			reason: "A disk of the source that was attached again elsewhere is still that of the source.",
			edits: []spec{
				disksOf(leaving(disk("root"), "Detach"), disk("data")), disksOf(disk("data")),
				disksOf(disk("data"), v1alpha1.MachineDisk{Name: "root", Type: new("sata")}),
				disksOf(sized("more", "1G"), disk("data"), v1alpha1.MachineDisk{Name: "root", Type: new("sata")}),
			},
			err: `disk "more" can be read in two ways: as sata0, with which the VM came and which is disk "root" here, or as a new disk`,
		},
		"Drive": {
			reason: "A drive of the source stays, one that was made goes.",
			edits:  []spec{{CDROMs: []v1alpha1.MachineCDROM{{Name: "a"}, {Name: "b"}}}, {CDROMs: []v1alpha1.MachineCDROM{}}},
			config: m{"ide2": "local:iso/tools.iso,media=cdrom", "ide0": ""},
		},
		"DriveBehind": {
			reason: "Behind it, it is a new one.",
			edits:  []spec{{CDROMs: []v1alpha1.MachineCDROM{{Name: "old"}}}, {CDROMs: []v1alpha1.MachineCDROM{{Name: "old"}, {Name: "new"}}}},
			config: m{"ide2": "local:iso/tools.iso,media=cdrom", "ide0": "none,media=cdrom"},
		},
		"DriveInFront": {
			reason: "A drive in front of another that asks for no medium could be that one, or a new one.",
			edits:  []spec{{CDROMs: []v1alpha1.MachineCDROM{{Name: "old"}}}, {CDROMs: []v1alpha1.MachineCDROM{{Name: "new"}, {Name: "old"}}}},
			err: `CD-ROM drive "new" can be read in two ways: as ide2, with which the VM came and which is CD-ROM drive "old" here, ` +
				`or as a new drive; set its device, or list it after that`,
		},
		"DriveInFrontByDevice": {
			reason: "The device of a drive says which one it is.",
			edits: []spec{
				{CDROMs: []v1alpha1.MachineCDROM{{Name: "old"}}}, {CDROMs: []v1alpha1.MachineCDROM{{Name: "new", Device: new("ide0")}, {Name: "old"}}},
			},
			config: m{"ide2": "local:iso/tools.iso,media=cdrom", "ide0": "none,media=cdrom"},
		},
		"DriveInFrontOfMade": {
			reason: "A drive in front of one that was made for the list is new in either reading.",
			vm:     Config{},
			edits:  []spec{{CDROMs: []v1alpha1.MachineCDROM{{Name: "old"}}}, {CDROMs: []v1alpha1.MachineCDROM{{Name: "new"}, {Name: "old"}}}},
			config: m{"ide2": "none,media=cdrom", "ide0": "none,media=cdrom"},
		},
		"DriveWithMedium": {
			reason: "One that asks for what is in the drive says which it is.",
			edits: []spec{
				{CDROMs: []v1alpha1.MachineCDROM{{Name: "old", ISO: new("local:iso/tools.iso")}}},
				{CDROMs: []v1alpha1.MachineCDROM{{Name: "new"}, {Name: "old", ISO: new("local:iso/tools.iso")}}},
			},
			config: m{"ide2": "local:iso/tools.iso,media=cdrom", "ide0": "none,media=cdrom"},
		},
		"USB": {
			reason: "An empty list takes off USB devices that were made for it, and no others.",
			vm:     Config{"usb0": "host=spice"},
			edits:  []spec{{USBDevices: usb("a", "b")}, {USBDevices: []v1alpha1.MachineUSBDevice{}}},
			config: m{"usb0": "host=spice", "usb1": ""},
		},
		"USBRenamed": {
			reason: "A USB device with another name is the same if it asks for the same.",
			vm:     Config{},
			edits:  []spec{{USBDevices: usb("a")}, {USBDevices: usb("b")}},
			config: m{"usb0": "spice", "usb1": ""},
		},
		"USBAbsent": {
			reason: "A list that is left out changes nothing.",
			vm:     Config{},
			edits:  []spec{{USBDevices: usb("a")}, {}},
			config: m{"usb0": "spice"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := &lifetime{t: t, config: tc.vm}
			if tc.vm == nil {
				l.config, l.made = cloneConfig(), 2
			}
			var err error
			for i, p := range tc.edits {
				if err = l.edit(p); err != nil && i < len(tc.edits)-1 {
					t.Fatalf("\n%s\nedit %d: %v", tc.reason, i, err)
				}
				if name == "LaterNew" && i == 0 {
					l.config["scsi1"] = "local-lvm:vm-100-disk-1,size=1G" // A manual change.
					l.made = 2
				}
			}
			if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Fatalf("\n%s\nwant error %q, got %v", tc.reason, tc.err, err)
			}
			if diff := cmp.Diff(tc.want, l.shown(), cmpopts.EquateEmpty()); diff != "" && tc.err == "" && tc.want != nil {
				t.Errorf("\n%s\nentries: -want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.filled, l.filled); diff != "" && tc.err == "" {
				t.Errorf("\n%s\nvolumes that the image has filled: -want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.ops, l.ops()); diff != "" && tc.ops != nil {
				t.Errorf("\n%s\ndisks: -want, +got:\n%s", tc.reason, diff)
			}
			got := maps.Clone(tc.config)
			for option := range tc.config {
				got[option] = l.config[option]
			}
			if diff := cmp.Diff(tc.config, got); diff != "" {
				t.Errorf("\n%s\nVM: -want, +got:\n%s\nkept: %s", tc.reason, diff, l.devices)
			}
		})
	}
}

// imageOf returns the spec of a VM that is created from an image, which fills the disk with that name, or the first. A list without entries is left out.
func imageOf(fills string, all ...v1alpha1.MachineDisk) spec {
	p := spec{Image: &v1alpha1.MachineImage{Volume: "local:import/debian.qcow2"}, Disks: all}
	if fills != "" {
		p.Image.Disk = &fills
	}
	return p
}

func sizedOn(name, device string) v1alpha1.MachineDisk {
	return v1alpha1.MachineDisk{Name: name, Device: &device, Size: new("1G")}
}

// usb returns USB devices by their names, all of SPICE.
func usb(names ...string) []v1alpha1.MachineUSBDevice {
	var all []v1alpha1.MachineUSBDevice
	for _, name := range names {
		all = append(all, v1alpha1.MachineUSBDevice{Name: name, Host: new("spice")})
	}
	return all
}

func goingNIC(name string) v1alpha1.MachineNetwork {
	return v1alpha1.MachineNetwork{Name: name, RemovalPolicy: new("Detach")}
}

// TestRetained checks that devices which stay although their entries have left the list are reported, with the reason.
func TestRetained(t *testing.T) {
	l := &lifetime{t: t, config: cloneConfig(), made: 2}
	for _, p := range []spec{
		{Disks: []v1alpha1.MachineDisk{disk("root"), disk("data"), leaving(sized("more", "1G"), "Retain")}, Networks: []v1alpha1.MachineNetwork{network("lan")}},
		{Disks: []v1alpha1.MachineDisk{}, Networks: []v1alpha1.MachineNetwork{}},
	} {
		if err := l.edit(p); err != nil {
			t.Fatal(err)
		}
	}
	want := []Retained{
		{List: "disks", What: "disk", Name: "root", Device: "scsi0", Reason: reasonBootDisk},
		{List: "disks", What: "disk", Name: "data", Device: "scsi1", Reason: reasonNotMade},
		{List: "disks", What: "disk", Name: "more", Device: "scsi2", Reason: reasonPolicy},
		{List: "networks", What: "network", Name: "lan", Device: "net0", Reason: reasonNotMade},
	}
	if diff := cmp.Diff(want, l.devices.Retained()); diff != "" {
		t.Errorf("retained: -want, +got:\n%s", diff)
	}
	if err := l.edit(disksOf(disk("root"))); err != nil {
		t.Fatal(err)
	}
	if got := l.devices.Retained(); len(got) != 3 || got[0].Name != "data" {
		t.Errorf("want root managed again, got %v", got)
	}
}

// TestPolicyUnseen checks that a policy that may have been changed since does not count if it would remove what would otherwise stay.
func TestPolicyUnseen(t *testing.T) {
	for policy, made := range map[string]string{"Detach": "local-lvm:vm-100-disk-2", "Destroy": "local-lvm:vm-100-disk-2", "Retain": ""} {
		l := &lifetime{t: t, config: cloneConfig(), made: 2}
		if err := l.edit(disksOf(leaving(disk("root"), policy), disk("data"), leaving(sized("more", "1G"), policy))); err != nil {
			t.Fatal(err)
		}
		l.generation++ // A spec that was not seen.
		if err := l.edit(disksOf(disk("data"))); err != nil {
			t.Fatal(err)
		}
		if l.config["scsi0"] == "" {
			t.Errorf("%s: the boot disk was taken away", policy)
		}
		if got := l.config["unused0"]; got != made {
			t.Errorf("%s: of the disk that was made, want unused %q, got %q", policy, made, got)
		}
	}
}

// TestRemovalStaysDue checks that a removal stays decided, however often the spec changes before it is possible.
func TestRemovalStaysDue(t *testing.T) {
	config := Config{"scsi0": "s:vm-1-disk-0", "scsi1": "s:vm-1-disk-1"}
	s := State{Config: config, Active: config}
	listed, gone := disksOf(leaving(disk("data"), "Destroy")), disksOf()
	d := Devices{Disks: map[string]string{"data": "scsi1"}, assigned: true}
	for _, step := range []struct {
		p          *spec
		generation int64
		want       int
	}{{&listed, 4, 0}, {&gone, 5, 1}, {&gone, 9, 1}, {&listed, 10, 0}, {&gone, 12, 0}} {
		var err error
		if d, err = d.On(s, step.p, Defaults{}, step.generation); err != nil {
			t.Fatal(err)
		}
		if got := d.Destroyed(step.p, config); len(got) != step.want {
			t.Errorf("generation %d: want %d disks destroyed, got %q", step.generation, step.want, got)
		}
	}
}
