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
	"crypto/sha1" //nolint:gosec // PVE uses SHA-1.
	"encoding/hex"
	"maps"
	"slices"
	"strings"
)

// Sections are the entries of one of the cluster's configuration files by their IDs, with options named as in the API. Lists are joined with NUL
// characters.
type Sections map[string]map[string]string

// dropEmpty deletes empty options, which PVE does not write to such a file.
func (s Sections) dropEmpty() {
	for _, options := range s {
		maps.DeleteFunc(options, func(_, value string) bool { return value == "" })
	}
}

// DropEmptyOptions deletes the empty options in all such files.
func (s *State) DropEmptyOptions() {
	for _, file := range []Sections{s.Backups, s.HAGroups, s.HARules, s.Replications, s.Domains, s.SDN.Zones, s.SDN.VNets} {
		file.dropEmpty()
	}
	for _, file := range s.Mappings {
		file.dropEmpty()
	}
	for _, storage := range s.Storages {
		Sections{"": storage.Options}.dropEmpty()
	}
	for _, resource := range s.HA {
		Sections{"": resource.Options}.dropEmpty()
	}
}

// builtinDomains returns the realms that every installation has.
func builtinDomains() Sections {
	return Sections{
		"pam": {"type": "pam", "comment": "Linux PAM standard authentication"},
		"pve": {"type": "pve", "comment": "Proxmox VE authentication server"},
	}
}

// Digest returns PVE's digest of a content.
func Digest(content []byte) string {
	sum := sha1.Sum(content) //nolint:gosec // PVE's digests are SHA-1.
	return hex.EncodeToString(sum[:])
}

// SectionsDigest returns the hash of a configuration file.
func SectionsDigest(list Sections) string {
	text := &strings.Builder{}
	for _, name := range slices.Sorted(maps.Keys(list)) {
		text.WriteString(name + "\n")
		for _, key := range slices.Sorted(maps.Keys(list[name])) {
			text.WriteString(key + " " + list[name][key] + "\n")
		}
	}
	return Digest([]byte(text.String()))
}
