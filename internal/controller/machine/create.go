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

// A creation is all that is decided before a VM is created.
type creation struct {
	desired

	// madeOn is the node that the VM is made on; it may go to another from there: see goesTo.
	madeOn string
	source *source.Source

	// image is the revision of an Image that the VM is made from, if the spec names
	// one; imageNodes have its file, and imageOn finds which a node has.
	image      *imageref.Choice
	imageNodes []string
	imageOn    func(node string) (imageref.Replica, bool)

	// archive is the backup that the VM is restored from, if any, and unfinished what an earlier
	// attempt has left, which is removed before the next one.
	archive    *restore.Archive
	unfinished *proxmox.Ref

	// decision is why placement has chosen the node, if it has.
	decision *placement.Decision

	// capacity of storages for the disks that are made.
	capacity capacity.Fit

	// vmidTaken is true when somebody else has the VMID that was allocated, and rejected is that VMID if Proxmox VE has refused to make the VM for that reason.
	vmidTaken bool
	rejected  int

	// first is true if no call was sent before that makes a VM with this identity, and lost is when an earlier provider may have lost the answer to one.
	first bool
	lost  time.Time
}

// Create starts to create the VM. The task goes on after it returns.
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
	e.tasks.Kept(m, true) // What was changed before was another VM, and so
	e.passwords.Forget(m) // was what has got the password.
	e.log.Debug("Creating VM", "vmid", c.Identity.VMID, "node", c.madeOn)
	e.watch().Follow(m, u, c.madeOn)
	if c.archive != nil {
		if err := e.tracker().NoteTask(ctx, m, u); err != nil { // It is found by what was noted before.
			e.log.Debug("Cannot note the task of the restore", "upid", u, "error", err)
		}
	}
	return managed.ExternalCreation{}, nil
}

// failed notes what is known of the call that makes the VM, which has failed.
func (c *creation) failed(ctx context.Context, e *external, m Machine, err error) error {
	e.watch().RecordError(m, err)
	if lastingRejection(err) {
		e.tasks.Refused(m, err) // The next look shows it: conditions that are set here are lost when the reconciler writes annotations.
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

// lastingRejection reports whether PVE refuses a call in a way that lasts.
func lastingRejection(err error) bool {
	return slices.Contains([]proxmox.Class{proxmox.ClassValidation, proxmox.ClassAuthorization, proxmox.ClassUnknown}, proxmox.ClassOf(err))
}

// annotations returns the annotations that have to be kept before the VM is created.
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
		a[object.AnnotationPassword] = "" // Another VM has got it.
	}
	if c.decision != nil && c.demand().Elsewhere() {
		a[object.AnnotationTarget] = c.goesTo
	}
	return a
}

// place is where the VM is to be made, as far as quotas go.
func (c *creation) place() tenant.Place {
	at := tenant.Place{VMID: c.Identity.VMID, Rejected: c.rejected}
	if c.vmidTaken {
		at.VMID = 0
	}
	return at
}

// call has PVE start to create the VM.
func (c *creation) call(ctx context.Context, to vmCreator) (proxmox.UPID, error) {
	if c.source == nil {
		return to.Create(ctx, proxmox.Ref{Node: c.madeOn, VMID: c.Identity.VMID}, c.params())
	}
	return to.Clone(ctx, c.source.Ref(), c.cloneOptions())
}

// afterTakenVMID deals with a VMID that somebody else was faster to take, or has where we
// cannot see it. It looks first whether that is us. No call was sent with the next identity yet.
func (e *external) afterTakenVMID(ctx context.Context, m Machine, c *creation, taken error) error {
	v, err := e.reader.Find(ctx, c.Identity.VMID, c.madeOn)
	if proxmox.IsAuthorization(err) {
		v, err = nil, nil // Ours we could see: it was looked for before the call.
	}
	if err != nil || v != nil && (c.archive != nil || !c.isOthers(v.State)) || !object.MayReplaceVMID(m) {
		return errors.Wrapf(taken, "VM %d already exists", c.Identity.VMID)
	}
	e.inventory.BlockVMID(c.Identity.VMID)
	c.rejected = c.Identity.VMID
	return errors.Wrapf(errors.Join(taken, e.allocator().moveVMID(ctx, m, c, unsent(m))), "VM %d already exists: another VMID is taken",
		c.Identity.VMID)
}

// isOthers reports whether a VM is somebody else's that has the VMID of one which Proxmox VE has refused to make. One that does not show yet whose it is may
// be ours by an earlier call alone: Proxmox VE refuses a call before anything is made (PVE::API2::Qemu, create_vm and clone_vm).
func (c *creation) isOthers(s qemu.State) bool {
	proof := c.Identity.ProveState(s)
	return proof == qemu.Foreign || proof == qemu.Unproven && c.first
}

// unsent are the annotations of a Machine of which no call was sent that makes a VM.
func unsent(m Machine) map[string]string {
	a := map[string]string{}
	for _, name := range []string{meta.AnnotationKeyExternalCreatePending, object.AnnotationPassword} {
		if m.GetAnnotations()[name] != "" {
			a[name] = ""
		}
	}
	return a
}

// params returns the parameters of a VM that is created from nothing.
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

// cloneOptions returns the options for a VM that is cloned. Its description carries the proof of
// whose it is until it has its UUID.
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

// sourceConfig is the configuration that a clone, or a VM of a backup, starts with, or nil.
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
