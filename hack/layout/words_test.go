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
	"unicode"
)

// formerIdentifiers are former names in code that a reader could not guess, as whole words or as parts of longer names. Names that are also ordinary
// words in use elsewhere are not listed.
const formerIdentifiers = `
	BurnVMID KeepVMID KeepCreate OursLine OnRepair OutdatesDrive JoinsBoot takenBack settleSight relook inVain
	aimless takeAim ruleBond haRuling founder uprooted unsown sow sown weed weeds plots errand errands newborn
	beingBorn births spotter sights glance doubts disputes vmSight sightOf vmSightOf bequeath heritage tinker stride
	strides rival rivals roams remnant journey fleet fleetOf newFleet crowd newCrowd verdicts outlivedDefinition
	StableAge WakeTurns KnownGuests RecentGuests FreshTasks
	AnnotationSeeds AnnotationRan AnnotationOutlived ReasonNetworkPending
	Doom mortal posthumous SurroundingsHold
	clash clashes unfit flaw flaws outdate unmade meddled bark veil
	KnownOptions KnownSnapshots lowPriorityPace restAfter RestTime EndRest RestsUntil rested joinsBoot Tinkering
	distrust greet parcel parcels park recall Survey stranded unpark whereabouts
	infer ruling survey sows sight blur travels booking Births Surroundings Crowd Rival departure contest Placing Inherit born Unborn Halfborn
	kin Kin kinReader heardBy believedBy believing Believes heldBeside signedToHave keepApart presumed commons besideTenants nobodyBeside unknownBeside
	territory handedOn HandedOn pooledFor taggedFor retag namesTags unwantedTags mayLeave MayEnd madeDisk CarryTenant AdoptsDisk SavesMemory
`

// formerStrings are strings that users saw before the first release: reasons, events and annotations. They may occur only where they are migrated.
const formerStrings = `
	NotOurs OtherCluster NotInDesiredPowerState RestartDidNotApply WouldNotStart ImagesLeft DisksLeft ReplicasLeft
	TaskWarned ran-since restarted-for last-restart-hash outlived-definition safety-interval feed-interval
`

// migrates returns the files that may contain former strings, since they migrate them or test that.
func migrates() []string {
	return []string{
		"CHANGELOG.md",
		"cmd/provider/options.go", "cmd/provider/options_test.go",
		"internal/controller/kind/crd_guard.go", "internal/controller/kind/crd_guard_test.go",
		"internal/controller/machine/object/annotations.go", "internal/controller/machine/annotation_recovery_test.go",
	}
}

// formerFlag matches the former flag --selector of the provider. Since kubectl has that flag too, it only counts in documents and manifests, in lines
// that do not name kubectl. Check and import still have --provider-config.
var formerFlag = regexp.MustCompile(`--selector\b`)

func TestFormerNames(t *testing.T) {
	identifiers, seen := partsOf(formerIdentifiers), wordsOf(formerStrings)
	migrated, former := map[string]bool{}, map[string]bool{}
	for path, text := range texts(t) {
		if filepath.Ext(path) == ".go" {
			for _, word := range strings.FieldsFunc(text, separates) {
				if _, known := former[word]; !known {
					former[word] = identifiers.MatchString(word)
				}
				if former[word] {
					t.Errorf("%s has the former name %q: use the standard term", path, word)
				}
			}
		}
		for line := range strings.Lines(text) {
			document := (filepath.Ext(path) == ".md" || filepath.Ext(path) == ".yaml") && path != "CHANGELOG.md"
			if document && formerFlag.MatchString(line) && !strings.Contains(line, "kubectl") {
				t.Errorf("%s has the former flag --selector, which is --watch-label-selector now: %s", path, line)
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

// separates reports whether a character is not part of an identifier.
func separates(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }

// partsOf returns an expression for each word of a list, as it is written, and for longer words that contain it: Survey is a part of SurveyNodes and of
// nodeSurvey.
func partsOf(list string) *regexp.Regexp {
	words := strings.Fields(list)
	within := make([]string, 0, len(words))
	for _, w := range words {
		within = append(within, strings.ToUpper(w[:1])+w[1:])
	}
	return regexp.MustCompile(`(?:\b(?:` + strings.Join(words, "|") + `)|[a-z0-9](?:` + strings.Join(within, "|") + `))(?:[A-Z0-9_]|\b)`)
}

func TestPartsOf(t *testing.T) {
	cases := map[string]struct {
		reason, source string
		want           bool
	}{
		"Whole":   {reason: "A former name as a word of its own is found.", source: "t.Survey(ctx)", want: true},
		"First":   {reason: "A former name at the beginning of a longer one is found.", source: "t.SurveyNodes(ctx)", want: true},
		"Last":    {reason: "A former name at the end of a longer one is found.", source: "nodeSurvey := 1", want: true},
		"Middle":  {reason: "A former name that is written small is found in the middle of a longer one, with a capital.", source: "anHaRulingOf()", want: true},
		"Longer":  {reason: "A word that only begins like a former name is another word.", source: "Surveyor(ctx)"},
		"Written": {reason: "An ordinary word that is written otherwise is not a former name.", source: "// a survey of nodes"},
		"Inside":  {reason: "A word that has a former name inside without a capital is another word.", source: "a scruling of"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := partsOf("Survey ruling").MatchString(tc.source); got != tc.want {
				t.Errorf("%s\nwant it found: %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}

// wordsOf returns an expression for each whole word of a list, as it is written.
func wordsOf(list string) *regexp.Regexp {
	return regexp.MustCompile(`\b(` + strings.Join(strings.Fields(list), "|") + `)\b`)
}

// texts returns the hand-written files of the repository, by path.
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

// leaning matches the reason of a test case, written with its name or as the first field, that depends on another reason, which may not be the previous
// one since maps have no order. Such a reason begins with a conjunction, or with a pronoun for a subject that it does not name. Or it is a part of a
// sentence: it begins with Of, By or As, or with another preposition and has no subject, it ends with too, or it has fewer than four words.
var leaning = regexp.MustCompile(`(?m)(?:\breason:\s*|^\s*(?:"[^"\n]*":\s*)?\{\s*)["\x60]` +
	`(?:(?:And|But|So|Nor|Also|Neither|Or|Then|Yet|It|Its|They|Their|This|That|These|Those|Both)\b[^"\x60]*["\x60]\s*(?:[,}+]|$)|` +
	`(?:(?:Of|By|As)\b[^"\x60]*|` +
	`(?:In|With|Without)\b[^"\x60]*\b(?:it|its|they|them|one|ones|any|that)\b[^"\x60]*|` +
	`(?:In|With|Without)(?: [^"\x60\s]+){0,3}\.|` +
	`[A-Z][^"\x60]*\btoo\.|` +
	`[A-Z][^"\x60\s\\]*(?: [^"\x60\s\\]+){0,2}\.)["\x60]\s*(?:[,}]|$))`)

func TestReasonsStandAlone(t *testing.T) {
	for path, text := range texts(t) {
		if !strings.HasSuffix(path, "_test.go") {
			continue
		}
		for _, reason := range leaning.FindAllString(text, -1) {
			t.Errorf("%s: %s: name what holds, and of what, so that it can be read without another case", path, strings.TrimSpace(reason))
		}
	}
}

func TestLeaning(t *testing.T) {
	cases := map[string]struct {
		reason, source string
		leans          bool
	}{
		"Subject":     {reason: "A reason that names its subject stands alone.", source: `"A": {reason: "A VM stays off.", want: true},`},
		"Within":      {reason: "A word for a subject that the reason has named is no matter.", source: `"A": {reason: "A VM stays as it is."},`},
		"Longer":      {reason: "A word that only begins like one of them is another one.", source: `"A": {reason: "Items stay as they are."},`},
		"Pronoun":     {reason: "A pronoun has its subject elsewhere.", source: `"A": {reason: "It stays.", want: true},`, leans: true},
		"Possessive":  {reason: "A possessive has its owner elsewhere.", source: `"A": {reason: "Its disks stay."},`, leans: true},
		"Several":     {reason: "A plural pronoun has its subject elsewhere.", source: `{reason: "They stay."},`, leans: true},
		"Pointing":    {reason: "A word that points has its subject elsewhere.", source: `{reason: "That of a clone is kept."},`, leans: true},
		"Both":        {reason: "Two that are meant are named elsewhere.", source: `{reason: "Both stay."},`, leans: true},
		"Conjunction": {reason: "A conjunction goes on with another sentence.", source: `{reason: "And nothing else."},`, leans: true},
		"NextLine":    {reason: "A case may be written in several lines.", source: "\"A\": {\n\treason: \"It stays.\",\n},", leans: true},
		"Raw":         {reason: "A reason may be a raw string.", source: "\"A\": {reason: `It stays.`},", leans: true},
		"Joined":      {reason: "A reason may be made of several strings.", source: `"A": {reason: "It is " + name},`, leans: true},
		"First":       {reason: "A reason may be the first field of a case without its name.", source: `"A": {"It stays.", true},`, leans: true},
		"FirstBelow":  {reason: "The first field may be on a line of its own.", source: "\"A\": {\n\t\"They stay.\", true,\n},", leans: true},
		"Unkeyed":     {reason: "A step of a list has no key.", source: `{"It is.", none, 1},`, leans: true},
		"Fragment":    {reason: "A part of a sentence has its verb elsewhere.", source: `"A": {reason: "As the other one is by itself."},`, leans: true},
		"Preposition": {reason: "A preposition and a pronoun have their subject elsewhere.", source: `{reason: "Without one all VMs stay."},`, leans: true},
		"Place":       {reason: "A place alone is a part of a sentence.", source: `{reason: "In any namespace."},`, leans: true},
		"Whole":       {reason: "A sentence may begin with a preposition.", source: `{reason: "Without tenants nothing is hidden."},`},
		"Too":         {reason: "A sentence that ends with too adds to another one.", source: `{reason: "A VM that is off stays, too."},`, leans: true},
		"Short":       {reason: "Three words say too little.", source: `{reason: "Disks are large."},`, leans: true},
		"Long":        {reason: "Four words may be a sentence.", source: `{reason: "A disk is large."},`},
		"Path":        {reason: "A path is no reason.", source: "\t\t{\"cluster/...\", 1},"},
		"Key":         {reason: "The key of a map in a map is no reason.", source: `"A": {"It is of a disk.": "size|format"},`},
		"Message":     {reason: "A message of a test is no reason.", source: `t.Error("It stays.")`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := leaning.MatchString(tc.source); got != tc.leans {
				t.Errorf("%s\nwant that it leans: %t, got %t", tc.reason, tc.leans, got)
			}
		})
	}
}
