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

package qemu

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// A State is what PVE says of a VM's options.
type State struct {
	// Config of the VM with its pending changes applied, and the part of it that
	// is in force.
	Config, Active Config

	// Pending are the options that change at the next restart, by name.
	Pending []proxmox.PendingValue

	// Digest of the configuration, by which PVE knows that nobody has changed it.
	Digest string
}

// Read what PVE says of a VM's options.
func Read(values []proxmox.PendingValue) State {
	s := State{Config: make(Config, len(values)), Active: make(Config, len(values))}
	for _, p := range values {
		if p.Key == "digest" {
			s.Digest = ptr.Deref(p.Value, "")
			continue
		}
		if p.Value != nil {
			s.Active[p.Key] = *p.Value
		}
		switch {
		case p.Pending != nil:
			s.Config[p.Key] = *p.Pending
		case p.Delete == 0 && p.Value != nil:
			s.Config[p.Key] = *p.Value
		}
		if p.Changes() {
			s.Pending = append(s.Pending, p)
		}
	}
	slices.SortFunc(s.Pending, func(a, b proxmox.PendingValue) int { return strings.Compare(a.Key, b.Key) })
	return s
}

// leaving are the options that are in force and are to go.
func (s State) leaving() Config {
	leaving := maps.Clone(s.Active)
	maps.DeleteFunc(leaving, func(name, _ string) bool { _, stays := s.Config[name]; return stays })
	return leaving
}

// all are the options that are in force or are to be.
func (s State) all() Config {
	all := maps.Clone(s.Active)
	maps.Copy(all, s.Config)
	return all
}
