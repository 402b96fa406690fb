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

package simulator_test

import (
	"strings"
	"testing"

	"github.com/vitistack/provider-proxmox/internal/simulator"
)

func TestScenarioLines(t *testing.T) {
	for name, tc := range map[string]struct{ reason, text, want string }{
		"Syntax": {reason: "YAML that is none has a line.", text: "nodes:\n  - {name: pve1\n", want: "line 1: did not find"},
		"Empty":  {reason: "A scenario has something in it.", text: "", want: "it is empty"},
		"Unknown": {
			reason: "Fields are known by their names.", text: "nodes:\n- name: pve1\n  cpu: 4\n",
			want: `line 3: there is no field "cpu" here, want one of address, cpus,`,
		},
		"Number": {reason: "A number has to be a number.", text: "nodes:\n- name: pve1\n  cpus: many\n", want: "line 3: want a whole number"},
		"Bool":   {reason: "A switch is true or false.", text: "nodes:\n- name: pve1\n  offline: 1\n", want: "line 3: want true or false"},
		"List":   {reason: "A list has to be a list.", text: "nodes: pve1\n", want: "line 1: want a list"},
		"Object": {reason: "An entry has to have fields.", text: "nodes:\n- pve1\n", want: "line 2: want fields with values"},
		"Text":   {reason: "A text is no list.", text: "nodes:\n- name: [a]\n", want: "line 2: want a text"},
		"Size":   {reason: "Sizes have their form.", text: "nodes:\n- name: pve1\n- name: pve2\n  memory: lots\n", want: `line 3: cannot parse the size "lots"`},
		"Storage": {
			reason: "A line of a storage is told.", text: "nodes: [{name: a}]\nstorages:\n- {id: x, type: dir, content: [iso], total: lots}\n",
			want: `line 3: cannot parse the size "lots"`,
		},
		"Guest": {
			reason: "Guests are where they can be.", text: "nodes: [{name: a}]\nguests:\n- {vmid: 100, node: b}\n",
			want: `line 3: cannot add guest 100: cannot find the node "b"`,
		},
		"Option": {
			reason: "Options of guests are those of the API.", text: "nodes: [{name: a}]\nguests:\n- {vmid: 100, node: a, config: {cores: x}}\n",
			want: `line 3: cannot add guest 100: cannot use the option "cores"`,
		},
		"Alias": {reason: "Aliases stand for what they name.", text: "nodes:\n- &n {name: a}\n- {<<: *n, name: b, x: 1}\n", want: `line 3: there is no field "x"`},
	} {
		t.Run(name, func(t *testing.T) {
			sc, err := simulator.ParseScenario([]byte(tc.text))
			if err == nil {
				_, err = simulator.New(simulator.Options{Scenario: sc})
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: got %v, want %q", tc.reason, err, tc.want)
			}
		})
	}
}
