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

// HAManager is what the manager of HA has written down.
type HAManager struct {
	// Master is the node whose manager decides, Seen is when it last did.
	Master string
	Seen   time.Time
	// Idle counts the rounds without a resource. After some of them the master gives up its lock: Released is true until there are
	// resources again.
	Idle     int
	Released bool
	// Nodes and Services are the nodes and the resources as the manager sees them, by name and by ID.
	Nodes    map[string]*HANode
	Services map[string]*HAService
	// Requests are the requests that the manager has not read yet, such as "migrate vm:100 pve2".
	Requests []string
	// Orders numbers the orders to the nodes, Changes counts what the manager and the nodes have done.
	Orders, Changes int
	// Beats counts the turns of manager and nodes; Beating is true while they take them.
	Beats   int
	Beating bool `json:"-"`
	// Busy are the resources that a node works on.
	Busy map[string]bool `json:"-"`
}

// HANode is a node as the manager of HA sees it.
type HANode struct {
	// State is online, unknown or fence.
	State string
	// Online is when the manager last saw the node, Seen when the node's own daemon last wrote its status.
	Online, Seen time.Time
	// Turn is when the node's daemon began its latest turn.
	Turn time.Time
	// Active is true while the node's daemon holds its lock, Idle counts its turns without a resource. Locked is when a daemon that ended with its
	// node renewed the lock last: as long as that lock lasts the next one waits.
	Active bool
	Idle   int
	Locked time.Time
	// Watched is true while the watchdog of a node that cannot renew its lock runs out.
	Watched bool `json:"-"`
	// Unlocked is when the manager removed the lock of a node that is fenced: it gets the lock in its next turn.
	Unlocked time.Time
	// Results are what the node has written down of orders, by their numbers.
	Results map[int]HAResult
}

// HAResult is how an order ended, as a node has written it down.
type HAResult struct {
	// SID is the resource, State what the order asked for, such as "started".
	SID, State string
	// Exit is the exit code of the node's worker.
	Exit int
}

// HAService is a resource that the manager of HA works on.
type HAService struct {
	// State is the manager's state, such as "started", Node where the resource is, Target where it goes.
	State, Node, Target string
	// Running is true once the node has said that the resource is started.
	Running bool
	// Request is what the manager was asked to do with the resource, as words.
	Request []string
	// Order is the number of the order to the node, Result its outcome: nil until the node has answered.
	Order  int
	Result *int
	// Answered is when the node had the outcome.
	Answered time.Time
	// Tried counts the failed starts on this node, Failed are the nodes on which it could not be started.
	Tried  int
	Failed []string
}

func newHAManager() *HAManager {
	return &HAManager{Nodes: map[string]*HANode{}, Services: map[string]*HAService{}, Busy: map[string]bool{}}
}

// HAState returns the state of a resource as lists of guests show it.
func (st *State) HAState(sid string) string {
	if s := st.HAManager.Services[sid]; s != nil {
		return s.State
	}
	return st.HA[sid].State
}

// HANodeState returns the state of a node as the manager of HA sees it. A manager that has never worked knows of none that is away.
func (st *State) HANodeState(name string) string {
	if n := st.HAManager.Nodes[name]; n != nil {
		return n.State
	}
	return "online"
}
