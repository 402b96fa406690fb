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
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
)

// haGroup serves groups until PVE 8; PVE 9 has rules in their place.
func haGroup(what string, h handler) handler {
	return func(c *call) (any, error) {
		if c.state.Version != "8.4" {
			return nil, die("cannot %s: ha groups have been migrated to rules", what)
		}
		return h(c)
	}
}

func (c *call) showHAGroup(id string) map[string]any {
	out := c.showSection(c.state.HAGroups, id)
	out["group"], out["type"] = id, "group"
	return out
}

func (c *call) listHAGroups() (any, error) {
	out := []map[string]any{}
	for _, id := range slices.Sorted(maps.Keys(c.state.HAGroups)) {
		out = append(out, c.showHAGroup(id))
	}
	return out, nil
}

func (c *call) getHAGroup() (any, error) {
	if id := c.str("group"); c.state.HAGroups[id] == nil {
		return nil, die("no such ha group '%s'", id)
	}
	return c.showHAGroup(c.str("group")), nil
}

func haGroupFile() *sectionFile {
	return &sectionFile{
		create: "create ha group failed: ", update: "update ha group failed: ", taken: "ha group ID '%s' already defined",
		missing: "no such ha group '%s'", fixed: []string{"nodes"},
	}
}

func (c *call) createHAGroup() (any, error) {
	return nil, haGroupFile().add(c.state.HAGroups, c.str("group"), c.given("group", "type"))
}

func (c *call) updateHAGroup() (any, error) {
	return nil, haGroupFile().change(c, c.state.HAGroups, c.str("group"), c.given("group"))
}

func (c *call) deleteHAGroup() (any, error) {
	id := c.str("group")
	for _, sid := range slices.Sorted(maps.Keys(c.state.HA)) {
		if c.state.HA[sid].Options["group"] == id {
			return nil, die("delete ha group failed: ha group is used by service '%s'", sid)
		}
	}
	delete(c.state.HAGroups, id)
	return nil, nil //nolint:nilnil // The answer is null.
}

// showHARule is a rule with its defaults and its place among the others.
func (c *call) showHARule(id string) map[string]any {
	rules := c.state.HARules
	out := map[string]any{"rule": id, "digest": digestOf(rules), "order": atoi(rules[id]["order"])}
	for key, value := range rules[id] {
		switch key {
		case "disable", "strict":
			out[key] = atoi(value)
		case "order":
		default:
			out[key] = value
		}
	}
	if problem := c.state.ruleProblem(id); problem != "" {
		out["errors"] = map[string]any{"resources": []string{problem}}
	}
	return out
}

func (c *call) listHARules() (any, error) {
	rules, out := c.state.HARules, []map[string]any{}
	order := func(a, b string) int { return atoi(rules[a]["order"]) - atoi(rules[b]["order"]) }
	for _, id := range slices.SortedFunc(maps.Keys(rules), order) {
		if t := c.str("type"); t != "" && rules[id]["type"] != t {
			continue
		}
		if r := c.str("resource"); r == "" || slices.Contains(schema.SplitList(rules[id]["resources"]), haSID(r)) {
			out = append(out, c.showHARule(id))
		}
	}
	return out, nil
}

func (c *call) getHARule() (any, error) {
	if id := c.str("rule"); c.state.HARules[id] == nil {
		return nil, die("no such ha rule '%s'", id)
	}
	return c.showHARule(c.str("rule")), nil
}

func haRuleFile() *sectionFile {
	return &sectionFile{
		create: "create ha rule failed: ", update: "update HA rules failed: ", taken: "HA rule '%s' already defined",
		missing: "HA rule '%s' does not exist", fixed: []string{"resources", "nodes", "affinity"},
	}
}

// ruleOptions are the options of a rule in the form in which they are stored.
func (c *call) ruleOptions(rule string) (map[string]string, error) {
	out := c.given("rule")
	if out["disable"] == "0" {
		delete(out, "disable")
	}
	for key, known := range map[string]func(string) bool{
		"resources": func(sid string) bool { return c.state.HA[sid] != nil },
		"nodes":     func(node string) bool { return c.state.Nodes[strings.SplitN(node, ":", 2)[0]] != nil },
	} {
		if _, ok := out[key]; !ok {
			continue
		}
		list := schema.SplitList(out[key])
		slices.Sort(list)
		if err := unknownMembers(rule, key, list, known); err != nil {
			return nil, err
		}
		out[key] = strings.Join(list, ",")
	}
	return out, nil
}

func unknownMembers(prefix, key string, list []string, known func(string) bool) error {
	unknown := slices.DeleteFunc(slices.Clone(list), known)
	switch {
	case len(list) == 0:
		return die("%sno %s were specified", prefix, key)
	case len(unknown) == 0:
		return nil
	case key == "resources":
		return die("%scannot use unmanaged resource(s) %s.", prefix, strings.Join(unknown, ", "))
	}
	return die("%scannot use non-existent node(s) %s.", prefix, strings.Join(unknown, ", "))
}

func (c *call) createHARule() (any, error) {
	file, rules, id := haRuleFile(), c.state.HARules, c.str("rule")
	if rules[id] != nil {
		return nil, die(file.create+file.taken, id)
	}
	options, err := c.ruleOptions(file.create)
	if err != nil {
		return nil, err
	}
	last := 0
	for _, r := range rules {
		last = max(last, atoi(r["order"]))
	}
	options["order"] = strconv.Itoa(last + 1)
	rules[id] = options
	return nil, c.feasible(file.create, id, nil)
}

// feasible takes back a rule that cannot hold.
func (c *call) feasible(prefix, id string, before map[string]string) error {
	problem := c.state.ruleProblem(id)
	if problem == "" {
		return nil
	}
	if c.state.HARules[id] = before; before == nil {
		delete(c.state.HARules, id)
	}
	return die("%s400 Rule '%s' is invalid.\nresources: %s", prefix, id, problem)
}

func (c *call) updateHARule() (any, error) {
	file, rules, id := haRuleFile(), c.state.HARules, c.str("rule")
	options, err := c.ruleOptions(file.update)
	if err != nil {
		return nil, err
	}
	before := rules[id]
	if before != nil && c.has("type") && before["type"] != c.str("type") {
		return nil, die("%scan't change value of fixed parameter 'type'", file.update)
	}
	if err := file.change(c, rules, id, options); err != nil {
		return nil, err
	}
	return nil, c.feasible(file.update, id, before)
}

func (c *call) deleteHARule() (any, error) {
	delete(c.state.HARules, c.str("rule"))
	return nil, nil //nolint:nilnil // The answer is null.
}

// leaveRules takes a resource out of all rules; a rule without resources goes.
func (st *State) leaveRules(sid string) {
	for id, r := range st.HARules {
		list := slices.DeleteFunc(schema.SplitList(r["resources"]), func(s string) bool { return s == sid })
		if r["resources"] = strings.Join(list, ","); len(list) == 0 {
			delete(st.HARules, id)
		}
	}
}

// ruleProblem is why a rule cannot hold beside the others, empty where it can.
func (st *State) ruleProblem(id string) string {
	rule := st.HARules[id]
	if rule == nil || rule["disable"] == "1" {
		return ""
	}
	resources := schema.SplitList(rule["resources"])
	if rule["type"] == "resource-affinity" {
		return st.affinityProblem(id, rule, resources)
	}
	for other, r := range st.HARules {
		if other == id || r["type"] != rule["type"] || r["disable"] == "1" {
			continue
		}
		for _, sid := range resources {
			if slices.Contains(schema.SplitList(r["resources"]), sid) {
				return "resource '" + sid + "' is already used in another node affinity rule"
			}
		}
	}
	return ""
}

func (st *State) affinityProblem(id string, rule map[string]string, resources []string) string {
	switch {
	case len(resources) < 2:
		return "rule is ineffective as there are less than two resources"
	case rule["affinity"] == "negative" && len(resources) > len(st.Nodes):
		return "rule defines more resources than available nodes"
	}
	for other, r := range st.HARules {
		if other == id || r["type"] != rule["type"] || r["disable"] == "1" || r["affinity"] == rule["affinity"] {
			continue
		}
		shared := slices.DeleteFunc(schema.SplitList(r["resources"]), func(s string) bool { return !slices.Contains(resources, s) })
		if len(shared) > 1 {
			return "rule shares two or more resources with a " + r["affinity"] + " resource affinity rule"
		}
	}
	return ""
}
