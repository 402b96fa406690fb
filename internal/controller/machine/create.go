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

package machine

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/internal/capacity"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/events"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/restore"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/scheduler"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/source"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/tenant"
	"github.com/vitistack/provider-proxmox/internal/imageref"
	"github.com/vitistack/provider-proxmox/internal/placement"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/qemu/validate"
)

// A creation holds all that is decided before a VM is created.
type creation struct {
	desired

	// madeOn is the node on which the VM is created. It may move to another node from there: see goesTo.
	madeOn string
	source *source.Source

	// image is the revision of an Image that the VM is created from, if the spec names one. imageNodes have its file, and imageOn finds the replica of a
	// node.
	image      *imageref.Choice
	imageNodes []string
	imageOn    func(node string) (imageref.Replica, bool)

	// archive is the backup that the VM is restored from, if any. unfinished is the remains of an earlier attempt, which are removed before the next one.
	archive    *restore.Archive
	unfinished *proxmox.Ref

	// decision explains why placement has chosen the node, if it has.
	decision *placement.Decision

	// capacity of storages for the disks that are created.
	capacity capacity.Fit

	// vmidTaken is true when another guest has the allocated VMID. rejected is that VMID if Proxmox VE has refused to create the VM for that reason.
	vmidTaken bool
	rejected  int

	// first is true if no call that creates a VM with this identity was sent before. lost is when an earlier provider may have lost the answer to such a
	// call.
	first bool
	lost  time.Time
}

// Create starts to create the VM. The task continues after Create returns.
func (e *external) Create(ctx context.Context, m Machine) (managed.ExternalCreation, error) {
	c := e.creation
	if c == nil {
		return managed.ExternalCreation{}, errors.New("cannot create a VM before it was observed that there is none")
	}
	e.tasks.BeginCreation(m, c.lost)
	if c.vmidTaken {
		e.inventory.BlockVMID(c.Identity.VMID)
		if err := e.allocator().moveVMID(ctx, m, c, nil); err != nil {
			return managed.ExternalCreation{}, err
		}
	}
	if c.unfinished != nil {
		return managed.ExternalCreation{}, removeUnfinished(ctx, e.client, e.watch(), m, *c.unfinished)
	}
	notes := c.annotations(m)
	if c.archive != nil {
		ref := proxmox.Ref{Node: c.madeOn, VMID: c.Identity.VMID}
		if err := e.tracker().Note(ctx, m, ref, c.archive.Volume, notes); err != nil {
			return managed.ExternalCreation{}, err
		}
	}
	if err := kind.Annotate(ctx, e.kube, m, notes); err != nil {
		return managed.ExternalCreation{}, err
	}
	if c.decision != nil {
		e.record.Event(m, events.OfPlacement(*c.decision))
	}
	e.warn(m, c.capacity)
	u, err := c.call(ctx, e.client)
	if c.source == nil {
		err = validate.NameFields(err, c.change())
	}
	if proxmox.IsAlreadyExists(err) {
		return managed.ExternalCreation{}, e.afterTakenVMID(ctx, m, c, err)
	}
	if err != nil {
		return managed.ExternalCreation{}, c.failed(ctx, e, m, err)
	}
	e.tenant.Creates(m, c.Identity, u.Node())
	e.tasks.Kept(m, true) // Earlier changes were made to another VM,
	e.passwords.Forget(m) // which also received the password.
	e.log.Debug("Creating VM", "vmid", c.Identity.VMID, "node", c.madeOn)
	e.watch().Follow(m, u, c.madeOn)
	if c.archive != nil {
		if err := e.tracker().NoteTask(ctx, m, u); err != nil { // The task is found by the earlier note.
			e.log.Debug("Cannot note the task of the restore", "upid", u, "error", err)
		}
	}
	return managed.ExternalCreation{}, nil
}

// failed records what is known of a failed call to create the VM.
func (c *creation) failed(ctx context.Context, e *external, m Machine, err error) error {
	e.watch().RecordError(m, err)
	if lastingRejection(err) {
		e.tasks.Refused(m, err) // The next reconcile shows it: conditions that are set here are lost when the reconciler writes annotations.
	}
	if !proxmox.IsOutcomeUnknown(err) {
		return err
	}
	e.tasks.RecordLostCreation(m)
	if c.archive == nil {
		return err
	}
	return errors.Join(err, e.tracker().NoteLost(ctx, m))
}

// lastingRejection reports whether PVE refuses a call for a reason that persists.
func lastingRejection(err error) bool {
	return slices.Contains([]proxmox.Class{proxmox.ClassValidation, proxmox.ClassAuthorization, proxmox.ClassUnknown}, proxmox.ClassOf(err))
}

// annotations returns the annotations to save before the VM is created.
func (c *creation) annotations(m Machine) map[string]string {
	a := map[string]string{object.AnnotationNode: c.madeOn, object.AnnotationDevices: c.Devices.String()}
	if c.source != nil {
		a[object.AnnotationSource] = strconv.Itoa(c.source.VMID)
	}
	if c.image != nil {
		a[imageref.AnnotationPin] = c.pin().String()
	}
	if c.decision != nil {
		a[object.AnnotationPlacement] = scheduler.DecisionAnnotation(*c.decision)
	}
	switch {
	case c.password != nil:
		a[object.AnnotationPassword] = c.password.Version
	case m.GetAnnotations()[object.AnnotationPassword] != "":
		a[object.AnnotationPassword] = "" // Another VM received it.
	}
	if c.decision != nil && c.demand().Elsewhere() {
		a[object.AnnotationTarget] = c.goesTo
	}
	return a
}

// place returns where the VM is to be created, as far as quotas are concerned.
func (c *creation) place() tenant.Place {
	at := tenant.Place{VMID: c.Identity.VMID, Rejected: c.rejected}
	if c.vmidTaken {
		at.VMID = 0
	}
	return at
}

// call tells PVE to create the VM.
func (c *creation) call(ctx context.Context, to vmCreator) (proxmox.UPID, error) {
	if c.source == nil {
		return to.Create(ctx, proxmox.Ref{Node: c.madeOn, VMID: c.Identity.VMID}, c.params())
	}
	return to.Clone(ctx, c.source.Ref(), c.cloneOptions())
}

// afterTakenVMID handles a VMID that another guest took first, or that a guest has which we cannot see. It first checks whether that guest is our VM.
// No call was sent with the next identity yet.
func (e *external) afterTakenVMID(ctx context.Context, m Machine, c *creation, taken error) error {
	v, err := e.reader.Find(ctx, c.Identity.VMID, c.madeOn)
	if proxmox.IsAuthorization(err) {
		v, err = nil, nil // We could see our own VM: it was looked up before the call.
	}
	if err != nil || v != nil && (c.archive != nil || !c.isOthers(v.State)) || !object.MayReplaceVMID(m) {
		return errors.Wrapf(taken, "VM %d already exists", c.Identity.VMID)
	}
	e.inventory.BlockVMID(c.Identity.VMID)
	c.rejected = c.Identity.VMID
	return errors.Wrapf(errors.Join(taken, e.allocator().moveVMID(ctx, m, c, unsent(m))), "VM %d already exists: another VMID is taken",
		c.Identity.VMID)
}

// isOthers reports whether the VM with the VMID that Proxmox VE has refused belongs to another owner. A VM that does not show its owner yet can only
// be ours because of an earlier call: Proxmox VE refuses a call before it creates anything (PVE::API2::Qemu, create_vm and clone_vm).
func (c *creation) isOthers(s qemu.State) bool {
	proof := c.Identity.ProveState(s)
	return proof == qemu.Foreign || proof == qemu.Unproven && c.first
}

// unsent returns the annotations of a Machine for which no call to create a VM was sent.
func unsent(m Machine) map[string]string {
	a := map[string]string{}
	for _, name := range []string{meta.AnnotationKeyExternalCreatePending, object.AnnotationPassword} {
		if m.GetAnnotations()[name] != "" {
			a[name] = ""
		}
	}
	return a
}

// params returns the parameters of a VM that is created without a source.
func (c *creation) params() proxmox.Params {
	if c.archive != nil {
		return c.archive.Params(c.MachineParameters, cmp.Or(ptr.Deref(c.Name, ""), c.name), c.Difference(c.sourceConfig()).Set["smbios1"])
	}
	p := c.withPassword(qemu.Difference{Set: c.Params()}).Set
	if p["name"] == "" {
		p["name"] = c.name
	}
	if ptr.Deref(c.Pool, "") != "" {
		p["pool"] = *c.Pool
	}
	return p
}

// cloneOptions returns the options for a VM that is cloned. Its description proves its owner until it has its UUID.
func (c *creation) cloneOptions() proxmox.CloneOptions {
	o := proxmox.CloneOptions{
		NewID:       c.Identity.VMID,
		Name:        cmp.Or(ptr.Deref(c.Name, ""), c.name),
		Description: c.Identity.Mark(c.sourceConfig()["description"]),
		Pool:        ptr.Deref(c.Pool, ""),
		Full:        new(bool),
	}
	*o.Full = source.IsFull(c.Clone, c.source)
	if c.Clone != nil {
		o.Storage, o.Format, o.Snapshot = ptr.Deref(c.Clone.Storage, ""), ptr.Deref(c.Clone.Format, ""), ptr.Deref(c.Clone.Snapshot, "")
	}
	if c.madeOn != c.source.Node {
		o.TargetNode = c.madeOn
	}
	return o
}

// change returns the change of the options that the VM starts with.
func (c *creation) change() validate.Change {
	config := c.sourceConfig()
	at := validate.Place{VMID: c.Identity.VMID, Pool: ptr.Deref(c.Pool, "")}
	return validate.Change{Difference: c.Difference(config), Config: config, Devices: c.Devices, At: at}
}

// sourceConfig returns the configuration that a clone, or a VM from a backup, starts with, or nil.
func (c *creation) sourceConfig() qemu.Config {
	switch {
	case c.archive != nil:
		return c.archive.Config
	case c.source == nil:
		return nil
	case c.Clone == nil || c.Clone.Storage == nil:
		return c.source.Config
	}
	return c.source.Config.ClonedTo(*c.Clone.Storage)
}
