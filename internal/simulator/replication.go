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

package simulator

import (
	"maps"
	"slices"
	"strings"
	"time"
)

func replicationRoutes() map[string]handler {
	const list = "/cluster/replication"
	return map[string]handler{
		"GET " + list:                   (*call).listReplications,
		"POST " + list:                  (*call).createReplication,
		"GET " + list + "/{id}":         (*call).getReplication,
		"PUT " + list + "/{id}":         (*call).updateReplication,
		"DELETE " + list + "/{id}":      (*call).deleteReplication,
		"GET /nodes/{node}/replication": (*call).nodeReplications,
	}
}

// replicated is the guest that a job is for: the job's ID begins with its VMID.
func replicated(id string) string {
	guest, _, _ := strings.Cut(id, "-")
	return guest
}

// showReplication is a job as the API tells it.
func (c *call) showReplication(id string) map[string]any {
	out := map[string]any{"id": id, "guest": atoi(replicated(id)), "jobnum": atoi(strings.TrimPrefix(id, replicated(id)+"-"))}
	for key, value := range c.state.Replications[id] {
		out[key] = value
		if key == "disable" {
			out[key] = atoi(value)
		}
	}
	return out
}

func (c *call) listReplications() (any, error) {
	out := []map[string]any{}
	for _, id := range slices.Sorted(maps.Keys(c.state.Replications)) {
		if c.state.may(c.who, "/vms/"+replicated(id), "VM.Audit") {
			out = append(out, c.showReplication(id))
		}
	}
	return out, nil
}

// nodeReplications lists the jobs of the guests on a node.
func (c *call) nodeReplications() (any, error) {
	out := []map[string]any{}
	for _, id := range slices.Sorted(maps.Keys(c.state.Replications)) {
		g := c.state.Guests[atoi(replicated(id))]
		if g == nil || g.Node != c.node || (c.has("guest") && c.str("guest") != replicated(id)) ||
			!c.state.may(c.who, "/vms/"+replicated(id), "VM.Audit") {
			continue
		}
		out = append(out, c.showReplica(id))
	}
	return out, nil
}

// showReplica is a job and what has become of it.
func (c *call) showReplica(id string) map[string]any {
	job, r := c.state.Replications[id], c.state.replica(id)
	out := c.showReplication(id)
	maps.Copy(out, map[string]any{
		"vmtype": "qemu", "fail_count": r.Failures, "last_sync": unixOrZero(r.Synced), "last_try": unixOrZero(r.Tried),
		"next_sync": unixOrZero(nextSync(job, r)),
	})
	if job["remove_job"] != "" {
		out["next_sync"] = 1
	}
	if !r.Tried.IsZero() {
		out["duration"] = 0.0
	}
	if r.Error != "" {
		out["error"] = r.Error
	}
	return out
}

func unixOrZero(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

func (c *call) getReplication() (any, error) {
	id := c.str("id")
	if c.state.Replications[id] == nil {
		return nil, die("no such replication job '%s'", id)
	}
	if err := c.state.check(c.who, "/vms/"+replicated(id), "VM.Audit"); err != nil {
		return nil, err
	}
	out := c.showReplication(id)
	out["digest"] = digestOf(c.state.Replications)
	return out, nil
}

func (c *call) mayReplicate(id string) error {
	if c.state.Version == "8.4" {
		return nil // The description's check was all.
	}
	return c.state.check(c.who, "/vms/"+replicated(id), "VM.Replicate")
}

func (c *call) createReplication() (any, error) {
	id, target := c.str("id"), c.str("target")
	if err := c.mayReplicate(id); err != nil {
		return nil, err
	}
	g := c.state.Guests[atoi(replicated(id))]
	switch {
	case g == nil:
		return nil, die("Guest '%s' does not exist.", replicated(id))
	case c.state.Nodes[target] == nil:
		return nil, die("Target '%s' does not exist.", target)
	case c.has("source") && c.str("source") != g.Node:
		return nil, die("Source '%s' does not match current node of guest '%s' (%s)", c.str("source"), replicated(id), g.Node)
	case target == g.Node:
		return nil, die("Source and target must not be identical")
	}
	volumes, err := c.op().replicable(g)
	switch {
	case err != nil:
		return nil, err
	case len(volumes) == 0:
		return nil, die("No replicatable volumes found")
	}
	if c.state.Replications[id] != nil {
		return nil, die("replication job '%s' already exists", id)
	}
	job := c.given("id")
	job["source"] = g.Node
	c.state.Replications[id] = job
	return nil, nil //nolint:nilnil // The answer is null.
}

// replicable lists the volumes of a guest that jobs send to other nodes. All that are on local storages and not left out have
// to be on storages that can do so.
func (o *op) replicable(g *Guest) ([]string, error) {
	var out []string
	for _, id := range o.volumes(g) {
		s := o.st.Storages[storageOf(id)]
		if s.Shared || o.leftOut(g, id) {
			continue
		}
		if !s.replicates() {
			return nil, die("missing replicate feature on volume '%s'", id)
		}
		out = append(out, id)
	}
	return out, nil
}

// replicates reports whether volumes of the storage can be sent to other nodes.
func (s *Storage) replicates() bool { return s.Type == "zfspool" }

// leftOut reports whether a drive is not replicated: on request, or since it is cloud-init's.
func (o *op) leftOut(g *Guest, id string) bool {
	for key, value := range g.Config {
		if d := o.s.parseDrive(key, value); isDrive(key) && d.file() == id {
			return d["replicate"] == "0" || d.cdrom() || d.cloudInit()
		}
	}
	return false
}

// staysReplicable fails for disks that the jobs of a guest could not send to other nodes.
func (o *op) staysReplicable(ch *change) error {
	if o.st.replicates(ch.vmid) == nil {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(ch.set)) {
		d := o.s.parseDrive(key, ch.set[key])
		if !isDrive(key) || d.cdrom() || d.cloudInit() || d["replicate"] == "0" {
			continue
		}
		switch s := o.st.Storages[storageOf(d.file())]; {
		case s == nil:
			return die("cannot add non-managed/pass-through volume to a replicated VM")
		case !s.Shared && !s.replicates():
			return die("cannot add non-replicatable volume to a replicated VM")
		}
	}
	return nil
}

func (c *call) updateReplication() (any, error) {
	id, jobs := c.str("id"), c.state.Replications
	if err := c.mayReplicate(id); err != nil {
		return nil, err
	}
	switch {
	case c.has("digest") && c.str("digest") != digestOf(jobs):
		return nil, errModified()
	case jobs[id] == nil:
		return nil, die("no such job '%s'", id)
	}
	maps.Copy(jobs[id], c.given("id"))
	for _, key := range c.deleted() {
		switch {
		case key == "target" || key == "type":
			return nil, die("unable to delete required option '%s'", key)
		case !c.knows(key):
			return nil, die("no such option '%s'", key)
		}
		delete(jobs[id], key)
	}
	return nil, nil //nolint:nilnil // The answer is null.
}

// deleteReplication marks a job for removal, which its guest's node does when it looks after jobs next. With force the job is
// gone at once, and all that it has made stays.
func (c *call) deleteReplication() (any, error) {
	id, jobs := c.str("id"), c.state.Replications
	if err := c.mayReplicate(id); err != nil {
		return nil, err
	}
	switch {
	case c.flag("force") && c.flag("keep"):
		return nil, paramError("keep", "conflicts with parameter 'force'")
	case c.flag("force"):
		delete(jobs, id)
		delete(c.state.Replicas, id)
	case jobs[id] == nil:
		return nil, die("no such job '%s'", id)
	default:
		jobs[id]["remove_job"] = map[bool]string{true: "local", false: "full"}[c.flag("keep")]
	}
	return nil, nil //nolint:nilnil // The answer is null.
}

// replicates fails when a guest has a replication job.
func (st *State) replicates(vmid int) error {
	for _, id := range slices.Sorted(maps.Keys(st.Replications)) {
		if replicated(id) == vmidText(vmid) {
			return die("There is a replication job '%s' for guest '%d' - Please remove that first.", id, vmid)
		}
	}
	return nil
}

// forgetReplications removes the jobs of a guest that is gone. What they have made stays.
func (st *State) forgetReplications(vmid int) {
	maps.DeleteFunc(st.Replications, func(id string, _ map[string]string) bool { return replicated(id) == vmidText(vmid) })
	maps.DeleteFunc(st.Replicas, func(id string, _ *Replica) bool { return replicated(id) == vmidText(vmid) })
}
