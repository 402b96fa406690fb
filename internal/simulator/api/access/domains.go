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
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

func domainRoutes() map[string]engine.Handler {
	const one = "/access/domains/{realm}"
	return map[string]engine.Handler{
		"GET /access/domains":  domains,
		"POST /access/domains": createDomain,
		"GET " + one:           getDomain,
		"PUT " + one:           updateDomain,
		"DELETE " + one:        deleteDomain,
	}
}

func domains(c *engine.Call) (any, error) {
	out := []map[string]any{}
	for _, realm := range slices.Sorted(maps.Keys(c.State.Domains)) {
		d := c.State.Domains[realm]
		entry := map[string]any{"realm": realm, "type": d["type"]}
		if d["comment"] != "" {
			entry["comment"] = d["comment"]
		}
		if d["default"] == "1" {
			entry["default"] = 1
		}
		if kind := c.Facts.TypedProperties(c.Facts.Parameters("POST", "/access/domains")["tfa"].Format, d["tfa"])["type"]; kind != nil {
			entry["tfa"] = kind
		}
		out = append(out, entry)
	}
	return out, nil
}

func getDomain(c *engine.Call) (any, error) {
	realm := c.Str("realm")
	if c.State.Domains[realm] == nil {
		return nil, apierr.Errorf("domain '%s' does not exist", realm)
	}
	return c.ShowSection(c.State.Domains, realm), nil
}

// domainOptions returns the options of a realm in a call. The password is stored elsewhere.
func domainOptions(c *engine.Call) map[string]string {
	return c.Section("realm", "password", "check-connection")
}

// neededOfDomain returns the options that a realm of a type requires, in the order in which PVE checks them.
func neededOfDomain(kind string) []string {
	return map[string][]string{
		"ad": {"domain", "server1"}, "ldap": {"base_dn", "server1", "user_attr"}, "openid": {"client-id", "issuer-url"},
	}[kind]
}

func createDomain(c *engine.Call) (any, error) {
	const failed = "add auth server failed: "
	realm, kind := c.Str("realm"), c.Str("type")
	switch {
	case c.State.Domains[realm] != nil:
		return nil, apierr.Errorf(failed+"domain '%s' already exists", realm)
	case realm == "pam" || realm == "pve":
		return nil, apierr.Errorf(failed+"unable to use reserved name '%s'", realm)
	case kind == "pam" || kind == "pve":
		return nil, apierr.Errorf(failed+"unable to create builtin type '%s'", kind)
	case c.Has("check-connection") && kind != "ldap" && kind != "ad":
		return nil, apierr.Errorf(failed + "'check-connection' parameter can only be set for realms of type 'ldap' or 'ad'")
	}
	for _, name := range neededOfDomain(kind) {
		if !c.Has(name) {
			return nil, apierr.Errorf(failed+"missing value for required option '%s'", name)
		}
	}
	c.State.Domains[realm] = domainOptions(c)
	onlyDefault(c, realm)
	return nil, nil //nolint:nilnil // The answer is null.
}

// onlyDefault removes the mark of the default realm from all other realms.
func onlyDefault(c *engine.Call, realm string) {
	for other, d := range c.State.Domains {
		if other != realm && c.Flag("default") {
			delete(d, "default")
		}
	}
}

func updateDomain(c *engine.Call) (any, error) {
	const failed = "update auth server failed: "
	realm := c.Str("realm")
	d, set := c.State.Domains[realm], domainOptions(c)
	switch {
	case c.Has("digest") && c.Str("digest") != state.SectionsDigest(c.State.Domains):
		return nil, apierr.Errorf("%s%s", failed, apierr.Modified())
	case d == nil:
		return nil, apierr.Errorf(failed+"domain '%s' does not exist", realm)
	case c.Has("check-connection") && d["type"] != "ldap" && d["type"] != "ad":
		return nil, apierr.Errorf(failed + "'check-connection' parameter can only be set for realms of type 'ldap' or 'ad'")
	case len(set) == 0 && len(c.Deleted()) == 0 && !c.Has("password"):
		return nil, apierr.Errorf(failed + "no options specified")
	}
	for _, key := range c.Deleted() {
		delete(d, key)
	}
	maps.Copy(d, set)
	onlyDefault(c, realm)
	return nil, nil //nolint:nilnil // The answer is null.
}

func deleteDomain(c *engine.Call) (any, error) {
	realm := c.Str("realm")
	if c.State.Domains[realm] == nil {
		return nil, apierr.Errorf("delete auth server failed: authentication domain '%s' does not exist", realm)
	}
	delete(c.State.Domains, realm)
	return nil, nil //nolint:nilnil // The answer is null.
}

// changePassword sets a password. All users except root confirm it with their own.
func changePassword(c *engine.Call) (any, error) {
	id := c.Str("userid")
	u, err := c.State.ExistingUser(id)
	switch {
	case err != nil:
		return nil, err
	case c.Who == state.Root:
	case id == state.Root:
		return nil, apierr.Forbidden("")
	case !c.Has("confirmation-password"):
		return nil, apierr.Param("confirmation-password", "password is required to modify user")
	case !hmac.Equal([]byte(c.State.Users[string(c.Who)].Password), []byte(c.Str("confirmation-password"))):
		return nil, apierr.Errorf("invalid credentials")
	case id != string(c.Who) && strings.HasSuffix(id, "@pam"):
		return nil, apierr.Forbidden("")
	}
	u.Password = c.Str("password")
	return nil, nil //nolint:nilnil // The answer is null.
}
