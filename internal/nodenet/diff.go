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

// Outside is the key in a Config for what is staged outside of the interfaces that PVE lists.
const Outside = "lines outside of interfaces"

// loopback is the interface that PVE does not list.
const loopback = "lo"

// addressOption begins a line with an address.
const addressOption = "address"

// directives returns words that begin lines outside of interfaces. PVE keeps these lines unchanged, and does not list them.
func directives() []string {
	return []string{"source", "source-directory", "mapping", "no-auto-down", "no-scripts", "rename"}
}

// starts reports whether a line defines when interfaces are started. PVE lists that, and writes the lines again.
func starts(word string) bool { return word == "auto" || strings.HasPrefix(word, "allow-") }

// A diffLine is a line that a diff adds or removes.
type diffLine struct {
	added bool
	words []string

	// of is the interface of the line; empty if the diff does not show it.
	of string
}

// diffLines returns the lines that a diff adds or removes, without comments and empty lines.
func diffLines(changes string) []diffLine {
	var all []diffLine
	of := ""
	for line := range strings.Lines(changes) {
		words := strings.Fields(line[1:])
		switch {
		case strings.HasPrefix(line, "@@"):
			of = ""
			continue
		case len(words) == 0 || strings.HasPrefix(words[0], "#"):
			continue
		case words[0] == "iface" && len(words) > 1:
			of = words[1]
		case slices.Contains(directives(), words[0]), starts(words[0]):
			of = ""
		}
		if line[0] == '+' || line[0] == '-' {
			all = append(all, diffLine{added: line[0] == '+', words: words, of: of})
		}
	}
	return all
}

// outside reports whether PVE neither lists nor changes the content of a line.
func (l diffLine) outside() bool {
	rewritten := []string{"iface", addressOption, "netmask", "broadcast"}
	return slices.Contains(directives(), l.words[0]) || l.of == loopback && !slices.Contains(rewritten, l.words[0])
}

// OutsideOf returns what staged changes add or remove outside of the interfaces that PVE lists: lines that an administrator has written into the file,
// such as "source FILE", and those of the loopback interface. It is nil if there is nothing. Lines that have only moved do not count.
func OutsideOf(changes string) Options {
	all := Options{}
	for _, l := range diffLines(changes) {
		if !l.outside() {
			continue
		}
		now, was := "+", "-"
		if !l.added {
			now, was = was, now
		}
		text := strings.Join(l.words, " ")
		if all[was+text] == "" {
			all[now+text] = "1"
		}
		delete(all, was+text)
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// Gone returns the addresses that staged changes remove from the node, sorted: those that no interface will have any more. Whenever PVE writes the
// file, it keeps one address of each family of an interface: the last one in the file.
func Gone(changes string) []netip.Addr {
	gone, kept := map[netip.Addr]bool{}, map[netip.Addr]bool{}
	for _, l := range diffLines(changes) {
		if l.words[0] != addressOption || len(l.words) == 1 {
			continue
		}
		address, _, _ := strings.Cut(l.words[1], "/")
		ip, err := netip.ParseAddr(address)
		if err != nil {
			continue
		}
		if l.added {
			kept[ip.Unmap()] = true
		} else {
			gone[ip.Unmap()] = true
		}
	}
	maps.DeleteFunc(gone, func(ip netip.Addr, _ bool) bool { return kept[ip] })
	return slices.SortedFunc(maps.Keys(gone), netip.Addr.Compare)
}
