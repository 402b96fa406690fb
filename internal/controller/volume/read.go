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
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/kind/target"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/vmcache"
	"github.com/vitistack/provider-proxmox/internal/volumeref"
)

// A reader reads what Proxmox VE has of a Volume: VMs, the tasks that work on them, and storages.
type reader struct {
	client    Client
	inventory Inventory

	// now reads the current state of VMs, and known the state as of the last sign of a change. known is used while usesKnown is true.
	now, known *vmcache.Reader
	usesKnown  bool
}

func newReader(c Client, in Inventory) *reader {
	return &reader{client: c, inventory: in, now: vmcache.NewReader(c, in), known: vmcache.NewReader(known{Client: c, inventory: in}, in)}
}

// known reads VMs as they were read since the last sign of a change.
type known struct {
	Client

	inventory Inventory
}

// Pending returns the options of a VM.
func (k known) Pending(ctx context.Context, ref proxmox.Ref) ([]proxmox.PendingValue, error) {
	return k.inventory.Options(ctx, ref, inventory.Unchanged)
}

// worksOnDisk returns the VMID of a VM that has, or receives, the disk and on which a task works now; 0 if there is none.
func (r *reader) worksOnDisk(ctx context.Context, s *state) (int, error) {
	owner, _ := qemu.VolumeOwner(s.Volume)
	vmids := []int{owner}
	if h := s.Handover; h != nil {
		vmids = append(vmids, h.From, h.To)
	}
	for _, vmid := range vmids {
		if works, err := target.Busy(ctx, r.inventory, vmid); works || err != nil {
			return vmid, err
		}
	}
	return 0, nil
}

// readTasks reads the tasks that work on the disk, or may do so.
func (r *reader) readTasks(ctx context.Context, s *state) error {
	s.task, s.offline, s.moving = nil, nil, false
	u := s.Task
	if s.Handover != nil {
		u = s.Handover.Task
	}
	var err error
	if u != "" {
		s.task, s.offline, err = target.Task(ctx, r.inventory, r.client, u)
		return err
	}
	switch {
	case s.Handover != nil:
		s.moving, err = r.runs(ctx, taskID(s.Handover))
	case s.Begun != 0:
		s.moving, err = target.Busy(ctx, r.inventory, s.VMID)
	}
	return err
}

// taskID returns the ID of the task of a handover. A task that gives a disk to another VM has both VMIDs in it.
func taskID(h *volumeref.Handover) string {
	if h.Storage != "" {
		return strconv.Itoa(h.From)
	}
	return fmt.Sprintf("%d-%s>%d-%s", h.From, h.Key, h.To, h.TargetKey)
}

// runs reports whether a task with this ID is running.
func (r *reader) runs(ctx context.Context, id string) (bool, error) {
	all, err := r.inventory.Tasks(ctx, inventory.Fresh)
	return slices.ContainsFunc(all, func(t proxmox.Task) bool { return t.Running && t.ID == id }), err
}

// readVMs reads the VMs that concern the disk.
func (r *reader) readVMs(ctx context.Context, s *state) error {
	s.stub, s.foreign, s.holder, s.target = nil, false, nil, nil
	if err := r.readStub(ctx, s); err != nil {
		return err
	}
	var err error
	if owner, known := qemu.VolumeOwner(s.Volume); known {
		if s.holder, err = r.readOther(ctx, s, owner); err != nil {
			return err
		}
	}
	if s.Handover != nil {
		s.target, err = r.readOther(ctx, s, s.Handover.To)
	}
	return err
}

// readOther reads a VM that may be the stub VM. A VM that has the stub VM's VMID, but is another one, counts too.
func (r *reader) readOther(ctx context.Context, s *state, vmid int) (*vm, error) {
	if s.stub != nil && s.stub.VMID == vmid {
		return s.stub, nil
	}
	v, err := r.readVM(ctx, vmid, "")
	switch {
	case err != nil, v == nil && s.Removing:
		return nil, err
	case v == nil:
		return nil, r.hidden(ctx, vmid)
	}
	return v, r.readBusy(ctx, v)
}

// readStub reads the stub VM.
func (r *reader) readStub(ctx context.Context, s *state) error {
	if s.VMID == 0 {
		return nil
	}
	v, err := r.readVM(ctx, s.VMID, s.Node)
	if v == nil || err != nil {
		return err
	}
	if v.offline == "" {
		switch (qemu.Identity{VMID: s.VMID, UUID: s.UUID}).Prove(v.Config) {
		case qemu.Foreign:
			s.foreign = true
			return nil
		case qemu.Unproven, qemu.Ours:
		}
	}
	s.stub = v
	return r.readBusy(ctx, v)
}

// readVM reads a VM; nil if there is none.
func (r *reader) readVM(ctx context.Context, vmid int, hint string) (*vm, error) {
	from := r.known
	if !r.usesKnown {
		from = r.now
		r.inventory.InvalidateGuest(vmid) // The known state of it is older.
	}
	found, err := from.Find(ctx, vmid, hint)
	if errors.As(err, &vmcache.OfflineError{}) {
		return &vm{Ref: proxmox.Ref{VMID: vmid, Node: hint}, offline: err.Error()}, nil
	}
	if found == nil || err != nil {
		return nil, err
	}
	return &vm{Ref: found.Ref, State: found.State}, nil
}

// hidden returns an error if the VM exists but the user may not see it. PVE leaves such a VM out of all lists, and its disk is not lost.
func (r *reader) hidden(ctx context.Context, vmid int) error {
	taken, err := r.client.VMIDTaken(ctx, vmid)
	if err != nil || !taken {
		return err
	}
	if err := kind.CheckPrivileges(ctx, r.client, fmt.Sprintf("read VM %d", vmid), on(vmid, "VM.Audit")); err != nil {
		return err
	}
	return errors.Errorf("VM %d exists and cannot be found: it may be on its way to another node", vmid)
}

// readBusy reads whether a task works on a VM, including tasks that give a disk to or from it.
func (r *reader) readBusy(ctx context.Context, v *vm) (err error) {
	v.busy, err = target.Works(ctx, r.inventory, v.VMID, inventory.Current)
	return err
}

// readStorage reads whether all nodes have access to the storage of the disk, and whether its node has the required one.
func (r *reader) readStorage(ctx context.Context, s *state) error {
	if !s.Made() {
		return nil
	}
	all, err := r.inventory.Storages(ctx)
	if err == nil && s.storage != "" && s.storage != storageOf(s.Volume) {
		err = r.visible(ctx, s.storage, all)
	}
	s.hasStorage = s.holder != nil && slices.ContainsFunc(all, func(x proxmox.Storage) bool {
		return x.Name == s.storage && x.Node == s.holder.Node && holdsDisks(x)
	})
	s.shared = slices.ContainsFunc(all, func(x proxmox.Storage) bool { return x.Name == storageOf(s.Volume) && x.Shared })
	return err
}

// visible returns an error if a storage is not listed because the user may not see it.
func (r *reader) visible(ctx context.Context, storage string, listed []proxmox.Storage) error {
	if slices.ContainsFunc(listed, func(s proxmox.Storage) bool { return s.Name == storage }) {
		return nil
	}
	return kind.CheckPrivileges(ctx, r.client, "find storage "+storage, proxmox.Privilege{Path: "/storage/" + storage, Names: []string{"Datastore.Audit"}})
}

// listed returns a disk of a VM as its storage lists it; nil if the storage does not.
func (r *reader) listed(ctx context.Context, owner *vm, volume string) (*proxmox.Volume, error) {
	all, err := r.client.Volumes(ctx, owner.Node, storageOf(volume), "images")
	i := slices.IndexFunc(all, func(x proxmox.Volume) bool { return x.ID == volume })
	if err != nil || i < 0 {
		return nil, err
	}
	return &all[i], nil
}
