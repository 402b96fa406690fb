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

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/qemu/codec"
	"github.com/vitistack/provider-proxmox/internal/qemu/fields"
)

// extraOptions returns the options of the spec without a field.
func extraOptions(p *v1alpha1.MachineParameters) []Option {
	var options []Option
	for _, name := range slices.Sorted(maps.Keys(p.ExtraConfig)) {
		value := strings.TrimSpace(string(p.ExtraConfig[name])) // This is how PVE stores it.
		options = append(options, Option{Name: name, absent: fields.ExtraOf(name).Absent, Want: codec.Fixed(&value).Want, same: sameExtra(fields.ExtraOf(name))})
	}
	return options
}

// sameExtra compares values as PVE understands them.
func sameExtra(x fields.Extra) func(now, want string) bool {
	return func(now, want string) bool {
		switch {
		case now == want, x.Generated && want == "1" && len(now) > 1:
			return true
		case len(x.Keys) > 0:
			return sameProperties(x.DefaultKey)(now, want)
		}
		return sameNumber(now, want)
	}
}
