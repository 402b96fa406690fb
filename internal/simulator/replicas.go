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
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
)

// Replica is what has become of a replication job.
type Replica struct {
	// Tried is when the job last began, Synced when it last began and did its work; zero if never.
	Tried, Synced time.Time
	// Failures are how often in a row it has failed since, and Error is why.
	Failures int
	Error    string
	// Storages are those that the job has last sent volumes of.
	Storages []string
}

// replicate lets the nodes run the replication jobs that are due, which they look for once a minute. The state must be held.
func (o *op) replicate() {
	s := o.s
	now, every := s.clock.Now(), s.scale(s.duration("replication"))
	if every > 0 && !now.Truncate(every).After(s.replicated) {
		return
	}
	s.replicated = now
	if len(s.state.Replications) == 0 || s.state.NoQuorum {
		return
	}
	for _, id := range slices.Sorted(maps.Keys(s.state.Replications)) {
		if g := s.state.Guests[atoi(replicated(id))]; g != nil && !s.state.Nodes[g.Node].Offline {
			o.runReplication(id, g)
		}
	}
}

// runReplication runs a job if it is due. One that is to be removed always is, also if it is off.
func (o *op) runReplication(id string, g *Guest) {
	job := o.st.Replications[id]
	if job["source"] != g.Node { // Somebody has taken the guest's configuration to another node.
		o.st.switchReplication(g.VMID, job["source"], g.Node)
	}
	r := o.st.replica(id)
	removed := job["remove_job"] != ""
	if !removed && (job["disable"] == "1" || job["target"] == g.Node || !o.replicationDue(job, r)) {
		return
	}
	work := syncReplica
	if removed {
		work = removeReplicas
	}
	began := o.s.clock.Now()
	r.Tried = began
	if err := work(o, id, g); err != nil {
		r.Failures++
		r.Error = err.Error()
		return
	}
	if removed {
		delete(o.st.Replications, id)
		delete(o.st.Replicas, id)
		return
	}
	r.Synced, r.Failures, r.Error = began, 0, ""
}

// replica is what has become of a job so far.
func (st *State) replica(id string) *Replica {
	if st.Replicas[id] == nil {
		st.Replicas[id] = &Replica{}
	}
	return st.Replicas[id]
}

// Pauses after failures, until the last of which they grow with their number.
const (
	replicationPause     = 5 * time.Minute
	lastReplicationPause = 30 * time.Minute
	growingPauses        = 3
)

// replicationDue reports whether a job is to run by its schedule; one that has failed is tried again when its target is there.
func (o *op) replicationDue(job map[string]string, r *Replica) bool {
	now := o.s.clock.Now()
	if r.Failures > 0 {
		n := o.st.Nodes[job["target"]]
		pause := lastReplicationPause
		if r.Failures <= growingPauses {
			pause = time.Duration(r.Failures) * replicationPause
		}
		return n != nil && !n.Offline && !now.Before(r.Tried.Add(pause))
	}
	next := nextSync(job, r)
	return !next.IsZero() && !now.Before(next)
}

// nextSync is when a job is to run by its schedule.
func nextSync(job map[string]string, r *Replica) time.Time {
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

// syncReplica sends a guest's volumes to the target of a job, and removes there what the guest no longer has.
func syncReplica(o *op, id string, g *Guest) error {
	target := o.st.Replications[id]["target"]
	volumes, err := o.replicable(g)
	switch {
	case err != nil:
		return err
	case len(volumes) == 0:
		return errors.New("no volumes specified")
	}
	r, there := o.st.replica(id), map[string]bool{}
	if err := o.reach(target, id); err != nil {
		return err
	}
	for _, volume := range volumes {
		if err := o.sendReplica(id, g.Node, target, volume); err != nil {
			return err
		}
		there[volume] = true
	}
	storages := storagesUsed(volumes)
	o.dropReplicas(id, target, slices.Concat(r.Storages, storages), there)
	r.Storages = storages
	return nil
}

// storagesUsed are the storages of volumes.
func storagesUsed(volumes []string) []string {
	var out []string
	for _, v := range volumes {
		out = append(out, storageOf(v))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// sendReplica brings the replica of a volume up to date.
func (o *op) sendReplica(id, from, to, volume string) error {
	storage, name, _ := splitVolume(volume)
	s, err := o.st.enabledStorage(storage, to)
	if err != nil {
		return err
	}
	key := s.key(to, name)
	if old := o.st.Volumes[key]; old != nil && old.Replica != id {
		return die("volume '%s' already exists", volume)
	}
	v := *o.st.volume(from, volume)
	v.Replica = id
	o.st.Volumes[key] = &v
	return nil
}

// reach fails as the command does that a job runs on its target, if that is off.
func (o *op) reach(target, id string) error {
	n := o.st.Nodes[target]
	if n != nil && !n.Offline {
		return nil
	}
	return die("command '/usr/bin/ssh -e none -o 'BatchMode=yes' -o 'HostKeyAlias=%s' -- pvesr prepare-local-job %s' failed: exit code 255", target, id)
}

// dropReplicas removes the replicas of a job on some storages of its target, but for some volumes.
func (o *op) dropReplicas(id, target string, storages []string, but map[string]bool) {
	maps.DeleteFunc(o.st.Volumes, func(k VolumeKey, v *Volume) bool {
		return v.Replica == id && k.Node == target && slices.Contains(storages, k.Storage) && !but[k.Storage+":"+k.Name]
	})
}

// removeReplicas removes what a job has made, in full or but for what is on the target.
func removeReplicas(o *op, id string, g *Guest) error {
	job := o.st.Replications[id]
	if job["remove_job"] != "full" || job["target"] == g.Node {
		return nil
	}
	if err := o.reach(job["target"], id); err != nil {
		return err
	}
	o.dropReplicas(id, job["target"], slices.Concat(storagesUsed(o.volumes(g)), o.st.replica(id).Storages), nil)
	return nil
}

// jobTo is the job that replicates a guest to a node, empty if there is none.
func (st *State) jobTo(vmid int, node string) string {
	for id, job := range st.Replications {
		if replicated(id) == vmidText(vmid) && job["target"] == node {
			return id
		}
	}
	return ""
}

// switchReplication turns the jobs of a guest around that has come from one node to another: what was replicated there is in
// use now, and what it was made from is the replica.
func (st *State) switchReplication(vmid int, from, to string) {
	for id, job := range st.Replications {
		if replicated(id) != vmidText(vmid) {
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
			if left := st.Volumes[VolumeKey{Storage: k.Storage, Node: from, Name: k.Name}]; left != nil {
				left.Replica = id
			}
		}
	}
}
