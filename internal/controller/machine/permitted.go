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

package machine

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// rootOnly are the options that root@pam alone may set or remove, with its
// password: not even its tokens may.
var rootOnly = regexp.MustCompile(`^(affinity|amd-sev|arch|args|hookscript|hugepages|intel-tdx|ivshmem|keephugepages|parallel\d+|` +
	`spice_enhancements|vmgenid)$`)

// reserved says why root@pam alone may give an option a value, or take it away.
func reserved(option, value string) string {
	p, err := proxmox.ParseProperties(value, "host")
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

// forbidden are the changes that only root@pam may make.
func (d difference) forbidden(config map[string]string) []string {
	var no []string
	for _, option := range d.options() {
		why := reserved(option, d.Set[option])
		if why == "" {
			why = reserved(option, config[option])
		}
		if why == "" {
			continue
		}
		name := option
		if f := field(option); f != "" {
			name = f + " (" + option + ")"
		}
		no = append(no, fmt.Sprintf("%s cannot be changed: Proxmox VE lets root@pam alone set %s, "+
			"with its password and not with a token", name, why))
	}
	return no
}

// A bound is the range of versions that know an option, or a key of one.
type bound struct {
	option string // Without its number.
	key    string // Empty for the option itself.

	// since is the first version that knows it; before the first that does not.
	since, before release
}

// A release of PVE.
type release struct{ major, minor int }

func (r release) String() string { return fmt.Sprintf("%d.%d", r.major, r.minor) }

//nolint:gochecknoglobals // Constants.
var (
	v90, v91, v92 = release{9, 0}, release{9, 1}, release{9, 2}

	// future is the first version whose options may be others than those that
	// are known here.
	future = release{9, 3}

	bounds = []bound{
		{option: "allow-ksm", since: v91},
		{option: "intel-tdx", since: v91},
		{option: "machine", key: "aw-bits", since: v91},
		{option: "cpu", key: "guest-phys-bits", since: v91},
		{option: "cpu", key: "level", since: v92},
		{option: "efidisk", key: "ms-cert", since: v91},
		{option: "tpmstate", key: "format", since: v91},
		{option: "hostpci", key: "driver", since: v91},
		{option: "net", key: "host-tunnel", since: v92},
	}

	// geometry of disks, which PVE 9 dropped.
	geometry = []string{"cyls", "heads", "secs", "trans"}
)

// versionBounds are all bounds of an option.
func versionBounds(option string) []bound {
	var all []bound
	s, _ := stem(option)
	for _, b := range bounds {
		if b.option == s {
			all = append(all, b)
		}
	}
	if busOf(option) != "" && s != "net" {
		for _, key := range geometry {
			all = append(all, bound{key: key, before: v90})
		}
	}
	return all
}

// sets says whether a change gives the option, or the key of it, a value that it
// has not got.
func (b bound) sets(now, want string) bool {
	if b.key == "" {
		return true
	}
	x, errX := proxmox.ParseProperties(now, "")
	y, errY := proxmox.ParseProperties(want, "")
	return errY == nil && y.Has(b.key) && (errX != nil || x.Get(b.key) != y.Get(b.key))
}

// unknown says why a version does not know what is asked for, or nothing.
func (b bound) unknown(v proxmox.Version) string {
	switch {
	case b.since == future && !v.AtLeast(future.major, future.minor):
		return fmt.Sprintf("Proxmox VE %s has no such option", v.Version)
	case b.since != release{} && !v.AtLeast(b.since.major, b.since.minor):
		return fmt.Sprintf("Proxmox VE has it since %s, and this is %s", b.since, v.Version)
	case b.before != release{} && v.AtLeast(b.before.major, b.before.minor):
		return fmt.Sprintf("Proxmox VE has it no longer since %s, and this is %s", b.before, v.Version)
	}
	return ""
}

// A demand is something that not every version of PVE knows.
type demand struct {
	name string
	bound
}

// demands of a change, by which it depends on the version.
func (d difference) demands(config map[string]string) []demand {
	var all []demand
	for _, option := range slices.Sorted(maps.Keys(d.Set)) {
		for _, b := range versionBounds(option) {
			if b.sets(config[option], d.Set[option]) {
				all = append(all, demand{name: strings.TrimSpace(option + " " + b.key), bound: b})
			}
		}
		if _, known := extras[option]; !known && field(option) == "" {
			all = append(all, demand{name: option, bound: bound{since: future}})
		}
	}
	return all
}

// prohibited are the changes that PVE would refuse for who we are or for what
// version it is. Besides what is configured there may be more that depends on that.
func (e *external) prohibited(ctx context.Context, d difference, config map[string]string, more ...demand) ([]string, error) {
	var no []string
	if !e.superuser {
		no = d.forbidden(config)
	}
	unknown, err := e.unknown(ctx, append(d.demands(config), more...))
	return append(no, unknown...), err
}

// unknown are the demands that the version of PVE does not meet. PVE is asked for
// it only if that matters.
func (e *external) unknown(ctx context.Context, demands []demand) ([]string, error) {
	if len(demands) == 0 {
		return nil, nil
	}
	v, err := e.inventory.Version(ctx)
	if err != nil {
		return nil, err
	}
	var no []string
	for _, a := range demands {
		if why := a.unknown(v); why != "" {
			no = append(no, fmt.Sprintf("%s cannot be set: %s", a.name, why))
		}
	}
	return no, nil
}
