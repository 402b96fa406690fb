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

package nodes

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// writable completes interfaces like PVE when it writes them, and rejects those that PVE rejects then.
func writable(list map[string]*state.Interface) error {
	dropUnusedPorts(list)
	for _, check := range []func(map[string]*state.Interface, *state.Interface) error{switchPorts, bondSlaves, vlanParent, bridged} {
		for _, name := range byPriority(list) {
			if err := check(list, list[name]); err != nil {
				return err
			}
		}
	}
	return nil
}

// dropUnusedPorts converts ports of Open vSwitch that no bridge has to plain interfaces.
func dropUnusedPorts(list map[string]*state.Interface) {
	used := map[string]string{}
	for name, i := range list {
		for _, port := range i.AllPorts() {
			used[port] = name
		}
	}
	for name, i := range list {
		if i.Type != "OVSPort" && i.Type != "OVSIntPort" && i.Type != "OVSBond" {
			continue
		}
		switch bridge := list[used[name]]; {
		case bridge == nil:
			list[name] = &state.Interface{Name: name, Type: "eth", Options: map[string]string{}, Priority: i.Priority}
		case bridge.Type != "OVSBridge":
			delete(list, name)
		}
	}
}

// switchPorts checks the ports of an Open vSwitch bridge, and the slaves of its bonds.
func switchPorts(list map[string]*state.Interface, i *state.Interface) error {
	if i.Type == "OVSBridge" {
		for name := range strings.FieldsSeq(i.Options["ovs_ports"]) {
			if err := switchPort(list, i, name); err != nil {
				return err
			}
		}
	}
	if i.Type != "OVSBond" {
		return nil
	}
	for name := range strings.FieldsSeq(i.Options["ovs_bonds"]) {
		slave := list[name]
		if slave == nil || slave.Type != "eth" {
			return apierr.Errorf("OVS bond '%s' - wrong interface type on slave '%s' ('%s' != 'eth')", i.Name, name, typeOf(slave))
		}
		slave.Autostart = true
		if err := checkMTU(list, i.Name, name); err != nil {
			return err
		}
	}
	return nil
}

func switchPort(list map[string]*state.Interface, bridge *state.Interface, name string) error {
	port := list[name]
	switch {
	case port == nil:
		return apierr.Errorf("OVS bridge '%s' - unable to find port '%s'", bridge.Name, name)
	case port.Type == "eth":
		port.Type = "OVSPort"
	case port.Type != "OVSBond" && port.Type != "OVSPort" && port.Type != "OVSIntPort":
		return apierr.Errorf("interface '%s' is not defined as OVS port/bond", name)
	}
	port.Options["ovs_bridge"], port.Autostart = bridge.Name, false
	return checkMTU(list, bridge.Name, name)
}

func typeOf(i *state.Interface) string {
	if i == nil {
		return ""
	}
	return i.Type
}

// bondSlaves checks the slaves of bonds that start with the node.
func bondSlaves(list map[string]*state.Interface, i *state.Interface) error {
	if i.Type != "bond" {
		return nil
	}
	names, primary := strings.Fields(i.Options["slaves"]), i.Options["bond-primary"]
	for _, name := range names {
		slave := list[name]
		if typeOf(slave) != "eth" && typeOf(slave) != "bond" {
			return apierr.Errorf("bond '%s' - wrong interface type on slave '%s' ('%s' != 'eth or bond')", i.Name, name, typeOf(slave))
		}
		slave.Autostart = true
		if err := checkMTU(list, i.Name, name); err != nil {
			return err
		}
	}
	if primary != "" && !slices.Contains(names, primary) {
		return apierr.Errorf("bond '%s' - bond-primary interface is not a slave at /usr/share/perl5/PVE/Network/Interfaces.pm line 878.", i.Name)
	}
	return nil
}

var (
	dotted   = regexp.MustCompile(`^(\S+)\.(\d+)$`)
	numbered = regexp.MustCompile(`^vlan(\d+)$`)
)

func vlanParent(list map[string]*state.Interface, i *state.Interface) error {
	if i.Type != "vlan" {
		return nil
	}
	parent, id := i.Options["vlan-raw-device"], i.Options["vlan-id"]
	if m := dotted.FindStringSubmatch(i.Name); m != nil {
		parent, id = m[1], m[2]
	}
	if parent == "" {
		return apierr.Errorf("missing vlan-raw-device option at /usr/share/perl5/PVE/Network/Interfaces.pm line 954.")
	}
	if m := numbered.FindStringSubmatch(i.Name); m != nil {
		id = m[1]
	}
	switch raw := list[parent]; {
	case id == "":
		return apierr.Errorf("missing vlan-id option at /usr/share/perl5/PVE/Network/Interfaces.pm line 962.")
	case schema.Int(id) > 4094:
		return apierr.Errorf("vlan '%s' - vlan-id %s should be <= 4094", i.Name, id)
	case raw == nil:
		return apierr.Errorf("vlan '%s' - unable to find parent '%s'", i.Name, parent)
	case !slices.Contains([]string{"eth", "bridge", "bond", "vlan"}, raw.Type):
		return apierr.Errorf("vlan '%s' - wrong interface type on parent '%s' ('%s' != 'eth|bond|bridge|vlan' )", i.Name, parent, raw.Type)
	}
	return checkMTU(list, parent, i.Name)
}

// bridged checks the ports of a bridge, which must have no addresses.
func bridged(list map[string]*state.Interface, i *state.Interface) error {
	if i.Type != "bridge" {
		return nil
	}
	for name := range strings.FieldsSeq(i.Ports) {
		port := list[name]
		if m := dotted.FindStringSubmatch(name); port == nil && m != nil {
			continue // A VLAN that is created for the bridge.
		}
		if port == nil {
			return apierr.Errorf("bridge '%s' - unable to find bridge port '%s'", i.Name, name)
		}
		if port.CIDR != "" || port.Options["cidr6"] != "" {
			return apierr.Errorf("iface %s - ip address can't be set on interface if bridged in %s", name, i.Name)
		}
		if err := checkMTU(list, name, i.Name); err != nil {
			return err
		}
	}
	return nil
}

// checkMTU rejects an interface with a larger MTU than the interface that carries its packets.
func checkMTU(list map[string]*state.Interface, parent, child string) error {
	mtu, of := schema.Int(list[child].Options["mtu"]), list[parent]
	if mtu == 0 {
		return nil
	}
	carried := schema.Int(of.Options["mtu"])
	if carried == 0 && of.Type == "bond" {
		carried = mtu
	}
	if carried == 0 {
		carried = 1500
	}
	if carried < mtu {
		return apierr.Errorf("interface '%s' - mtu %d is lower than '%s' - mtu %d", parent, carried, child, mtu)
	}
	return nil
}

// number assigns the positions of interfaces in PVE's file: by type, VLANs after the interface in their names, and otherwise as before.
func number(list map[string]*state.Interface) {
	ranks := map[string]int{
		"eth": 200_000, "OVSPort": 200_000, "OVSIntPort": 300_000, "OVSBond": 400_000, "bond": 400_000, "bridge": 500_000, "OVSBridge": 500_000,
		"vlan": 600_000,
	}
	rank := func(name string) int {
		parts := strings.FieldsFunc(name, func(r rune) bool { return r == '.' || r == ':' })
		return ranks[typeOf(list[parts[0]])] + len(parts) - 1
	}
	names := slices.SortedFunc(maps.Keys(list), func(a, b string) int {
		of, to := rank(a), rank(b)
		if ranks[typeOf(list[a])] == 0 || ranks[typeOf(list[b])] == 0 {
			of, to = 0, 0
		}
		return cmp.Or(of+list[a].Priority-to-list[b].Priority, strings.Compare(a, b))
	})
	for i, name := range names {
		list[name].Priority = FirstPriority + i
	}
}

// interfacesFile returns the lines of the interfaces file.
func interfacesFile(list map[string]*state.Interface, head bool) []string {
	var lines []string
	if head {
		lines = append(lines, strings.Split(fileHead, "\n")...)
	}
	lines = append(lines, "auto lo", "iface lo inet loopback", "")
	for _, name := range byPriority(list) {
		lines = append(lines, stanza(list[name])...)
	}
	return append(lines, "source /etc/network/interfaces.d/*")
}

// fileHead is the beginning of a file that PVE has written.
const fileHead = `# network interface settings; autogenerated
# Please do NOT modify this file directly, unless you know what
# you're doing.
#
# If you want to manage parts of the network configuration manually,
# please utilize the 'source' or 'source-directory' directives to do
# so.
# PVE will preserve these directives, but will NOT read its network
# configuration from sourced files, so do not attempt to move any of
# the PVE managed interfaces into external files!
`

// stanza returns the stanza of an interface.
func stanza(i *state.Interface) []string {
	var lines []string
	if i.Autostart {
		lines = append(lines, "auto "+i.Name)
	}
	method := "manual"
	if i.CIDR != "" {
		method = "static"
	}
	lines = append(lines, "iface "+i.Name+" inet "+method)
	add := func(option, value string) {
		if value != "" {
			lines = append(lines, "\t"+option+" "+value)
		}
	}
	for _, address := range append(slices.Clone(i.Addresses), i.CIDR) {
		add("address", address)
	}
	add("gateway", i.Gateway)
	if i.Type == "bridge" {
		ports := i.Ports
		if ports == "" {
			ports = "none"
		}
		add("bridge-ports", ports)
		add("bridge-stp", "off")
		add("bridge-fd", "0")
	}
	if i.VLANAware {
		add("bridge-vlan-aware", "yes")
		add("bridge-vids", cmp.Or(i.Options["bridge_vids"], "2-4094"))
	}
	for _, option := range slices.Sorted(maps.Keys(i.Options)) {
		if option != "comments" && option != "bridge_vids" {
			add(option, i.Options[option])
		}
	}
	for comment := range strings.Lines(i.Options["comments"]) {
		lines = append(lines, "#"+strings.TrimSuffix(comment, "\n"))
	}
	return append(lines, "")
}

// stagedDiff returns the diff between the interfaces file and its staged changes, or nothing if there are none.
func stagedDiff(n *state.Node, now time.Time) string {
	diff := unified(interfacesFile(n.Interfaces, n.InterfacesWritten), append(interfacesFile(n.PendingInterfaces, true), n.StagedLines...))
	if diff == "" {
		return ""
	}
	const stamp = "2006-01-02 15:04:05.000000000 -0700"
	return fmt.Sprintf("--- /etc/network/interfaces\t%s\n+++ /etc/network/interfaces.new\t%s\n%s", n.Booted.Format(stamp), now.Format(stamp), diff)
}

// A diffLine is one that is kept (' '), removed ('-') or added ('+').
type diffLine struct {
	mark byte
	text string
}

// compare compares two files by the longest common subsequence of their lines.
func compare(a, b []string) []diffLine {
	length := make([][]int, len(a)+1)
	for i := range length {
		length[i] = make([]int, len(b)+1)
	}
	for i := range slices.Backward(a) {
		for j := range slices.Backward(b) {
			if a[i] == b[j] {
				length[i][j] = length[i+1][j+1] + 1
			} else {
				length[i][j] = max(length[i+1][j], length[i][j+1])
			}
		}
	}
	var lines []diffLine
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			lines = append(lines, diffLine{' ', a[i]})
			i, j = i+1, j+1
		case i < len(a) && (j == len(b) || length[i+1][j] >= length[i][j+1]):
			lines = append(lines, diffLine{'-', a[i]})
			i++
		default:
			lines = append(lines, diffLine{'+', b[j]})
			j++
		}
	}
	return lines
}

// unified returns the differences between two files with three lines of context around each change.
func unified(a, b []string) string {
	const context = 3
	lines := compare(a, b)
	shown := make([]bool, len(lines))
	for k, l := range lines {
		for near := max(0, k-context); l.mark != ' ' && near < min(len(lines), k+context+1); near++ {
			shown[near] = true
		}
	}
	var out strings.Builder
	before, after := 1, 1
	for k := 0; k < len(lines); {
		end := k
		for end < len(lines) && shown[end] {
			end++
		}
		if end > k {
			out.WriteString(hunk(lines[k:end], before, after))
		}
		end = max(end, k+1)
		for ; k < end; k++ {
			if lines[k].mark != '+' {
				before++
			}
			if lines[k].mark != '-' {
				after++
			}
		}
	}
	return out.String()
}

func hunk(lines []diffLine, before, after int) string {
	removed, added := 0, 0
	var out strings.Builder
	for _, l := range lines {
		if l.mark != '+' {
			removed++
		}
		if l.mark != '-' {
			added++
		}
		out.WriteString(string(l.mark) + l.text + "\n")
	}
	return fmt.Sprintf("@@ -%d,%d +%d,%d @@\n", before, removed, after, added) + out.String()
}
