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

package schema

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func load(t testing.TB, version string) *Facts {
	t.Helper()
	f, err := Load(version)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// params parses "a=1 b=2" into values.
func params(text string) Values {
	out := Values{}
	for pair := range strings.FieldsSeq(text) {
		k, v, _ := strings.Cut(pair, "=")
		v, _ = url.PathUnescape(v)
		out[k] = v
	}
	return out
}

func TestCheck(t *testing.T) {
	const create, config, vm = "POST /nodes/pve1/qemu", "PUT /nodes/pve1/qemu/100/config", "/nodes/pve1/qemu/100"
	const unknown = "property is not defined in schema and the schema does not allow additional properties"
	const inFormat = "invalid format - format error\n"

	for name, tc := range map[string]struct {
		reason  string
		version string
		request string
		params  string
		want    Errors
	}{
		"Missing": {reason: "A required parameter is missing.", request: create, want: Errors{"vmid": "property is missing and it is not optional"}},
		"Unknown": {
			reason: "Unknown parameters are named.", request: create, params: "vmid=201 nosuchparam=1 foo=bar",
			want: Errors{"foo": unknown, "nosuchparam": unknown},
		},
		"Name": {
			reason: "Names are DNS names.", request: create, params: "vmid=201 name=bad_name",
			want: Errors{"name": "invalid format - value does not look like a valid DNS name\n"},
		},
		"LeadingDash": {
			reason: "Names do not begin with a dash.", request: create, params: "vmid=201 name=-x",
			want: Errors{"name": "invalid format - value does not look like a valid DNS name\n"},
		},
		"UpperName": {reason: "Names may be in upper case and have dots.", request: create, params: "vmid=201 name=UPPER.example.org"},
		"MemoryRange": {
			reason: "Nested ranges name the inner property.", request: create, params: "vmid=201 memory=15",
			want: Errors{"memory": inFormat + "memory.current: value must have a minimum value of 16\n"},
		},
		"MemoryType": {
			reason: "A nested value has a type.", request: create, params: "vmid=201 memory=abc",
			want: Errors{"memory": inFormat + "memory.current: type check ('integer') failed - got 'abc'\n"},
		},
		"CoresRange": {
			reason: "Ranges of plain parameters.", request: create, params: "vmid=201 cores=0",
			want: Errors{"cores": "value must have a minimum value of 1"},
		},
		"CoresType": {
			reason: "1.5 is no integer.", request: create, params: "vmid=201 cores=1.5",
			want: Errors{"cores": "type check ('integer') failed - got '1.5'"},
		},
		"CoresSign": {reason: "+2 is an integer to the check.", request: create, params: "vmid=201 cores=+2"},
		"CoresSpace": {
			reason: "A space is none.", request: create, params: "vmid=201 cores=%202",
			want: Errors{"cores": "type check ('integer') failed - got ' 2'"},
		},
		"Boolean": {
			reason: "Booleans of requests are 0 and 1.", request: create, params: "vmid=251 onboot=yes",
			want: Errors{"onboot": "type check ('boolean') failed - got 'yes'"},
		},
		"Volume": {
			reason: "A drive has a volume.", request: create, params: "vmid=253 scsi0=local",
			want: Errors{"scsi0": inFormat + "scsi0.file: invalid format - unable to parse volume ID 'local'\n\n"},
		},
		"DriveOption": {
			reason: "Drive options are known.", request: create, params: "vmid=255 scsi0=local:1,foo=bar",
			want: Errors{"scsi0": "invalid format - format error\nscsi0.foo: " + unknown + "\n"},
		},
		"DriveEnum": {
			reason: "Values of drive options are known.", request: create, params: "vmid=256 scsi0=local:1,cache=bogus",
			want: Errors{
				"scsi0": inFormat + "scsi0.cache: value 'bogus' does not have a value in the enumeration 'none, writethrough, writeback, unsafe, directsync'\n",
			},
		},
		"DriveIndex": {reason: "There are 31 SCSI disks.", request: create, params: "vmid=257 scsi31=local:1", want: Errors{"scsi31": unknown}},
		"LastDrive":  {reason: "The last one is scsi30.", request: create, params: "vmid=257 scsi30=local:1"},
		"VLAN": {
			reason: "VLAN tags end at 4094.", request: create, params: "vmid=283 net0=virtio,bridge=vmbr0,tag=5000",
			want: Errors{"net0": inFormat + "net0.tag: value must have a maximum value of 4094\n"},
		},
		"Multicast": {
			reason: "MAC addresses are unicast.", request: create, params: "vmid=284 net0=virtio=01:00:00:00:00:01,bridge=vmbr0",
			want: Errors{"net0": inFormat + "net0.macaddr: invalid format - value does not look like a valid unicast MAC address\n\n"},
		},
		"DuplicateKey": {
			reason: "The default key may not come twice.", request: config, params: "net0=BC:24:11:00:09:51,model=virtio,bridge=vmbr0",
			want: Errors{"net0": "invalid format - duplicate key in comma-separated list property: model\n"},
		},
		"IPConfig": {
			reason: "Addresses have a length.", request: create, params: "vmid=286 ipconfig0=ip=10.0.0.5",
			want: Errors{"ipconfig0": inFormat + "ipconfig0.ip: invalid format - value does not look like a valid ipv4 network configuration\n\n"},
		},
		"Gateway": {
			reason: "A gateway is an address.", request: create, params: "vmid=287 ipconfig0=ip=10.0.0.5/24,gw=10.0.0.x",
			want: Errors{"ipconfig0": inFormat + "ipconfig0.gw: invalid format - value does not look like a valid IPv4 address\n\n"},
		},
		"Requires": {
			reason: "A gateway needs an address.", request: create, params: "vmid=288 ipconfig0=gw=10.0.0.1",
			want: Errors{"ipconfig0": inFormat + "ipconfig0.ip: missing property required by 'ipconfig0.gw'\n"},
		},
		"Requires84": {
			reason: "8.4 says it in other words.", version: "8.4", request: create, params: "vmid=288 ipconfig0=gw=10.0.0.1",
			want: Errors{"ipconfig0": inFormat + "ipconfig0.ip: missing property - 'ipconfig0.gw' requires this property\n"},
		},
		"RequiresParam": {
			reason: "A parameter may need another one.", request: create, params: "vmid=319 unique=1",
			want: Errors{"archive": "missing property required by 'unique'"},
		},
		"SSHKeys": {
			reason: "Keys of SSH are URL-encoded.", request: create, params: "vmid=289 sshkeys=ssh-rsa%20AAAA",
			want: Errors{"sshkeys": "invalid format - invalid urlencoded string: ssh-rsa AAAA\n"},
		},
		"Boot": {
			reason: "The boot order names devices.", request: create, params: "vmid=294 boot=order=bogus0",
			want: Errors{"boot": inFormat + "boot.order: invalid format - invalid boot device 'bogus0'\n\n"},
		},
		"LegacyBoot": {reason: "The old form has letters.", request: create, params: "vmid=295 boot=cdn"},
		"OSType": {
			reason: "Enumerations list their values.", request: create, params: "vmid=296 ostype=linux",
			want: Errors{
				"ostype": "value 'linux' does not have a value in the enumeration 'other, wxp, w2k, w2k3, w2k8, wvista, win7, win8, win10, win11, l24, l26, solaris'",
			},
		},
		"Tags": {
			reason: "Tags have a form.", request: create, params: "vmid=298 tags=bad%20tag!",
			want: Errors{"tags": "invalid format - invalid characters in tag\n"},
		},
		"CPU": {
			reason: "CPU models are built in or custom.", request: create, params: "vmid=299 cpu=nosuchcpu",
			want: Errors{"cpu": "invalid format - Built-in cputype 'nosuchcpu' is not defined (missing 'custom-' prefix?)\n"},
		},
		"CPUFlags": {reason: "Flags are added and taken away.", request: create, params: "vmid=300 cpu=host,flags=+aes;-pcid"},
		"Machine": {
			reason: "Patterns of nested properties.", request: create, params: "vmid=301 machine=nosuch",
			want: Errors{"machine": inFormat + "machine.type: value does not match the regex pattern\n"},
		},
		"Startup": {
			reason: "The startup order has numbers.", request: create, params: "vmid=303 startup=bogus",
			want: Errors{"startup": "invalid format - unable to parse startup options\n"},
		},
		"Agent": {
			reason: "Nested booleans take more words, but not 2.", request: create, params: "vmid=305 agent=2",
			want: Errors{"agent": inFormat + "agent.enabled: type check ('boolean') failed - got '2'\n"},
		},
		"AgentOn": {reason: "Nested booleans take on.", request: create, params: "vmid=305 agent=on"},
		"Hotplug": {
			reason: "Hotplug features are known.", request: create, params: "vmid=313 hotplug=disk,network,bogus",
			want: Errors{"hotplug": "invalid format - invalid hotplug feature 'bogus'\n"},
		},
		"CPULimit": {
			reason: "A number has a range.", request: create, params: "vmid=316 cpulimit=1000",
			want: Errors{"cpulimit": "value must have a maximum value of 128"},
		},
		"Description": {
			reason: "Texts have a length.", request: config, params: "description=" + strings.Repeat("x", 8193),
			want: Errors{"description": "value may only be 8192 characters long"},
		},
		"NotOnUpdate": {reason: "Some parameters are for creation only.", request: config, params: "pool=x", want: Errors{"pool": unknown}},
		"ResizePattern": {
			reason: "Sizes have a pattern.", request: "PUT " + vm + "/resize", params: "disk=scsi0 size=-1G",
			want: Errors{"size": "value does not match the regex pattern"},
		},
		"SnapshotLength": {
			reason: "Snapshot names have a length.", request: "POST " + vm + "/snapshot", params: "snapname=" + strings.Repeat("a", 41),
			want: Errors{"snapname": "value may only be 40 characters long"},
		},
		"SnapshotName": {
			reason: "Snapshot names have a form.", request: "POST " + vm + "/snapshot", params: "snapname=a",
			want: Errors{"snapname": "invalid format - invalid configuration ID 'a'\n"},
		},
		"CloneID": {
			reason: "A clone's VMID is checked as any.", request: "POST " + vm + "/clone", params: "newid=50",
			want: Errors{"newid": "invalid format - value does not look like a valid VM ID\n"},
		},
		"Pool": {
			reason: "Pools nest three deep.", request: "POST /pools", params: "poolid=bad/pool/too/deep/x",
			want: Errors{"poolid": "invalid format - pool name 'bad/pool/too/deep/x' nested too deeply (max levels = 3)\n"},
		},
		"Privilege": {
			reason: "A privilege has to be known.", request: "POST /access/roles", params: "roleid=r2 privs=Bogus.Priv",
			want: Errors{"privs": "invalid format - invalid privilege 'Bogus.Priv'\n"},
		},
		"MonitorPrivilege": {
			reason: "PVE 9 dropped VM.Monitor.", request: "POST /access/roles", params: "roleid=r2 privs=VM.Monitor",
			want: Errors{"privs": "invalid format - invalid privilege 'VM.Monitor'\n"},
		},
		"Monitor84": {reason: "PVE 8.4 has the privilege VM.Monitor.", version: "8.4", request: "POST /access/roles", params: "roleid=r2 privs=VM.Monitor"},
		"StorageID": {
			reason: "Storage IDs begin with a letter.", request: "POST /storage", params: "storage=1bad type=dir path=/x",
			want: Errors{"storage": "invalid format - storage ID '1bad' contains illegal characters\n"},
		},
		"MinLength": {
			reason: "Passwords have a shortest length.", request: "POST /access/users", params: "userid=u2@pve password=x",
			want: Errors{"password": "value must be at least 8 characters long"},
		},
		"Full": {reason: "A whole VM passes.", request: create, params: "vmid=210 name=full memory=128 cores=2 sockets=1 cpu=x86-64-v2-AES " +
			"numa=1 ostype=l26 machine=q35 " +
			"bios=ovmf scsihw=virtio-scsi-single onboot=1 agent=1 tablet=0 balloon=64 tags=web;prod efidisk0=local:1,efitype=4m,pre-enrolled-keys=1 " +
			"tpmstate0=local:1,version=v2.0 scsi0=local:2,format=qcow2,iothread=1,discard=on,ssd=1,serial=ABC " +
			"scsi1=data2:0,import-from=local:import/tiny.raw,format=raw ide2=local:cloudinit net0=virtio=bc:24:11:aa:bb:cc,bridge=vmbr0,tag=10,firewall=1 " +
			"net1=e1000,bridge=vmbr1,link_down=1,rate=10 ciuser=admin cipassword=secret ipconfig0=ip=10.0.0.5/24,gw=10.0.0.1 ipconfig1=ip=dhcp,ip6=auto " +
			"nameserver=1.1.1.1 searchdomain=example.org boot=order=scsi0;net0 serial0=socket vga=serial0 rng0=source=/dev/urandom " +
			"startup=order=2,up=5 pool=testpool protection=1"},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.version == "" {
				tc.version = "9.2"
			}
			f := load(t, tc.version)
			verb, path, _ := strings.Cut(tc.request, " ")
			m, ok := f.Find(verb, path)
			if !ok {
				t.Fatalf("no method %s", tc.request)
			}
			values := params(tc.params)
			for k, v := range m.Values {
				values[k] = v
			}
			_, got := f.Check(m.Method, values)
			if len(got) == 0 && tc.want == nil {
				return
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestWhole(t *testing.T) {
	for _, version := range []string{"8.4", "9.2"} {
		if err := load(t, version).parseAll(); err != nil {
			t.Errorf("%s: %v", version, err)
		}
	}
	if _, err := Load("7.4"); err == nil {
		t.Error("no error for an unknown version")
	}
}

func TestFind(t *testing.T) {
	f := load(t, "9.2")
	for name, tc := range map[string]struct {
		reason string
		verb   string
		path   string
		want   string
		values map[string]string
	}{
		"Literal": {reason: "A path without parameters.", verb: "GET", path: "/version", want: "/version", values: map[string]string{}},
		"Param": {
			reason: "Segments of a path become parameters.", verb: "GET", path: "/nodes/pve1/qemu/100/config", want: "/nodes/{node}/qemu/{vmid}/config",
			values: map[string]string{"node": "pve1", "vmid": "100"},
		},
		"Slashes": {
			reason: "Empty segments do not count.", verb: "GET", path: "//nodes/pve1/qemu/", want: "/nodes/{node}/qemu",
			values: map[string]string{"node": "pve1"},
		},
		"Volume": {
			reason: "A volume takes the rest of the path.", verb: "DELETE", path: "/nodes/pve1/storage/local/content/local:100/vm-100-disk-0.raw",
			want:   "/nodes/{node}/storage/{storage}/content/{volume}",
			values: map[string]string{"node": "pve1", "storage": "local", "volume": "local:100/vm-100-disk-0.raw"},
		},
		"Unknown":  {reason: "An unknown path is not found.", verb: "GET", path: "/nope"},
		"NoMethod": {reason: "An unknown method is not found.", verb: "POST", path: "/nodes/pve1/qemu/100/resize"},
	} {
		t.Run(name, func(t *testing.T) {
			m, ok := f.Find(tc.verb, tc.path)
			if ok != (tc.want != "") {
				t.Fatalf("%s: found: %t", tc.reason, ok)
			}
			if !ok {
				return
			}
			if m.Method.Path != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, m.Method.Path, tc.want)
			}
			if diff := cmp.Diff(tc.values, m.Values); diff != "" {
				t.Errorf("%s -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestFormatProperties(t *testing.T) {
	f := load(t, "9.2")
	m, _ := f.Find("POST", "/nodes/pve1/qemu")
	for name, tc := range map[string]struct {
		reason string
		option string
		in     string
		want   string
	}{
		"NIC": {
			reason: "The model comes first, with its address.", option: "net0", in: "bridge=vmbr0,virtio=BC:24:11:00:09:50",
			want: "virtio=BC:24:11:00:09:50,bridge=vmbr0",
		},
		"LongForm": {
			reason: "Keys in full become the short form.", option: "net0", in: "model=virtio,macaddr=bc:24:11:00:00:01,bridge=vmbr0,firewall=true",
			want: "virtio=bc:24:11:00:00:01,bridge=vmbr0,firewall=1",
		},
		"NoMAC": {reason: "A model without address stays alone.", option: "net1", in: "e1000,bridge=vmbr1", want: "e1000,bridge=vmbr1"},
		"Drive": {
			reason: "Options of a drive are sorted.", option: "scsi0", in: "local:1/x.raw,size=1G,ssd=on,discard=ignore",
			want: "local:1/x.raw,discard=ignore,size=1G,ssd=1",
		},
		"FileKey": {reason: "The key of the default may be named.", option: "scsi0", in: "file=local:1/x.raw", want: "local:1/x.raw"},
		"SMBIOS": {
			reason: "A format without default key.", option: "smbios1", in: "uuid=11111111-1111-1111-1111-111111111111,serial=abc",
			want: "serial=abc,uuid=11111111-1111-1111-1111-111111111111",
		},
	} {
		t.Run(name, func(t *testing.T) {
			format := m.Method.Parameters.Find(tc.option).Format
			values, err := f.ParseProperties(format, tc.in)
			if err != nil {
				t.Fatal(err)
			}
			if got := f.FormatProperties(format, values); got != tc.want {
				t.Errorf("%s got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

func TestSizes(t *testing.T) {
	for name, tc := range map[string]struct {
		text   string
		bytes  int64
		format string
	}{
		"Bytes":    {text: "1025", bytes: 1025, format: "1025"},
		"Gibi":     {text: "32G", bytes: 32 << 30, format: "32G"},
		"Fraction": {text: "3.5G", bytes: 7 << 29, format: "3584M"},
		"Kilo":     {text: "528K", bytes: 528 << 10, format: "528K"},
		"Tera":     {text: "2048G", bytes: 2 << 40, format: "2T"},
		"Zero":     {text: "0", bytes: 0, format: "0"},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := ParseSize(tc.text)
			if !ok || got != tc.bytes {
				t.Errorf("ParseSize(%q): %d, %t, want %d", tc.text, got, ok, tc.bytes)
			}
			if got := FormatSize(tc.bytes); got != tc.format {
				t.Errorf("FormatSize(%d): %q, want %q", tc.bytes, got, tc.format)
			}
		})
	}
	for _, text := range []string{"", "1X", "-1", "G", "+1G"} {
		if _, ok := ParseSize(text); ok {
			t.Errorf("ParseSize(%q) is taken", text)
		}
	}
}

// FuzzCheck checks that no value causes a panic.
func FuzzCheck(f *testing.F) {
	facts := load(f, "9.2")
	m, _ := facts.Find("POST", "/nodes/pve1/qemu")
	for _, seed := range []string{"virtio,bridge=vmbr0", "local:1,size=1G", "=", ",,", "a=b=c", "order=scsi0;net0", "\x00"} {
		f.Add("net0", seed)
		f.Add("scsi0", seed)
		f.Add("boot", seed)
	}
	f.Fuzz(func(_ *testing.T, key, value string) {
		facts.Check(m.Method, Values{"node": "pve1", "vmid": "100", key: value})
	})
}
