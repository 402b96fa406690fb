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

package snapshot

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/kind/target"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// preflight returns the problem that prevents the snapshot now, or nil.
func (e *external) preflight(ctx context.Context, m Snapshot) (*kind.Problem, error) {
	config, p, err := e.prove(ctx)
	if p != nil || err != nil {
		return p, err
	}
	if p, err := e.conflict(ctx, m, e.view.target.UUID); p != nil || err != nil {
		return p, err
	}
	if p, err := target.Locked(ctx, e.inventory, e.view.target.VMID, config); p != nil || err != nil {
		return p, err
	}
	if err := e.permit(ctx, "take a snapshot of"); err != nil {
		return nil, err
	}
	return e.possible(ctx, m, config)
}

// prove checks that the VM is the one that the snapshot is to be taken of. It reads the current configuration.
func (e *external) prove(ctx context.Context) (qemu.Config, *kind.Problem, error) {
	t := &e.view.target
	read, err := e.client.Config(ctx, e.view.ref())
	if err != nil {
		return nil, nil, err
	}
	config := qemu.Config(read.Values)
	uuid := config.UUID()
	switch {
	case t.UUID != "" && strings.EqualFold(t.UUID, uuid):
		return config, nil, nil
	case t.UUID != "":
		return config, &kind.Problem{Reason: target.ReasonVMMismatch, Message: fmt.Sprintf(
			"VM %d is not the one that the snapshot is of: it has the UUID %q, not %q; "+
				"the provider configuration may lead to another cluster, or the VM was replaced", t.VMID, uuid, t.UUID)}, nil
	case uuid == "":
		return config, &kind.Problem{Reason: target.ReasonVMMismatch, Message: fmt.Sprintf("VM %d cannot be told from another one: %s", t.VMID, qemu.NoUUID)}, nil
	}
	owner, err := e.managedBy(ctx, uuid)
	if owner != "" || err != nil {
		message := fmt.Sprintf("VM %d is managed by Machine %s: use machineRef in place of vmid", t.VMID, owner)
		return config, &kind.Problem{Reason: reasonManaged, Message: message}, err
	}
	t.UUID = uuid
	return config, nil, nil
}

// permit returns an error that names the missing privilege.
func (e *external) permit(ctx context.Context, op string) error {
	id := e.view.target.VMID
	return kind.CheckPrivileges(ctx, e.client, fmt.Sprintf("%s VM %d", op, id),
		proxmox.Privilege{Path: fmt.Sprintf("/vms/%d", id), Names: []string{"VM.Snapshot"}})
}

// possible returns the problem that the VM cannot have such a snapshot.
func (e *external) possible(ctx context.Context, m Snapshot, config qemu.Config) (*kind.Problem, error) {
	v := e.view
	if config.Template() {
		return &kind.Problem{Reason: target.ReasonNotSupported, Message: fmt.Sprintf("VM %d is a template, which has no snapshots", v.target.VMID)}, nil
	}
	can, err := e.client.CanSnapshot(ctx, v.ref())
	if err != nil {
		return nil, err
	}
	if !can {
		return &kind.Problem{Reason: target.ReasonNotSupported, Message: fmt.Sprintf("VM %d has a disk that Proxmox VE cannot take a snapshot of, "+
			"such as one on thick LVM or iSCSI, or a raw file: move it to a storage with snapshots, or use qcow2", v.target.VMID)}, nil
	}
	if !ptr.Deref(m.Parameters().IncludeMemory, false) {
		return nil, nil
	}
	s, err := e.client.Status(ctx, v.ref())
	if err == nil && !s.Running() {
		message := fmt.Sprintf("VM %d does not run, so there is no memory to include: the snapshot is taken once it does", v.target.VMID)
		return &kind.Problem{Reason: reasonNotRunning, Message: message}, nil
	}
	if err != nil {
		return nil, err
	}
	return e.roomForMemory(ctx, config)
}
