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

import "github.com/vitistack/provider-proxmox/internal/simulator/state"

// The types of the cluster's state, for callers of Server.Edit, Server.Guest and Server.Tasks.

type (
	// Agent is state.Agent.
	Agent = state.Agent
	// Grant is state.Grant.
	Grant = state.Grant
	// Guest is state.Guest.
	Guest = state.Guest
	// HAResource is state.HAResource.
	HAResource = state.HAResource
	// Interface is state.Interface.
	Interface = state.Interface
	// Node is state.Node.
	Node = state.Node
	// Pool is state.Pool.
	Pool = state.Pool
	// Power is state.Power.
	Power = state.Power
	// Role is state.Role.
	Role = state.Role
	// Sections is state.Sections.
	Sections = state.Sections
	// Snapshot is state.Snapshot.
	Snapshot = state.Snapshot
	// State is state.State.
	State = state.State
	// Storage is state.Storage.
	Storage = state.Storage
	// Task is state.Task.
	Task = state.Task
	// Token is state.Token.
	Token = state.Token
	// User is state.User.
	User = state.User
	// Volume is state.Volume.
	Volume = state.Volume
	// Backup is state.Backup.
	Backup = state.Backup
	// VolumeKey is state.VolumeKey.
	VolumeKey = state.VolumeKey
)

// The states of a guest's process.
const (
	Stopped = state.Stopped
	Running = state.Running
	Paused  = state.Paused
)
