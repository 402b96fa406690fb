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

package qemu

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

var notInTag = regexp.MustCompile(`[^a-z0-9_+.-]`)

// tenantPrefix is the prefix of the tag of each tenant.
const tenantPrefix = "tenant_"

func isTenantTag(tag string) bool { return strings.HasPrefix(strings.ToLower(tag), tenantPrefix) }

// tenantTag returns the tag of a tenant, in lower case like all tags of PVE.
func tenantTag(tenant string) string {
	return tenantPrefix + notInTag.ReplaceAllString(strings.ToLower(tenant), "_")
}

// splitList splits a list with any of the separators that PVE accepts.
func splitList(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(";,", r) || unicode.IsSpace(r) })
}

// joinTags writes tags as PVE stores them, sorted and without repetitions.
func joinTags(tags []string) string {
	return strings.Join(slices.Compact(slices.Sorted(slices.Values(tags))), ";")
}

// Tagged reports whether the VM has exactly these tags, in any order.
func (c Config) Tagged(tags []string) bool { return joinTags(splitList(c["tags"])) == joinTags(tags) }

func sameTags(a, b string) bool {
	return joinTags(splitList(strings.ToLower(a))) == joinTags(splitList(strings.ToLower(b)))
}

// tagsOption returns the tags of the spec, and the tenant's. If the spec declares none, the VM keeps its tags, except that of another tenant.
func tagsOption(tags []string, tenant string, carried ...string) Option {
	return Option{Name: "tags", same: sameTags, Want: func(now string) (string, bool) {
		wanted := tags
		if tags == nil {
			wanted = slices.DeleteFunc(splitList(now), isTenantTag)
		}
		if tenant != "" {
			wanted = append(wanted[:len(wanted):len(wanted)], tenantTag(tenant))
		}
		for _, tag := range carried {
			if !slices.Contains(wanted, tag) {
				wanted = append(wanted[:len(wanted):len(wanted)], tag)
			}
		}
		return joinTags(wanted), tags != nil || tenant != "" || len(carried) > 0
	}}
}
