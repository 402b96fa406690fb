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
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestNamesInMakefile checks that the tests that the Makefile runs separately by their names exist: a renamed one would run elsewhere, or not at all.
func TestNamesInMakefile(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	var tests strings.Builder
	err = filepath.WalkDir(filepath.Join(root, "internal"), func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		tests.Write(source)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	lists := regexp.MustCompile(`(?m)^(?:SCALE|TABLE_NAMES) :?= (.*)$`).FindAllStringSubmatch(string(text), -1)
	if len(lists) != 2 {
		t.Fatalf("want the lists SCALE and TABLE_NAMES, got %q", lists)
	}
	for _, list := range lists {
		for _, name := range regexp.MustCompile(`Test\w+(?:\([\w|]+\))?`).FindAllString(list[1], -1) {
			if !regexp.MustCompile(`(?m)^func ` + name + `\(`).MatchString(tests.String()) {
				t.Errorf("there is no test %s, which the Makefile names", name)
			}
		}
	}
}
