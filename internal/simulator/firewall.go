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

package simulator

import (
	"encoding/json"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Firewall is the configuration of one firewall: the cluster's, a node's, a guest's or that of a security group.
type Firewall struct {
	Options map[string]string            `json:"options,omitempty"`
	Rules   []map[string]string          `json:"rules,omitempty"`
	Sets    map[string]*FirewallSet      `json:"sets,omitempty"`
	Aliases map[string]map[string]string `json:"aliases,omitempty"`
	// Groups are the security groups, which only the cluster has.
	Groups map[string]*Firewall `json:"groups,omitempty"`
	// Comment is that of a security group.
	Comment string `json:"comment,omitempty"`
}

// FirewallSet is a named set of networks.
type FirewallSet struct {
	Comment string              `json:"comment,omitempty"`
	Entries []map[string]string `json:"entries,omitempty"`
}

func newFirewall() *Firewall {
	return &Firewall{
		Options: map[string]string{}, Sets: map[string]*FirewallSet{}, Aliases: map[string]map[string]string{}, Groups: map[string]*Firewall{},
	}
}

// digest is the hash of a part of a firewall; nothing has the hash of nothing.
func (*Firewall) digest(part any, length int) string {
	if length == 0 {
		return hash(nil)
	}
	text, err := json.Marshal(part)
	if err != nil {
		return hash(nil)
	}
	return hash(text)
}

// firewallRoutes are the methods of firewalls.
func firewallRoutes() map[string]handler {
	out := map[string]handler{
		"GET /cluster/firewall/groups":            (*call).listFirewallGroups,
		"POST /cluster/firewall/groups":           (*call).createFirewallGroup,
		"DELETE /cluster/firewall/groups/{group}": (*call).deleteFirewallGroup,
	}
	firewallRules(out, "/cluster/firewall/groups/{group}")
	for _, root := range []string{"/cluster/firewall", "/nodes/{node}/firewall", "/nodes/{node}/qemu/{vmid}/firewall"} {
		out["GET "+root+"/options"] = (*call).firewallOptions
		out["PUT "+root+"/options"] = (*call).setFirewallOptions
		firewallRules(out, root+"/rules")
		firewallSets(out, root)
	}
	out["GET /cluster/firewall"] = indexOf("rules", "ipset", "aliases", "groups", "options", "macros", "refs")
	out["GET /nodes/{node}/firewall"] = indexOf("rules", "options", "log")
	out["GET /nodes/{node}/qemu/{vmid}/firewall"] = indexOf("rules", "aliases", "ipset", "refs", "options", "log")
	for _, root := range []string{"/cluster/firewall", "/nodes/{node}/qemu/{vmid}/firewall"} {
		out["GET "+root+"/refs"] = (*call).firewallReferences
	}
	return out
}

func firewallRules(out map[string]handler, list string) {
	out["GET "+list] = (*call).listFirewallRules
	out["POST "+list] = (*call).createFirewallRule
	out["GET "+list+"/{pos}"] = (*call).getFirewallRule
	out["PUT "+list+"/{pos}"] = (*call).updateFirewallRule
	out["DELETE "+list+"/{pos}"] = (*call).deleteFirewallRule
}

func firewallSets(out map[string]handler, root string) {
	out["GET "+root+"/ipset"] = (*call).listFirewallSets
	out["POST "+root+"/ipset"] = (*call).createFirewallSet
	out["GET "+root+"/ipset/{name}"] = (*call).getFirewallSet
	out["POST "+root+"/ipset/{name}"] = (*call).addToFirewallSet
	out["DELETE "+root+"/ipset/{name}"] = (*call).deleteFirewallSet
	out["GET "+root+"/ipset/{name}/{cidr}"] = (*call).getFromFirewallSet
	out["PUT "+root+"/ipset/{name}/{cidr}"] = (*call).updateInFirewallSet
	out["DELETE "+root+"/ipset/{name}/{cidr}"] = (*call).removeFromFirewallSet
	out["GET "+root+"/aliases"] = (*call).listFirewallAliases
	out["POST "+root+"/aliases"] = (*call).createFirewallAlias
	out["GET "+root+"/aliases/{name}"] = (*call).getFirewallAlias
	out["PUT "+root+"/aliases/{name}"] = (*call).updateFirewallAlias
	out["DELETE "+root+"/aliases/{name}"] = (*call).deleteFirewallAlias
}

// firewall finds the firewall that a call is about.
func (c *call) firewall() (*Firewall, error) {
	key := "cluster"
	switch {
	case c.has("group") && strings.HasPrefix(c.method.Path, "/cluster/firewall/groups/"):
		if fw := c.state.clusterFirewall().Groups[c.str("group")]; fw != nil {
			return fw, nil
		}
		return nil, die("no such security group '%s'", c.str("group"))
	case c.has("vmid"):
		if _, err := c.guest(); err != nil {
			return nil, err
		}
		key = "vm/" + c.str("vmid")
	case c.has("node"):
		key = "node/" + c.node
	}
	return c.state.firewall(key), nil
}

func (st *State) firewall(key string) *Firewall {
	if st.Firewalls[key] == nil {
		st.Firewalls[key] = newFirewall()
	}
	return st.Firewalls[key]
}

func (st *State) clusterFirewall() *Firewall { return st.firewall("cluster") }

// typed shows values with the types that the named parameters of this path have.
func (c *call) typed(values map[string]string) map[string]any {
	out := map[string]any{}
	for key, value := range values {
		out[key] = c.typedValue(key, value)
	}
	return out
}

func (c *call) typedValue(key, value string) any {
	for _, verb := range []string{"PUT", "POST"} {
		p := c.facts.Parameters(verb, c.path)[key]
		if p == nil || (p.Type != "integer" && p.Type != "boolean") {
			continue
		}
		if n, err := strconv.Atoi(value); err == nil {
			return n
		}
	}
	return value
}

// given are the parameters of a call that are not about where it goes.
func (c *call) given(but ...string) map[string]string {
	out := maps.Clone(c.Values)
	for _, name := range append(but, "node", "vmid", "digest", "delete") {
		delete(out, name)
	}
	return out
}

func (c *call) firewallOptions() (any, error) {
	fw, err := c.firewall()
	if err != nil {
		return nil, err
	}
	out := c.typed(fw.Options)
	out["digest"] = fw.digest(fw.Options, len(fw.Options))
	return out, nil
}

func (c *call) setFirewallOptions() (any, error) {
	fw, err := c.firewall()
	if err != nil {
		return nil, err
	}
	if err := c.unchanged(fw.Options, len(fw.Options)); err != nil {
		return nil, err
	}
	for _, key := range c.deleted() {
		if !c.knows(key) || slices.Contains([]string{"node", "vmid", "digest", "delete"}, key) {
			return nil, paramError("delete", "no such option '%s'", key)
		}
	}
	for _, key := range c.deleted() {
		delete(fw.Options, key)
	}
	maps.Copy(fw.Options, c.given())
	return nil, nil //nolint:nilnil // The answer is null.
}

// firewallReferences are the sets and aliases that rules may name.
func (c *call) firewallReferences() (any, error) {
	fw, err := c.firewall()
	if err != nil {
		return nil, err
	}
	out := references(c.state.clusterFirewall(), "dc", c.str("type"))
	if fw != c.state.clusterFirewall() {
		out = append(out, references(fw, "guest", c.str("type"))...)
	}
	return out, nil
}

// references are the sets and aliases of one firewall, or those of one type.
func references(fw *Firewall, scope, kind string) []map[string]any {
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

// unchanged fails when the call was made for another state of a part of a firewall.
func (c *call) unchanged(part any, length int) error {
	if c.has("digest") && c.str("digest") != (*Firewall)(nil).digest(part, length) {
		return errModified()
	}
	return nil
}

func (fw *Firewall) showRule(i int) map[string]any {
	out := map[string]any{"pos": i, "digest": fw.digest(fw.Rules, len(fw.Rules))}
	for key, value := range fw.Rules[i] {
		out[key] = value
	}
	out["enable"] = atoi(fw.Rules[i]["enable"])
	return out
}

func (c *call) listFirewallRules() (any, error) {
	fw, err := c.firewall()
	if err != nil {
		return nil, err
	}
	out := []map[string]any{}
	for i := range fw.Rules {
		out = append(out, fw.showRule(i))
	}
	return out, nil
}

// firewallRule finds the rule at the position that a call names.
func (c *call) firewallRule() (*Firewall, int, error) {
	fw, err := c.firewall()
	if err != nil {
		return nil, 0, err
	}
	if err := c.unchanged(fw.Rules, len(fw.Rules)); err != nil {
		return nil, 0, err
	}
	i := atoi(c.str("pos"))
	if i >= len(fw.Rules) {
		return nil, 0, die("no rule at position %d", i)
	}
	return fw, i, nil
}

func (c *call) getFirewallRule() (any, error) {
	fw, i, err := c.firewallRule()
	if err != nil {
		return nil, err
	}
	out := fw.showRule(i)
	out["pos"] = strconv.Itoa(i)
	return out, nil
}

// checkFirewallRule makes the checks of a rule that need more than one of its fields, or what else there is.
func (c *call) checkFirewallRule(fw *Firewall, rule map[string]string) error {
	for _, check := range []func() error{
		func() error { return c.checkRuleType(rule) },
		func() error { return checkPorts(rule) },
		func() error { return c.checkAddress(fw, "source", rule["source"]) },
		func() error { return c.checkAddress(fw, "dest", rule["dest"]) },
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// scope is what a firewall is for: "cluster", "group", "host" or "vm".
func (c *call) scope() string {
	switch {
	case strings.HasPrefix(c.method.Path, "/cluster/firewall/groups/"):
		return "group"
	case c.has("vmid"):
		return "vm"
	case c.has("node"):
		return "host"
	}
	return "cluster"
}

func (c *call) checkRuleType(rule map[string]string) error {
	kind, action, scope := rule["type"], rule["action"], c.scope()
	switch {
	case (kind == "forward" && scope == "vm") || (kind == "group" && scope == "group"):
		return paramError("type", "invalid rule type '%s' for rule_env '%s'", kind, scope)
	case kind == "forward" && action == "REJECT":
		return paramError("action", "cannot define REJECT rules on forward chain")
	case kind != "group" && !slices.Contains([]string{"ACCEPT", "DROP", "REJECT"}, action):
		return paramError("action", "unknown action '%s'", action)
	case rule["iface"] != "" && scope == "group":
		return paramError("type", "parameter -i not allowed for this rule type")
	case rule["iface"] != "" && scope == "vm" && !isNIC(rule["iface"]):
		return paramError("iface", "value does not match the regex pattern 'net\\d+'")
	}
	return nil
}

func checkPorts(rule map[string]string) error {
	proto := rule["proto"]
	icmp := slices.Contains([]string{"icmp", "ipv6-icmp", "icmpv6"}, proto)
	ports := slices.Contains([]string{"tcp", "udp", "udplite", "sctp", "dccp", "6", "17", "33", "132", "136"}, proto)
	switch kind := rule["icmp-type"]; {
	case rule["dport"] != "" && proto == "":
		return paramError("proto", "missing property - 'dport' requires this property")
	case rule["dport"] != "" && !ports && !icmp:
		return paramError("dport", "protocol '%s' does not support ports", proto)
	case kind != "" && !icmp:
		return paramError("proto", "missing property - 'icmp-type' requires this property")
	case kind != "" && rule["dport"] != "":
		return paramError("icmp-type", "'icmp-type' cannot be specified together with 'dport'")
	case rule["sport"] != "" && proto == "":
		return paramError("proto", "missing property - 'sport' requires this property")
	case rule["sport"] != "" && !ports:
		return paramError("sport", "protocol '%s' does not support ports", proto)
	}
	return nil
}

// checkAddress fails for a set or an alias that there is not, in the firewall itself or in the cluster's.
func (c *call) checkAddress(fw *Firewall, field, value string) error {
	cluster := c.state.clusterFirewall()
	if name, isSet := strings.CutPrefix(value, "+"); isSet {
		name = name[strings.LastIndex(name, "/")+1:]
		if fw.Sets[name] == nil && cluster.Sets[name] == nil {
			return paramError(field, "no such ipset '%s'", name)
		}
		return nil
	}
	alias := strings.TrimPrefix(strings.TrimPrefix(value, "guest/"), "dc/")
	if alias == "" || !strings.Contains(letters, alias[:1]) || strings.ContainsAny(alias, ":.,/") {
		return nil
	}
	if fw.aliasName(alias) == "" && cluster.aliasName(alias) == "" {
		return paramError(field, "no such alias '%s'", value)
	}
	return nil
}

// aliasName is the name of an alias as it was given, whose letters may be in another case; empty if there is none.
func (fw *Firewall) aliasName(name string) string {
	for have := range fw.Aliases {
		if strings.EqualFold(have, name) {
			return have
		}
	}
	return ""
}

func (c *call) createFirewallRule() (any, error) {
	fw, err := c.firewall()
	if err != nil {
		return nil, err
	}
	rule := c.given("pos", "group")
	dropEmpty(rule)
	if rule["enable"] == "" {
		rule["enable"] = "0"
	}
	if err := c.checkFirewallRule(fw, rule); err != nil {
		return nil, err
	}
	fw.Rules = slices.Insert(fw.Rules, 0, rule)
	return nil, nil //nolint:nilnil // The answer is null.
}

// dropEmpty forgets the fields of a rule that say nothing.
func dropEmpty(rule map[string]string) {
	maps.DeleteFunc(rule, func(_, value string) bool { return value == "" || value == "-" })
}

func (c *call) updateFirewallRule() (any, error) {
	fw, i, err := c.firewallRule()
	if err != nil {
		return nil, err
	}
	if c.has("moveto") && c.num("moveto") != i {
		rule := fw.Rules[i]
		to := min(atoi(c.str("moveto")), len(fw.Rules))
		if to > i {
			to--
		}
		fw.Rules = slices.Insert(slices.Delete(fw.Rules, i, i+1), to, rule)
		return nil, nil //nolint:nilnil // The answer is null.
	}
	rule := maps.Clone(fw.Rules[i])
	maps.Copy(rule, c.given("pos", "group", "moveto"))
	dropEmpty(rule)
	for _, key := range c.deleted() {
		switch {
		case key == "type" || key == "action":
			return nil, paramError("delete", "unable to delete required property '%s'", key)
		case !c.knows(key):
			return nil, paramError("delete", "no such property ('%s')", key)
		}
		delete(rule, key)
	}
	if err := c.checkFirewallRule(fw, rule); err != nil {
		return nil, err
	}
	fw.Rules[i] = rule
	return nil, nil //nolint:nilnil // The answer is null.
}

func (c *call) deleteFirewallRule() (any, error) {
	fw, i, err := c.firewallRule()
	if err == nil {
		fw.Rules = slices.Delete(fw.Rules, i, i+1)
	}
	return nil, err
}

func (c *call) listFirewallGroups() (any, error) {
	fw, out := c.state.clusterFirewall(), []map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(fw.Groups)) {
		entry := map[string]any{"group": name, "digest": fw.digest(fw.Groups, len(fw.Groups))}
		if comment := fw.Groups[name].Comment; comment != "" {
			entry["comment"] = comment
		}
		out = append(out, entry)
	}
	return out, nil
}

func (c *call) createFirewallGroup() (any, error) {
	fw, name := c.state.clusterFirewall(), c.str("group")
	if old := c.str("rename"); old != "" {
		if fw.Groups[old] == nil {
			return nil, paramError("group", "Security group '%s' does not exist", old)
		}
		if old != name && fw.Groups[name] != nil {
			return nil, paramError("group", "Security group '%s' does already exist", name)
		}
		g := fw.Groups[old]
		delete(fw.Groups, old)
		fw.Groups[name] = g
		if c.has("comment") {
			g.Comment = c.str("comment")
		}
		return nil, nil //nolint:nilnil // The answer is null.
	}
	if fw.Groups[name] != nil {
		return nil, paramError("group", "Security group '%s' already exists", name)
	}
	fw.Groups[name] = newFirewall()
	fw.Groups[name].Comment = c.str("comment")
	return nil, nil //nolint:nilnil // The answer is null.
}

func (c *call) deleteFirewallGroup() (any, error) {
	fw, name := c.state.clusterFirewall(), c.str("group")
	if g := fw.Groups[name]; g != nil && len(g.Rules) > 0 {
		return nil, die("Security group '%s' is not empty", name)
	}
	delete(fw.Groups, name)
	return nil, nil //nolint:nilnil // The answer is null.
}

func (c *call) listFirewallSets() (any, error) {
	fw, err := c.firewall()
	if err != nil {
		return nil, err
	}
	out := []map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(fw.Sets)) {
		entry := map[string]any{"name": name, "digest": fw.digest(fw.Sets, len(fw.Sets))}
		if comment := fw.Sets[name].Comment; comment != "" {
			entry["comment"] = comment
		}
		out = append(out, entry)
	}
	return out, nil
}

func (c *call) createFirewallSet() (any, error) {
	fw, err := c.firewall()
	if err != nil {
		return nil, err
	}
	name := c.str("name")
	if old := c.str("rename"); old != "" {
		return nil, c.renameFirewallSet(fw, old, name)
	}
	if fw.Sets[name] != nil {
		return nil, paramError("name", "IPSet '%s' already exists", name)
	}
	fw.Sets[name] = &FirewallSet{Comment: c.str("comment")}
	return nil, nil //nolint:nilnil // The answer is null.
}

func (c *call) renameFirewallSet(fw *Firewall, from, to string) error {
	set := fw.Sets[from]
	switch {
	case set == nil:
		return paramError("name", "IPSet '%s' does not exist", from)
	case from != to && fw.Sets[to] != nil:
		return paramError("name", "IPSet '%s' does already exist", to)
	}
	delete(fw.Sets, from)
	fw.Sets[to] = set
	if c.has("comment") {
		set.Comment = c.str("comment")
	}
	return nil
}

// getFromFirewallSet tells of one network of a set.
func (c *call) getFromFirewallSet() (any, error) {
	fw, set, err := c.firewallSet()
	if err != nil {
		return nil, err
	}
	i := set.entryOf(c.str("cidr"))
	if i < 0 {
		return nil, paramError("cidr", "no such IP/Network")
	}
	out := c.typed(set.Entries[i])
	out["digest"] = fw.digest(fw.Sets, len(fw.Sets))
	return out, nil
}

// updateInFirewallSet replaces what is said of a network of a set.
func (c *call) updateInFirewallSet() (any, error) {
	_, set, err := c.firewallSet()
	if err != nil {
		return nil, err
	}
	i := set.entryOf(c.str("cidr"))
	if i < 0 {
		return nil, paramError("cidr", "no such IP/Network")
	}
	set.Entries[i] = c.given("name")
	return nil, nil //nolint:nilnil // The answer is null.
}

func (c *call) firewallSet() (*Firewall, *FirewallSet, error) {
	fw, err := c.firewall()
	if err != nil {
		return nil, nil, err
	}
	set := fw.Sets[c.str("name")]
	if set == nil {
		return nil, nil, die("no such IPSet '%s'", c.str("name"))
	}
	return fw, set, nil
}

func (c *call) getFirewallSet() (any, error) {
	fw, set, err := c.firewallSet()
	if err != nil {
		return nil, err
	}
	out := []map[string]any{}
	for _, e := range set.Entries {
		entry := c.typed(e)
		entry["digest"] = fw.digest(fw.Sets, len(fw.Sets))
		out = append(out, entry)
	}
	return out, nil
}

// entryOf finds a network in a set.
func (s *FirewallSet) entryOf(cidr string) int {
	return slices.IndexFunc(s.Entries, func(e map[string]string) bool { return e["cidr"] == cidr })
}

func (c *call) addToFirewallSet() (any, error) {
	_, set, err := c.firewallSet()
	if err != nil {
		return nil, err
	}
	entry := c.given("name")
	cidr := strings.TrimSuffix(strings.TrimSuffix(entry["cidr"], "/32"), "/128")
	entry["cidr"] = cidr
	if set.entryOf(cidr) >= 0 {
		return nil, paramError("cidr", "address '%s' already exists", cidr)
	}
	set.Entries = slices.Insert(set.Entries, 0, entry)
	return nil, nil //nolint:nilnil // The answer is null.
}

func (c *call) removeFromFirewallSet() (any, error) {
	_, set, err := c.firewallSet()
	if err != nil {
		return nil, err
	}
	if i := set.entryOf(c.str("cidr")); i >= 0 {
		set.Entries = slices.Delete(set.Entries, i, i+1)
	}
	return nil, nil //nolint:nilnil // The answer is null.
}

func (c *call) deleteFirewallSet() (any, error) {
	fw, set, err := c.firewallSet()
	if err != nil {
		return nil, err
	}
	if len(set.Entries) > 0 && !c.flag("force") {
		return nil, die("IPSet '%s' is not empty", c.str("name"))
	}
	delete(fw.Sets, c.str("name"))
	return nil, nil //nolint:nilnil // The answer is null.
}

func (fw *Firewall) showAlias(name string) map[string]any {
	out := map[string]any{"name": name, "digest": fw.digest(fw.Aliases, len(fw.Aliases)), "ipversion": 4}
	for key, value := range fw.Aliases[name] {
		out[key] = value
	}
	address, _, _ := strings.Cut(fw.Aliases[name]["cidr"], "/")
	if a, err := netip.ParseAddr(address); err == nil && a.Is6() {
		out["ipversion"] = 6
	}
	return out
}

func (c *call) listFirewallAliases() (any, error) {
	fw, err := c.firewall()
	if err != nil {
		return nil, err
	}
	out := []map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(fw.Aliases)) {
		out = append(out, fw.showAlias(name))
	}
	return out, nil
}

func (c *call) createFirewallAlias() (any, error) {
	fw, err := c.firewall()
	if err != nil {
		return nil, err
	}
	if name := c.str("name"); fw.aliasName(name) != "" {
		return nil, paramError("name", "alias '%s' already exists", name)
	}
	fw.Aliases[c.str("name")] = c.given("name")
	return nil, nil //nolint:nilnil // The answer is null.
}

func (c *call) firewallAlias() (*Firewall, string, error) {
	fw, err := c.firewall()
	if err != nil {
		return nil, "", err
	}
	name := fw.aliasName(c.str("name"))
	if name == "" {
		return nil, "", paramError("name", "no such alias")
	}
	return fw, name, nil
}

func (c *call) getFirewallAlias() (any, error) {
	fw, name, err := c.firewallAlias()
	if err != nil {
		return nil, err
	}
	return fw.showAlias(name), nil
}

func (c *call) updateFirewallAlias() (any, error) {
	fw, name, err := c.firewallAlias()
	if err != nil {
		return nil, err
	}
	if err := c.unchanged(fw.Aliases, len(fw.Aliases)); err != nil {
		return nil, err
	}
	to := c.str("name")
	if c.has("rename") {
		to = c.str("rename")
	}
	if !strings.EqualFold(to, name) && fw.aliasName(to) != "" {
		return nil, paramError("name", "alias '%s' already exists", to)
	}
	delete(fw.Aliases, name)
	fw.Aliases[to] = c.given("name", "rename")
	return nil, nil //nolint:nilnil // The answer is null.
}

func (c *call) deleteFirewallAlias() (any, error) {
	fw, err := c.firewall()
	if err == nil {
		err = c.unchanged(fw.Aliases, len(fw.Aliases))
	}
	if err == nil {
		delete(fw.Aliases, fw.aliasName(c.str("name")))
	}
	return nil, err
}
