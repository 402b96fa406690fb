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
	"regexp"
	"slices"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
)

func (c *call) createUser() (any, error) {
	id := c.str("userid")
	if c.state.Users[id] != nil {
		return nil, die("create user failed: user '%s' already exists", id)
	}
	if _, realm, _ := strings.Cut(id, "@"); c.has("password") && c.state.Domains[realm] == nil {
		return nil, die("create user failed: auth domain '%s' does not exist", realm)
	}
	u := &User{Password: c.str("password"), Groups: map[string]bool{}, Tokens: map[string]*Token{}}
	if err := c.setUser("create", u); err != nil {
		return nil, err
	}
	c.state.Users[id] = u
	return nil, nil //nolint:nilnil // The answer is null.
}

func (c *call) updateUser() (any, error) {
	u, err := c.state.existingUser(c.str("userid"))
	if err != nil {
		return nil, err
	}
	return nil, c.setUser("update", u)
}

// setUser takes over what the call says of a user.
func (c *call) setUser(verb string, u *User) error {
	groups := schema.SplitList(c.str("groups"))
	for _, g := range groups {
		if c.state.Groups[g] == nil {
			return die("%s user failed: no such group '%s'", verb, g)
		}
	}
	if c.has("groups") && !c.flag("append") {
		u.Groups = map[string]bool{}
	}
	for _, g := range groups {
		u.Groups[g] = true
	}
	if c.has("enable") {
		u.Disabled = !c.flag("enable")
	}
	if c.has("expire") {
		u.Expire = int64(c.num("expire"))
	}
	for name, field := range u.texts() {
		if c.has(name) {
			*field = c.str(name)
		}
	}
	return nil
}

func (c *call) deleteUser() (any, error) {
	id := c.str("userid")
	if _, err := c.state.existingUser(id); err != nil {
		return nil, err
	}
	delete(c.state.Users, id)
	c.state.ACL = slices.DeleteFunc(c.state.ACL, func(g Grant) bool {
		return g.Kind != "group" && identity(g.ID).user() == id
	})
	return nil, nil //nolint:nilnil // The answer is null.
}

func (c *call) updateToken() (any, error) {
	_, t, err := c.token()
	if err != nil {
		return nil, err
	}
	for _, key := range c.deleted() {
		if key != "comment" {
			return nil, paramError("delete", "unknown option '%s'", key)
		}
		t.Comment = ""
	}
	if c.has("comment") && c.str("delete") == "" {
		t.Comment = c.str("comment")
	}
	if c.has("expire") {
		t.Expire = int64(c.num("expire"))
	}
	if c.has("privsep") {
		t.NoSeparation = !c.flag("privsep")
	}
	out := t.show()
	for _, name := range []string{"expire", "privsep"} {
		if c.has(name) {
			out[name] = c.str(name)
		}
	}
	if c.flag("regenerate") {
		t.Secret = newUUID()
		out["value"], out["full-tokenid"] = t.Secret, c.str("userid")+"!"+c.str("tokenid")
	}
	return out, nil
}

func (c *call) createGroup() (any, error) {
	id := c.str("groupid")
	if c.state.Groups[id] != nil {
		return nil, die("create group failed: group '%s' already exists", id)
	}
	c.state.Groups[id] = &Group{Comment: c.str("comment")}
	return nil, nil //nolint:nilnil // The answer is null.
}

func (c *call) updateGroup() (any, error) {
	g := c.state.Groups[c.str("groupid")]
	if g == nil {
		return nil, die("update group failed: group '%s' does not exist", c.str("groupid"))
	}
	if c.has("comment") {
		g.Comment = c.str("comment")
	}
	return nil, nil //nolint:nilnil // The answer is null.
}

func (c *call) getGroup() (any, error) {
	id := c.str("groupid")
	g := c.state.Groups[id]
	if g == nil {
		return nil, die("group '%s' does not exist", id)
	}
	out := map[string]any{"members": c.members(id)}
	if g.Comment != "" {
		out["comment"] = g.Comment
	}
	return out, nil
}

func (c *call) members(group string) []string {
	out := []string{}
	for _, user := range slices.Sorted(maps.Keys(c.state.Users)) {
		if c.state.Users[user].Groups[group] {
			out = append(out, user)
		}
	}
	return out
}

func (c *call) deleteGroup() (any, error) {
	id := c.str("groupid")
	if c.state.Groups[id] == nil {
		return nil, die("delete group failed: group '%s' does not exist", id)
	}
	delete(c.state.Groups, id)
	for _, u := range c.state.Users {
		delete(u.Groups, id)
	}
	c.state.ACL = slices.DeleteFunc(c.state.ACL, func(g Grant) bool { return g.Kind == "group" && g.ID == id })
	return nil, nil //nolint:nilnil // The answer is null.
}

func (c *call) createRole() (any, error) {
	id := c.str("roleid")
	if len(id) >= 3 && strings.EqualFold(id[:3], "PVE") {
		return nil, paramError("roleid", "cannot use role ID starting with the (case-insensitive) 'PVE' namespace")
	}
	if c.state.Roles[id] != nil {
		return nil, die("create role failed: role '%s' already exists", id)
	}
	c.state.Roles[id] = &Role{Privileges: map[string]bool{}}
	return c.updateRole()
}

func (c *call) updateRole() (any, error) {
	r := c.state.Roles[c.str("roleid")]
	switch {
	case r == nil:
		return nil, die("update role failed: role '%s' does not exist", c.str("roleid"))
	case r.BuiltIn:
		return nil, die("auto-generated role '%s' cannot be modified", c.str("roleid"))
	}
	if !c.flag("append") {
		r.Privileges = map[string]bool{}
	}
	for _, p := range schema.SplitList(c.str("privs")) {
		r.Privileges[p] = true
	}
	return nil, nil //nolint:nilnil // The answer is null.
}

func (c *call) deleteRole() (any, error) {
	id := c.str("roleid")
	r := c.state.Roles[id]
	switch {
	case r == nil:
		return nil, die("delete role failed: role '%s' does not exist", id)
	case r.BuiltIn:
		return nil, die("auto-generated role '%s' cannot be deleted", id)
	}
	delete(c.state.Roles, id)
	c.state.ACL = slices.DeleteFunc(c.state.ACL, func(g Grant) bool { return g.Role == id })
	return nil, nil //nolint:nilnil // The answer is null.
}

// aclPath matches the paths that may have grants.
func aclPath() *regexp.Regexp {
	return regexp.MustCompile(`^/$|^/(access(/groups|/realm)?|nodes|pool|sdn|storage|vms|mapping)$|^/access/(groups|realm)/[\w.-]+$|` +
		`^/nodes/[\w.-]+$|^/pool/[\w.-]+(/[\w.-]+){0,2}$|^/sdn/(controllers|dns|fabrics|ipams|zones)(/[\w.-]+)?$|` +
		`^/sdn/zones/[\w.-]+/[\w.-]+(/[1-9][0-9]{0,3})?$|^/storage/[\w.-]+$|^/vms/[1-9][0-9]{2,}$|^/mapping/[\w.-]+(/[\w.-]+)?$`)
}

// updateACL gives or takes roles on a path.
func (c *call) updateACL() (any, error) {
	if c.str("users") == "" && c.str("groups") == "" && c.str("tokens") == "" {
		const needed = "either 'users', 'groups' or 'tokens' is required."
		return nil, paramErrors(map[string]string{"users": needed, "groups": needed, "tokens": needed})
	}
	path := normalPath(c.str("path"))
	if path == "" || (!c.flag("delete") && !aclPath().MatchString(path)) {
		return nil, paramError("path", "invalid ACL path '%s'", c.str("path"))
	}
	grants, err := c.grants(path)
	if err != nil {
		return nil, err
	}
	for _, g := range grants {
		c.state.ACL = slices.DeleteFunc(c.state.ACL, func(old Grant) bool {
			return old.Path == g.Path && old.Kind == g.Kind && old.ID == g.ID && old.Role == g.Role
		})
		if !c.flag("delete") {
			c.state.ACL = append(c.state.ACL, g)
		}
	}
	return nil, nil //nolint:nilnil // The answer is null.
}

// normalPath is a path as grants have it, empty for what is none.
func normalPath(path string) string {
	if path == "" || strings.Trim(path, pathLetters) != "" {
		return ""
	}
	return "/" + strings.Join(strings.FieldsFunc(path, func(r rune) bool { return r == '/' }), "/")
}

// pathLetters are those of which the paths of grants are made.
const pathLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_/"

// mayGrant fails unless the caller may modify permissions, or has itself all that a role gives.
func (c *call) mayGrant(path, role string) error {
	have := c.state.privileges(c.who, path)
	if _, ok := have["Permissions.Modify"]; ok {
		return nil
	}
	verb := map[bool]string{true: "remove", false: "add"}[c.flag("delete")]
	for p := range c.state.Roles[role].Privileges {
		propagates, ok := have[p]
		if !ok {
			return paramError("role", "Cannot %s role '%s' - requires 'Permissions.Modify' or superset of privileges.", verb, role)
		}
		if c.str("propagate") != "0" && !propagates && !c.flag("delete") {
			return paramError("role", "Cannot %s role '%s' with propagation - requires 'Permissions.Modify' or propagated superset of privileges.",
				verb, role)
		}
	}
	if role == "NoAccess" {
		return paramError("role", "Cannot %s role '%s' - requires 'Permissions.Modify'", verb, role)
	}
	return nil
}

// grants lists what a change of the ACL is about.
func (c *call) grants(path string) ([]Grant, error) {
	out := []Grant{}
	for _, role := range schema.SplitList(c.str("roles")) {
		if c.state.Roles[role] == nil {
			return nil, die("ACL update failed: role '%s' does not exist", role)
		}
		if err := c.mayGrant(path, role); err != nil {
			return nil, err
		}
		for _, kind := range []string{"group", "user", "token"} {
			for _, id := range schema.SplitList(c.str(kind + "s")) {
				if err := c.grantee(kind, id); err != nil {
					return nil, err
				}
				out = append(out, Grant{Path: path, Kind: kind, ID: id, Role: role, Propagate: c.str("propagate") != "0"})
			}
		}
	}
	return out, nil
}

func (c *call) grantee(kind, id string) error {
	user := c.state.Users[identity(id).user()]
	switch {
	case kind == "group" && c.state.Groups[id] == nil:
		return die("ACL update failed: group '%s' does not exist", id)
	case kind == "user" && user == nil:
		return die("ACL update failed: user '%s' does not exist", id)
	case kind == "token" && user == nil:
		return die("ACL update failed: no such user ('%s')", identity(id).user())
	case kind == "token" && user.Tokens[identity(id).token()] == nil:
		return die("ACL update failed: no such token '%s' for user '%s'", identity(id).token(), identity(id).user())
	}
	return nil
}
