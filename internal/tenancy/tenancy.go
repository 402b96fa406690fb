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

// Package tenancy decides what the resources of a tenant may use and do: whose a resource is,
// what its spec may ask for, which VMs are its tenant's, and which writes to Proxmox VE may be
// made for it. It knows rules and requests, and calls nobody.
//
// A spec is checked before anything is looked at, by the files of kinds; what comes of it, by
// options.go, before anything is written. Every write is checked once more by guard.go, which
// refuses all that it does not know: what a check of a spec has missed does not reach PVE.
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

// A RefusedError says what a resource asks for and its tenant may not have.
type RefusedError struct {
	// Tenant whose rule it is; empty for a resource of no tenant.
	Tenant string

	// Rule that refuses it: the name of a field of the tenant.
	Rule string

	// What is refused.
	What string
}

// Error is the whole sentence.
func (r *RefusedError) Error() string {
	if r.Tenant == "" {
		return r.What
	}
	return fmt.Sprintf("tenant %q may not (%s): %s", r.Tenant, r.Rule, r.What)
}

// Within says of what was not found by which rule a tenant does not find what others may have; nothing for none.
func Within(t *Tenant, rule string) string {
	if t == nil || t.nobody != "" {
		return ""
	}
	return fmt.Sprintf(" among what tenant %q may have (%s)", t.Name, rule)
}

// IsRefusal reports whether an error is a refusal.
func IsRefusal(err error) bool {
	var r *RefusedError
	return errors.As(err, &r)
}

// A Subject is a resource whose tenant is wanted.
type Subject struct {
	// Namespace of the resource, or of the claim of a cluster-scoped one. Empty if there is
	// none.
	Namespace string

	// NamespaceLabels are the labels of the namespace. Nil if they are not known, and then no
	// selector selects it, not even by what is missing.
	NamespaceLabels map[string]string

	// Labels of a cluster-scoped resource. Nil for a namespaced one.
	Labels map[string]string
}

// A Tenant is what holds for one resource. The nil Tenant may do everything.
type Tenant struct {
	v1alpha1.ProviderTenant

	others []v1alpha1.ProviderTenant

	// subject is the resource.
	subject Subject

	// nobody is why the resource has no tenant.
	nobody string
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
		return Nobody(s.whose() + " belongs to no tenant of the provider configuration"), nil
	case len(found) > 1:
		return Nobody(fmt.Sprintf("%s belongs to several tenants of the provider configuration, %s and %s",
			s.whose(), tenants[found[0]].Name, tenants[found[1]].Name)), nil
	case ptr.Deref(tenants[found[0]].Unrestricted, false):
		return nil, nil
	}
	return among(tenants, found[0], s), nil
}

// among other tenants one is that of a resource.
func among(tenants []v1alpha1.ProviderTenant, i int, s Subject) *Tenant {
	return &Tenant{ProviderTenant: tenants[i], others: slices.Delete(slices.Clone(tenants), i, i+1), subject: s}
}

// Nobody is the tenant of a resource that may do nothing, and why.
func Nobody(why string) *Tenant { return &Tenant{nobody: why} }

// Compared are all values that a tenant decides by, to find out whether it has changed.
func Compared(t *Tenant) []any {
	return []any{t.ProviderTenant, t.others, t.subject, t.nobody}
}

// Formerly returns the tenant of a resource, which keeps what others may have by now from one that was of another tenant and is nobody's. Where it is
// not known whose it was, what was seen to be its own counts for its own.
func Formerly(t *Tenant, tenants []v1alpha1.ProviderTenant, was string) *Tenant {
	if t == nil || t.nobody == "" || was == "" {
		return t
	}
	lost := *t
	lost.others = slices.DeleteFunc(slices.Clone(tenants), func(o v1alpha1.ProviderTenant) bool { return o.Name == was })
	return &lost
}

// SelectsByLabels reports whether the labels of namespaces have to be known to tell tenants.
func SelectsByLabels(tenants []v1alpha1.ProviderTenant) bool {
	return slices.ContainsFunc(tenants, func(t v1alpha1.ProviderTenant) bool { return t.NamespaceSelector != nil })
}

// SelectorKeys are the keys of labels by which tenants select cluster-scoped resources.
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

func (s Subject) whose() string {
	if s.Namespace == "" {
		return "this resource"
	}
	return fmt.Sprintf("namespace %q", s.Namespace)
}

func selects(t v1alpha1.ProviderTenant, s Subject) (bool, error) {
	if s.Namespace != "" && slices.Contains(t.Namespaces, s.Namespace) {
		return true, nil
	}
	if s.Namespace != "" && s.NamespaceLabels != nil {
		if is, err := matches(t.NamespaceSelector, s.NamespaceLabels); is || err != nil {
			return is, err
		}
	}
	if s.Labels == nil {
		return false, nil
	}
	return matches(t.ResourceSelector, s.Labels)
}

// matches reports whether a selector that is set selects the labels. An empty one selects all.
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

// refuse something by a rule.
func (t *Tenant) refuse(rule, format string, words ...any) *RefusedError {
	return &RefusedError{Tenant: t.Name, Rule: rule, What: fmt.Sprintf(format, words...)}
}

// may reports whether a permission is given.
func (t *Tenant) may(which func(*v1alpha1.TenantPermissions) *bool) bool {
	return t.Allow != nil && ptr.Deref(which(t.Allow), false)
}

// allowed are the entries of a permission that has a list.
func (t *Tenant) allowed(which func(*v1alpha1.TenantPermissions) []string) []string {
	if t.Allow == nil {
		return nil
	}
	return which(t.Allow)
}

// Node refuses a node that VMs may not be on.
func (t *Tenant) Node(node string) error {
	if t == nil || len(t.Nodes) == 0 || slices.Contains(t.Nodes, node) {
		return nil
	}
	return t.refuse("nodes", "no VM on node %s", node)
}

// Tells returns what reports whether messages for a tenant may name a VM, and its node: its own VMs with their nodes, and of others only nodes that it may
// use. It is nil for no tenant, who is told of all.
func Tells(t *Tenant) func(proxmox.Guest) (vm, node bool) {
	if t == nil {
		return nil
	}
	return func(g proxmox.Guest) (vm, node bool) {
		vm = t.Holds(g) == nil
		return vm, vm || t.nobody == "" && t.Node(g.Node) == nil
	}
}

// Stores reports whether disks and images may be on a storage.
func (t *Tenant) Stores(storage string) bool { return t == nil || slices.Contains(t.Storages, storage) }

// HidesImage reports whether a volume is not one that disks may be filled from. The names of others'
// images have the UUIDs of their VMs.
func (t *Tenant) HidesImage(volume string) bool { return t != nil && t.image(volume, "") != nil }

// Imports refuses the file of an Image that disks may not be filled from.
func (t *Tenant) Imports(volume string) error {
	if t == nil {
		return nil
	}
	return t.image(volume, "image.ref")
}

// HidesBridge reports whether a bridge is not for the tenant.
func (t *Tenant) HidesBridge(name string) bool { return t != nil && t.bridge("", name) != nil }

// WithVNets is the tenant with those VNets that are in its zones among its bridges.
func (t *Tenant) WithVNets(all []proxmox.VNet) *Tenant {
	out := *t
	out.Bridges = slices.Clone(t.Bridges)
	for _, v := range all {
		if slices.Contains(t.SDNZones, v.Zone) && t.bridge("", v.Name) != nil {
			out.Bridges = append(out.Bridges, v1alpha1.TenantBridge{Name: v.Name})
		}
	}
	return &out
}

// CarriedTags are tags that every VM has.
func (t *Tenant) CarriedTags() []string {
	if t == nil {
		return nil
	}
	return t.Tags
}

// FirstPool is the pool of VMs for which the spec names none; empty for none.
func (t *Tenant) FirstPool() string {
	if t == nil || len(t.Pools) == 0 {
		return ""
	}
	return t.Pools[0]
}

// AdoptsDisk refuses a disk that may not be taken over from a VM.
func (t *Tenant) AdoptsDisk(volume string, g proxmox.Guest) error {
	if err := t.Adopts(g); err != nil {
		return t.AdoptsVolume(volume)
	}
	storage, _, _ := strings.Cut(volume, ":")
	return t.storage(storage, "a disk")
}

// AdoptsVolume is the refusal of a disk that the provider has not made for the resource which names it.
func (t *Tenant) AdoptsVolume(volume string) error {
	if t.nobody != "" {
		return &RefusedError{What: t.nobody}
	}
	return t.refuse("allow.adopt", "disk %s, which was not made for this resource", volume)
}

// storage refuses a storage that disks may not be on.
func (t *Tenant) storage(name, of string) error {
	if slices.Contains(t.Storages, name) {
		return nil
	}
	return t.refuse("storages", "%s on storage %s", of, name)
}

// SavesMemory refuses a storage that the memory of a VM would be saved on for a snapshot, or to suspend it.
func (t *Tenant) SavesMemory(on string) error {
	if t.Stores(on) {
		return nil
	}
	return t.refuse("storages", "the memory of the VM would be saved on storage %s: give the VM a disk, or name a storage in extraConfig.vmstatestorage", on)
}

// image refuses a volume that disks may not be filled from. An image for cloud-init is that of one VM, whatever the patterns say.
func (t *Tenant) image(volume, of string) error {
	if matchesAny(t.Images, volume) && !nocloud.IsImage(volume) || ImagesOf(t).has(volume) {
		return nil
	}
	return t.refuse("images", "%s is %s", of, volume)
}

// pool refuses a pool that VMs may not be members of.
func (t *Tenant) pool(name string) error {
	switch {
	case len(t.Pools) == 0 && name == "", slices.Contains(t.Pools, name):
		return nil
	case name == "":
		return t.refuse("pools", "a VM in no pool")
	}
	return t.refuse("pools", "a VM in pool %s", name)
}

// vmid refuses a VMID that is not of the tenant's range.
func (t *Tenant) vmid(id int) error {
	if r := t.VMIDRange; r != nil && (id < int(r.Min) || id > int(r.Max)) {
		return t.refuse("vmidRange", "VMID %d is not within %d and %d", id, r.Min, r.Max)
	}
	return nil
}

// tags refuses tags that other tenants' VMs carry, or are adopted by.
func (t *Tenant) tags(all []string) error {
	reserved := reservedTags(t)
	for _, tag := range all {
		tag = strings.ToLower(tag) // As Proxmox VE compares them.
		if slices.Contains(reserved, tag) {
			return t.refuse("tags", "tag %s, which is for another tenant", tag)
		}
	}
	return nil
}

// Holds refuses a VM that is not the tenant's. The message says nothing of the VM but its VMID.
func (t *Tenant) Holds(g proxmox.Guest) error {
	switch {
	case t == nil, t.nobody == "" && t.Owns(g), t.nobody == "" && t.mayAdopt(g):
		return nil
	case t.nobody != "":
		return &RefusedError{What: t.nobody}
	}
	return t.refuse("pools and vmidRange", "VM %d, which is not the tenant's", g.VMID)
}

// Adopts refuses a VM that may not be taken over.
func (t *Tenant) Adopts(g proxmox.Guest) error {
	if t == nil || t.nobody == "" && t.mayAdopt(g) {
		return nil
	}
	if t.nobody != "" {
		return &RefusedError{What: t.nobody}
	}
	return t.refuse("allow.adopt", "to adopt VM %d", g.VMID)
}

// AdoptsBackup is the refusal of a backup that the provider has not made for the resource which names it.
func (t *Tenant) AdoptsBackup(volume string) error {
	if t.nobody != "" {
		return &RefusedError{What: t.nobody}
	}
	return t.refuse("allow.adopt", "backup %s, which was not made for this resource", volume)
}

// Removes refuses a VM from which a resource that was seen to have it removes nothing any more: another tenant may have it by now, or operators have
// taken it back.
func (t *Tenant) Removes(g proxmox.Guest) error {
	if t == nil || !handedOn(t.others, g) && !mayBeWithdrawn(t, g) {
		return nil
	}
	return t.Holds(g)
}

// Owns reports whether a VM is where the tenant's VMs are: one that it may take over is not its own yet. A range without pools does not reach
// into pools of another tenant or that it may adopt from, whose VMs may have any VMID.
func (t *Tenant) Owns(g proxmox.Guest) bool {
	pooled := slices.ContainsFunc(t.others, func(o v1alpha1.ProviderTenant) bool { return slices.Contains(o.Pools, g.Pool) || pooledFor(o, g) })
	return territory(t.ProviderTenant, g) && (len(t.Pools) > 0 || !pooled)
}

// territory reports whether a VM is where the VMs of a tenant are.
func territory(t v1alpha1.ProviderTenant, g proxmox.Guest) bool {
	if t.VMIDRange == nil && len(t.Pools) == 0 {
		return false
	}
	inRange := t.VMIDRange == nil || g.VMID >= int(t.VMIDRange.Min) && g.VMID <= int(t.VMIDRange.Max)
	return inRange && (len(t.Pools) == 0 || slices.Contains(t.Pools, g.Pool))
}

// handedOn reports whether a VM is where the VMs of one of these tenants are, or where one may have taken it over.
func handedOn(to []v1alpha1.ProviderTenant, g proxmox.Guest) bool {
	return adoptableBy(to, g) || slices.ContainsFunc(to, func(o v1alpha1.ProviderTenant) bool { return territory(o, g) })
}

// Sees reports whether a VM or template may be cloned, and so may be seen: the tenant's own, and
// templates that are for it and no other tenant's.
func (t *Tenant) Sees(g proxmox.Guest) bool {
	if t == nil || t.Holds(g) == nil {
		return true
	}
	if t.nobody != "" || !g.Template || handedOn(t.others, g) {
		return false
	}
	return matchesAny(t.Templates, g.Name)
}

// matchesAny reports whether one of the patterns is that of a name.
func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		ok, err := path.Match(pattern, name)
		return ok && err == nil
	})
}

// Clones refuses a source that VMs may not be cloned from.
func (t *Tenant) Clones(g proxmox.Guest) error {
	if t.Sees(g) {
		return nil
	}
	if t.nobody != "" {
		return &RefusedError{What: t.nobody}
	}
	return t.refuse("templates", "a clone of VM %d", g.VMID)
}

// Config is what a provider configuration says for the tenant.
func (t *Tenant) Config(c *v1alpha1.ProviderConfigSpec) *v1alpha1.ProviderConfigSpec {
	if t == nil {
		return c
	}
	c = c.DeepCopy()
	if t.VMIDRange != nil {
		c.VMIDRange = t.VMIDRange.DeepCopy()
	}
	if c.DefaultNode != nil && t.Node(*c.DefaultNode) != nil {
		c.DefaultNode = nil
	}
	c.DefaultNodes = slices.DeleteFunc(c.DefaultNodes, func(node string) bool { return t.Node(node) != nil })
	if c.DefaultStorage != nil && !slices.Contains(t.Storages, *c.DefaultStorage) {
		c.DefaultStorage = nil
	}
	if c.DefaultBridge != nil && !slices.ContainsFunc(t.Bridges, func(b v1alpha1.TenantBridge) bool { return b.Name == *c.DefaultBridge }) {
		c.DefaultBridge = nil
	}
	return c
}

// join refusals into one error, with what is refused each once.
func join(all []error) error {
	var first *RefusedError
	var what []string
	for _, err := range all {
		var r *RefusedError
		if !errors.As(err, &r) {
			continue
		}
		if first == nil {
			first = r
			continue
		}
		if text := fmt.Sprintf("(%s): %s", r.Rule, r.What); !slices.Contains(what, text) {
			what = append(what, text)
		}
	}
	if first == nil {
		return nil
	}
	joined := *first
	joined.What = strings.Join(append([]string{first.What}, what...), "; ")
	return &joined
}
