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
	"testing"
)

func TestFaultPaths(t *testing.T) {
	const clone = "/nodes/pve1/qemu/9000/clone"
	for name, tc := range map[string]struct {
		reason, pattern, path string
		want                  bool
	}{
		"Any":       {reason: "No path is every path.", pattern: "", path: clone, want: true},
		"Star":      {reason: "A star is one segment.", pattern: "/nodes/*/qemu/*/clone", path: clone, want: true},
		"Part":      {reason: "A star may stand for a part of a segment.", pattern: "/nodes/pve*/qemu/9*/clone", path: clone, want: true},
		"NotAcross": {reason: "A star ends at a slash.", pattern: "/nodes/*/clone", path: clone},
		"Across":    {reason: "Two stars go on.", pattern: "/nodes/**/clone", path: clone, want: true},
		"Whole":     {reason: "A pattern is the whole path.", pattern: "/nodes/*", path: clone},
		"Template":  {reason: "Names in braces are one segment.", pattern: "/nodes/{node}/qemu/{vmid}/clone", path: clone, want: true},
		"Prefix":    {reason: "The API's prefix may be there.", pattern: "/api2/json/nodes/*/qemu/*/clone", path: clone, want: true},
		"Regexp":    {reason: "A regular expression may match a part.", pattern: "^/nodes/pve[12]/", path: clone, want: true},
		"Literal":   {reason: "A dot stands for a dot.", pattern: "/nodes/pve.", path: "/nodes/pve1"},
	} {
		t.Run(name, func(t *testing.T) {
			re, err := compile(tc.pattern)
			if err != nil {
				t.Fatal(err)
			}
			if got := re.MatchString(tc.path); got != tc.want {
				t.Errorf("%s: %q matches %q: %t", tc.reason, tc.pattern, tc.path, got)
			}
		})
	}
}
