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

package volume

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/uuid"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/tenancy/amounts"
	"github.com/vitistack/provider-proxmox/internal/volumeref"
)

// Create starts to create the disk in its stub VM.
func (e *external) Create(ctx context.Context, m Volume) (managed.ExternalCreation, error) {
	v := e.view
	if e.client == nil || v.action != makeStub || v.problem != nil || v.node == "" {
		return managed.ExternalCreation{}, errors.New("cannot make a disk that was not looked for")
	}
	if err := e.makeStub(ctx, m); err != nil {
		return managed.ExternalCreation{}, err
	}
	return managed.ExternalCreation{}, e.save(kind.AtCreationEnd(ctx), m)
}

// Update takes the next step that brings the disk to where it is to be.
func (e *external) Update(ctx context.Context, m Volume) (managed.ExternalUpdate, error) {
	if e.client == nil {
		return managed.ExternalUpdate{}, errors.New("cannot change a disk that was not looked at")
	}
	return managed.ExternalUpdate{}, e.act(ctx, m)
}

// Delete returns the disk to its stub VM, and destroys that unless it is to be retained.
func (e *external) Delete(ctx context.Context, m Volume) (managed.ExternalDelete, error) {
	if e.client == nil {
		return managed.ExternalDelete{}, nil
	}
	v := e.view
	e.ShowDeleting(m, v.problem, v.Message)
	return managed.ExternalDelete{}, e.act(ctx, m)
}

// act carries out the decision. A call that does not get the lock of a VM, which PVE holds for a moment, results in a wait.
func (e *external) act(ctx context.Context, m Volume) error {
	err := e.perform(ctx, m)
	if err == nil || !e.view.Lock.Waits(err, e.Now()) {
		return err
	}
	return errors.Join(kind.Wait(err), e.save(ctx, m))
}

// perform makes the calls for the decision.
func (e *external) perform(ctx context.Context, m Volume) error {
	v := e.view
	if v.problem != nil {
		return nil
	}
	switch v.action {
	case makeStub:
		if err := e.makeStub(ctx, m); err != nil {
			return err
		}
		return e.save(ctx, m)
	case give:
		return e.give(ctx, m)
	case move:
		return e.move(ctx, m)
	case migrate:
		return e.start(ctx, m, "VM.Migrate", func() (proxmox.UPID, error) {
			return e.client.Migrate(ctx, v.from.Ref, proxmox.MigrateOptions{Target: v.decision.node})
		})
	case grow:
		return e.start(ctx, m, "VM.Config.Disk", func() (proxmox.UPID, error) {
			return e.client.Resize(ctx, v.from.Ref, v.key, v.size.String(), v.from.Digest)
		})
	case attach:
		return e.attach(ctx)
	case protect:
		return e.client.Configure(ctx, v.from.Ref, proxmox.Change{Set: proxmox.Params{optionProtection: "1"}, Digest: v.from.Digest})
	case destroy:
		return e.destroy(ctx, m)
	case keep, wait, settle, arrive, follow, forget, release, lose, stuck:
	}
	return nil
}

// storageFor returns the storage for a disk to create.
func (e *external) storageFor(m Volume) string {
	return cmp.Or(ptr.Deref(m.Parameters().Storage, ""), e.storage)
}

// preflight decides where to create the stub VM, and returns the problem that prevents that.
func (e *external) preflight(ctx context.Context, m Volume) (*kind.Problem, error) {
	v, p := e.view, m.Parameters()
	needs := []proxmox.Privilege{}
	for _, name := range []string{"VM.Allocate", "VM.Config.Disk", "VM.Config.Memory", "VM.Config.Options", "VM.Config.HWType"} {
		needs = append(needs, on(v.VMID, name))
	}
	if v.Made() {
		v.node = v.decision.node
		return nil, e.checkMaking(ctx, m, "make the stub VM", needs...)
	}
	v.storage = e.storageFor(m)
	switch {
	case p.Size == nil:
		return &kind.Problem{
			Reason: reasonNoSize, Message: "size is needed for a disk that is made: set it, or adopt a disk by the annotation crossplane.io/external-name",
		}, nil
	case p.Storage == nil && (p.StorageRef != nil || p.StorageSelector != nil):
		return &kind.Problem{
			Reason: reasonNoStorage, Message: "no Storage that storageRef or storageSelector means is there yet: the disk is made once it is",
		}, nil
	case v.storage == "":
		return &kind.Problem{Reason: reasonNoStorage, Message: "storage is needed: the provider config has no defaultStorage"}, nil
	}
	problem, err := e.chooseNode(ctx, p)
	if problem != nil || err != nil {
		return problem, err
	}
	return nil, e.checkMaking(ctx, m, "make a disk on storage "+v.storage, append(needs, space(v.storage))...)
}

// checkMaking returns an error if privileges are missing to create something. A resource that only observes needs none.
func (e *external) checkMaking(ctx context.Context, m Volume, what string, needs ...proxmox.Privilege) error {
	if !kind.MayChange(m) {
		return nil
	}
	return kind.CheckPrivileges(ctx, e.client, what, needs...)
}

// on returns a privilege on a VM, or on all VMs if its VMID is not known yet.
func on(vmid int, name string) proxmox.Privilege {
	path := "/vms"
	if vmid != 0 {
		path += "/" + strconv.Itoa(vmid)
	}
	return proxmox.Privilege{Path: path, Names: []string{name}}
}

// space returns the privilege to allocate disks on a storage.
func space(storage string) proxmox.Privilege {
	return proxmox.Privilege{Path: "/storage/" + storage, Names: []string{"Datastore.AllocateSpace"}}
}

// holdsDisks reports whether a storage of a node is available for disks.
func holdsDisks(s proxmox.Storage) bool {
	return slices.Contains(s.Content, "images") && s.Status != "unknown"
}

// chooseNode chooses the node on which to create a disk.
func (e *external) chooseNode(ctx context.Context, p *v1alpha1.VolumeParameters) (*kind.Problem, error) {
	v := e.view
	storages, err := e.inventory.Storages(ctx)
	if err != nil {
		return nil, err
	}
	nodes, err := e.inventory.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	var have []string
	for _, s := range storages {
		if s.Name == v.storage && holdsDisks(s) && e.confinement.tenant.CheckNode(s.Node) == nil {
			have = append(have, s.Node)
		}
	}
	if err := e.reader.visible(ctx, v.storage, storages); err != nil {
		return nil, err
	}
	slices.Sort(have)
	online := slices.DeleteFunc(slices.Clone(have), func(node string) bool {
		return slices.ContainsFunc(nodes, func(n proxmox.Node) bool { return n.Name == node && n.Offline() })
	})
	wanted := ptr.Deref(p.Node, "")
	switch {
	case wanted != "" && !slices.Contains(online, wanted):
		return &kind.Problem{Reason: reasonNoStorage, Message: fmt.Sprintf(
			"node %s is not online or has no storage %s for disks: correct node or storage", wanted, v.storage)}, nil
	case len(online) == 0:
		return &kind.Problem{Reason: reasonNoStorage, Message: fmt.Sprintf(
			"no node that is online has a storage %s for disks: correct storage, or make it available", v.storage)}, nil
	case wanted != "":
		v.node = wanted
	case slices.Contains(online, e.node):
		v.node = e.node
	default:
		v.node = online[0]
	}
	return nil, nil
}

// makeStub starts to create the stub VM, after the intent was recorded. If the answer is lost, the VMID and the UUID determine the outcome. The
// caller records the task.
func (e *external) makeStub(ctx context.Context, m Volume) error {
	v := e.view
	isNew := v.VMID == 0 || v.foreign
	if err := e.allocate(ctx, m); err != nil {
		return err
	}
	if !v.Made() {
		if err := e.room.follow(ctx, m, v.state, v.VMID); err != nil {
			return err
		}
	}
	v.Node, v.Begun, v.Task = v.node, e.Now().Unix(), ""
	if err := e.save(ctx, m); err != nil {
		return err
	}
	u, err := e.client.Create(ctx, proxmox.Ref{Node: v.Node, VMID: v.VMID}, e.stubParams(m))
	switch {
	case proxmox.IsOutcomeUnknown(err):
		v.Begun = e.Now().Unix()
		return errors.Join(err, kind.AfterCall(ctx, func(ctx context.Context) error { return e.save(ctx, m) }))
	case proxmox.IsAlreadyExists(err):
		return errors.Join(err, e.otherVMID(ctx, m, isNew))
	case err != nil:
		v.Begun = 0
		return errors.Join(err, e.save(ctx, m))
	}
	v.Task = u
	e.warn(m)
	e.Follow(e.inventory, m, u)
	return nil
}

// allocate chooses a VMID and a UUID for the stub VM, unless it has them.
func (e *external) allocate(ctx context.Context, m Volume) error {
	v := e.view
	if v.foreign {
		e.inventory.BlockVMID(v.VMID)
		v.VMID = 0
	}
	if v.VMID != 0 {
		return nil
	}
	if _, err := e.inventory.Guests(ctx, inventory.Fresh); err != nil {
		return errors.Wrap(err, "cannot choose a VMID")
	}
	id, err := e.inventory.ReserveVMID(ctx, string(m.GetUID()), int(e.vmids.Min), int(e.vmids.Max))
	v.VMID, v.UUID = id, uuid.NewString()
	return errors.Wrap(err, "cannot choose a VMID")
}

// otherVMID makes the next attempt choose another VMID, unless the VM that has this one is the stub VM. If VMID and UUID are new, it is not, because
// Proxmox VE refuses a call before anything is created.
func (e *external) otherVMID(ctx context.Context, m Volume, isNew bool) error {
	v := e.view
	if err := e.reader.readStub(ctx, v.state); !isNew && (err != nil || v.stub != nil) {
		return err
	}
	v.stub = nil
	e.inventory.BlockVMID(v.VMID)
	vmid := v.VMID
	v.VMID, v.UUID, v.Begun = 0, "", 0
	return errors.Join(e.room.rejected(ctx, m, v.state, vmid), e.save(ctx, m))
}

// optionProtection makes PVE refuse to destroy a VM.
const optionProtection = "protection"

// stubParams returns the parameters with which the stub VM is created.
func (e *external) stubParams(m Volume) proxmox.Params {
	v := e.view
	p := proxmox.Params{
		"name": stubName(m.GetName()), "memory": strconv.Itoa(amounts.StubMemory), "smbios1": "uuid=" + v.UUID, optionProtection: "1", "onboot": "0",
		"description": qemu.MarkStub(fmt.Sprintf("It has the disk of Volume %s while no Machine has it, and is never started. To destroy it is to destroy the disk.",
			strings.TrimPrefix(client.ObjectKeyFromObject(m).String(), "/"))),
	}
	if pool := e.confinement.tenant.DefaultPool(); pool != "" {
		p["pool"] = pool
	}
	if tags := e.confinement.tenant.RequiredTags(); len(tags) > 0 {
		p["tags"] = strings.Join(tags, ";")
	}
	if v.Made() {
		return p
	}
	d := proxmox.Disk{Volume: v.storage + ":" + strconv.FormatFloat(float64(v.size)/float64(proxmox.GiB), 'f', -1, 64)}
	if f := m.Parameters().Format; f != nil {
		d.Options.Set("format", *f)
	}
	p["scsi0"] = d.String()
	return p
}

var reNotInName = regexp.MustCompile(`[^a-z0-9-]+`)

// longestName is the longest name that PVE accepts for a VM.
const longestName = 63

// stubName returns the name of the stub VM of a Volume.
func stubName(volume string) string {
	name := "volume-" + reNotInName.ReplaceAllString(strings.ToLower(volume), "-")
	return strings.Trim(name[:min(len(name), longestName)], "-")
}

// give starts to give the disk to another VM, after the intent was recorded. The digests ensure that both VMs are unchanged since they were read.
func (e *external) give(ctx context.Context, m Volume) error {
	v := e.view
	from, to := v.from, v.to
	if err := kind.CheckPrivileges(ctx, e.client, fmt.Sprintf("hand the disk from VM %d to VM %d", from.VMID, to.VMID),
		on(from.VMID, "VM.Config.Disk"), on(to.VMID, "VM.Config.Disk"), space(storageOf(v.Volume))); err != nil {
		return err
	}
	if used, err := e.refuseUsed(ctx, m); used || err != nil {
		return err
	}
	h := &volumeref.Handover{
		From: from.VMID, Key: v.key, To: to.VMID, TargetKey: to.freeUnused(), Holder: to.holder(), Before: to.volumes(), Begun: e.Now().Unix(),
	}
	v.Handover = h
	e.confinement.unchecked()
	if err := e.room.follow(ctx, m, v.state, h.To); err != nil {
		return err
	}
	if err := e.save(ctx, m); err != nil {
		return err
	}
	if w := v.firstClaim(); w != nil && w.vm == to {
		if err := e.stillListed(ctx, m, w); err != nil {
			v.Handover = nil
			return errors.Join(err, e.save(ctx, m))
		}
	}
	u, err := e.client.ReassignDisk(ctx, from.Ref, proxmox.ReassignOptions{
		Disk: h.Key, Target: h.To, TargetDisk: h.TargetKey, Digest: from.Digest, TargetDigest: to.Digest,
	})
	return e.begun(ctx, m, u, err)
}

// move starts to move the disk to another storage, after the intent was recorded.
func (e *external) move(ctx context.Context, m Volume) error {
	v := e.view
	from, to := v.from, v.state.storage
	if err := kind.CheckPrivileges(ctx, e.client, "move the disk to storage "+to, on(from.VMID, "VM.Config.Disk"), space(to)); err != nil {
		return err
	}
	if used, err := e.refuseUsed(ctx, m); used || err != nil {
		return err
	}
	v.Handover = &volumeref.Handover{
		From: from.VMID, Key: v.key, To: from.VMID, TargetKey: v.key, Storage: to, Holder: from.holder(), Before: from.volumes(), Begun: e.Now().Unix(),
	}
	if err := e.save(ctx, m); err != nil {
		return err
	}
	u, err := e.client.MoveDisk(ctx, from.Ref, proxmox.MoveOptions{
		Disk: v.key, Storage: to, Format: ptr.Deref(m.Parameters().Format, ""), Delete: true, Digest: from.Digest,
	})
	return e.begun(ctx, m, u, err)
}

// begun records the task of a handover, or that it was not carried out, unless that is unknown. A handover that only has to wait for its turn, or
// whose VMs have changed meanwhile, has not failed.
func (e *external) begun(ctx context.Context, m Volume, u proxmox.UPID, err error) error {
	v := e.view
	if proxmox.IsOutcomeUnknown(err) {
		v.Handover.Begun = e.Now().Unix()
		return errors.Join(err, kind.AfterCall(ctx, func(ctx context.Context) error { return e.save(ctx, m) }))
	}
	if err == nil {
		v.Handover.Task = u
		e.warn(m)
		e.Follow(e.inventory, m, u)
		return e.save(ctx, m)
	}
	v.Handover.Begun = 0
	if _, waits := proxmox.Waiting(err); !waits && !proxmox.IsDigestMismatch(err) && !v.Lock.Waits(err, e.Now()) {
		e.fail(m, words(err, v.from.VMID))
	}
	return errors.Join(err, e.save(ctx, m))
}

// words returns why PVE does not hand over a disk.
func words(err error, vmid int) string {
	if proxmox.IsInSnapshot(err) {
		return fmt.Sprintf("a snapshot of VM %d has the disk, which Proxmox VE keeps there: remove the snapshot (%s)", vmid, err)
	}
	return err.Error()
}

// start starts a task that may be repeated, and records it.
func (e *external) start(ctx context.Context, m Volume, privilege string, call func() (proxmox.UPID, error)) error {
	v := e.view
	if err := kind.CheckPrivileges(ctx, e.client, fmt.Sprintf("change VM %d", v.from.VMID), on(v.from.VMID, privilege)); err != nil {
		return err
	}
	u, err := call()
	e.inventory.InvalidateGuest(v.from.VMID)
	if err != nil {
		return err
	}
	v.Task = u
	e.warn(m)
	e.Follow(e.inventory, m, u)
	return e.save(ctx, m)
}

// attach attaches the disk to the stub VM again, because PVE grows only attached disks.
func (e *external) attach(ctx context.Context) error {
	v := e.view
	device := ""
	for i := 0; device == "" || v.from.Config[device] != ""; i++ {
		device = "scsi" + strconv.Itoa(i)
	}
	return e.client.Configure(ctx, v.from.Ref, proxmox.Change{Set: proxmox.Params{device: v.Volume}, Digest: v.from.Digest})
}

// destroy starts to destroy the stub VM, with the disk if that still exists.
func (e *external) destroy(ctx context.Context, m Volume) error {
	v := e.view
	if (qemu.Identity{VMID: v.VMID, UUID: v.UUID}).Prove(v.from.Config) != qemu.Ours {
		return errors.Errorf("VM %d is not the stub VM of this Volume, and is not destroyed", v.from.VMID)
	}
	if err := kind.CheckPrivileges(ctx, e.client, fmt.Sprintf("destroy VM %d", v.VMID), on(v.VMID, "VM.Allocate"), on(v.VMID, "VM.Config.Options")); err != nil {
		return err
	}
	if used, err := e.refuseUsed(ctx, m); used || err != nil {
		return err
	}
	v.Removing, v.Task = true, ""
	if err := e.save(ctx, m); err != nil {
		return err
	}
	// The digest ensures that the VM is unchanged since it was read: calls to all VMs were made since, and a disk of another Volume may have arrived.
	if err := e.client.Configure(ctx, v.from.Ref, proxmox.Change{Set: proxmox.Params{optionProtection: "0"}, Digest: v.from.Digest}); err != nil {
		return err
	}
	u, err := e.client.Delete(ctx, v.from.Ref, proxmox.DeleteOptions{Purge: true})
	if err != nil {
		return err
	}
	v.Task = u
	e.Event(m, event.Normal(event.Reason(xpv2.ReasonDeleting), fmt.Sprintf("VM %d, the stub VM, is being destroyed", v.VMID)))
	e.Follow(e.inventory, m, u)
	return e.save(ctx, m)
}
