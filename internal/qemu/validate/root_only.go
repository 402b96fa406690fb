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

package validate

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/proxmox/propertystring"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/qemu/fields"
)

// rootOnly matches the options that only root@pam may set or remove, and only with its password, not with a token.
var rootOnly = regexp.MustCompile(`^(affinity|amd-sev|arch|args|hookscript|hugepages|intel-tdx|ivshmem|keephugepages|parallel\d+|` +
	`spice_enhancements|vmgenid)$`)

// reserved returns why only root@pam may set an option to a value, or remove it.
func reserved(option, value string) string {
	p, err := propertystring.Parse(value, "host")
	switch {
	case rootOnly.MatchString(option):
		return "it"
	case value == "" || err != nil:
		return ""
	case strings.HasPrefix(option, "serial") && value != "socket":
		return "a serial port that is a device of the node"
	case strings.HasPrefix(option, "usb") && p.Has("host") && !strings.EqualFold(p.Get("host"), "spice"):
		return "a USB device that is not from a mapping"
	case strings.HasPrefix(option, "hostpci") && p.Has("host"):
		return "a PCI device that is not from a mapping"
	}
	return ""
}

// RootOnly reports whether only root@pam may set an option to a value.
func RootOnly(option, value string) bool { return reserved(option, value) != "" }

// RootOnlyOptions returns the regular expression of the options that only root@pam may set, whatever the value.
func RootOnlyOptions() string { return rootOnly.String() }

// Forbidden returns the changes of a configuration that only root@pam may make, and
// why.
func Forbidden(d qemu.Difference, config qemu.Config) []string {
	var no []string
	for _, option := range d.Options() {
		why := reserved(option, d.Set[option])
		if why == "" {
			why = reserved(option, config[option])
		}
		if why == "" {
			continue
		}
		name := option
		if f := fields.Of(option); f != "" {
			name = f + " (" + option + ")"
		}
		no = append(no, fmt.Sprintf("%s cannot be changed: Proxmox VE lets root@pam alone set %s, "+
			"with its password and not with a token", name, why))
	}
	return no
}
