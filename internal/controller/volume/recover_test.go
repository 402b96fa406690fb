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

package volume_test

import (
	"strings"
	"testing"

	xpmeta "github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/vitistack/provider-proxmox/internal/controller/config/configtest"
	"github.com/vitistack/provider-proxmox/internal/controller/volume"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// forgets makes a VM forget a disk, which stays on its storage, until the Volume is lost.
func (l *lab) forgets(r proxmox.Ref, v volume.Volume) {
	l.Helper()
	l.pve.Edit(func(s *state.State) {
		for option, value := range s.Guests[r.VMID].Config {
			if strings.HasPrefix(value, v.Observation().Volume) {
				delete(s.Guests[r.VMID].Config, option)
			}
		}
	})
	l.seen(v, "the disk is lost", configtest.Says(v, xpv2.TypeReady, "Lost", "no longer has the disk"))
}

// finds makes a VM find a disk on its storage, as qm disk rescan does.
func (l *lab) finds(vmid int, option, disk string) {
	l.pve.Edit(func(s *state.State) { s.Guests[vmid].Config[option] = disk })
}

// staysLost reconciles a Volume several times, and checks that it is still lost.
func (l *lab) staysLost(v volume.Volume) {
	l.Helper()
	for range 4 {
		l.reconcile(v)
		if !configtest.Says(v, xpv2.TypeReady, "Lost")() {
			l.Fatalf("it is not lost any more: %+v", v.GetCondition(xpv2.TypeReady))
		}
	}
}

// consents consents to taking the disk that was found.
func (l *lab) consents(v volume.Volume, sum string) {
	l.Helper()
	l.change(v, func() { v.Parameters().RecoverLost = &sum })
}

// shown returns the checksum of what was found; empty for nothing.
func shown(v volume.Volume) string {
	if v.Observation().Found == nil {
		return ""
	}
	return v.Observation().Found.Checksum
}

// TestRecovered checks that a lost disk that exists again is taken with consent to exactly that, and is retained by default from then on.
func TestRecovered(t *testing.T) {
	everywhere(t, func(l *lab) {
		v := l.volume("data", onLVM)
		l.until("the disk is made", l.unbound(v))
		stub, disk := l.stub(v), v.Observation().Volume
		l.forgets(stub, v)
		if f := v.Observation().Found; f != nil {
			l.Fatalf("what no VM has is found: %+v", f)
		}
		l.finds(stub.VMID, "unused0", disk)
		l.seen(v, "it is found", configtest.Says(v, xpv2.TypeReady, "Lost", "there again, with 2G, as unused0", "the one that had it", "set recoverLost to sha256:"))
		f := *v.Observation().Found
		if !f.SameVM || int(f.VMID) != stub.VMID || f.Device != "unused0" || f.Size != l.disks()[disk] {
			l.Errorf("found is %+v of %v", f, l.disks())
		}
		l.consents(v, "sha256:"+strings.Repeat("0", 64))
		l.staysLost(v)
		l.consents(v, f.Checksum)
		l.until("it is recovered", l.unbound(v))
		if v.Observation().Volume != disk || v.Observation().Found != nil {
			l.Errorf("the Volume shows %+v", v.Observation())
		}

		l.forgets(stub, v)
		l.finds(stub.VMID, "unused0", disk)
		l.seen(v, "it is found", func() bool { return shown(v) != "" })
		l.staysLost(v) // The consent was for another loss.
		l.consents(v, shown(v))
		m := l.machine("a", "data")
		l.until("the Machine gets it", l.bound(v, m))
		l.delete(m)
		l.delete(v)
		l.until("both are gone", func() bool { return !l.read(m) && !l.read(v) })
		if len(l.disks()) != 1 {
			l.Errorf("a disk that was recovered is retained by default: %v", l.disks())
		}
	})
}

// TestRecoveredByMachine checks that a disk that is in the VM of the Machine again, as after a restore, is attached again.
func TestRecoveredByMachine(t *testing.T) {
	everywhere(t, func(l *lab) {
		v, m := l.volume("data", onLVM), l.machine("a", "data")
		l.until("the Machine has the disk", l.bound(v, m))
		vm := ref(m)
		l.forgets(vm, v)
		l.finds(vm.VMID, "unused0", v.Observation().Volume)
		l.until("it is found", func() bool { return shown(v) != "" && v.Observation().Found.SameVM })
		l.consents(v, shown(v))
		l.until("the Machine has the disk again", l.bound(v, m))
	})
}

// TestNotRecovered checks that a disk that may belong to someone else is not offered, or not taken.
func TestNotRecovered(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(l *lab, stub proxmox.Ref, disk string)
	}{
		"Locked": {
			reason: "Something works on the VM.",
			change: func(l *lab, stub proxmox.Ref, _ string) { l.finds(stub.VMID, "lock", "backup") },
		},
		"Missing": {
			reason: "The storage does not have it.",
			change: func(l *lab, _ proxmox.Ref, disk string) {
				l.pve.Edit(func(s *state.State) {
					for key := range s.Volumes {
						if strings.HasSuffix(disk, key.Name) {
							delete(s.Volumes, key)
						}
					}
				})
			},
		},
		"Anew": {
			reason: "Another VM has attached it.",
			change: func(l *lab, stub proxmox.Ref, disk string) {
				l.pve.Edit(func(s *state.State) {
					c := s.Guests[stub.VMID].Config
					delete(c, "unused0")
					c["scsi3"], c["smbios1"], c["description"] = disk, "uuid=33333333-2222-4333-8444-555555555555", ""
				})
			},
		},
		"Taken": {
			reason: "Another Volume has adopted it.",
			change: func(l *lab, stub proxmox.Ref, disk string) {
				l.finds(stub.VMID, "smbios1", "uuid=33333333-2222-4333-8444-555555555555")
				l.all = nil
				other := l.object("Volume", "other", -1, "reclaimPolicy: Retain\n", map[string]string{xpmeta.AnnotationKeyExternalName: disk})
				l.until("it is adopted", func() bool { return configtest.Settled(other)() })
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := here(t)
			v := l.volume("data", onLVM)
			l.until("the disk is made", l.unbound(v))
			stub, disk := l.stub(v), v.Observation().Volume
			l.forgets(stub, v)
			l.finds(stub.VMID, "unused0", disk)
			l.seen(v, "it is found", func() bool { return shown(v) != "" })
			sum := shown(v)
			tc.change(l, stub, disk)
			l.consents(v, sum)
			l.staysLost(v)
			if shown(v) != "" {
				t.Errorf("%s Found is %+v", tc.reason, v.Observation().Found)
			}
		})
	}
}

// TestRecoveredFromAnother checks that a disk in another VM with the former VMID is shown as that, and not taken while a VM of someone else uses it.
func TestRecoveredFromAnother(t *testing.T) {
	everywhere(t, func(l *lab) {
		v := l.volume("data", onLVM)
		l.until("the disk is made", l.unbound(v))
		stub, disk := l.stub(v), v.Observation().Volume
		l.forgets(stub, v)
		l.pve.Edit(func(s *state.State) {
			c := s.Guests[stub.VMID].Config
			c["unused0"], c["smbios1"], c["description"] = disk, "uuid=33333333-2222-4333-8444-555555555555", ""
		})
		borrower := proxmox.Ref{Node: "pve1", VMID: 600}
		l.borrows(borrower, disk)
		l.seen(v, "it is found", configtest.Says(v, xpv2.TypeReady, "Lost", "another one than had it"))
		l.consents(v, shown(v))
		l.seen(v, "another VM uses it", configtest.Says(v, xpv2.TypeReady, "NotAdoptable", "VM 600 uses it too"))
		l.returns(borrower)
		l.until("it is recovered, and goes to a stub VM", func() bool { return l.unbound(v)() && *v.Observation().StubVMID != int32(stub.VMID) })
	})
}
