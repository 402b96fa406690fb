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
	"maps"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// Predict to the options of a VM that does not run: what PVE says of them then, and
// whether that is known. What it allocates or generates is not.
func (d Difference) Predict(values []proxmox.PendingValue) ([]proxmox.PendingValue, bool) {
	if d.Allocates {
		return nil, false
	}
	all := map[string]string{}
	for _, p := range values {
		if p.Changes() {
			return nil, false
		}
		if p.Key != "digest" {
			all[p.Key] = ptr.Deref(p.Value, "")
		}
	}
	for option, v := range d.Set {
		nic, err := proxmox.ParseNIC(v)
		switch {
		case option == "cipassword":
			v = "**********"
		case BusOf(option) == "net" && (err != nil || nic.MAC == ""), BusOf(option) != "" && BusOf(option) != "net", madeUp(option):
			return nil, false
		}
		all[option] = v
	}
	for _, option := range d.Delete {
		if BusOf(option) != "" && BusOf(option) != "net" || madeUp(option) {
			return nil, false
		}
		delete(all, option)
	}
	out := make([]proxmox.PendingValue, 0, len(all))
	for _, k := range slices.Sorted(maps.Keys(all)) {
		out = append(out, proxmox.PendingValue{Key: k, Value: new(all[k])})
	}
	return out, true
}

// madeUp reports whether PVE makes of an option what it likes.
func madeUp(option string) bool {
	all := []string{"efidisk", "tpmstate", "unused", "vmgenid", "lock", "template"}
	return slices.ContainsFunc(all, func(s string) bool { return strings.HasPrefix(option, s) })
}
