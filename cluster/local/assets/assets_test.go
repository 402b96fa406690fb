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

package assets

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

const goMod = `module example.com/cluster

go 1.26.0

require k8s.io/kubernetes v1.36.3
`

// module writes a Go module with the given go.mod and returns its folder.
func module(t *testing.T, content string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": content, "go.sum": "sums\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// fill writes an empty file for each program into dir.
func fill(t *testing.T, dir string, names ...string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReadPins(t *testing.T) {
	cases := map[string]struct {
		reason string
		goMod  string
		want   string
		fails  bool
	}{
		"Pinned":    {reason: "the version is that of the requirement", goMod: goMod, want: "v1.36.3"},
		"Missing":   {reason: "without Kubernetes there is nothing to build", goMod: "module example.com/cluster\n", fails: true},
		"Malformed": {reason: "a file that is no go.mod is refused", goMod: "}{", fails: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := readPins(module(t, tc.goMod), ControlPlane())
			if (err != nil) != tc.fails {
				t.Fatalf("%s: readPins fails with %v", tc.reason, err)
			}
			if said := strings.Contains(strings.Join(got.stamps, " "), "gitVersion="+tc.want+" "); said == tc.fails {
				t.Errorf("%s: the stamps are %q, want the version %q", tc.reason, got.stamps, tc.want)
			}
		})
	}
}

func TestStamps(t *testing.T) {
	got := strings.Join(ControlPlane().stampsOf("v1.36.3"), "\n")
	for _, want := range []string{
		"-X k8s.io/component-base/version.gitVersion=v1.36.3",
		"-X k8s.io/component-base/version.gitMajor=1",
		"-X k8s.io/component-base/version.gitMinor=36",
		"-X k8s.io/client-go/pkg/version.gitVersion=v1.36.3",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the stamps lack %q:\n%s", want, got)
		}
	}
}

// withProgram returns a module with its own program.
func withProgram(t *testing.T) string {
	t.Helper()
	dir := module(t, goMod)
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte("package main\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestKey(t *testing.T) {
	base := pins{module: module(t, goMod), goVersion: "go1.26.8", stamps: kubernetesStamps("v1.36.3")}
	want, err := base.key()
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		reason string
		pins   pins
		same   bool
	}{
		"Same": {
			reason: "the same pins elsewhere have the same key",
			pins:   pins{module: module(t, goMod), goVersion: "go1.26.8", stamps: kubernetesStamps("v1.36.3")}, same: true,
		},
		"Go":         {reason: "another Go gives other programs", pins: pins{module: base.module, goVersion: "go1.26.9", stamps: kubernetesStamps("v1.36.3")}},
		"Kubernetes": {reason: "another version is stamped differently", pins: pins{module: base.module, goVersion: "go1.26.8", stamps: kubernetesStamps("v1.36.4")}},
		"Program": {
			reason: "the source of a program of the module itself counts",
			pins:   pins{module: withProgram(t), goVersion: "go1.26.8", stamps: kubernetesStamps("v1.36.3")},
		},
		"Modules": {reason: "any change of go.mod counts", pins: pins{module: module(t, goMod+"\n"), goVersion: "go1.26.8", stamps: kubernetesStamps("v1.36.3")}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := tc.pins.key()
			if err != nil {
				t.Fatal(err)
			}
			if (got == want) != tc.same {
				t.Errorf("%s: the keys are %q and %q", tc.reason, want, got)
			}
		})
	}
}

func TestPathsWithGivenFolder(t *testing.T) {
	cases := map[string]struct {
		reason string
		given  []string
		fails  string
	}{
		"All":       {reason: "a folder that holds all programs is used", given: []string{Etcd, APIServer, Kubectl}},
		"NoKubectl": {reason: "the error names the program that the folder lacks", given: []string{Etcd, APIServer}, fails: Kubectl},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := Provider{Module: module(t, goMod), Cache: t.TempDir(), Given: t.TempDir(), Report: Reporter{Out: &bytes.Buffer{}}}
			fill(t, p.Given, tc.given...)
			got, err := p.Paths(t.Context())
			if (err != nil) != (tc.fails != "") || (err != nil && !strings.Contains(err.Error(), tc.fails)) {
				t.Fatalf("%s: Paths fails with %v", tc.reason, err)
			}
			if err != nil {
				return
			}
			if diff := cmp.Diff(in(p.Given), got); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// cachedDir returns the folder in which a provider looks for what it built.
func cachedDir(t *testing.T, p Provider) string {
	t.Helper()
	_, dir, err := p.locate(ControlPlane())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestDirIsSilentWhenCached(t *testing.T) {
	var out bytes.Buffer
	p := Provider{Module: module(t, goMod), Cache: t.TempDir(), Report: Reporter{Out: &out}}
	want := cachedDir(t, p)
	fill(t, want, Etcd, APIServer, Kubectl)
	got, err := p.Dir(t.Context())
	if err != nil || got != want {
		t.Errorf("Dir = %q, %v, want %q", got, err, want)
	}
	if out.Len() > 0 {
		t.Errorf("it says %q although there is nothing to do", out.String())
	}
}

// tiny returns a module with its own program, which builds in a moment.
func tiny(t *testing.T, source string) (string, program) {
	t.Helper()
	dir := module(t, "module example.com/tiny\n\ngo 1.26.0\n")
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, program{name: "tiny", pkg: ".", cold: time.Second}
}

func TestCompile(t *testing.T) {
	cases := map[string]struct {
		reason string
		source string
		fails  string
		files  []string
	}{
		"Good": {reason: "a program that builds is kept, and nothing else", source: "package main\n\nfunc main() {}\n", files: []string{"tiny"}},
		"Bad": {
			reason: "of one that does not nothing is kept, and the compiler's words are shown",
			source: "package main\n\nfunc main() { x }\n", fails: "undefined: x",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir, w := tiny(t, tc.source)
			out := t.TempDir()
			var said bytes.Buffer
			p := Provider{Module: dir, Report: Reporter{Out: &said}}
			err := p.compile(t.Context(), out, pins{stamps: kubernetesStamps("v1.36.3")}, w, "(1/1)")
			if (err != nil) != (tc.fails != "") || (err != nil && !strings.Contains(err.Error(), tc.fails)) {
				t.Fatalf("%s: compile fails with %v", tc.reason, err)
			}
			if got := names(t, out); !cmp.Equal(tc.files, got) {
				t.Errorf("%s: it leaves %v, want %v", tc.reason, got, tc.files)
			}
			if !strings.Contains(said.String(), "building tiny (1/1)") {
				t.Errorf("%s: it says %q", tc.reason, said.String())
			}
		})
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// signalWriter reports each write to a channel.
type signalWriter chan string

func (w signalWriter) Write(b []byte) (int, error) {
	w <- string(b)
	return len(b), nil
}

func TestLockWaitsForItsHolder(t *testing.T) {
	said := make(signalWriter, 1)
	p := Provider{Cache: t.TempDir(), Report: Reporter{Out: said}}
	unlock, err := p.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		second, err := p.lock(context.Background())
		if err == nil {
			second()
		}
		done <- err
	}()
	if line := <-said; !strings.Contains(line, "waiting") {
		t.Errorf("who waits says %q", line)
	}
	select {
	case err := <-done:
		t.Fatalf("the lock was given twice (%v)", err)
	default:
	}
	unlock()
	if err := <-done; err != nil {
		t.Errorf("the lock was not given after its release: %v", err)
	}
}

func TestLockEndsWithItsContext(t *testing.T) {
	p := Provider{Cache: t.TempDir(), Report: Reporter{Out: &bytes.Buffer{}}}
	holder, err := os.Create(filepath.Join(p.Cache, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close() //nolint:errcheck // Only locked.
	if err := unix.Flock(int(holder.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.lock(ctx); err == nil {
		t.Error("a lock that another holds was given")
	}
}

func TestPrune(t *testing.T) {
	p := Provider{Cache: t.TempDir()}
	current := filepath.Join(p.Cache, "current")
	for name, age := range map[string]time.Duration{"current": 2 * keep, "recent": keep / 2, "old": 2 * keep} {
		dir := filepath.Join(p.Cache, name)
		fill(t, dir, Etcd)
		when := time.Now().Add(-age)
		if err := os.Chtimes(dir, when, when); err != nil {
			t.Fatal(err)
		}
	}
	p.prune(current)
	if diff := cmp.Diff([]string{"current", "recent"}, names(t, p.Cache)); diff != "" {
		t.Errorf("prune keeps: -want, +got:\n%s", diff)
	}
}
