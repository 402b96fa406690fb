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

// Package target contains what those kinds share whose resources belong to the VM of a Machine, such as Snapshots and Backups: which VM that is,
// where it is, which tasks work on it, and the setup of their controllers.
package target

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/tasktrack"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// A VM that a resource belongs to.
type VM struct {
	VMID int

	// UUID that the VM must have. It is empty for a VM that is yet to be read.
	UUID string
}

// A Machine of either scope, reduced to what such a resource needs.
type Machine interface {
	resource.Managed

	Parameters() *v1alpha1.MachineParameters
	Observation() *v1alpha1.MachineObservation
}

// VMOf returns the VM of a Machine in the resource's scope and namespace, or the problem that there is none yet.
func (p Parts[T]) VMOf(ctx context.Context, m T, machine string) (VM, *kind.Problem, error) {
	x, ok := p.Machine.DeepCopyObject().(Machine)
	if !ok {
		return VM{}, nil, errors.Errorf("cannot copy a %T", p.Machine)
	}
	problem := func(reason xpv2.ConditionReason, format string, words ...any) *kind.Problem {
		return &kind.Problem{Reason: reason, Message: fmt.Sprintf("Machine %q ", machine) + fmt.Sprintf(format, words...)}
	}
	err := p.Kube.Get(ctx, client.ObjectKey{Namespace: m.GetNamespace(), Name: machine}, x)
	switch {
	case kerrors.IsNotFound(err), apimeta.IsNoMatchError(err), err == nil && !p.mayKnow(ctx, m, x): // As if it did not exist.
		return VM{}, problem(ReasonMachineNotFound, "does not exist: the %s is %s once it has its VM", p.Noun, p.Made), nil
	case err != nil:
		return VM{}, nil, errors.Wrapf(err, "cannot read Machine %q", machine)
	case meta.WasDeleted(x):
		return VM{}, problem(ReasonMachineNotReady, "is being deleted: no %s is %s", p.Noun, p.Made), nil
	case !kind.HasVM(x.Observation()):
		return VM{}, problem(ReasonMachineNotReady, "does not have its VM yet: the %s is %s then", p.Noun, p.Made), nil
	case len(x.Observation().PendingDisks) > 0:
		return VM{}, problem(ReasonMachineNotReady, "does not have all of its disks yet, and the %s is %s once it does: it lacks %s; "+
			"see its condition UpToDate, or take them off its disks", p.Noun, p.Made, strings.Join(x.Observation().PendingDisks, ", ")), nil
	}
	return VM{VMID: int(*x.Observation().VMID), UUID: x.Observation().UUID}, nil, nil
}

// mayKnow reports whether a resource may refer to a Machine.
func (p Parts[T]) mayKnow(ctx context.Context, m T, x Machine) bool {
	if p.SameTenant == nil {
		return true
	}
	same, _ := p.SameTenant(ctx)(m, x)
	return same
}

// Users returns the users of the object that a resource represents. usesOf returns the uses by one Machine.
func (p Parts[T]) Users(ctx context.Context, from client.Reader, machines []resource.ManagedList, usesOf func(Machine) []string) ([]string, error) {
	var names []string
	for _, empty := range machines {
		all, err := kind.ListCached(ctx, from, empty)
		if err != nil {
			return nil, err
		}
		for _, mg := range all {
			if x, ok := mg.(Machine); ok {
				names = append(names, usesOf(x)...)
			}
		}
	}
	slices.Sort(names)
	return names, nil
}

// UseBy describes which part of a Machine uses an object.
func UseBy(m Machine, what string) []string {
	return []string{what + " of Machine " + strings.TrimPrefix(client.ObjectKeyFromObject(m).String(), "/")}
}

// CheckUnused returns an error while there are users of an object that is to be removed.
func (p Parts[T]) CheckUnused(name string, users []string) error {
	if len(users) == 0 {
		return nil
	}
	return kind.Held(Error(kind.Problem{Reason: ReasonInUse, Message: fmt.Sprintf(
		"%s %s is used by %s: it is removed once that has ended or is taken out of the spec", p.Noun, name, strings.Join(users, ", "))}))
}

// Unselected returns the problem that machineSelector selects no Machine.
func (p Parts[T]) Unselected() *kind.Problem {
	message := fmt.Sprintf("no Machine has the labels of machineSelector: the %s is %s once there is one", p.Noun, p.Made)
	return &kind.Problem{Reason: ReasonMachineNotFound, Message: message}
}

// An Inventory answers questions about a VM.
type Inventory interface {
	Cluster

	Guests(ctx context.Context, maxAge time.Duration) ([]proxmox.Guest, error)
	ClusterName(ctx context.Context) (string, error)
	Follow(u proxmox.UPID, done func(proxmox.Task))
}

// A Client asks Proxmox VE itself about a VM.
type Client interface {
	VMIDTaken(ctx context.Context, vmid int) (bool, error)
	Task(ctx context.Context, u proxmox.UPID) (proxmox.Task, error)
}

// Locate finds where a VM is. It returns nil if no VM has the VMID. Only a list that was just read, confirmed by PVE, proves that.
func Locate(ctx context.Context, in Inventory, c Client, vmid int) (*proxmox.Guest, error) {
	for _, maxAge := range []time.Duration{inventory.Current, inventory.Fresh} {
		guests, err := in.Guests(ctx, maxAge)
		if err != nil {
			return nil, err
		}
		if i := slices.IndexFunc(guests, func(g proxmox.Guest) bool { return g.VMID == vmid }); i >= 0 {
			return &guests[i], nil
		}
	}
	taken, err := c.VMIDTaken(ctx, vmid)
	if err == nil && taken {
		err = proxmox.Denial(fmt.Sprintf("see VM %d", vmid), proxmox.Privilege{Path: fmt.Sprintf("/vms/%d", vmid), Names: []string{"VM.Audit"}})
	}
	return nil, err
}

// A Cluster provides the nodes of a cluster and their tasks.
type Cluster interface {
	Nodes(ctx context.Context) ([]proxmox.Node, error)
	Tasks(ctx context.Context, maxAge time.Duration) ([]proxmox.Task, error)
}

// nodeOffline reports whether the cluster reports a node as offline.
func nodeOffline(ctx context.Context, c Cluster, node string) (bool, error) {
	nodes, err := c.Nodes(ctx)
	n, _ := proxmox.NodeOf(nodes, node)
	return n.Offline(), err
}

// Busy reports whether any task works on a VM now, whether this provider or another client has started it.
func Busy(ctx context.Context, c Cluster, vmid int) (bool, error) {
	return Works(ctx, c, vmid, inventory.Fresh)
}

// Works reports whether a task works on a VM, by a list of tasks that is at most maxAge old. PVE keeps listing tasks of a node that is down as
// running until the node is back. Those tasks do not count.
func Works(ctx context.Context, c Cluster, vmid int, maxAge time.Duration) (bool, error) {
	all, err := c.Tasks(ctx, maxAge)
	if err != nil {
		return false, err
	}
	id := strconv.Itoa(vmid)
	for _, t := range all {
		if !t.Works() || t.ID != id {
			continue
		}
		if off, err := nodeOffline(ctx, c, t.Node); err != nil || !off {
			return true, err
		}
	}
	return false, nil
}

// Locked returns the problem that a VM is locked, or that a task works on it.
func Locked(ctx context.Context, in Inventory, vmid int, config qemu.Config) (*kind.Problem, error) {
	if lock := config["lock"]; lock != "" {
		return &kind.Problem{Reason: ReasonLocked, Message: vmstate.Locked(vmid, lock)}, nil
	}
	busy, err := Busy(ctx, in, vmid)
	if busy && err == nil {
		return &kind.Problem{Reason: ReasonLocked, Message: fmt.Sprintf("another task of Proxmox VE works on VM %d: the provider waits for it", vmid)}, nil
	}
	return nil, err
}

// HeldLock returns the problem that PVE holds the lock of a VM for a moment. done names what happens afterwards, for example that the snapshot is
// taken.
func HeldLock(done string) kind.Problem {
	return kind.Problem{Reason: ReasonLocked, Message: tasktrack.HoldsLock + ": it is " + done + " then"}
}

// BacksOff reports whether a failed attempt is not to be repeated yet, by the rules of kind.Failures. An attempt that waits for a lock is repeated
// soon.
func BacksOff(f kind.Failures, now, generation, first int64) bool {
	if f.Problem == string(ReasonLocked) {
		f.Count = min(f.Count, 1)
	}
	return f.RetryIn(now, generation, first) > 0
}

// ClusterOf returns the name of the cluster of a connection, which is empty if the connection may not see it. It returns an error if that is another
// cluster than the one with the object of the resource.
func (p Parts[T]) ClusterOf(ctx context.Context, in Inventory, m T, object string) (string, error) {
	name, err := in.ClusterName(ctx)
	if proxmox.IsAuthorization(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if has := m.GetAnnotations()[kind.AnnotationCluster]; has != "" && has != name {
		return name, Error(kind.ClusterMismatch(p.Noun, object, has, name))
	}
	return name, nil
}
