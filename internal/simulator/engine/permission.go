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

package engine

import (
	"regexp"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// permitted performs the permission check in the API description of a method.
func (c *Call) permitted(m *schema.Method, params map[string]string) error {
	switch {
	case m.User == "world" && c.Who == "":
		return nil
	case c.Who == "":
		return apierr.Forbidden("user != null")
	case c.Who == state.Root, m.User == "all":
		return nil
	case m.Check == nil && m.User == "":
		return apierr.Forbidden("user != root@pam")
	case m.Check == nil:
		return apierr.Forbidden("")
	}
	return c.checkRule(m.Check, params)
}

// checkRule evaluates one check, which is a list that begins with the name of the test.
func (c *Call) checkRule(rule []any, params map[string]string) error {
	switch rule[0] {
	case "and":
		for _, r := range rule[1:] {
			if err := c.checkRule(r.([]any), params); err != nil { //nolint:forcetypeassert // The facts are ours.
				return err
			}
		}
		return nil
	case "or":
		for _, r := range rule[1:] {
			if c.checkRule(r.([]any), params) == nil { //nolint:forcetypeassert // The facts are ours.
				return nil
			}
		}
		return apierr.Forbidden("")
	case "perm":
		return c.checkPath(rule, params)
	case "perm-modify":
		return c.CheckModify(rule, params)
	case "userid-param":
		return c.checkUserParam(rule, params)
	case "userid-group":
		return c.checkUserGroup(rule, params)
	}
	return apierr.Forbidden("")
}

func (c *Call) checkPath(rule []any, params map[string]string) error {
	path, privileges := expand(text(rule[1]), params), texts(rule[2])
	either := false
	for i := 3; i+1 < len(rule); i += 2 {
		switch rule[i] {
		case "any":
			either = true
		case "require_param":
			if _, ok := params[text(rule[i+1])]; !ok {
				return apierr.Forbidden("")
			}
		}
	}
	if either {
		return c.State.CheckAny(c.Who, path, privileges...)
	}
	return c.State.Check(c.Who, path, privileges...)
}

// CheckModify checks whether the caller may change the access control below a path.
func (c *Call) CheckModify(rule []any, params map[string]string) error {
	path := state.NormalPath(expand(text(rule[1]), params))
	if path == "" {
		return apierr.Forbidden("")
	}
	privileges := []string{"Permissions.Modify"}
	for prefix, p := range map[string]string{"/storage/": "Datastore.Allocate", "/vms/": "VM.Allocate", "/pool/": "Pool.Allocate"} {
		if strings.HasPrefix(path, prefix) {
			privileges = append(privileges, p)
		}
	}
	return c.State.CheckAny(c.Who, path, privileges...)
}

func (c *Call) checkUserParam(rule []any, params map[string]string) error {
	user := params["userid"]
	switch {
	case len(user) < 3:
		return apierr.Errorf("user name '%s' is too short", user)
	case len(user) > 64:
		return apierr.Errorf("user name '%s' is too long (%d > 64)", user, len(user))
	case !regexp.MustCompile(`^[^\s:/]+@[A-Za-z][A-Za-z0-9.\-_]+$`).MatchString(user):
		return apierr.Errorf("value '%s' does not look like a valid user name", user)
	}
	if rule[1] != "self" {
		_, realm, _ := strings.Cut(user, "@")
		return c.State.Check(c.Who, "/access/realm/"+realm, "Realm.AllocateUser")
	}
	if _, err := c.State.ExistingUser(user); err != nil {
		return err
	}
	if string(c.Who) == user {
		return nil
	}
	return apierr.Forbidden("")
}

func (c *Call) checkUserGroup(rule []any, params map[string]string) error {
	given := len(rule) > 3
	creating := given && rule[3] == "create"
	if !creating {
		if _, err := c.State.ExistingUser(params["userid"]); err != nil {
			return err
		}
	}
	privileges := texts(rule[1])
	if c.State.CheckAny(c.Who, "/access/groups", privileges...) == nil {
		return nil
	}
	if err := c.checkGroups(given, schema.SplitList(params["groups"]), privileges); err != nil || creating {
		return err
	}
	for group := range c.State.Users[params["userid"]].Groups {
		if c.State.CheckAny(c.Who, "/access/groups/"+group, privileges...) == nil {
			return nil
		}
	}
	return apierr.Forbidden("")
}

// checkGroups checks the groups of a call, if the rule concerns them.
func (c *Call) checkGroups(given bool, groups, privileges []string) error {
	if given && len(groups) == 0 {
		return apierr.Forbidden("/access/groups, " + strings.Join(privileges, "|"))
	}
	for _, group := range groups {
		if given && c.State.CheckAny(c.Who, "/access/groups/"+group, privileges...) != nil {
			return apierr.Forbidden("/access/groups/" + group + ", " + strings.Join(privileges, "|"))
		}
	}
	return nil
}

// expand replaces the names in a path template such as "/vms/{vmid}" by parameters.
func expand(template string, params map[string]string) string {
	for name, value := range params {
		template = strings.ReplaceAll(template, "{"+name+"}", value)
	}
	return template
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

func texts(v any) []string {
	list, _ := v.([]any)
	out := make([]string, 0, len(list))
	for _, item := range list {
		out = append(out, text(item))
	}
	return out
}
