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
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// quantity returns a pointer to a quantity.
func quantity(s string) *resource.Quantity {
	q := resource.MustParse(s)
	return &q
}

// parameters returns the parameters of a spec in YAML.
func parameters(t *testing.T, parts ...string) v1alpha1.MachineParameters {
	t.Helper()
	p := v1alpha1.MachineParameters{}
	if err := yaml.UnmarshalStrict([]byte(strings.Join(parts, "\n")), &p); err != nil {
		t.Fatalf("cannot read %q: %v", parts, err)
	}
	return p
}

// changeOf returns the change of a configuration by a list of options.
func changeOf(options []Option, config map[string]string) (set proxmox.Params, remove []string) {
	set = proxmox.Params{}
	for _, o := range options {
		want, declared := o.Want(config[o.Name])
		switch {
		case !declared || o.Equal(config[o.Name], want):
		case want == "":
			remove = append(remove, o.Name)
		default:
			set[o.Name] = want
		}
	}
	return set, remove
}

func TestOptions(t *testing.T) {
	type want struct {
		set    proxmox.Params
		remove []string
	}
	none := want{set: proxmox.Params{}}
	set := func(name, value string) want { return want{set: proxmox.Params{name: value}} }
	remove := func(name string) want { return want{set: proxmox.Params{}, remove: []string{name}} }
	off, on := new(false), new(true)

	cases := map[string]struct {
		reason string
		spec   v1alpha1.MachineParameters
		config map[string]string
		want   want
	}{
		"Undeclared": {
			reason: "What the spec leaves open is not managed, whatever value it has.",
			config: map[string]string{
				"name": "x", "cores": "4", "memory": "4096", "balloon": "0", "ostype": "l26", "onboot": "1", "agent": "1", "cpu": "host",
				"tags": "a;b", "vga": "qxl", "startup": "order=1", "hotplug": "0", "ciuser": "root", "serial0": "socket", "scsihw": "lsi",
			},
			want: none,
		},
		"AbsentDefaults": {
			reason: "A declared value that holds by PVE's default needs no change where the option is not there.",
			spec: v1alpha1.MachineParameters{
				CPU:    &v1alpha1.MachineCPU{Cores: new(int32(1)), Sockets: new(int32(1)), NUMA: off, Limit: quantity("0")},
				Memory: quantity("512Mi"), MemoryOptions: &v1alpha1.MachineMemoryOptions{Shares: new(int32(1000))},
				OSType: new("other"), BIOS: new("seabios"), SCSIController: new("lsi"), OnBoot: off, Protection: off,
				ACPI: on, KVM: on, Tablet: on, Agent: off, VGA: &v1alpha1.MachineVGA{Type: new("std")},
				Hotplug: []string{"usb", "disk", "network"}, CloudInit: &v1alpha1.MachineCloudInit{Upgrade: on},
			},
			want: none,
		},
		"Declared": {
			reason: "All that differs is set, in PVE's words.",
			spec: v1alpha1.MachineParameters{
				Name: new("web"),
				CPU: &v1alpha1.MachineCPU{
					Cores: new(int32(4)), Sockets: new(int32(2)), VCPUs: new(int32(3)), Limit: quantity("2500m"), Units: new(int32(200)), NUMA: on,
				},
				Memory: quantity("2147483648"), MemoryOptions: &v1alpha1.MachineMemoryOptions{Minimum: quantity("1Gi"), Shares: new(int32(0))},
				OSType: new("linux"), BIOS: new("ovmf"), MachineType: new("q35"), SCSIController: new("virtio-scsi-single"),
				OnBoot: on, Protection: on, ACPI: off, KVM: off, Tablet: off, LocalTime: on, Hotplug: []string{"disk"},
			},
			want: want{set: proxmox.Params{
				"name": "web", "cores": "4", "sockets": "2", "vcpus": "3", "cpulimit": "2.5", "cpuunits": "200", "numa": "1",
				"memory": "2048", "balloon": "1024", "shares": "0", "ostype": "l26", "bios": "ovmf", "machine": "q35",
				"scsihw": "virtio-scsi-single", "onboot": "1", "protection": "1", "acpi": "0", "kvm": "0", "tablet": "0",
				"localtime": "1", "hotplug": "disk",
			}},
		},
		"MemoryAsCurrent": {
			reason: "PVE also writes memory as current=2048.",
			spec:   v1alpha1.MachineParameters{Memory: quantity("2Gi")},
			config: map[string]string{"memory": "current=2048"},
			want:   none,
		},
		"MemoryDiffers": {
			reason: "Memory in its long form is compared by its value.",
			spec:   v1alpha1.MachineParameters{Memory: quantity("4Gi")},
			config: map[string]string{"memory": "current=2048"},
			want:   set("memory", "4096"),
		},
		"CPULimitText": {
			reason: "Numbers are compared, not their digits.",
			spec:   v1alpha1.MachineParameters{CPU: &v1alpha1.MachineCPU{Limit: quantity("2")}},
			config: map[string]string{"cpulimit": "2.0"},
			want:   none,
		},
		"HotplugOne": {
			reason: "1 stands for PVE's default list.",
			spec:   v1alpha1.MachineParameters{Hotplug: []string{"network", "disk", "usb"}},
			config: map[string]string{"hotplug": "1"},
			want:   none,
		},
		"HotplugOrder": {
			reason: "The order of hotplug features is of no meaning.",
			spec:   v1alpha1.MachineParameters{Hotplug: []string{"memory", "cpu"}},
			config: map[string]string{"hotplug": "cpu,memory"},
			want:   none,
		},
		"HotplugOff": {
			reason: "An empty list turns hotplug off.",
			spec:   v1alpha1.MachineParameters{Hotplug: []string{}},
			want:   set("hotplug", "0"),
		},
		"HotplugStaysOff": {
			reason: "Hotplug that is off already needs no change.",
			spec:   v1alpha1.MachineParameters{Hotplug: []string{}},
			config: map[string]string{"hotplug": "0"},
			want:   none,
		},
		"BalloonOff": {
			reason: "No device is 0.",
			spec:   v1alpha1.MachineParameters{Balloon: off},
			want:   set("balloon", "0"),
		},
		"BalloonOn": {
			reason: "A device that was turned off comes back when the option goes.",
			spec:   v1alpha1.MachineParameters{Balloon: on},
			config: map[string]string{"balloon": "0"},
			want:   remove("balloon"),
		},
		"BalloonOnKeepsMinimum": {
			reason: "Turning on a device that is on leaves the minimum alone that somebody set.",
			spec:   v1alpha1.MachineParameters{Balloon: on},
			config: map[string]string{"balloon": "256"},
			want:   none,
		},
		"OSTypeWindows": {
			reason: "windows stands for the newest type.",
			spec:   v1alpha1.MachineParameters{OSType: new("windows")},
			want:   set("ostype", "win11"),
		},
		"OSTypeOwn": {
			reason: "PVE's own types go as they are.",
			spec:   v1alpha1.MachineParameters{OSType: new("win10")},
			config: map[string]string{"ostype": "l26"},
			want:   set("ostype", "win10"),
		},
		"AgentLongForm": {
			reason: "A property may be written with its key.",
			spec:   v1alpha1.MachineParameters{Agent: on},
			config: map[string]string{"agent": "enabled=1"},
			want:   none,
		},
		"AgentKeepsOptions": {
			reason: "Only the declared part of a property string changes.",
			spec:   v1alpha1.MachineParameters{Agent: on},
			config: map[string]string{"agent": "0,type=isa"},
			want:   set("agent", "1,type=isa"),
		},
		"AgentOptionsAlone": {
			reason: "Options of the agent do not turn it on.",
			spec:   v1alpha1.MachineParameters{AgentOptions: &v1alpha1.MachineAgentOptions{FSTrimClonedDisks: on}},
			want:   set("agent", "0,fstrim_cloned_disks=1"),
		},
		"AgentDefaults": {
			reason: "Parts that hold by default are not written.",
			spec:   v1alpha1.MachineParameters{Agent: on, AgentOptions: &v1alpha1.MachineAgentOptions{Type: new("virtio"), FreezeFSOnBackup: on}},
			config: map[string]string{"agent": "1"},
			want:   none,
		},
		"CPUType": {
			reason: "The model keeps the flags that nobody declared.",
			spec:   v1alpha1.MachineParameters{CPU: &v1alpha1.MachineCPU{Type: new("host")}},
			config: map[string]string{"cpu": "cputype=kvm64,flags=+aes"},
			want:   set("cpu", "host,flags=+aes"),
		},
		"CPUFlags": {
			reason: "Flags are joined by semicolons.",
			spec:   v1alpha1.MachineParameters{CPU: &v1alpha1.MachineCPU{Type: new("host"), Flags: []string{"+aes", "-pcid"}}},
			want:   set("cpu", "host,flags=+aes;-pcid"),
		},
		"VGAMemoryAlone": {
			reason: "A part other than the first needs the first.",
			spec:   v1alpha1.MachineParameters{VGA: &v1alpha1.MachineVGA{MemoryMiB: new(int32(32))}},
			want:   set("vga", "std,memory=32"),
		},
		"VGAMemoryOfQXL": {
			reason: "The first part stays as it is.",
			spec:   v1alpha1.MachineParameters{VGA: &v1alpha1.MachineVGA{MemoryMiB: new(int32(32))}},
			config: map[string]string{"vga": "type=qxl"},
			want:   set("vga", "qxl,memory=32"),
		},
		"Startup": {
			reason: "The parts of startup are independent.",
			spec:   v1alpha1.MachineParameters{Startup: &v1alpha1.MachineStartup{UpSeconds: new(int32(30))}},
			config: map[string]string{"startup": "2,down=10"},
			want:   set("startup", "2,down=10,up=30"),
		},
		"StartupOrderText": {
			reason: "The order may be written without its key.",
			spec:   v1alpha1.MachineParameters{Startup: &v1alpha1.MachineStartup{Order: new(int32(2))}},
			config: map[string]string{"startup": "2"},
			want:   none,
		},
		"Serials": {
			reason: "Serial ports count from 0.",
			spec:   v1alpha1.MachineParameters{SerialPorts: []string{"socket", "/dev/ttyS0"}},
			config: map[string]string{"serial0": "socket"},
			want:   set("serial1", "/dev/ttyS0"),
		},
		"CloudInit": {
			reason: "Lists of cloud-init are separated by spaces.",
			spec: v1alpha1.MachineParameters{CloudInit: &v1alpha1.MachineCloudInit{
				User: new("admin"), Nameservers: []string{"192.0.2.1", "192.0.2.2"}, SearchDomains: []string{"a.example", "b.example"}, Upgrade: off,
			}},
			want: want{set: proxmox.Params{"ciuser": "admin", "nameserver": "192.0.2.1 192.0.2.2", "searchdomain": "a.example b.example", "ciupgrade": "0"}},
		},
		"NoNameservers": {
			reason: "An empty list removes what is there.",
			spec:   v1alpha1.MachineParameters{CloudInit: &v1alpha1.MachineCloudInit{Nameservers: []string{}}},
			config: map[string]string{"nameserver": "192.0.2.1"},
			want:   remove("nameserver"),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := &tc.spec
			options := append(append(append(Scalars(p), Composed(p)...), serials(p)...), CloudInitOptions(p)...)
			var got want
			got.set, got.remove = changeOf(options, tc.config)
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("\n%s\nchange: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
