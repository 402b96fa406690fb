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

package faults

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/internal/simulator"
)

// ends returns the messages of PVE for a task of a type that fails, and for any that is killed.
func ends(kind string) []string {
	const (
		locked   = "can't lock file '/var/lock/qemu-server/lock-10000.conf' - got timeout"
		modified = "checksum mismatch (file change by other user?)"
		off      = "VM quit/powerdown failed - got timeout"
	)
	return append(map[string][]string{
		"qmcreate": {
			"unable to create VM 10000 - storage 'local-lvm' is disabled",
			"unable to create VM 10000 - unable to create image: qemu-img: /mnt/pve/nfs/images/10000/vm-10000-disk-0.raw: No space left on device",
		},
		"qmclone":    {locked, "clone failed: unable to create image: got lock timeout - aborting command"},
		"qmconfig":   {locked, modified},
		"resize":     {locked, modified},
		"qmstart":    {locked, "start failed: QEMU exited with code 1"},
		"qmshutdown": {off},
		"qmstop":     {locked, off},
		"qmreboot":   {locked, off},
		"qmsuspend":  {locked, "storage 'local-lvm' is disabled"},
		"qmresume":   {locked},
		"qmdestroy":  {locked, "VM is locked (backup)"},
		"qmmove":     {locked, "storage migration failed: block job (mirror) error: drive-scsi0: 'mirror' has been cancelled"},
		"qmigrate":   {locked, "migration aborted"},
		"hastart":    {"service 'vm:10000' in error state, must be disabled and fixed first"},
	}[kind], "unexpected status", "interrupted by signal")
}

// maxTasks is how many tasks of a type fail in succession: the provider waits longer each time.
const maxTasks = 3

// taskFaults returns the faults of tasks: each task of a type fails, or cannot be started.
func taskFaults(tasks []simulator.Task) []simulator.Fault {
	count := map[string]int{}
	var out []simulator.Fault
	for _, t := range slices.DeleteFunc(slices.Clone(tasks), notOurs) {
		n := count[t.Type]
		count[t.Type]++
		for _, text := range ends(t.Type) {
			out = append(out, simulator.Fault{Task: t.Type, TaskExit: text, Skip: n, Count: 1})
			if n == 0 {
				out = append(out, simulator.Fault{Task: t.Type, TaskExit: text, Count: maxTasks})
			}
		}
		out = append(out, simulator.Fault{Task: t.Type, Refuse: true, Skip: n, Count: 1})
	}
	return out
}

// notOurs reports whether PVE itself has started a task, such as those of the HA manager, and the start of a VM that is rebooted. PVE itself handles
// their failures.
func notOurs(t simulator.Task) bool { return t.User == "root@pam" }

// listen records what the Machine reports about failures.
func (w *env) listen() {
	c := w.m.GetCondition(xpv2.TypeSynced)
	if c.Status == corev1.ConditionFalse && !slices.Contains(w.told, c.Message) {
		w.told = append(w.told, c.Message)
	}
	for _, message := range w.tellsOfVolumes() {
		if !slices.Contains(w.told, message) {
			w.told = append(w.told, message)
		}
	}
	if t := w.m.Observation().LastTask; t != nil && !slices.Contains(w.told, t.Result) {
		w.told = append(w.told, t.Result)
	}
}

// toldOf checks that the Machine has reported a failed task of ours, or an event has if the task was not for its VM. A task that ended with its node
// has no result to report.
func (w *env) toldOf(t *testing.T, f simulator.Fault) {
	t.Helper()
	if f.TaskExit == "" || !slices.ContainsFunc(w.pve.Tasks(), func(t simulator.Task) bool { return t.Exit == f.TaskExit && !t.Lost && !notOurs(t) }) {
		return
	}
	told := func(s string) bool { return strings.Contains(s, f.TaskExit) }
	inEvents := func(s string) bool {
		return strings.HasPrefix(s, "event Warning TaskFailed: cannot remove ") && told(s)
	}
	if !slices.ContainsFunc(w.told, told) && !slices.ContainsFunc(strings.Split(w.journal.String(), "\n"), inEvents) {
		t.Errorf("nobody was told that %s failed; told: %q\n%s", f.Task, w.told, w)
	}
}

// heed does what the Machine asks an administrator to do on the node: what is left of a VM whose creation could not be started is locked for all but
// root.
func (w *env) heed() {
	vmid := int(ptr.Deref(w.m.Observation().VMID, 0))
	if strings.Contains(w.m.GetCondition(xpv2.TypeReady).Message, fmt.Sprintf("\"qm unlock %d\" on the node", vmid)) {
		w.pve.Edit(func(s *simulator.State) { delete(s.Guests[vmid].Config, "lock") })
	}
	w.destroyIfTold(vmid, w.m.GetCondition(xpv2.TypeReady).Message)
	for _, v := range w.volumes {
		w.destroyIfTold(int(ptr.Deref(v.Observation().StubVMID, 0)), v.GetCondition(xpv2.TypeReady).Message)
	}
}

// destroyIfTold destroys a VM if a message asks an administrator to do that on the node.
func (w *env) destroyIfTold(vmid int, message string) {
	if !strings.Contains(message, fmt.Sprintf("qm unlock %d && qm destroy %d", vmid, vmid)) {
		return
	}
	if len(w.running()) > 0 {
		return // "qm destroy" fails to get the lock of a configuration while a task works on the VM.
	}
	w.pve.Edit(func(s *simulator.State) { delete(s.Guests, vmid) })
}
