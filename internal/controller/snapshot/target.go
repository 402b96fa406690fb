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
	"slices"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// A target is the VM that a snapshot is of.
type target struct {
	vmid int

	// uuid that the VM must have; empty for a VM that is yet to be looked at.
	uuid string

	// machine is the name of the Machine that manages it; empty for none.
	machine string
}

// findTarget finds the VM without asking PVE. A snapshot that was begun is of the VM that it
// was begun of. It returns the problem that there is no VM yet.
func (e *external) findTarget(ctx context.Context, m Snapshot) (*kind.Problem, error) {
	r, p := e.view.record, m.Parameters()
	switch {
	case r.made():
		e.view.target = target{vmid: r.VMID, uuid: r.UUID}
		return nil, nil
	case p.VMID != nil:
		e.view.target = target{vmid: int(*p.VMID)}
		return nil, nil
	case p.Machine == nil:
		return &kind.Problem{Reason: reasonMachineNotFound, Message: "no Machine has the labels of machineSelector: the snapshot is taken once there is one"}, nil
	}
	return e.targetOfMachine(ctx, m, *p.Machine)
}

// targetOfMachine is the VM of a Machine of the Snapshot's scope and namespace.
func (e *external) targetOfMachine(ctx context.Context, m Snapshot, name string) (*kind.Problem, error) {
	x, ok := e.kinds.Machine.DeepCopyObject().(Machine)
	if !ok {
		return nil, errors.Errorf("cannot copy a %T", e.kinds.Machine)
	}
	err := e.kube.Get(ctx, client.ObjectKey{Namespace: m.GetNamespace(), Name: name}, x)
	switch {
	case kerrors.IsNotFound(err), apimeta.IsNoMatchError(err):
		return &kind.Problem{Reason: reasonMachineNotFound, Message: fmt.Sprintf("Machine %q does not exist: the snapshot is taken once it has its VM", name)}, nil
	case err != nil:
		return nil, errors.Wrapf(err, "cannot read Machine %q", name)
	case meta.WasDeleted(x):
		return &kind.Problem{Reason: reasonMachineNotReady, Message: fmt.Sprintf("Machine %q is being deleted: no snapshot is taken", name)}, nil
	case !kind.HasVM(x.Observation()):
		return &kind.Problem{Reason: reasonMachineNotReady, Message: fmt.Sprintf("Machine %q does not have its VM yet: the snapshot is taken then", name)}, nil
	}
	e.view.target = target{vmid: int(*x.Observation().VMID), uuid: x.Observation().UUID, machine: name}
	return nil, nil
}

// findVM finds where the VM is. It returns nil if there is no VM of its VMID, which is
// believed of a list that was read now, and of PVE's word.
func (e *external) findVM(ctx context.Context) (*proxmox.Guest, error) {
	id := e.view.target.vmid
	for _, maxAge := range []time.Duration{inventory.Current, inventory.Fresh} {
		guests, err := e.inventory.Guests(ctx, maxAge)
		if err != nil {
			return nil, err
		}
		if i := slices.IndexFunc(guests, func(g proxmox.Guest) bool { return g.VMID == id }); i >= 0 {
			return &guests[i], nil
		}
	}
	taken, err := e.client.VMIDTaken(ctx, id)
	if err == nil && taken {
		err = proxmox.Denial(fmt.Sprintf("see VM %d", id), proxmox.Privilege{Path: fmt.Sprintf("/vms/%d", id), Names: []string{"VM.Audit"}})
	}
	return nil, err
}

// offline reports whether the cluster says that a node is offline.
func (e *external) offline(ctx context.Context, node string) (bool, error) {
	nodes, err := e.inventory.Nodes(ctx)
	return slices.ContainsFunc(nodes, func(n proxmox.Node) bool { return n.Name == node && n.Offline() }), err
}

// managedBy returns the name of the Machine, of any scope, that manages the VM with the UUID.
func (e *external) managedBy(ctx context.Context, uuid string) (string, error) {
	for _, empty := range e.kinds.Machines {
		all, err := kind.ListCached(ctx, e.kube, empty)
		if err != nil {
			return "", err
		}
		for _, mg := range all {
			if x, ok := mg.(Machine); ok && strings.EqualFold(x.Observation().UUID, uuid) && kind.Manages(x) {
				return strings.TrimPrefix(client.ObjectKeyFromObject(x).String(), "/"), nil
			}
		}
	}
	return "", nil
}
