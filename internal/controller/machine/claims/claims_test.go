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
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

const uuid = "11111111-2222-4333-8444-555555555555"

// machine returns a Machine that was created at a time, and has the VMID and the UUID.
func machine(name string, at int64, uuid string) *namespaced.Machine {
	m := &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(time.Unix(at, 0))}}
	meta.SetExternalName(m, "500")
	if uuid != "" {
		meta.AddAnnotations(m, map[string]string{object.AnnotationUUID: uuid})
	}
	return m
}

// others are all Machines except the one that asks, by their claims.
type others []object.Machine

func (o others) OtherClaimants(_ context.Context, _ object.Machine, claim string) ([]object.Machine, error) {
	var all []object.Machine
	for _, m := range o {
		for _, c := range object.Claims(m) {
			if c == claim {
				all = append(all, m)
			}
		}
	}
	return all, nil
}

func TestClaims(t *testing.T) {
	older, younger, undecided := machine("older", 1, uuid), machine("younger", 3, uuid), machine("undecided", 1, "")
	id := qemu.Identity{VMID: 500, UUID: uuid}
	for name, tc := range map[string]struct {
		reason           string
		other            *namespaced.Machine
		elsewhere        bool
		uuid, adopt, vid string // The Machine that has the VM.
	}{
		"Older":     {reason: "The older Machine has the VM.", other: older, uuid: "older", adopt: "older", vid: "older"},
		"Younger":   {reason: "A younger one takes no VM, but what it has is not adopted.", other: younger, adopt: "younger"},
		"Undecided": {reason: "An older one that is about to adopt comes first.", other: undecided, adopt: "undecided", vid: "undecided"},
		"Elsewhere": {reason: "A VMID of another cluster is another VM.", other: undecided, elsewhere: true},
	} {
		t.Run(name, func(t *testing.T) {
			c := Checker{Machines: others{tc.other}, SharesCluster: func(context.Context) func(resource.Managed) bool {
				return func(resource.Managed) bool { return !tc.elsewhere }
			}}
			m := machine("mine", 2, uuid)
			m.Spec.ForProvider.VMID = new(int32(500))
			for what, check := range map[string]struct {
				err error
				by  string
			}{
				"UUID":      {c.CheckUUID(t.Context(), m, id), tc.uuid},
				"Adoptable": {c.CheckAdoptable(t.Context(), m, id.VMID, id.UUID), tc.adopt},
				"VMID":      {c.CheckVMID(t.Context(), m, id), tc.vid},
			} {
				if IsConflict(check.err) != (check.by != "") || check.by != "" && !strings.Contains(check.err.Error(), check.by) {
					t.Errorf("%s %s: want a conflict with %q, got %v", tc.reason, what, check.by, check.err)
				}
			}
		})
	}
}

// TestClaimsOfTenants checks that no annotation of another tenant's Machine keeps a VM from the Machine that may have it.
func TestClaimsOfTenants(t *testing.T) {
	refused, has := machine("refused", 1, uuid), machine("has", 1, uuid)
	refused.SetConditions(xpv2.Condition{Type: xpv2.TypeUpToDate, Status: corev1.ConditionFalse, Reason: v1alpha1.ReasonTenantRefused})
	has.Observation().UUID = uuid
	id := qemu.Identity{VMID: 500, UUID: uuid}
	for name, tc := range map[string]struct {
		reason           string
		other            *namespaced.Machine
		hidden, unsigned bool
		uuid, adopt, vid bool
	}{
		"Refused": {reason: "What is refused claims nothing.", other: refused},
		"Hidden":  {reason: "Annotations of others prove nothing.", other: machine("hidden", 1, uuid), hidden: true, adopt: true},
		"Has":     {reason: "What was seen counts.", other: has, hidden: true, uuid: true, adopt: true},
		"Hidden, forged status": {
			reason: "A status that the provider has not signed proves nothing to others.", other: has, hidden: true, unsigned: true, adopt: true,
		},
		"Own": {reason: "Within a tenant they count.", other: machine("own", 1, uuid), uuid: true, adopt: true, vid: true},
	} {
		t.Run(name, func(t *testing.T) {
			c := Checker{
				Machines:      others{tc.other},
				SharesCluster: func(context.Context) func(resource.Managed) bool { return func(resource.Managed) bool { return true } },
				Hides:         func(object.Machine, object.Machine) bool { return tc.hidden },
				SignedUUID: func(_ context.Context, other object.Machine) string {
					if tc.unsigned {
						return ""
					}
					return other.Observation().UUID
				},
			}
			m := machine("mine", 2, uuid)
			m.Spec.ForProvider.VMID = new(int32(500))
			for what, check := range map[string]struct {
				err  error
				want bool
			}{
				"UUID":      {c.CheckUUID(t.Context(), m, id), tc.uuid},
				"Adoptable": {c.CheckAdoptable(t.Context(), m, id.VMID, id.UUID), tc.adopt},
				"VMID":      {c.CheckVMID(t.Context(), m, id), tc.vid},
			} {
				if IsConflict(check.err) != check.want {
					t.Errorf("%s %s: want a conflict %t, got %v", tc.reason, what, check.want, check.err)
				}
			}
		})
	}
}

// TestClaimsLeftBehind checks that a VM belongs, and is left, to the Machine whose tenant holds it.
func TestClaimsLeftBehind(t *testing.T) {
	const all, mine, theirs, none = "mine other", "mine", "other", ""
	id := qemu.Identity{VMID: 500, UUID: uuid}
	for name, tc := range map[string]struct {
		reason           string
		at               int64 // When the other Machine was created; this one was at 2.
		holds            string
		deleted, leaving bool // This one, and the other one.
		unsigned         bool
		unenforced       bool
		conflict, left   bool
	}{
		"Heir":       {reason: "What the tenant of the older one does not hold any more, that one does not claim.", at: 1, holds: mine},
		"Both":       {reason: "The older of two that hold a VM has it.", at: 1, holds: all, conflict: true},
		"Neither":    {reason: "While no tenant holds the VM, the older Machine has it.", at: 1, holds: none, conflict: true},
		"Old":        {reason: "The one whose VM it was is refused by its tenant.", at: 3, holds: theirs},
		"OldDeleted": {reason: "The VM is left to the Machine whose VM it is.", at: 3, holds: theirs, deleted: true, conflict: true, left: true},
		"OldFirst":   {reason: "A new Machine need not have been seen.", at: 3, holds: theirs, deleted: true, unsigned: true, conflict: true, left: true},
		"OldUnenforced": {
			reason: "A Machine whose tenant is not enforced keeps no VM by only naming it.", at: 3, holds: theirs, deleted: true, unsigned: true, unenforced: true,
		},
		"OldBoth":          {reason: "A Machine that leaves may remove it.", at: 3, holds: theirs, deleted: true, leaving: true, conflict: true, left: true},
		"HeirDeleted":      {reason: "The one whose VM it is may remove it.", at: 1, holds: mine, deleted: true},
		"Shared":           {reason: "What both hold stays as long as one of them is there.", at: 3, holds: all, deleted: true, conflict: true, left: true},
		"SharedLast":       {reason: "The last one removes it.", at: 3, holds: all, deleted: true, leaving: true},
		"SharedUnsigned":   {reason: "A younger one that nobody has seen to have it only says so.", at: 3, holds: all, deleted: true, unsigned: true},
		"NoTenantUnsigned": {reason: "A Machine that names a VM which no tenant holds does not keep it.", at: 3, holds: none, deleted: true, unsigned: true},
	} {
		t.Run(name, func(t *testing.T) {
			m, other := machine("mine", 2, uuid), machine("other", tc.at, uuid)
			other.Observation().UUID = uuid
			now := metav1.Now()
			if tc.deleted {
				m.DeletionTimestamp = &now
			}
			if tc.leaving {
				other.DeletionTimestamp = &now
			}
			err := Checker{
				Machines: others{other}, Hides: func(object.Machine, object.Machine) bool { return true },
				SignedUUID: func(context.Context, object.Machine) string {
					if tc.unsigned {
						return ""
					}
					return uuid
				},
				Holders: func(context.Context, object.Machine, int) (func(object.Machine) (holds, enforced bool, err error), error) {
					return func(of object.Machine) (holds, enforced bool, err error) {
						return strings.Contains(tc.holds, of.GetName()), !tc.unenforced, nil
					}, nil
				},
			}.CheckUUID(t.Context(), m, id)
			if IsConflict(err) != tc.conflict || IsLeftBehind(err) != tc.left {
				t.Errorf("%s Want a conflict %t, and the VM left %t, got %v", tc.reason, tc.conflict, tc.left, err)
			}
			if tc.left && strings.Contains(err.Error(), `"other"`) {
				t.Errorf("want the other one not named, got %v", err)
			}
		})
	}
}
