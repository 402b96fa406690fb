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

package access

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/random"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

func createUser(c *engine.Call) (any, error) {
	id := c.Str("userid")
	if c.State.Users[id] != nil {
		return nil, apierr.Errorf("create user failed: user '%s' already exists", id)
	}
	if _, realm, _ := strings.Cut(id, "@"); c.Has("password") && c.State.Domains[realm] == nil {
		return nil, apierr.Errorf("create user failed: auth domain '%s' does not exist", realm)
	}
	u := &state.User{Password: c.Str("password"), Groups: map[string]bool{}, Tokens: map[string]*state.Token{}}
	if err := setUser(c, "create", u); err != nil {
		return nil, err
	}
	c.State.Users[id] = u
	return nil, nil //nolint:nilnil // The answer is null.
}

func updateUser(c *engine.Call) (any, error) {
	u, err := c.State.ExistingUser(c.Str("userid"))
	if err != nil {
		return nil, err
	}
	return nil, setUser(c, "update", u)
}

// setUser sets the fields of a user from a call.
func setUser(c *engine.Call, verb string, u *state.User) error {
	groups := schema.SplitList(c.Str("groups"))
	for _, g := range groups {
		if c.State.Groups[g] == nil {
			return apierr.Errorf("%s user failed: no such group '%s'", verb, g)
		}
	}
	if c.Has("groups") && !c.Flag("append") {
		u.Groups = map[string]bool{}
	}
	for _, g := range groups {
		u.Groups[g] = true
	}
	if c.Has("enable") {
		u.Disabled = !c.Flag("enable")
	}
	if c.Has("expire") {
		u.Expire = int64(c.Num("expire"))
	}
	for name, field := range userTexts(u) {
		if c.Has(name) {
			*field = c.Field(name)
		}
	}
	return nil
}

func deleteUser(c *engine.Call) (any, error) {
	id := c.Str("userid")
	delete(c.State.Users, id) // Only the permission check verifies that the user exists, and root@pam bypasses it.
	c.State.ACL = slices.DeleteFunc(c.State.ACL, func(g state.Grant) bool {
		return g.Kind != "group" && state.Identity(g.ID).User() == id
	})
	return nil, nil //nolint:nilnil // The answer is null.
}

func updateToken(c *engine.Call) (any, error) {
	_, t, err := token(c)
	if err != nil {
		return nil, err
	}
	for _, key := range c.Deleted() {
		if key != "comment" {
			return nil, apierr.Param("delete", "unknown option '%s'", key)
		}
		t.Comment = ""
	}
	if c.Has("comment") && c.Str("delete") == "" {
		t.Comment = c.Field("comment")
	}
	if c.Has("expire") {
		t.Expire = int64(c.Num("expire"))
	}
	if c.Has("privsep") {
		t.NoSeparation = !c.Flag("privsep")
	}
	out := showToken(t)
	for _, name := range []string{"expire", "privsep"} {
		if c.Has(name) {
			out[name] = c.Str(name)
		}
	}
	if c.Flag("regenerate") {
		t.Secret = random.UUID()
		out["value"], out["full-tokenid"] = t.Secret, c.Str("userid")+"!"+c.Str("tokenid")
	}
	return out, nil
}

func createGroup(c *engine.Call) (any, error) {
	id := c.Str("groupid")
	if c.State.Groups[id] != nil {
		return nil, apierr.Errorf("create group failed: group '%s' already exists", id)
	}
	c.State.Groups[id] = &state.Group{Comment: c.Field("comment")}
	return nil, nil //nolint:nilnil // The answer is null.
}

func updateGroup(c *engine.Call) (any, error) {
	g := c.State.Groups[c.Str("groupid")]
	if g == nil {
		return nil, apierr.Errorf("update group failed: group '%s' does not exist", c.Str("groupid"))
	}
	if c.Has("comment") {
		g.Comment = c.Field("comment")
	}
	return nil, nil //nolint:nilnil // The answer is null.
}

func getGroup(c *engine.Call) (any, error) {
	id := c.Str("groupid")
	g := c.State.Groups[id]
	if g == nil {
		return nil, apierr.Errorf("group '%s' does not exist", id)
	}
	out := map[string]any{"members": members(c, id)}
	if g.Comment != "" {
		out["comment"] = g.Comment
	}
	return out, nil
}

func members(c *engine.Call, group string) []string {
	out := []string{}
	for _, user := range slices.Sorted(maps.Keys(c.State.Users)) {
		if c.State.Users[user].Groups[group] {
			out = append(out, user)
		}
	}
	return out
}

func deleteGroup(c *engine.Call) (any, error) {
	id := c.Str("groupid")
	if c.State.Groups[id] == nil {
		return nil, apierr.Errorf("delete group failed: group '%s' does not exist", id)
	}
	delete(c.State.Groups, id)
	for _, u := range c.State.Users {
		delete(u.Groups, id)
	}
	c.State.ACL = slices.DeleteFunc(c.State.ACL, func(g state.Grant) bool { return g.Kind == "group" && g.ID == id })
	return nil, nil //nolint:nilnil // The answer is null.
}

func createRole(c *engine.Call) (any, error) {
	id := c.Str("roleid")
	if len(id) >= 3 && strings.EqualFold(id[:3], "PVE") {
		return nil, apierr.Param("roleid", "cannot use role ID starting with the (case-insensitive) 'PVE' namespace")
	}
	if c.State.Roles[id] != nil {
		return nil, apierr.Errorf("create role failed: role '%s' already exists", id)
	}
	c.State.Roles[id] = &state.Role{Privileges: map[string]bool{}}
	return updateRole(c)
}

func updateRole(c *engine.Call) (any, error) {
	r := c.State.Roles[c.Str("roleid")]
	switch {
	case r == nil:
		return nil, apierr.Errorf("update role failed: role '%s' does not exist", c.Str("roleid"))
	case r.BuiltIn:
		return nil, apierr.Errorf("auto-generated role '%s' cannot be modified", c.Str("roleid"))
	}
	if !c.Flag("append") {
		r.Privileges = map[string]bool{}
	}
	for _, p := range schema.SplitList(c.Str("privs")) {
		r.Privileges[p] = true
	}
	return nil, nil //nolint:nilnil // The answer is null.
}

func deleteRole(c *engine.Call) (any, error) {
	id := c.Str("roleid")
	r := c.State.Roles[id]
	switch {
	case r == nil:
		return nil, apierr.Errorf("delete role failed: role '%s' does not exist", id)
	case r.BuiltIn:
		return nil, apierr.Errorf("auto-generated role '%s' cannot be deleted", id)
	}
	delete(c.State.Roles, id)
	c.State.ACL = slices.DeleteFunc(c.State.ACL, func(g state.Grant) bool { return g.Role == id })
	return nil, nil //nolint:nilnil // The answer is null.
}

// aclPath matches the paths that may have grants.
func aclPath() *regexp.Regexp {
	return regexp.MustCompile(`^/$|^/(access(/groups|/realm)?|nodes|pool|sdn|storage|vms|mapping)$|^/access/(groups|realm)/[\w.-]+$|` +
		`^/nodes/[\w.-]+$|^/pool/[\w.-]+(/[\w.-]+){0,2}$|^/sdn/(controllers|dns|fabrics|ipams|zones)(/[\w.-]+)?$|` +
		`^/sdn/zones/[\w.-]+/[\w.-]+(/[1-9][0-9]{0,3})?$|^/storage/[\w.-]+$|^/vms/[1-9][0-9]{2,}$|^/mapping/[\w.-]+(/[\w.-]+)?$`)
}

// updateACL adds or removes roles on a path.
func updateACL(c *engine.Call) (any, error) {
	if c.Str("users") == "" && c.Str("groups") == "" && c.Str("tokens") == "" {
		const needed = "either 'users', 'groups' or 'tokens' is required."
		return nil, apierr.Params(map[string]string{"users": needed, "groups": needed, "tokens": needed})
	}
	path := state.NormalPath(c.Str("path"))
	if path == "" || (!c.Flag("delete") && !aclPath().MatchString(path)) {
		return nil, apierr.Param("path", "invalid ACL path '%s'", c.Str("path"))
	}
	grants, err := grants(c, path)
	if err != nil {
		return nil, err
	}
	for _, g := range grants {
		c.State.ACL = slices.DeleteFunc(c.State.ACL, func(old state.Grant) bool {
			return old.Path == g.Path && old.Kind == g.Kind && old.ID == g.ID && old.Role == g.Role
		})
		if !c.Flag("delete") {
			c.State.ACL = append(c.State.ACL, g)
		}
	}
	return nil, nil //nolint:nilnil // The answer is null.
}

// mayGrant fails unless the caller may modify permissions, or itself has all privileges of a role.
func mayGrant(c *engine.Call, path, role string) error {
	have := c.State.Privileges(c.Who, path)
	if _, ok := have["Permissions.Modify"]; ok {
		return nil
	}
	verb := map[bool]string{true: "remove", false: "add"}[c.Flag("delete")]
	for p := range c.State.Roles[role].Privileges {
		propagates, ok := have[p]
		if !ok {
			return apierr.Param("role", "Cannot %s role '%s' - requires 'Permissions.Modify' or superset of privileges.", verb, role)
		}
		if c.Str("propagate") != "0" && !propagates && !c.Flag("delete") {
			return apierr.Param("role", "Cannot %s role '%s' with propagation - requires 'Permissions.Modify' or propagated superset of privileges.",
				verb, role)
		}
	}
	if role == "NoAccess" {
		return apierr.Param("role", "Cannot %s role '%s' - requires 'Permissions.Modify'", verb, role)
	}
	return nil
}

// grants lists the grants that a change of the ACL affects.
func grants(c *engine.Call, path string) ([]state.Grant, error) {
	out := []state.Grant{}
	for _, role := range schema.SplitList(c.Str("roles")) {
		if c.State.Roles[role] == nil {
			return nil, apierr.Errorf("ACL update failed: role '%s' does not exist", role)
		}
		if err := mayGrant(c, path, role); err != nil {
			return nil, err
		}
		for _, kind := range []string{"group", "user", "token"} {
			for _, id := range schema.SplitList(c.Str(kind + "s")) {
				if err := grantee(c, kind, id); err != nil {
					return nil, err
				}
				out = append(out, state.Grant{Path: path, Kind: kind, ID: id, Role: role, Propagate: c.Str("propagate") != "0"})
			}
		}
	}
	return out, nil
}

func grantee(c *engine.Call, kind, id string) error {
	user := c.State.Users[state.Identity(id).User()]
	switch {
	case kind == "group" && c.State.Groups[id] == nil:
		return apierr.Errorf("ACL update failed: group '%s' does not exist", id)
	case kind == "user" && user == nil:
		return apierr.Errorf("ACL update failed: user '%s' does not exist", id)
	case kind == "token" && user == nil:
		return apierr.Errorf("ACL update failed: no such user ('%s')", state.Identity(id).User())
	case kind == "token" && user.Tokens[state.Identity(id).Token()] == nil:
		return apierr.Errorf("ACL update failed: no such token '%s' for user '%s'", state.Identity(id).Token(), state.Identity(id).User())
	}
	return nil
}
