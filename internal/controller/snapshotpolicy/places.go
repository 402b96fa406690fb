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

package snapshotpolicy

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/utils/ptr"
)

// reach finds the Machines whose VMs cannot be reached, or that a task on a node that is gone may work on. Nothing is taken or removed for them.
// Their Snapshots do not count towards the limit, whatever was begun, because their tasks may only continue when a node is back. A snapshot of a
// former VM does not affect the present one.
func (p *plan) reach() {
	p.apart = map[string]string{}
	maps.Copy(p.apart, p.offline)
	for _, s := range p.snapshots {
		if now := p.uuids[s.machine]; s.vm != "" && now != "" && !strings.EqualFold(s.vm, now) {
			continue
		}
		if (s.state == unseen || s.offline && s.busy()) && p.apart[s.machine] == "" {
			p.apart[s.machine] = cmp.Or(s.problem, "its Snapshot "+s.name+" cannot be seen")
		}
	}
}

// heldUp names the Snapshots that have used up the limit for long. It is empty if a snapshot could be started lately. A Machine that waits for its
// turn is not a problem.
func (p *plan) heldUp() string {
	var held []string
	for _, s := range p.snapshots {
		if !slices.Contains(p.next.Active, s.name) {
			continue
		}
		if s.since.IsZero() || p.now.Before(s.since.Add(longestRetry)) {
			return ""
		}
		held = append(held, strings.TrimSuffix(fmt.Sprintf("%s (%s)", s.name, s.problem), " ()"))
	}
	if len(p.take) > 0 || len(held) == 0 {
		return ""
	}
	text := strings.Join(held[:min(len(held), named)], ", ")
	if more := len(held) - named; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("all places of maxConcurrent, %d, are taken since more than an hour: see the Snapshots %s", p.places(), text)
}

// places returns how many snapshots are taken or removed at the same time.
func (p *plan) places() int { return int(ptr.Deref(p.spec.MaxConcurrent, defaultConcurrent)) }
