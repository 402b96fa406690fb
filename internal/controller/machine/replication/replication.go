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

// Package replication removes the copies of a VM that Proxmox VE has replicated to other nodes, before the VM is destroyed.
package replication

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	xpevent "github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"

	"github.com/vitistack/provider-proxmox/internal/controller/machine/events"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/tasktrack"
	"github.com/vitistack/provider-proxmox/internal/vmcache"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// A Client removes copies of VMs on other nodes.
type Client interface {
	RemoveReplication(ctx context.Context, id string) error
	ReplicationFailures(ctx context.Context, ref proxmox.Ref) (map[string]string, error)
}

// An Inventory reads the jobs, and whether there can be any.
type Inventory interface {
	Nodes(ctx context.Context) ([]proxmox.Node, error)
	Storages(ctx context.Context) ([]proxmox.Storage, error)
	Replications(ctx context.Context, maxAge time.Duration) ([]proxmox.Replication, error)
}

// A Remover tells Proxmox VE to remove the copies of a VM.
type Remover struct {
	Client    Client
	Inventory Inventory
	Reader    *vmcache.Reader
	Tasks     *tasktrack.Tracker
	Record    xpevent.Recorder
	Log       logging.Logger
	VM        *vmstate.VM

	// ObstacleTime is how long to wait for an obstacle, such as a node that is off.
	ObstacleTime time.Duration
}

// How long a VM that is to be removed otherwise waits until PVE has removed its copies on other nodes.
const (
	// RefusedTime is how long to wait for a missing privilege to be granted.
	RefusedTime = time.Minute

	// QueueTime is how long to wait for PVE to begin: a node runs one job at a time.
	QueueTime = 6 * time.Hour

	// Round is how long it takes until PVE's report of a job is the result of its removal: a node checks its jobs once a minute.
	Round = 2 * time.Minute
)

// removing is the key under which the tracker of tasks remembers the beginning of the wait.
const removing = "remove replicas"

// Remove tells PVE to remove the copies of the VM on other nodes, which PVE only does while the VM exists. It returns why the VM is still needed for
// that, or else which copies are left when the VM is removed.
func (r *Remover) Remove(ctx context.Context, m object.Machine) (left []proxmox.Replication, waits, err error) {
	jobs, err := r.replications(ctx)
	if len(jobs) == 0 || err != nil {
		return nil, nil, errors.Wrap(err, "cannot tell whether the VM is replicated")
	}
	refused, err := r.removeReplications(ctx, m, jobs)
	if err != nil {
		return nil, nil, err
	}
	since := r.Tasks.Waited(m, removing)
	obstacle, limit := r.replicationObstacle(ctx, jobs, since), r.ObstacleTime
	waits = errors.Errorf("VM %d waits, %s at most, until Proxmox VE has removed what it has replicated to %s: %s", r.VM.VMID, limit, targets(jobs), obstacle)
	switch {
	case refused != nil:
		limit, waits = RefusedTime, refused
	case obstacle == "":
		limit, waits = QueueTime, errors.Errorf("VM %d waits until Proxmox VE has removed what it has replicated to %s", r.VM.VMID, targets(jobs))
	}
	if since >= limit {
		return jobs, nil, nil
	}
	return nil, waits, nil
}

// removeReplications marks jobs for their removal. It returns why PVE refuses that, if it does.
func (r *Remover) removeReplications(ctx context.Context, m object.Machine, jobs []proxmox.Replication) (refused, err error) {
	for _, j := range jobs {
		if j.Removal == proxmox.RemovalFull {
			continue
		}
		err := r.Client.RemoveReplication(ctx, j.ID)
		switch {
		case proxmox.IsAuthorization(err):
			refused = err
		case err != nil:
			return nil, err
		default:
			r.Record.Event(m, xpevent.Normal(events.ReasonUnreplicating,
				fmt.Sprintf("Asked Proxmox VE to remove what it has replicated of VM %d to %s", r.VM.VMID, targets([]proxmox.Replication{j}))))
		}
	}
	return refused, nil
}

// replicationObstacle returns why PVE cannot remove copies, or an empty string if no obstacle is known.
func (r *Remover) replicationObstacle(ctx context.Context, jobs []proxmox.Replication, since time.Duration) string {
	for _, j := range jobs {
		if off, err := r.Reader.NodeOffline(ctx, j.Target); err == nil && off {
			return fmt.Sprintf("node %s is offline", j.Target)
		}
	}
	if since < Round {
		return ""
	}
	failures, err := r.Client.ReplicationFailures(ctx, r.VM.Ref)
	if err != nil {
		r.Log.Debug("Cannot read what became of replication jobs", "vmid", r.VM.VMID, "error", err)
	}
	for _, j := range jobs {
		if why := failures[j.ID]; why != "" {
			return fmt.Sprintf("job %s has failed: %s", j.ID, why)
		}
	}
	return ""
}

// replications returns the VM's jobs whose copies are to be removed with it, except jobs that are already being removed without their copies. Data
// that all Machines share is checked first.
func (r *Remover) replications(ctx context.Context) ([]proxmox.Replication, error) {
	if may, err := r.mayBeReplicated(ctx); !may || err != nil {
		return nil, err
	}
	jobs, err := r.Inventory.Replications(ctx, inventory.Relaxed)
	if err != nil || !slices.ContainsFunc(jobs, r.copies) {
		return nil, err
	}
	jobs, err = r.Inventory.Replications(ctx, inventory.Fresh)
	return slices.DeleteFunc(slices.Clone(jobs), func(j proxmox.Replication) bool { return !r.copies(j) }), err
}

// copies reports whether a job creates copies of the VM that are to be removed.
func (r *Remover) copies(j proxmox.Replication) bool {
	return j.VMID == r.VM.VMID && j.Removal != proxmox.RemovalLocal
}

// mayBeReplicated reports whether PVE can have replicated the VM, as far as is known without a call. A disk may have been on another storage at that time.
func (r *Remover) mayBeReplicated(ctx context.Context) (bool, error) {
	nodes, err := r.Inventory.Nodes(ctx)
	if len(nodes) == 1 || err != nil {
		return false, err
	}
	storages, err := r.Inventory.Storages(ctx)
	if err != nil || slices.ContainsFunc(storages, func(s proxmox.Storage) bool { return s.Type == proxmox.ReplicationStorage }) {
		return err == nil, err
	}
	for _, device := range r.VM.Config.Disks() {
		name, _, managed := strings.Cut(r.VM.Config.Volume(device), ":")
		if managed && !slices.ContainsFunc(storages, func(s proxmox.Storage) bool { return s.Name == name }) {
			return true, nil // The user may not see the storage.
		}
	}
	return false, nil
}

// targets returns the targets of jobs, for users.
func targets(jobs []proxmox.Replication) string {
	var all []string
	for _, j := range jobs {
		all = append(all, fmt.Sprintf("node %s (job %s)", j.Target, j.ID))
	}
	return strings.Join(all, ", ")
}

// EmitOrphaned reports which copies are left of a VM that was removed.
func (r *Remover) EmitOrphaned(m object.Machine, left []proxmox.Replication) {
	if len(left) == 0 {
		return
	}
	r.Record.Event(m, xpevent.Warning(events.ReasonOrphanedReplicas, errors.Errorf(
		"VM %d is removed although Proxmox VE has not removed what it has replicated to %s: remove volumes vm-%d-… there that nobody needs",
		r.VM.VMID, targets(left), r.VM.VMID)))
}
