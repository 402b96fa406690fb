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
	"maps"
	"math/rand/v2"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// A randomSpec generates specs and configurations.
type randomSpec struct{ *rand.Rand }

func (g randomSpec) maybe() bool { return g.IntN(2) == 0 }

func some[T any](g randomSpec, values ...T) *T {
	if g.maybe() {
		return nil
	}
	return &values[g.IntN(len(values))]
}

func (g randomSpec) names(from ...string) []string {
	g.Shuffle(len(from), func(i, j int) { from[i], from[j] = from[j], from[i] })
	return from[:g.IntN(len(from)+1)]
}

func (g randomSpec) spec() v1alpha1.MachineParameters {
	p := v1alpha1.MachineParameters{
		Name: some(g, "a", "b"), Memory: some(g, *quantity("512Mi"), *quantity("2Gi")), Balloon: some(g, true, false),
		Description: some(g, "", "x", "y\n"), OSType: some(g, "linux", "other", "win10"), Agent: some(g, true, false),
		OnBoot: some(g, true, false), Protection: some(g, true, false), Tablet: some(g, true, false), BIOS: some(g, "seabios", "ovmf"),
		SCSIController: some(g, "lsi", "virtio-scsi-single"), ACPI: some(g, true, false),
	}
	if g.maybe() {
		p.CPU = &v1alpha1.MachineCPU{
			Cores: some(g, int32(1), 2), Sockets: some(g, int32(1), 2), Type: some(g, "host", "kvm64"), NUMA: some(g, true, false),
			Limit: some(g, resource.MustParse("0"), resource.MustParse("1500m")),
		}
	}
	if g.maybe() {
		p.AgentOptions = &v1alpha1.MachineAgentOptions{
			Type: some(g, "virtio", "isa"), FSTrimClonedDisks: some(g, true, false), FreezeFSOnBackup: some(g, true, false),
		}
	}
	if g.maybe() {
		p.VGA = &v1alpha1.MachineVGA{Type: some(g, "std", "qxl"), MemoryMiB: some(g, int32(16), 32)}
	}
	if g.maybe() {
		p.Startup = &v1alpha1.MachineStartup{Order: some(g, int32(1), 2), UpSeconds: some(g, int32(3)), DownSeconds: some(g, int32(4))}
	}
	if g.maybe() {
		p.Tags = g.names("a", "b", "c")
	}
	if g.maybe() {
		p.Hotplug = g.names("network", "disk", "usb", "cpu")
	}
	for _, name := range g.names("root", "data", "more") {
		p.Disks = append(p.Disks, v1alpha1.MachineDisk{
			Name: name, Size: new([]string{"1G", "512Mi", "3000M", "1T"}[g.IntN(4)]), Type: some(g, "scsi", "virtio", "sata"), Storage: some(g, "s", "t"),
			Format: some(g, "raw"), Cache: some(g, "none", "writeback"), Discard: some(g, true, false), Backup: some(g, true, false),
			Serial: some(g, "", "A"), WWN: some(g, "", "0x5000c50015ea71aa"), AIO: some(g, "", "native"), ReadError: some(g, "", "stop"),
			Queues: some(g, int32(0), 4), Shared: some(g, true, false), DetectZeroes: some(g, true, false), Vendor: some(g, "", "ACME"),
			Geometry: some(g, v1alpha1.MachineDiskGeometry{Heads: some(g, int32(0), 16), Translation: some(g, "", "lba")}),
			Limits:   some(g, g.limits()),
		})
	}
	p.ISO = some(g, "", "l:iso/w.iso")
	for _, name := range g.names("drivers", "tools", "disc") {
		c := v1alpha1.MachineCDROM{Name: name, Type: some(g, "sata", "scsi"), ISO: some(g, "", "l:iso/d.iso", "l:iso/t.iso")}
		if c.ISO == nil {
			c.Physical = some(g, true, false)
		}
		p.CDROMs = append(p.CDROMs, c)
	}
	for _, name := range g.names("lan", "dmz", "own") {
		p.Networks = append(p.Networks, v1alpha1.MachineNetwork{
			Name: name, Bridge: some(g, "vmbr0", "vmbr1"), Model: some(g, "virtio", "e1000"), VLAN: some(g, int32(0), 1, 4094),
			Trunks: some(g, "", "1;3-4"), MTU: some(g, int32(0), 1, 1400), Queues: some(g, int32(0), 4), HostTunnel: some(g, true, false),
			RateMBps:   some(g, resource.MustParse("0"), resource.MustParse("12500m")),
			MACAddress: some(g, "BC:24:11:AA:00:01", "bc:24:11:aa:00:02"), Firewall: some(g, true, false), LinkDown: some(g, true, false),
		})
	}
	g.platform(&p)
	g.passthrough(&p)
	if order := g.names("disk", "network", "cdrom"); len(order) > 0 && g.maybe() {
		p.BootOrder = order
	}
	return p
}

// limits returns limits of a disk that admission accepts: of the total or of each direction, and a burst only together with its limit.
func (g randomSpec) limits() v1alpha1.MachineDiskLimits {
	mbps, iops := some(g, resource.MustParse("0"), resource.MustParse("1500m")), some(g, int32(0), 10)
	var (
		burst                         *resource.Quantity
		burstIOPS, length, iopsLength *int32
	)
	if mbps != nil && !mbps.IsZero() {
		burst = some(g, resource.MustParse("0"), resource.MustParse("3"))
	}
	if burst != nil && !burst.IsZero() {
		length = some(g, int32(0), 5)
	}
	if ptr.Deref(iops, 0) > 0 {
		burstIOPS = some(g, int32(0), 20)
	}
	if ptr.Deref(burstIOPS, 0) > 0 {
		iopsLength = some(g, int32(0), 7)
	}
	if g.maybe() {
		return v1alpha1.MachineDiskLimits{
			TotalMBps: mbps, TotalBurstMBps: burst, TotalBurstSeconds: length, TotalIOPS: iops, TotalBurstIOPS: burstIOPS,
			TotalIOPSBurstSeconds: iopsLength,
		}
	}
	return v1alpha1.MachineDiskLimits{
		ReadMBps: mbps, ReadBurstMBps: burst, ReadBurstSeconds: length, WriteIOPS: iops, WriteBurstIOPS: burstIOPS,
		WriteIOPSBurstSeconds: iopsLength,
	}
}

// platform sets the fields of a spec that a VM has once.
func (g randomSpec) platform(p *v1alpha1.MachineParameters) {
	p.EFIDisk = some(g, v1alpha1.MachineEFIDisk{Enabled: some(g, true, false), Type: some(g, "2m", "4m"), MSCertificate: some(g, "2023")})
	p.TPM = some(g, v1alpha1.MachineTPM{Enabled: some(g, true, false), Version: some(g, "v1.2", "v2.0")})
	p.Audio = some(g, v1alpha1.MachineAudio{Enabled: some(g, true, false), Device: new("AC97"), Driver: some(g, "none", "spice")})
	p.RNG = some(g, v1alpha1.MachineRNG{Enabled: some(g, true, false), Source: new("/dev/urandom"), MaxBytes: some(g, int32(0), 1024, 2048)})
	p.Watchdog = some(g, v1alpha1.MachineWatchdog{Enabled: some(g, true, false), Model: some(g, "ib700"), Action: some(g, "", "reset")})
	p.SMBIOS = some(g, v1alpha1.MachineSMBIOS{Serial: some(g, "", "a, b", "abc"), Product: some(g, "", "p=q")})
	p.MachineType = some(g, "", "q35", "pc")
	p.MachineOptions = some(g, v1alpha1.MachineOptions{VIOMMU: some(g, "", "intel", "virtio"), AWBits: some(g, int32(0), 39), EnableS3: some(g, true, false)})
	p.MemoryOptions = some(g, v1alpha1.MachineMemoryOptions{
		Shares: some(g, int32(0), 5), HugePages: some(g, "", "any"), KeepHugePages: some(g, true, false), AllowKSM: some(g, true, false),
	})
	p.Hookscript = some(g, "", "local:snippets/a")
	p.SerialPorts = g.names("socket", "/dev/ttyS0")
	if p.CPU != nil {
		p.CPU.Affinity, p.CPU.Units, p.CPU.VCPUs = some(g, "", "0-1"), some(g, int32(0), 200, 20000), some(g, int32(0), 1)
		p.CPU.Flags, p.CPU.Hidden, p.CPU.PhysBits = g.names("+aes", "-pcid"), some(g, true, false), some(g, "", "host")
		p.CPU.NUMANodes = slices.Repeat([]v1alpha1.MachineNUMANode{{CPUs: "0-1", Memory: some(g, resource.MustParse("1Gi")), Policy: some(g, "bind")}}, g.IntN(3))
	}
	p.ExtraConfig = map[string]v1alpha1.ExtraValue{}
	values := map[string][]v1alpha1.ExtraValue{
		"args": {"", "0", "a=1,b=2"}, "keyboard": {"", "de", "fr"}, "freeze": {"", "0", "1"},
		"ivshmem": {"", "size=1,name=a", "size=2"}, "migrate_downtime": {"", "0", "0.10"},
	}
	for _, name := range g.names(slices.Sorted(maps.Keys(values))...) {
		p.ExtraConfig[name] = values[name][g.IntN(3)]
	}
}

// passthrough returns named devices of the node.
func (g randomSpec) passthrough(p *v1alpha1.MachineParameters) {
	for _, name := range g.names("gpu", "nic", "nvme") {
		d := v1alpha1.MachinePCIDevice{
			Name: name, PCIe: some(g, true, false), ROMBar: some(g, true, false), ROMFile: some(g, "", "a"), MediatedDevice: some(g, "", "m"),
		}
		if d.Mapping = some(g, "m1", "m2"); d.Mapping == nil {
			d.Host = new("0000:01:00.0")
		}
		p.PCIDevices = append(p.PCIDevices, d)
	}
	for _, name := range g.names("key", "cam") {
		d := v1alpha1.MachineUSBDevice{Name: name, USB3: some(g, true, false)}
		if d.Host = some(g, "spice", "1-2"); d.Host == nil {
			d.Mapping = new("m")
		}
		p.USBDevices = append(p.USBDevices, d)
	}
	for _, name := range g.names("data", "more") {
		p.VirtioFS = append(p.VirtioFS, v1alpha1.MachineVirtioFS{Name: name, Mapping: name, Cache: some(g, "auto", "never"), ExposeACL: some(g, true, false)})
	}
}

func (g randomSpec) config() Config {
	config := Config{}
	for name, values := range map[string][]string{
		"name": {"a", "z"}, "cores": {"1", "4"}, "sockets": {"1", "2"}, "memory": {"512", "current=2048", "4096"}, "balloon": {"0", "256"},
		"description": {"x\n", "z", Identity{UUID: ourUUID}.Mark("z")}, "ostype": {"l26", "other"}, "agent": {"1", "enabled=0,type=isa", "0"},
		"onboot": {"0", "1"}, "protection": {"0", "1"}, "cpu": {"host", "cputype=kvm64,flags=+aes"}, "vga": {"std", "type=qxl,memory=16"},
		"startup": {"1", "order=2,up=9"}, "tags": {"a;b", "Z;c", ""}, "hotplug": {"1", "0", "usb,disk,network"}, "bios": {"ovmf"},
		"smbios1": {"uuid=" + otherUUID, "base64=1,uuid=" + ourUUID}, "cpulimit": {"1.5", "0"}, "numa": {"1"}, "scsihw": {"lsi"},
		"scsi0": {
			"s:a,size=1G", "s:a,discard=on,size=8G", "s:a,bps_max_length=9,mbps=2,mbps_max=3,size=1G",
			"s:a,iops_rd=2,iops_rd_max=3,iops_rd_max_length=9,mbps_wr=1.0,size=1G",
		}, "scsi1": {"t:b,backup=0,size=512M"}, "virtio0": {"s:c,cache=writeback,size=1G"},
		"ide2": {
			"none,media=cdrom", "s:cloudinit,media=cdrom", "l:iso/w.iso,media=cdrom,size=1G",
		}, "ide0": {
			"l:iso/d.iso,media=cdrom,serial=a,size=1M", "cdrom,media=cdrom",
		}, "net0": {"virtio=BC:24:11:00:00:01,bridge=vmbr0", "e1000=bc:24:11:00:00:01,bridge=vmbr0,firewall=1,tag=3"},
		"net1": {"virtio=BC:24:11:00:00:02"}, "efidisk0": {"s:e,efitype=2m,size=528K", "s:e,efitype=4m,ms-cert=2023k,pre-enrolled-keys=1,size=528K"},
		"tpmstate0": {"s:t,size=4M,version=v2.0"}, "hostpci0": {"0000:01:00.0,pcie=1", "mapping=m1,rombar=0"}, "hostpci3": {"mapping=m2"},
		"usb0": {"spice", "host=1-2,usb3=1"}, "virtiofs0": {"data,cache=always", "dirid=other"}, "numa0": {"cpus=0,memory=512"}, "serial0": {"socket", "/dev/ttyS1"},
		"audio0": {"device=AC97,driver=spice"}, "rng0": {"source=/dev/urandom,period=5"}, "watchdog": {"i6300esb,action=reset", "model=ib700"},
		"machine": {"q35", "pc-q35-9.0", "type=pc,viommu=virtio"}, "args": {"-s"}, "ivshmem": {"name=a,size=1"}, "keyboard": {"de"}, "hugepages": {"2"},
		"affinity": {"3"}, "cpuunits": {"10000"}, "allow-ksm": {"0"}, "hookscript": {"local:snippets/b"},
	} {
		if g.maybe() {
			config[name] = values[g.IntN(len(values))]
		}
	}
	return config
}
