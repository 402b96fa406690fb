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

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// UnixOrZero returns a time in seconds since the epoch, 0 for none.
func UnixOrZero(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

// Replicable lists the volumes of a guest that jobs replicate to other nodes. All volumes on local storages that are not excluded must be on storages that
// support replication.
func Replicable(o *engine.Op, g *state.Guest) ([]string, error) {
	var out []string
	for _, id := range Volumes(o, g) {
		s := o.State.Storages[StorageOf(id)]
		if s.Shared || leftOut(o, g, id) {
			continue
		}
		if !replicates(s) {
			return nil, apierr.Errorf("missing replicate feature on volume '%s'", id)
		}
		out = append(out, id)
	}
	return out, nil
}

// replicates reports whether the storage supports replication.
func replicates(s *state.Storage) bool { return s.Type == "zfspool" }

// leftOut reports whether a drive is excluded from replication, on request or because it is cloud-init's.
func leftOut(o *engine.Op, g *state.Guest, id string) bool {
	for key, value := range g.Config {
		if d := ParseDrive(o.Engine, key, value); IsDrive(key) && d.File() == id {
			return d["replicate"] == "0" || d.CDROM() || d.CloudInit()
		}
	}
	return false
}

// staysReplicable fails for disks that the jobs of a guest could not replicate.
func staysReplicable(o *engine.Op, ch *Change) error {
	if Replicates(o.State, ch.VMID) == nil {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(ch.Set)) {
		d := ParseDrive(o.Engine, key, ch.Set[key])
		if !IsDrive(key) || d.CDROM() || d.CloudInit() || d["replicate"] == "0" {
			continue
		}
		switch s := o.State.Storages[StorageOf(d.File())]; {
		case s == nil:
			return apierr.Errorf("cannot add non-managed/pass-through volume to a replicated VM")
		case !s.Shared && !replicates(s):
			return apierr.Errorf("cannot add non-replicatable volume to a replicated VM")
		}
	}
	return nil
}

// Replicates fails when a guest has a replication job.
func Replicates(st *state.State, vmid int) error {
	for _, id := range slices.Sorted(maps.Keys(st.Replications)) {
		if state.Replicated(id) == state.VmidText(vmid) {
			return apierr.Errorf("There is a replication job '%s' for guest '%d' - Please remove that first.", id, vmid)
		}
	}
	return nil
}

// forgetReplications removes the jobs of a guest that no longer exists. Their replicas stay.
func forgetReplications(st *state.State, vmid int) {
	maps.DeleteFunc(st.Replications, func(id string, _ map[string]string) bool { return state.Replicated(id) == state.VmidText(vmid) })
	maps.DeleteFunc(st.Replicas, func(id string, _ *state.Replica) bool { return state.Replicated(id) == state.VmidText(vmid) })
}
