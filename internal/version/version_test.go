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

package version

import (
	"runtime/debug"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOf(t *testing.T) {
	cases := map[string]struct {
		reason string
		info   debug.BuildInfo
		want   string
	}{
		"Module": {
			reason: "A program installed as a module has the module's version.",
			info:   debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}},
			want:   "v1.2.3",
		},
		"Commit": {
			reason: "A development build has its commit.",
			info: debug.BuildInfo{
				Main: debug.Module{Version: "(devel)"},
				Settings: []debug.BuildSetting{
					{Key: "vcs.revision", Value: "0123456789abcdef"},
					{Key: "vcs.modified", Value: "false"},
				},
			},
			want: "v0.0.0-dev+0123456789ab",
		},
		"Modified": {
			reason: "A development build says that it is not quite its commit.",
			info: debug.BuildInfo{Settings: []debug.BuildSetting{
				{Key: "vcs.revision", Value: "0123"},
				{Key: "vcs.modified", Value: "true"},
			}},
			want: "v0.0.0-dev+0123.dirty",
		},
		"Nothing": {
			reason: "A build without anything still has a version.",
			want:   "v0.0.0-dev",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, of(&tc.info)); diff != "" {
				t.Errorf("\n%s\nof(): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestString(t *testing.T) {
	if String() == "" {
		t.Error("String(): want some version")
	}
}
