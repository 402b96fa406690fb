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
	"time"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// TestAnswerOfRemovedResource checks that no node retries a start that fails after its resource was removed and before the manager has noticed.
func TestAnswerOfRemovedResource(t *testing.T) {
	st := state.New("9.2")
	s := &state.HAService{Node: "pve1", State: started, Order: 2}
	st.HAManager.Services["vm:100"] = s
	answer(&engine.Op{Engine: instant(), State: st}, "vm:100", 2, apierr.Errorf("it cannot start"))
	if s.Tried != 0 || s.Result == nil || *s.Result != unsuccessful {
		t.Errorf("tried %d times again, result %v", s.Tried, s.Result)
	}
}

func instant() *engine.Engine { return &engine.Engine{Pace: engine.Pace{Clock: engine.WallClock{}}} }

// TestRemovedResourceIsLeftAlone checks that a node does not start a removed resource, even if the manager has not noticed the removal yet. The manager
// gives up on a resource that was added again meanwhile.
func TestRemovedResourceIsLeftAlone(t *testing.T) {
	st := state.New("9.2")
	m, g := st.HAManager, st.NewGuest(100, "pve1", map[string]string{})
	m.Nodes["pve1"] = &state.HANode{State: online, Active: true}
	s := &state.HAService{Node: "pve1", State: started, Order: 2, Result: new(succeeded), Running: true}
	m.Services["vm:100"] = s
	o := &engine.Op{Engine: instant(), State: st}
	execute(o, "vm:100")
	if g.Power != state.Stopped || len(st.Tasks) > 0 || *s.Result != unknownService {
		t.Errorf("power %v, tasks %v, result %d", g.Power, st.Tasks, *s.Result)
	}
	st.HA["vm:100"] = &state.HAResource{State: started}
	next(o, "vm:100")
	if s.State != failed {
		t.Errorf("the state of what is back is %s", s.State)
	}
}

// A clock is set by tests.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time                       { return c.now }
func (c *clock) After(time.Duration) <-chan time.Time { return nil }

// TestFencedNodeThatIsBack checks that a node that comes back while it is to be fenced is fenced anyway, because it no longer renews its lock.
func TestFencedNodeThatIsBack(t *testing.T) {
	st, c := state.New("9.2"), &clock{now: time.Unix(1e9, 0)}
	o := &engine.Op{State: st, Engine: &engine.Engine{Pace: engine.Pace{Clock: c, Speed: 1}, Durations: Durations()}}
	m, g := st.HAManager, st.NewGuest(100, "pve1", map[string]string{})
	g.Power = state.Running
	m.Nodes["pve1"] = &state.HANode{State: fence, Active: true, Seen: c.now.Add(-time.Minute)}
	st.HA["vm:100"] = &state.HAResource{State: stopped}
	s := &state.HAService{Node: "pve1", State: fence}
	m.Services["vm:100"] = s
	for range 60 {
		workOn(o, "pve1")
		fenceNodes(o)
		c.now = c.now.Add(5 * time.Second)
	}
	if s.State != recovery || m.Nodes["pve1"].Active {
		t.Errorf("the resource is in the state %s, node active: %t", s.State, m.Nodes["pve1"].Active)
	}
}
