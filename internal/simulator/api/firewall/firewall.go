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

// Package firewall serves the firewalls of the cluster, of nodes and of VMs.
package firewall

import (
	"encoding/json"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/guest"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// digest returns the hash of a part of a firewall. An empty part has the hash of empty content.
func digest(_ *state.Firewall, part any, length int) string {
	if length == 0 {
		return state.Digest(nil)
	}
	text, err := json.Marshal(part)
	if err != nil {
		return state.Digest(nil)
	}
	return state.Digest(text)
}

// firewall returns the firewall of a call.
func firewall(c *engine.Call) (*state.Firewall, error) {
	key := "cluster"
	switch {
	case c.Has("group") && strings.HasPrefix(c.Method.Path, "/cluster/firewall/groups/"):
		if fw := c.State.ClusterFirewall().Groups[c.Str("group")]; fw != nil {
			return fw, nil
		}
		return nil, apierr.Errorf("no such security group '%s'", c.Str("group"))
	case c.Has("vmid"): // The file is read and written whether the VM exists or not.
		key = "vm/" + c.Str("vmid")
	case c.Has("node"):
		key = "node/" + c.Node
	}
	return c.State.Firewall(key), nil
}

func firewallOptions(c *engine.Call) (any, error) {
	fw, err := firewall(c)
	if err != nil {
		return nil, err
	}
	out := c.Typed(fw.Options)
	out["digest"] = digest(fw, fw.Options, len(fw.Options))
	return out, nil
}

func setFirewallOptions(c *engine.Call) (any, error) {
	fw, err := firewall(c)
	if err != nil {
		return nil, err
	}
	if err := unchanged(c, fw.Options, len(fw.Options)); err != nil {
		return nil, err
	}
	for _, key := range c.Deleted() {
		if !c.Knows(key) || slices.Contains([]string{"node", "vmid", "digest", "delete"}, key) {
			return nil, apierr.Param("delete", "no such option '%s'", key)
		}
	}
	for _, key := range c.Deleted() {
		delete(fw.Options, key)
	}
	maps.Copy(fw.Options, c.Given())
	return nil, nil //nolint:nilnil // The answer is null.
}

// firewallReferences returns the sets and aliases that rules can name.
func firewallReferences(c *engine.Call) (any, error) {
	fw, err := firewall(c)
	if err != nil {
		return nil, err
	}
	out := references(c.State.ClusterFirewall(), "dc", c.Str("type"))
	if fw != c.State.ClusterFirewall() {
		out = append(out, references(fw, "guest", c.Str("type"))...)
	}
	return out, nil
}

// references returns the sets and aliases of one firewall, or those of one type.
func references(fw *state.Firewall, scope, kind string) []map[string]any {
	out := []map[string]any{}
	add := func(kind, name, ref, comment string) {
		entry := map[string]any{"type": kind, "name": name, "ref": ref, "scope": scope}
		if comment != "" {
			entry["comment"] = comment
		}
		out = append(out, entry)
	}
	for _, name := range slices.Sorted(maps.Keys(fw.Sets)) {
		if kind != "alias" {
			add("ipset", name, "+"+scope+"/"+name, fw.Sets[name].Comment)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(fw.Aliases)) {
		if kind != "ipset" {
			add("alias", name, scope+"/"+name, fw.Aliases[name]["comment"])
		}
	}
	return out
}

// unchanged fails if a part of a firewall has changed since the digest of the call.
func unchanged(c *engine.Call, part any, length int) error {
	if c.Has("digest") && c.Str("digest") != digest((*state.Firewall)(nil), part, length) {
		return apierr.Modified()
	}
	return nil
}

func showRule(fw *state.Firewall, i int) map[string]any {
	out := map[string]any{"pos": i, "digest": digest(fw, fw.Rules, len(fw.Rules))}
	for key, value := range fw.Rules[i] {
		out[key] = value
	}
	out["enable"] = schema.Int(fw.Rules[i]["enable"])
	return out
}

func listFirewallRules(c *engine.Call) (any, error) {
	fw, err := firewall(c)
	if err != nil {
		return nil, err
	}
	out := []map[string]any{}
	for i := range fw.Rules {
		out = append(out, showRule(fw, i))
	}
	return out, nil
}

// firewallRule returns the rule at the position of a call.
func firewallRule(c *engine.Call) (*state.Firewall, int, error) {
	fw, err := firewall(c)
	if err != nil {
		return nil, 0, err
	}
	if err := unchanged(c, fw.Rules, len(fw.Rules)); err != nil {
		return nil, 0, err
	}
	i := schema.Int(c.Str("pos"))
	if i >= len(fw.Rules) {
		return nil, 0, apierr.Errorf("no rule at position %d", i)
	}
	return fw, i, nil
}

func getFirewallRule(c *engine.Call) (any, error) {
	fw, i, err := firewallRule(c)
	if err != nil {
		return nil, err
	}
	out := showRule(fw, i)
	out["pos"] = strconv.Itoa(i)
	return out, nil
}

// checkFirewallRule checks conditions of a rule that depend on several of its fields, or on other objects.
func checkFirewallRule(c *engine.Call, fw *state.Firewall, rule map[string]string) error {
	for _, check := range []func() error{
		func() error { return checkRuleType(c, rule) },
		func() error { return checkPorts(rule) },
		func() error { return checkAddress(c, fw, "source", rule["source"]) },
		func() error { return checkAddress(c, fw, "dest", rule["dest"]) },
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// scope returns the kind of a firewall: "cluster", "group", "host" or "vm".
func scope(c *engine.Call) string {
	switch {
	case strings.HasPrefix(c.Method.Path, "/cluster/firewall/groups/"):
		return "group"
	case c.Has("vmid"):
		return "vm"
	case c.Has("node"):
		return "host"
	}
	return "cluster"
}

func checkRuleType(c *engine.Call, rule map[string]string) error {
	kind, action, scope := rule["type"], rule["action"], scope(c)
	switch {
	case (kind == "forward" && scope == "vm") || (kind == "group" && scope == "group"):
		return apierr.Param("type", "invalid rule type '%s' for rule_env '%s'", kind, scope)
	case kind == "forward" && action == "REJECT":
		return apierr.Param("action", "cannot define REJECT rules on forward chain")
	case kind != "group" && !slices.Contains([]string{"ACCEPT", "DROP", "REJECT"}, action):
		return apierr.Param("action", "unknown action '%s'", action)
	case rule["iface"] != "" && scope == "group":
		return apierr.Param("type", "parameter -i not allowed for this rule type")
	case rule["iface"] != "" && scope == "vm" && !guest.IsNIC(rule["iface"]):
		return apierr.Param("iface", "value does not match the regex pattern 'net\\d+'")
	}
	return nil
}

func checkPorts(rule map[string]string) error {
	proto := rule["proto"]
	icmp := slices.Contains([]string{"icmp", "ipv6-icmp", "icmpv6"}, proto)
	ports := slices.Contains([]string{"tcp", "udp", "udplite", "sctp", "dccp", "6", "17", "33", "132", "136"}, proto)
	switch kind := rule["icmp-type"]; {
	case rule["dport"] != "" && proto == "":
		return apierr.Param("proto", "missing property - 'dport' requires this property")
	case rule["dport"] != "" && !ports && !icmp:
		return apierr.Param("dport", "protocol '%s' does not support ports", proto)
	case kind != "" && !icmp:
		return apierr.Param("proto", "missing property - 'icmp-type' requires this property")
	case kind != "" && rule["dport"] != "":
		return apierr.Param("icmp-type", "'icmp-type' cannot be specified together with 'dport'")
	case rule["sport"] != "" && proto == "":
		return apierr.Param("proto", "missing property - 'sport' requires this property")
	case rule["sport"] != "" && !ports:
		return apierr.Param("sport", "protocol '%s' does not support ports", proto)
	}
	return nil
}

// checkAddress fails for a set or an alias that exists neither in the firewall itself nor in the cluster's.
func checkAddress(c *engine.Call, fw *state.Firewall, field, value string) error {
	cluster := c.State.ClusterFirewall()
	if name, isSet := strings.CutPrefix(value, "+"); isSet {
		name = name[strings.LastIndex(name, "/")+1:]
		if fw.Sets[name] == nil && cluster.Sets[name] == nil {
			return apierr.Param(field, "no such ipset '%s'", name)
		}
		return nil
	}
	alias := strings.TrimPrefix(strings.TrimPrefix(value, "guest/"), "dc/")
	if alias == "" || strings.Trim(alias[:1], schema.Letters) != "" || strings.ContainsAny(alias, ":.,/") {
		return nil
	}
	if aliasName(fw, alias) == "" && aliasName(cluster, alias) == "" {
		return apierr.Param(field, "no such alias '%s'", value)
	}
	return nil
}

// aliasName returns the name of an alias as it was given, regardless of upper and lower case. It is empty if there is none.
func aliasName(fw *state.Firewall, name string) string {
	for have := range fw.Aliases {
		if strings.EqualFold(have, name) {
			return have
		}
	}
	return ""
}

func createFirewallRule(c *engine.Call) (any, error) {
	fw, err := firewall(c)
	if err != nil {
		return nil, err
	}
	rule := c.Given("pos", "group")
	dropEmpty(rule)
	if rule["enable"] == "" {
		rule["enable"] = "0"
	}
	if err := checkFirewallRule(c, fw, rule); err != nil {
		return nil, err
	}
	fw.Rules = slices.Insert(fw.Rules, 0, rule)
	return nil, nil //nolint:nilnil // The answer is null.
}

// dropEmpty deletes the empty fields of a rule.
func dropEmpty(rule map[string]string) {
	maps.DeleteFunc(rule, func(_, value string) bool { return value == "" || value == "-" })
}

func updateFirewallRule(c *engine.Call) (any, error) {
	fw, i, err := firewallRule(c)
	if err != nil {
		return nil, err
	}
	if c.Has("moveto") && c.Num("moveto") != i {
		rule := fw.Rules[i]
		to := min(schema.Int(c.Str("moveto")), len(fw.Rules))
		if to > i {
			to--
		}
		fw.Rules = slices.Insert(slices.Delete(fw.Rules, i, i+1), to, rule)
		return nil, nil //nolint:nilnil // The answer is null.
	}
	rule := maps.Clone(fw.Rules[i])
	maps.Copy(rule, c.Given("pos", "group", "moveto"))
	dropEmpty(rule)
	for _, key := range c.Deleted() {
		switch {
		case key == "type" || key == "action":
			return nil, apierr.Param("delete", "unable to delete required property '%s'", key)
		case !c.Knows(key):
			return nil, apierr.Param("delete", "no such property ('%s')", key)
		}
		delete(rule, key)
	}
	if err := checkFirewallRule(c, fw, rule); err != nil {
		return nil, err
	}
	fw.Rules[i] = rule
	return nil, nil //nolint:nilnil // The answer is null.
}

func deleteFirewallRule(c *engine.Call) (any, error) {
	fw, i, err := firewallRule(c)
	if err == nil {
		fw.Rules = slices.Delete(fw.Rules, i, i+1)
	}
	return nil, err
}

func listFirewallGroups(c *engine.Call) (any, error) {
	fw := c.State.ClusterFirewall()
	return named("group", digest(fw, fw.Groups, len(fw.Groups)), fw.Groups, func(g *state.Firewall) string { return g.Comment }), nil
}

// named lists groups or sets by their names, with their comments if they have one.
func named[T any](key, digest string, all map[string]T, comment func(T) string) []map[string]any {
	out := []map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		entry := map[string]any{key: name, "digest": digest}
		if text := comment(all[name]); text != "" {
			entry["comment"] = text
		}
		out = append(out, entry)
	}
	return out
}

func createFirewallGroup(c *engine.Call) (any, error) {
	fw, name := c.State.ClusterFirewall(), c.Str("group")
	if old := c.Str("rename"); old != "" {
		if fw.Groups[old] == nil {
			return nil, apierr.Param("group", "Security group '%s' does not exist", old)
		}
		if old != name && fw.Groups[name] != nil {
			return nil, apierr.Param("group", "Security group '%s' does already exist", name)
		}
		g := fw.Groups[old]
		delete(fw.Groups, old)
		fw.Groups[name] = g
		if c.Has("comment") {
			g.Comment = c.Str("comment")
		}
		return nil, nil //nolint:nilnil // The answer is null.
	}
	if fw.Groups[name] != nil {
		return nil, apierr.Param("group", "Security group '%s' already exists", name)
	}
	fw.Groups[name] = state.NewFirewall()
	fw.Groups[name].Comment = c.Str("comment")
	return nil, nil //nolint:nilnil // The answer is null.
}

func deleteFirewallGroup(c *engine.Call) (any, error) {
	fw, name := c.State.ClusterFirewall(), c.Str("group")
	if g := fw.Groups[name]; g != nil && len(g.Rules) > 0 {
		return nil, apierr.Errorf("Security group '%s' is not empty", name)
	}
	delete(fw.Groups, name)
	return nil, nil //nolint:nilnil // The answer is null.
}

func listFirewallSets(c *engine.Call) (any, error) {
	fw, err := firewall(c)
	if err != nil {
		return nil, err
	}
	return named("name", digest(fw, fw.Sets, len(fw.Sets)), fw.Sets, func(s *state.FirewallSet) string { return s.Comment }), nil
}

func createFirewallSet(c *engine.Call) (any, error) {
	fw, err := firewall(c)
	if err != nil {
		return nil, err
	}
	name := c.Str("name")
	if old := c.Str("rename"); old != "" {
		return nil, renameFirewallSet(c, fw, old, name)
	}
	if fw.Sets[name] != nil {
		return nil, apierr.Param("name", "IPSet '%s' already exists", name)
	}
	fw.Sets[name] = &state.FirewallSet{Comment: c.Str("comment")}
	return nil, nil //nolint:nilnil // The answer is null.
}

func renameFirewallSet(c *engine.Call, fw *state.Firewall, from, to string) error {
	set := fw.Sets[from]
	switch {
	case set == nil:
		return apierr.Param("name", "IPSet '%s' does not exist", from)
	case from != to && fw.Sets[to] != nil:
		return apierr.Param("name", "IPSet '%s' does already exist", to)
	}
	delete(fw.Sets, from)
	fw.Sets[to] = set
	if c.Has("comment") {
		set.Comment = c.Str("comment")
	}
	return nil
}

// getFromFirewallSet returns one network of a set.
func getFromFirewallSet(c *engine.Call) (any, error) {
	fw, set, err := firewallSet(c)
	if err != nil {
		return nil, err
	}
	i := entryOf(set, c.Str("cidr"))
	if i < 0 {
		return nil, apierr.Param("cidr", "no such IP/Network")
	}
	out := c.Typed(set.Entries[i])
	out["digest"] = digest(fw, fw.Sets, len(fw.Sets))
	return out, nil
}

// updateInFirewallSet replaces the settings of a network of a set.
func updateInFirewallSet(c *engine.Call) (any, error) {
	fw, set, err := firewallSet(c)
	if err == nil {
		err = unchanged(c, fw.Sets, len(fw.Sets))
	}
	if err != nil {
		return nil, err
	}
	i := entryOf(set, c.Str("cidr"))
	if i < 0 {
		return nil, apierr.Param("cidr", "no such IP/Network")
	}
	set.Entries[i] = c.Given("name")
	return nil, nil //nolint:nilnil // The answer is null.
}

func firewallSet(c *engine.Call) (*state.Firewall, *state.FirewallSet, error) {
	fw, err := firewall(c)
	if err != nil {
		return nil, nil, err
	}
	set := fw.Sets[c.Str("name")]
	if set == nil {
		return nil, nil, apierr.Errorf("no such IPSet '%s'", c.Str("name"))
	}
	return fw, set, nil
}

func getFirewallSet(c *engine.Call) (any, error) {
	fw, set, err := firewallSet(c)
	if err != nil {
		return nil, err
	}
	out := []map[string]any{}
	for _, e := range set.Entries {
		entry := c.Typed(e)
		entry["digest"] = digest(fw, fw.Sets, len(fw.Sets))
		out = append(out, entry)
	}
	return out, nil
}

// entryOf finds a network in a set.
func entryOf(s *state.FirewallSet, cidr string) int {
	return slices.IndexFunc(s.Entries, func(e map[string]string) bool { return e["cidr"] == cidr })
}

func addToFirewallSet(c *engine.Call) (any, error) {
	_, set, err := firewallSet(c)
	if err != nil {
		return nil, err
	}
	entry := c.Given("name")
	cidr := strings.TrimSuffix(strings.TrimSuffix(entry["cidr"], "/32"), "/128")
	entry["cidr"] = cidr
	if entryOf(set, cidr) >= 0 {
		return nil, apierr.Param("cidr", "address '%s' already exists", cidr)
	}
	set.Entries = slices.Insert(set.Entries, 0, entry)
	return nil, nil //nolint:nilnil // The answer is null.
}

func removeFromFirewallSet(c *engine.Call) (any, error) {
	_, set, err := firewallSet(c)
	if err != nil {
		return nil, err
	}
	if i := entryOf(set, c.Str("cidr")); i >= 0 {
		set.Entries = slices.Delete(set.Entries, i, i+1)
	}
	return nil, nil //nolint:nilnil // The answer is null.
}

func deleteFirewallSet(c *engine.Call) (any, error) {
	fw, set, err := firewallSet(c)
	if err != nil {
		return nil, err
	}
	if len(set.Entries) > 0 && !c.Flag("force") {
		return nil, apierr.Errorf("IPSet '%s' is not empty", c.Str("name"))
	}
	delete(fw.Sets, c.Str("name"))
	return nil, nil //nolint:nilnil // The answer is null.
}

func showAlias(fw *state.Firewall, name string) map[string]any {
	out := map[string]any{"name": name, "digest": digest(fw, fw.Aliases, len(fw.Aliases)), "ipversion": 4}
	for key, value := range fw.Aliases[name] {
		out[key] = value
	}
	address, _, _ := strings.Cut(fw.Aliases[name]["cidr"], "/")
	if a, err := netip.ParseAddr(address); err == nil && a.Is6() {
		out["ipversion"] = 6
	}
	return out
}

func listFirewallAliases(c *engine.Call) (any, error) {
	fw, err := firewall(c)
	if err != nil {
		return nil, err
	}
	out := []map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(fw.Aliases)) {
		out = append(out, showAlias(fw, name))
	}
	return out, nil
}

func createFirewallAlias(c *engine.Call) (any, error) {
	fw, err := firewall(c)
	if err != nil {
		return nil, err
	}
	if name := c.Str("name"); aliasName(fw, name) != "" {
		return nil, apierr.Param("name", "alias '%s' already exists", name)
	}
	fw.Aliases[c.Str("name")] = c.Given("name")
	return nil, nil //nolint:nilnil // The answer is null.
}

func firewallAlias(c *engine.Call) (*state.Firewall, string, error) {
	fw, err := firewall(c)
	if err != nil {
		return nil, "", err
	}
	name := aliasName(fw, c.Str("name"))
	if name == "" {
		return nil, "", apierr.Param("name", "no such alias")
	}
	return fw, name, nil
}

func getFirewallAlias(c *engine.Call) (any, error) {
	fw, name, err := firewallAlias(c)
	if err != nil {
		return nil, err
	}
	return showAlias(fw, name), nil
}

func updateFirewallAlias(c *engine.Call) (any, error) {
	fw, name, err := firewallAlias(c)
	if err != nil {
		return nil, err
	}
	if err := unchanged(c, fw.Aliases, len(fw.Aliases)); err != nil {
		return nil, err
	}
	to := c.Str("name")
	if c.Has("rename") {
		to = c.Str("rename")
	}
	if !strings.EqualFold(to, name) && aliasName(fw, to) != "" {
		return nil, apierr.Param("name", "alias '%s' already exists", to)
	}
	delete(fw.Aliases, name)
	fw.Aliases[to] = c.Given("name", "rename")
	return nil, nil //nolint:nilnil // The answer is null.
}

func deleteFirewallAlias(c *engine.Call) (any, error) {
	fw, err := firewall(c)
	if err == nil {
		err = unchanged(c, fw.Aliases, len(fw.Aliases))
	}
	if err == nil {
		delete(fw.Aliases, aliasName(fw, c.Str("name")))
	}
	return nil, err
}
