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

package importer

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// notInName matches characters that names in Kubernetes cannot have.
var notInName = regexp.MustCompile(`[^a-z0-9.-]+`)

// resourceNames returns the names of Machines, by VMID: those of the VMs in a form that Kubernetes accepts, with the VMID added if several VMs have the
// same name or one has none.
func resourceNames(guests []proxmox.Guest) map[int]string {
	names := map[int]string{}
	for _, g := range guests {
		names[g.VMID] = resourceName(g.Name)
	}
	for changed := true; changed; {
		changed = false
		count := map[string]int{}
		for _, n := range names {
			count[n]++
		}
		for id, n := range names {
			if count[n] > 1 || n == "" {
				names[id], changed = strings.TrimPrefix(n+"-"+strconv.Itoa(id), "-"), true
			}
			if n == "" {
				names[id] = "vm-" + strconv.Itoa(id)
			}
		}
	}
	return names
}

// resourceName returns a name of letters, digits, hyphens and dots, with each dot between letters or digits.
func resourceName(vm string) string {
	labels := strings.FieldsFunc(notInName.ReplaceAllString(strings.ToLower(vm), "-"), func(r rune) bool { return r == '.' })
	for i, l := range labels {
		labels[i] = strings.Trim(l, "-")
	}
	return strings.Trim(strings.Join(labels, "."), ".")
}
