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

package ha

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// haGroup serves groups up to PVE 8. PVE 9 has rules instead.
func haGroup(what string, h engine.Handler) engine.Handler {
	return func(c *engine.Call) (any, error) {
		if c.State.Version != "8.4" {
			return nil, apierr.Errorf("cannot %s: ha groups have been migrated to rules", what)
		}
		return h(c)
	}
}

func showHAGroup(c *engine.Call, id string) map[string]any {
	out := c.ShowSection(c.State.HAGroups, id)
	out["group"], out["type"] = id, "group"
	return out
}

func listHAGroups(c *engine.Call) (any, error) {
	out := []map[string]any{}
	for _, id := range slices.Sorted(maps.Keys(c.State.HAGroups)) {
		out = append(out, showHAGroup(c, id))
	}
	return out, nil
}

func getHAGroup(c *engine.Call) (any, error) {
	if id := c.Str("group"); c.State.HAGroups[id] == nil {
		return nil, apierr.Errorf("no such ha group '%s'", id)
	}
	return showHAGroup(c, c.Str("group")), nil
}

func haGroupFile() *engine.SectionFile {
	return &engine.SectionFile{
		Create: "create ha group failed: ", Update: "update ha group failed: ", Taken: "ha group ID '%s' already defined",
		Missing: "no such ha group '%s'", Fixed: []string{"nodes"},
	}
}

func createHAGroup(c *engine.Call) (any, error) {
	return nil, haGroupFile().Add(c.State.HAGroups, c.Str("group"), c.Given("group", "type"))
}

func updateHAGroup(c *engine.Call) (any, error) {
	return nil, haGroupFile().Change(c, c.State.HAGroups, c.Str("group"), c.Given("group"))
}

func deleteHAGroup(c *engine.Call) (any, error) {
	id := c.Str("group")
	for _, sid := range slices.Sorted(maps.Keys(c.State.HA)) {
		if c.State.HA[sid].Options["group"] == id {
			return nil, apierr.Errorf("delete ha group failed: ha group is used by service '%s'", sid)
		}
	}
	delete(c.State.HAGroups, id)
	return nil, nil //nolint:nilnil // The answer is null.
}

// showHARule returns a rule with its defaults and its position.
func showHARule(c *engine.Call, id string) map[string]any {
	rules := c.State.HARules
	out := map[string]any{"rule": id, "digest": state.SectionsDigest(rules), "order": schema.Int(rules[id]["order"])}
	for key, value := range rules[id] {
		switch key {
		case "disable", "strict":
			out[key] = schema.Int(value)
		case "order":
		default:
			out[key] = value
		}
	}
	if problems := ruleProblems(c.State)[id]; len(problems) > 0 {
		out["errors"] = map[string]any{"resources": problems}
	}
	return out
}

func listHARules(c *engine.Call) (any, error) {
	rules, out := c.State.HARules, []map[string]any{}
	order := func(a, b string) int { return schema.Int(rules[a]["order"]) - schema.Int(rules[b]["order"]) }
	for _, id := range slices.SortedFunc(maps.Keys(rules), order) {
		if t := c.Str("type"); t != "" && rules[id]["type"] != t {
			continue
		}
		if r := c.Str("resource"); r == "" || slices.Contains(schema.SplitList(rules[id]["resources"]), state.HASID(r)) {
			out = append(out, showHARule(c, id))
		}
	}
	return out, nil
}

func getHARule(c *engine.Call) (any, error) {
	if id := c.Str("rule"); c.State.HARules[id] == nil {
		return nil, apierr.Errorf("no such ha rule '%s'", id)
	}
	return showHARule(c, c.Str("rule")), nil
}

func haRuleFile() *engine.SectionFile {
	return &engine.SectionFile{
		Create: "create ha rule failed: ", Update: "update HA rules failed: ", Taken: "HA rule '%s' already defined",
		Missing: "HA rule '%s' does not exist", Fixed: []string{"resources", "nodes", "affinity"},
	}
}

// ruleOptions returns the options of a rule in the form in which they are stored.
func ruleOptions(c *engine.Call, rule string) (map[string]string, error) {
	out := c.Given("rule")
	if out["disable"] == "0" {
		delete(out, "disable")
	}
	for key, known := range map[string]func(string) bool{
		"resources": func(sid string) bool { return c.State.HA[sid] != nil },
		"nodes":     func(node string) bool { return c.State.Nodes[strings.SplitN(node, ":", 2)[0]] != nil },
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
		return apierr.Errorf("%sno %s were specified", prefix, key)
	case len(unknown) == 0:
		return nil
	case key == "resources":
		return apierr.Errorf("%scannot use unmanaged resource(s) %s.", prefix, strings.Join(unknown, ", "))
	}
	return apierr.Errorf("%scannot use non-existent node(s) %s.", prefix, strings.Join(unknown, ", "))
}

func createHARule(c *engine.Call) (any, error) {
	file, rules, id := haRuleFile(), c.State.HARules, c.Str("rule")
	if rules[id] != nil {
		return nil, apierr.Errorf(file.Create+file.Taken, id)
	}
	options, err := ruleOptions(c, file.Create)
	if err != nil {
		return nil, err
	}
	first := 0
	for _, r := range rules {
		if n := schema.Int(r["order"]); first == 0 || n < first {
			first = n
		}
	}
	options["order"] = strconv.Itoa(first + 1) // PVE takes the first position for the last one (get_next_ordinal).
	rules[id] = options
	return nil, feasible(c, file.Create, id, nil)
}

// feasible reverts a rule that cannot be satisfied.
func feasible(c *engine.Call, prefix, id string, before map[string]string) error {
	problems := ruleProblems(c.State)[id]
	if len(problems) == 0 {
		c.State.HARules.Renumber()
		return nil
	}
	if c.State.HARules[id] = before; before == nil {
		delete(c.State.HARules, id)
	}
	return apierr.Errorf("%s400 Rule '%s' is invalid.\nresources: %s", prefix, id, strings.Join(problems, ", "))
}

func updateHARule(c *engine.Call) (any, error) {
	file, rules, id := haRuleFile(), c.State.HARules, c.Str("rule")
	options, err := ruleOptions(c, file.Update)
	if err != nil {
		return nil, err
	}
	before := rules[id]
	if before != nil && c.Has("type") && before["type"] != c.Str("type") {
		return nil, apierr.Errorf("%sunexpected property 'type'", file.Update)
	}
	if err := file.Change(c, rules, id, options); err != nil {
		return nil, err
	}
	return nil, feasible(c, file.Update, id, before)
}

func deleteHARule(c *engine.Call) (any, error) {
	delete(c.State.HARules, c.Str("rule"))
	c.State.HARules.Renumber()
	return nil, nil //nolint:nilnil // The answer is null.
}
