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

package snapshot_test

import (
	"fmt"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/vitistack/provider-proxmox/internal/controller/config/configtest"
	"github.com/vitistack/provider-proxmox/internal/controller/snapshot"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// callsToTake is the number of calls for a snapshot without obstacles: those before, the call, and those while it is taken.
const callsToTake = 10

// TestCost checks that reconciles of Snapshots cost no calls about VMs while nothing happens, however many VMs have one, and that changes by others
// are noticed.
func TestCost(t *testing.T) {
	for _, n := range []int{3, 30} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			l := here(t)
			var all []snapshot.Snapshot
			for i := range n {
				vm := proxmox.Ref{Node: "pve1", VMID: 600 + i}
				l.Succeeded(l.Client.Create(l.Context(), vm, proxmox.Params{
					"memory": "64", "scsi0": "local-lvm:1", "smbios1": fmt.Sprintf("uuid=11111111-2222-4333-8444-%012d", i),
				}))
				before := l.GuestCalls()
				s := l.snapshot(fmt.Sprintf("s%d", i), fmt.Sprintf("vmid: %d\nallowUnmanaged: true\n", vm.VMID))
				l.Until(s, "it is taken", configtest.Settled(s))
				if n := l.GuestCalls() - before; n > callsToTake {
					t.Errorf("want a snapshot to be taken with at most %d calls about its VM, got %d", callsToTake, n)
				}
				all = append(all, s)
			}
			l.RestartBySigns()
			look := func() {
				for _, s := range all {
					l.Reconcile(s)
				}
			}
			look()
			before := l.GuestCalls()
			for range 5 {
				look()
			}
			if n := l.GuestCalls() - before; n > 0 {
				t.Errorf("5 looks at each of %d Snapshots cost %d calls about VMs", len(all), n)
			}
			l.Succeeded(l.Client.RemoveSnapshot(l.Context(), proxmox.Ref{Node: "pve1", VMID: 601}, all[1].Observation().Name))
			l.Until(all[1], "it is gone", configtest.Says(all[1], xpv2.TypeReady, "Gone"))
		})
	}
}
