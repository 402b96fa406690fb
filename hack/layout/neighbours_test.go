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
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"
)

// sharedModules returns the modules that make up most of a program that runs with the provider. If they have the versions of the module cluster, Go
// builds them once.
func sharedModules() []string {
	return []string{
		"k8s.io/api", "k8s.io/apimachinery", "k8s.io/client-go", "k8s.io/kube-openapi", "sigs.k8s.io/controller-runtime",
		"sigs.k8s.io/structured-merge-diff/v6",
	}
}

// TestNeighbourVersions checks that the programs of other projects are built with the versions of the module cluster, except for the IPAM provider,
// which needs older ones.
func TestNeighbourVersions(t *testing.T) {
	want := versionsIn(t, "cluster")
	for _, name := range []string{"externaldns", "flux", "velero"} {
		folder := filepath.Join("cluster", "neighbours", name)
		got := versionsIn(t, folder)
		for _, path := range sharedModules() {
			if want[path] == "" {
				t.Errorf("cluster/go.mod does not require %s", path)
			}
			if v, ok := got[path]; ok && v != want[path] {
				t.Errorf("%s has %s %s, and cluster has %s: build both with one version", folder, path, v, want[path])
			}
		}
		if got["k8s.io/client-go"] == "" {
			t.Errorf("%s does not require k8s.io/client-go", folder)
		}
	}
}

// versionsIn returns the versions of the modules that a module is built with: those that it requires, unless it replaces them.
func versionsIn(t *testing.T, folder string) map[string]string {
	t.Helper()
	text, err := exec.CommandContext(t.Context(), "go", "mod", "edit", "-json", filepath.Join(root, folder, "go.mod")).Output()
	if err != nil {
		t.Fatal(err)
	}
	type version struct{ Path, Version string }
	var mod struct {
		Require []version
		Replace []struct{ Old, New version }
	}
	if err := json.Unmarshal(text, &mod); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, r := range mod.Require {
		all[r.Path] = r.Version
	}
	for _, r := range mod.Replace {
		if r.Old.Path == r.New.Path {
			all[r.Old.Path] = r.New.Version
		}
	}
	return all
}
