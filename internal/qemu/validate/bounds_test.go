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

package validate

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
)

// TestBounds checks that an option or key has a version range if, and only if, one version knows it and another does not, as far as the descriptions of
// both show.
func TestBounds(t *testing.T) {
	old, err := schema.Load("8.4")
	if err != nil {
		t.Fatal(err)
	}
	recent, err := schema.Load("9.2")
	if err != nil {
		t.Fatal(err)
	}
	before, now := old.Parameters("POST", "/nodes/{node}/qemu"), recent.Parameters("POST", "/nodes/{node}/qemu")
	for _, parameter := range slices.Sorted(maps.Keys(now)) {
		name := strings.TrimSuffix(parameter, "[n]")
		if before[parameter] == nil && name != "ha-managed" && len(versionRangesOf(name)) == 0 {
			t.Errorf("8.4 does not know %s, and nothing says so", name)
		}
		if before[parameter] == nil {
			continue
		}
		for key := range recent.Format(now[parameter].Format) {
			if _, ok := old.Format(before[parameter].Format)[key]; ok || now[parameter].Format == "" {
				continue
			}
			bounded := slices.ContainsFunc(versionRangesOf(name+"0"), func(b versionRange) bool { return b.key == key })
			alias := name == "agent" && (key == "freeze-fs" || key == "guest-fsfreeze") // Other names of freeze-fs-on-backup.
			if !bounded && !alias {
				t.Errorf("8.4 does not know %s of %s, and nothing says so", key, name)
			}
		}
	}
}
