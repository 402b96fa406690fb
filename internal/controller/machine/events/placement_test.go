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

package events

import (
	"fmt"
	"testing"

	"github.com/vitistack/provider-proxmox/internal/placement"
)

// TestOfPlacement checks that the event has the reason of the chosen node and those of the others, and nothing else.
func TestOfPlacement(t *testing.T) {
	node := func(i int) placement.Rejection {
		return placement.Rejection{Node: fmt.Sprint("pve", i), Reason: "is offline"}
	}
	many := placement.Decision{Node: "pve1", Reason: "it has the most free memory"}
	for i := range maxOthers + 2 {
		many.Others = append(many.Others, node(i+2))
	}
	const begin = "Node pve1 was chosen: it has the most free memory"
	for name, tc := range map[string]struct {
		reason   string
		decision placement.Decision
		want     string
	}{
		"Alone": {reason: "There is no other node.", decision: placement.Decision{Node: "pve1", Reason: many.Reason}, want: begin},
		"Others": {
			reason:   "Each other node has its reason.",
			decision: placement.Decision{Node: "pve1", Reason: many.Reason, Others: many.Others[:2]},
			want:     begin + "; pve2: is offline; pve3: is offline",
		},
		"Many": {
			reason: "An event has a limit.", decision: many,
			want: begin + "; pve2: is offline; pve3: is offline; pve4: is offline; pve5: is offline; pve6: is offline; pve7: is offline; pve8: is offline; " +
				"pve9: is offline; pve10: is offline; pve11: is offline; and 2 more",
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := OfPlacement(tc.decision)
			if e.Reason != ReasonPlaced || e.Message != tc.want {
				t.Errorf("%s\nwant %q\ngot  %q (%s)", tc.reason, tc.want, e.Message, e.Reason)
			}
		})
	}
}
