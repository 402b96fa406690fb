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
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

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
		before Devices
		have   map[string]string
		spec   string
		want   Devices
	}{
		"New": {
			reason: "Entries get the lowest numbers that are free.", spec: spec, have: map[string]string{"hostpci0": "mapping=theirs"},
			want: Devices{
				PCI: map[string]string{"gpu": "hostpci1", "nic": "hostpci2"}, USB: map[string]string{"key": "usb0"},
				VirtioFS: map[string]string{"data": "virtiofs0"},
			},
		},
		"Adopted": {
			reason: "An entry is the device that is what it asks for.", spec: spec, have: have,
			want: Devices{
				PCI: map[string]string{"gpu": "hostpci2", "nic": "hostpci0"}, USB: map[string]string{"key": "usb1"},
				VirtioFS: map[string]string{"data": "virtiofs0"},
			},
		},
		"Later": {
			reason: "An entry that is added later is the device that it asks for: the guest cannot have a device twice.",
			spec:   spec, have: have, before: Devices{assigned: true},
			want: Devices{
				PCI: map[string]string{"gpu": "hostpci2", "nic": "hostpci0"}, USB: map[string]string{"key": "usb1"},
				VirtioFS: map[string]string{"data": "virtiofs0"},
			},
		},
		"Another": {
			reason: "A second of the same mapping is another device.", spec: "pciDevices: [{name: one, mapping: gpu}, {name: two, mapping: gpu}]", have: have,
			before: Devices{PCI: map[string]string{"one": "hostpci2"}, assigned: true},
			want:   Devices{PCI: map[string]string{"one": "hostpci2", "two": "hostpci3"}},
		},
		"Kept": {
			reason: "An entry keeps its device, whatever that is by now.", spec: "pciDevices: [{name: gpu, mapping: gpu}]", have: have,
			before: Devices{PCI: map[string]string{"gpu": "hostpci1"}, assigned: true},
			want:   Devices{PCI: map[string]string{"gpu": "hostpci1"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := parameters(t, tc.spec)
			got, err := tc.before.Assign(&p, tc.have)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want.all(), got.all(), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("\n%s\nassign: -want, +got:\n%s", tc.reason, diff)
			}
			if again, err := ParseDevices(got.String()); err != nil || !again.Equal(got) {
				t.Errorf("%s is read as %s, %v", got, again, err)
			}
		})
	}
}
