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

package backup

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/kind/target"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// preflight returns the problem that prevents the backup now, or nil.
func (e *external) preflight(ctx context.Context, m Backup) (*kind.Problem, error) {
	v := e.view
	var err error
	if v.guest, err = target.Locate(ctx, e.inventory, e.client, e.view.target.VMID); err != nil {
		return nil, err
	}
	if v.guest == nil || v.guest.Type != "qemu" {
		return &kind.Problem{Reason: target.ReasonVMNotFound, Message: fmt.Sprintf(
			"VM %d of the Machine does not exist: see the conditions of the Machine", v.target.VMID)}, nil
	}
	if p, err := target.VMUnreachable(ctx, e.inventory, v.guest.Node); p != nil || err != nil {
		return p, err
	}
	if p, err := e.proveVM(ctx); p != nil || err != nil {
		return p, err
	}
	if m.Parameters().Storage == "" {
		return &kind.Problem{
			Reason: reasonStorageNotFound, Message: "no Storage that storageRef or storageSelector means is there yet: the backup is made once it is",
		}, nil
	}
	if p, err := e.takesBackups(ctx, m.Parameters().Storage); p != nil || err != nil {
		return p, err
	}
	return nil, e.permit(ctx, m)
}

// proveVM checks that the VM is the one that the backup is to be created of, and that nothing else works on it. It reads the current configuration.
func (e *external) proveVM(ctx context.Context) (*kind.Problem, error) {
	t := e.view.target
	read, err := e.client.Config(ctx, e.view.guest.Ref())
	if err != nil {
		return nil, err
	}
	config := qemu.Config(read.Values)
	if uuid := config.UUID(); !strings.EqualFold(t.UUID, uuid) {
		return &kind.Problem{Reason: target.ReasonVMMismatch, Message: fmt.Sprintf("VM %d is not the one of the Machine: it has the UUID %q, not %q; "+
			"the provider configuration may lead to another cluster, or the VM was replaced", t.VMID, uuid, t.UUID)}, nil
	}
	return target.Locked(ctx, e.inventory, t.VMID, config)
}

// takesBackups returns the problem that the storage accepts no backups from the node.
func (e *external) takesBackups(ctx context.Context, storage string) (*kind.Problem, error) {
	all, err := e.inventory.Storages(ctx)
	if err != nil {
		return nil, err
	}
	node := e.view.guest.Node
	i := slices.IndexFunc(all, func(s proxmox.Storage) bool { return s.Name == storage && s.Node == node })
	switch {
	case i < 0:
		return &kind.Problem{Reason: reasonStorageNotFound, Message: fmt.Sprintf("storage %q is not on node %s, which has the VM, or the token may not see it: "+
			"name another storage, or grant Datastore.Audit on /storage/%s", storage, node, storage)}, nil
	case !slices.Contains(all[i].Content, "backup"):
		return &kind.Problem{Reason: target.ReasonNotSupported, Message: fmt.Sprintf(
			"storage %q does not take backups: add backup to its content types", storage)}, nil
	case all[i].Status == "unknown":
		return &kind.Problem{Reason: reasonStorageUnavailable, Message: fmt.Sprintf(
			"storage %q is not available on node %s: see there what is wrong with it (pvesm status)", storage, node)}, nil
	}
	return nil, nil
}

// permit returns an error that names the missing privileges for creating the backup.
func (e *external) permit(ctx context.Context, m Backup) error {
	p, id := m.Parameters(), e.view.target.VMID
	needed := toSee(p.Storage, id)
	if p.BandwidthLimit != nil {
		needed = append(needed, proxmox.Privilege{Path: "/", Names: []string{"Sys.Modify"}})
	}
	return kind.CheckPrivileges(ctx, e.client, fmt.Sprintf("back up VM %d to storage %q", id, p.Storage), needed...)
}

// permitToSee returns an error that names the missing privileges without which PVE neither lists the backup nor allows changing or removing it.
func (e *external) permitToSee(ctx context.Context, m Backup) error {
	storage, id := m.Parameters().Storage, e.view.target.VMID
	op := fmt.Sprintf("see and change the backups of VM %d on storage %q", id, storage)
	all := proxmox.Privilege{Path: "/storage/" + storage, Names: []string{"Datastore.Allocate"}}
	if err := kind.CheckPrivileges(ctx, e.client, op, all); err == nil || !proxmox.IsAuthorization(err) {
		return err
	}
	return kind.CheckPrivileges(ctx, e.client, op, toSee(storage, id)...)
}
