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

package nodenetwork_test

import (
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/vitistack/provider-proxmox/internal/controller/config/configtest"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

const second = "{node: pve1, interface: vmbr8, type: bridge, confirmUnmappedAddresses: true}"

// A pair is two NodeNetworks of one node, each with the provider of its scope.
type pair struct {
	lives [2]*configtest.Life
	all   [2]resource.Managed
}

// pairs runs a test with two NodeNetworks that are in force, both of one scope, or one of each.
func pairs(t *testing.T, run func(*configtest.Life, pair)) {
	t.Helper()
	for name, other := range map[string]func(*configtest.Life) *configtest.Life{
		"OneScope": func(l *configtest.Life) *configtest.Life { return l }, "BothScopes": (*configtest.Life).Other,
	} {
		t.Run(name, func(t *testing.T) {
			lives(t, func(l *configtest.Life) {
				p := pair{lives: [2]*configtest.Life{l, other(l)}}
				for i, spec := range []string{bridge, second} {
					p.all[i] = p.lives[i].Resource(i+1, spec, nil)
					applied(p.lives[i], p.all[i])
				}
				run(l, p)
			})
		})
	}
}

// look reconciles both once, and waits for what was started. It returns how many are left.
func (p pair) look() int {
	left := 0
	for i, l := range p.lives {
		l.Helper()
		if l.Read(p.all[i]) && l.Reconcile(p.all[i]) {
			left++
		}
	}
	reloaded(p.lives[0])
	return left
}

// reloaded waits until no reload is running.
func reloaded(l *configtest.Life) {
	l.Helper()
	for running := true; running; <-time.After(time.Millisecond) {
		running = false
		all, err := l.Client.Tasks(l.Context())
		l.Must(err)
		for _, task := range all {
			running = running || task.Running
		}
	}
}

// TestDeletedAtOnce deletes two NodeNetworks of a node at the same time, and checks that few reconciles stage both removals, apply them, and find the
// interfaces removed.
func TestDeletedAtOnce(t *testing.T) {
	pairs(t, func(l *configtest.Life, p pair) {
		for i, other := range p.lives {
			other.StartDelete(p.all[i])
		}
		const most = 4
		looks := 1
		for ; p.look() > 0; looks++ {
			if looks == most {
				l.Fatalf("after %d looks there are still: %v, %v\n%v", most, p.all[0], p.all[1], l.Writes())
			}
		}
		if inForce(l, "vmbr8") || inForce(l, "vmbr9") {
			l.Errorf("a bridge is left: %v", l.Writes())
		}
	})
}

// TestDeletedWhileReloading deletes a NodeNetwork during a reload. The state on which its removal would be staged may be about to change.
func TestDeletedWhileReloading(t *testing.T) {
	lives(t, func(l *configtest.Life) {
		mg := l.Resource(1, bridge, nil)
		applied(l, mg)
		var task *state.Task
		l.Edit(func(st *state.State) { task = st.NewTask("pve1", "srvreload", "networking", "root@pam", time.Now()) })
		l.StartDelete(mg)
		for range 3 {
			l.Reconcile(mg)
		}
		if l.Options("pve1/vmbr9") == nil {
			l.Fatalf("a removal is staged while a reload runs: %v", l.Writes())
		}
		l.Edit(func(*state.State) { task.Ended, task.Exit = time.Now(), "OK" })
		l.UntilGone(mg)
		if inForce(l, "vmbr9") {
			l.Errorf("the bridge is left: %v", l.Writes())
		}
	})
}

// TestStagedAsReloadEnds puts the removal of another interface into force by a reload right before ours is staged.
func TestStagedAsReloadEnds(t *testing.T) {
	pairs(t, func(l *configtest.Life, p pair) {
		l.StartDelete(p.all[0])
		for l.Options("pve1/vmbr9") != nil {
			l.Reconcile(p.all[0])
		}
		p.lives[1].StartDelete(p.all[1])
		during(p.lives[1], p.all[1], "/cluster/config/nodes", 1, func() { reload(l.Simulator) })
		p.lives[0].UntilGone(p.all[0])
		p.lives[1].UntilGone(p.all[1])
		if inForce(l, "vmbr8") || inForce(l, "vmbr9") {
			l.Errorf("a bridge is left: %v", l.Writes())
		}
	})
}

// TestInUseCost checks that no guest is read again while a bridge to remove is in use, and no guest has changed.
func TestInUseCost(t *testing.T) {
	lives(t, func(l *configtest.Life) {
		mg := l.Resource(1, bridge, nil)
		applied(l, mg)
		l.Edit(func(st *state.State) { st.Guests[100].Config["net7"] = "virtio=BC:24:11:00:00:07,bridge=vmbr9" })
		l.RestartBySigns()
		l.StartDelete(mg)
		l.Until(mg, xpv2.TypeSynced, xpv2.ReasonReconcileError, "in use", "VM 100")
		before := l.GuestCalls()
		for range 5 {
			l.Reconcile(mg)
		}
		if n := l.GuestCalls() - before; n > 0 {
			l.Errorf("5 looks at a bridge in use cost %d calls about VMs", n)
		}
	})
}
