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

package layout

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// notListed returns the folders of internal/ whose packages a rule of depguard does not list, each with its reason.
func notListed() map[string]map[string]string {
	const (
		above     = "it is above"
		ownRule   = "a rule of its own says what it may import"
		reads     = "it reads from Proxmox VE, from the Kubernetes API or from servers of files"
		knowsKube = "it writes or reads objects of Crossplane, and is in the rule decides-on-resources"
	)
	controllers := map[string]string{
		"controller": above, "faults": "it has tests only, which run controllers", "proxmox": ownRule, "simulator": ownRule,
	}
	inventory := maps.Clone(controllers)
	maps.Copy(inventory, map[string]string{"connect": above, "metrics": "it counts connections"})
	decides := maps.Clone(inventory)
	maps.Copy(decides, map[string]string{
		"capacity": reads, "guestagent": reads, "importer": reads, "inventory": reads, "tracing": "it carries spans in contexts", "vmcache": reads,
		"imageref": knowsKube, "tenancy": knowsKube, "vmstate": knowsKube, "volumeref": knowsKube,
	})
	return map[string]map[string]string{"below-controllers": controllers, "below-inventory": inventory, "decides": decides}
}

// A depguardRule has the files of a rule.
type depguardRule struct {
	Files []string `json:"files"`
}

// TestImportRules checks that the rules about imports that list packages individually list each package of internal/, so that a new package follows
// them or has a reason.
func TestImportRules(t *testing.T) {
	rules, dirs := depguardRules(t), folders(t, "internal")
	if len(dirs) < 50 {
		t.Fatalf("there are %d packages, want all of internal/", len(dirs))
	}
	for name, exempt := range notListed() {
		rule, used := rules[name], map[string]bool{}
		for _, dir := range slices.Sorted(maps.Keys(dirs)) {
			first, _, _ := strings.Cut(strings.TrimPrefix(dir, "internal/"), "/")
			why, has := exempt[first]
			used[first] = true
			switch listed := rule.covers(dir); {
			case listed && has:
				t.Errorf("the rule %s of .golangci.yml lists %s: take it off the exempt ones", name, dir)
			case !listed && why == "":
				t.Errorf("the rule %s of .golangci.yml does not list %s: add it, or give a reason here", name, dir)
			}
		}
		for first := range exempt {
			if !used[first] {
				t.Errorf("internal/%s does not exist: take it off those exempt from %s", first, name)
			}
		}
	}
}

// TestImportRuleOfCluster checks that the rule about the module cluster lists each of its folders.
func TestImportRuleOfCluster(t *testing.T) {
	rule, dirs := depguardRules(t)["cluster"], folders(t, "cluster")
	if len(dirs) < 15 {
		t.Fatalf("there are %d folders with code in cluster/, want all of the module", len(dirs))
	}
	for dir := range dirs {
		if !rule.covers(dir) {
			t.Errorf("the rule cluster of .golangci.yml does not list %s", dir)
		}
	}
}

// TestPureImportNothingThatCalls checks that a rule keeps contexts and clients out of the packages that docs/development.md calls pure.
func TestPureImportNothingThatCalls(t *testing.T) {
	source, err := os.ReadFile(filepath.Join(root, "docs", "development.md"))
	if err != nil {
		t.Fatal(err)
	}
	rules, pure := depguardRules(t), 0
	for _, row := range regexp.MustCompile(`(?m)^\| (`+"`[^|]*`"+`) \|.*\bpure\b.*\|$`).FindAllStringSubmatch(string(source), -1) {
		for _, dir := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			pure++
			if !rules["decides"].covers(dir[1]) && !rules["decides-on-resources"].covers(dir[1]) {
				t.Errorf("docs/development.md calls %s pure: list it in decides or decides-on-resources of .golangci.yml", dir[1])
			}
		}
	}
	if pure < 30 {
		t.Errorf("docs/development.md calls %d packages pure, want all that are", pure)
	}
}

// depguardRules returns the rules about imports by their names.
func depguardRules(t *testing.T) map[string]depguardRule {
	t.Helper()
	source, err := os.ReadFile(filepath.Join(root, ".golangci.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Linters struct {
			Settings struct {
				Depguard struct {
					Rules map[string]depguardRule `json:"rules"`
				} `json:"depguard"`
			} `json:"settings"`
		} `json:"linters"`
	}
	if err := yaml.Unmarshal(source, &config); err != nil {
		t.Fatal(err)
	}
	return config.Linters.Settings.Depguard.Rules
}

// folders returns the folders of a tree with Go files, by their paths from the root of the repository.
func folders(t *testing.T, tree string) map[string]bool {
	t.Helper()
	dirs := map[string]bool{}
	for path := range sources(t, tree) {
		dirs[filepath.ToSlash(filepath.Dir(path))] = true
	}
	return dirs
}

// covers reports whether a rule applies to a folder.
func (r depguardRule) covers(dir string) bool {
	return slices.ContainsFunc(r.Files, func(pattern string) bool {
		folder, all := strings.CutSuffix(strings.TrimPrefix(pattern, "**/"), "/**")
		if all {
			return dir == folder || strings.HasPrefix(dir, folder+"/")
		}
		return strings.TrimPrefix(pattern, "**/") == dir+"/*.go"
	})
}
