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
	"strings"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// A SectionFile describes how the API changes one configuration file.
type SectionFile struct {
	// Create and Update are the beginnings of the messages of failed calls.
	Create, Update string
	// Taken and Missing are the messages, with "%s", for an ID that is already defined, or is not.
	Taken, Missing string
	// Fixed are the options that cannot be deleted.
	Fixed []string
}

// Listed returns the values of a list.
func Listed(value string) []string { return strings.Split(value, "\x00") }

// Section returns the options of an entry in a call.
func (c *Call) Section(but ...string) map[string]string {
	out := c.Given(but...)
	for name, list := range c.Lists {
		out[name] = strings.Join(list, "\x00")
	}
	return out
}

// ShowSection returns an entry as the API shows it.
func (c *Call) ShowSection(in state.Sections, id string) map[string]any {
	out := map[string]any{"digest": state.SectionsDigest(in)}
	for key, value := range in[id] {
		out[key] = c.sectionValue(key, value)
	}
	return out
}

func (c *Call) sectionValue(key, value string) any {
	if p := c.Method.Parameters.Find(key); p == nil {
		for _, verb := range []string{"POST", "PUT"} {
			if p := c.Facts.Parameters(verb, c.Path)[key]; p != nil && p.Type == "array" {
				return Listed(value)
			}
			if p := c.Facts.Parameters(verb, parent(c.Path))[key]; p != nil && p.Type == "array" {
				return Listed(value)
			}
		}
	}
	return c.TypedValue(key, value)
}

func parent(path string) string { return path[:max(strings.LastIndex(path, "/"), 0)] }

// Add adds an entry.
func (f *SectionFile) Add(in state.Sections, id string, options map[string]string) error {
	if in[id] != nil {
		return apierr.Errorf(f.Create+f.Taken, id)
	}
	in[id] = options
	return nil
}

// Change sets and deletes options of an entry.
func (f *SectionFile) Change(c *Call, in state.Sections, id string, set map[string]string) error {
	if c.Has("digest") && c.Str("digest") != state.SectionsDigest(in) {
		return apierr.Errorf("%s%s", f.Update, apierr.Modified())
	}
	if in[id] == nil {
		return apierr.Errorf(f.Update+f.Missing, id)
	}
	after := maps.Clone(in[id])
	for _, key := range c.Deleted() {
		switch {
		case slices.Contains(f.Fixed, key):
			return apierr.Errorf("%sunable to delete required option '%s'", f.Update, key)
		case set[key] != "":
			return apierr.Errorf("%scannot set and delete property '%s' at the same time!", f.Update, key)
		case !c.Knows(key):
			return apierr.Errorf("%sno such option '%s'", f.Update, key)
		}
		delete(after, key)
	}
	maps.Copy(after, set)
	in[id] = after
	return nil
}
