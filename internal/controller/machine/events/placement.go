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
	"strings"

	xpevent "github.com/crossplane/crossplane-runtime/v2/pkg/event"

	"github.com/vitistack/provider-proxmox/internal/placement"
)

// maxOthers is how many other nodes an event names at most.
const maxOthers = 10

// OfPlacement returns the event that reports why a node was chosen.
func OfPlacement(d placement.Decision) xpevent.Event {
	parts := []string{fmt.Sprintf("Node %s was chosen: %s", d.Node, d.Reason)}
	for i, o := range d.Others {
		if i == maxOthers {
			parts = append(parts, fmt.Sprintf("and %d more", len(d.Others)-i))
			break
		}
		parts = append(parts, o.Node+": "+o.Reason)
	}
	return xpevent.Normal(ReasonPlaced, strings.Join(parts, "; "))
}
