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
	"fmt"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// Overlaps returns sentences about what two tenants of a configuration share although the configuration should isolate them: VMs, VMIDs of new VMs, and
// namespaces, in which nothing is allowed then.
func Overlaps(c *v1alpha1.ProviderConfigSpec) []string {
	var all []string
	for i, a := range c.Tenants {
		for _, b := range c.Tenants[i+1:] {
			for _, what := range overlap(a, b, c.VMIDs()) {
				all = append(all, fmt.Sprintf("tenants %s and %s both have %s", a.Name, b.Name, what))
			}
		}
	}
	return all
}

// overlap returns what two tenants both have. The argument other is the VMID range of tenants without one.
func overlap(a, b v1alpha1.ProviderTenant, other v1alpha1.VMIDRange) []string {
	var all []string
	if both := intersection(a.Namespaces, b.Namespaces); len(both) > 0 {
		all = append(all, "namespace "+strings.Join(both, ", "))
	}
	if ptr.Deref(a.Unrestricted, false) || ptr.Deref(b.Unrestricted, false) {
		return all
	}
	ofA, ofB := ptr.Deref(a.VMIDRange, other), ptr.Deref(b.VMIDRange, other)
	if low, high := max(ofA.Min, ofB.Min), min(ofA.Max, ofB.Max); low <= high {
		all = append(all, fmt.Sprintf("VMIDs %d to %d", low, high))
	}
	pools := slices.Concat(intersection(adoptPools(a), slices.Concat(b.Pools, adoptPools(b))), intersection(a.Pools, adoptPools(b)))
	if a.VMIDRange == nil || b.VMIDRange == nil || ofA.Min <= ofB.Max && ofB.Min <= ofA.Max {
		pools = append(pools, intersection(a.Pools, b.Pools)...)
	}
	slices.Sort(pools)
	if pools = slices.Compact(pools); len(pools) > 0 {
		all = append(all, "VMs of pool "+strings.Join(pools, ", "))
	}
	tags := slices.Concat(intersection(adoptTags(a), slices.Concat(b.Tags, adoptTags(b))), intersection(a.Tags, adoptTags(b)))
	slices.Sort(tags)
	if tags = slices.Compact(tags); len(tags) > 0 {
		all = append(all, "VMs with tag "+strings.Join(tags, ", "))
	}
	return all
}

// intersection returns the names that are in both lists.
func intersection(a, b []string) []string {
	var both []string
	for _, name := range a {
		if slices.Contains(b, name) {
			both = append(both, name)
		}
	}
	return both
}
