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
	"slices"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
)

// Sections are the entries of one of the cluster's configuration files by their IDs, with the options as the API names
// them. Lists are joined with NUL characters.
type Sections map[string]map[string]string

// sectionFile is how the API changes one configuration file.
type sectionFile struct {
	// create and update are the beginnings of messages of failed calls.
	create, update string
	// taken and missing say with "%s" that an ID is defined already, or is not.
	taken, missing string
	// fixed are the options that cannot be deleted.
	fixed []string
}

// listed are the values of a list.
func listed(value string) []string { return strings.Split(value, "\x00") }

// section returns the options that a call gives an entry.
func (c *call) section(but ...string) map[string]string {
	out := c.given(but...)
	for name, list := range c.Lists {
		out[name] = strings.Join(list, "\x00")
	}
	return out
}

// show is an entry as the API tells it.
func (c *call) showSection(in Sections, id string) map[string]any {
	out := map[string]any{"digest": digestOf(in)}
	for key, value := range in[id] {
		out[key] = c.sectionValue(key, value)
	}
	return out
}

func (c *call) sectionValue(key, value string) any {
	if p := c.method.Parameters.Find(key); p == nil {
		for _, verb := range []string{"POST", "PUT"} {
			if p := c.facts.Parameters(verb, c.path)[key]; p != nil && p.Type == "array" {
				return listed(value)
			}
			if p := c.facts.Parameters(verb, parent(c.path))[key]; p != nil && p.Type == "array" {
				return listed(value)
			}
		}
	}
	return c.typedValue(key, value)
}

func parent(path string) string { return path[:max(strings.LastIndex(path, "/"), 0)] }

func (f *sectionFile) add(in Sections, id string, options map[string]string) error {
	if in[id] != nil {
		return die(f.create+f.taken, id)
	}
	in[id] = options
	return nil
}

// change sets and deletes options of an entry.
func (f *sectionFile) change(c *call, in Sections, id string, set map[string]string) error {
	if c.has("digest") && c.str("digest") != digestOf(in) {
		return die("%s%s", f.update, errModified())
	}
	if in[id] == nil {
		return die(f.update+f.missing, id)
	}
	after := maps.Clone(in[id])
	for _, key := range c.deleted() {
		switch {
		case slices.Contains(f.fixed, key):
			return die("%sunable to delete required option '%s'", f.update, key)
		case set[key] != "":
			return die("%scannot set and delete property '%s' at the same time!", f.update, key)
		case !c.knows(key):
			return die("%sno such option '%s'", f.update, key)
		}
		delete(after, key)
	}
	maps.Copy(after, set)
	in[id] = after
	return nil
}

// knows reports whether the called method has a parameter.
func (c *call) knows(name string) bool {
	if c.method.Parameters.Find(name) != nil {
		return true
	}
	return c.method.Variants != nil && slices.ContainsFunc(slices.Collect(maps.Values(c.method.Variants.Of)), func(ps schema.Properties) bool {
		return ps.Find(name) != nil
	})
}
