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
	"regexp"
	"strings"
	"testing"

	xpmeta "github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/vitistack/provider-proxmox/internal/controller/config/configtest"
	"github.com/vitistack/provider-proxmox/internal/controller/volume"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// inManifest is the name of a disk that is to be adopted.
const inManifest = "local-lvm:vm-500-disk-1"

// detaches makes VM 500 detach a disk that is created for it, and that gets the name in the manifest.
func (l *lab) detaches() {
	l.Helper()
	r := proxmox.Ref{Node: "pve1", VMID: 500}
	if l.config(r.VMID) == nil {
		l.ended(l.root.Create(l.Context(), r, proxmox.Params{
			"memory": "64", "scsi0": "local-lvm:1", "smbios1": "uuid=11111111-2222-4333-8444-555555555555",
		}))
	}
	l.must(l.root.Configure(l.Context(), r, proxmox.Change{Set: proxmox.Params{"scsi1": "local-lvm:2"}}))
	if disk := l.config(r.VMID)["scsi1"]; !strings.HasPrefix(disk, inManifest) {
		l.Fatalf("the VM has %q, want %s", disk, inManifest)
	}
	l.must(l.root.Configure(l.Context(), r, proxmox.Change{Delete: []string{"scsi1"}}))
}

// names sets an external name, as a user who applies a manifest again does.
func (l *lab) names(v volume.Volume, disk string) {
	l.Helper()
	l.change(v, func() { xpmeta.SetExternalName(v, disk) })
}

// keepsDisk lets time pass, in which a Volume stays ready with its disk.
func (l *lab) keepsDisk(v volume.Volume, disk, what string) {
	l.Helper()
	for range 5 {
		l.until("time passes", func() bool { return true })
		if c := v.GetCondition(xpv2.TypeReady); c.Status != corev1.ConditionTrue || v.Observation().Volume != disk {
			l.Fatalf("%s: the Volume has %s, want %s: %+v", what, v.Observation().Volume, disk, c)
		}
	}
}

// TestAppliedAgain applies the manifest of an adopted disk again. Its name there is a former one since the first handover, and may now belong to
// another disk. A name that the disk never had is shown, and prevents nothing.
func TestAppliedAgain(t *testing.T) {
	everywhere(t, func(l *lab) {
		l.detaches()
		v := l.adopting("first", "size: 3G\nreclaimPolicy: Delete\n", inManifest)
		l.until("it is adopted", l.unbound(v))
		disk := v.Observation().Volume
		l.names(v, inManifest)
		l.keepsDisk(v, disk, "the manifest is applied again")
		if name := xpmeta.GetExternalName(v); name != disk {
			l.Errorf("the external name is %s, want %s", name, disk)
		}

		l.detaches()
		l.names(v, inManifest)
		l.keepsDisk(v, disk, "another disk has the name in the manifest")
		if unused := l.config(500)["unused0"]; unused != inManifest {
			l.Errorf("the other disk is %q, want it where it was", unused)
		}
		w := l.adopting("second", "{}", inManifest)
		l.until("another Volume adopts that", l.unbound(w))
		l.keepsDisk(v, disk, "another Volume has it")

		l.names(v, "local-lvm:vm-500-disk-0")
		l.until("a name that it never had is shown", configtest.Says(v, xpv2.TypeReady, "NotAdoptable", "this Volume has "+disk))
		l.change(v, func() { v.Parameters().Size = new("4G") })
		l.until("it grows nevertheless", func() bool { return v.Observation().Size == "4G" })
		l.names(v, disk)
		l.until("all is well", l.unbound(v))
		l.delete(v)
		l.until("it is gone", l.gone(v))
		if c := l.config(500); c["scsi0"] == "" || len(l.disks()) != 2 {
			l.Errorf("the other VM is %v, and disks are %v", c, l.disks())
		}
	})
}

// TestLostAppliedAgain applies the manifest of a lost adopted disk again, and checks that another disk which now has the name is taken only with
// consent.
func TestLostAppliedAgain(t *testing.T) {
	everywhere(t, func(l *lab) {
		l.detaches()
		v := l.adopting("data", "{}", inManifest)
		l.until("it is adopted", l.unbound(v))
		disk := v.Observation().Volume
		l.forgets(l.stub(v), v)
		l.names(v, inManifest)
		l.staysLost(v)
		if name := xpmeta.GetExternalName(v); name != disk {
			l.Errorf("the external name is %s, want %s", name, disk)
		}

		l.detaches()
		l.names(v, inManifest)
		l.seen(v, "it is shown", configtest.Says(v, xpv2.TypeReady, "Lost", "former name", "VM 500", "set recoverLost to sha256:"))
		l.staysLost(v)
		if unused := l.config(500)["unused0"]; unused != inManifest {
			l.Errorf("the other disk is %q, want it where it was", unused)
		}
		l.consents(v, regexp.MustCompile("sha256:[0-9a-f]{64}").FindString(v.GetCondition(xpv2.TypeReady).Message))
		l.until("it is adopted", l.unbound(v))
		if l.config(500)["unused0"] != "" || v.Observation().Volume == "" {
			l.Errorf("the other VM is %v, and the Volume shows %+v", l.config(500), v.Observation())
		}
	})
}
