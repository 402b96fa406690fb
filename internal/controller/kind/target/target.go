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

// Package target has what kinds share whose resources are of the VM of a Machine, such as Snapshots and Backups: which VM that is, where
// it is, what works on it, and what their controllers are made of.
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

// A VM that a resource is of.
type VM struct {
	VMID int

	// UUID that the VM must have; empty for a VM that is yet to be looked at.
	UUID string
}

// A Machine of either scope, as far as such a resource looks at it.
type Machine interface {
	resource.Managed

	Parameters() *v1alpha1.MachineParameters
	Observation() *v1alpha1.MachineObservation
}

// VMOf returns the VM of a Machine of the resource's scope and namespace, or the problem that there is none yet.
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

// mayKnow reports whether a resource may know of a Machine.
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

// CheckUnused returns an error while anybody uses what is to be removed.
func (p Parts[T]) CheckUnused(name string, users []string) error {
	if len(users) == 0 {
		return nil
	}
	return kind.Held(Error(kind.Problem{Reason: ReasonInUse, Message: fmt.Sprintf(
		"%s %s is used by %s: it is removed once that has ended or is taken out of the spec", p.Noun, name, strings.Join(users, ", "))}))
}

// Unselected is the problem that machineSelector selects no Machine.
func (p Parts[T]) Unselected() *kind.Problem {
	message := fmt.Sprintf("no Machine has the labels of machineSelector: the %s is %s once there is one", p.Noun, p.Made)
	return &kind.Problem{Reason: ReasonMachineNotFound, Message: message}
}

// An Inventory answers what is asked about a VM.
type Inventory interface {
	Cluster

	Guests(ctx context.Context, maxAge time.Duration) ([]proxmox.Guest, error)
	ClusterName(ctx context.Context) (string, error)
	Follow(u proxmox.UPID, done func(proxmox.Task))
}

// A Client is what Proxmox VE itself is asked about a VM.
type Client interface {
	VMIDTaken(ctx context.Context, vmid int) (bool, error)
	Task(ctx context.Context, u proxmox.UPID) (proxmox.Task, error)
}

// Locate finds where a VM is. It returns nil if there is no VM of its VMID, which is
// believed of a list that was read now, and of PVE's word.
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

// A Cluster is what is known of the nodes of a cluster and their tasks.
type Cluster interface {
	Nodes(ctx context.Context) ([]proxmox.Node, error)
	Tasks(ctx context.Context, maxAge time.Duration) ([]proxmox.Task, error)
}

// nodeOffline reports whether the cluster says that a node is offline.
func nodeOffline(ctx context.Context, c Cluster, node string) (bool, error) {
	nodes, err := c.Nodes(ctx)
	n, _ := proxmox.NodeOf(nodes, node)
	return n.Offline(), err
}

// Busy reports whether a task works on a VM now, of ours or anybody's.
func Busy(ctx context.Context, c Cluster, vmid int) (bool, error) {
	return Works(ctx, c, vmid, inventory.Fresh)
}

// Works reports whether a task works on a VM, by a list of tasks that is at most maxAge old. PVE goes on listing as running what ran on a
// node that has gone down, until that is back: those tasks do not count.
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

// HeldLock is the problem that PVE holds the lock of a VM for a moment, after which what the resource stands for is taken, say.
func HeldLock(done string) kind.Problem {
	return kind.Problem{Reason: ReasonLocked, Message: tasktrack.HoldsLock + ": it is " + done + " then"}
}

// BacksOff reports whether an attempt that failed is not to be repeated yet, as kind.Failures has it. What waits for a lock is repeated soon.
func BacksOff(f kind.Failures, now, generation, first int64) bool {
	if f.Problem == string(ReasonLocked) {
		f.Count = min(f.Count, 1)
	}
	return f.RetryIn(now, generation, first) > 0
}

// ClusterOf returns the name of the cluster of a connection, empty if it may not be seen, or an error if it is another cluster than the
// one in which the object of the resource is.
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
