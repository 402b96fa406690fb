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

package state

import "time"

// absence records whether a node is off, and since when.
type absence struct {
	offline bool
	left    time.Time
}

// ViewOf changes the state to the view of a node, until undo is called, which must happen before the state is released. A cut-off node has no quorum,
// reports all others as off, and knows the last reports of their guests.
func (s *State) ViewOf(n *Node) (undo func()) {
	if n == nil || !n.CutOff {
		return func() {}
	}
	away, reports := map[*Node]absence{}, map[*Guest]*Report{}
	for _, other := range s.Nodes {
		away[other] = absence{other.Offline, other.Left}
		other.Offline, other.Left = other != n, n.Left
	}
	for id, g := range s.Guests {
		if g.Node != n.Name {
			reports[g], g.Report = g.Report, n.KnownReports[id]
		}
	}
	quorum, lost := s.NoQuorum, s.QuorumLost
	s.NoQuorum, s.QuorumLost, s.Viewer = true, n.Left, n.Name
	return func() {
		for other, was := range away {
			other.Offline, other.Left = was.offline, was.left
		}
		for g, report := range reports {
			g.Report = report
		}
		s.NoQuorum, s.QuorumLost, s.Viewer = quorum, lost, ""
	}
}
