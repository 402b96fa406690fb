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

func domainRoutes() map[string]handler {
	const one = "/access/domains/{realm}"
	return map[string]handler{
		"GET /access/domains":  (*call).domains,
		"POST /access/domains": (*call).createDomain,
		"GET " + one:           (*call).getDomain,
		"PUT " + one:           (*call).updateDomain,
		"DELETE " + one:        (*call).deleteDomain,
	}
}

// builtinDomains are the realms that every installation has.
func builtinDomains() Sections {
	return Sections{
		"pam": {"type": "pam", "comment": "Linux PAM standard authentication"},
		"pve": {"type": "pve", "comment": "Proxmox VE authentication server"},
	}
}

func (c *call) domains() (any, error) {
	out := []map[string]any{}
	for _, realm := range slices.Sorted(maps.Keys(c.state.Domains)) {
		d := c.state.Domains[realm]
		entry := map[string]any{"realm": realm, "type": d["type"]}
		if d["comment"] != "" {
			entry["comment"] = d["comment"]
		}
		if d["default"] == "1" {
			entry["default"] = 1
		}
		if kind := c.facts.TypedProperties(c.facts.Parameters("POST", "/access/domains")["tfa"].Format, d["tfa"])["type"]; kind != nil {
			entry["tfa"] = kind
		}
		out = append(out, entry)
	}
	return out, nil
}

func (c *call) getDomain() (any, error) {
	realm := c.str("realm")
	if c.state.Domains[realm] == nil {
		return nil, die("domain '%s' does not exist", realm)
	}
	return c.showSection(c.state.Domains, realm), nil
}

// domainOptions are what a call says of a realm; its password is kept elsewhere.
func (c *call) domainOptions() map[string]string {
	return c.section("realm", "password", "check-connection")
}

// neededOfDomain are the options without which a realm of a type cannot be defined, in the order in which PVE misses them.
func neededOfDomain(kind string) []string {
	return map[string][]string{
		"ad": {"domain", "server1"}, "ldap": {"base_dn", "server1", "user_attr"}, "openid": {"client-id", "issuer-url"},
	}[kind]
}

func (c *call) createDomain() (any, error) {
	const failed = "add auth server failed: "
	realm, kind := c.str("realm"), c.str("type")
	switch {
	case c.state.Domains[realm] != nil:
		return nil, die(failed+"domain '%s' already exists", realm)
	case realm == "pam" || realm == "pve":
		return nil, die(failed+"unable to use reserved name '%s'", realm)
	case kind == "pam" || kind == "pve":
		return nil, die(failed+"unable to create builtin type '%s'", kind)
	case c.has("check-connection") && kind != "ldap" && kind != "ad":
		return nil, die(failed + "'check-connection' parameter can only be set for realms of type 'ldap' or 'ad'")
	}
	for _, name := range neededOfDomain(kind) {
		if !c.has(name) {
			return nil, die(failed+"missing value for required option '%s'", name)
		}
	}
	c.state.Domains[realm] = c.domainOptions()
	c.onlyDefault(realm)
	return nil, nil //nolint:nilnil // The answer is null.
}

// onlyDefault takes the mark of the default realm from all others.
func (c *call) onlyDefault(realm string) {
	for other, d := range c.state.Domains {
		if other != realm && c.flag("default") {
			delete(d, "default")
		}
	}
}

func (c *call) updateDomain() (any, error) {
	const failed = "update auth server failed: "
	realm := c.str("realm")
	d, set := c.state.Domains[realm], c.domainOptions()
	switch {
	case c.has("digest") && c.str("digest") != digestOf(c.state.Domains):
		return nil, die("%s%s", failed, errModified())
	case d == nil:
		return nil, die(failed+"domain '%s' does not exist", realm)
	case c.has("check-connection") && d["type"] != "ldap" && d["type"] != "ad":
		return nil, die(failed + "'check-connection' parameter can only be set for realms of type 'ldap' or 'ad'")
	case len(set) == 0 && len(c.deleted()) == 0 && !c.has("password"):
		return nil, die(failed + "no options specified")
	}
	for _, key := range c.deleted() {
		delete(d, key)
	}
	maps.Copy(d, set)
	c.onlyDefault(realm)
	return nil, nil //nolint:nilnil // The answer is null.
}

func (c *call) deleteDomain() (any, error) {
	realm := c.str("realm")
	if c.state.Domains[realm] == nil {
		return nil, die("delete auth server failed: authentication domain '%s' does not exist", realm)
	}
	delete(c.state.Domains, realm)
	return nil, nil //nolint:nilnil // The answer is null.
}

// changePassword sets a password; all but root confirm it with their own.
func (c *call) changePassword() (any, error) {
	id := c.str("userid")
	u, err := c.state.existingUser(id)
	switch {
	case err != nil:
		return nil, err
	case c.who == root:
	case id == root:
		return nil, forbidden("")
	case !c.has("confirmation-password"):
		return nil, paramError("confirmation-password", "password is required to modify user")
	case !hmac.Equal([]byte(c.state.Users[string(c.who)].Password), []byte(c.str("confirmation-password"))):
		return nil, die("invalid credentials")
	case id != string(c.who) && strings.HasSuffix(id, "@pam"):
		return nil, forbidden("")
	}
	u.Password = c.str("password")
	return nil, nil //nolint:nilnil // The answer is null.
}
