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

package preflight

import (
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

func TestMustTake(t *testing.T) {
	nodes := []proxmox.Node{{Name: "a", Status: "online"}, {Name: "b", Status: "offline"}}
	cases := map[string]struct {
		reason  string
		node    string
		fails   bool
		refused bool
	}{
		"Online":  {reason: "A node that is on can take a VM.", node: "a"},
		"Missing": {reason: "A node must exist.", node: "z", fails: true, refused: true},
		"Offline": {reason: "A node that is offline may come back: that is no refusal.", node: "b", fails: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := CheckNode(nodes, tc.node)
			var r conditions.ValidationError
			if (err != nil) != tc.fails || errors.As(err, &r) != tc.refused {
				t.Errorf("\n%s\nwant an error %t, a refusal %t, got %v", tc.reason, tc.fails, tc.refused, err)
			}
		})
	}
}
