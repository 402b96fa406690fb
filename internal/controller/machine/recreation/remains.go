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

package recreation

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	xpevent "github.com/crossplane/crossplane-runtime/v2/pkg/event"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/act"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/events"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// found describes what has returned of a lost creation.
type found struct {
	act.Remains

	// Node that it is on now.
	Node string

	// Gone is true if nothing of it belongs to this Machine any more.
	Gone bool

	// Message describes what exists, and what happens to it. It is empty while its node cannot be asked.
	Message string

	// Remove is true if it is to be removed and nothing prevents that.
	Remove bool
}

// A Removal destroys the remains of a lost creation. Its task does not belong to the Machine's VM.
type Removal struct {
	Difference v1alpha1.MachinePendingChange
	Call       func(context.Context) (proxmox.UPID, error)
}

// Removals returns the removals of the remains that have returned and may be destroyed. It shows all that have returned in a condition.
func (w Recreator) Removals(ctx context.Context, m object.Machine) ([]Removal, error) {
	r, err := act.Recorded(Kind{}, m)
	if err != nil {
		return nil, err
	}
	var told []string
	var all []Removal
	for _, v := range r.Remains {
		f, err := w.look(ctx, m, v)
		if err != nil {
			return nil, err
		}
		if f.Gone && kind.Manages(m) {
			r = without(r, v)
		}
		if f.Remove {
			all = append(all, w.removal(m, v))
		}
		if f.Message != "" {
			told = append(told, f.Message)
		}
	}
	w.tell(m, strings.Join(told, "; "))
	return all, w.Save(ctx, r)
}

func (w Recreator) removal(m object.Machine, v act.Remains) Removal {
	call := func(ctx context.Context) (proxmox.UPID, error) {
		u, err := w.remove(ctx, m, v)
		if u != "" {
			w.follow(m, v, u)
		}
		return "", err
	}
	return Removal{Difference: v1alpha1.MachinePendingChange{Option: "remains", Current: name(v)}, Call: call}
}

// follow follows the task of a removal, which does not belong to the Machine's VM: its failure is reported in an event.
func (w Recreator) follow(m object.Machine, v act.Remains, u proxmox.UPID) {
	m, _ = m.DeepCopyObject().(object.Machine)
	w.Inventory.Follow(u, func(t proxmox.Task) {
		if err := t.Err(); err != nil {
			w.Record.Event(m, xpevent.Warning(events.ReasonTaskFailed, errors.Wrapf(err, "cannot remove %s, which a lost creation has left", name(v))))
		}
		w.Wake()
	})
}

// tell shows in a condition what has returned, and reports it in an event once.
func (w Recreator) tell(m object.Machine, message string) {
	before := m.GetCondition(conditions.TypeRemainsFound)
	switch {
	case message != "":
		conditions.Set(m, conditions.New(conditions.TypeRemainsFound, corev1.ConditionTrue, conditions.ReasonLostCreation, message))
		if before.Message != message {
			w.Record.Event(m, xpevent.Warning(events.ReasonRemainsFound, errors.New(message)))
		}
	case before.Status == corev1.ConditionTrue:
		conditions.Set(m, conditions.New(conditions.TypeRemainsFound, corev1.ConditionFalse, conditions.ReasonNoRemains, ""))
	}
}

// EmitOrphaned reports which remains of lost creations a deleted Machine leaves.
func (w Recreator) EmitOrphaned(m object.Machine) {
	r, err := act.Recorded(Kind{}, m)
	if err != nil {
		return
	}
	for _, v := range r.Remains {
		w.Record.Event(m, xpevent.Warning(events.ReasonOrphanedRemains, errors.Errorf(
			"%s, whose creation was lost, is left alone: if it comes back, it can be told by the UUID %s", name(v), v.UUID)))
	}
}

// look looks for the remains of a lost creation.
func (w Recreator) look(ctx context.Context, m object.Machine, r act.Remains) (found, error) {
	f := found{Remains: r, Node: r.Node}
	if !w.MayReport(ctx, m, r) {
		return f, nil
	}
	guests, err := w.Inventory.Guests(ctx, inventory.Current)
	if err != nil {
		return f, err
	}
	g, listed := proxmox.GuestOf(guests, r.VMID)
	if listed {
		f.Node = g.Node // An administrator may have moved its configuration.
	}
	if off, err := w.Reader.NodeUnreachable(ctx, f.Node); off || err != nil {
		return f, err
	}
	if f.Gone = listed && g.Type == "lxc"; f.Gone {
		return f, nil
	}
	v, err := w.Reader.GetConfig(ctx, proxmox.Ref{Node: f.Node, VMID: r.VMID})
	switch {
	case !listed && proxmox.IsAuthorization(err):
		return f, nil // It may exist, but not be visible.
	case err != nil || v == nil:
		f.Gone = err == nil && !listed // A list may lack a VM for a moment: its node must confirm it.
		return f, err
	}
	return w.judge(ctx, m, f, v)
}

func (w Recreator) judge(ctx context.Context, m object.Machine, f found, v *vmstate.VM) (found, error) {
	what := fmt.Sprintf("VM %d on node %s is what the lost creation has left", f.VMID, f.Node)
	switch (qemu.Identity{VMID: f.VMID, UUID: f.UUID}).ProveState(v.State) {
	case qemu.Foreign:
		f.Gone = true
		return f, nil
	case qemu.Unproven:
		f.Message = fmt.Sprintf("VM %d on node %s is locked (%s) and shows no UUID: it seems to be what the lost creation has left, "+
			"and is left alone. To remove it, run \"qm unlock %d && qm destroy %d\" on the node", f.VMID, f.Node, v.Lock(), f.VMID, f.VMID)
		return f, nil
	case qemu.Ours:
	}
	others, err := w.Machines.OtherClaimants(ctx, m, object.ClaimOfUUID(v.Config.UUID()))
	if err != nil {
		return f, err
	}
	if f.Gone = len(others) > 0; f.Gone {
		return f, nil // Another Machine has adopted it.
	}
	if a := m.Parameters().Recreation; a == nil || !ptr.Deref(a.RemoveRemains, false) {
		f.Message = what + ": it is left alone. To have it removed, set recreation.removeRemains"
		return f, nil
	}
	no, err := w.obstacle(ctx, f, v)
	if f.Remove = no == ""; f.Remove {
		no = "it is to be removed"
	}
	f.Message = what + ": " + no
	return f, err
}

// obstacle returns why the remains cannot be removed yet, or an empty string.
func (w Recreator) obstacle(ctx context.Context, f found, v *vmstate.VM) (string, error) {
	busy, err := w.Busy(f.VMID)
	if err != nil {
		return "it cannot be told whether a task works on it", err
	}
	if busy {
		return "a task works on it", nil
	}
	if lock := v.Lock(); lock != "" {
		return fmt.Sprintf("it is locked (%s). Run \"qm unlock %d\" on the node to let it be removed", lock, f.VMID), nil
	}
	if v.Config["protection"] == "1" {
		return "it is protected", nil
	}
	if err := w.Removable(ctx, v.Config.UUID(), f.VMID); err != nil {
		return err.Error(), nil //nolint:nilerr // It stands in the way, and is told.
	}
	s, err := w.Client.Status(ctx, v.Ref)
	if err != nil {
		return "its status cannot be read", err
	}
	if s.Running() {
		return "it runs, and is left alone until it is off", nil
	}
	return "", nil
}

// remove removes the remains, after it has checked them again.
func (w Recreator) remove(ctx context.Context, m object.Machine, r act.Remains) (proxmox.UPID, error) {
	f, err := w.look(ctx, m, r)
	if err != nil || !f.Remove {
		return "", err
	}
	u, err := w.Client.Delete(ctx, proxmox.Ref{Node: f.Node, VMID: r.VMID}, proxmox.DeleteOptions{})
	return u, errors.Wrapf(err, "cannot remove VM %d, which a lost creation has left", r.VMID)
}

// without returns the record without remains that no longer exist.
func without(r *act.Record, gone act.Remains) *act.Record {
	next := *r
	next.Remains = slices.DeleteFunc(slices.Clone(r.Remains), func(v act.Remains) bool { return v == gone })
	return &next
}

// name returns the name of the remains, for differences.
func name(r act.Remains) string { return "VM " + strconv.Itoa(r.VMID) + " on " + r.Node }
