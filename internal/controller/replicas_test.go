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

package controller_test

import (
	"fmt"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/simulator"
)

// TestReplicas removes replicated VMs on both versions, each of which requires another privilege for that.
func TestReplicas(t *testing.T) {
	t.Parallel()
	runVersions(t, map[string]scenario{
		"replicated": {reason: "A VM is removed with its copies on other nodes.", durations: map[string]string{"replication": "300ms"}, run: replicated},
	})
}

// replicated replicates a VM manually, without consent that the provider may end the replication.
func replicated(w *world) {
	pool := &simulator.Storage{ID: "tank", Type: "zfspool", Content: []string{"images"}, Total: 100 << 30}
	w.pve.Edit(func(s *simulator.State) { s.Storages[pool.ID] = pool })
	w.create(v1alpha1.MachineParameters{Node: new("pve1"), Disks: []v1alpha1.MachineDisk{{Name: "root", Size: new("1G"), Storage: &pool.ID}}})
	w.ready()
	vmid := w.vmid()
	w.pve.Edit(func(s *simulator.State) {
		s.Replications[fmt.Sprintf("%d-0", vmid)] = map[string]string{"type": "local", "source": "pve1", "target": "pve2"}
	})
	w.eventually("there is a copy of the VM", func() bool { return copies(w, vmid) == 2 })
	w.pve.Edit(func(s *simulator.State) { delete(s.Roles["Uploader"].Privileges, "Datastore.Allocate") })
	w.delete()
	if w.version() == "8.4" {
		w.says(xpv2.TypeSynced, xpv2.ReasonReconcileError, "(/storage, Datastore.Allocate)")
		w.grant("/storage", "PVEDatastoreAdmin")
	}
	w.gone()
	if n := copies(w, vmid); n > 0 {
		w.Errorf("%d volumes of the VM are left\n%s", n, w)
	}
}

// copies returns the number of copies of the disk of a VM on all nodes.
func copies(w *world, vmid int) (n int) {
	w.pve.Edit(func(s *simulator.State) {
		for k, v := range s.Volumes {
			if k.Storage == "tank" && v.VMID == vmid {
				n++
			}
		}
	})
	return n
}
