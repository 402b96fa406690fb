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
	"strings"
	"testing"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
)

func TestBootable(t *testing.T) {
	t.Parallel()
	runVersions(t, map[string]scenario{
		"bootsnothing": {reason: "A VM that runs with nothing to boot from is not all green, until it has something.", run: bootsNothing},
	})
}

// bootsNothing creates a VM without a source and without devices, and gives it a disk later.
func bootsNothing(w *world) {
	w.create(v1alpha1.MachineParameters{Node: new("pve1")})
	w.saysTogether()
	w.ready()
	if c := w.m.GetCondition(kind.TypeUpToDate); c.Status != corev1.ConditionTrue {
		w.Errorf("such a Machine may be wanted, and is as declared: %+v", c)
	}
	w.unchanged()
	w.change(func(p *v1alpha1.MachineParameters) { p.PowerState = new(v1alpha1.PowerStateStopped) })
	w.says(conditions.TypeBootable, conditions.ReasonNotRunning, "not running")
	w.change(func(p *v1alpha1.MachineParameters) {
		p.PowerState, p.Disks = new(v1alpha1.PowerStateRunning), []v1alpha1.MachineDisk{{Name: "root", Size: new("1G"), Storage: new("local-lvm")}}
	})
	w.says(conditions.TypeBootable, conditions.ReasonBootDeviceFound, "")
	w.eventually("an event tells of it", func() bool { return len(w.told("NothingToBoot")) > 0 })
	if told := w.told("NothingToBoot"); len(told) != 1 {
		w.Errorf("want one event, got %q", told)
	}
	w.ready()
	w.unchanged()
	w.finish()
}

// saysTogether waits until Ready reports that there is nothing to boot from, and expects the same of Bootable in the same write.
func (w *world) saysTogether() {
	w.Helper()
	late, states := time.After(slowest), w.states()
	defer states.Stop()
	for {
		ready, bootable := w.m.GetCondition(xpv2.TypeReady), w.m.GetCondition(conditions.TypeBootable)
		told := strings.Contains(ready.Message, "nothing to boot from")
		if told != (bootable.Status == corev1.ConditionFalse) || told && bootable.Reason != conditions.ReasonNothingToBoot {
			w.Errorf("Ready and Bootable say different things: %+v, %+v", ready, bootable)
		}
		if told {
			return
		}
		select {
		case e := <-states.ResultChan():
			if !w.take(e.Object) {
				w.Fatal("the states of the Machine are not sent any more")
			}
		case <-late:
			w.Fatalf("never happened: the VM has nothing to boot from\n%s", w)
		}
	}
}
