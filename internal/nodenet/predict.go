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

package nodenet

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
)

// Changed returns the configuration after options of an interface were set and removed. It creates an interface that does not exist.
func (c Config) Changed(name string, set map[string]string, remove []string) Config {
	after := c.Clone()
	o, exists := after[name]
	if !exists {
		o = Options{}
		after[name] = o
	}
	for _, option := range remove {
		delete(o, option)
	}
	maps.Copy(o, set)
	if bridge := after[o[ovsBridge]]; !exists && bridge != nil {
		bridge[ovsPorts] = strings.TrimSpace(bridge[ovsPorts] + " " + name)
	}
	return after
}

// Removed returns the configuration without an interface.
func (c Config) Removed(name string) Config {
	after := c.Clone()
	bridge := after[c[name][ovsBridge]]
	delete(after, name)
	if bridge != nil {
		bridge[ovsPorts] = strings.Join(slices.DeleteFunc(List(bridge[ovsPorts]), func(p string) bool { return p == name }), " ")
	}
	return after
}

// derived returns the names of options that PVE derives from others and lists in addition.
func derived() []string {
	return []string{
		"families", "method", "method6", "bridge_stp", "bridge_fd", "bridge_vids", "bond_miimon", "bond_mode", "vlan-id", rawDevice,
		"ovs_type", autostart,
	}
}

// AsStaged reports whether an interface is as it was staged, apart from what PVE derives. A nil interface does not exist.
func AsStaged(staged, seen Options) bool {
	if staged == nil || seen == nil {
		return staged == nil && seen == nil
	}
	a, b := comparableOptions(staged), comparableOptions(seen)
	for option, value := range b {
		if is, ok := a[option]; is != value && (ok || !slices.Contains(derived(), option)) {
			return false
		}
	}
	for option := range a {
		if _, ok := b[option]; !ok {
			return false
		}
	}
	return true
}

// comparableOptions returns the options in a canonical form.
func comparableOptions(o Options) Options {
	all := normal(o, []string{"families", "method", "method6"})
	for _, option := range []string{"cidr", "cidr6"} {
		if p, err := netip.ParsePrefix(all[option]); err == nil {
			all[option] = p.String()
		}
	}
	if all[autostart] == "0" {
		delete(all, autostart)
	}
	// An Open vSwitch bridge gets ports automatically.
	delete(all, ovsPorts)
	return all
}
