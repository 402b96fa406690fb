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
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// A Baseline has a checksum of each interface, from when nothing was staged or when the staged changes had been confirmed. It is used later to
// determine who has staged changes.
type Baseline map[string]string

// NewBaseline returns the checksums of all interfaces: one of all options, one without those that PVE changes for a port, and the interfaces that the
// interface depends on. For a network card that is a port of Open vSwitch it also has the type.
func NewBaseline(c Config) Baseline {
	b := Baseline{}
	for name, o := range c {
		ports := append(c.lower(name), o[ovsBridge])
		b[name] = checksum(normal(o, nil)) + "/" + checksum(normal(o, sideEffects())) + "/" + strings.TrimSpace(strings.Join(ports, " "))
		if o[typeOption] == switchPort {
			b[name] += "/" + switchPort
		}
	}
	return b
}

// sideEffects returns the options that PVE itself changes when interfaces become ports of others, or cease to be ports.
func sideEffects() []string {
	return []string{autostart, typeOption, ovsBridge, "ovs_type", ovsPorts}
}

// Foreign returns the interfaces that differ from the baseline although they are not managed by us, sorted. It ignores changes that our interfaces
// cause in their ports.
func (b Baseline) Foreign(now Config, ours []string) []string {
	touched := map[string]bool{}
	for _, name := range ours {
		for _, port := range append(List(part(b[name], portsPart)), append(now.lower(name), now[name][ovsBridge])...) {
			touched[port] = true
		}
	}
	current := NewBaseline(now)
	names := maps.Clone(b)
	maps.Copy(names, current)
	var foreign []string
	for name := range names {
		if slices.Contains(ours, name) || part(b[name], wholePart) == part(current[name], wholePart) {
			continue
		}
		if !touched[name] || part(b[name], maskedPart) != part(current[name], maskedPart) && !b.released(current, name, ours) {
			foreign = append(foreign, name)
		}
	}
	slices.Sort(foreign)
	return foreign
}

// released reports whether an interface was a port of an Open vSwitch bridge of ours and is a card without any options now, which PVE leaves of a port
// that is in no bridge any more.
func (b Baseline) released(current Baseline, name string, ours []string) bool {
	was := part(b[name], typePart) == switchPort &&
		slices.ContainsFunc(List(part(b[name], portsPart)), func(bridge string) bool { return slices.Contains(ours, bridge) })
	plain := checksum(normal(Options{}, sideEffects()))
	return was && part(current[name], typePart) == "" && part(current[name], maskedPart) == plain
}

// Parts of a baseline's entry for an interface.
const (
	wholePart = iota
	maskedPart
	portsPart
	typePart
)

func part(sums string, which int) string {
	if all := strings.Split(sums, "/"); which < len(all) {
		return all[which]
	}
	return ""
}

// Keep reports whether an interface is unchanged since the baseline.
func (b Baseline) Keep(now Config, name string) bool {
	return part(b[name], wholePart) == part(NewBaseline(now)[name], wholePart)
}

// normal returns the options of an interface without those that the kernel adds and removes, and with the defaults that PVE writes when it writes the
// file for the first time.
func normal(o Options, without []string) Options {
	all := maps.Clone(o)
	for _, option := range append([]string{"active", "exists", "priority", "altnames", "address", "netmask", "address6", "netmask6"}, without...) {
		delete(all, option)
	}
	fill := func(option, value string) {
		if all[option] == "" {
			all[option] = value
		}
	}
	fill("families", "inet")
	fill("method", "manual")
	fill("method6", "manual")
	switch o[typeOption] {
	case "bridge":
		fill("bridge_stp", "off")
		fill("bridge_fd", "0")
		if all["bridge_vlan_aware"] != "" {
			fill("bridge_vids", "2-4094")
		}
	case "bond":
		fill("bond_miimon", "100")
		fill("bond_mode", "balance-rr")
	}
	for _, option := range portLists() {
		ports := List(all[option])
		slices.Sort(ports)
		all[option] = strings.Join(ports, " ")
	}
	options := strings.Fields(all["ovs_options"])
	slices.Sort(options) // PVE writes them in any order.
	all["ovs_options"] = strings.Join(options, " ")
	all["bridge_vids"] = strings.Join(List(all["bridge_vids"]), " ")
	all["comments"] = trimLines(all["comments"])
	maps.DeleteFunc(all, func(_, value string) bool { return value == "" })
	return all
}

// trimLines removes what PVE does not keep of comments: blanks at the ends of lines, and empty lines at the end.
func trimLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " \t\r")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

// SameComments reports whether PVE stores two texts as the same comments.
func SameComments(a, b string) bool { return trimLines(a) == trimLines(b) }

// lengthOfSum is how many digits of a checksum are kept. It is enough to notice accidental changes, but not deliberately forged ones.
const lengthOfSum = 12

func checksum(o Options) string {
	h := sha256.New()
	for _, option := range slices.Sorted(maps.Keys(o)) {
		h.Write([]byte(option + "\x00" + o[option] + "\x00"))
	}
	return hex.EncodeToString(h.Sum(nil))[:lengthOfSum]
}

// Changes returns the diff of the staged changes without the names and times of the files, and without the header that PVE writes into its files. It is
// empty if nothing else is staged.
func Changes(diff string) string {
	lines := strings.Split(strings.TrimRight(diff, "\n"), "\n")
	lines = slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(l, "--- /") || strings.HasPrefix(l, "+++ /") })
	if len(lines) > 1 && strings.HasPrefix(lines[0], "@@ -1,") || len(lines) > 1 && strings.HasPrefix(lines[0], "@@ -0,") {
		lines = append(lines[:1:1], withoutHead(lines[1:])...)
	}
	if !slices.ContainsFunc(lines, changes) {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

// changes reports whether a line of a diff adds or removes something.
func changes(line string) bool {
	return (strings.HasPrefix(line, "+") || strings.HasPrefix(line, "-")) && strings.TrimSpace(line[1:]) != ""
}

// withoutHead removes the comments before the first section, and the empty line after them.
func withoutHead(lines []string) []string {
	n := 0
	for n < len(lines) && strings.HasPrefix(lines[n], "+#") {
		n++
	}
	if n > 0 && n < len(lines) && lines[n] == "+" {
		n++
	}
	return lines[n:]
}

// Checksum returns the checksum by which staged changes are confirmed.
func Checksum(changes string) string {
	sum := sha256.Sum256([]byte(changes))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// secret matches lines of options that may contain secrets, such as those of wireless cards.
var secret = regexp.MustCompile(`(?im)^([ +-]\s*\S*(?:psk|pass|secret|key)\S*\s+).*$`)

// longestShown is how much of the staged changes is shown, in bytes.
const longestShown = 8192

// Shown returns staged changes in a form for display: without secrets, and limited in length.
func Shown(changes string) string {
	changes = secret.ReplaceAllString(changes, "${1}********")
	if len(changes) > longestShown {
		return strings.ToValidUTF8(changes[:longestShown], "") + "…\n"
	}
	return changes
}
