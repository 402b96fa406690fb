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

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

func TestPlatformRefusals(t *testing.T) {
	long := strings.Repeat("x", 64)
	cases := map[string]struct {
		reason string
		spec   string
		config map[string]string
		want   string
	}{
		"Fine": {reason: "What PVE takes is not refused.", spec: "{smbios: {serial: a}, cpu: {numaNodes: [{cpus: '0', memory: 1Gi}]}}"},
		"LongSMBIOS": {
			reason: "All fields together are too long.",
			spec:   "smbios: {serial: " + long + ", sku: " + long + ", family: " + long + ", product: " + long + ", version: " + long + ", manufacturer: " + long + "}",
			want:   "takes 512",
		},
		"Fraction": {reason: "PVE counts memory in MiB.", spec: "cpu: {numaNodes: [{cpus: '0', memory: 1500k}]}", want: "cpu.numaNodes[0].memory"},
		"Extra":    {reason: "An option has one place.", spec: "extraConfig: {net0: virtio}", want: `"net0" has a field of its own: set networks`},
		"Control":  {reason: "Nobody deletes options through extraConfig.", spec: "extraConfig: {delete: scsi0}", want: `"delete" is no option`},
		"EFIType": {
			reason: "The type of the store is decided once.", spec: "efiDisk: {type: 4m}", config: map[string]string{"efidisk0": "a:b,efitype=2m"},
			want: "efiDisk has efitype=2m and cannot change to 4m",
		},
		"EFIDefault": {
			reason: "PVE's old default is a type that cannot change.",
			spec:   "efiDisk: {type: 4m}", config: map[string]string{"efidisk0": "a:b"}, want: "efitype=2m",
		},
		"EFISame": {
			reason: "What is so already is fine.", spec: "efiDisk: {type: 4m, preEnrolledKeys: false}",
			config: map[string]string{"efidisk0": "a:b,efitype=4m"},
		},
		"EFIKeys": {
			reason: "Keys are enrolled once.", spec: "efiDisk: {preEnrolledKeys: true}", config: map[string]string{"efidisk0": "a:b,efitype=4m"},
			want: "pre-enrolled-keys=0",
		},
		"TPMVersion": {
			reason: "The version of a TPM is decided when it is made.", spec: "tpm: {version: v2.0}", config: map[string]string{"tpmstate0": "a:b"},
			want: "version=v1.2 and cannot change to v2.0",
		},
		"TPMOff": {reason: "What goes may have been anything.", spec: "tpm: {enabled: false, version: v2.0}", config: map[string]string{"tpmstate0": "a:b"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := desiredOf(t, parameters(t, tc.spec), Devices{}, tc.config)
			got := strings.Join(d.Rejections(tc.config), "; ")
			if tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
				t.Errorf("\n%s\nrefusals: want %q, got %q", tc.reason, tc.want, got)
			}
		})
	}
}

func TestSerialPortsShrink(t *testing.T) {
	d := Desired{MachineParameters: &v1alpha1.MachineParameters{SerialPorts: []string{"socket"}}, Identity: Identity{VMID: 10000, UUID: ourUUID}}
	got := d.Difference(map[string]string{"smbios1": "uuid=" + ourUUID, "serial0": "socket", "serial1": "socket"})
	if diff := cmp.Diff([]string{"serial1"}, got.Delete); diff != "" || len(got.Set) != 0 {
		t.Errorf("Ports beyond the list go: -want, +got:\n%s", diff)
	}
}
