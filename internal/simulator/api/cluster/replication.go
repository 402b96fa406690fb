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

package cluster

import (
	"maps"
	"slices"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/guest"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

func replicationRoutes() map[string]engine.Handler {
	const list = "/cluster/replication"
	return map[string]engine.Handler{
		"GET " + list:                   listReplications,
		"POST " + list:                  createReplication,
		"GET " + list + "/{id}":         getReplication,
		"PUT " + list + "/{id}":         updateReplication,
		"DELETE " + list + "/{id}":      deleteReplication,
		"GET /nodes/{node}/replication": nodeReplications,
	}
}

// showReplication returns a job as the API shows it.
func showReplication(c *engine.Call, id string) map[string]any {
	out := map[string]any{"id": id, "guest": schema.Int(state.Replicated(id)), "jobnum": schema.Int(strings.TrimPrefix(id, state.Replicated(id)+"-"))}
	for key, value := range c.State.Replications[id] {
		out[key] = value
		if key == "disable" {
			out[key] = schema.Int(value)
		}
	}
	return out
}

func listReplications(c *engine.Call) (any, error) {
	out := []map[string]any{}
	for _, id := range slices.Sorted(maps.Keys(c.State.Replications)) {
		if c.State.May(c.Who, "/vms/"+state.Replicated(id), "VM.Audit") {
			out = append(out, showReplication(c, id))
		}
	}
	return out, nil
}

// nodeReplications lists the jobs of the guests on a node.
func nodeReplications(c *engine.Call) (any, error) {
	out := []map[string]any{}
	for _, id := range slices.Sorted(maps.Keys(c.State.Replications)) {
		g := c.State.Guests[schema.Int(state.Replicated(id))]
		if g == nil || g.Node != c.Node || (c.Has("guest") && c.Str("guest") != state.Replicated(id)) ||
			!c.State.May(c.Who, "/vms/"+state.Replicated(id), "VM.Audit") {
			continue
		}
		out = append(out, showReplica(c, id))
	}
	return out, nil
}

// showReplica returns a job and its state.
func showReplica(c *engine.Call, id string) map[string]any {
	job, r := c.State.Replications[id], guest.Replica(c.State, id)
	out := showReplication(c, id)
	maps.Copy(out, map[string]any{
		"vmtype": "qemu", "fail_count": r.Failures, "last_sync": guest.UnixOrZero(r.Synced), "last_try": guest.UnixOrZero(r.Tried),
		"next_sync": guest.UnixOrZero(guest.NextSync(job, r)),
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

func getReplication(c *engine.Call) (any, error) {
	id := c.Str("id")
	if c.State.Replications[id] == nil {
		return nil, apierr.Errorf("no such replication job '%s'", id)
	}
	if err := c.State.Check(c.Who, "/vms/"+state.Replicated(id), "VM.Audit"); err != nil {
		return nil, err
	}
	out := showReplication(c, id)
	out["digest"] = state.SectionsDigest(c.State.Replications)
	return out, nil
}

func mayReplicate(c *engine.Call, id string) error {
	if c.State.Version == "8.4" {
		return nil // The check of the API description is sufficient.
	}
	return c.State.Check(c.Who, "/vms/"+state.Replicated(id), "VM.Replicate")
}

func createReplication(c *engine.Call) (any, error) {
	id, target := c.Str("id"), c.Str("target")
	if err := mayReplicate(c, id); err != nil {
		return nil, err
	}
	g := c.State.Guests[schema.Int(state.Replicated(id))]
	switch {
	case g == nil:
		return nil, apierr.Errorf("Guest '%s' does not exist.", state.Replicated(id))
	case c.State.Nodes[target] == nil:
		return nil, apierr.Errorf("Target '%s' does not exist.", target)
	case c.Has("source") && c.Str("source") != g.Node:
		return nil, apierr.Errorf("Source '%s' does not match current node of guest '%s' (%s)", c.Str("source"), state.Replicated(id), g.Node)
	case target == g.Node:
		return nil, apierr.Errorf("Source and target must not be identical")
	}
	volumes, err := guest.Replicable(c.Op(), g)
	switch {
	case err != nil:
		return nil, err
	case len(volumes) == 0:
		return nil, apierr.Errorf("No replicatable volumes found")
	}
	if c.State.Replications[id] != nil {
		return nil, apierr.Errorf("replication job '%s' already exists", id)
	}
	job := c.Given("id")
	job["source"] = g.Node
	c.State.Replications[id] = job
	return nil, nil //nolint:nilnil // The answer is null.
}

func updateReplication(c *engine.Call) (any, error) {
	id, jobs := c.Str("id"), c.State.Replications
	if err := mayReplicate(c, id); err != nil {
		return nil, err
	}
	switch {
	case c.Has("digest") && c.Str("digest") != state.SectionsDigest(jobs):
		return nil, apierr.Modified()
	case jobs[id] == nil:
		return nil, apierr.Errorf("no such job '%s'", id)
	}
	maps.Copy(jobs[id], c.Given("id"))
	for _, key := range c.Deleted() {
		switch {
		case key == "target" || key == "type":
			return nil, apierr.Errorf("unable to delete required option '%s'", key)
		case !c.Knows(key):
			return nil, apierr.Errorf("no such option '%s'", key)
		}
		delete(jobs[id], key)
	}
	return nil, nil //nolint:nilnil // The answer is null.
}

// deleteReplication marks a job for removal, which its guest's node does at its next check of the jobs. With force, the job is removed at once, and all
// replicas stay.
func deleteReplication(c *engine.Call) (any, error) {
	id, jobs := c.Str("id"), c.State.Replications
	if err := mayReplicate(c, id); err != nil {
		return nil, err
	}
	switch {
	case c.Flag("force") && c.Flag("keep"):
		return nil, apierr.Param("keep", "conflicts with parameter 'force'")
	case c.Flag("force"):
		delete(jobs, id)
		delete(c.State.Replicas, id)
	case jobs[id] == nil:
		return nil, apierr.Errorf("no such job '%s'", id)
	default:
		jobs[id]["remove_job"] = map[bool]string{true: "local", false: "full"}[c.Flag("keep")]
	}
	return nil, nil //nolint:nilnil // The answer is null.
}
