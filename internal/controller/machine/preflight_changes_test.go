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

	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

func TestProhibited(t *testing.T) {
	cases := map[string]struct {
		reason    string
		change    qemu.Difference
		config    map[string]string
		superuser bool
		version   string
		// want are words of each refusal.
		want [][]string
	}{
		"Nothing": {reason: "Without a change nothing is prohibited.", version: "8.4.1"},
		"Root":    {reason: "root@pam may do what only it may.", change: qemu.Difference{Set: proxmox.Params{"args": "-s"}}, superuser: true},
		"Token": {
			reason: "Nobody else may, and is told the field.", change: qemu.Difference{Set: proxmox.Params{"affinity": "0"}},
			want: [][]string{{"cpu.affinity (affinity)", "root@pam", "token"}},
		},
		"Removal": {
			reason: "What is there cannot be taken away either.", change: qemu.Difference{Delete: []string{"hostpci0"}},
			config: map[string]string{"hostpci0": "0000:01:00.0"}, want: [][]string{{"pciDevices (hostpci0)", "root@pam"}},
		},
		"FromHost": {
			reason: "A device of the node that root@pam has set cannot become another.", change: qemu.Difference{Set: proxmox.Params{"usb0": "mapping=a"}},
			config: map[string]string{"usb0": "1-2"}, want: [][]string{{"usbDevices (usb0)", "root@pam"}},
		},
		"Old": {
			reason: "An option is refused that the version does not know.", change: qemu.Difference{Set: proxmox.Params{"allow-ksm": "0"}},
			version: "8.4.1", want: [][]string{{"allow-ksm", "9.1", "8.4.1"}},
		},
		"New": {reason: "The version knows it.", change: qemu.Difference{Set: proxmox.Params{"allow-ksm": "0"}}, version: "9.1.0"},
		"OldKey": {
			reason: "A key is refused that the version does not know.",
			change: qemu.Difference{Set: proxmox.Params{"net0": "virtio,host-tunnel=1"}}, version: "9.1.4",
			want: [][]string{{"net0 host-tunnel", "9.2", "9.1.4"}},
		},
		"KeyThere": {
			reason: "A key that is there is known, and the version not asked for.",
			change: qemu.Difference{Set: proxmox.Params{"net0": "virtio,host-tunnel=1,tag=2"}},
			config: map[string]string{"net0": "virtio,host-tunnel=1"},
		},
		"DroppedKey": {
			reason: "A key is refused that the version has dropped.", change: qemu.Difference{Set: proxmox.Params{"scsi0": "a:b,cyls=1"}},
			version: "9.2.1", want: [][]string{{"scsi0 cyls", "9.0", "9.2.1"}},
		},
		"GeometryOfOld": {reason: "An old version has geometry.", change: qemu.Difference{Set: proxmox.Params{"scsi0": "a:b,cyls=1"}}, version: "8.4.1"},
		"Temporary": {
			reason: "PVE 9 starts no VM that throws away what is written.",
			change: qemu.Difference{Set: proxmox.Params{"scsi0": "a:b,snapshot=1"}}, version: "9.2.1",
			want: [][]string{{"scsi0 snapshot", "unless machineType is of a version before 10.0", "9.2.1"}},
		},
		"TemporaryOld": {
			reason: "Unless its machine is of an old version.", change: qemu.Difference{Set: proxmox.Params{"scsi0": "a:b,snapshot=1"}},
			config: map[string]string{"machine": "pc-q35-9.2+pve1"},
		},
		"TemporaryOf8": {
			reason: "PVE 8 takes temporary disks of any machine.",
			change: qemu.Difference{Set: proxmox.Params{"scsi0": "a:b,snapshot=1"}}, version: "8.4.1",
		},
		"TemporaryNot": {reason: "What does not throw it away is fine.", change: qemu.Difference{Set: proxmox.Params{"scsi0": "a:b,snapshot=0"}}},
		"Unknown": {
			reason: "Options of 9.2 are known, and so is what is none.", change: qemu.Difference{Set: proxmox.Params{"no-such": "1"}},
			version: "9.2.1", want: [][]string{{"no-such", "no such option"}},
		},
		"Future": {reason: "Later versions may have more.", change: qemu.Difference{Set: proxmox.Params{"no-such": "1"}}, version: "9.3.1"},
		"Several": {
			reason: "All is told at once.", change: qemu.Difference{Set: proxmox.Params{"args": "-s", "allow-ksm": "0"}}, version: "8.4.1",
			want: [][]string{{"args"}, {"allow-ksm"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil)
			b.version = tc.version
			e := b.external()
			e.checks.Superuser = tc.superuser
			got, err := e.checks.ForbiddenChanges(t.Context(), tc.change, tc.config)
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

// TestProhibitedCreation checks that a VM is not created with options that would be refused, and no call is sent.
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
