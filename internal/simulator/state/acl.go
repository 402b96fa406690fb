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

package state

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
)

// Root is the administrator with all privileges.
const Root = "root@pam"

// BuiltinRoles returns the roles that every installation has.
func BuiltinRoles(version string) map[string]*Role {
	roles := map[string]*Role{}
	grant := func(role string, privileges ...string) {
		if roles[role] == nil {
			roles[role] = &Role{Privileges: map[string]bool{}, BuiltIn: true}
		}
		for _, p := range privileges {
			roles[role].Privileges[p] = true
		}
	}
	grant("NoAccess")
	grant("Administrator", "Permissions.Modify")
	grant("PVETemplateUser", "VM.Clone", "VM.Audit")
	for name, g := range schema.Privileges(version) {
		all := slices.Concat(g.Admin, g.User, g.Audit)
		grant("Administrator", slices.Concat(g.Root, all)...)
		grant("PVEAdmin", all...)
		grant("PVE"+name+"Admin", all...)
		if len(g.User) > 0 {
			grant("PVE"+name+"User", slices.Concat(g.User, g.Audit)...)
		}
		grant("PVEAuditor", g.Audit...)
	}
	delete(roles["PVEAdmin"].Privileges, "Mapping.Modify")
	return roles
}

// An Identity makes requests: "user@realm" or "user@realm!token".
type Identity string

// User returns the user without the name of a token.
func (i Identity) User() string {
	user, _, _ := strings.Cut(string(i), "!")
	return user
}

// Token returns the name of the token, or nothing for a user.
func (i Identity) Token() string {
	_, token, _ := strings.Cut(string(i), "!")
	return token
}

// Privileges returns the privileges of an identity on a path. The value reports whether a privilege applies below the path too.
func (st *State) Privileges(who Identity, path string) map[string]bool {
	if who == Root {
		return st.allPrivileges()
	}
	if who.Token() == "" {
		return st.privilegesOf(st.roles(who, path))
	}
	user := st.Users[who.User()]
	if user == nil || user.Tokens[who.Token()] == nil {
		return nil
	}
	owner := st.Privileges(Identity(who.User()), path)
	if user.Tokens[who.Token()].NoSeparation {
		return owner
	}
	own := st.privilegesOf(st.roles(who, path))
	out := map[string]bool{}
	for p, propagate := range own {
		if ownerPropagates, ok := owner[p]; ok {
			out[p] = propagate && ownerPropagates
		}
	}
	return out
}

func (st *State) allPrivileges() map[string]bool {
	return maps.Clone(st.Roles["Administrator"].Privileges)
}

func (st *State) privilegesOf(roles map[string]bool) map[string]bool {
	out := map[string]bool{}
	for name, propagate := range roles {
		role := st.Roles[name]
		if role == nil {
			continue
		}
		for p := range role.Privileges {
			out[p] = out[p] || propagate
		}
	}
	return out
}

// roles returns the roles of an identity on a path, including those by pools: role → propagated.
func (st *State) roles(who Identity, path string) map[string]bool {
	out := st.directRoles(who, path)
	if _, no := out["NoAccess"]; no {
		return out
	}
	for name, pool := range st.Pools {
		if !pool.contains(path) {
			continue
		}
		roles := st.directRoles(who, "/pool/"+name)
		if _, no := roles["NoAccess"]; no {
			return map[string]bool{"NoAccess": false}
		}
		for role := range roles {
			if _, ok := out[role]; !ok {
				out[role] = false
			}
		}
	}
	return out
}

// directRoles applies the grants from the root of the path down. A grant on a longer path replaces those above it.
func (st *State) directRoles(who Identity, path string) map[string]bool {
	out := map[string]bool{}
	for _, prefix := range prefixes(path) {
		for _, kind := range []string{"token", "user", "group"} {
			if roles := st.granted(who, kind, prefix, prefix == path); len(roles) > 0 {
				out = roles
				break
			}
		}
	}
	if p, no := out["NoAccess"]; no {
		return map[string]bool{"NoAccess": p}
	}
	return out
}

// prefixes returns a path and everything above it, from the root down.
func prefixes(path string) []string {
	out := []string{"/"}
	for i := 1; i < len(path); i++ {
		if path[i] == '/' {
			out = append(out, path[:i])
		}
	}
	if path != "/" {
		out = append(out, path)
	}
	return out
}

func (st *State) granted(who Identity, kind, path string, final bool) map[string]bool {
	out := map[string]bool{}
	for _, g := range st.ACL {
		if g.Path == path && g.Kind == kind && (final || g.Propagate) && st.means(g, who) {
			out[g.Role] = g.Propagate
		}
	}
	return out
}

func (st *State) means(g Grant, who Identity) bool {
	if g.Kind == "group" {
		user := st.Users[string(who)]
		return user != nil && user.Groups[g.ID]
	}
	return g.ID == string(who)
}

// Check fails unless the identity has all the privileges on the path.
func (st *State) Check(who Identity, path string, privileges ...string) error {
	have := st.Privileges(who, path)
	for _, p := range privileges {
		if _, ok := have[p]; !ok {
			return apierr.Forbidden(path + ", " + p)
		}
	}
	return nil
}

// CheckAny fails unless the identity has one of the privileges on the path.
func (st *State) CheckAny(who Identity, path string, privileges ...string) error {
	have := st.Privileges(who, path)
	for _, p := range privileges {
		if _, ok := have[p]; ok {
			return nil
		}
	}
	return apierr.Forbidden(path + ", " + strings.Join(privileges, "|"))
}

// May reports whether an identity has all the privileges on a path.
func (st *State) May(who Identity, path string, privileges ...string) bool {
	return st.Check(who, path, privileges...) == nil
}

// VmidText returns a VMID as text.
func VmidText(vmid int) string { return strconv.Itoa(vmid) }

// VMPath returns the path of the privileges on a guest.
func VMPath(vmid int) string { return "/vms/" + strconv.Itoa(vmid) }

// A View checks, for one identity, the same privilege for many objects of a list.
type View struct {
	st  *State
	who Identity
	// special holds the paths with grants or pools.
	special map[string]bool
	// below holds the privileges of the identity everywhere below a path.
	below map[string]map[string]bool
}

// View returns a View for one identity.
func (st *State) View(who Identity) *View {
	v := &View{st: st, who: who, special: map[string]bool{}, below: map[string]map[string]bool{}}
	for _, g := range st.ACL {
		v.special[g.Path] = true
	}
	for _, p := range st.Pools {
		for vmid := range p.VMs {
			v.special["/vms/"+strconv.Itoa(vmid)] = true
		}
		for storage := range p.Storages {
			v.special["/storage/"+storage] = true
		}
	}
	return v
}

// May reports whether the identity has the privilege on a path such as "/vms/100".
func (v *View) May(path, privilege string) bool {
	if v.special[path] {
		return v.st.May(v.who, path, privilege)
	}
	parent := path[:strings.LastIndex(path, "/")]
	have, ok := v.below[parent]
	if !ok {
		have = v.st.Privileges(v.who, parent)
		v.below[parent] = have
	}
	return have[privilege]
}

// ExistingUser returns a user, or the error that the user does not exist.
func (st *State) ExistingUser(id string) (*User, error) {
	if u := st.Users[id]; u != nil {
		return u, nil
	}
	return nil, apierr.Errorf("no such user ('%s')", id)
}

// NormalPath returns a path in the form used in grants, or nothing for an invalid one.
func NormalPath(path string) string {
	if path == "" || strings.Trim(path, pathLetters) != "" {
		return ""
	}
	return "/" + strings.Join(strings.FieldsFunc(path, func(r rune) bool { return r == '/' }), "/")
}

// pathLetters are the characters of which the paths of grants consist.
const pathLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_/"

// Active fails unless the user exists, is enabled and has not expired.
func (st *State) Active(user string, now time.Time) error {
	u := st.Users[user]
	switch {
	case u == nil:
		return errors.Errorf("no such user ('%s')", user)
	case u.Disabled:
		return errors.Errorf("user '%s' is disabled", user)
	case Expired(u.Expire, now):
		return errors.Errorf("user '%s' access expired", user)
	}
	return nil
}

// Expired reports whether an expiry time has passed.
func Expired(at int64, now time.Time) bool { return at != 0 && at < now.Unix() }
