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

	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
)

func (c *call) createUser() (any, error) {
	id := c.str("userid")
	if c.state.Users[id] != nil {
		return nil, die("create user failed: user '%s' already exists", id)
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
	for name, field := range map[string]*string{"comment": &u.Comment, "email": &u.Email} {
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
	if c.has("comment") {
		t.Comment = c.str("comment")
	}
	if c.has("expire") {
		t.Expire = int64(c.num("expire"))
	}
	if c.has("privsep") {
		t.NoSeparation = !c.flag("privsep")
	}
	out := t.show()
	for _, name := range []string{"comment", "expire", "privsep"} {
		if c.has(name) {
			out[name] = c.str(name)
		}
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
		return nil, die("role '%s' does not exist", id)
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
	path := c.str("path")
	if !aclPath().MatchString(path) {
		return nil, paramError("path", "invalid ACL path '%s'", path)
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

// grants lists what a change of the ACL is about.
func (c *call) grants(path string) ([]Grant, error) {
	out := []Grant{}
	for _, role := range schema.SplitList(c.str("roles")) {
		if c.state.Roles[role] == nil {
			return nil, die("ACL update failed: role '%s' does not exist", role)
		}
		for _, kind := range []string{"user", "group", "token"} {
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
	case kind == "token" && (user == nil || user.Tokens[identity(id).token()] == nil):
		return die("ACL update failed: token '%s' does not exist", id)
	}
	return nil
}
