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

// Package tenancy decides what the resources of a tenant may use and do: which tenant a resource belongs to, what its spec may request, which VMs are
// its tenant's, and which writes to Proxmox VE may be made for it. It knows rules and requests, and makes no calls.
//
// The files of kinds check a spec before anything is looked up, and options.go checks what follows from it before anything is written. Then guard.go
// checks every write again and refuses all that it does not know, so that what a check of a spec has missed does not reach PVE.
package tenancy

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/nocloud"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// A refusedError names what a resource requests and its tenant may not have.
type refusedError struct {
	// tenant whose rule it is; empty for a resource without a tenant.
	tenant string

	// rule that refuses it: the name of a field of the tenant.
	rule string

	// what names the refused value.
	what string
}

// Error returns the whole sentence.
func (r *refusedError) Error() string {
	if r.tenant == "" {
		return r.what
	}
	return fmt.Sprintf("tenant %q may not (%s): %s", r.tenant, r.rule, r.what)
}

// AmongAllowed returns the end of a message about something that was not found among what a tenant may have by a rule. It is empty without a tenant.
func AmongAllowed(t *Tenant, rule string) string {
	if t == nil || t.denied != "" {
		return ""
	}
	return fmt.Sprintf(" among what tenant %q may have (%s)", t.Name, rule)
}

// IsRefusal reports whether an error is a refusal.
func IsRefusal(err error) bool {
	var r *refusedError
	return errors.As(err, &r)
}

// A Subject is a resource whose tenant is determined.
type Subject struct {
	// Namespace of the resource, or of the claim of a cluster-scoped one. Empty if there is
	// none.
	Namespace string

	// NamespaceLabels are the labels of the namespace. If they are not known, they are nil and no selector selects the namespace, not even one that
	// requires the absence of a label.
	NamespaceLabels map[string]string

	// Labels of a cluster-scoped resource. Nil for a namespaced one.
	Labels map[string]string

	// Config is the name of the provider configuration that a cluster-scoped resource uses. Empty for a namespaced one.
	Config string
}

// A Tenant has the rules for one resource. The nil Tenant allows everything.
type Tenant struct {
	v1alpha1.ProviderTenant

	others []v1alpha1.ProviderTenant

	// subject is the resource.
	subject Subject

	// byNamespace is true if the namespace of the resource, or of its claim, selects the tenant, and false if only its labels do.
	byNamespace bool

	// denied is the reason why the resource may do nothing; empty for a resource of a tenant.
	denied string
}

// Of returns the tenant of a resource, or nil if it may do everything.
func Of(tenants []v1alpha1.ProviderTenant, s Subject) (*Tenant, error) {
	if len(tenants) == 0 {
		return nil, nil
	}
	var found []int
	for i, t := range tenants {
		is, err := selects(t, s)
		if err != nil {
			return nil, errors.Wrapf(err, "cannot read the selectors of tenant %q", t.Name)
		}
		if is {
			found = append(found, i)
		}
	}
	switch {
	case len(found) == 0:
		return DenyAll(s.describe() + " belongs to no tenant of the provider configuration"), nil
	case len(found) > 1:
		return DenyAll(fmt.Sprintf("%s belongs to several tenants of the provider configuration, %s and %s",
			s.describe(), tenants[found[0]].Name, tenants[found[1]].Name)), nil
	case ptr.Deref(tenants[found[0]].Unrestricted, false):
		return nil, nil
	}
	t := tenantAt(tenants, found[0], s)
	byNamespace, err := selectsNamespace(t.ProviderTenant, s)
	t.byNamespace = byNamespace
	return t, err
}

// tenantAt returns the tenant at an index of a list as the tenant of a resource.
func tenantAt(tenants []v1alpha1.ProviderTenant, i int, s Subject) *Tenant {
	return &Tenant{ProviderTenant: tenants[i], others: slices.Delete(slices.Clone(tenants), i, i+1), subject: s}
}

// DenyAll returns a tenant whose resource may do nothing, with the reason.
func DenyAll(why string) *Tenant { return &Tenant{denied: why} }

// Compared returns all values that the decisions of a tenant depend on, for comparing two versions of it.
func Compared(t *Tenant) []any {
	return []any{t.ProviderTenant, t.others, t.subject, t.byNamespace, t.denied}
}

// WithFormerTenant returns the tenant of a resource. A resource that has lost its tenant does not get what other tenants than its former one may have
// now. If its former tenant is not known, what was observed to be its own counts as its own.
func WithFormerTenant(t *Tenant, tenants []v1alpha1.ProviderTenant, was string) *Tenant {
	if t == nil || t.denied == "" || was == "" {
		return t
	}
	lost := *t
	lost.others = slices.DeleteFunc(slices.Clone(tenants), func(o v1alpha1.ProviderTenant) bool { return o.Name == was })
	return &lost
}

// SelectsByLabels reports whether tenants can be determined only with the labels of namespaces.
func SelectsByLabels(tenants []v1alpha1.ProviderTenant) bool {
	return slices.ContainsFunc(tenants, func(t v1alpha1.ProviderTenant) bool { return t.NamespaceSelector != nil })
}

// SelectorKeys returns the keys of labels by which tenants select cluster-scoped resources.
func SelectorKeys(tenants []v1alpha1.ProviderTenant) []string {
	var all []string
	for _, t := range tenants {
		if t.ResourceSelector == nil {
			continue
		}
		all = slices.AppendSeq(all, maps.Keys(t.ResourceSelector.MatchLabels))
		for _, r := range t.ResourceSelector.MatchExpressions {
			all = append(all, r.Key)
		}
	}
	return all
}

func (s Subject) describe() string {
	if s.Namespace == "" {
		return "this resource"
	}
	return fmt.Sprintf("namespace %q", s.Namespace)
}

func selects(t v1alpha1.ProviderTenant, s Subject) (bool, error) {
	if is, err := selectsNamespace(t, s); is || err != nil || s.Labels == nil {
		return is, err
	}
	return matches(t.ResourceSelector, s.Labels)
}

// selectsNamespace reports whether a tenant selects the namespace of a resource, or of its claim, by its name or its labels.
func selectsNamespace(t v1alpha1.ProviderTenant, s Subject) (bool, error) {
	switch {
	case s.Namespace == "":
		return false, nil
	case slices.Contains(t.Namespaces, s.Namespace):
		return true, nil
	case s.NamespaceLabels == nil:
		return false, nil
	}
	return matches(t.NamespaceSelector, s.NamespaceLabels)
}

// matches reports whether a selector is set and selects the labels. An empty selector selects all.
func matches(s *metav1.LabelSelector, of map[string]string) (bool, error) {
	if s == nil {
		return false, nil
	}
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return false, err
	}
	return selector.Matches(labels.Set(of)), nil
}

// refuse returns a refusal by a rule.
func (t *Tenant) refuse(rule, format string, words ...any) *refusedError {
	return &refusedError{tenant: t.Name, rule: rule, what: fmt.Sprintf(format, words...)}
}

// may reports whether a permission is given.
func (t *Tenant) may(which func(*v1alpha1.TenantPermissions) *bool) bool {
	return t.Allow != nil && ptr.Deref(which(t.Allow), false)
}

// allowed returns the entries of a permission that is a list.
func (t *Tenant) allowed(which func(*v1alpha1.TenantPermissions) []string) []string {
	if t.Allow == nil {
		return nil
	}
	return which(t.Allow)
}

// CheckNode refuses a node that VMs may not be on.
func (t *Tenant) CheckNode(node string) error {
	if t == nil || len(t.Nodes) == 0 || slices.Contains(t.Nodes, node) {
		return nil
	}
	return t.refuse("nodes", "no VM on node %s", node)
}

// MayName returns a function that reports whether messages for a tenant may name a VM and its node. They may name its own VMs with their nodes, and of
// others only nodes that it may use. The function is nil without a tenant: messages may then name all.
func MayName(t *Tenant) func(proxmox.Guest) (vm, node bool) {
	if t == nil {
		return nil
	}
	return func(g proxmox.Guest) (vm, node bool) {
		vm = t.CheckGuest(g) == nil
		return vm, vm || t.denied == "" && t.CheckNode(g.Node) == nil
	}
}

// AllowsStorage reports whether disks and images may be on a storage.
func (t *Tenant) AllowsStorage(storage string) bool {
	return t == nil || slices.Contains(t.Storages, storage)
}

// HidesImage reports whether disks may not be filled from a volume. The names of others' images have the UUIDs of their VMs.
func (t *Tenant) HidesImage(volume string) bool { return t != nil && t.checkImage(volume, "") != nil }

// CheckImport refuses the file of an Image that disks may not be filled from.
func (t *Tenant) CheckImport(volume string) error {
	if t == nil {
		return nil
	}
	return t.checkImage(volume, "image.ref")
}

// HidesBridge reports whether the tenant may not use a bridge.
func (t *Tenant) HidesBridge(name string) bool { return t != nil && t.checkBridge("", name) != nil }

// WithVNets returns the tenant with the VNets of its zones added to its bridges.
func (t *Tenant) WithVNets(all []proxmox.VNet) *Tenant {
	out := *t
	out.Bridges = slices.Clone(t.Bridges)
	for _, v := range all {
		if slices.Contains(t.SDNZones, v.Zone) && t.checkBridge("", v.Name) != nil {
			out.Bridges = append(out.Bridges, v1alpha1.TenantBridge{Name: v.Name})
		}
	}
	return &out
}

// RequiredTags returns the tags that every VM of the tenant has.
func (t *Tenant) RequiredTags() []string {
	if t == nil {
		return nil
	}
	return t.Tags
}

// DefaultPool returns the pool of VMs whose spec names none. It is empty if the tenant has no pools.
func (t *Tenant) DefaultPool() string {
	if t == nil || len(t.Pools) == 0 {
		return ""
	}
	return t.Pools[0]
}

// CheckAdoptDisk refuses a disk that may not be taken over from a VM.
func (t *Tenant) CheckAdoptDisk(volume string, g proxmox.Guest) error {
	if err := t.CheckAdopt(g); err != nil {
		return t.RefuseVolume(volume)
	}
	storage, _, _ := strings.Cut(volume, ":")
	return t.checkStorage(storage, "a disk")
}

// RefuseVolume returns the refusal of a disk that the provider has not created for the resource that names it.
func (t *Tenant) RefuseVolume(volume string) error {
	if t.denied != "" {
		return &refusedError{what: t.denied}
	}
	return t.refuse("allow.adopt", "disk %s, which was not made for this resource", volume)
}

// checkStorage refuses a storage that disks may not be on.
func (t *Tenant) checkStorage(name, of string) error {
	if slices.Contains(t.Storages, name) {
		return nil
	}
	return t.refuse("storages", "%s on storage %s", of, name)
}

// CheckMemoryStorage refuses a storage for the memory of a VM that is saved with a snapshot or on suspension.
func (t *Tenant) CheckMemoryStorage(on string) error {
	if t.AllowsStorage(on) {
		return nil
	}
	return t.refuse("storages", "the memory of the VM would be saved on storage %s: give the VM a disk, or name a storage in extraConfig.vmstatestorage", on)
}

// checkImage refuses a volume that disks may not be filled from. A cloud-init image belongs to one VM, whatever the patterns allow.
func (t *Tenant) checkImage(volume, of string) error {
	if matchesAny(t.Images, volume) && !nocloud.IsImage(volume) || ImagesOf(t).allowsVolume(volume) {
		return nil
	}
	return t.refuse("images", "%s is %s", of, volume)
}

// checkPool refuses a pool that VMs may not be members of.
func (t *Tenant) checkPool(name string) error {
	switch {
	case len(t.Pools) == 0 && name == "", slices.Contains(t.Pools, name):
		return nil
	case name == "":
		return t.refuse("pools", "a VM in no pool")
	}
	return t.refuse("pools", "a VM in pool %s", name)
}

// checkVMID refuses a VMID outside of the tenant's range.
func (t *Tenant) checkVMID(id int) error {
	if r := t.VMIDRange; r != nil && (id < int(r.Min) || id > int(r.Max)) {
		return t.refuse("vmidRange", "VMID %d is not within %d and %d", id, r.Min, r.Max)
	}
	return nil
}

// checkTags refuses tags that VMs of other tenants carry, or by which other tenants adopt VMs.
func (t *Tenant) checkTags(all []string) error {
	reserved := reservedTags(t)
	for _, tag := range all {
		tag = strings.ToLower(tag) // As Proxmox VE compares them.
		if slices.Contains(reserved, tag) {
			return t.refuse("tags", "tag %s, which is for another tenant", tag)
		}
	}
	return nil
}

// CheckGuest refuses a VM that is not the tenant's. The message contains nothing about the VM except its VMID.
func (t *Tenant) CheckGuest(g proxmox.Guest) error {
	switch {
	case t == nil, t.denied == "" && t.Owns(g), t.denied == "" && t.mayAdopt(g):
		return nil
	case t.denied != "":
		return &refusedError{what: t.denied}
	}
	return t.refuse("pools and vmidRange", "VM %d, which is not the tenant's", g.VMID)
}

// CheckAdopt refuses a VM that may not be taken over.
func (t *Tenant) CheckAdopt(g proxmox.Guest) error {
	if t == nil || t.denied == "" && t.mayAdopt(g) {
		return nil
	}
	if t.denied != "" {
		return &refusedError{what: t.denied}
	}
	return t.refuse("allow.adopt", "to adopt VM %d", g.VMID)
}

// RefuseBackup returns the refusal of a backup that the provider has not created for the resource that names it.
func (t *Tenant) RefuseBackup(volume string) error {
	if t.denied != "" {
		return &refusedError{what: t.denied}
	}
	return t.refuse("allow.adopt", "backup %s, which was not made for this resource", volume)
}

// CheckRemove refuses a VM that was observed to be a resource's, but from which the resource must not remove anything any more: another tenant may have
// it now, or operators have taken it back.
func (t *Tenant) CheckRemove(g proxmox.Guest) error {
	if t == nil || !anyMayHave(t.others, g) && !mayBeWithdrawn(t, g) {
		return nil
	}
	return t.CheckGuest(g)
}

// Owns reports whether a VM is within the tenant's range and pools: a VM that the tenant may take over is not its own yet. A range without pools does
// not include VMs in pools of another tenant, or in pools that another tenant may adopt from, since those VMs may have any VMID.
func (t *Tenant) Owns(g proxmox.Guest) bool {
	pooled := slices.ContainsFunc(t.others, func(o v1alpha1.ProviderTenant) bool { return slices.Contains(o.Pools, g.Pool) || inAdoptPool(o, g) })
	return inRangeAndPools(t.ProviderTenant, g) && (len(t.Pools) > 0 || !pooled)
}

// inRangeAndPools reports whether a VM is in the VMID range and the pools of a tenant, if it has them.
func inRangeAndPools(t v1alpha1.ProviderTenant, g proxmox.Guest) bool {
	if t.VMIDRange == nil && len(t.Pools) == 0 {
		return false
	}
	inRange := t.VMIDRange == nil || g.VMID >= int(t.VMIDRange.Min) && g.VMID <= int(t.VMIDRange.Max)
	return inRange && (len(t.Pools) == 0 || slices.Contains(t.Pools, g.Pool))
}

// anyMayHave reports whether one of these tenants may have a VM: it is in its VMID range and pools, or the tenant may have adopted it.
func anyMayHave(tenants []v1alpha1.ProviderTenant, g proxmox.Guest) bool {
	return adoptableBy(tenants, g) || slices.ContainsFunc(tenants, func(o v1alpha1.ProviderTenant) bool { return inRangeAndPools(o, g) })
}

// MaySee reports whether a VM or template may be cloned and therefore seen: the tenant's own VMs, and templates that it may use and that are no other
// tenant's.
func (t *Tenant) MaySee(g proxmox.Guest) bool {
	if t == nil || t.CheckGuest(g) == nil {
		return true
	}
	if t.denied != "" || !g.Template || anyMayHave(t.others, g) {
		return false
	}
	return matchesAny(t.Templates, g.Name)
}

// matchesAny reports whether one of the patterns matches a name.
func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		ok, err := path.Match(pattern, name)
		return ok && err == nil
	})
}

// CheckClone refuses a source that VMs may not be cloned from.
func (t *Tenant) CheckClone(g proxmox.Guest) error {
	if t.MaySee(g) {
		return nil
	}
	if t.denied != "" {
		return &refusedError{what: t.denied}
	}
	return t.refuse("templates", "a clone of VM %d", g.VMID)
}

// LimitConfig returns a provider configuration without the defaults that the tenant may not use, and with the tenant's VMID range.
func (t *Tenant) LimitConfig(c *v1alpha1.ProviderConfigSpec) *v1alpha1.ProviderConfigSpec {
	if t == nil {
		return c
	}
	c = c.DeepCopy()
	if t.VMIDRange != nil {
		c.VMIDRange, c.TemplateVMIDRange = t.VMIDRange.DeepCopy(), nil
	}
	if c.DefaultNode != nil && t.CheckNode(*c.DefaultNode) != nil {
		c.DefaultNode = nil
	}
	forbidden := func(node string) bool { return t.CheckNode(node) != nil }
	c.DefaultNodes = slices.DeleteFunc(c.DefaultNodes, forbidden)
	c.PreferredNodes = slices.DeleteFunc(c.PreferredNodes, forbidden)
	if c.DefaultStorage != nil && !slices.Contains(t.Storages, *c.DefaultStorage) {
		c.DefaultStorage = nil
	}
	if c.DefaultBridge != nil && !slices.ContainsFunc(t.Bridges, func(b v1alpha1.TenantBridge) bool { return b.Name == *c.DefaultBridge }) {
		c.DefaultBridge = nil
	}
	return c
}

// join returns refusals as one error, in which each refused value appears once.
func join(all []error) error {
	var first *refusedError
	var what []string
	for _, err := range all {
		var r *refusedError
		if !errors.As(err, &r) {
			continue
		}
		if first == nil {
			first = r
			continue
		}
		if text := fmt.Sprintf("(%s): %s", r.rule, r.what); !slices.Contains(what, text) {
			what = append(what, text)
		}
	}
	if first == nil {
		return nil
	}
	joined := *first
	joined.what = strings.Join(append([]string{first.what}, what...), "; ")
	return &joined
}
