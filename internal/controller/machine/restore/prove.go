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

package restore

import (
	"context"
	"fmt"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/act"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/vmcache"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// A Tracker keeps the calls that restore the VMs of Machines, in their annotations.
type Tracker struct {
	Kube    client.Client
	Client  Client
	Members inventory.Members
	Reader  *vmcache.Reader
	Now     func() time.Time

	// MayName reports whether the user of a Machine may know of the VM with a VMID, and thus of its tasks: annotations can name the task of any VM.
	MayName func(ctx context.Context, m object.Machine, vmid int) bool
}

// recorded returns the call that restores the VM of a Machine, or nil if none was recorded.
func recorded(m object.Machine) (*record, error) {
	r, err := parseRecord(m.GetAnnotations()[object.AnnotationRestore])
	return r, errors.Wrapf(err, "annotation %s", object.AnnotationRestore)
}

// Note adds the call that is about to be made to the annotations that are saved before it.
func (t Tracker) Note(ctx context.Context, m object.Machine, ref proxmox.Ref, volume string, notes map[string]string) error {
	earlier, err := recorded(m)
	if err != nil {
		return err
	}
	r, err := newRecord(ctx, t.Client, earlier, ref, volume, t.Now())
	if err != nil {
		return err
	}
	notes[object.AnnotationRestore] = r.String()
	return nil
}

// NoteTask records the task that the call has started.
func (t Tracker) NoteTask(ctx context.Context, m object.Machine, u proxmox.UPID) error {
	return t.change(ctx, m, func(r *record) { r.Task = u })
}

// NoteLost records that the answer to the call was just lost.
func (t Tracker) NoteLost(ctx context.Context, m object.Machine) error {
	return kind.AfterCall(ctx, func(ctx context.Context) error {
		return t.change(ctx, m, func(r *record) { r.Lost = t.Now().Unix() })
	})
}

// change changes the record of the call.
func (t Tracker) change(ctx context.Context, m object.Machine, change func(*record)) error {
	r, err := recorded(m)
	if r == nil || err != nil {
		return err
	}
	change(r)
	return kind.Annotate(ctx, t.Kube, m, map[string]string{object.AnnotationRestore: r.String()})
}

// A Proof shows which Machine owns a VM.
type Proof struct {
	qemu.Proof

	// VM as it was last read.
	VM *vmstate.VM

	// Unfinished is true if the VM is foreign according to its configuration, but is the remains of a failed restore of the Machine. InPlace is true if
	// that was the restore in place of an existing VM.
	Unfinished, InPlace bool
}

// Prove determines which Machine owns a VM. Ownership of a VM that is being restored is proven only by the task.
func (t Tracker) Prove(ctx context.Context, m object.Machine, id qemu.Identity, v *vmstate.VM) (Proof, error) {
	p := Proof{Proof: id.ProveState(v.State), VM: v}
	if p.Proof != qemu.Foreign || !t.MayName(ctx, m, id.VMID) || id.UUID == "" {
		return p, nil
	}
	if p, found, err := t.proveInPlace(ctx, m, id, v); found || err != nil {
		return p, err
	}
	r, err := recorded(m)
	if r == nil || err != nil || m.Parameters().Restore == nil || r.VMID != id.VMID || r.Node != v.Node {
		return p, err
	}
	known := r.Task
	outcome, err := r.settle(ctx, t.Members, t.Client, t.Now())
	if err == nil && known != r.Task {
		err = t.NoteTask(ctx, m, r.Task)
	}
	if err != nil {
		return p, err
	}
	return t.proveBy(ctx, id, v, outcome)
}

// proveInPlace determines which Machine owns a VM by the calls that were to restore it in place.
func (t Tracker) proveInPlace(ctx context.Context, m object.Machine, id qemu.Identity, v *vmstate.VM) (Proof, bool, error) {
	asked, err := act.Parse(m.GetAnnotations()[object.AnnotationRestoreInPlace])
	if err != nil {
		return Proof{VM: v}, false, errors.Wrapf(err, "annotation %s", object.AnnotationRestoreInPlace)
	}
	for _, c := range asked.Calls() {
		if c.Node != v.Node {
			continue
		}
		r := &record{VMID: id.VMID, Node: c.Node, Call: c.Call}
		outcome, err := r.settle(ctx, t.Members, t.Client, t.Now())
		if err != nil {
			return Proof{VM: v}, false, err
		}
		p, err := t.proveBy(ctx, id, v, outcome)
		if err != nil || p.Proof != qemu.Foreign || p.Unfinished {
			p.InPlace = true
			return p, true, err
		}
	}
	return Proof{}, false, nil
}

// proveBy determines which Machine owns a VM by the outcome of a call.
func (t Tracker) proveBy(ctx context.Context, id qemu.Identity, v *vmstate.VM, outcome callOutcome) (Proof, error) {
	p := Proof{Proof: id.ProveState(v.State), VM: v}
	switch outcome {
	case outcomePending, outcomeRunning:
		p.Proof = qemu.Unproven
	case outcomeSucceeded, outcomeFailed:
		return t.proveEnded(ctx, id, v, outcome)
	case outcomeNothing:
	}
	return p, nil
}

// proveEnded reads the VM again: the restore may have ended since the VM was read.
func (t Tracker) proveEnded(ctx context.Context, id qemu.Identity, v *vmstate.VM, outcome callOutcome) (Proof, error) {
	now, err := t.Reader.GetConfig(ctx, v.Ref)
	switch {
	case err != nil:
		return Proof{VM: v}, err
	case now == nil: // It was just removed. The next reconcile finds that.
		return Proof{Proof: qemu.Unproven, VM: v}, nil
	}
	p := Proof{Proof: id.ProveState(now.State), VM: now}
	p.Unfinished = p.Proof == qemu.Foreign && outcome == outcomeFailed && Unfinished(now.Config)
	return p, nil
}

// Stuck returns what to do about a VM that is permanently locked for its creation. A VM that was to be restored in place may still have everything
// that it had.
func Stuck(m object.Machine, v *vmstate.VM) string {
	if m.GetAnnotations()[object.AnnotationRestoreInPlace] == "" {
		return v.Stuck()
	}
	return fmt.Sprintf("VM %d on node %s is locked (%s), but no task works on it: if that lasts, its restore in place could not begin or was interrupted, "+
		"and \"qm unlock %d\" on the node lifts the lock", v.VMID, v.Node, v.Lock(), v.VMID)
}
