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

package importer

import (
	"path"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// A Filter selects guests. Each list that is not empty has to match the guest.
type Filter struct {
	// Nodes that the guest may be on.
	Nodes []string

	// Pools that the guest may be a member of.
	Pools []string

	// Tags of which the guest must have one, regardless of case.
	Tags []string

	// Names of the guest, which may contain * ? and [] as wildcards.
	Names []string

	// VMIDs of the guest.
	VMIDs []int
}

// Validate validates the patterns.
func (f Filter) Validate() error {
	for _, p := range f.Names {
		if _, err := path.Match(p, ""); err != nil {
			return errors.Errorf("%q is not a pattern of names", p)
		}
	}
	return nil
}

func (f Filter) keeps(g proxmox.Guest) bool {
	return oneOf(f.Nodes, func(n string) bool { return n == g.Node }) &&
		oneOf(f.Pools, func(p string) bool { return p == g.Pool }) &&
		oneOf(f.VMIDs, func(id int) bool { return id == g.VMID }) &&
		oneOf(f.Names, func(p string) bool { ok, err := path.Match(p, g.Name); return ok && err == nil }) &&
		oneOf(f.Tags, func(t string) bool {
			return slices.ContainsFunc(g.Tags, func(has string) bool { return strings.EqualFold(has, t) })
		})
}

// oneOf reports whether one of the values matches, or there are none.
func oneOf[T any](values []T, fits func(T) bool) bool {
	return len(values) == 0 || slices.ContainsFunc(values, fits)
}
