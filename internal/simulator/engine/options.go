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
	"strconv"
	"sync"

	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
)

// Option returns the type of a configuration option.
func (s *Engine) Option(key string) *schema.Property { return s.creation.Find(key) }

// ConfigOption reports whether a key is an option of the configuration: a parameter of a change that does not control the change itself.
func (s *Engine) ConfigOption(key string) bool {
	switch key {
	case "node", "vmid", "digest", "delete", "revert", "force", "skiplock", "background_delay", "import-working-storage", "cdrom":
		return false
	case "meta":
		return true // It is an option, although the API does not accept it.
	}
	return s.change.Find(key) != nil
}

// Parse parses a property string. The result is empty for an invalid one. The caller may change the result.
func (s *Engine) Parse(key, value string) map[string]string { return maps.Clone(s.Read(key, value)) }

// Read parses options for callers that change nothing.
func (s *Engine) Read(key, value string) map[string]string {
	p := s.Option(key)
	if p == nil {
		return map[string]string{}
	}
	return s.parsed.get(p.Format, value, func() map[string]string {
		out, err := s.Facts.ParseProperties(p.Format, value)
		if err != nil {
			return map[string]string{}
		}
		return out
	})
}

// parseCache caches parsed property strings, because many guests have the same ones and lists read all of them.
type parseCache struct {
	mu      sync.Mutex
	entries map[[2]string]map[string]string
}

// maxParsed is how many property strings are cached before the cache is cleared.
const maxParsed = 100_000

func (c *parseCache) get(format, value string, read func() map[string]string) map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := [2]string{format, value}
	if out, ok := c.entries[key]; ok {
		return out
	}
	if c.entries == nil || len(c.entries) >= maxParsed {
		c.entries = map[[2]string]map[string]string{}
	}
	c.entries[key] = read()
	return c.entries[key]
}

// Print writes a property string.
func (s *Engine) Print(key string, values map[string]string) string {
	return s.Facts.FormatProperties(s.Option(key).Format, values)
}

// Show converts the options of a configuration to the values that the API returns: integers and booleans as numbers, passwords masked.
func (s *Engine) Show(config map[string]string) map[string]any {
	out := map[string]any{}
	for key, value := range config {
		out[key] = s.ShowValue(key, value)
	}
	return out
}

// Mask replaces passwords in answers.
const Mask = "**********"

// ShowValue converts the value of an option to the value that the API returns.
func (s *Engine) ShowValue(key, value string) any {
	if key == "cipassword" {
		return Mask
	}
	p := s.Option(key)
	if p == nil {
		return value
	}
	if p.Type == "integer" || p.Type == "boolean" {
		if n, err := strconv.ParseInt(value, 10, 64); err == nil {
			return n
		}
	}
	if value == "" {
		return " "
	}
	return value
}
