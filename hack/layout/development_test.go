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
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The rows of the table in docs/development.md with the files that a kind touches, and the sum below it.
var (
	kindRow  = regexp.MustCompile("(?m)^\\| (`[^|]+`) \\| ([0-9, ]+)[^|]*\\| .+ \\|$")
	kindPath = regexp.MustCompile("`([^`]+)`")
	kindSum  = regexp.MustCompile(`That is (\d+) lines in (\w+) files`)
	number   = regexp.MustCompile(`\d+`)
)

// ofPool returns expressions for the lines about Pool in files that contain more than that.
func ofPool() map[string]*regexp.Regexp {
	return map[string]*regexp.Regexp{
		"internal/controller/register.go":      regexp.MustCompile(`(?m)^.*(?:controller/pool"|kind: "Pool").*\n`),
		"internal/controller/reasons_test.go":  regexp.MustCompile(`(?m)^\t+"pool": .*\n`),
		"internal/controller/tenants_test.go":  regexp.MustCompile(`(?m)^.*"Pool"[,:] "pool".*\n`),
		"internal/inventory/inventory_test.go": regexp.MustCompile(`(?ms)^func \(p \*pve\) PoolMembers.*?^}\n`),
		"internal/inventory/objects.go": regexp.MustCompile(`(?m)^\t(?:PoolMembers|members) ?[(*].*\n|^// PoolMembers .*\nfunc .*\n.*\n}\n|` +
			`^// InvalidatePoolMembers .*\n.*\n`),
		"internal/proxmox/access.go": regexp.MustCompile(`(?m)^.*\bFeaturePools\b.*\n`),
		"internal/proxmox/objects.go": regexp.MustCompile(`(?ms)^// (?:createPool|PoolMembers|AddPoolMembers|RemovePoolMembers|changePoolMembers)\b.*?^}\n|` +
			`^// The path of pools.*?^\)\n|^func joinNumbers.*?^}\n|^\tif of\.Path == poolsPath \{\n.*?^\t}\n`),
		"internal/proxmox/objects_test.go": regexp.MustCompile(`(?ms)^func (?:poolCollection|TestCreatePoolOnce|TestPoolMembers)\(.*?^}\n|` +
			`^\t\t"Pool(?:Reset)?": \{\n.*?^\t\t\},\n`),
		"README.md":               regexp.MustCompile(`(?m)^.*\[Pool\]\(.*\n`),
		"docs/development.md":     regexp.MustCompile("(?m)^\\| (?:members of a Pool|`internal/controller/config` \\|).*\n"),
		"docs/files.md":           regexp.MustCompile("(?m)^\\| `pool_types\\.go` \\|.*\n"),
		"docs/from-terraform.md":  regexp.MustCompile(`(?m)^.*\[Pool\]\(.*\n`),
		"docs/least-privilege.md": regexp.MustCompile("(?m)^\\| `Pools` \\|.*\n"),
		"docs/uninstalling.md":    regexp.MustCompile(`(?m)^\| Pool \|.*\n`),
	}
}

// ofKindPool matches text about the kind Pool, and not about the pools that Machines and others name.
var ofKindPool = regexp.MustCompile(`\bPool(?:Members|Parameters|Observation)\b|\bFeaturePools\b|controller/pool\b|\bpool_types\b|\[Pool\]\(|` +
	"(?m:^\\| (?:Pool|`Pools`) \\|)|" + `(?m:^kind: Pool$)|\b[kK]ind: "Pool"|"Pool"[,:] "(?:pool|\{\})"|(?m:^\t+"pool": +\{reason)`)

// notOfPool returns files that contain text about the kind Pool but were not created for it, each with the reason.
func notOfPool() map[string]string {
	const example = "the kind is an example there"
	return map[string]string{
		"hack/reference/main_test.go":                     example,
		"hack/wrappers/main.go":                           example,
		"internal/controller/kind/list_test.go":           example,
		"internal/controller/backupjob/backupjob_test.go": "a BackupJob names Pools",
		"internal/faults/denied_test.go":                  "a Machine names a pool",
	}
}

// madeOfPool matches the generated files.
var madeOfPool = regexp.MustCompile(`^(?:apis/(?:cluster|namespaced)/|docs/reference/|examples/namespaced/|package/)|/zz_generated`)

// TestKindFiles checks that both tables have all files with text about the kind Pool.
func TestKindFiles(t *testing.T) {
	all := texts(t)
	_, section, _ := strings.Cut(all["docs/development.md"], "These are the files that Pool touches, by hand:")
	listed, exempt := map[string]bool{}, notOfPool()
	for _, row := range kindRow.FindAllStringSubmatch(section, -1) {
		for _, path := range kindPath.FindAllStringSubmatch(row[1], -1) {
			listed[path[1]] = true
		}
	}
	for path, text := range all {
		switch has := ofKindPool.MatchString(text) && !madeOfPool.MatchString(path); {
		case has && !listed[path] && exempt[path] == "":
			t.Errorf("%s has something of the kind Pool, and the tables of docs/development.md do not name it", path)
		case !has && exempt[path] != "":
			t.Errorf("%s has nothing of the kind Pool: take it off the exempt ones", path)
		}
	}
}

// TestKindTable checks that both tables of the files that Pool touches have the current numbers of lines. The sum is that of the first table.
func TestKindTable(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "development.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "These are the files that Pool touches, by hand:")
	if !found {
		t.Fatal("docs/development.md does not say which files Pool touches")
	}
	byHand, _, _ := strings.Cut(section, "That is ")
	rows := len(kindRow.FindAllString(byHand, -1))
	sum, files := 0, 0
	for at, row := range kindRow.FindAllStringSubmatch(section, -1) {
		want := number.FindAllString(row[2], -1)
		paths := kindPath.FindAllStringSubmatch(row[1], -1)
		if len(want) != len(paths) {
			t.Fatalf("%d files and %d numbers in %s", len(paths), len(want), row[0])
		}
		for i, path := range paths {
			n := poolLines(t, path[1])
			if want[i] != strconv.Itoa(n) {
				t.Errorf("%s has %d lines for Pool, and docs/development.md says %s", path[1], n, want[i])
			}
			if at < rows {
				sum, files = sum+n, files+1
			}
		}
	}
	words := []string{"no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"}
	said := kindSum.FindStringSubmatch(section)
	if files >= len(words) || said == nil || said[1] != strconv.Itoa(sum) || said[2] != words[files] {
		t.Errorf("Pool has %d lines in %d files, and docs/development.md says: %q", sum, files, said)
	}
}

var (
	// named matches the files and folders that docs/development.md names in full.
	named = regexp.MustCompile("`((?:internal|apis|cmd|cluster|docs|hack|examples|package)/[^`<*{ ]*)`")

	// filesOf matches files and their folder in docs/development.md, and fileName one of the files.
	filesOf  = regexp.MustCompile("((?:`[a-z_0-9]+\\.go`(?:, | and )?)+) of `([a-z/_-]+)`")
	fileName = regexp.MustCompile("`([a-z_0-9]+\\.go)`")

	// anyName matches text between backquotes.
	anyName = regexp.MustCompile("`[^`]+`")
)

// TestFolders checks that docs/development.md names each package of internal/, and nothing that does not exist. The packages of the simulator are
// described together.
func TestFolders(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "development.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range named.FindAllStringSubmatch(string(text), -1) {
		if _, err := os.Stat(filepath.Join(root, path[1])); err != nil {
			t.Errorf("docs/development.md names %s, which does not exist", path[1])
		}
	}
	known := map[string]bool{}
	for _, name := range anyName.FindAllString(string(text), -1) {
		known[filepath.Base(strings.Trim(name, "`"))] = true
	}
	for dir := range packages(t) {
		if strings.HasPrefix(dir, "internal/") && !strings.HasPrefix(dir, "internal/simulator/") && !known[filepath.Base(dir)] {
			t.Errorf("docs/development.md does not name %s", dir)
		}
	}
}

// TestFilesOf checks that the files that docs/development.md names together with their folder, which it may shorten, exist.
func TestFilesOf(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "development.md"))
	if err != nil {
		t.Fatal(err)
	}
	pairs := filesOf.FindAllStringSubmatch(string(text), -1)
	if len(pairs) < 50 {
		t.Errorf("docs/development.md names the folder of files %d times, and 50 at least are expected", len(pairs))
	}
	for _, pair := range pairs {
		for _, name := range fileName.FindAllStringSubmatch(pair[1], -1) {
			if !isIn(pair[2], name[1]) {
				t.Errorf("docs/development.md names %s of %s, which does not exist", name[1], pair[2])
			}
		}
	}
}

// isIn reports whether a file is in a folder. The first part of the folder's path may be left out.
func isIn(folder, name string) bool {
	for _, parent := range []string{"", "internal", "internal/controller", "internal/controller/machine", "internal/simulator"} {
		if _, err := os.Stat(filepath.Join(root, parent, folder, name)); err == nil {
			return true
		}
	}
	return false
}

// poolLines returns the lines of a file that are for Pool.
func poolLines(t *testing.T, path string) int {
	t.Helper()
	source, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	if lines := ofPool()[path]; lines != nil {
		return bytes.Count(bytes.Join(lines.FindAll(source, -1), nil), []byte("\n"))
	}
	return bytes.Count(source, []byte("\n"))
}
