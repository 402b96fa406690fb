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

package simulator

import (
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// The types of what a cluster knows, for callers of Server.Edit, Server.Guest and Server.Tasks.
type (
	Agent      = state.Agent
	Grant      = state.Grant
	Guest      = state.Guest
	HAResource = state.HAResource
	Interface  = state.Interface
	Node       = state.Node
	Pool       = state.Pool
	Power      = state.Power
	Role       = state.Role
	Sections   = state.Sections
	Snapshot   = state.Snapshot
	State      = state.State
	Storage    = state.Storage
	Task       = state.Task
	Token      = state.Token
	User       = state.User
	Volume     = state.Volume
	VolumeKey  = state.VolumeKey
)

// Clock tells the time and waits. Tests may bring their own.
type Clock = engine.Clock

// The states of a guest's process.
const (
	Stopped = state.Stopped
	Running = state.Running
	Paused  = state.Paused
)
