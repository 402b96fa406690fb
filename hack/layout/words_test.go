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
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// formerIdentifiers are names that code had and that a reader could not guess. Names that
// are also ordinary words in use elsewhere are not listed.
const formerIdentifiers = `
	BurnVMID KeepVMID KeepCreate OursLine OnRepair OutdatesDrive JoinsBoot takenBack settleSight relook inVain
	aimless takeAim ruleBond haRuling founder uprooted unsown sow sown weed weeds plots errand errands newborn
	beingBorn births spotter sights glance doubts disputes vmSight sightOf vmSightOf bequeath heritage tinker stride
	strides rival rivals roams remnant journey fleet fleetOf newFleet crowd newCrowd verdicts outlivedDefinition
	StableAge WakeTurns KnownGuests RecentGuests FreshTasks
	AnnotationSeeds AnnotationRan AnnotationOutlived ReasonNetworkPending
	Doom mortal posthumous SurroundingsHold
	clash clashes unfit flaw flaws outdate unmade meddled bark veil
	infer ruling survey sows sight blur travels booking Births Surroundings Crowd Rival departure contest Placing Inherit born Unborn Halfborn
`

// formerStrings are what users saw before the first release: reasons, events and
// annotations. They stand where they are migrated, and nowhere else.
const formerStrings = `
	NotOurs OtherCluster NotInDesiredPowerState RestartDidNotApply WouldNotStart ImagesLeft DisksLeft ReplicasLeft
	TaskWarned ran-since restarted-for last-restart-hash outlived-definition safety-interval feed-interval
`

// migrates returns the files that may have former strings, since they carry over what
// has them or test that.
func migrates() []string {
	return []string{
		"CHANGELOG.md",
		"cmd/provider/options.go", "cmd/provider/options_test.go",
		"internal/controller/kind/crd_guard.go", "internal/controller/kind/crd_guard_test.go",
		"internal/controller/machine/object/annotations.go", "internal/controller/machine/annotation_recovery_test.go",
	}
}

func TestFormerNames(t *testing.T) {
	identifiers, seen := wordsOf(formerIdentifiers), wordsOf(formerStrings)
	migrated := map[string]bool{}
	for path, text := range texts(t) {
		for _, word := range identifiers.FindAllString(text, -1) {
			if filepath.Ext(path) == ".go" {
				t.Errorf("%s has the former name %q: use the standard term", path, word)
			}
		}
		for _, word := range seen.FindAllString(text, -1) {
			migrated[path] = true
			if !slices.Contains(migrates(), path) {
				t.Errorf("%s has %q, which users saw before the first release: use the present name", path, word)
			}
		}
	}
	for _, path := range migrates() {
		if !migrated[path] {
			t.Errorf("%s migrates nothing any more: take it off the list", path)
		}
	}
}

// wordsOf returns an expression for each word of a list, whole and as it is written.
func wordsOf(list string) *regexp.Regexp {
	return regexp.MustCompile(`\b(` + strings.Join(strings.Fields(list), "|") + `)\b`)
}

// texts returns the files of the repository that people write, by path.
func texts(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && (name == "testdata" || name == ".git" || name == ".cache" || name == "layout"):
			return filepath.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil || bytes.IndexByte(b, 0) >= 0 {
			return err
		}
		path, err = filepath.Rel(root, path)
		all[filepath.ToSlash(path)] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 500 {
		t.Fatalf("there are %d files, want the whole repository: %q", len(all), slices.Sorted(maps.Keys(all)))
	}
	return all
}

// leaning matches the reason of a test case that leans on the one before it, which may be another one: maps have no order.
var leaning = regexp.MustCompile(`\breason:\s*["` + "`" + `](And|But|So|Nor|Also|Neither|Or|Then|Yet)\b[^"` + "`" + `]*`)

func TestReasonsStandAlone(t *testing.T) {
	for path, text := range texts(t) {
		if !strings.HasSuffix(path, "_test.go") {
			continue
		}
		for _, reason := range leaning.FindAllString(text, -1) {
			t.Errorf("%s: %s: write what holds so that it can be read without the case before it", path, reason)
		}
	}
}
