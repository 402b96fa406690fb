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
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/connect"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/simulator"
)

// budgets returns the budgets of the lives of a Machine.
func budgets() map[string]scenario {
	return map[string]scenario{
		"image":    {reason: "Created from an image: create, look, start, look.", run: budgetOfImage},
		"linked":   {reason: "Cloned with other hardware: clone, look, change, start.", run: budgetOfClone},
		"resized":  {reason: "Cloned with a larger disk: one call more.", run: budgetOfResize},
		"changed":  {reason: "Changed: look, change, look.", run: budgetOfChanges},
		"repaired": {reason: "Repaired: look, change, look.", run: budgetOfRepair},
		"powered":  {reason: "Stopped and started: look and do.", run: budgetOfPower},
		"deleted":  {reason: "Deleted while it runs: shut down, look, destroy.", run: budgetOfDelete},
		"adopted":  {reason: "Adopted: look at the VM twice.", run: budgetOfAdoption},
		"highly":   {reason: "Created for HA: told once, and looked at while HA acts.", run: budgetOfHA},
		"idle":     {reason: "Nothing happens: do not look at all.", run: budgetOfNothing},
		"looked":   {reason: "A look that is asked for reads the VM.", run: budgetOfLooks},
	}
}

// TestBudgets counts the calls that each life of a Machine costs, except those that are made for all Machines together.
func TestBudgets(t *testing.T) {
	t.Parallel()
	all := budgets()
	for name, sc := range all {
		sc.options = leisurely
		all[name] = sc
	}
	runAll(t, all)
}

// leisurely returns options of a provider whose clock runs slowly. The provider reads data that is a second old again before it acts on it, and a
// busy computer may need a second for anything.
func leisurely(mgr ctrl.Manager) kind.Options {
	begun, o := time.Now(), kindOptions(mgr)
	o.Now = func() time.Time { return begun.Add(time.Since(begun) / 10) }
	o.Connections = connect.New(mgr.GetClient(), connect.WithRecordsIn("default"), connect.WithInventory(append(quick(), inventory.WithClock(o.Now))...))
	return o
}

// shared reports whether a request is made for all Machines together, concerns the template, or asks a guest in the background.
func shared(r simulator.Request) bool {
	return slices.Contains([]string{
		"/version", "/cluster/tasks", "/cluster/resources", "/cluster/log", "/cluster/status", "/access/permissions", "/access/ticket",
	}, r.Path) ||
		strings.HasSuffix(r.Path, "/network") || strings.HasSuffix(r.Path, "/tasks") || strings.Contains(r.Path, "/agent/") ||
		strings.HasSuffix(r.Path, "/content") || r.Method == http.MethodGet &&
		strings.Contains(r.Path, "/qemu/9000/")
}

// calls returns the calls for the Machine so far.
func (w *world) calls() []string {
	var all []string
	for _, r := range w.pve.Requests() {
		if !shared(r) && !strings.HasPrefix(r.User, "root@pam") {
			all = append(all, fmt.Sprintf("%s %s %d", r.Method, r.Path, r.Status))
		}
	}
	return all
}

// costs checks the number of calls that an operation costs, until the Machine is ready again.
func (w *world) costs(most int, what string, do func()) {
	w.Helper()
	before := len(w.calls())
	do()
	if got := w.calls()[before:]; len(got) > most {
		w.Errorf("%s: want at most %d calls, got %d:\n%s", what, most, len(got), strings.Join(got, "\n"))
	}
}

// calm is a Machine whose guest has no agent that could be asked.
func calm() v1alpha1.MachineParameters {
	p := ubuntu()
	p.Agent = new(false)
	return p
}

func budgetOfImage(w *world) {
	w.costs(4, "create from an image", func() {
		w.create(v1alpha1.MachineParameters{
			Image: &v1alpha1.MachineImage{Volume: cloudImage},
			Disks: []v1alpha1.MachineDisk{{Name: "root", Storage: new("local-lvm")}},
		})
		w.ready()
	})
}

func budgetOfClone(w *world) {
	w.costs(4, "clone with other hardware", func() {
		p := calm()
		p.CPU = &v1alpha1.MachineCPU{Cores: new(int32(4))}
		w.create(p)
		w.ready()
	})
}

func budgetOfResize(w *world) {
	w.costs(5, "clone with other hardware and a larger disk", func() {
		p := calm()
		p.CPU = &v1alpha1.MachineCPU{Cores: new(int32(4))}
		p.Disks = []v1alpha1.MachineDisk{{Name: "root", Device: new("scsi0"), Size: new("20G")}}
		w.create(p)
		w.ready()
	})
}

func budgetOfHA(w *world) {
	w.grant("/", "PVESysAdmin")
	w.costs(16, "clone for HA, which starts it", func() { // HA's tasks are signs of changes.
		p := calm()
		p.HighAvailability = &v1alpha1.MachineHighAvailability{}
		w.create(p)
		w.ready()
	})
}

func budgetOfChanges(w *world) {
	w.create(calm())
	w.ready()
	w.costs(3, "change of cores", func() {
		w.change(func(p *v1alpha1.MachineParameters) { p.CPU = &v1alpha1.MachineCPU{Cores: new(int32(4))} })
		w.eventually("the change is shown", func() bool { w.exists(); return len(w.m.Observation().PendingChanges) > 0 })
		w.ready()
	})
}

func budgetOfRepair(w *world) {
	p := calm()
	p.Tags = []string{"ours"}
	w.create(p)
	w.ready()
	w.costs(3, "repair", func() {
		if err := w.admin.Configure(w.Context(), w.ref(), proxmox.Change{Set: proxmox.Params{"tags": "theirs"}}); err != nil {
			w.Fatal(err)
		}
		w.eventually("it is repaired", func() bool { return w.vm().Config["tags"] == "ours" })
		w.ready()
	})
}

func budgetOfPower(w *world) {
	w.create(calm())
	w.ready()
	w.costs(2, "stop", func() {
		w.change(func(p *v1alpha1.MachineParameters) { p.PowerState = new(v1alpha1.PowerStateStopped) })
		w.eventually("the VM is stopped", func() bool { w.exists(); return w.m.Observation().Phase == v1alpha1.MachineStopped })
		w.ready()
	})
	w.costs(2, "start", func() {
		w.change(func(p *v1alpha1.MachineParameters) { p.PowerState = nil })
		w.eventually("the VM runs", func() bool { w.exists(); return w.m.Observation().Phase == v1alpha1.MachineRunning })
		w.ready()
	})
}

func budgetOfDelete(w *world) {
	w.create(calm())
	w.ready()
	w.costs(3, "delete", w.finish)
}

func budgetOfAdoption(w *world) {
	w.costs(2, "adopt", func() {
		w.create(v1alpha1.MachineParameters{Networks: []v1alpha1.MachineNetwork{{Name: "wan"}}}, adopting)
		w.ready()
	})
}

func budgetOfNothing(w *world) {
	w.create(calm())
	w.ready()
	w.says(conditions.TypeRestartRequired, conditions.ReasonUpToDate, "")
	w.costs(0, "nothing", func() {
		for i := range 3 {
			w.annotate("example.org/nothing", fmt.Sprint(i))
			w.ready()
		}
		w.says(xpv2.TypeReady, xpv2.ReasonAvailable, "")
	})
}

// budgetOfLooks requests reconciles of a VM without a sign of change, which is read once for each request.
func budgetOfLooks(w *world) {
	w.create(calm())
	w.ready()
	w.says(conditions.TypeRestartRequired, conditions.ReasonUpToDate, "")
	for _, token := range []string{"first", "second"} {
		before := len(w.calls())
		w.costs(2, "a look that is asked for", func() {
			w.annotate(meta.AnnotationKeyReconcileRequestedAt, token)
			w.eventually("the status shows that the look was done", func() bool {
				handled, ok := w.m.(interface{ GetLastHandledReconcileAt() string })
				return w.exists() && ok && handled.GetLastHandledReconcileAt() == token
			})
		})
		if len(w.calls()) == before {
			w.Errorf("the request %q has read nothing of the VM", token)
		}
	}
}
