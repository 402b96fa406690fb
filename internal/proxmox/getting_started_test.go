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

package proxmox

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestGettingStartedRole checks that the role in the guide for new users has what the features of the guide need, and otherwise only what the guide
// explains.
func TestGettingStartedRole(t *testing.T) {
	guide, err := os.ReadFile(filepath.Join("..", "..", "docs", "getting-started.md"))
	if err != nil {
		t.Fatal(err)
	}
	role := regexp.MustCompile(`pveum role add Crossplane --privs "([^"]*)"`).FindStringSubmatch(string(guide))
	if role == nil {
		t.Fatal("the guide makes no role")
	}
	// For the cluster's state, changes by others, and pools.
	explained := []string{"Pool.Audit", "Sys.Audit", "Sys.Syslog"}
	for release, version := range map[string]Version{"8": {Version: "8.4.21"}, "9": {Version: "9.2.11"}} {
		addition := regexp.MustCompile(`pveum role modify Crossplane --append --privs (\S+) +# Proxmox VE ` + release).FindStringSubmatch(string(guide))
		if addition == nil {
			t.Fatalf("the guide adds nothing for Proxmox VE %s", release)
		}
		got := append(strings.Fields(role[1]), addition[1])
		want := slices.Clone(explained)
		for _, privileges := range Needed(version, FeatureMachines, FeatureMigration, FeatureUserData) {
			want = append(want, privileges...)
		}
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(slices.Compact(want), got); diff != "" {
			t.Errorf("Proxmox VE %s: -want, +got:\n%s", release, diff)
		}
	}
}
