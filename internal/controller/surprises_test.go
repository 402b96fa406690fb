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

package controller_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/simulator"
)

// TestSurprises checks unexpected behavior of Proxmox VE, in both scopes and on all versions.
func TestSurprises(t *testing.T) {
	t.Parallel()
	runVersions(t, map[string]scenario{
		"takenmeanwhile": {reason: "A VMID that another node has just taken is not the Machine's.", run: takenMeanwhile},
	})
}

// takenMeanwhile takes the VMID on another node after it was chosen. PVE accepts the clone, whose task fails when it writes the configuration.
func takenMeanwhile(w *world) {
	arrive := w.pve.Inject(simulator.Fault{Method: http.MethodPost, Path: "/nodes/*/qemu/*/clone", Delay: time.Minute, Count: 1})
	w.create(ubuntu())
	w.eventually("the clone is on its way", func() bool { return w.pve.Faults()[0].Hit == 1 })
	w.pve.Edit(func(s *simulator.State) {
		s.Guests[10000] = &simulator.Guest{VMID: 10000, Node: "pve3", Config: map[string]string{"name": "others"}, Power: simulator.Stopped}
	})
	arrive()
	w.ready()
	if w.vmid() == 10000 || w.tasks("qmclone") != 2 {
		w.Errorf("want one clone more, under another VMID than 10000, got VM %d by %d clones", w.vmid(), w.tasks("qmclone"))
	}
	exits := []string{}
	for _, t := range w.pve.Tasks() {
		exits = append(exits, t.Exit)
	}
	if want := "close (rename) atomic file '/etc/pve/nodes/pve1/qemu-server/10000.conf' failed: File exists"; !slices.Contains(exits, want) {
		w.Errorf("want the first task to fail so, got %q", exits)
	}
	w.delete()
	w.gone()
	if g, there := w.pve.Guest(10000); !there || g.Config["name"] != "others" || len(g.Config) != 1 {
		w.Errorf("the VM of others is left alone, got %+v", g)
	}
}

// TestCutOffEndpoint cuts off the node of the first endpoint while the others have quorum, and checks that its report about the nodes of the Machine
// is not believed, and changes continue through the other endpoint.
func TestCutOffEndpoint(t *testing.T) {
	t.Parallel()
	for name, s := range scopes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := emptyWorld(t, s, "cutoff-"+strings.ToLower(name), map[string]string{"membership": "1s"}, "9.2")
			w.endpoints = []string{w.pve.NodeURL("pve2")}
			w.begin()
			w.create(nothing())
			w.ready()
			states := w.states()
			defer states.Stop()
			w.pve.CutOff("pve1")
			w.eventually("pve1 says that the others are off", func() bool {
				nodes, err := w.admin.Nodes(t.Context())
				return err == nil && slices.ContainsFunc(nodes, func(n proxmox.Node) bool { return n.Name == "pve2" && n.Offline() })
			})
			for _, text := range []string{"one", "two"} {
				w.change(func(p *v1alpha1.MachineParameters) { p.Description = &text })
				w.eventually("it is changed", func() bool { return strings.Contains(w.vm().Config["description"], text) })
			}
			w.neverOffline(states)
			w.pve.Edit(func(st *simulator.State) { st.Nodes["pve1"].CutOff, st.Nodes["pve1"].Offline = false, false })
			w.finish()
		})
	}
}

// neverOffline checks that no state of the Machine so far has reported its node as off.
func (w *world) neverOffline(states watch.Interface) {
	w.Helper()
	for {
		select {
		case e := <-states.ResultChan():
			if !w.take(e.Object) {
				continue
			}
			if c := w.m.GetCondition(xpv2.TypeReady); c.Reason == conditions.ReasonNodeOffline {
				w.Errorf("want a node that is cut off not believed, got %s", c.Message)
			}
		default:
			return
		}
	}
}
