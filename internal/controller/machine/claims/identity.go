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

package claims

import (
	"context"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	corev1 "k8s.io/api/core/v1"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// An Inventory reads which cluster the connection leads to.
type Inventory interface {
	ClusterStatus(ctx context.Context, maxAge time.Duration) (proxmox.ClusterStatus, error)
}

// ShowConflict shows that the VM is another Machine's.
func ShowConflict(m object.Machine, err error) {
	if !IsConflict(err) {
		return
	}
	m.Observation().Phase = v1alpha1.MachineError
	conditions.Set(m, conditions.NotReady(conditions.ReasonOwnershipConflict, err.Error()),
		conditions.New(conditions.TypeVMCreated, corev1.ConditionFalse, conditions.ReasonCreationFailed, err.Error()))
}

// CheckIdentity returns an error if the VM that was found, or its absence, is not that of a Machine. A VM that is known to be destroyed is in no
// other cluster.
func CheckIdentity(ctx context.Context, i Inventory, m object.Machine, id qemu.Identity, v *vmstate.VM, destroyed bool) error {
	if err := checkUnchanged(m, id, v); err != nil || destroyed {
		return err
	}
	return checkCluster(ctx, i, m, id, v)
}

// checkUnchanged returns an error if a user has changed the external name or the UUID of a Machine, and they no longer lead to its VM. They lead to
// the given VM, or to none.
func checkUnchanged(m object.Machine, id qemu.Identity, v *vmstate.VM) error {
	o := m.Observation()
	found := v != nil && id.ProveState(v.State) == qemu.Ours
	if found || o.VMID == nil || id.UUID == "" || o.UUID == "" {
		return nil
	}
	var err error
	switch there, known := int(*o.VMID) == id.VMID, strings.EqualFold(o.UUID, id.UUID); {
	case !there && known:
		err = errors.Errorf("annotation %s is %q, but the VM of this Machine is VM %d, and is left alone: set the annotation back",
			meta.AnnotationKeyExternalName, meta.GetExternalName(m), *o.VMID)
	case there && !known && v != nil && strings.EqualFold(o.UUID, v.Config.UUID()):
		err = errors.Errorf("annotation %s is %q, but the VM of this Machine, VM %d, has the UUID %s, and is left alone: set the annotation back",
			object.AnnotationUUID, id.UUID, id.VMID, o.UUID)
	default:
		return nil
	}
	o.Phase = v1alpha1.MachineError
	conditions.Set(m, conditions.NotReady(conditions.ReasonOwnershipConflict, err.Error()))
	return err
}

// checkCluster returns an error if the VM is not found because its former cluster is another one than the cluster that the configuration now leads
// to. If it were created again, there would be two of it, and a Machine that is deleted would leave it behind.
func checkCluster(ctx context.Context, i Inventory, m object.Machine, id qemu.Identity, v *vmstate.VM) error {
	o := m.Observation()
	if o.Cluster == "" || v != nil && id.ProveState(v.State) != qemu.Foreign {
		return nil
	}
	s, err := i.ClusterStatus(ctx, inventory.Fresh)
	name := clusterName(s)
	agreed, stated := m.GetAnnotations()[object.AnnotationCluster]
	switch {
	case proxmox.IsAuthorization(err):
		return nil
	case err != nil:
		return err
	case name == o.Cluster, stated && name == agreed:
		return nil
	}
	err = errors.Errorf("VM %d is in the cluster %q, and not looked for in %q, the cluster that the provider configuration connects to now: "+
		"set the configuration right or, to go on there without that VM, the annotation %s to %q", id.VMID, o.Cluster, name, object.AnnotationCluster, name)
	o.Phase = v1alpha1.MachineError
	conditions.Set(m, conditions.NotReady(conditions.ReasonClusterMismatch, err.Error()))
	return err
}

// clusterName returns the name of a cluster, or of a standalone node.
func clusterName(s proxmox.ClusterStatus) string {
	for _, n := range s.Nodes {
		if s.Name == "" && n.Local {
			return n.Name
		}
	}
	return s.Name
}
