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

// scalarCases are options of one field each.
func scalarCases() []optionCase {
	return []optionCase{
		{option: "name", first: "name: a", firstValue: "a", second: "name: b", secondValue: "b", live: true},
		{option: "cores", first: "cpu: {cores: 2}", firstValue: "2", second: "cpu: {cores: 3}", secondValue: "3"},
		{option: "sockets", first: "cpu: {sockets: 2}", firstValue: "2", second: "cpu: {sockets: 1}", secondValue: "1"},
		{
			option: "vcpus", with: "", first: "cpu: {cores: 4, vcpus: 2}", firstValue: "2", second: "cpu: {cores: 4, vcpus: 3}", secondValue: "3",
			none: "cpu: {cores: 4, vcpus: 0}",
		},
		{
			option: "cpulimit", first: `cpu: {limit: "1.5"}`, firstValue: "1.5", second: "cpu: {limit: 2}", secondValue: "2",
			none: "cpu: {limit: 0}", noneValue: "0", live: true,
		},
		{
			option: "cpuunits", first: "cpu: {units: 200}", firstValue: "200", second: "cpu: {units: 262144}", secondValue: "10000",
			none: "cpu: {units: 0}", live: true,
		},
		{option: "affinity", first: "cpu: {affinity: 0-1}", firstValue: "0-1", second: `cpu: {affinity: "1"}`, secondValue: "1", none: `cpu: {affinity: ""}`},
		{option: "numa", first: "cpu: {numa: true}", firstValue: "1", second: "cpu: {numa: false}", secondValue: "0"},
		{option: "memory", first: "memory: 1Gi", firstValue: "1024", second: "memory: 2Gi", secondValue: "2048"},
		{
			option: "balloon", with: "memory: 2Gi", first: "balloon: false", firstValue: "0", second: "memoryOptions: {minimum: 1Gi}",
			secondValue: "1024", none: "balloon: false", noneValue: "0",
		},
		{option: "shares", first: "memoryOptions: {shares: 2000}", firstValue: "2000", second: "memoryOptions: {shares: 0}", secondValue: "0", live: true},
		{option: "allow-ksm", first: "memoryOptions: {allowKSM: false}", firstValue: "0", second: "memoryOptions: {allowKSM: true}", secondValue: "1", only: "9.2"},
		{
			option: "hugepages", with: "cpu: {numa: true}", first: `memoryOptions: {hugePages: "2"}`, firstValue: "2",
			second: `memoryOptions: {hugePages: any}`, secondValue: "any", none: `memoryOptions: {hugePages: ""}`,
		},
		{option: "keephugepages", first: "memoryOptions: {keepHugePages: true}", firstValue: "1", second: "memoryOptions: {keepHugePages: false}", secondValue: "0"},
		{option: "ostype", first: "osType: linux", firstValue: "l26", second: "osType: windows", secondValue: "win11"},
		{option: "bios", first: "bios: ovmf", firstValue: "ovmf", second: "bios: seabios", secondValue: "seabios"},
		{option: "scsihw", first: "scsiController: lsi53c810", firstValue: "lsi53c810", second: "scsiController: virtio-scsi-pci", secondValue: "virtio-scsi-pci"},
		{option: "onboot", first: "onBoot: true", firstValue: "1", second: "onBoot: false", secondValue: "0", live: true},
		{option: "protection", first: "protection: true", firstValue: "1", second: "protection: false", secondValue: "0", live: true},
		{option: "acpi", first: "acpi: false", firstValue: "0", second: "acpi: true", secondValue: "1"},
		{option: "kvm", first: "kvm: false", firstValue: "0", second: "kvm: true", secondValue: "1"},
		{option: "tablet", first: "tablet: false", firstValue: "0", second: "tablet: true", secondValue: "1", live: true},
		{option: "localtime", first: "localTime: true", firstValue: "1", second: "localTime: false", secondValue: "0"},
		{
			option: "hotplug", first: "hotplug: [disk]", firstValue: "disk", second: "hotplug: [network, usb]", secondValue: "network,usb",
			none: "hotplug: []", noneValue: "0", live: true,
		},
		{
			option: "hookscript", first: "hookscript: local:snippets/hook.pl", firstValue: "local:snippets/hook.pl",
			second: "hookscript: nfs:snippets/hook.pl", secondValue: "nfs:snippets/hook.pl", none: `hookscript: ""`, live: true,
		},
		{option: "description", first: "description: one", firstValue: "one", second: "description: two", secondValue: "two", none: `description: ""`, live: true},
		{option: "tags", first: "tags: [b, a]", firstValue: "a;b", second: "tags: [c]", secondValue: "c", none: "tags: []", live: true},
	}
}

// composedCases are options of several fields.
func composedCases() []optionCase {
	return []optionCase{
		{
			option: "cpu", first: "cpu: {type: host, flags: [+aes]}", firstValue: "host,flags=+aes",
			second: "cpu: {type: kvm64, flags: [+pcid, -aes]}", secondValue: "kvm64,flags=+pcid;-aes", none: `cpu: {type: "", flags: []}`,
		},
		{
			option: "cpu", first: "cpu: {hidden: true, hvVendorID: A1, physBits: host}",
			firstValue: "kvm64,hidden=1,hv-vendor-id=A1,phys-bits=host", second: `cpu: {hidden: false, hvVendorID: "", physBits: "40"}`,
			secondValue: "kvm64,hidden=0,phys-bits=40",
		},
		{
			option: "cpu", first: "cpu: {guestPhysBits: 40, level: 30}", firstValue: "kvm64,guest-phys-bits=40,level=30",
			second: "cpu: {guestPhysBits: 0, level: 31}", secondValue: "kvm64,level=31", only: "9.2",
		},
		{option: "agent", first: "agent: true", firstValue: "1", second: "agent: false", secondValue: "0"},
		{
			option: "agent", with: "agent: true", first: "agentOptions: {type: isa, freezeFSOnBackup: false}",
			firstValue:  "1,type=isa,freeze-fs-on-backup=0",
			second:      "agentOptions: {type: virtio, freezeFSOnBackup: true, fstrimClonedDisks: true}",
			secondValue: "1,type=virtio,freeze-fs-on-backup=1,fstrim_cloned_disks=1",
		},
		{option: "machine", first: "machineType: q35", firstValue: "q35", second: "machineType: pc", secondValue: "pc", none: `machineType: ""`},
		{
			option: "machine", with: "machineType: q35", first: "machineOptions: {viommu: intel, enableS3: true, enableS4: false}",
			firstValue: "q35,viommu=intel,enable-s3=1,enable-s4=0", second: `machineOptions: {viommu: "", enableS3: false}`,
			secondValue: "q35,enable-s3=0,enable-s4=0",
		},
		{
			option: "machine", with: "machineType: q35", first: "machineOptions: {viommu: virtio, awBits: 40}",
			firstValue: "q35,viommu=virtio,aw-bits=40", second: `machineOptions: {viommu: virtio, awBits: 0}`, secondValue: "q35,viommu=virtio",
			only: "9.2",
		},
		{option: "vga", first: "vga: {type: virtio, memoryMiB: 32}", firstValue: "virtio,memory=32", second: "vga: {type: qxl, memoryMiB: 0}", secondValue: "qxl"},
		{option: "vga", first: "vga: {clipboard: vnc}", firstValue: "std,clipboard=vnc", second: `vga: {type: std, clipboard: ""}`, secondValue: "std"},
		{
			option: "startup", first: "startup: {order: 1, upSeconds: 2, downSeconds: 3}", firstValue: "1,up=2,down=3",
			second: "startup: {order: 2, upSeconds: 0}", secondValue: "2,up=0,down=3", none: "startup: {enabled: false}", live: true,
		},
		{
			option: "startup", first: "startup: {order: 0}", firstValue: "order=0", second: "startup: {order: 0, downSeconds: 9}",
			secondValue: "0,down=9", none: "startup: {enabled: false}", live: true,
		},
		{
			option: "audio0", first: "audio: {device: AC97}", firstValue: "device=AC97", second: "audio: {device: intel-hda, driver: none}",
			secondValue: "device=intel-hda,driver=none", none: "audio: {enabled: false}",
		},
		{
			option: "rng0", first: "rng: {source: /dev/urandom}", firstValue: "/dev/urandom",
			second: "rng: {source: /dev/random, maxBytes: 0, periodMilliseconds: 10}", secondValue: "/dev/random,max_bytes=0,period=10",
			none: "rng: {enabled: false}",
		},
		{
			option: "watchdog", first: "watchdog: {action: reset}", firstValue: "i6300esb,action=reset",
			second: `watchdog: {model: ib700, action: ""}`, secondValue: "ib700", none: "watchdog: {enabled: false}",
		},
		{
			option: "smbios1", first: "smbios: {serial: '1, 2'}", firstValue: "uuid=" + ourUUID + ",serial=MSwgMg==,base64=1",
			second: "smbios: {serial: '', product: p}", secondValue: "uuid=" + ourUUID + ",product=cA==,base64=1", none: "smbios: {product: ''}",
			noneValue: "uuid=" + ourUUID,
		},
		{
			option: "numa0", with: "", first: "cpu: {cores: 4, numa: true, numaNodes: [{cpus: 0-3, memory: 512Mi}]}",
			firstValue:  "cpus=0-3,memory=512",
			second:      "cpu: {cores: 4, numa: true, numaNodes: [{cpus: 0-1, hostNodes: '0', memory: 512Mi, policy: bind}]}",
			secondValue: "cpus=0-1,hostnodes=0,memory=512,policy=bind", none: "cpu: {cores: 4, numa: true, numaNodes: []}",
		},
		{
			option: "serial1", first: "serialPorts: [socket, socket]", firstValue: "socket", second: "serialPorts: [socket, /dev/ttyS0]",
			secondValue: "/dev/ttyS0", none: "serialPorts: [socket]",
		},
		{
			option: "boot", with: "disks: [{name: root, size: 1G}]\nnetworks: [{name: lan}]", first: "bootOrder: [lan]", firstValue: "order=net0",
			second: "bootOrder: [root, network]", secondValue: "order=scsi0;net0",
		},
		{
			option: "efidisk0", with: "bios: ovmf", first: "efiDisk: {type: 4m, preEnrolledKeys: true}",
			firstValue: "VOL,efitype=4m,pre-enrolled-keys=1,size=4M", second: "efiDisk: {enabled: false}",
		},
		{
			option: "tpmstate0", first: "tpm: {enabled: false}", second: "tpm: {version: v1.2, storage: ceph}",
			secondValue: "VOL,size=4M,version=v1.2", none: "tpm: {enabled: false}",
		},
	}
}

// diskCases are properties of disks.
func diskCases() []optionCase {
	disk := func(bus, options string) string {
		return "disks: [{name: root, size: 1G, type: " + bus + ", " + options + "}]"
	}
	scsi := func(options string) string { return disk("scsi", options) }
	return []optionCase{
		{
			option: "scsi0", first: scsi("cache: writeback"), firstValue: "VOL,cache=writeback,size=1G", second: scsi("cache: none"),
			secondValue: "VOL,cache=none,size=1G",
		},
		{
			option: "scsi0", first: scsi("aio: native"), firstValue: "VOL,aio=native,size=1G", second: scsi("aio: threads"),
			secondValue: "VOL,aio=threads,size=1G", none: scsi(`aio: ""`), noneValue: "VOL,size=1G",
		},
		{
			option: "scsi0", first: scsi("discard: true, ssd: true, ioThread: true"), firstValue: "VOL,discard=on,iothread=1,size=1G,ssd=1",
			second: scsi("discard: false, ssd: false, ioThread: false"), secondValue: "VOL,discard=ignore,iothread=0,size=1G,ssd=0",
		},
		{
			option: "scsi0", first: scsi("backup: false, replicate: false"), firstValue: "VOL,backup=0,replicate=0,size=1G",
			second: scsi("backup: true, replicate: true"), secondValue: "VOL,backup=1,replicate=1,size=1G", live: true,
		},
		{
			option: "scsi0", with: "machineType: pc-i440fx-9.2", first: scsi("readOnly: true, shared: true, snapshot: true"),
			firstValue: "VOL,ro=1,shared=1,size=1G,snapshot=1", second: scsi("readOnly: false, shared: false, snapshot: false"),
			secondValue: "VOL,ro=0,shared=0,size=1G,snapshot=0",
		},
		{
			option: "scsi0", first: scsi("serial: 'A b/100%', wwn: '0x5000c50015ea71aa'"),
			firstValue: "VOL,serial=A%20b%2F100%25,size=1G,wwn=0x5000c50015ea71aa", second: scsi("serial: B, wwn: '0x5000c50015ea71ab'"),
			secondValue: "VOL,serial=B,size=1G,wwn=0x5000c50015ea71ab", none: scsi(`serial: "", wwn: ""`), noneValue: "VOL,size=1G", live: true,
		},
		{
			option: "scsi0", first: scsi("detectZeroes: false, readError: stop, writeError: report"),
			firstValue: "VOL,detect_zeroes=0,rerror=stop,size=1G,werror=report",
			second:     scsi(`detectZeroes: true, readError: ignore, writeError: ""`), secondValue: "VOL,detect_zeroes=1,rerror=ignore,size=1G",
			live: true,
		},
		{
			option: "scsi0", first: scsi("vendor: ACME, product: One, queues: 4, scsiBlock: true"),
			firstValue: "VOL,product=One,queues=4,scsiblock=1,size=1G,vendor=ACME",
			second:     scsi(`vendor: "", product: Two, queues: 0, scsiBlock: false`), secondValue: "VOL,product=Two,scsiblock=0,size=1G",
		},
		{
			option: "ide0", first: disk("ide", "model: Disk One"), firstValue: "VOL,model=Disk%20One,size=1G", second: disk("ide", "model: Two"),
			secondValue: "VOL,model=Two,size=1G", none: disk("ide", `model: ""`), noneValue: "VOL,size=1G", live: true,
		},
		{option: "sata0", first: disk("sata", "ssd: true"), firstValue: "VOL,size=1G,ssd=1", second: disk("sata", "ssd: false"), secondValue: "VOL,size=1G,ssd=0"},
		{
			option: "virtio0", first: disk("virtio", "ioThread: true"), firstValue: "VOL,iothread=1,size=1G",
			second: disk("virtio", "ioThread: false"), secondValue: "VOL,iothread=0,size=1G",
		},
		{
			option: "scsi0", first: scsi("geometry: {cylinders: 10, heads: 16, sectors: 63, translation: lba}"),
			firstValue: "VOL,cyls=10,heads=16,secs=63,size=1G,trans=lba",
			second:     scsi(`geometry: {cylinders: 0, heads: 0, sectors: 0, translation: ""}`), secondValue: "VOL,size=1G", only: "8.4", live: true,
		},
		{
			option: "scsi0", live: true,
			first: scsi(`limits: {readMBps: "1.5", writeMBps: 2, readIOPS: 30, writeIOPS: 40, readBurstMBps: 5, writeBurstMBps: 6}`),
			firstValue: "VOL,iops_rd=30,iops_wr=40,mbps_rd=1.5," +
				"mbps_rd_max=5,mbps_wr=2,mbps_wr_max=6,size=1G",
			second: scsi("limits: {readMBps: 3, readIOPS: 0, readBurstMBps: 7, readBurstSeconds: 7, writeIOPS: 40, writeBurstIOPS: 80, " +
				"writeIOPSBurstSeconds: 9}"), secondValue: "VOL,bps_rd_max_length=7,iops_wr=40," +
				"iops_wr_max=80,iops_wr_max_length=9,mbps_rd=3,mbps_rd_max=7,size=1G",
			none: scsi("limits: {readMBps: 0, writeIOPS: 0}"), noneValue: "VOL,size=1G",
		},
		{
			option:      "scsi0",
			first:       scsi("limits: {totalMBps: 1, totalIOPS: 2, totalBurstMBps: 3, totalBurstIOPS: 4, totalBurstSeconds: 5, totalIOPSBurstSeconds: 6}"),
			firstValue:  "VOL,bps_max_length=5,iops=2,iops_max=4,iops_max_length=6,mbps=1,mbps_max=3,size=1G",
			second:      scsi("limits: {totalMBps: 0, totalIOPS: 0, totalBurstMBps: 0, totalBurstIOPS: 0, totalBurstSeconds: 0, totalIOPSBurstSeconds: 0}"),
			secondValue: "VOL,size=1G", live: true,
		},
		{
			option:     "scsi0",
			first:      scsi("limits: {readIOPS: 1, readBurstIOPS: 2, readIOPSBurstSeconds: 3, writeMBps: 1, writeBurstMBps: 2, writeBurstSeconds: 3}"),
			firstValue: "VOL,bps_wr_max_length=3,iops_rd=1,iops_rd_max=2,iops_rd_max_length=3,mbps_wr=1,mbps_wr_max=2,size=1G",
			second:     scsi("limits: {totalMBps: 4, totalIOPS: 5}"), secondValue: "VOL,iops=5,mbps=4,size=1G", none: scsi("limits: {readMBps: 1}"),
			noneValue: "VOL,mbps_rd=1,size=1G", live: true,
		},
	}
}

// cdromCases are CD-ROM drives and their media, which a running VM sees at once.
func cdromCases() []optionCase {
	const debian, windows = "local:iso/debian-13.1.0-amd64-netinst.iso", "nfs:iso/windows-11.iso"
	drive := func(options string) string { return "cdroms: [{name: a, " + options + "}]" }
	return []optionCase{
		{
			option: "ide2", first: "iso: " + debian, firstValue: debian + ",media=cdrom,size=700M", second: "iso: " + windows,
			secondValue: windows + ",media=cdrom,size=5600M", none: `iso: ""`, noneValue: "none,media=cdrom", live: true,
		},
		{
			option: "ide2", first: drive("iso: " + debian), firstValue: debian + ",media=cdrom,size=700M", second: drive("iso: " + windows),
			secondValue: windows + ",media=cdrom,size=5600M", none: drive(`iso: ""`), noneValue: "none,media=cdrom", live: true,
		},
		{
			option: "ide0", with: "iso: " + windows, first: drive(`iso: ""`), firstValue: "none,media=cdrom", second: drive("iso: " + debian),
			secondValue: debian + ",media=cdrom,size=700M", live: true,
		},
		{
			option: "sata0", first: drive("type: sata, physical: true"), firstValue: "cdrom,media=cdrom",
			second: drive("type: sata, physical: false"), secondValue: "none,media=cdrom", live: true,
		},
		{option: "scsi3", first: drive("type: sata"), second: "cdroms: [{name: a, type: sata}, {name: b, device: scsi3}]", secondValue: "none,media=cdrom"},
		{
			option: "scsi3", first: drive("device: scsi3"), firstValue: "none,media=cdrom", second: drive("device: scsi3, iso: " + windows),
			secondValue: windows + ",media=cdrom,size=5600M", none: "cdroms: []", live: true,
		},
	}
}

// networkCases are properties of network interfaces and the options of cloud-init for them.
func networkCases() []optionCase {
	nic := func(options string) string {
		return "networks: [{name: lan, macAddress: 'BC:24:11:00:00:01', " + options + "}]"
	}
	const mac = "=BC:24:11:00:00:01,bridge=vmbr"
	return []optionCase{
		{
			option: "net0", first: nic("bridge: vmbr0, model: e1000"), firstValue: "e1000" + mac + "0",
			second: nic("bridge: vmbr1, model: virtio"), secondValue: "virtio" + mac + "1", live: true,
		},
		{
			option: "net0", first: nic("vlan: 7, firewall: true"), firstValue: "virtio" + mac + "0,firewall=1,tag=7",
			second: nic("vlan: 8, firewall: false"), secondValue: "virtio" + mac + "0,firewall=0,tag=8", none: nic("vlan: 0"),
			noneValue: "virtio" + mac + "0,firewall=0", live: true,
		},
		{
			option: "net0", first: nic("trunks: 1;3-4, linkDown: true"), firstValue: "virtio" + mac + "0,link_down=1,trunks=1;3-4",
			second: nic("trunks: '5', linkDown: false"), secondValue: "virtio" + mac + "0,link_down=0,trunks=5", none: nic(`trunks: ""`),
			noneValue: "virtio" + mac + "0,link_down=0", live: true,
		},
		{
			option: "net0", first: nic("mtu: 1400, queues: 4"), firstValue: "virtio" + mac + "0,mtu=1400,queues=4",
			second: nic("mtu: 1, queues: 2"), secondValue: "virtio" + mac + "0,mtu=1,queues=2", none: nic("mtu: 0, queues: 0"),
			noneValue: "virtio" + mac + "0", live: true,
		},
		{
			option: "net0", first: nic("rateMBps: '12.5'"), firstValue: "virtio" + mac + "0,rate=12.5", second: nic("rateMBps: 3"),
			secondValue: "virtio" + mac + "0,rate=3", none: nic("rateMBps: 0"), noneValue: "virtio" + mac + "0", live: true,
		},
		{
			option: "net0", first: nic("hostTunnel: true"), firstValue: "virtio" + mac + "0,host-tunnel=1", second: nic("hostTunnel: false"),
			secondValue: "virtio" + mac + "0,host-tunnel=0", live: true, only: "9.2",
		},
		{
			option: "net0", first: "networks: [{name: lan, macAddress: 'BC:24:11:00:00:01'}]", firstValue: "virtio" + mac + "0",
			second: "networks: [{name: lan, macAddress: 'bc:24:11:00:00:02'}]", secondValue: "virtio=bc:24:11:00:00:02,bridge=vmbr0", live: true,
		},
	}
}

// ipConfigCases are options of cloud-init, which needs a drive that the template has.
func ipConfigCases() []optionCase {
	nic := func(options string) string { return "networks: [{name: lan, ipConfig: {" + options + "}}]" }
	const drive = "template: ubuntu-24.04"
	return []optionCase{
		{
			option: "ipconfig0", with: drive, first: nic("address: 192.0.2.2/24, gateway: 192.0.2.1"), firstValue: "ip=192.0.2.2/24,gw=192.0.2.1",
			second: nic("address: dhcp, address6: auto"), secondValue: "ip=dhcp,ip6=auto", none: nic(`address: "", address6: ""`), live: true,
			guest: true,
		},
		{
			option: "ipconfig0", with: drive, first: nic("address6: 2001:db8::2/64, gateway6: '2001:db8::1'"),
			firstValue: "ip6=2001:db8::2/64,gw6=2001:db8::1", second: nic("address6: 2001:db8::3/64, gateway6: ''"),
			secondValue: "ip6=2001:db8::3/64", live: true, guest: true,
		},
		{option: "ciuser", with: drive, first: "cloudInit: {user: a}", firstValue: "a", second: "cloudInit: {user: b}", secondValue: "b", live: true, guest: true},
		{
			option: "nameserver", with: drive, first: "cloudInit: {nameservers: [192.0.2.53]}", firstValue: "192.0.2.53",
			second: "cloudInit: {nameservers: [192.0.2.54, 192.0.2.55]}", secondValue: "192.0.2.54 192.0.2.55",
			none: "cloudInit: {nameservers: []}", live: true, guest: true,
		},
		{
			option: "searchdomain", with: drive, first: "cloudInit: {searchDomains: [a.example]}", firstValue: "a.example",
			second: "cloudInit: {searchDomains: [b.example]}", secondValue: "b.example", none: "cloudInit: {searchDomains: []}", live: true,
			guest: true,
		},
		{
			option: "ciupgrade", with: drive, first: "cloudInit: {upgrade: false}", firstValue: "0", second: "cloudInit: {upgrade: true}",
			secondValue: "1", live: true, guest: true,
		},
		{
			option: "sshkeys", with: drive,
			first:       "cloudInit: {sshKeys: [ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEXAMPLEEXAMPLEEXAMPLEEXAMPLEEXAMPLEEXAMPLEA]}",
			firstValue:  "ssh-ed25519%20AAAAC3NzaC1lZDI1NTE5AAAAIEXAMPLEEXAMPLEEXAMPLEEXAMPLEEXAMPLEEXAMPLEA",
			second:      "cloudInit: {sshKeys: [ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEXAMPLEEXAMPLEEXAMPLEEXAMPLEEXAMPLEEXAMPLEB]}",
			secondValue: "ssh-ed25519%20AAAAC3NzaC1lZDI1NTE5AAAAIEXAMPLEEXAMPLEEXAMPLEEXAMPLEEXAMPLEEXAMPLEB", none: "cloudInit: {sshKeys: []}",
			live: true, guest: true,
		},
	}
}

// deviceCases are devices and directories of the node.
func deviceCases() []optionCase {
	return []optionCase{
		{
			option: "hostpci0", with: "machineType: q35", first: "pciDevices: [{name: gpu, mapping: gpu, pcie: true, romBar: false}]",
			firstValue:  "mapping=gpu,pcie=1,rombar=0",
			second:      "pciDevices: [{name: gpu, mapping: other, pcie: false, romBar: true, primaryGPU: true, legacyIGD: true, mediatedDevice: m-1}]",
			secondValue: "mapping=other,pcie=0,rombar=1,x-vga=1,legacy-igd=1,mdev=m-1", none: "pciDevices: []",
		},
		{
			option: "hostpci0",
			first: "pciDevices: [{name: gpu, host: '0000:01:00.0', romFile: a.bin, vendorID: '0x10de', deviceID: '0x1db6', subVendorID: " +
				"'0x10de', subDeviceID: '0x1234'}]",
			firstValue:  "0000:01:00.0,romfile=a.bin,vendor-id=0x10de,device-id=0x1db6,sub-vendor-id=0x10de,sub-device-id=0x1234",
			second:      "pciDevices: [{name: gpu, mapping: gpu, romFile: '', vendorID: '', deviceID: '', subVendorID: '', subDeviceID: ''}]",
			secondValue: "mapping=gpu", none: "pciDevices: []",
		},
		{
			option: "hostpci0", first: "pciDevices: [{name: gpu, mapping: gpu, driver: keep}]", firstValue: "mapping=gpu,driver=keep",
			second: "pciDevices: [{name: gpu, mapping: gpu, driver: vfio}]", secondValue: "mapping=gpu,driver=vfio", none: "pciDevices: []",
			only: "9.2",
		},
		{
			option: "usb0", first: "usbDevices: [{name: key, mapping: key}]", firstValue: "mapping=key",
			second: "usbDevices: [{name: key, host: '046d:c52b', usb3: true}]", secondValue: "046d:c52b,usb3=1", none: "usbDevices: []",
			live: true,
		},
		{
			option: "usb1", first: "usbDevices: [{name: a, host: spice}, {name: b, host: 1-2.3}]", firstValue: "1-2.3",
			second: "usbDevices: [{name: b, mapping: key}, {name: a, host: spice}]", secondValue: "mapping=key",
			none: "usbDevices: [{name: a, host: spice}]", live: true,
		},
		{
			option: "virtiofs0", first: "virtiofs: [{name: data, mapping: data}]", firstValue: "data",
			second:      "virtiofs: [{name: data, mapping: more, cache: always, directIO: true, exposeACL: true, exposeXattr: true}]",
			secondValue: "more,cache=always,direct-io=1,expose-acl=1,expose-xattr=1", none: "virtiofs: []",
		},
	}
}

// extraCases are the options that have no field.
func extraCases() []optionCase {
	extra := func(name, first, firstValue, second, secondValue string) optionCase {
		spec := func(value string) string { return "extraConfig: {" + name + ": '" + value + "'}" }
		return optionCase{option: name, first: spec(first), firstValue: firstValue, second: spec(second), secondValue: secondValue, none: spec("")}
	}
	live := func(c optionCase) optionCase { c.live = true; return c }
	tdx := extra("intel-tdx", "tdx,attestation=1", "tdx,attestation=1", "type=tdx,attestation=0", "type=tdx,attestation=0")
	tdx.only, tdx.with = "9.2", "bios: ovmf"
	sev := extra("amd-sev", "std", "std", "es,no-debug=1", "es,no-debug=1")
	sev.with = "bios: ovmf"
	return []optionCase{
		sev,
		extra("arch", "aarch64", "aarch64", "x86_64", "x86_64"),
		extra("args", "-no-hpet", "-no-hpet", "-no-acpi -s", "-no-acpi -s"),
		extra("autostart", "0", "", "1", "1"),
		live(extra("cicustom", "user=local:snippets/a.yaml", "user=local:snippets/a.yaml", "vendor=local:snippets/b.yaml", "vendor=local:snippets/b.yaml")),
		live(extra("citype", "nocloud", "nocloud", "configdrive2", "configdrive2")),
		extra("freeze", "0", "", "1", "1"),
		tdx,
		extra("ivshmem", "size=1,name=a", "size=1,name=a", "name=b,size=2", "name=b,size=2"),
		extra("keyboard", "de", "de", "fr", "fr"),
		live(extra("migrate_downtime", "0.5", "0.5", "1", "1")),
		live(extra("migrate_speed", "10", "10", "20", "20")),
		extra("parallel0", "/dev/parport0", "/dev/parport0", "/dev/parport1", "/dev/parport1"),
		extra("reboot", "1", "", "0", "0"),
		extra("spice_enhancements", "foldersharing=1", "foldersharing=1", "videostreaming=all", "videostreaming=all"),
		extra("startdate", "now", "", "2020-01-01", "2020-01-01"),
		extra("tdf", "0", "", "1", "1"),
		live(extra("vmstatestorage", "ceph", "ceph", "local", "local")),
	}
}
