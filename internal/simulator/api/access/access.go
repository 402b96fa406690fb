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
	"crypto/hmac"
	"maps"
	"slices"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/random"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// createTicket logs a user in, with the password or with a ticket that is still valid.
func createTicket(c *engine.Call) (any, error) {
	user, password := c.Str("username"), c.Str("password")
	if realm := c.Str("realm"); realm != "" && !strings.Contains(user, "@") {
		user += "@" + realm
	}
	if !validPassword(c, user, password) {
		return nil, &apierr.Error{Status: 401, Message: "authentication failure"}
	}
	who := state.Identity(user)
	out := map[string]any{
		"username": user, "ticket": c.Engine.NewTicket(user), "CSRFPreventionToken": c.Engine.NewCSRF(user), "cap": capabilities(c, who),
	}
	if c.State.ClusterName != "" && c.State.May(who, "/", "Sys.Audit") {
		out["clustername"] = c.State.ClusterName
	}
	return out, nil
}

func validPassword(c *engine.Call, user, password string) bool {
	if who, err := c.Engine.TicketOwner(password); err == nil {
		return string(who) == user || who == state.Root
	}
	if c.State.Active(user, c.Now()) != nil {
		return false
	}
	want := c.State.Users[user].Password
	return want != "" && hmac.Equal([]byte(want), []byte(password))
}

// capabilities returns the privileges on any path that the web interface asks for, by area.
func capabilities(c *engine.Call, who state.Identity) map[string]any {
	areas := map[string]map[string]int{}
	for area := range areaPrivileges() {
		areas[area] = map[string]int{}
	}
	for _, path := range append(knownPaths(c.State), "/mapping") {
		for p := range c.State.Privileges(who, path) {
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

// areaPrivileges returns the prefixes of the privileges that matter in an area of the web interface.
func areaPrivileges() map[string][]string {
	return map[string][]string{
		"vms": {"VM.", "Permissions.Modify"}, "access": {"User.", "Group.", "Permissions.Modify"},
		"storage": {"Datastore.", "Permissions.Modify"}, "nodes": {"Sys.", "Permissions.Modify"}, "sdn": {"SDN.", "Permissions.Modify"},
		"dc": {"Sys.Audit", "Sys.Modify", "SDN."}, "mapping": {"Mapping.", "Permissions.Modify"},
	}
}

// areasOf returns the areas in which a privilege on a path is shown.
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

// permissions lists the caller's own privileges by path, or those of a user or token that the caller may see.
func permissions(c *engine.Call) (any, error) {
	who := c.Who
	if id := c.Str("userid"); id != "" && id != string(c.Who) {
		if err := c.State.Check(c.Who, "/access", "Sys.Audit"); err != nil && state.Identity(id).User() != string(c.Who) {
			return nil, err
		}
		who = state.Identity(id)
	}
	paths := knownPaths(c.State)
	if p := c.Str("path"); p != "" {
		paths = []string{p}
	}
	out := map[string]any{}
	for _, path := range paths {
		list := map[string]int{}
		for p, propagate := range c.State.Privileges(who, path) {
			list[p] = schema.Flag(propagate)
		}
		if len(list) > 0 || c.Has("path") {
			out[path] = list
		}
	}
	return out, nil
}

// knownPaths returns the paths whose permissions are reported to a user: the top-level ones, those of grants and of members of pools.
func knownPaths(st *state.State) []string {
	paths := []string{"/", "/access", "/access/groups", "/nodes", "/pool", "/sdn", "/storage", "/vms"}
	for _, g := range st.ACL {
		paths = append(paths, g.Path)
	}
	for _, p := range st.Pools {
		for vmid := range p.VMs {
			paths = append(paths, state.VMPath(vmid))
		}
		for id := range p.Storages {
			paths = append(paths, "/storage/"+id)
		}
	}
	return paths
}

func showUser(u *state.User) map[string]any {
	out := map[string]any{"enable": schema.Flag(!u.Disabled), "expire": u.Expire}
	for key, field := range userTexts(u) {
		if *field != "" {
			out[key] = *field
		}
	}
	return out
}

// userTexts returns the fields of a user that are returned as they were given.
func userTexts(u *state.User) map[string]*string {
	return map[string]*string{"comment": &u.Comment, "email": &u.Email, "firstname": &u.FirstName, "lastname": &u.LastName, "keys": &u.Keys}
}

func listUsers(c *engine.Call) (any, error) {
	out := []map[string]any{}
	for _, id := range slices.Sorted(maps.Keys(c.State.Users)) {
		u := c.State.Users[id]
		if (c.Has("enabled") && c.Flag("enabled") == u.Disabled) || !seesUser(c, id, u) {
			continue
		}
		entry := showUser(u)
		entry["userid"] = id
		if _, realm, _ := strings.Cut(id, "@"); c.State.Domains[realm] != nil {
			entry["realm-type"] = c.State.Domains[realm]["type"]
		}
		if c.Flag("full") {
			entry["groups"] = strings.Join(slices.Sorted(maps.Keys(u.Groups)), ",")
			if len(u.Tokens) > 0 {
				entry["tokens"] = showTokens(u)
			}
		}
		out = append(out, entry)
	}
	return out, nil
}

// seesUser reports whether the caller may see a user. It may see itself, and depending on its privileges all users or those of a group.
func seesUser(c *engine.Call, id string, u *state.User) bool {
	if id == string(c.Who) || c.State.CheckAny(c.Who, "/access/groups", "User.Modify", "Sys.Audit") == nil {
		return true
	}
	return slices.ContainsFunc(slices.Collect(maps.Keys(u.Groups)), func(group string) bool {
		return c.State.CheckAny(c.Who, "/access/groups/"+group, "User.Modify", "Sys.Audit") == nil
	})
}

func getUser(c *engine.Call) (any, error) {
	u, err := c.State.ExistingUser(c.Str("userid"))
	if err != nil {
		return nil, err
	}
	out := showUser(u)
	out["groups"] = append([]string{}, slices.Sorted(maps.Keys(u.Groups))...)
	out["tokens"] = nil
	if len(u.Tokens) > 0 {
		tokens := map[string]any{}
		for name, t := range u.Tokens {
			tokens[name] = showToken(t)
		}
		out["tokens"] = tokens
	}
	return out, nil
}

func showToken(t *state.Token) map[string]any {
	out := map[string]any{"expire": t.Expire, "privsep": schema.Flag(!t.NoSeparation)}
	if t.Comment != "" {
		out["comment"] = t.Comment
	}
	return out
}

func listTokens(c *engine.Call) (any, error) {
	u, err := c.State.ExistingUser(c.Str("userid"))
	if err != nil {
		return nil, err
	}
	return showTokens(u), nil
}

func showTokens(u *state.User) []map[string]any {
	out := []map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(u.Tokens)) {
		entry := showToken(u.Tokens[name])
		entry["tokenid"] = name
		out = append(out, entry)
	}
	return out
}

func token(c *engine.Call) (*state.User, *state.Token, error) {
	u, err := c.State.ExistingUser(c.Str("userid"))
	if err != nil {
		return nil, nil, err
	}
	t := u.Tokens[c.Str("tokenid")]
	if t == nil {
		return nil, nil, apierr.Errorf("no such token '%s' for user '%s'", c.Str("tokenid"), c.Str("userid"))
	}
	return u, t, nil
}

func getToken(c *engine.Call) (any, error) {
	_, t, err := token(c)
	if err != nil {
		return nil, err
	}
	return showToken(t), nil
}

func createToken(c *engine.Call) (any, error) {
	u, err := c.State.ExistingUser(c.Str("userid"))
	if err != nil {
		return nil, err
	}
	name := c.Str("tokenid")
	if u.Tokens[name] != nil {
		return nil, apierr.Param("tokenid", "Token already exists.")
	}
	t := &state.Token{
		Secret: random.UUID(), Comment: c.Field("comment"), Expire: int64(c.Num("expire")), NoSeparation: c.Str("privsep") == "0",
	}
	u.Tokens[name] = t
	info := map[string]any{"privsep": "1"}
	for _, key := range []string{"privsep", "comment", "expire"} {
		if c.Has(key) {
			info[key] = c.Str(key)
		}
	}
	return map[string]any{"full-tokenid": c.Str("userid") + "!" + name, "value": t.Secret, "info": info}, nil
}

func deleteToken(c *engine.Call) (any, error) {
	u, _, err := token(c)
	if err == nil {
		delete(u.Tokens, c.Str("tokenid"))
	}
	return nil, err
}

func listRoles(c *engine.Call) (any, error) {
	out := []map[string]any{}
	for _, id := range slices.Sorted(maps.Keys(c.State.Roles)) {
		r := c.State.Roles[id]
		out = append(out, map[string]any{
			"roleid": id, "privs": strings.Join(slices.Sorted(maps.Keys(r.Privileges)), ","), "special": schema.Flag(r.BuiltIn),
		})
	}
	return out, nil
}

func getRole(c *engine.Call) (any, error) {
	r := c.State.Roles[c.Str("roleid")]
	if r == nil {
		return nil, apierr.Errorf("role '%s' does not exist", c.Str("roleid"))
	}
	return flags(r.Privileges), nil
}

func listACL(c *engine.Call) (any, error) {
	out := []map[string]any{}
	for _, g := range c.State.ACL {
		if !c.State.May(c.Who, "/access", "Sys.Audit") && c.CheckModify([]any{"perm-modify", g.Path}, nil) != nil {
			continue
		}
		out = append(out, map[string]any{
			"path": g.Path, "type": g.Kind, "ugid": g.ID, "roleid": g.Role, "propagate": schema.Flag(g.Propagate),
		})
	}
	return out, nil
}

func listGroups(c *engine.Call) (any, error) {
	out := []map[string]any{}
	for _, id := range slices.Sorted(maps.Keys(c.State.Groups)) {
		if c.State.CheckAny(c.Who, "/access/groups/"+id, "User.Modify", "Sys.Audit", "Group.Allocate") != nil {
			continue
		}
		entry := map[string]any{"groupid": id, "users": strings.Join(members(c, id), ",")}
		if comment := c.State.Groups[id].Comment; comment != "" {
			entry["comment"] = comment
		}
		out = append(out, entry)
	}
	return out, nil
}
