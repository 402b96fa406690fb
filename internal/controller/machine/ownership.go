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
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// An ownership knows which VM is a Machine's, and that it is nobody else's.
type ownership struct{ *external }

// ClaimIndex is the name of the index by which Machines that claim a VM are
// found. Claims are its values.
const ClaimIndex = "proxmox.vitistack.io/claim"

// Claims of a Machine: the VM's UUID, which proves it this Machine's own, and
// its VMID. A Machine that may only observe claims nothing.
func Claims(o client.Object) []string {
	m, ok := o.(Machine)
	if !ok || !claims(m) {
		return nil
	}
	var all []string
	if uuid := m.GetAnnotations()[AnnotationUUID]; uuid != "" {
		all = append(all, claimOfUUID(uuid))
	}
	if vmid := meta.GetExternalName(m); vmid != "" {
		all = append(all, claimOfVMID(vmid))
	}
	return all
}

// claims reports whether a Machine may do anything to a VM, be it to delete it only.
func claims(m Machine) bool {
	p := m.GetManagementPolicies()
	return len(p) == 0 || slices.ContainsFunc(p, func(a xpv2.ManagementAction) bool {
		return a != xpv2.ManagementActionObserve && a != xpv2.ManagementActionLateInitialize
	})
}

func claimOfUUID(uuid string) string { return "uuid/" + strings.ToLower(uuid) }

func claimOfVMID(vmid string) string { return "vmid/" + vmid }

// addMachines adds a kind of Machines whose claims are indexed.
func (f *Scheduler) addMachines(reader client.Reader, list resource.ManagedList) {
	f.mu.Lock()
	f.claims = append(f.claims, schedulerSource{reader: reader, list: list})
	f.mu.Unlock()
	f.Add(reader, list)
}

// otherClaimants are the other Machines, of all scopes, that make a claim. They are the
// cache's own: they must not be changed.
func (f *Scheduler) otherClaimants(ctx context.Context, m Machine, claim string) ([]Machine, error) {
	f.mu.Lock()
	sources := f.claims
	f.mu.Unlock()
	var all []Machine
	for _, s := range sources {
		list, ok := s.list.DeepCopyObject().(resource.ManagedList)
		if !ok {
			continue
		}
		if err := s.reader.List(ctx, list, client.MatchingFields{ClaimIndex: claim}, client.UnsafeDisableDeepCopy); err != nil {
			return nil, errors.Wrapf(err, "cannot list a %T", list)
		}
		for _, mg := range list.GetItems() {
			if other, ok := mg.(Machine); ok && other.GetUID() != m.GetUID() {
				all = append(all, other)
			}
		}
	}
	return all, nil
}

// A ownershipError is a VM that two Machines claim. The one that was made first has it.
type ownershipError struct{ error }

func newOwnershipError(vmid int, by Machine) error {
	return ownershipError{errors.Errorf("VM %d is that of Machine %q, which was there first: this one leaves it alone", vmid, client.ObjectKeyFromObject(by))}
}

// checkOwnership looks whether an older Machine has the UUID of this one, as after its
// annotations were copied.
func (e ownership) checkOwnership(ctx context.Context, m Machine, id qemu.Identity) error {
	if id.UUID == "" || !claims(m) {
		return nil
	}
	claimants, err := e.scheduler.otherClaimants(ctx, m, claimOfUUID(id.UUID))
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
	if !claims(m) {
		return nil
	}
	owners, err := e.scheduler.otherClaimants(ctx, m, claimOfUUID(uuid))
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
	claimants, err := e.scheduler.otherClaimants(ctx, m, claimOfVMID(meta.GetExternalName(m)))
	if err != nil || len(claimants) == 0 {
		return err
	}
	shares := e.sharesCluster(ctx)
	for _, other := range claimants {
		if other.GetAnnotations()[AnnotationUUID] == "" && kind.Older(other, m) && shares(other) {
			return newOwnershipError(vmid, other)
		}
	}
	return nil
}

// checkVMIDClaim looks whether an older Machine of the same cluster is to have the VMID that
// the spec names, though neither has a VM yet.
func (e ownership) checkVMIDClaim(ctx context.Context, m Machine, id qemu.Identity) error {
	if mayReplaceVMID(m) {
		return nil // Whoever is faster has it.
	}
	claimants, err := e.scheduler.otherClaimants(ctx, m, claimOfVMID(meta.GetExternalName(m)))
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
	setConditions(m, notReady(ReasonOwnershipConflict, err.Error()), condition(TypeVMCreated, corev1.ConditionFalse, ReasonCreationFailed, err.Error()))
}
