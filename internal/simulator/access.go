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
	"crypto/hmac"
	"maps"
	"slices"
	"strings"
)

func (st *State) existingUser(id string) (*User, error) {
	if u := st.Users[id]; u != nil {
		return u, nil
	}
	return nil, die("no such user ('%s')", id)
}

// createTicket logs a user in: with the password, or with a ticket that is still good.
func (c *call) createTicket() (any, error) {
	user, password := c.str("username"), c.str("password")
	if realm := c.str("realm"); realm != "" && !strings.Contains(user, "@") {
		user += "@" + realm
	}
	if !c.validPassword(user, password) {
		return nil, &failure{status: 401, message: "authentication failure"}
	}
	who := identity(user)
	out := map[string]any{
		"username": user, "ticket": c.s.newTicket(user), "CSRFPreventionToken": c.s.newCSRF(user), "cap": c.capabilities(who),
	}
	if c.state.ClusterName != "" && c.state.may(who, "/", "Sys.Audit") {
		out["clustername"] = c.state.ClusterName
	}
	return out, nil
}

func (c *call) validPassword(user, password string) bool {
	if who, err := c.s.ticketOwner(password); err == nil {
		return string(who) == user || who == root
	}
	if c.state.active(user, c.now()) != nil {
		return false
	}
	want := c.state.Users[user].Password
	return want != "" && hmac.Equal([]byte(want), []byte(password))
}

// capabilities are the privileges anywhere that the web interface asks for, by area.
func (c *call) capabilities(who identity) map[string]any {
	areas := map[string]map[string]int{}
	for area := range areaPrivileges() {
		areas[area] = map[string]int{}
	}
	for _, path := range append(c.state.knownPaths(), "/mapping") {
		for p := range c.state.privileges(who, path) {
			for _, area := range areasOf(path, p) {
				areas[area][p] = 1
			}
		}
	}
	out := map[string]any{}
	for area, privileges := range areas {
		out[area] = privileges
	}
	return out
}

// areaPrivileges are the beginnings of the privileges that matter in an area of the web interface.
func areaPrivileges() map[string][]string {
	return map[string][]string{
		"vms": {"VM.", "Permissions.Modify"}, "access": {"User.", "Group.", "Permissions.Modify"},
		"storage": {"Datastore.", "Permissions.Modify"}, "nodes": {"Sys.", "Permissions.Modify"}, "sdn": {"SDN.", "Permissions.Modify"},
		"dc": {"Sys.Audit", "Sys.Modify", "SDN."}, "mapping": {"Mapping.", "Permissions.Modify"},
	}
}

// areasOf are the areas in which a privilege on a path shows.
func areasOf(path, privilege string) []string {
	area, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	candidates := []string{area}
	switch area {
	case "":
		candidates = []string{"dc"}
	case "pool":
		candidates = []string{"vms", "storage"}
	}
	return slices.DeleteFunc(candidates, func(area string) bool {
		return !slices.ContainsFunc(areaPrivileges()[area], func(p string) bool { return strings.HasPrefix(privilege, p) })
	})
}

func flags(privileges map[string]bool) map[string]int {
	out := map[string]int{}
	for p := range privileges {
		out[p] = 1
	}
	return out
}

// permissions lists the caller's own privileges by path, or those of a user or token that the caller may look at.
func (c *call) permissions() (any, error) {
	who := c.who
	if id := c.str("userid"); id != "" && id != string(c.who) {
		if err := c.state.check(c.who, "/access", "Sys.Audit"); err != nil && identity(id).user() != string(c.who) {
			return nil, err
		}
		who = identity(id)
	}
	paths := c.state.knownPaths()
	if p := c.str("path"); p != "" {
		paths = []string{p}
	}
	out := map[string]any{}
	for _, path := range paths {
		list := map[string]int{}
		for p, propagate := range c.state.privileges(who, path) {
			list[p] = boolInt(propagate)
		}
		if len(list) > 0 || c.has("path") {
			out[path] = list
		}
	}
	return out, nil
}

// knownPaths are the paths of which a user's permissions are told: the upper ones, those of grants and of members of pools.
func (st *State) knownPaths() []string {
	paths := []string{"/", "/access", "/access/groups", "/nodes", "/pool", "/sdn", "/storage", "/vms"}
	for _, g := range st.ACL {
		paths = append(paths, g.Path)
	}
	for _, p := range st.Pools {
		for vmid := range p.VMs {
			paths = append(paths, vmPath(vmid))
		}
		for id := range p.Storages {
			paths = append(paths, "/storage/"+id)
		}
	}
	return paths
}

func (u *User) show() map[string]any {
	out := map[string]any{"enable": boolInt(!u.Disabled), "expire": u.Expire}
	for key, field := range u.texts() {
		if *field != "" {
			out[key] = *field
		}
	}
	return out
}

// texts are the fields of a user that are told as they were given.
func (u *User) texts() map[string]*string {
	return map[string]*string{"comment": &u.Comment, "email": &u.Email, "firstname": &u.FirstName, "lastname": &u.LastName, "keys": &u.Keys}
}

func (c *call) listUsers() (any, error) {
	out := []map[string]any{}
	for _, id := range slices.Sorted(maps.Keys(c.state.Users)) {
		u := c.state.Users[id]
		if (c.has("enabled") && c.flag("enabled") == u.Disabled) || !c.seesUser(id, u) {
			continue
		}
		entry := u.show()
		entry["userid"] = id
		if _, realm, _ := strings.Cut(id, "@"); c.state.Domains[realm] != nil {
			entry["realm-type"] = c.state.Domains[realm]["type"]
		}
		if c.flag("full") {
			entry["groups"] = strings.Join(slices.Sorted(maps.Keys(u.Groups)), ",")
			if len(u.Tokens) > 0 {
				entry["tokens"] = u.listTokens()
			}
		}
		out = append(out, entry)
	}
	return out, nil
}

// seesUser reports whether the caller may look at a user: at oneself, at all of them, or at those of a group.
func (c *call) seesUser(id string, u *User) bool {
	if id == string(c.who) || c.state.checkAny(c.who, "/access/groups", "User.Modify", "Sys.Audit") == nil {
		return true
	}
	return slices.ContainsFunc(slices.Collect(maps.Keys(u.Groups)), func(group string) bool {
		return c.state.checkAny(c.who, "/access/groups/"+group, "User.Modify", "Sys.Audit") == nil
	})
}

func (c *call) getUser() (any, error) {
	u, err := c.state.existingUser(c.str("userid"))
	if err != nil {
		return nil, err
	}
	out := u.show()
	out["groups"] = append([]string{}, slices.Sorted(maps.Keys(u.Groups))...)
	out["tokens"] = nil
	if len(u.Tokens) > 0 {
		tokens := map[string]any{}
		for name, t := range u.Tokens {
			tokens[name] = t.show()
		}
		out["tokens"] = tokens
	}
	return out, nil
}

func (t *Token) show() map[string]any {
	out := map[string]any{"expire": t.Expire, "privsep": boolInt(!t.NoSeparation)}
	if t.Comment != "" {
		out["comment"] = t.Comment
	}
	return out
}

func (c *call) listTokens() (any, error) {
	u, err := c.state.existingUser(c.str("userid"))
	if err != nil {
		return nil, err
	}
	return u.listTokens(), nil
}

func (u *User) listTokens() []map[string]any {
	out := []map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(u.Tokens)) {
		entry := u.Tokens[name].show()
		entry["tokenid"] = name
		out = append(out, entry)
	}
	return out
}

func (c *call) token() (*User, *Token, error) {
	u, err := c.state.existingUser(c.str("userid"))
	if err != nil {
		return nil, nil, err
	}
	t := u.Tokens[c.str("tokenid")]
	if t == nil {
		return nil, nil, die("no such token '%s' for user '%s'", c.str("tokenid"), c.str("userid"))
	}
	return u, t, nil
}

func (c *call) getToken() (any, error) {
	_, t, err := c.token()
	if err != nil {
		return nil, err
	}
	return t.show(), nil
}

func (c *call) createToken() (any, error) {
	u, err := c.state.existingUser(c.str("userid"))
	if err != nil {
		return nil, err
	}
	name := c.str("tokenid")
	if u.Tokens[name] != nil {
		return nil, paramError("tokenid", "Token already exists.")
	}
	t := &Token{
		Secret: newUUID(), Comment: c.str("comment"), Expire: int64(c.num("expire")), NoSeparation: c.str("privsep") == "0",
	}
	u.Tokens[name] = t
	info := map[string]any{"privsep": "1"}
	for _, key := range []string{"privsep", "comment", "expire"} {
		if c.has(key) {
			info[key] = c.str(key)
		}
	}
	return map[string]any{"full-tokenid": c.str("userid") + "!" + name, "value": t.Secret, "info": info}, nil
}

func (c *call) deleteToken() (any, error) {
	u, _, err := c.token()
	if err == nil {
		delete(u.Tokens, c.str("tokenid"))
	}
	return nil, err
}

func (c *call) listRoles() (any, error) {
	out := []map[string]any{}
	for _, id := range slices.Sorted(maps.Keys(c.state.Roles)) {
		r := c.state.Roles[id]
		out = append(out, map[string]any{
			"roleid": id, "privs": strings.Join(slices.Sorted(maps.Keys(r.Privileges)), ","), "special": boolInt(r.BuiltIn),
		})
	}
	return out, nil
}

func (c *call) getRole() (any, error) {
	r := c.state.Roles[c.str("roleid")]
	if r == nil {
		return nil, die("role '%s' does not exist", c.str("roleid"))
	}
	return flags(r.Privileges), nil
}

func (c *call) listACL() (any, error) {
	out := []map[string]any{}
	for _, g := range c.state.ACL {
		if !c.state.may(c.who, "/access", "Sys.Audit") && c.checkModify([]any{"perm-modify", g.Path}, nil) != nil {
			continue
		}
		out = append(out, map[string]any{
			"path": g.Path, "type": g.Kind, "ugid": g.ID, "roleid": g.Role, "propagate": boolInt(g.Propagate),
		})
	}
	return out, nil
}

func (c *call) listGroups() (any, error) {
	out := []map[string]any{}
	for _, id := range slices.Sorted(maps.Keys(c.state.Groups)) {
		if c.state.checkAny(c.who, "/access/groups/"+id, "User.Modify", "Sys.Audit", "Group.Allocate") != nil {
			continue
		}
		entry := map[string]any{"groupid": id, "users": strings.Join(c.members(id), ",")}
		if comment := c.state.Groups[id].Comment; comment != "" {
			entry["comment"] = comment
		}
		out = append(out, entry)
	}
	return out, nil
}
