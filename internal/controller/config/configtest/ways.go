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

package configtest

import (
	"hash/crc32"
	"os"
	"slices"
	"testing"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
)

// A Way is a scope and a version of Proxmox VE.
type Way struct {
	Name    string
	Scope   kind.Scope
	Version string
}

// EachWay runs a test in both scopes on both versions. The race detector takes several times as long. With it, and with SCOPES=first, each test runs
// in one way, which its name determines. SCOPES=rest selects the other ways, and SCOPES=sample the one of them in the other scope on the other
// version.
func EachWay(t *testing.T, run func(*testing.T, Way)) {
	t.Helper()
	for _, w := range waysOf(t.Name(), false) {
		t.Run(w.Name, func(t *testing.T) { run(t, w) })
	}
}

// waysOf returns the ways in which to run a test, or one of them if once is set.
func waysOf(test string, once bool) []Way {
	all := ways()
	first := int(crc32.ChecksumIEEE([]byte(test))) % len(all)
	one, rest := all[first:first+1], append(slices.Clone(all[:first]), all[first+1:]...)
	switch selected := os.Getenv("SCOPES"); {
	case once && !isFirst():
		return nil
	case selected == "sample":
		return all[len(all)-1-first:][:1]
	case selected == "rest":
		return rest
	case once, raced, selected == "first":
		return one
	}
	return all
}

// isFirst reports whether the first way of each test is run, alone or among all.
func isFirst() bool {
	selected := os.Getenv("SCOPES")
	return selected != "rest" && selected != "sample"
}

// Once skips a test that runs in one way where SCOPES selects others.
func Once(t *testing.T) {
	t.Helper()
	if !isFirst() {
		t.Skip("it is run in one way, by SCOPES=first")
	}
}

func ways() []Way {
	var all []Way
	for _, scope := range []string{"Cluster", "Namespaced"} {
		for _, version := range []string{"8.4", "9.2"} {
			all = append(all, Way{Name: scope + "/" + version, Scope: scopes()[scope], Version: version})
		}
	}
	return all
}
