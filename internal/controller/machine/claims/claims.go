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

// Package claims ensures that the VM of a Machine belongs to no other Machine, and is still the same VM. claims.go compares the Machines, identity.go
// compares the annotations and the cluster with what was seen before.
package claims

import (
	"context"
	"fmt"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// Machines finds Machines among all Machines of all scopes.
type Machines interface {
	OtherClaimants(ctx context.Context, m object.Machine, claim string) ([]object.Machine, error)
}

// A Checker compares what Machines claim.
type Checker struct {
	Machines Machines

	// SharesCluster returns a function that reports whether another Machine is in the same cluster.
	SharesCluster func(context.Context) func(resource.Managed) bool

	// Hides reports whether the user of a Machine may not know of another one. If it is nil, none is hidden.
	Hides func(m, other object.Machine) bool

	// SignedUUID returns the UUID that the provider has signed as that of another Machine's VM, or an empty string. If it is nil, the status always counts.
	SignedUUID func(ctx context.Context, other object.Machine) string

	// Holders returns a function that reports whether the tenants of Machines hold the VM of a given Machine, which has the VMID, and whether these
	// tenants are enforced. If it is nil, all hold it.
	Holders func(ctx context.Context, m object.Machine, vmid int) (func(object.Machine) (holds, enforced bool, err error), error)

	// SpecCounts returns a function that reports whether the spec of another Machine counts for a Machine. The spec determines the other Machine's VM
	// while it has none. If it is nil, all count.
	SpecCounts func(ctx context.Context, m object.Machine) func(resource.Managed) bool
}

// A conflictError is returned for a VM that two Machines claim. The older Machine has it, unless the tenant of the other one has acquired the VM since.
type conflictError struct {
	error

	// left is true for a VM that was the Machine's and is now the other one's. It stays when the Machine is deleted.
	left bool
}

func (c Checker) conflict(m object.Machine, vmid int, by object.Machine) error {
	whose := fmt.Sprintf("the older Machine %q", client.ObjectKeyFromObject(by))
	if c.hides(m, by) {
		whose = "another, older Machine"
	}
	return conflictError{error: errors.Errorf("VM %d belongs to %s, so this Machine does not touch it: delete this Machine", vmid, whose)}
}

// leftBehind returns the error of a Machine whose VM is now another one's.
func (c Checker) leftBehind(m object.Machine, vmid int, by object.Machine) error {
	whose := fmt.Sprintf("Machine %q", client.ObjectKeyFromObject(by))
	if c.hides(m, by) {
		whose = "another Machine"
	}
	return conflictError{error: errors.Errorf("VM %d is left where it is: it is that of %s by now", vmid, whose), left: true}
}

// IsLeftBehind reports whether an error is a conflictError about a VM that was the Machine's and stays for another one.
func IsLeftBehind(err error) bool {
	var c conflictError
	return errors.As(err, &c) && c.left
}

// IsConflict reports whether an error is a conflictError.
func IsConflict(err error) bool { return errors.As(err, &conflictError{}) }

// CheckUUID checks whether an older Machine has the UUID of this one, as after its annotations were copied, or whether the VM of a Machine that is
// being deleted is now another one's.
func (c Checker) CheckUUID(ctx context.Context, m object.Machine, id qemu.Identity) error {
	if id.UUID == "" || !object.MayClaim(m) {
		return nil
	}
	claimants, err := c.claimants(ctx, m, id)
	if err != nil {
		return err
	}
	for _, other := range claimants {
		switch {
		case kind.Older(other.Machine, m) && (c.hasVM(ctx, m, other.Machine, id.UUID) || !c.hides(m, other.Machine) && !refused(other.Machine)):
			return c.conflict(m, id.VMID, other.Machine)
		case meta.WasDeleted(m) && c.keepsVM(ctx, other, id.UUID):
			return c.leftBehind(m, id.VMID, other.Machine)
		}
	}
	return nil
}

// AllHold is the result of Holders where no tenant is enforced.
func AllHold(object.Machine) (holds, enforced bool, err error) { return true, false, nil }

// A claimant is another Machine that claims a VM. holdsAlone is true if its tenant is enforced and holds the VM, and the tenant of the checked
// Machine does not.
type claimant struct {
	object.Machine

	holdsAlone bool
}

// claimants returns the other Machines that claim a VM by its UUID. If the tenant of the checked Machine holds the VM, Machines whose tenants no
// longer hold it are left out.
func (c Checker) claimants(ctx context.Context, m object.Machine, id qemu.Identity) ([]claimant, error) {
	others, err := c.Machines.OtherClaimants(ctx, m, object.ClaimOfUUID(id.UUID))
	if err != nil || len(others) == 0 {
		return nil, err
	}
	holds := AllHold
	if c.Holders != nil {
		if holds, err = c.Holders(ctx, m, id.VMID); err != nil {
			return nil, err
		}
	}
	mine, _, err := holds(m)
	if err != nil {
		return nil, err
	}
	var all []claimant
	for _, other := range others {
		theirs, enforced, err := holds(other)
		if err != nil {
			return nil, err
		}
		if theirs || !mine {
			all = append(all, claimant{Machine: other, holdsAlone: theirs && enforced && !mine})
		}
	}
	return all, nil
}

// keepsVM reports whether the VM with the UUID stays for another Machine when a Machine that has it too is deleted, whichever is older.
func (c Checker) keepsVM(ctx context.Context, other claimant, uuid string) bool {
	signed := c.SignedUUID != nil && strings.EqualFold(c.SignedUUID(ctx, other.Machine), uuid)
	return other.holdsAlone || signed && !meta.WasDeleted(other.Machine)
}

// hasVM reports whether the provider has seen that another Machine has the VM with the UUID. Users can write its annotations, and possibly also the
// status of a Machine that is hidden.
func (c Checker) hasVM(ctx context.Context, m, other object.Machine, uuid string) bool {
	has := other.Observation().UUID
	if c.SignedUUID != nil && c.hides(m, other) {
		has = c.SignedUUID(ctx, other)
	}
	return uuid != "" && strings.EqualFold(has, uuid)
}

// refused reports whether a Machine asks for what its tenant may not have. The claims of its annotations do not exclude others who may have it.
func refused(m object.Machine) bool {
	return m.GetCondition(xpv2.TypeUpToDate).Reason == v1alpha1.ReasonTenantRefused
}

func (c Checker) hides(m, other object.Machine) bool { return c.Hides != nil && c.Hides(m, other) }

// specCounts returns a function that reports whether the specs of others count for a Machine.
func (c Checker) specCounts(ctx context.Context, m object.Machine) func(resource.Managed) bool {
	if c.SpecCounts == nil {
		return func(resource.Managed) bool { return true }
	}
	return c.SpecCounts(ctx, m)
}

// CheckAdoptable returns why a VM cannot be adopted: another Machine has it, or an older one is about to adopt it.
func (c Checker) CheckAdoptable(ctx context.Context, m object.Machine, vmid int, uuid string) error {
	if !object.MayClaim(m) {
		return nil
	}
	owners, err := c.claimants(ctx, m, qemu.Identity{VMID: vmid, UUID: uuid})
	if err != nil {
		return err
	}
	for _, other := range owners {
		if c.hasVM(ctx, m, other.Machine, uuid) || !refused(other.Machine) {
			return c.conflict(m, vmid, other.Machine)
		}
	}
	return c.checkUndecided(ctx, m, vmid)
}

// checkUndecided checks whether an older Machine of the same cluster claims the VMID, and its claim is undecided because it has no UUID yet.
func (c Checker) checkUndecided(ctx context.Context, m object.Machine, vmid int) error {
	claimants, err := c.Machines.OtherClaimants(ctx, m, object.ClaimOfVMID(meta.GetExternalName(m)))
	if err != nil || len(claimants) == 0 {
		return err
	}
	shares, specCounts := c.SharesCluster(ctx), c.specCounts(ctx, m)
	for _, other := range claimants {
		if other.GetAnnotations()[object.AnnotationUUID] == "" && kind.Older(other, m) && !refused(other) && shares(other) && specCounts(other) {
			return c.conflict(m, vmid, other)
		}
	}
	return nil
}

// CheckVMID checks whether an older Machine of the same cluster is to have the VMID that the spec names, though neither has a VM yet. Between tenants
// PVE decides, which gives a VMID only once.
func (c Checker) CheckVMID(ctx context.Context, m object.Machine, id qemu.Identity) error {
	if object.MayReplaceVMID(m) {
		return nil // The faster Machine gets it.
	}
	claimants, err := c.Machines.OtherClaimants(ctx, m, object.ClaimOfVMID(meta.GetExternalName(m)))
	if err != nil || len(claimants) == 0 {
		return err
	}
	shares := c.SharesCluster(ctx)
	for _, other := range claimants {
		if kind.Older(other, m) && !refused(other) && !c.hides(m, other) && shares(other) {
			return c.conflict(m, id.VMID, other)
		}
	}
	return nil
}
