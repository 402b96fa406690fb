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

package ha

import (
	"testing"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// A start may fail after its resource was removed and before the manager has noticed: the node tries again as often as by default.
func TestAnswerOfRemovedResource(t *testing.T) {
	st := state.New("9.2")
	s := &state.HAService{Node: "pve1", State: started, Order: 2}
	st.HAManager.Services["vm:100"] = s
	clock := &engine.Engine{Pace: engine.Pace{Clock: engine.WallClock{}}}
	for tries := range 2 {
		answer(&engine.Op{Engine: clock, State: st}, "vm:100", 2, apierr.Errorf("it cannot start"))
		if s.Tried != 1 || (s.Result != nil) != (tries == 1) {
			t.Errorf("after %d failures: tried %d times again, result %v", tries+1, s.Tried, s.Result)
		}
	}
}
