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
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	xpevent "github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/act"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/events"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/vmcache"
)

// askedRecord returns the record of the recreation that the spec asks for and that is still to be done, or nil.
func askedRecord(m object.Machine, now time.Time) (*act.Record, error) {
	asked := Kind{}.Asked(m)
	if asked == nil || meta.WasDeleted(m) || !object.MayCreate(m) || !kind.Manages(m) {
		return nil, nil
	}
	r, err := act.Recorded(Kind{}, m)
	if err != nil || r.Token == asked.Token && r.Final() {
		return nil, err
	}
	if r.Token != asked.Token {
		r = r.Next(asked.Token, now)
	}
	r.Target = asked.Target
	return r, nil
}

// Observe returns the observation of a VM that cannot be read. If its creation was lost with its node and the spec asks for it, the Machine gets
// another identity, which the next reconcile uses.
func (l Recreator) Observe(ctx context.Context, m object.Machine, id qemu.Identity, unreadable error) (managed.ExternalObservation, error) {
	if !errors.As(unreadable, &vmcache.OfflineError{}) {
		return managed.ExternalObservation{}, unreadable
	}
	unreadable = conditions.Unreadable(m, unreadable, l.completeOn(ctx, id))
	r, err := askedRecord(m, l.Now)
	if r != nil && err == nil {
		err = l.recreate(ctx, m, id, r)
	}
	if r == nil || err != nil {
		return managed.ExternalObservation{}, errors.Join(unreadable, err)
	}
	Kind{}.Show(m, r)
	if r.State == v1alpha1.ActSucceeded {
		l.begin(m, id, r)
		return managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: true}, nil
	}
	if r.State == v1alpha1.ActRefused {
		if err := l.Save(ctx, r); err != nil {
			return managed.ExternalObservation{}, err
		}
	}
	conditions.AppendReady(m, "the recreation: "+r.Message)
	return managed.ExternalObservation{}, unreadable
}

// completeOn returns the node of a VM that the cluster lists without the lock of a creation, or an empty string if it lists none. Proxmox VE also
// creates clones for nodes that are off.
func (l Recreator) completeOn(ctx context.Context, id qemu.Identity) string {
	guests, err := l.Inventory.Guests(ctx, inventory.Current)
	guest, listed := proxmox.GuestOf(guests, id.VMID)
	if err != nil || !listed || beingCreated(guest) {
		return ""
	}
	return guest.Node
}

// beingCreated reports whether a VM has the lock of a creation. The cluster lists the lock, because it is in a file that all nodes have.
func beingCreated(g proxmox.Guest) bool { return g.Lock == "create" || g.Lock == "clone" }

// begin starts to look for the VM of the other identity.
func (l Recreator) begin(m object.Machine, id qemu.Identity, r *act.Record) {
	l.Forget(m)
	message := fmt.Sprintf("the creation of VM %d was lost with node %s: the VM is created again as VM %s", id.VMID, r.Target, meta.GetExternalName(m))
	l.Record.Event(m, xpevent.Normal(events.ReasonRecreating, message))
	conditions.Set(m, xpv2.Creating().WithMessage(message), conditions.New(conditions.TypeVMCreated, corev1.ConditionFalse, conditions.ReasonCreating, message))
	l.Wake()
}

// recreate gives the Machine another identity if the creation of its VM was lost with the node that the spec names. It reports the result in the
// record: a refusal, a wait, or success.
func (l Recreator) recreate(ctx context.Context, m object.Machine, id qemu.Identity, r *act.Record) error {
	guest, wait, err := l.find(ctx, id)
	if err != nil {
		return err
	}
	no := l.refusal(m, id, guest, r)
	switch {
	case wait != "":
		r.Enter(v1alpha1.ActPending, wait, l.Now)
		return nil
	case no != "":
		r.Enter(v1alpha1.ActRefused, no, l.Now)
		return nil
	}
	identity, err := l.Allocate(ctx)
	if err != nil {
		return errors.Wrap(err, "cannot choose another VMID")
	}
	if err := l.check(ctx, renamed(m, identity), r.Target); err != nil {
		r.Enter(v1alpha1.ActPending, "waiting: "+err.Error(), l.Now)
		return nil //nolint:nilerr // The record has it, and it may pass.
	}
	return l.rename(ctx, m, id, r, identity)
}

// check checks that the VM of the other identity can be created without the lost node, whose VMs remain known for a while.
func (l Recreator) check(ctx context.Context, m object.Machine, node string) error {
	id, err := object.IdentityOf(m)
	if err != nil {
		return err
	}
	s, err := l.Check(ctx, m, id)
	if err == nil && s != nil && s.Node == node {
		err = errors.Errorf("VM %d, which it is cloned from, is on node %s", s.VMID, node)
	}
	return err
}

// find finds the VM in the list of a cluster with quorum, or returns what it waits for.
func (l Recreator) find(ctx context.Context, id qemu.Identity) (guest proxmox.Guest, wait string, err error) {
	_, wait, err = inventory.QuorateStatus(ctx, l.Inventory)
	if err != nil || wait != "" {
		return proxmox.Guest{}, wait, err
	}
	guests, err := l.Inventory.Guests(ctx, inventory.Fresh)
	if err != nil {
		return proxmox.Guest{}, "", err
	}
	guest, listed := proxmox.GuestOf(guests, id.VMID)
	if !listed {
		return guest, fmt.Sprintf("VM %d is not listed, so that nothing proves its creation lost", id.VMID), nil
	}
	return guest, "", nil
}

// refusal returns why the VM is not created again, or an empty string if it is. The lock of the VM proves that its creation was lost.
func (l Recreator) refusal(m object.Machine, id qemu.Identity, guest proxmox.Guest, r *act.Record) string {
	a := m.GetAnnotations()
	switch {
	case r.Repeated():
		return "this token was asked for before"
	case guest.Node != r.Target:
		return fmt.Sprintf("VM %d is not on node %s", id.VMID, r.Target) // The tenant may not see where it is.
	case !beingCreated(guest):
		return fmt.Sprintf("VM %d is not locked for its creation: it is complete, and comes back with its node", id.VMID)
	case !object.MayReplaceVMID(m), a[object.AnnotationRestoreInPlace] != "", a[object.AnnotationRunningSince] != "", a[object.AnnotationHARules] != "",
		meta.GetExternalCreatePending(m).IsZero():
		return fmt.Sprintf("VM %d was complete once, or its VMID was chosen by somebody else", id.VMID)
	}
	return ""
}

// lost returns the annotations that describe the VM whose creation was lost, and no other VM.
func lost() []string {
	return []string{
		object.AnnotationNode, object.AnnotationSource, object.AnnotationTarget, object.AnnotationPlacement, object.AnnotationDevices,
		object.AnnotationPassword, object.AnnotationRestore, object.AnnotationCreation,
		meta.AnnotationKeyExternalCreatePending, meta.AnnotationKeyExternalCreateSucceeded, meta.AnnotationKeyExternalCreateFailed,
	}
}

// renamed returns a copy of the Machine with another identity.
func renamed(m object.Machine, identity map[string]string) object.Machine {
	other, _ := m.DeepCopyObject().(object.Machine)
	a := other.GetAnnotations()
	for _, name := range lost() {
		delete(a, name)
	}
	other.SetAnnotations(a)
	meta.AddAnnotations(other, identity)
	return other
}

// rename renames the Machine. Identity and record are one write: a provider that ends before it has changed nothing, and a provider that starts after
// it finds the token used.
func (l Recreator) rename(ctx context.Context, m object.Machine, id qemu.Identity, r *act.Record, identity map[string]string) error {
	r.Remains = append(r.Remains, act.Remains{
		VMID: id.VMID, UUID: id.UUID, Node: r.Target, Signature: m.GetAnnotations()[object.AnnotationCreation],
	})
	r.Enter(v1alpha1.ActSucceeded, "", l.Now)
	identity[object.AnnotationRecreation] = r.String()
	for _, name := range lost() {
		if m.GetAnnotations()[name] != "" {
			identity[name] = ""
		}
	}
	if err := kind.Annotate(ctx, l.Kube, m, identity); err != nil {
		return err
	}
	o := m.Observation()
	o.VMID, o.Node, o.Lock, o.Placement, o.Annotations = nil, "", "", nil, object.PersistedAnnotations(m)
	return nil
}
