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
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// An ownership knows which VM is a Machine's, and that it is nobody else's.
type ownership struct{ *external }

// A ownershipError is a VM that two Machines claim. The one that was made first has it.
type ownershipError struct{ error }

func newOwnershipError(vmid int, by Machine) error {
	return ownershipError{errors.Errorf("VM %d is that of Machine %q, which was there first: this one leaves it alone", vmid, client.ObjectKeyFromObject(by))}
}

// checkOwnership looks whether an older Machine has the UUID of this one, as after its
// annotations were copied.
func (e ownership) checkOwnership(ctx context.Context, m Machine, id qemu.Identity) error {
	if id.UUID == "" || !object.MayClaim(m) {
		return nil
	}
	claimants, err := e.scheduler.OtherClaimants(ctx, m, object.ClaimOfUUID(id.UUID))
	if err != nil {
		return err
	}
	for _, other := range claimants {
		if kind.Older(other, m) {
			return newOwnershipError(id.VMID, other)
		}
	}
	return nil
}

// checkAdoptable says why a VM cannot be adopted: another Machine has it, or an older one is
// about to adopt it.
func (e ownership) checkAdoptable(ctx context.Context, m Machine, vmid int, uuid string) error {
	if !object.MayClaim(m) {
		return nil
	}
	owners, err := e.scheduler.OtherClaimants(ctx, m, object.ClaimOfUUID(uuid))
	if err != nil {
		return err
	}
	for _, other := range owners {
		return newOwnershipError(vmid, other)
	}
	return e.checkOlderClaim(ctx, m, vmid)
}

// checkOlderClaim looks whether an older Machine of the same cluster claims the VMID, and
// its claim is undecided: it has no UUID yet.
func (e ownership) checkOlderClaim(ctx context.Context, m Machine, vmid int) error {
	claimants, err := e.scheduler.OtherClaimants(ctx, m, object.ClaimOfVMID(meta.GetExternalName(m)))
	if err != nil || len(claimants) == 0 {
		return err
	}
	shares := e.sharesCluster(ctx)
	for _, other := range claimants {
		if other.GetAnnotations()[object.AnnotationUUID] == "" && kind.Older(other, m) && shares(other) {
			return newOwnershipError(vmid, other)
		}
	}
	return nil
}

// checkVMIDClaim looks whether an older Machine of the same cluster is to have the VMID that
// the spec names, though neither has a VM yet.
func (e ownership) checkVMIDClaim(ctx context.Context, m Machine, id qemu.Identity) error {
	if object.MayReplaceVMID(m) {
		return nil // Whoever is faster has it.
	}
	claimants, err := e.scheduler.OtherClaimants(ctx, m, object.ClaimOfVMID(meta.GetExternalName(m)))
	if err != nil || len(claimants) == 0 {
		return err
	}
	shares := e.sharesCluster(ctx)
	for _, other := range claimants {
		if kind.Older(other, m) && shares(other) {
			return newOwnershipError(id.VMID, other)
		}
	}
	return nil
}

// observeConflict is the observation of a VM that is another Machine's: as if there were
// none, which is not to be created either.
func (e *external) observeConflict(m Machine, err error) (managed.ExternalObservation, error) {
	if errors.As(err, &ownershipError{}) && meta.WasDeleted(m) {
		e.forget(m)
		return managed.ExternalObservation{}, nil
	}
	setConflict(m, err)
	return managed.ExternalObservation{}, err
}

// setConflict shows that the VM is another Machine's.
func setConflict(m Machine, err error) {
	if !errors.As(err, &ownershipError{}) {
		return
	}
	m.Observation().Phase = v1alpha1.MachineError
	conditions.Set(m, conditions.NotReady(conditions.ReasonOwnershipConflict, err.Error()),
		conditions.New(conditions.TypeVMCreated, corev1.ConditionFalse, conditions.ReasonCreationFailed, err.Error()))
}

// checkIdentityUnchanged is an error if the VM of a Machine is not the one that its external name or its
// UUID, which somebody has changed, leads to.
func (e ownership) checkIdentityUnchanged(m Machine, id qemu.Identity) error {
	o := m.Observation()
	found := e.vm != nil && id.ProveState(e.vm.State) == qemu.Ours
	if found || o.VMID == nil || id.UUID == "" || o.UUID == "" {
		return nil
	}
	var err error
	switch there, known := int(*o.VMID) == id.VMID, strings.EqualFold(o.UUID, id.UUID); {
	case !there && known:
		err = errors.Errorf("annotation %s is %q, but the VM of this Machine is VM %d, and is left alone: set the annotation back",
			meta.AnnotationKeyExternalName, meta.GetExternalName(m), *o.VMID)
	case there && !known && e.vm != nil && strings.EqualFold(o.UUID, e.vm.Config.UUID()):
		err = errors.Errorf("annotation %s is %q, but the VM of this Machine, VM %d, has the UUID %s, and is left alone: set the annotation back",
			object.AnnotationUUID, id.UUID, id.VMID, o.UUID)
	default:
		return nil
	}
	o.Phase = v1alpha1.MachineError
	conditions.Set(m, conditions.NotReady(conditions.ReasonOwnershipConflict, err.Error()))
	return err
}

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
	if o.Cluster == "" || e.vm != nil && id.ProveState(e.vm.State) != qemu.Foreign || e.tasks.Destroyed(m) {
		return nil
	}
	s, err := e.inventory.ClusterStatus(ctx, inventory.Fresh)
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
	err = errors.Errorf("VM %d is in the cluster %q, and not looked for in %q, where the provider configuration leads now: "+
		"set the configuration right or, to go on there without that VM, the annotation %s to %q", id.VMID, o.Cluster, name, object.AnnotationCluster, name)
	o.Phase = v1alpha1.MachineError
	conditions.Set(m, conditions.NotReady(conditions.ReasonClusterMismatch, err.Error()))
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
