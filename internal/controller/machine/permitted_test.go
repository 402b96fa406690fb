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

	"github.com/google/go-cmp/cmp"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

func TestReserved(t *testing.T) {
	cases := map[string]struct {
		reason string
		option string
		value  string
		want   bool
	}{
		"Args":         {reason: "Whoever sets arguments of QEMU may do anything.", option: "args", value: "-s", want: true},
		"ArgsRemoved":  {reason: "Removing is setting.", option: "args", want: true},
		"Hookscript":   {reason: "Scripts run as root.", option: "hookscript", value: "local:snippets/a", want: true},
		"Cores":        {reason: "Most options need a privilege only.", option: "cores", value: "4"},
		"Socket":       {reason: "A socket is nobody's device.", option: "serial0", value: "socket"},
		"SerialDevice": {reason: "A serial port of the node is.", option: "serial0", value: "/dev/ttyS0", want: true},
		"USBSpice":     {reason: "Redirection is no device of the node.", option: "usb0", value: "spice"},
		"USBSpiceKey":  {reason: "The case of it does not matter.", option: "usb0", value: "host=SPICE,usb3=1"},
		"USBHost":      {reason: "A device by its address is.", option: "usb0", value: "046d:c52b", want: true},
		"USBMapping":   {reason: "Mappings have privileges of their own.", option: "usb0", value: "mapping=key"},
		"PCIHost":      {reason: "A device by its address.", option: "hostpci0", value: "0000:01:00.0,pcie=1", want: true},
		"PCIMapping":   {reason: "Mappings have privileges of their own.", option: "hostpci0", value: "mapping=gpu,pcie=1"},
		"PCINothing":   {reason: "What is not there is nothing.", option: "hostpci0"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := reserved(tc.option, tc.value); (got != "") != tc.want {
				t.Errorf("\n%s\nreserved(%q, %q): want reserved %t, got %q", tc.reason, tc.option, tc.value, tc.want, got)
			}
		})
	}
}

func TestProhibited(t *testing.T) {
	cases := map[string]struct {
		reason    string
		change    difference
		config    map[string]string
		superuser bool
		version   string
		// want are words of each refusal.
		want [][]string
	}{
		"Nothing":       {reason: "Without a change nothing is prohibited.", version: "8.4.1"},
		"Root":          {reason: "root@pam may do what only it may.", change: difference{Set: proxmox.Params{"args": "-s"}}, superuser: true},
		"Token":         {reason: "Nobody else may, and is told the field.", change: difference{Set: proxmox.Params{"affinity": "0"}}, want: [][]string{{"cpu.affinity (affinity)", "root@pam", "token"}}},
		"Removal":       {reason: "What is there cannot be taken away either.", change: difference{Delete: []string{"hostpci0"}}, config: map[string]string{"hostpci0": "0000:01:00.0"}, want: [][]string{{"pciDevices (hostpci0)", "root@pam"}}},
		"FromHost":      {reason: "Nor can it become another.", change: difference{Set: proxmox.Params{"usb0": "mapping=a"}}, config: map[string]string{"usb0": "1-2"}, want: [][]string{{"usbDevices (usb0)", "root@pam"}}},
		"Old":           {reason: "An option is refused that the version does not know.", change: difference{Set: proxmox.Params{"allow-ksm": "0"}}, version: "8.4.1", want: [][]string{{"allow-ksm", "9.1", "8.4.1"}}},
		"New":           {reason: "The version knows it.", change: difference{Set: proxmox.Params{"allow-ksm": "0"}}, version: "9.1.0"},
		"OldKey":        {reason: "A key is refused that the version does not know.", change: difference{Set: proxmox.Params{"net0": "virtio,host-tunnel=1"}}, version: "9.1.4", want: [][]string{{"net0 host-tunnel", "9.2", "9.1.4"}}},
		"KeyThere":      {reason: "A key that is there is known, and the version not asked for.", change: difference{Set: proxmox.Params{"net0": "virtio,host-tunnel=1,tag=2"}}, config: map[string]string{"net0": "virtio,host-tunnel=1"}},
		"DroppedKey":    {reason: "A key is refused that the version has dropped.", change: difference{Set: proxmox.Params{"scsi0": "a:b,cyls=1"}}, version: "9.2.1", want: [][]string{{"scsi0 cyls", "9.0", "9.2.1"}}},
		"GeometryOfOld": {reason: "An old version has geometry.", change: difference{Set: proxmox.Params{"scsi0": "a:b,cyls=1"}}, version: "8.4.1"},
		"Unknown":       {reason: "Options of 9.2 are known, and so is what is none.", change: difference{Set: proxmox.Params{"no-such": "1"}}, version: "9.2.1", want: [][]string{{"no-such", "no such option"}}},
		"Future":        {reason: "Later versions may have more.", change: difference{Set: proxmox.Params{"no-such": "1"}}, version: "9.3.1"},
		"Several":       {reason: "All is told at once.", change: difference{Set: proxmox.Params{"args": "-s", "allow-ksm": "0"}}, version: "8.4.1", want: [][]string{{"args"}, {"allow-ksm"}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil)
			b.version = tc.version
			e := b.external()
			e.superuser = tc.superuser
			got, err := e.prohibited(t.Context(), tc.change, tc.config)
			if err != nil {
				t.Fatalf("\n%s\nprohibited: %v", tc.reason, err)
			}
			if len(got) != len(tc.want) {
				t.Fatalf("\n%s\nprohibited: want %d refusals, got %q", tc.reason, len(tc.want), got)
			}
			for i, words := range tc.want {
				for _, w := range words {
					if !strings.Contains(got[i], w) {
						t.Errorf("\n%s\nrefusal %q does not say %q", tc.reason, got[i], w)
					}
				}
			}
		})
	}
}

// A VM is not created with what would be refused, and nothing is sent.
func TestProhibitedCreation(t *testing.T) {
	b := newBench(t, nil)
	b.m.Spec.ForProvider = parameters(t, "extraConfig: {args: -s, cores: '2', lock: backup}")
	s := b.reconcile(t.Context())
	if s.err == nil || len(b.writes) != 0 {
		t.Fatalf("want an error and no call that writes, got %v and %q", s.err, b.writes)
	}
	for _, w := range []string{"args", "root@pam", `"cores" has a field of its own: set cpu.cores`, `"lock" is no option of a VM`} {
		if !strings.Contains(s.err.Error(), w) {
			t.Errorf("%q does not say %q", s.err, w)
		}
	}
}

func TestSameExtra(t *testing.T) {
	cases := map[string]struct {
		reason string
		option string
		a, b   string
		want   bool
	}{
		"Text":         {reason: "Text is compared as it is.", option: "args", a: "-a b,c", b: "-a c,b"},
		"Number":       {reason: "Numbers are compared, not their digits.", option: "migrate_downtime", a: "0.10", b: "0.1", want: true},
		"Order":        {reason: "Property strings have no order.", option: "spice_enhancements", a: "foldersharing=1,videostreaming=all", b: "videostreaming=all,foldersharing=1", want: true},
		"DefaultKey":   {reason: "The first value may have its key.", option: "amd-sev", a: "type=std,no-debug=1", b: "std,no-debug=1", want: true},
		"OtherValue":   {reason: "Another value is a difference.", option: "amd-sev", a: "std", b: "es"},
		"Generated":    {reason: "PVE makes up what 1 asks for.", option: "vmgenid", a: otherUUID, b: "1", want: true},
		"NotGenerated": {reason: "0 is none.", option: "vmgenid", a: "0", b: "1"},
		"Unknown":      {reason: "An option that is not known is text.", option: "no-such", a: "a=1,b=2", b: "b=2,a=1"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := extras[tc.option].same(tc.a, tc.b); got != tc.want {
				t.Errorf("\n%s\nsame(%q, %q): want %t, got %t", tc.reason, tc.a, tc.b, tc.want, got)
			}
		})
	}
}

func TestPassthroughDevices(t *testing.T) {
	const spec = `
pciDevices: [{name: gpu, mapping: gpu}, {name: nic, host: "0000:02:00.0"}]
usbDevices: [{name: key, host: 046D:C52B}]
virtiofs: [{name: data, mapping: data}]`
	have := map[string]string{
		"hostpci0": "0000:02:00.0,pcie=1", "hostpci1": "mapping=other", "hostpci2": "mapping=gpu", "usb0": "spice", "usb1": "046d:c52b", "virtiofs0": "data",
	}
	cases := map[string]struct {
		reason string
		before devices
		have   map[string]string
		spec   string
		want   devices
	}{
		"New": {
			reason: "Entries get the lowest numbers that are free.", spec: spec, have: map[string]string{"hostpci0": "mapping=theirs"},
			want: devices{PCI: map[string]string{"gpu": "hostpci1", "nic": "hostpci2"}, USB: map[string]string{"key": "usb0"}, VirtioFS: map[string]string{"data": "virtiofs0"}},
		},
		"Adopted": {
			reason: "An entry is the device that is what it asks for.", spec: spec, have: have,
			want: devices{PCI: map[string]string{"gpu": "hostpci2", "nic": "hostpci0"}, USB: map[string]string{"key": "usb1"}, VirtioFS: map[string]string{"data": "virtiofs0"}},
		},
		"Later": {
			reason: "An entry that comes later is a new device.", spec: spec, have: have, before: devices{assigned: true},
			want: devices{PCI: map[string]string{"gpu": "hostpci3", "nic": "hostpci4"}, USB: map[string]string{"key": "usb2"}, VirtioFS: map[string]string{"data": "virtiofs1"}},
		},
		"Kept": {
			reason: "An entry keeps its device, whatever that is by now.", spec: "pciDevices: [{name: gpu, mapping: gpu}]", have: have,
			before: devices{PCI: map[string]string{"gpu": "hostpci1"}, assigned: true},
			want:   devices{PCI: map[string]string{"gpu": "hostpci1"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := parameters(t, tc.spec)
			got, err := tc.before.assign(&p, tc.have)
			if err != nil {
				t.Fatal(err)
			}
			if !got.equal(tc.want.clone()) {
				t.Errorf("\n%s\nassign: -want, +got:\n%s", tc.reason, cmp.Diff(tc.want.String(), got.String()))
			}
			if again, err := parseDevices(got.String()); err != nil || !again.equal(got) {
				t.Errorf("%s is read as %s, %v", got, again, err)
			}
		})
	}
}

func TestPlatformRefusals(t *testing.T) {
	long := strings.Repeat("x", 64)
	cases := map[string]struct {
		reason string
		spec   string
		config map[string]string
		want   string
	}{
		"Fine":       {reason: "What PVE takes is not refused.", spec: "{smbios: {serial: a}, cpu: {numaNodes: [{cpus: '0', memory: 1Gi}]}}"},
		"LongSMBIOS": {reason: "All fields together are too long.", spec: "smbios: {serial: " + long + ", sku: " + long + ", family: " + long + ", product: " + long + ", version: " + long + ", manufacturer: " + long + "}", want: "takes 512"},
		"Fraction":   {reason: "PVE counts memory in MiB.", spec: "cpu: {numaNodes: [{cpus: '0', memory: 1500k}]}", want: "cpu.numaNodes[0].memory"},
		"Extra":      {reason: "An option has one place.", spec: "extraConfig: {net0: virtio}", want: `"net0" has a field of its own: set networks`},
		"Control":    {reason: "Nobody deletes options through extraConfig.", spec: "extraConfig: {delete: scsi0}", want: `"delete" is no option`},
		"EFIType":    {reason: "The type of the store is decided once.", spec: "efiDisk: {type: 4m}", config: map[string]string{"efidisk0": "a:b,efitype=2m"}, want: "efiDisk has efitype=2m and cannot change to 4m"},
		"EFIDefault": {reason: "PVE's old default is a type too.", spec: "efiDisk: {type: 4m}", config: map[string]string{"efidisk0": "a:b"}, want: "efitype=2m"},
		"EFISame":    {reason: "What is so already is fine.", spec: "efiDisk: {type: 4m, preEnrolledKeys: false}", config: map[string]string{"efidisk0": "a:b,efitype=4m"}},
		"EFIKeys":    {reason: "Keys are enrolled once.", spec: "efiDisk: {preEnrolledKeys: true}", config: map[string]string{"efidisk0": "a:b,efitype=4m"}, want: "pre-enrolled-keys=0"},
		"TPMVersion": {reason: "So is the version.", spec: "tpm: {version: v2.0}", config: map[string]string{"tpmstate0": "a:b"}, want: "version=v1.2 and cannot change to v2.0"},
		"TPMOff":     {reason: "What goes may have been anything.", spec: "tpm: {enabled: false, version: v2.0}", config: map[string]string{"tpmstate0": "a:b"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := desiredOf(t, parameters(t, tc.spec), devices{}, tc.config)
			got := strings.Join(d.refusals(tc.config), "; ")
			if tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
				t.Errorf("\n%s\nrefusals: want %q, got %q", tc.reason, tc.want, got)
			}
		})
	}
}
