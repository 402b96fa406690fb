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
	"slices"
	"strings"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// mayAdoptAny reports whether there are VMs that a tenant may adopt.
func mayAdoptAny(t *Tenant) bool {
	return len(adoptPools(t.ProviderTenant))+len(adoptTags(t.ProviderTenant)) > 0
}

// adoptPools returns the pools whose VMs a tenant may take over.
func adoptPools(t v1alpha1.ProviderTenant) []string {
	if t.Allow == nil {
		return nil
	}
	return t.Allow.Adopt
}

// adoptTags returns the tags whose VMs a tenant may take over.
func adoptTags(t v1alpha1.ProviderTenant) []string {
	if t.Allow == nil {
		return nil
	}
	return t.Allow.AdoptTags
}

// inAdoptPool reports whether a VM is in a pool that a tenant may adopt from.
func inAdoptPool(t v1alpha1.ProviderTenant, g proxmox.Guest) bool {
	return g.Pool != "" && slices.Contains(adoptPools(t), g.Pool)
}

// hasAdoptTag reports whether a VM has a tag by which a tenant may adopt it.
func hasAdoptTag(t v1alpha1.ProviderTenant, g proxmox.Guest) bool {
	return slices.ContainsFunc(g.Tags, func(tag string) bool { return slices.Contains(adoptTags(t), strings.ToLower(tag)) })
}

// mayAdopt reports whether a tenant may take over a VM. A tag may be on any VM, so it does not allow taking a VM from another tenant.
func (t *Tenant) mayAdopt(g proxmox.Guest) bool {
	return inAdoptPool(t.ProviderTenant, g) || hasAdoptTag(t.ProviderTenant, g) && !slices.ContainsFunc(t.others, func(o v1alpha1.ProviderTenant) bool {
		return inRangeAndPools(o, g) || inAdoptPool(o, g)
	})
}

// heldByTagAlone reports whether a VM is the tenant's only because of its tags. Operators take such a VM back by removing the tags.
func heldByTagAlone(t *Tenant, g proxmox.Guest) bool {
	return !t.Owns(g) && !inAdoptPool(t.ProviderTenant, g) && hasAdoptTag(t.ProviderTenant, g)
}

// mayBeWithdrawn reports whether operators may have taken back a VM that the tenant had because of a tag. It is true if the tenant adopts by tags and
// does not hold the VM any more.
func mayBeWithdrawn(t *Tenant, g proxmox.Guest) bool {
	return len(adoptTags(t.ProviderTenant)) > 0 && t.CheckGuest(g) != nil
}

// adoptableBy reports whether one of these tenants may adopt a VM, or may have adopted it: an adopted VM stays where it is.
func adoptableBy(tenants []v1alpha1.ProviderTenant, g proxmox.Guest) bool {
	return slices.ContainsFunc(tenants, func(o v1alpha1.ProviderTenant) bool { return inAdoptPool(o, g) || hasAdoptTag(o, g) })
}

// reservedTags returns the tags that VMs of other tenants carry, or by which other tenants may adopt VMs.
func reservedTags(t *Tenant) []string {
	var all []string
	for _, o := range t.others {
		for _, tag := range o.Tags {
			if !slices.Contains(t.Tags, tag) {
				all = append(all, tag)
			}
		}
		for _, tag := range adoptTags(o) {
			if !slices.Contains(t.Tags, tag) && !slices.Contains(adoptTags(t.ProviderTenant), tag) {
				all = append(all, tag)
			}
		}
	}
	return all
}

// forbiddenTags returns the tags that no spec of the tenant may name: those of other tenants, and those by which it adopts VMs. A VM with one of the
// latter would stay the tenant's after operators have taken it back.
func forbiddenTags(t *Tenant) []string {
	return append(reservedTags(t), adoptTags(t.ProviderTenant)...)
}

// checkSpecTags refuses tags that a spec may not name.
func checkSpecTags(t *Tenant, all []string) error {
	for _, tag := range all {
		if slices.Contains(adoptTags(t.ProviderTenant), strings.ToLower(tag)) {
			return t.refuse("allow.adoptTags", "tag %s, which operators set", tag)
		}
	}
	return t.checkTags(all)
}

// checkAdoptTags refuses a tag by which the tenant adopts VMs for a VM that does not have it. It lists the VMs again: with an older list, a VM that was
// taken from the tenant a moment ago would return to it.
func (g Guard) checkAdoptTags(vmid int, tags string) error {
	for _, tag := range splitTags(tags) {
		if !slices.Contains(adoptTags(g.ProviderTenant), strings.ToLower(tag)) {
			continue
		}
		guest, err := g.Guest(vmid, true)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(guest.Tags, func(has string) bool { return strings.EqualFold(has, tag) }) {
			return g.refuse("allow.adoptTags", "tag %s, which operators set", tag)
		}
	}
	return nil
}

// TagsToKeep returns the tags that a VM with a configuration must have whatever its spec contains: the tags of all VMs of its tenant, and the tags by
// which the VM was adopted. A VM within the tenant's pools and range needs none of the latter, even if a restore or a rollback has added one.
func TagsToKeep(t *Tenant, g proxmox.Guest, config map[string]string) []string {
	all := t.RequiredTags()
	if t == nil || t.Owns(g) {
		return all
	}
	for _, tag := range splitTags(config["tags"]) {
		if slices.Contains(adoptTags(t.ProviderTenant), strings.ToLower(tag)) && !slices.Contains(all, tag) {
			all = append(all[:len(all):len(all)], tag)
		}
	}
	return all
}
