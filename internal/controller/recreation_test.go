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
	"maps"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/simulator"
)

// TestRecreations loses nodes while they create VMs, in both scopes and on all versions.
func TestRecreations(t *testing.T) {
	t.Parallel()
	runVersions(t, map[string]scenario{
		"lostanew":   {reason: "A VM whose creation was lost is created again once, and what comes back is removed with consent.", run: madeAnew},
		"losthalf":   {reason: "A half clone that shows no UUID is left alone, whatever the spec consents to.", run: halfClone},
		"notlost":    {reason: "A VM that is complete is never created again, and neither is one of an old manifest.", run: notLost},
		"lostaway":   {reason: "A clone for a node that is lost is complete: it is set up once it is elsewhere.", run: lostAway},
		"lostsource": {reason: "What a VM is made from must be elsewhere.", run: lostSource},
	})
}

// nothing is a VM that is created from nothing.
func nothing() v1alpha1.MachineParameters {
	return v1alpha1.MachineParameters{
		Node: new("pve2"), Disks: []v1alpha1.MachineDisk{{Name: "root", Size: new("1G"), Storage: new("local-lvm")}},
	}
}

// losesCreation creates a VM on a node that is lost meanwhile.
func (w *world) losesCreation(spec v1alpha1.MachineParameters, task, node string) (half int) {
	w.Helper()
	w.pve.Inject(simulator.Fault{Task: task, Count: 1, Hold: true})
	w.create(spec)
	half = w.diesCreating(node)
	w.says(xpv2.TypeReady, conditions.ReasonNodeOffline, "name it in recreation.lostNode")
	return half
}

// diesCreating loses a node while a VM is being created.
func (w *world) diesCreating(node string) (half int) {
	w.Helper()
	half = w.halfMade()
	w.pve.PowerOff(node)
	return half
}

// halfMade waits until a VM is being created.
func (w *world) halfMade() (half int) {
	w.Helper()
	w.eventually("the VM is being created", func() bool {
		half = 0
		w.pve.Edit(func(s *simulator.State) {
			for id, g := range s.Guests {
				if lock := g.Config["lock"]; lock == "create" || lock == "clone" {
					half = id
				}
			}
		})
		return half != 0
	})
	return half
}

// recreates requests a recreation, and waits for the resulting state.
func (w *world) recreates(r v1alpha1.MachineRecreation, want v1alpha1.MachineActState) *v1alpha1.MachineRecreationObservation {
	w.Helper()
	w.change(func(p *v1alpha1.MachineParameters) { p.Recreation = &r })
	w.eventually("the recreation is "+string(want), func() bool {
		w.exists()
		o := w.m.Observation().Recreation
		return o != nil && o.Token == r.Token && o.State == want
	})
	return w.m.Observation().Recreation
}

func madeAnew(w *world) {
	half := w.losesCreation(nothing(), "qmcreate", "pve2")
	w.recreates(v1alpha1.MachineRecreation{LostNode: "pve1", Token: "0"}, v1alpha1.ActRefused)
	w.says(xpv2.TypeReady, conditions.ReasonNodeOffline, "name it in recreation.lostNode")
	w.recreates(v1alpha1.MachineRecreation{LostNode: "pve2", Token: "1"}, v1alpha1.ActPending)
	w.says(xpv2.TypeReady, conditions.ReasonNodeOffline, "the recreation: waiting: ")
	w.change(func(p *v1alpha1.MachineParameters) { p.Node = new("pve3") })
	w.ready()
	if o := w.m.Observation().Recreation; o.State != v1alpha1.ActSucceeded || len(o.Remains) != 1 || int(o.Remains[0].VMID) != half ||
		w.vmid() == half || w.vm().Node != "pve3" {
		w.Errorf("VM %d is created again on another node, got VM %d and %+v", half, w.vmid(), o)
	}
	uuid := w.m.Observation().Recreation.Remains[0].UUID
	w.stop()
	w.start()
	w.unchanged()
	w.pve.PowerOn("pve2")
	w.pve.Edit(func(s *simulator.State) {
		maps.Copy(s.Guests[half].Config, map[string]string{"smbios1": "uuid=" + uuid, "lock": "create"})
	})
	w.nudge()
	w.says(conditions.TypeRemainsFound, conditions.ReasonLostCreation, "set recreation.removeRemains")
	w.unchanged()
	w.change(func(p *v1alpha1.MachineParameters) { p.Recreation.RemoveRemains = new(true) })
	w.says(conditions.TypeRemainsFound, conditions.ReasonLostCreation, "qm unlock")
	w.pve.Edit(func(s *simulator.State) { delete(s.Guests[half].Config, "lock") })
	w.nudge()
	w.eventually("what came back is removed", func() bool {
		_, there := w.pve.Guest(half)
		return !there
	})
	w.nudge()
	w.says(conditions.TypeRemainsFound, conditions.ReasonNoRemains, "")
	w.ready()
	if n := w.tasks("qmcreate"); n != 2 {
		w.Errorf("want one VM beside the one that was lost, got %d", n)
	}
	w.finish()
}

func halfClone(w *world) {
	w.anotherTemplate(9100, "1700000000", "3", "")
	w.pve.Edit(func(s *simulator.State) { s.Guests[9100].Node = "pve2" })
	spec := ubuntu()
	spec.Node = new("pve1")
	half := w.losesCreation(spec, "qmclone", "pve1")
	w.change(func(p *v1alpha1.MachineParameters) { p.Node = new("pve2") })
	w.recreates(v1alpha1.MachineRecreation{LostNode: "pve1", Token: "1", RemoveRemains: new(true)}, v1alpha1.ActSucceeded)
	w.ready()
	w.pve.PowerOn("pve1")
	w.nudge()
	w.says(conditions.TypeRemainsFound, conditions.ReasonLostCreation, "shows no UUID")
	w.unchanged()
	if g, there := w.pve.Guest(half); !there || g.Config["lock"] != "clone" {
		w.Errorf("what is not proven is left alone, got %+v", g)
	}
	w.delete()
	w.gone()
	if ours := w.ours(); len(ours) != 1 || ours[0] != half {
		w.Errorf("want the half alone left, got %v", ours)
	}
}

func notLost(w *world) {
	spec := nothing()
	spec.Recreation = &v1alpha1.MachineRecreation{LostNode: "pve2", Token: "1"}
	w.create(spec)
	w.says(kind.TypeUpToDate, "RecreationRefused", "it was asked for before the Machine had a VM")
	w.recreates(v1alpha1.MachineRecreation{LostNode: "pve2", Token: "2"}, v1alpha1.ActRefused)
	w.says(kind.TypeUpToDate, "RecreationRefused", "complete")
	w.pve.PowerOff("pve2")
	w.says(xpv2.TypeReady, conditions.ReasonNodeOffline, "is offline")
	w.recreates(v1alpha1.MachineRecreation{LostNode: "pve2", Token: "3"}, v1alpha1.ActRefused)
	w.pve.PowerOn("pve2")
	w.eventually("the VM is there again", w.vmIsReady)
	if n := w.tasks("qmcreate"); n != 1 {
		w.Errorf("want one VM, got %d", n)
	}
	w.finish()
}

// lostAway loses the target node of a clone while another node creates it. PVE continues, and leaves the clone complete on the node that is off. The
// advice and the act agree that it is not created again.
func lostAway(w *world) {
	w.pve.Inject(simulator.Fault{Task: "qmclone", Count: 1, Hold: true})
	spec := ubuntu()
	spec.Node = new("pve2")
	w.create(spec)
	w.eventually("the VM is being cloned", func() bool { return w.tasks("qmclone") == 1 })
	w.pve.PowerOff("pve2")
	w.pve.ClearFaults()
	w.says(xpv2.TypeReady, conditions.ReasonNodeOffline, "the VM is complete, and is set up when the node is back")
	w.says(xpv2.TypeReady, conditions.ReasonNodeOffline, "/etc/pve/nodes/pve2/qemu-server")
	w.recreates(v1alpha1.MachineRecreation{LostNode: "pve2", Token: "1"}, v1alpha1.ActRefused)
	w.change(func(p *v1alpha1.MachineParameters) { p.Node = new("pve3") })
	id := w.ours()[0]
	w.pve.Edit(func(s *simulator.State) { s.Guests[id].Node = "pve3" })
	w.ready()
	if v, n := w.vm(), w.tasks("qmclone"); v.Node != "pve3" || n != 1 {
		w.Errorf("want one clone, on pve3, got %d on %s", n, v.Node)
	}
	w.change(func(p *v1alpha1.MachineParameters) { p.Recreation = nil })
	w.ready()
	w.finish()
}

func lostSource(w *world) {
	half := w.losesCreation(ubuntu(), "qmclone", "pve1")
	w.recreates(v1alpha1.MachineRecreation{LostNode: "pve1", Token: "1"}, v1alpha1.ActPending)
	w.says(xpv2.TypeReady, conditions.ReasonNodeOffline, "the recreation: waiting: ")
	if n := w.tasks("qmclone"); n != 1 {
		w.Errorf("nothing is made, got %d clones", n)
	}
	w.pve.PowerOn("pve1")
	w.pve.Edit(func(s *simulator.State) { delete(s.Guests, half) })
	w.ready()
	w.finish()
}
