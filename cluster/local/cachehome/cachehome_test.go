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

package cachehome

import (
	"os"
	"testing"
)

func TestMove(t *testing.T) {
	cases := map[string]struct {
		reason  string
		xdg     string
		gocache string
		want    string
	}{
		"Default":  {reason: "the Go tool keeps the folder that it would have used", xdg: "/home/a/.cache", want: "/home/a/.cache/go-build"},
		"Explicit": {reason: "a folder that was chosen for the Go tool stays", xdg: "/home/a/.cache", gocache: "/builds", want: "/builds"},
		"Again":    {reason: "the worker inherits the choice of the supervisor and changes nothing", xdg: "/repo/.cache", want: ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Setenv("HOME", "/home/a")
			t.Setenv("XDG_CACHE_HOME", tc.xdg)
			t.Setenv("GOCACHE", tc.gocache)
			move("/repo/.cache")
			if got := os.Getenv("XDG_CACHE_HOME"); got != "/repo/.cache" {
				t.Errorf("%s: XDG_CACHE_HOME is %q", tc.reason, got)
			}
			if got := os.Getenv("GOCACHE"); got != tc.want {
				t.Errorf("%s: GOCACHE is %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
