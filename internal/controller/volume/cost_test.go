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
	"fmt"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/vitistack/provider-proxmox/internal/controller/config/configtest"
	"github.com/vitistack/provider-proxmox/internal/controller/volume"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// settledBySigns creates a number of Volumes, and a Machine that has the first one, and restarts the provider of Volumes, which then reconciles all
// of them.
func (l *lab) settledBySigns(n int) (all []volume.Volume) {
	l.Helper()
	for i := range n {
		all = append(all, l.volume(fmt.Sprintf("v%d", i), "size: 1G\nstorage: local-lvm\n"))
	}
	m := l.machine("m", "v0")
	l.until("all are settled", func() bool {
		for _, v := range all[1:] {
			if !l.unbound(v)() {
				return false
			}
		}
		return l.bound(all[0], m)()
	})
	l.volumes.restart(0)
	p := configtest.Start(l.T, l.kube, l.volumes.setup, l.scope, 0, configtest.BySigns()...)
	l.volumes.provider = &p
	for range 2 {
		l.lookedAt(all)
	}
	return all
}

// lookedAt reconciles each Volume once.
func (l *lab) lookedAt(all []volume.Volume) {
	l.Helper()
	for _, v := range all {
		l.reconcile(v)
	}
}

// callsToMake is the number of calls for a Volume without obstacles: its VM, and those to observe it.
const callsToMake = 3

// TestCost checks that reconciles of Volumes cost no calls about VMs while nothing happens, however many there are, and that changes by others are
// noticed.
func TestCost(t *testing.T) {
	for _, n := range []int{3, 30} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			l := here(t)
			calls := configtest.Simulator{Server: l.pve}.GuestCalls
			l.until("one is made", l.unbound(l.volume("first", "size: 1G\nstorage: local-lvm\n")))
			if n := calls(); n > callsToMake {
				t.Errorf("want a Volume to be made with at most %d calls about its VM, got %d", callsToMake, n)
			}
			all := l.settledBySigns(n)
			before := calls()
			for range 5 {
				l.lookedAt(all)
			}
			if n := calls() - before; n > 0 {
				t.Errorf("5 looks at each of %d Volumes cost %d calls about VMs", len(all), n)
			}
			l.ended(l.root.Resize(l.Context(), l.stub(all[1]), "scsi0", "2G", ""))
			l.seen(all[1], "it is larger", func() bool { return all[1].Observation().Size == "2G" })
			vm := proxmox.Ref{Node: "pve1", VMID: int(*all[0].Observation().VMID)}
			l.must(l.root.Configure(l.Context(), vm, proxmox.Change{Delete: []string{"scsi5"}}))
			l.seen(all[0], "it is detached", configtest.Says(all[0], volume.TypeBound, "Binding", "yet to attach it"))
			l.must(l.root.Configure(l.Context(), l.stub(all[2]), proxmox.Change{Set: proxmox.Params{"protection": "0"}}))
			l.ended(l.root.Delete(l.Context(), l.stub(all[2]), proxmox.DeleteOptions{Purge: true}))
			l.seen(all[2], "it is lost", configtest.Says(all[2], xpv2.TypeReady, "Lost", "was destroyed"))
		})
	}
}

// seen reconciles a Volume until something is seen, without a Machine that acts on it.
func (l *lab) seen(v volume.Volume, what string, holds func() bool) {
	l.Helper()
	others := l.all
	for _, mg := range others {
		if mg.GetName() == v.GetName() {
			l.all = append(l.all[:0:0], mg)
		}
	}
	l.until(what, holds)
	l.all = others
}
