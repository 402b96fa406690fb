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

package e2e

import (
	"bufio"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/vitistack/provider-proxmox/cluster/local/machine"
)

// documents returns the files whose commands and links are checked, relative to the top of the checkout.
func documents(t *testing.T) []string {
	t.Helper()
	found := []string{"README.md"}
	err := fs.WalkDir(os.DirFS(checkout.Root()), "docs", func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".md" {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func content(t *testing.T, document string) string {
	t.Helper()
	text, err := os.ReadFile(checkout.Resolve(document))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A block is a fenced block that is marked e2e: of sh, which is run; of yaml, which is applied; or of console, whose command must finally print what
// the block shows.
type block struct {
	language, text string
}

// blocks returns the marked blocks of a document in their order.
func blocks(text string) []block {
	var found []block
	inside, marked := false, false
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		line := lines.Text()
		mark, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && !inside:
			var language string
			language, marked = strings.CutSuffix(mark, " e2e")
			if marked {
				found = append(found, block{language: language})
			}
			inside = true
		case fence:
			inside = false
		case inside && marked:
			found[len(found)-1].text += line + "\n"
		}
	}
	return found
}

func (s *suite) testDocuments(t *testing.T) {
	ran := 0
	for _, document := range documents(t) {
		t.Run(filepath.Base(document), func(t *testing.T) {
			before := s.holdings(t)
			for _, b := range blocks(content(t, document)) {
				s.do(t, b)
				ran++
			}
			s.deleteAll(t)
			s.holdings(t).sameAs(t, before)
		})
	}
	if ran == 0 {
		t.Error("no document has a block that is marked e2e")
	}
}

// do runs a block. If the block configures how to reach a real cluster, the simulator is restored afterwards.
func (s *suite) do(t *testing.T, b block) {
	t.Helper()
	t.Logf("%s:\n%s", b.language, b.text)
	switch b.language {
	case "sh":
		if output, err := s.bash(b.text, ""); err != nil {
			t.Fatalf("%v\n%s", err, output)
		}
	case "yaml":
		if output, err := s.bash("kubectl apply -f -", b.text); err != nil {
			t.Fatalf("%v\n%s", err, output)
		}
	case "console":
		s.compare(t, b.text)
	default:
		t.Fatalf("it is not known what to do with a block of %q", b.language)
	}
	if err := s.connect(); err != nil {
		t.Fatal(err)
	}
}

// compare runs the command of a console block until it prints what the block shows.
func (s *suite) compare(t *testing.T, text string) {
	t.Helper()
	command, want, _ := strings.Cut(strings.TrimPrefix(text, "$ "), "\n")
	want = shape(want)
	s.until(t, func() string {
		got, err := s.bash(command, "")
		if err == nil && shape(got) == want {
			return ""
		}
		return command + " prints\n" + got + "instead of\n" + text
	})
}

// shape returns the parts of an output that are the same whenever a command succeeds: its words, with # for those that contain digits, such as
// addresses and ages, and with single blanks.
func shape(output string) string {
	var lines []string
	for line := range strings.Lines(strings.TrimSpace(output)) {
		words := strings.Fields(line)
		for i, w := range words {
			if strings.ContainsFunc(w, unicode.IsDigit) {
				words[i] = "#"
			}
		}
		lines = append(lines, strings.Join(words, " "))
	}
	return strings.Join(lines, "\n")
}

// bash runs a script in a shell at the top of the checkout, like a reader.
func (s *suite) bash(script, input string) (string, error) {
	cmd := exec.CommandContext(s.ctx, "bash", "-euo", "pipefail", "-c", script)
	cmd.Dir = checkout.Root()
	cmd.Stdin = strings.NewReader(input)
	cmd.Env = append(os.Environ(),
		"KUBECONFIG="+s.Kubeconfig,
		"KUBECACHEDIR="+filepath.Join(s.Dir, "kubectl-cache"),
		"PATH="+filepath.Dir(s.Kubectl)+string(os.PathListSeparator)+os.Getenv("PATH"),
	)
	output, err := cmd.CombinedOutput()
	return string(output), err
}

// deleteAll deletes all Machines and waits until they no longer exist.
func (s *suite) deleteAll(t *testing.T) {
	t.Helper()
	machines, err := machine.List(s.ctx, s.Kube.Config())
	if err != nil {
		t.Fatal(err)
	}
	var keys []machine.Key
	for key := range machines {
		s.kubectl(t, append([]string{"delete", "--wait=false"}, key.Arguments()...)...)
		keys = append(keys, key)
	}
	s.untilGone(t, keys)
}

// TestMarks finds undecided commands: each command in a document is run, or marked as not run.
func TestMarks(t *testing.T) {
	for _, document := range documents(t) {
		for _, finding := range undecided(content(t, document)) {
			t.Errorf("%s: %s", document, finding)
		}
	}
	cases := map[string]struct {
		reason, text string
		want         int
	}{
		"Marked":     {"Commands that are run, and ones that are not.", "```sh e2e\nls\n```\n\n   ```console manual\n   $ ls\n   ```\n", 0},
		"Others":     {"What is no command needs no mark.", "```yaml\na: 1\n```\n\n```text\nlater\n\n    on\n```\n", 0},
		"Unmarked":   {"Nobody knows whether these commands run.", "```sh\nls\n```\n\n```bash now\nls\n```\n", 2},
		"Unlabelled": {"A block without a language may have commands.", "```\n$ ls\n```\n\n   ```\n   $ ls\n   ```\n", 2},
		"Indented":   {"A block that is only indented may have commands.", "Do:\n\n    ls\n    ls\n\n\tls\n", 2},
		"List":       {"An indented text of a list is no code.", "- One\n\n  - two\n\n    three\n", 0},
	}
	for name, tc := range cases {
		if got := undecided(tc.text); len(got) != tc.want {
			t.Errorf("%s: %s\nwant %d findings, got %q", name, tc.reason, tc.want, got)
		}
	}
}

// undecided returns the errors about the blocks of a document: fences without a language, commands without a mark, and blocks without a fence.
func undecided(text string) []string {
	fence := regexp.MustCompile("^ *```(\\S*) *(.*)$")
	item := regexp.MustCompile(`^(?:[-*]|\d+\.) `)
	inside, list, before := false, false, ""
	var found []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		opening := fence.FindStringSubmatch(line)
		switch {
		case opening != nil:
			if finding := ofFence(opening[1], opening[2]); !inside && finding != "" {
				found = append(found, finding)
			}
			inside = !inside
		case inside || line == "":
		case item.MatchString(line):
			list = true
		case !strings.HasPrefix(line, " ") && !strings.HasPrefix(line, "\t"):
			list = list && before != ""
		case before == "" && !list && (strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t")):
			found = append(found, "a block is indented and has no fence, and so no language and no mark: "+line)
		}
		before = line
	}
	return found
}

// ofFence returns the error about a fence.
func ofFence(language, mark string) string {
	commands, marks := []string{"sh", "bash", "shell", "console"}, []string{"e2e", "manual"}
	switch {
	case language == "":
		return "a block names no language: text, if it is none"
	case slices.Contains(commands, language) && !slices.Contains(marks, mark):
		return fmt.Sprintf("a block of commands is marked %q, want one of %q", mark, marks)
	}
	return ""
}

// TestLinks checks that the targets of the documents' links exist in this checkout.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#\s]+)`)
	checked := 0
	for _, document := range documents(t) {
		for _, m := range link.FindAllStringSubmatch(content(t, document), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			checked++
			if _, err := os.Stat(checkout.Resolve(filepath.Join(filepath.Dir(document), m[1]))); err != nil {
				t.Errorf("%s links to %q: %v", document, m[1], err)
			}
		}
	}
	if checked == 0 {
		t.Error("no document has a link within the checkout")
	}
}

// TestMakeTargets checks that the make targets that the documents name exist.
func TestMakeTargets(t *testing.T) {
	named := regexp.MustCompile("(?m)(?:^|`)make ([a-z][a-z0-9-]*)")
	defined := regexp.MustCompile(`(?m)^([a-z][a-z0-9-]*):`)
	var targets []string
	for _, m := range defined.FindAllStringSubmatch(content(t, "Makefile"), -1) {
		targets = append(targets, m[1])
	}
	checked := 0
	for _, document := range documents(t) {
		for _, m := range named.FindAllStringSubmatch(content(t, document), -1) {
			checked++
			if !slices.Contains(targets, m[1]) {
				t.Errorf("%s names %q, which the Makefile does not have", document, "make "+m[1])
			}
		}
	}
	if checked == 0 {
		t.Error("no document names a target of the Makefile")
	}
}
