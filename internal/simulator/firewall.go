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

func firewallRoutes() map[string]handler {
	out := map[string]handler{
		"GET /cluster/firewall/groups":            method((*call).listFirewallGroups),
		"POST /cluster/firewall/groups":           method((*call).createFirewallGroup),
		"DELETE /cluster/firewall/groups/{group}": method((*call).deleteFirewallGroup),
	}
	firewallRules(out, "/cluster/firewall/groups/{group}")
	for _, root := range []string{"/cluster/firewall", "/nodes/{node}/firewall", "/nodes/{node}/qemu/{vmid}/firewall"} {
		out["GET "+root+"/options"] = method((*call).firewallOptions)
		out["PUT "+root+"/options"] = method((*call).setFirewallOptions)
		firewallRules(out, root+"/rules")
		firewallSets(out, root)
	}
	return out
}

func firewallRules(out map[string]handler, list string) {
	out["GET "+list] = method((*call).listFirewallRules)
	out["POST "+list] = method((*call).createFirewallRule)
	out["GET "+list+"/{pos}"] = method((*call).getFirewallRule)
	out["PUT "+list+"/{pos}"] = method((*call).updateFirewallRule)
	out["DELETE "+list+"/{pos}"] = method((*call).deleteFirewallRule)
}

func firewallSets(out map[string]handler, root string) {
	out["GET "+root+"/ipset"] = method((*call).listFirewallSets)
	out["POST "+root+"/ipset"] = method((*call).createFirewallSet)
	out["GET "+root+"/ipset/{name}"] = method((*call).getFirewallSet)
	out["POST "+root+"/ipset/{name}"] = method((*call).addToFirewallSet)
	out["DELETE "+root+"/ipset/{name}"] = method((*call).deleteFirewallSet)
	out["DELETE "+root+"/ipset/{name}/{cidr}"] = method((*call).removeFromFirewallSet)
	out["GET "+root+"/aliases"] = method((*call).listFirewallAliases)
	out["POST "+root+"/aliases"] = method((*call).createFirewallAlias)
	out["GET "+root+"/aliases/{name}"] = method((*call).getFirewallAlias)
	out["PUT "+root+"/aliases/{name}"] = method((*call).updateFirewallAlias)
	out["DELETE "+root+"/aliases/{name}"] = method((*call).deleteFirewallAlias)
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
	for _, key := range c.deleted() {
		delete(fw.Options, key)
	}
	maps.Copy(fw.Options, c.given())
	return nil, nil //nolint:nilnil // The answer is null.
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

// checkRule makes the checks of a rule that need more than one of its fields.
func checkRule(rule map[string]string) error {
	for _, port := range []string{"dport", "sport"} {
		if rule[port] == "" {
			continue
		}
		if rule["proto"] == "" {
			return paramError("proto", "missing property - '%s' requires this property", port)
		}
		if !slices.Contains([]string{"tcp", "udp", "udplite", "sctp", "dccp", "icmp", "ipv6-icmp", "icmpv6", "6", "17"}, rule["proto"]) {
			return paramError(port, "protocol '%s' does not support ports", rule["proto"])
		}
	}
	return nil
}

func (c *call) createFirewallRule() (any, error) {
	fw, err := c.firewall()
	if err != nil {
		return nil, err
	}
	rule := c.given("pos", "group")
	if rule["enable"] == "" {
		rule["enable"] = "0"
	}
	if err := checkRule(rule); err != nil {
		return nil, err
	}
	fw.Rules = slices.Insert(fw.Rules, min(atoi(c.str("pos")), len(fw.Rules)), rule)
	return nil, nil //nolint:nilnil // The answer is null.
}

func (c *call) updateFirewallRule() (any, error) {
	fw, i, err := c.firewallRule()
	if err != nil {
		return nil, err
	}
	if c.has("moveto") {
		rule := fw.Rules[i]
		to := min(atoi(c.str("moveto")), len(fw.Rules))
		if to > i {
			to--
		}
		fw.Rules = slices.Insert(slices.Delete(fw.Rules, i, i+1), to, rule)
		return nil, nil //nolint:nilnil // The answer is null.
	}
	rule := maps.Clone(fw.Rules[i])
	for _, key := range c.deleted() {
		delete(rule, key)
	}
	maps.Copy(rule, c.given("pos", "group", "moveto"))
	if err := checkRule(rule); err != nil {
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
		fw.Groups[name], fw.Groups[name].Comment = fw.Groups[old], c.str("comment")
		if old != name {
			delete(fw.Groups, old)
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
	if fw.Sets[name] != nil {
		return nil, paramError("name", "IPSet '%s' already exists", name)
	}
	fw.Sets[name] = &FirewallSet{Comment: c.str("comment")}
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
	if cidr := c.str("cidr"); set.entryOf(cidr) >= 0 {
		return nil, paramError("cidr", "address '%s' already exists", cidr)
	}
	set.Entries = slices.Insert(set.Entries, 0, c.given("name"))
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
	if name := c.str("name"); fw.Aliases[name] != nil {
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
	name := c.str("name")
	if fw.Aliases[name] == nil {
		return nil, "", paramError("name", "no such alias '%s'", name)
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
	to := name
	if c.has("rename") {
		to = c.str("rename")
	}
	if to != name && fw.Aliases[to] != nil {
		return nil, paramError("name", "alias '%s' already exists", to)
	}
	delete(fw.Aliases, name)
	fw.Aliases[to] = c.given("name", "rename")
	return nil, nil //nolint:nilnil // The answer is null.
}

func (c *call) deleteFirewallAlias() (any, error) {
	fw, name, err := c.firewallAlias()
	if err == nil {
		delete(fw.Aliases, name)
	}
	return nil, err
}
