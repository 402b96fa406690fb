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

// HAManager is the status data of the manager of HA.
type HAManager struct {
	// Master is the node whose manager decides. Seen is when it last did.
	Master string
	Seen   time.Time
	// Idle counts the rounds without a resource. After a number of them the master releases its lock, and Released is true until there are resources again.
	Idle     int
	Released bool
	// Nodes and Services are the nodes and the resources as the manager sees them, by name and by ID.
	Nodes    map[string]*HANode
	Services map[string]*HAService
	// Requests are the unread requests to the manager, such as "migrate vm:100 pve2".
	Requests []string
	// Orders numbers the orders to the nodes. Changes counts the actions of the manager and the nodes.
	Orders, Changes int
	// Beats counts the turns of manager and nodes. Beating is true while they run.
	Beats   int
	Beating bool `json:"-"`
	// Busy holds the resources on which a node is working.
	Busy map[string]bool `json:"-"`
}

// HANode is a node as the manager of HA sees it.
type HANode struct {
	// State is online, unknown or fence.
	State string
	// Online is when the manager last saw the node. Seen is when the node's own daemon last wrote its status.
	Online, Seen time.Time
	// Turn is when the node's daemon began its latest turn.
	Turn time.Time
	// Active is true while the node's daemon holds its lock. Idle counts its turns without a resource. Locked is when a daemon that ended with its node last
	// renewed the lock: until that lock expires, the next daemon waits.
	Active bool
	Idle   int
	Locked time.Time
	// Watched is true while the watchdog of a node that cannot renew its lock is running down.
	Watched bool `json:"-"`
	// Unlocked is when the manager removed the lock of a fenced node. The manager gets that lock in its next turn.
	Unlocked time.Time
	// Results are the node's recorded results of orders, by their numbers.
	Results map[int]HAResult
}

// HAResult is the result of an order, as a node has recorded it.
type HAResult struct {
	// SID is the resource, State the state of the order, such as "started".
	SID, State string
	// Exit is the exit code of the node's worker.
	Exit int
}

// HAService is a resource that the manager of HA works on.
type HAService struct {
	// State is the manager's state, such as "started". Node is the node of the resource, Target the node to which it is moved.
	State, Node, Target string
	// Running is true once the node has reported that the resource is started.
	Running bool
	// Request is the request to the manager about the resource, as words.
	Request []string
	// Order is the number of the order to the node. Result is its result, or nil until the node has answered.
	Order  int
	Result *int
	// Answered is when the node had the result.
	Answered time.Time
	// Tried counts the failed starts on this node. Failed lists the nodes on which it could not be started.
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

// HANodeState returns the state of a node as the manager of HA sees it. A manager that has never run considers no node offline.
func (st *State) HANodeState(name string) string {
	if n := st.HAManager.Nodes[name]; n != nil {
		return n.State
	}
	return "online"
}
