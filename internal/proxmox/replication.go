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

package proxmox

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// A Replication is a job that keeps replicas of a guest's volumes on another node. PVE replicates volumes of ZFS pools that are not shared.
type Replication struct {
	// ID of the job, which begins with the guest's VMID: 100-0.
	ID string

	// VMID of the guest.
	VMID int

	// Target is the node with the replicas.
	Target string

	// Removal is RemovalFull or RemovalLocal if PVE is to remove the job, and empty otherwise.
	Removal string
}

// How a replication job is removed: with the replicas on its target, or without.
const (
	RemovalFull  = "full"
	RemovalLocal = "local"
)

// ReplicationStorage is the type of the storages whose volumes PVE replicates.
const ReplicationStorage = "zfspool"

const replicationPath = "/cluster/replication"

// Replications returns the replication jobs of all guests that the user may see.
func (c ClusterAPI) Replications(ctx context.Context) ([]Replication, error) {
	var data list[struct {
		ID      text `json:"id"`
		Target  text `json:"target"`
		Removal text `json:"remove_job"`
	}]
	if err := c.do(ctx, request{op: "list replication jobs", method: http.MethodGet, path: replicationPath}, &data); err != nil {
		return nil, err
	}
	var all []Replication
	for _, d := range data {
		guest, _, _ := strings.Cut(string(d.ID), "-")
		if vmid, err := strconv.Atoi(guest); err == nil {
			all = append(all, Replication{ID: string(d.ID), VMID: vmid, Target: string(d.Target), Removal: string(d.Removal)})
		}
	}
	return all, nil
}

// RemoveReplication marks a job for removal, together with the replicas on its target. The guest's node removes it. The node does that once a minute, if
// the guest is on it then and the target can be reached. Marking a job again changes nothing. It needs VM.Replicate on the VM, and in PVE 8 also
// Datastore.Allocate on /storage.
func (c ClusterAPI) RemoveReplication(ctx context.Context, id string) error {
	return c.do(ctx, request{op: "remove replication job " + id, method: http.MethodDelete, path: replicationPath + "/{id}", args: []string{id}}, nil)
}

// ReplicationFailures returns the errors of the jobs of a VM whose last run has failed, by the jobs' IDs.
func (c ClusterAPI) ReplicationFailures(ctx context.Context, ref Ref) (map[string]string, error) {
	r := onNode("list the replication jobs", http.MethodGet, ref.Node, "/replication")
	r.query = url.Values{"guest": {strconv.Itoa(ref.VMID)}}
	var data list[struct {
		ID    text `json:"id"`
		Error text `json:"error"`
	}]
	if err := c.node(ctx, r, &data); err != nil {
		return nil, err
	}
	all := map[string]string{}
	for _, d := range data {
		if d.Error != "" {
			all[string(d.ID)] = string(d.Error)
		}
	}
	return all, nil
}
