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

package tenancy

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/tenancy/quota"
)

// The interfaces that identify kinds of resources in both scopes.
type (
	machine interface {
		Parameters() *v1alpha1.MachineParameters
		Observation() *v1alpha1.MachineObservation
	}
	snapshot interface {
		Parameters() *v1alpha1.SnapshotParameters
		Observation() *v1alpha1.SnapshotObservation
	}
	backup interface {
		Parameters() *v1alpha1.BackupParameters
		Observation() *v1alpha1.BackupObservation
	}
	volume interface {
		Parameters() *v1alpha1.VolumeParameters
		Observation() *v1alpha1.VolumeObservation
	}
	image interface {
		Parameters() *v1alpha1.ImageParameters
		Observation() *v1alpha1.ImageObservation
	}
	snapshotPolicy interface {
		Parameters() *v1alpha1.SnapshotPolicyParameters
	}
)

// CheckSpec refuses a resource by its spec and annotations, before anything is looked up. Whatever its values refer to is checked later.
func (t *Tenant) CheckSpec(mg resource.Managed) error {
	switch {
	case t == nil:
		return nil
	case t.denied != "":
		return &refusedError{what: t.denied}
	}
	return join([]error{checkByKind(t, mg), checkConnectionSecret(t, mg)})
}

// checkByKind refuses a resource by the fields of its kind.
func checkByKind(t *Tenant, mg resource.Managed) error {
	switch m := mg.(type) {
	case machine:
		return t.checkMachine(m.Parameters(), meta.GetExternalName(mg))
	case snapshot:
		if id := m.Parameters().VMID; id != nil {
			return t.refuse("allow.adopt", "a snapshot of VM %d, which no Machine manages", *id)
		}
		return nil
	case backup:
		return t.checkBackupSpec(m.Parameters())
	case volume:
		return t.checkVolumeSpec(m.Parameters())
	case image:
		return ImagesOf(t).checkSpec(mg, m.Parameters(), m.Observation())
	case snapshotPolicy:
		return nil
	}
	return t.refuse("kinds", "to have a resource of kind %s", KindOf(mg))
}

// checkConnectionSecret refuses a connection Secret in a namespace of others, where it would take a name and have values that the resource chooses. A
// namespaced resource has it in its own namespace.
func checkConnectionSecret(t *Tenant, mg resource.Managed) error {
	o, anywhere := mg.(interface {
		GetWriteConnectionSecretToReference() *xpv2.SecretReference
	})
	if !anywhere {
		return nil
	}
	r := o.GetWriteConnectionSecretToReference()
	if r == nil || t.allowsNamespace(r.Namespace) || slices.Contains(t.ConnectionSecretNamespaces, r.Namespace) {
		return nil
	}
	return t.refuse("namespaces", "writeConnectionSecretToRef of namespace %q", r.Namespace)
}

// MayDeleteRefused reports whether a resource that is being deleted gets a connection although it is refused. Only kinds that tenants may have do: a
// resource of another kind would show what is not the tenant's as soon as it is observed.
func MayDeleteRefused(mg resource.Managed) bool {
	switch mg.(type) {
	case machine, snapshot, snapshotPolicy, backup, volume, image:
		return true
	}
	return false
}

// checkBackupSpec refuses values of a Backup that the tenant may not use.
func (t *Tenant) checkBackupSpec(p *v1alpha1.BackupParameters) error {
	var all []error
	if p.Storage != "" {
		all = append(all, t.checkStorage(p.Storage, "a backup"))
	}
	if p.BandwidthLimit != nil {
		all = append(all, t.refuse("kinds", "bandwidthLimit, by which a backup takes more than nodes let others have"))
	}
	return join(all)
}

// checkVolumeSpec refuses values of a Volume that the tenant may not use. The VMs that have or get its disk are checked when they are known.
func (t *Tenant) checkVolumeSpec(p *v1alpha1.VolumeParameters) error {
	var all []error
	if p.Storage != nil {
		all = append(all, t.checkStorage(*p.Storage, "a disk"))
	}
	if p.Node != nil {
		all = append(all, t.CheckNode(*p.Node))
	}
	return join(all)
}

// IsMachine reports whether a resource is a Machine.
func IsMachine(mg resource.Managed) bool {
	_, is := mg.(machine)
	return is
}

// NamedBackups returns the names of the Backups that the VM of a Machine is restored from.
func NamedBackups(mg resource.Managed) []string {
	m, is := mg.(machine)
	if !is {
		return nil
	}
	var all []string
	if r := m.Parameters().Restore; r != nil && r.BackupRef != nil {
		all = append(all, r.BackupRef.Name)
	}
	if r := m.Parameters().RestoreInPlace; r != nil && r.BackupRef != nil {
		all = append(all, r.BackupRef.Name)
	}
	return all
}

// KindOf returns the name of a resource's type: objects that were read do not have their kind set.
func KindOf(mg resource.Managed) string {
	name := fmt.Sprintf("%T", mg)
	return name[strings.LastIndex(name, ".")+1:]
}

// RecordedVM returns the VMID and the UUID of a resource's VM as the provider has recorded them in the status, which users do not write.
func RecordedVM(mg resource.Managed) (vmid int, uuid string) {
	var id *int32
	switch m := mg.(type) {
	case machine:
		id, uuid = m.Observation().VMID, m.Observation().UUID
	case snapshot:
		id, uuid = m.Observation().VMID, m.Observation().VMUUID
	case backup:
		id, uuid = m.Observation().VMID, m.Observation().VMUUID
	}
	if id == nil || uuid == "" {
		return 0, ""
	}
	return int(*id), uuid
}

// LabelClaimNamespace is the label with the namespace of the claim that a cluster-scoped resource is created for.
const LabelClaimNamespace = "crossplane.io/claim-namespace"

// NamespaceOf returns the namespace of a resource. For a cluster-scoped one it returns that of its claim, or an empty string.
func NamespaceOf(o metav1.Object) string {
	return cmp.Or(o.GetNamespace(), o.GetLabels()[LabelClaimNamespace])
}

// VMIDOf returns the VMID in an external name, or 0.
func VMIDOf(externalName string) int {
	id, err := strconv.Atoi(externalName)
	if err != nil {
		return 0
	}
	return id
}

// ShowAllowed sets a condition of a resource: what would be refused, what the resource would wait for, or that there is neither.
func ShowAllowed(mg resource.Managed, err error) {
	c := xpv2.Condition{
		Type: v1alpha1.TypeTenantAllowed, Status: corev1.ConditionTrue, Reason: reasonAllowed, LastTransitionTime: metav1.Now(),
	}
	switch {
	case quota.IsExceeded(err):
		c.Status, c.Reason, c.Message = corev1.ConditionFalse, v1alpha1.ReasonQuotaExceeded, "would wait: "+err.Error()
	case err != nil:
		c.Status, c.Reason, c.Message = corev1.ConditionFalse, v1alpha1.ReasonTenantRefused, err.Error()
	}
	mg.SetConditions(c.WithObservedGeneration(mg.GetGeneration()))
}

// ShownRefused reports whether the condition of a resource shows that it would be refused.
func ShownRefused(mg resource.Managed) bool {
	return mg.GetCondition(v1alpha1.TypeTenantAllowed).Reason == v1alpha1.ReasonTenantRefused
}

// WouldWaitFor returns the amounts for which the quota of a resource's tenant has no room, according to a condition that only warns; nil if there are
// none.
func WouldWaitFor(mg resource.Managed) quota.Amounts {
	c := mg.GetCondition(v1alpha1.TypeTenantAllowed)
	if c.Reason != v1alpha1.ReasonQuotaExceeded {
		return nil
	}
	return quota.Asked(c.Message)
}

// reasonAllowed is the reason of the condition TenantAllowed if nothing is refused.
const reasonAllowed xpv2.ConditionReason = "Allowed"

// ShowRefusal shows in the conditions of a resource that it is refused, if the error is a refusal. What already exists stays ready.
func ShowRefusal(mg resource.Managed, err error) {
	if !IsRefusal(err) {
		return
	}
	upToDate := xpv2.Condition{
		Type: xpv2.TypeUpToDate, Status: corev1.ConditionFalse, Reason: v1alpha1.ReasonTenantRefused, Message: err.Error(), LastTransitionTime: metav1.Now(),
	}
	all := []xpv2.Condition{upToDate.WithObservedGeneration(mg.GetGeneration())}
	if mg.GetCondition(xpv2.TypeReady).Status != corev1.ConditionTrue {
		ready := upToDate
		ready.Type = xpv2.TypeReady
		all = append(all, ready.WithObservedGeneration(mg.GetGeneration()))
	}
	mg.SetConditions(all...)
}
