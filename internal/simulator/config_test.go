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

package simulator_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
)

// lab returns a small cluster with a plain storage, like the recorded one.
func lab() *simulator.Scenario {
	return &simulator.Scenario{
		Cluster: "lab",
		Nodes: []simulator.ScenarioNode{
			{Name: "pve1", Interfaces: []simulator.ScenarioInterface{{Name: "vmbr0"}, {Name: "vmbr1"}}},
			{Name: "pve2", Interfaces: []simulator.ScenarioInterface{{Name: "vmbr0"}}},
		},
		Storages: []simulator.ScenarioStorage{
			{
				ID: "local", Type: "dir", Path: "/var/lib/vz", Content: []string{"images", "iso", "import"},
				Files: map[string]string{"iso/tiny.iso": "350K", "import/tiny.qcow2": "64M", "import/tiny.ova": "32M"},
			},
			{ID: "data2", Type: "dir", Path: "/var/lib/data2", Content: []string{"images"}},
			{ID: "isostore", Type: "dir", Path: "/var/lib/isostore", Content: []string{"iso"}},
			{ID: "off", Type: "dir", Path: "/var/lib/off", Content: []string{"images"}, Disabled: true},
			{ID: "nfs", Type: "nfs", Shared: true, Content: []string{"images"}},
		},
		Pools: []simulator.ScenarioPool{{ID: "testpool"}},
		Users: []simulator.ScenarioUser{
			{ID: "crossplane@pve", Password: "crossplane", Tokens: []simulator.ScenarioToken{{ID: "demo", Secret: simulatortest.TestSecret}}},
			{ID: "vmuser@pve", Tokens: []simulator.ScenarioToken{{ID: "t1", Secret: simulatortest.TestSecret}}},
			{ID: "auditor@pve", Tokens: []simulator.ScenarioToken{{ID: "ro", Secret: simulatortest.TestSecret}}},
			{
				ID:     "nobody@pve",
				Tokens: []simulator.ScenarioToken{{ID: "t1", Secret: simulatortest.TestSecret}, {ID: "sep", Secret: simulatortest.TestSecret, Separated: true}},
			},
		},
		ACL: []simulator.ScenarioGrant{
			{Path: "/", User: "crossplane@pve", Roles: []string{"Administrator"}},
			{Path: "/vms", User: "vmuser@pve", Roles: []string{"PVEVMAdmin"}},
			{Path: "/", User: "auditor@pve", Roles: []string{"PVEAuditor"}},
		},
	}
}

// stable removes values that differ in each run from a configuration.
func stable(config map[string]any) map[string]any {
	for _, key := range []string{"digest", "meta", "smbios1", "vmgenid"} {
		delete(config, key)
	}
	return config
}

func TestCreate(t *testing.T) {
	s := simulatortest.NewTest(t, simulator.Options{Scenario: lab()})
	c := connect(t, s)
	for name, tc := range map[string]struct {
		reason string
		params []string
		line   string
		errs   map[string]string
		exit   string
		config map[string]any
	}{
		"Empty": {reason: "A VM needs nothing but its VMID.", exit: "OK", config: map[string]any{"boot": " "}},
		"Disk": {
			reason: "A disk is made, its option tells the volume and its size.", params: []string{"scsi0=local:0.5"}, exit: "OK",
			config: map[string]any{"boot": "order=scsi0", "scsi0": "local:VMID/vm-VMID-disk-0.raw,size=512M"},
		},
		"SizeIgnored": {
			reason: "The size option does not count.", params: []string{"virtio0=local:1,format=qcow2,size=33G"}, exit: "OK",
			config: map[string]any{"boot": "order=virtio0", "virtio0": "local:VMID/vm-VMID-disk-0.qcow2,size=1G"},
		},
		"UnknownStorage": {reason: "An unknown storage is seen at once.", params: []string{"scsi0=nostore:1"}, line: "500 storage 'nostore' does not exist"},
		"DisabledStore":  {reason: "A disabled one by the task.", params: []string{"scsi0=off:1"}, exit: "unable to create VM VMID - storage 'off' is disabled"},
		"WrongStorage": {
			reason: "A storage must hold images.", params: []string{"scsi0=isostore:1"}, line: "400 Parameter verification failed.",
			errs: map[string]string{"storage": "storage 'isostore' does not support vm images"},
		},
		"WithUnit": {
			reason: "A size with a unit is the name of a volume.", params: []string{"scsi0=local:1G"},
			line: "500 unable to parse directory volume name '1G'",
		},
		"MissingVolume": {
			reason: "A missing volume is seen by the task.", params: []string{"scsi0=local:201/vm-201-disk-9.qcow2"},
			exit: "unable to create VM VMID - volume 'local:201/vm-201-disk-9.qcow2' does not exist",
		},
		"ISO": {
			reason: "An ISO image boots, and its size is noted.", params: []string{"ide2=local:iso/tiny.iso,media=cdrom"}, exit: "OK",
			config: map[string]any{"boot": "order=ide2", "ide2": "local:iso/tiny.iso,media=cdrom,size=350K"},
		},
		"CDROM": {
			reason: "The option cdrom stands for ide2.", params: []string{"cdrom=local:iso/tiny.iso"}, exit: "OK",
			config: map[string]any{"boot": "order=ide2", "ide2": "local:iso/tiny.iso,media=cdrom,size=350K"},
		},
		"NoDisc": {
			reason: "A drive may be empty.", params: []string{"virtio0=none"}, exit: "OK",
			config: map[string]any{"boot": "order=virtio0", "virtio0": "none,media=cdrom"},
		},
		"Import": {
			reason: "A disk may be a copy.", params: []string{"scsi0=local:0,import-from=local:import/tiny.qcow2"}, exit: "OK",
			config: map[string]any{"boot": "order=scsi0", "scsi0": "local:VMID/vm-VMID-disk-0.qcow2,size=64M"},
		},
		"ImportArchive": {
			reason: "A disk may be a copy of what is in an archive.", params: []string{"scsi0=local:0,import-from=local:import/tiny.ova/disk.vmdk,format=raw"},
			exit: "OK", config: map[string]any{"boot": "order=scsi0", "scsi0": "local:VMID/vm-VMID-disk-0.raw,size=32M"},
		},
		"ImportMissing": {
			reason: "What is copied must exist.", params: []string{"scsi0=local:0,import-from=local:import/no.qcow2"},
			exit: "unable to create VM VMID - failed to stat '/var/lib/vz/import/no.qcow2'",
		},
		"ImportSize": {
			reason: "A copy has no size of its own.", params: []string{"scsi0=local:5,import-from=local:import/tiny.qcow2"},
			line: "400 Parameter verification failed.",
			errs: map[string]string{"scsi0": "'import-from' requires special syntax - use <storage ID>:0,import-from=<source>"},
		},
		"ImportISO": {
			reason: "An ISO image is no source.", params: []string{"scsi0=local:0,import-from=local:iso/tiny.iso"},
			line: "400 Parameter verification failed.",
			errs: map[string]string{"scsi0": "local:iso/tiny.iso has wrong type 'iso' - needs to be 'images' or 'import'"},
		},
		"CloudInit": {
			reason: "There is one cloud-init drive at most.", params: []string{"ide0=local:cloudinit", "ide1=local:cloudinit"},
			exit: "unable to create VM VMID - ide0 - cloud-init drive is already attached at 'ide1'",
		},
		"NIC": {
			reason: "A given address is kept as it is.",
			params: []string{"net0=model=virtio,macaddr=bc:24:11:00:00:01,bridge=vmbr0,firewall=true"}, exit: "OK",
			config: map[string]any{"boot": "order=net0", "net0": "virtio=bc:24:11:00:00:01,bridge=vmbr0,firewall=1"},
		},
		"Units": {
			reason: "With cgroup v2 a CPU weight is 10000 at most.", params: []string{"cpuunits=262144"}, exit: "OK",
			config: map[string]any{"boot": " ", "cpuunits": 10000.0},
		},
		"Tags": {
			reason: "Tags are sorted, in lower case, without doubles.", params: []string{"tags=Foo;bar,baz qux;bar"}, exit: "OK",
			config: map[string]any{"boot": " ", "tags": "bar;baz;foo;qux"},
		},
		"Password": {
			reason: "A password is not shown.", params: []string{"cipassword=secret", "memory=512"}, exit: "OK",
			config: map[string]any{"boot": " ", "cipassword": "**********", "memory": "512"},
		},
		"SSHKey": {reason: "Keys are checked after decoding.", params: []string{"sshkeys=not%20a%20key"}, line: "500 SSH public key validation error"},
		"Pool":   {reason: "A pool must exist.", params: []string{"pool=nopool"}, line: "403 Permission check failed (pool 'nopool' does not exist)"},
		"Serial": {
			reason: "Ports of the host are for root@pam.", params: []string{"serial0=/dev/ttyS0"},
			line: "500 only root can set 'serial0' config for real devices",
		},
		"TPM": {
			reason: "EFI and TPM disks have sizes of their own, and disks are made in the order of their names.",
			params: []string{
				"efidisk0=local:1,efitype=4m,pre-enrolled-keys=1", "tpmstate0=local:1,version=v2.0",
				"scsi0=local:2,format=qcow2,iothread=1,discard=on",
			}, exit: "OK",
			config: map[string]any{
				"boot": "order=scsi0", "efidisk0": "local:VMID/vm-VMID-disk-0.raw,efitype=4m,pre-enrolled-keys=1,size=528K",
				"scsi0": "local:VMID/vm-VMID-disk-1.qcow2,discard=on,iothread=1,size=2G", "tpmstate0": "local:VMID/vm-VMID-disk-2.raw,size=4M,version=v2.0",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.t = t
			vmid, _ := c.ok("GET /cluster/nextid").Data.(string)
			named := func(text string) string { return strings.ReplaceAll(text, "VMID", vmid) }
			params := append([]string{"vmid=" + vmid}, tc.params...)
			if tc.line != "" {
				got := c.do("POST /nodes/pve1/qemu", params...)
				if got.Line != tc.line {
					t.Errorf("%s: got %q, want %q", tc.reason, got.Line, tc.line)
				}
				if diff := cmp.Diff(tc.errs, got.Errors); diff != "" {
					t.Errorf("%s -want +got:\n%s", tc.reason, diff)
				}
				return
			}
			if got := c.task("POST /nodes/pve1/qemu", params...); got != named(tc.exit) {
				t.Errorf("%s: exit status %q, want %q", tc.reason, got, named(tc.exit))
			}
			if tc.exit != "OK" {
				if _, there := s.Guest(schema.Int(vmid)); there {
					t.Error("the VM is left")
				}
				return
			}
			for key, v := range tc.config {
				if text, ok := v.(string); ok {
					tc.config[key] = named(text)
				}
			}
			if diff := cmp.Diff(tc.config, stable(c.config("/nodes/pve1/qemu/"+vmid))); diff != "" {
				t.Errorf("%s -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestChanges makes changes one after another, as in the recordings.
func TestChanges(t *testing.T) {
	s := simulatortest.NewTest(t, simulator.Options{Scenario: lab()})
	c := connect(t, s)
	const vm = "/nodes/pve1/qemu/400"
	c.task(
		"POST /nodes/pve1/qemu", "vmid=400", "name=m", "memory=64", "scsi0=local:1,format=qcow2", "net0=virtio=BC:24:11:00:04:00,bridge=vmbr0",
		"description=hello",
	)
	want := map[string]any{
		"name": "m", "memory": "64", "description": "hello", "scsi0": "local:400/vm-400-disk-0.qcow2,size=1G",
		"net0": "virtio=BC:24:11:00:04:00,bridge=vmbr0", "boot": "order=scsi0;net0",
	}
	for _, step := range []struct {
		params []string
		line   string
		set    map[string]any
		remove []string
	}{
		{params: []string{"cores=2"}, set: map[string]any{"cores": 2.0}},
		{params: []string{"cores=3", "digest=xyz"}, line: "500 checksum mismatch (file change by other user?)"},
		{params: []string{"delete=foo"}, line: "400 Parameter verification failed."},
		{params: []string{"delete=cores", "cores=2"}, line: "400 Parameter verification failed."},
		{params: []string{"cores=+2"}, line: "500 unable to parse value of 'cores' - type check ('integer') failed - got '+2'"},
		{params: []string{"cores=02"}},
		{params: []string{"cpuunits=262144"}, set: map[string]any{"cpuunits": 10000.0}},
		{params: []string{"cpuunits=10000"}},
		{params: []string{"cpuunits=9999"}, set: map[string]any{"cpuunits": 9999.0}},
		{params: []string{"delete=cpuunits"}, remove: []string{"cpuunits"}},
		{params: []string{"delete=description,cores"}, remove: []string{"description", "cores"}},
		{params: []string{"delete=scsi5"}},
		{params: []string{"description=a\nb"}, set: map[string]any{"description": "a\nb"}},
		{params: []string{"description="}, remove: []string{"description"}},
		{params: []string{"tags=b;a;B;a"}, set: map[string]any{"tags": "a;b"}},
		{params: []string{"tags="}, set: map[string]any{"tags": " "}},
		{params: []string{"balloon=600", "memory=512"}, line: "500 balloon value too large (must be smaller than assigned memory)"},
		{params: []string{"scsi1=local:1,format=qcow2"}, set: map[string]any{"scsi1": "local:400/vm-400-disk-1.qcow2,size=1G"}},
		{
			params: []string{"scsi1=local:400/vm-400-disk-1.qcow2,size=9G,discard=on"},
			set:    map[string]any{"scsi1": "local:400/vm-400-disk-1.qcow2,discard=on,size=1G"},
		},
		{params: []string{"scsi1=local:1"}, set: map[string]any{"scsi1": "local:400/vm-400-disk-2.raw,size=1G", "unused0": "local:400/vm-400-disk-1.qcow2"}},
		{params: []string{"delete=scsi1"}, remove: []string{"scsi1"}, set: map[string]any{"unused1": "local:400/vm-400-disk-2.raw"}},
		{params: []string{"delete=unused0"}, remove: []string{"unused0"}},
		{params: []string{"scsi3=local:400/vm-400-disk-77.qcow2"}, line: "500 volume 'local:400/vm-400-disk-77.qcow2' does not exist"},
		{params: []string{"delete=scsi0"}, remove: []string{"scsi0"}, set: map[string]any{"boot": "order=net0", "unused0": "local:400/vm-400-disk-0.qcow2"}},
		{params: []string{"scsi0=local:400/vm-400-disk-0.qcow2"}, remove: []string{"unused0"}, set: map[string]any{"scsi0": "local:400/vm-400-disk-0.qcow2,size=1G"}},
		{params: []string{"ide2=local:cloudinit"}, set: map[string]any{"ide2": "local:400/vm-400-cloudinit.qcow2,media=cdrom"}},
		{params: []string{"ide3=local:cloudinit"}, line: "500 ide3 - cloud-init drive is already attached at 'ide2'"},
		{params: []string{"delete=ide2"}, remove: []string{"ide2"}},
		{params: []string{"ide2=none,media=cdrom"}, set: map[string]any{"ide2": "none,media=cdrom", "boot": "order=net0;ide2"}},
		{params: []string{"ide2=local:cloudinit,format=raw"}, set: map[string]any{"ide2": "local:400/vm-400-cloudinit.raw,media=cdrom"}},
		{params: []string{"delete=ide2"}, remove: []string{"ide2"}, set: map[string]any{"boot": "order=net0"}},
		{params: []string{"scsi0=local:400/vm-400-disk-0.qcow2,format=qcow2"}, set: map[string]any{"scsi0": "local:400/vm-400-disk-0.qcow2,format=qcow2,size=1G"}},
		{
			params: []string{"scsi0=local:400/vm-400-disk-0.qcow2,format=raw"},
			line:   "500 drive 'scsi0' - volume 'local:400/vm-400-disk-0.qcow2' - 'format=raw' option different from storage format 'qcow2'",
		},
		{params: []string{"boot=order=scsi7"}, line: "500 invalid bootorder: device 'scsi7' does not exist'"},
		{params: []string{"boot=order=scsi0;net0"}, set: map[string]any{"boot": "order=scsi0;net0"}},
		{params: []string{"delete=smbios1,vmgenid"}, line: "500 only root can set 'vmgenid' config"},
	} {
		if step.line == "" {
			step.line = "200 OK"
		}
		if got := c.do("PUT "+vm+"/config", step.params...); got.Line != step.line {
			t.Errorf("%v: got %q, want %q", step.params, got.Line, step.line)
		}
		for _, key := range step.remove {
			delete(want, key)
		}
		maps.Copy(want, step.set)
		got := stable(c.config(vm))
		if step.params[0] == "cores=02" {
			want["cores"] = 2.0
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%v -want +got:\n%s", step.params, diff)
		}
	}
}

// TestDetachMissingVolume checks that a disk without a volume on the node, as after a recovery by high availability, becomes unused when it is detached:
// PVE::QemuServer::vmconfig_register_unused_drive goes by the VMID in the name of the volume.
func TestDetachMissingVolume(t *testing.T) {
	s := simulatortest.NewTest(t, simulator.Options{Scenario: lab()})
	c := connect(t, s)
	const vm, volume = "/nodes/pve1/qemu/400", "local:400/vm-400-disk-0.raw"
	c.task("POST /nodes/pve1/qemu", "vmid=400", "memory=64", "scsi0=local:1")
	s.Edit(func(st *simulator.State) {
		maps.DeleteFunc(st.Volumes, func(k simulator.VolumeKey, _ *simulator.Volume) bool { return k.Storage+":"+k.Name == volume })
	})
	c.ok("PUT "+vm+"/config", "delete=scsi0")
	if config := c.config(vm); config["scsi0"] != nil || config["unused0"] != volume {
		t.Errorf("want %s as unused0, got %v", volume, config)
	}
}

// TestPendingEmptyDrive checks that an empty drive of a bus with hotplug waits while the VM runs, because PVE::QemuServer::vmconfig_update_disk activates
// its volume first.
func TestPendingEmptyDrive(t *testing.T) {
	s := simulatortest.NewTest(t, simulator.Options{Scenario: lab()})
	c := connect(t, s)
	const vm = "/nodes/pve1/qemu/400"
	c.task("POST /nodes/pve1/qemu", "vmid=400", "memory=64", "start=1")
	for _, step := range []struct {
		reason, param, line, problem, current string
	}{
		{
			reason: "There is no medium.", param: "scsi3=none,media=cdrom", line: "400 Parameter verification failed.",
			problem: "hotplug problem - unable to parse volume ID 'none'\n",
		},
		{
			reason: "The drive of the node is no medium.", param: "scsi3=cdrom,media=cdrom", line: "400 Parameter verification failed.",
			problem: "hotplug problem - unable to parse volume ID 'cdrom'\n",
		},
		{
			reason: "With an image the drive comes.", param: "scsi3=local:iso/tiny.iso,media=cdrom", line: "200 OK",
			current: "local:iso/tiny.iso,media=cdrom,size=350K",
		},
		{reason: "The image of a drive goes.", param: "scsi3=none,media=cdrom", line: "200 OK", current: "none,media=cdrom"},
		{reason: "IDE waits without a problem.", param: "ide2=none,media=cdrom", line: "200 OK", current: "none,media=cdrom"},
	} {
		got := c.do("PUT "+vm+"/config", step.param)
		if got.Line != step.line || got.Errors["scsi3"] != step.problem {
			t.Errorf("%s %s: got %q with %v", step.reason, step.param, got.Line, got.Errors)
		}
		if current, _ := c.ok("GET "+vm+"/config", "current=1").Data.(map[string]any)["scsi3"].(string); current != step.current {
			t.Errorf("%s %s: got %q in force, want %q", step.reason, step.param, current, step.current)
		}
	}
}

// TestPendingBootOrder checks that the pending boot order is derived from the order in force, because PVE::API2::Qemu::update_vm_api reads no other.
func TestPendingBootOrder(t *testing.T) {
	s := simulatortest.NewTest(t, simulator.Options{Scenario: lab()})
	c := connect(t, s)
	const vm = "/nodes/pve1/qemu/400"
	c.task("POST /nodes/pve1/qemu", "vmid=400", "memory=64", "scsi0=local:1", "net0=virtio=BC:24:11:00:04:00,bridge=vmbr0", "start=1")
	for _, step := range []struct {
		reason string
		params []string
		want   any
	}{
		{reason: "A drive joins the order.", params: []string{"sata0=none,media=cdrom"}, want: "order=scsi0;net0;sata0"},
		{reason: "A drive that waited leaves, but stays in the order that waits.", params: []string{"delete=sata0"}, want: "order=scsi0;net0;sata0"},
		{reason: "An order is asked for.", params: []string{"boot=order=net0"}, want: "order=net0"},
		{reason: "A further drive takes what was asked for back.", params: []string{"ide2=none,media=cdrom"}, want: "order=scsi0;net0;ide2"},
		{
			reason: "Two drives join at once.", params: []string{"ide2=none,media=cdrom", "sata0=none,media=cdrom", "sata1=none,media=cdrom"},
			want: "order=scsi0;net0;sata0;sata1",
		},
	} {
		c.ok("PUT "+vm+"/config", step.params...)
		if diff := cmp.Diff(step.want, c.config(vm)["boot"]); diff != "" {
			t.Errorf("%s %v -want +got:\n%s", step.reason, step.params, diff)
		}
	}
}

func TestPending(t *testing.T) {
	s := simulatortest.NewTest(t, simulator.Options{Scenario: lab()})
	c := connect(t, s)
	const vm = "/nodes/pve1/qemu/400"
	c.task("POST /nodes/pve1/qemu", "vmid=400", "name=m", "memory=64", "scsi0=local:1", "net0=virtio=BC:24:11:00:04:00,bridge=vmbr0", "agent=1", "start=1")
	waiting := func() map[string]any {
		out := map[string]any{}
		list, _ := c.ok("GET " + vm + "/pending").Data.([]any)
		for _, item := range list {
			e, _ := item.(map[string]any)
			if v, ok := e["pending"]; ok {
				out[e["key"].(string)] = v
			}
			if v, ok := e["delete"]; ok {
				out["-"+e["key"].(string)] = v
			}
		}
		return out
	}
	for _, step := range []struct {
		reason string
		params []string
		want   map[string]any
	}{
		{reason: "Cores wait for a restart.", params: []string{"cores=2"}, want: map[string]any{"cores": 2.0}},
		{reason: "Cores that wait can be taken back.", params: []string{"revert=cores"}, want: map[string]any{}},
		{reason: "Memory waits for a restart.", params: []string{"memory=96"}, want: map[string]any{"memory": "96"}},
		{reason: "Memory that is set to the value in force waits no more.", params: []string{"memory=64"}, want: map[string]any{}},
		{
			reason: "Memory waits, names and notes do not.",
			params: []string{"memory=96", "name=newname", "description=x", "onboot=0", "tags=live", "protection=0"},
			want:   map[string]any{"memory": "96"},
		},
		{reason: "A NIC changes its bridge while it runs.", params: []string{"net0=virtio=BC:24:11:00:04:00,bridge=vmbr1"}, want: map[string]any{"memory": "96"}},
		{reason: "SCSI disks come and go.", params: []string{"scsi1=local:1"}, want: map[string]any{"memory": "96"}},
		{reason: "SCSI disks come and go.", params: []string{"delete=scsi1"}, want: map[string]any{"memory": "96"}},
		{
			reason: "A new IDE disk waits for a restart.", params: []string{"ide0=local:1"},
			want: map[string]any{"memory": "96", "ide0": "local:400/vm-400-disk-2.raw,size=1G"},
		},
		{
			reason: "A disk that waits is changed.", params: []string{"ide0=local:400/vm-400-disk-2.raw,cache=unsafe"},
			want: map[string]any{"memory": "96", "ide0": "local:400/vm-400-disk-2.raw,cache=unsafe,size=1G"},
		},
		{
			reason: "The option agent waits for a restart.", params: []string{"agent=0", "delete=cores"},
			want: map[string]any{"memory": "96", "ide0": "local:400/vm-400-disk-2.raw,cache=unsafe,size=1G", "agent": "0"},
		},
		{
			reason: "Cloud-init options are in the configuration at once.", params: []string{"ciuser=b"},
			want: map[string]any{"memory": "96", "ide0": "local:400/vm-400-disk-2.raw,cache=unsafe,size=1G", "agent": "0"},
		},
	} {
		c.ok("PUT "+vm+"/config", step.params...)
		if diff := cmp.Diff(step.want, waiting()); diff != "" {
			t.Errorf("%s %v -want +got:\n%s", step.reason, step.params, diff)
		}
	}
	if got := c.config(vm)["memory"]; got != "96" {
		t.Errorf("GET config shows the pending memory: %v", got)
	}
	if config := c.config(vm); config["unused0"] != "local:400/vm-400-disk-1.raw" || config["unused1"] != nil {
		t.Errorf("The disk that was removed is unused, the one that waits is not: %v", config)
	}
	current, _ := c.ok("GET "+vm+"/config", "current=1").Data.(map[string]any)
	if current["memory"] != "64" {
		t.Errorf("current=1 shows the memory in force: %v", current["memory"])
	}
	c.task("POST " + vm + "/status/stop")
	if diff := cmp.Diff(map[string]any{}, waiting()); diff != "" {
		t.Errorf("a stop puts everything into force: -want +got:\n%s", diff)
	}
}

func TestDigest(t *testing.T) {
	s := simulatortest.NewTest(t, simulator.Options{Scenario: lab()})
	c := connect(t, s)
	const vm = "/nodes/pve1/qemu/400"
	c.task("POST /nodes/pve1/qemu", "vmid=400", "cores=1")
	first, _ := c.config(vm)["digest"].(string)
	c.ok("PUT "+vm+"/config", "cores=2", "digest="+first)
	second, _ := c.config(vm)["digest"].(string)
	if first == second {
		t.Error("a change does not change the digest")
	}
	if got := c.do("PUT "+vm+"/config", "cores=3", "digest="+first); got.Line != "500 checksum mismatch (file change by other user?)" {
		t.Errorf("an old digest is taken: %s", got.Line)
	}
	c.ok("PUT "+vm+"/config", "cores=1", "digest="+second)
	if third := c.config(vm)["digest"]; third != first {
		t.Error("equal contents have different digests")
	}
}
