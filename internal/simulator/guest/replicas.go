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

package guest

import (
	"maps"
	"slices"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// Replicate runs the replication jobs that are due. Nodes check for them once a minute. The state must be held.
func Replicate(o *engine.Op) {
	s := o.Engine
	now, every := s.Clock.Now(), s.Scale(s.Duration("replication"))
	if every > 0 && !now.Truncate(every).After(s.Replicated) {
		return
	}
	s.Replicated = now
	if len(s.State.Replications) == 0 || s.State.NoQuorum {
		return
	}
	for _, id := range slices.Sorted(maps.Keys(s.State.Replications)) {
		if g := s.State.Guests[schema.Int(state.Replicated(id))]; g != nil && !s.State.Nodes[g.Node].Offline {
			runReplication(o, id, g)
		}
	}
}

// runReplication runs a job if it is due. A job that is to be removed is always due, even if it is disabled.
func runReplication(o *engine.Op, id string, g *state.Guest) {
	job := o.State.Replications[id]
	if job["source"] != g.Node { // The guest's configuration was moved to another node manually.
		switchReplication(o.State, g.VMID, job["source"], g.Node)
	}
	r := Replica(o.State, id)
	removed := job["remove_job"] != ""
	if !removed && (job["disable"] == "1" || job["target"] == g.Node || !replicationDue(o, job, r)) {
		return
	}
	work := syncReplica
	if removed {
		work = removeReplicas
	}
	began := o.Engine.Clock.Now()
	r.Tried = began
	if err := work(o, id, g); err != nil {
		r.Failures++
		r.Error = err.Error()
		return
	}
	if removed {
		delete(o.State.Replications, id)
		delete(o.State.Replicas, id)
		return
	}
	r.Synced, r.Failures, r.Error = began, 0, ""
}

// Replica returns the state of a job.
func Replica(st *state.State, id string) *state.Replica {
	if st.Replicas[id] == nil {
		st.Replicas[id] = &state.Replica{}
	}
	return st.Replicas[id]
}

// Pauses after failures. They increase with the number of failures up to the last one.
const (
	replicationPause     = 5 * time.Minute
	lastReplicationPause = 30 * time.Minute
	growingPauses        = 3
)

// replicationDue reports whether a job is due by its schedule. A failed job is retried when its target is online.
func replicationDue(o *engine.Op, job map[string]string, r *state.Replica) bool {
	now := o.Engine.Clock.Now()
	if r.Failures > 0 {
		n := o.State.Nodes[job["target"]]
		pause := lastReplicationPause
		if r.Failures <= growingPauses {
			pause = time.Duration(r.Failures) * replicationPause
		}
		return n != nil && !n.Offline && !now.Before(r.Tried.Add(pause))
	}
	next := NextSync(job, r)
	return !next.IsZero() && !now.Before(next)
}

// NextSync returns when a job is next due by its schedule.
func NextSync(job map[string]string, r *state.Replica) time.Time {
	event, ok := schema.ParseCalendar(firstOf(job["schedule"], "*/15"))
	if !ok {
		return time.Time{}
	}
	last := r.Tried
	if last.IsZero() {
		last = time.Unix(0, 0).UTC()
	}
	next, _ := event.Next(last)
	return next
}

// syncReplica replicates a guest's volumes to the target of a job, and removes replicas there of volumes that the guest no longer has.
func syncReplica(o *engine.Op, id string, g *state.Guest) error {
	target := o.State.Replications[id]["target"]
	volumes, err := Replicable(o, g)
	switch {
	case err != nil:
		return err
	case len(volumes) == 0:
		return errors.New("no volumes specified")
	}
	r, there := Replica(o.State, id), map[string]bool{}
	if err := reach(o, target, id); err != nil {
		return err
	}
	for _, volume := range volumes {
		if err := sendReplica(o, id, g.Node, target, volume); err != nil {
			return err
		}
		there[volume] = true
	}
	storages := storagesUsed(volumes)
	dropReplicas(o, id, target, slices.Concat(r.Storages, storages), there)
	r.Storages = storages
	return nil
}

// storagesUsed returns the storages of volumes.
func storagesUsed(volumes []string) []string {
	var out []string
	for _, v := range volumes {
		out = append(out, StorageOf(v))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// sendReplica updates the replica of a volume.
func sendReplica(o *engine.Op, id, from, to, volume string) error {
	storage, name, _ := state.SplitVolume(volume)
	s, err := o.State.EnabledStorage(storage, to)
	if err != nil {
		return err
	}
	key := s.Key(to, name)
	if old := o.State.Volumes[key]; old != nil && old.Replica != id {
		return apierr.Errorf("volume '%s' already exists", volume)
	}
	v := *o.State.Volume(from, volume)
	v.Replica = id
	o.State.Volumes[key] = &v
	return nil
}

// reach fails like a job's command on its target, if the target is off.
func reach(o *engine.Op, target, id string) error {
	n := o.State.Nodes[target]
	if n != nil && !n.Offline {
		return nil
	}
	return apierr.Errorf("command '/usr/bin/ssh -e none -o 'BatchMode=yes' -o 'HostKeyAlias=%s' -- pvesr prepare-local-job %s' failed: exit code 255", target, id)
}

// dropReplicas removes the replicas of a job on some storages of its target, except those of some volumes.
func dropReplicas(o *engine.Op, id, target string, storages []string, but map[string]bool) {
	maps.DeleteFunc(o.State.Volumes, func(k state.VolumeKey, v *state.Volume) bool {
		return v.Replica == id && k.Node == target && slices.Contains(storages, k.Storage) && !but[k.Storage+":"+k.Name]
	})
}

// removeReplicas removes the replicas of a job on its target, if the job is removed in full.
func removeReplicas(o *engine.Op, id string, g *state.Guest) error {
	job := o.State.Replications[id]
	if job["remove_job"] != "full" || job["target"] == g.Node {
		return nil
	}
	if err := reach(o, job["target"], id); err != nil {
		return err
	}
	dropReplicas(o, id, job["target"], slices.Concat(storagesUsed(Volumes(o, g)), Replica(o.State, id).Storages), nil)
	return nil
}

// JobTo returns the job that replicates a guest to a node, or nothing if there is none.
func JobTo(st *state.State, vmid int, node string) string {
	for id, job := range st.Replications {
		if state.Replicated(id) == state.VmidText(vmid) && job["target"] == node {
			return id
		}
	}
	return ""
}

// switchReplication reverses the jobs of a guest that was moved from one node to another. The replicas on the new node are now in use, and their sources
// become the replicas.
func switchReplication(st *state.State, vmid int, from, to string) {
	for id, job := range st.Replications {
		if state.Replicated(id) != state.VmidText(vmid) {
			continue
		}
		job["source"] = to
		if job["target"] != to {
			continue
		}
		job["target"] = from
		for k, v := range st.Volumes {
			if k.Node != to || v.Replica != id {
				continue
			}
			v.Replica = ""
			if left := st.Volumes[state.VolumeKey{Storage: k.Storage, Node: from, Name: k.Name}]; left != nil {
				left.Replica = id
			}
		}
	}
}
