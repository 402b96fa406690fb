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

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// recordCluster shows which cluster the VM is in, if that can be told.
func (e ownership) recordCluster(ctx context.Context, o *v1alpha1.MachineObservation) {
	name, err := e.inventory.ClusterName(ctx)
	if err == nil && name != "" {
		o.Cluster = name
	}
}

// checkCluster is an error if the VM is not found because it is looked for in another cluster
// than it was in: the configuration has come to lead there. Made anew, there would be two
// of it, and a Machine that is deleted would leave it behind.
func (e ownership) checkCluster(ctx context.Context, m Machine, id qemu.Identity) error {
	o := m.Observation()
	if o.Cluster == "" || e.vm != nil && id.Prove(e.vm.Config) != qemu.Foreign || e.tasks.Destroyed(m) {
		return nil
	}
	s, err := e.inventory.ClusterStatus(ctx, inventory.Fresh)
	name := clusterName(s)
	agreed, stated := m.GetAnnotations()[AnnotationCluster]
	switch {
	case proxmox.IsAuthorization(err):
		return nil
	case err != nil:
		return err
	case name == o.Cluster, stated && name == agreed:
		return nil
	}
	err = errors.Errorf("VM %d is in the cluster %q, and not looked for in %q, where the provider configuration leads now: "+
		"set the configuration right or, to go on there without that VM, the annotation %s to %q", id.VMID, o.Cluster, name, AnnotationCluster, name)
	o.Phase = v1alpha1.MachineError
	setConditions(m, notReady(ReasonClusterMismatch, err.Error()))
	return err
}

// clusterName is the name of a cluster, or of the node that is in none.
func clusterName(s proxmox.ClusterStatus) string {
	for _, n := range s.Nodes {
		if s.Name == "" && n.Local {
			return n.Name
		}
	}
	return s.Name
}
