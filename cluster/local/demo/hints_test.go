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

package demo

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitistack/provider-proxmox/cluster/local/machine"
)

// TestProposals checks that a shell splits each command into the arguments that make demo ONCE=1 uses.
func TestProposals(t *testing.T) {
	b, _ := shown(t, nil, machine.Machine{Key: machine.Key{Name: "archive"}}, machine.Machine{Key: machine.Key{Namespace: "default", Name: "web"}})
	for _, p := range (&demo{board: b}).proposals() {
		out, err := exec.CommandContext(t.Context(), "sh", "-c", `kubectl() { printf '%s\n' "$@"; }; `+p.String()).Output()
		if err != nil {
			t.Fatalf("%s: %v", p, err)
		}
		if diff := cmp.Diff(p.arguments, strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")); diff != "" {
			t.Errorf("%s is something else to a shell (-want +got):\n%s", p, diff)
		}
		if p.shows == "" {
			t.Errorf("nobody knows what %s shows", p)
		}
	}
}
