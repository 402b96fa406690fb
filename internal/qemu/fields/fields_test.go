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

package fields

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
)

// TestGuideHasEveryOption checks that the guide contains each option with its field.
func TestGuideHasEveryOption(t *testing.T) {
	b, err := os.ReadFile("../../../docs/machine-options.md")
	if err != nil {
		t.Fatal(err)
	}
	names := slices.Concat(slices.Collect(maps.Keys(single)), slices.Collect(maps.Keys(indexed)), slices.Collect(maps.Keys(extras)))
	guide := regexp.MustCompile("`([a-z_-]+)[0-9]*`")
	told := map[string]bool{}
	for _, m := range guide.FindAllStringSubmatch(string(b), -1) {
		told[m[1]] = true
	}
	for _, name := range names {
		s, _ := Stem(name)
		if !told[s] {
			t.Errorf("docs/machine-options.md does not tell of %s", name)
		}
	}
}

// TestExtraValues checks that the values that extraConfig accepts are those of PVE's descriptions.
func TestExtraValues(t *testing.T) {
	known := map[string]bool{}
	for _, version := range []string{"8.4", "9.2"} {
		facts, err := schema.Load(version)
		if err != nil {
			t.Fatal(err)
		}
		parameters := facts.Parameters("POST", "/nodes/{node}/qemu")
		for name, x := range extras {
			property := parameters[name]
			if s, numbered := Stem(name); property == nil && numbered {
				property = parameters[s+"[n]"]
			}
			if property == nil {
				continue // An option of the other version.
			}
			known[name] = true
			for _, value := range property.Enum {
				if why := x.Rejection(value); why != "" {
					t.Errorf("%s: %s %s, which PVE %s takes", name, name, why, version)
				}
			}
			closed := property.Type != "string" || len(property.Enum) > 0 || property.Pattern != "" || len(facts.Format(property.Format)) > 0
			if closed && x.Rejection("no=such") == "" {
				t.Errorf("%s takes anything, and PVE %s does not", name, version)
			}
			if keys := slices.Sorted(maps.Keys(facts.Format(property.Format))); len(keys) > 0 && !slices.Equal(keys, slices.Sorted(slices.Values(x.Keys))) {
				t.Errorf("%s has the keys %q in PVE %s, not %q", name, keys, version, x.Keys)
			}
		}
	}
	if len(known) != len(extras) {
		t.Errorf("PVE describes %d of the options without a field, want %d", len(known), len(extras))
	}
}
