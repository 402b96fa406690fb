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
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// Typed returns values with the types of this path's parameters of the same names.
func (c *Call) Typed(values map[string]string) map[string]any {
	out := map[string]any{}
	for key, value := range values {
		out[key] = c.TypedValue(key, value)
	}
	return out
}

// TypedValue converts a value to the type of its parameter.
func (c *Call) TypedValue(key, value string) any {
	for _, verb := range []string{"PUT", "POST"} {
		p := c.Facts.Parameters(verb, c.Path)[key]
		if p == nil || (p.Type != "integer" && p.Type != "boolean") {
			continue
		}
		if n, err := strconv.Atoi(value); err == nil {
			return n
		}
	}
	return value
}

// Given returns the parameters of a call, except those that determine its target.
func (c *Call) Given(but ...string) map[string]string {
	out := maps.Clone(c.Values)
	for _, name := range append(but, "node", "vmid", "digest", "delete") {
		delete(out, name)
	}
	return out
}

// Now returns the current time.
func (c *Call) Now() time.Time { return c.Engine.Clock.Now() }

// Str returns a parameter as text. It is empty if absent.
func (c *Call) Str(name string) string { return c.Values[name] }

// Field returns a parameter as stored in the file of users, without surrounding blanks.
func (c *Call) Field(name string) string { return strings.Trim(c.Values[name], " ") }

// Num returns an integer parameter, or 0 if it is absent.
func (c *Call) Num(name string) int { return schema.Int(c.Values[name]) }

// Flag reports whether a boolean parameter is true.
func (c *Call) Flag(name string) bool { return c.Values[name] == "1" }

// Has reports whether a parameter is given.
func (c *Call) Has(name string) bool {
	_, ok := c.Values[name]
	return ok
}

// Deleted returns the options that a call is to delete.
func (c *Call) Deleted() []string { return schema.SplitList(c.Values["delete"]) }

// VMID returns the VMID of a call.
func (c *Call) VMID() int { return c.Num("vmid") }

// Guest returns the VM or container of the call, on the node that answers.
func (c *Call) Guest() (*state.Guest, error) {
	if strings.HasPrefix(c.Method.Path, "/nodes/{node}/lxc/") {
		return c.State.Container(c.Node, c.VMID())
	}
	return c.State.Guest(c.Node, c.VMID())
}

// RootOnly fails if a user other than root@pam sets an option that is reserved for root@pam.
func (c *Call) RootOnly(names ...string) error {
	for _, name := range names {
		if c.Has(name) && c.Str(name) != "0" && c.Who != state.Root {
			return apierr.Param(name, "Only root may use this option.")
		}
	}
	return nil
}

// Knows reports whether the called method has a parameter.
func (c *Call) Knows(name string) bool {
	if c.Method.Parameters.Find(name) != nil {
		return true
	}
	return c.Method.Variants != nil && slices.ContainsFunc(slices.Collect(maps.Values(c.Method.Variants.Of)), func(ps schema.Properties) bool {
		return ps.Find(name) != nil
	})
}
