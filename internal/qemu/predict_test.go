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

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// optionsOf returns a configuration as PVE reports it.
func optionsOf(config Config) []proxmox.PendingValue {
	values, _ := Difference{Set: proxmox.Params(config)}.Predict(nil)
	return values
}

func TestApplied(t *testing.T) {
	const nic = "virtio=BC:24:11:00:00:01,bridge=vmbr0"
	cases := map[string]struct {
		reason string
		before []proxmox.PendingValue
		change Difference
		want   Config
		known  bool
	}{
		"Plain": {
			reason: "What is set is there, what is removed is not.", before: optionsOf(Config{"cores": "1", "onboot": "1"}),
			change: Difference{Set: proxmox.Params{"cores": "4"}, Delete: []string{"onboot"}}, want: Config{"cores": "4"}, known: true,
		},
		"Digest": {
			reason: "The digest is another.", before: []proxmox.PendingValue{{Key: "digest", Value: new("d1")}}, change: Difference{},
			want: Config{}, known: true,
		},
		"Password": {
			reason: "A password is not remembered.", change: Difference{Set: proxmox.Params{"cipassword": "secret"}},
			want: Config{"cipassword": "**********"}, known: true,
		},
		"MAC": {
			reason: "A network with its address stays as it is.", change: Difference{Set: proxmox.Params{"net0": nic}}, want: Config{"net0": nic},
			known: true,
		},
		"NoMAC":     {reason: "PVE makes up an address.", change: Difference{Set: proxmox.Params{"net0": "virtio,bridge=vmbr0"}}},
		"Disk":      {reason: "PVE writes disks in its own way.", change: Difference{Set: proxmox.Params{"scsi0": "local-lvm:vm-1-disk-0,ssd=1"}}},
		"Allocates": {reason: "PVE names new disks.", change: Difference{Allocates: true}},
		"Detaches": {
			reason: "A disk that is detached is unused.", before: optionsOf(map[string]string{"cores": "1"}),
			change: Difference{Delete: []string{"scsi1"}},
		},
		"Generated": {reason: "PVE makes up what is asked for.", change: Difference{Set: proxmox.Params{"vmgenid": "1"}}},
		"Pending": {
			reason: "What was pending may be settled.", before: []proxmox.PendingValue{{Key: "cores", Value: new("1"), Pending: new("2")}},
			change: Difference{Set: proxmox.Params{"onboot": "1"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			values, known := tc.change.Predict(tc.before)
			config := Read(values).Config
			if known != tc.known || known && !cmp.Equal(tc.want, config) {
				t.Errorf("%s\nApplied(): want %v known %t, got %v known %t", tc.reason, tc.want, tc.known, config, known)
			}
		})
	}
}
