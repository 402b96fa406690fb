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

package proxmox

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// The types of rules for HA resources. Groups exist in PVE 8, the others in PVE 9.
const (
	HAGroup            = "group"
	HANodeAffinity     = "node-affinity"
	HAResourceAffinity = "resource-affinity"
)

// The affinities of rules between resources.
const (
	HAPositive = "positive"
	HANegative = "negative"
)

// An HARule defines where HA may run resources.
type HARule struct {
	// Name of the rule or group: a letter, then letters, digits, _ and -.
	Name string

	// Type is HAGroup, HANodeAffinity or HAResourceAffinity.
	Type string

	// Resources to which a rule applies, such as vm:100, sorted. A group has none, because its resources name it.
	Resources []string

	// Nodes of a group or of node affinity, sorted, optionally with a priority such as pve1:2. Strict means that the resources may run nowhere else
	// (restricted, in a group).
	Nodes  []string
	Strict bool

	// Affinity of resources is HAPositive or HANegative.
	Affinity string

	// Comment of the owner of the rule.
	Comment string

	// Digest of all rules, or of all groups, when they were read. A change is rejected if they have changed since.
	Digest string
}

// HARules holds the rules of a cluster in their order, or its groups.
type HARules struct {
	// Grouped is true for PVE 8, which has groups and no rules.
	Grouped bool

	// Rules of the cluster.
	Rules []HARule
}

const (
	haRulesPath  = "/cluster/ha/rules"
	haGroupsPath = "/cluster/ha/groups"
)

// HARules returns the HA rules of the cluster, or the groups of PVE 8. It needs Sys.Audit on /.
func (c HighAvailabilityAPI) HARules(ctx context.Context) (HARules, error) {
	var data list[struct {
		Rule       text `json:"rule"`
		Group      text `json:"group"`
		Type       text `json:"type"`
		Resources  text `json:"resources"`
		Nodes      text `json:"nodes"`
		Strict     flag `json:"strict"`
		Restricted flag `json:"restricted"`
		Affinity   text `json:"affinity"`
		Comment    text `json:"comment"`
		Digest     text `json:"digest"`
	}]
	all := HARules{}
	err := c.do(ctx, request{op: "list HA rules", method: http.MethodGet, path: haRulesPath}, &data)
	if unknownMethod(err) {
		all.Grouped = true
		err = c.do(ctx, request{op: "list HA groups", method: http.MethodGet, path: haGroupsPath}, &data)
	}
	for _, d := range data {
		all.Rules = append(all.Rules, HARule{
			Name: string(d.Rule + d.Group), Type: string(d.Type), Resources: members(string(d.Resources)), Nodes: members(string(d.Nodes)),
			Strict: bool(d.Strict || d.Restricted), Affinity: string(d.Affinity), Comment: string(d.Comment), Digest: string(d.Digest),
		})
	}
	return all, err
}

// unknownMethod reports whether this version of PVE does not have the method.
func unknownMethod(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Status == http.StatusNotImplemented
}

// members returns the members of a list in PVE's format, sorted.
func members(s string) []string {
	m := strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ';' || r == ' ' })
	slices.Sort(m)
	return m
}

// at returns the path of the rules of a type, and the parameter with the rule's name.
func (r HARule) at() (path, name string) {
	if r.Type == HAGroup {
		return haGroupsPath, "group"
	}
	return haRulesPath, "rule"
}

// form returns the form with all values of a rule of its type.
func (r HARule) form() map[string]string {
	f := map[string]string{"comment": r.Comment}
	switch r.Type {
	case HAGroup:
		f["nodes"], f["restricted"] = strings.Join(r.Nodes, ","), formBool(r.Strict)
	case HANodeAffinity:
		f["nodes"], f["strict"] = strings.Join(r.Nodes, ","), formBool(r.Strict)
	case HAResourceAffinity:
		f["affinity"] = r.Affinity
	}
	if r.Type != HAGroup {
		f["type"], f["resources"] = r.Type, strings.Join(r.Resources, ",")
	}
	maps.DeleteFunc(f, func(_, v string) bool { return v == "" })
	return f
}

// AddHARule creates a rule or group. PVE accepts only resources that HA manages and nodes that exist, and rejects a rule that conflicts with others. It
// needs Sys.Console on /.
func (c HighAvailabilityAPI) AddHARule(ctx context.Context, r HARule) error {
	path, name := r.at()
	q := request{op: "add HA " + name + " " + r.Name, method: http.MethodPost, path: path, form: r.form(), resources: r.Resources}
	q.form[name] = r.Name
	return c.do(ctx, q, nil)
}

// ChangeHARule sets all values of the rule or group, if its digest has not changed since it was read. It needs Sys.Console on /.
func (c HighAvailabilityAPI) ChangeHARule(ctx context.Context, r HARule) error {
	q := r.request("change", http.MethodPut)
	q.form = r.form()
	if r.Digest != "" {
		q.form[digest] = r.Digest
	}
	return c.do(ctx, q, nil)
}

// RemoveHARule removes a rule, or a group that no resource names. It returns no error if the rule does not exist. It needs Sys.Console on /.
func (c HighAvailabilityAPI) RemoveHARule(ctx context.Context, r HARule) error {
	return c.do(ctx, r.request("remove", http.MethodDelete), nil)
}

// request returns a request about an existing rule or group.
func (r HARule) request(op, method string) request {
	path, name := r.at()
	return request{op: op + " HA " + name + " " + r.Name, method: method, path: path + "/{" + name + "}", args: []string{r.Name}, resources: r.Resources}
}
