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
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	xpevent "github.com/crossplane/crossplane-runtime/v2/pkg/event"

	"github.com/vitistack/provider-proxmox/internal/controller/machine/events"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// Replicas is the part of a Client that removes copies of VMs on other nodes.
type Replicas interface {
	RemoveReplication(ctx context.Context, id string) error
	ReplicationFailures(ctx context.Context, ref proxmox.Ref) (map[string]string, error)
}

// obstacleTime is how long a Machine that is being deleted waits for an obstacle to be
// removed, such as a node that is off.
const obstacleTime = 15 * time.Minute

// How long a VM that is to be removed waits otherwise until PVE has removed its copies
// on other nodes.
const (
	// replicaRefusedTime is for the privilege to be granted that is missing.
	replicaRefusedTime = time.Minute

	// replicaQueueTime is for PVE to get to it: a node runs one job at a time.
	replicaQueueTime = 6 * time.Hour

	// replicaRound is how long it takes until what PVE says of a job is what became of
	// its removal: a node looks for jobs once a minute.
	replicaRound = 2 * time.Minute
)

// removingReplicas is what tasks remember that begin.
const removingReplicas = "remove replicas"

// unreplicate has PVE remove the copies of the VM on other nodes: it does so only while
// there is the VM. It says why the VM is still needed for that, or else which copies
// are left when it is gone.
func (e deletion) unreplicate(ctx context.Context, m Machine) (left []proxmox.Replication, waits, err error) {
	jobs, err := e.replications(ctx)
	if len(jobs) == 0 || err != nil {
		return nil, nil, errors.Wrap(err, "cannot tell whether the VM is replicated")
	}
	refused, err := e.removeReplications(ctx, m, jobs)
	if err != nil {
		return nil, nil, err
	}
	since := e.tasks.Waited(m, removingReplicas)
	obstacle, patience := e.replicationObstacle(ctx, jobs, since), obstacleTime
	waits = errors.Errorf("VM %d waits, %s at most, until Proxmox VE has removed what it has replicated to %s: %s", e.vm.VMID, patience, targets(jobs), obstacle)
	switch {
	case refused != nil:
		patience, waits = replicaRefusedTime, refused
	case obstacle == "":
		patience, waits = replicaQueueTime, errors.Errorf("VM %d waits until Proxmox VE has removed what it has replicated to %s", e.vm.VMID, targets(jobs))
	}
	if since >= patience {
		return jobs, nil, nil
	}
	return nil, waits, nil
}

// removeReplications marks jobs for their removal. It returns why PVE refuses that, if
// it does.
func (e deletion) removeReplications(ctx context.Context, m Machine, jobs []proxmox.Replication) (refused, err error) {
	for _, j := range jobs {
		if j.Removal == proxmox.RemovalFull {
			continue
		}
		err := e.client.RemoveReplication(ctx, j.ID)
		switch {
		case proxmox.IsAuthorization(err):
			refused = err
		case err != nil:
			return nil, err
		default:
			e.record.Event(m, xpevent.Normal(events.ReasonUnreplicating,
				fmt.Sprintf("Asked Proxmox VE to remove what it has replicated of VM %d to %s", e.vm.VMID, targets([]proxmox.Replication{j}))))
		}
	}
	return refused, nil
}

// replicationObstacle is why PVE cannot remove copies, or empty if nothing is known of one.
func (e deletion) replicationObstacle(ctx context.Context, jobs []proxmox.Replication, since time.Duration) string {
	for _, j := range jobs {
		if off, err := e.reader.NodeOffline(ctx, j.Target); err == nil && off {
			return fmt.Sprintf("node %s is offline", j.Target)
		}
	}
	if since < replicaRound {
		return ""
	}
	failures, err := e.client.ReplicationFailures(ctx, e.vm.Ref)
	if err != nil {
		e.log.Debug("Cannot read what became of replication jobs", "vmid", e.vm.VMID, "error", err)
	}
	for _, j := range jobs {
		if why := failures[j.ID]; why != "" {
			return fmt.Sprintf("job %s has failed: %s", j.ID, why)
		}
	}
	return ""
}

// replications are the VM's jobs whose copies are to go with it: not those that
// somebody is already removing without. What all Machines share is asked first.
func (e deletion) replications(ctx context.Context) ([]proxmox.Replication, error) {
	if may, err := e.mayBeReplicated(ctx); !may || err != nil {
		return nil, err
	}
	jobs, err := e.inventory.Replications(ctx, inventory.Relaxed)
	if err != nil || !slices.ContainsFunc(jobs, e.copies) {
		return nil, err
	}
	jobs, err = e.inventory.Replications(ctx, inventory.Fresh)
	return slices.DeleteFunc(slices.Clone(jobs), func(j proxmox.Replication) bool { return !e.copies(j) }), err
}

// copies reports whether a job makes copies of the VM that are to go.
func (e deletion) copies(j proxmox.Replication) bool {
	return j.VMID == e.vm.VMID && j.Removal != proxmox.RemovalLocal
}

// mayBeReplicated reports whether PVE can have replicated the VM, as far as is known
// without a call. A disk may have been elsewhere when it was.
func (e deletion) mayBeReplicated(ctx context.Context) (bool, error) {
	nodes, err := e.inventory.Nodes(ctx)
	if len(nodes) == 1 || err != nil {
		return false, err
	}
	storages, err := e.inventory.Storages(ctx)
	if err != nil || slices.ContainsFunc(storages, func(s proxmox.Storage) bool { return s.Type == proxmox.ReplicationStorage }) {
		return err == nil, err
	}
	for _, device := range e.vm.Config.Disks() {
		name, _, managed := strings.Cut(e.vm.Config.Volume(device), ":")
		if managed && !slices.ContainsFunc(storages, func(s proxmox.Storage) bool { return s.Name == name }) {
			return true, nil // The user may not see the storage.
		}
	}
	return false, nil
}

// targets of jobs, for people.
func targets(jobs []proxmox.Replication) string {
	var all []string
	for _, j := range jobs {
		all = append(all, fmt.Sprintf("node %s (job %s)", j.Target, j.ID))
	}
	return strings.Join(all, ", ")
}

// emitOrphanedReplicas tells which copies are left of a VM that is gone.
func (e deletion) emitOrphanedReplicas(m Machine, left []proxmox.Replication) {
	if len(left) == 0 {
		return
	}
	e.record.Event(m, xpevent.Warning(events.ReasonOrphanedReplicas, errors.Errorf(
		"VM %d is removed although Proxmox VE has not removed what it has replicated to %s: remove volumes vm-%d-… there that nobody needs",
		e.vm.VMID, targets(left), e.vm.VMID)))
}
