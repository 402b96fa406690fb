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

package image

import (
	"fmt"

	"github.com/vitistack/provider-proxmox/internal/controller/kind/target"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// An action is the next step for a file or a template.
type action int

const (
	// keep the item, which is as it is to be.
	keep action = iota

	// wait for a task, for the result of a call to appear, or for the next attempt.
	wait

	// start to create the item, after the intent was recorded.
	start

	// join takes a task for the one whose start was not confirmed.
	join

	// settle records that the item exists.
	settle

	// fail records that the task has failed.
	fail

	// forget a task that PVE no longer knows.
	forget

	// convert an existing VM to a template.
	convert

	// stuck does nothing, because a user has to act.
	stuck
)

// A fileState holds the observations of a file, and of the task that creates it.
type fileState struct {
	// volume with the name, or nil. It is unknown if the storage could not be listed.
	volume  *proxmox.Volume
	unknown bool

	// task that is recorded, or nil if PVE does not know it.
	task *proxmox.Task

	// others are the tasks for a file of the name that may be the one whose start was not confirmed.
	others []proxmox.Task

	// offline is why the node with these tasks cannot be asked; empty if it has answered.
	offline string
}

// A decision is an action, and what to report about it.
type decision struct {
	action  action
	message string

	// task to join.
	task proxmox.UPID

	// foreign is true if a file or VM of someone else is in the way.
	foreign bool
}

// decide decides what to do next about a file. A caller that removes the file does not start it.
func (f *file) decide(s fileState, verifiable bool, now, generation int64) decision {
	switch {
	case s.offline != "":
		return decision{action: wait, message: s.offline}
	case f.Task != "":
		return f.decideTask(s)
	case f.Done:
		return f.decideDone(s)
	case f.Begun != 0:
		return f.decideLost(s, verifiable, now)
	case s.unknown:
		return decision{action: wait, message: unlisted}
	case s.volume != nil:
		return decision{action: stuck, foreign: true, message: fmt.Sprintf("%s exists and was not made for this Image: adopt it, remove it, or set fileName",
			s.volume.ID)}
	}
	if seconds := f.RetryIn(now, generation, firstRetry); seconds > 0 {
		return decision{action: wait, message: f.Message}
	}
	return decision{action: start, message: f.Message}
}

// unlisted is why nothing is decided about a file.
const unlisted = "the storage cannot be listed on its node now: see whether the node is online and the storage available (pvesm status)"

// decideTask decides about a file that a task creates.
func (f *file) decideTask(s fileState) decision {
	switch {
	case s.task == nil:
		return decision{action: forget}
	case s.task.Running:
		return decision{action: wait, message: "downloading"}
	case s.task.OK() && s.unknown:
		return decision{action: wait, message: unlisted}
	case s.task.OK():
		return decision{action: settle}
	}
	return decision{action: fail}
}

// decideDone decides about a file that existed before. Only its size and the time of its last change distinguish it from another of the same name.
func (f *file) decideDone(s fileState) decision {
	switch {
	case s.unknown:
		return decision{action: keep}
	case s.volume == nil:
		return decision{action: start, message: "the file was removed from the storage: it is downloaded again"}
	case !f.is(*s.volume):
		return decision{action: stuck, foreign: true, message: fmt.Sprintf("%s was replaced by somebody else: remove it, and it is downloaded again", s.volume.ID)}
	}
	return decision{action: keep}
}

// is reports whether a volume is the file that was created.
func (f *file) is(v proxmox.Volume) bool { return v.Size == f.Size && v.Changed == f.Changed }

// decideLost decides about a file whose creation was begun, but whose call got no answer.
func (f *file) decideLost(s fileState, verifiable bool, now int64) decision {
	for _, t := range s.others {
		if !f.wasBefore(t) {
			return decision{action: join, task: t.UPID}
		}
	}
	switch {
	case now-f.Begun < target.Arrival:
		return decision{action: wait, message: "waiting for the download to appear among the tasks of the node, since the answer to its call was lost"}
	case s.unknown:
		return decision{action: wait, message: unlisted}
	case s.volume == nil, verifiable: // PVE compares an existing file with the checksum, and replaces nothing.
		return decision{action: start}
	}
	return decision{action: stuck, foreign: true, message: fmt.Sprintf(
		"%s exists, and nothing proves that it was made for this Image: adopt it, or remove it", s.volume.ID)}
}

// A vmState holds the observations of a template's VM, and of the task that creates it.
type vmState struct {
	// guest with the VMID, or nil, as the cluster lists it.
	guest *proxmox.Guest

	// config of the VM, or nil if there is none on its node. unknown is true if it was not read.
	config  qemu.Config
	unknown bool

	// task that is recorded, or nil if PVE does not know it.
	task *proxmox.Task

	// busy is true while any task works on the VMID.
	busy bool
}

// decide decides what to do next about a template.
func (t *template) decide(s vmState, now, generation int64) decision {
	switch {
	case t.Task != "" && s.task != nil && s.task.Running, s.busy:
		return decision{action: wait, message: "the template is being made"}
	case t.Task != "" && s.task != nil && !s.task.OK():
		return decision{action: fail}
	case t.Task != "" && s.task == nil:
		return decision{action: forget}
	case t.Done && s.unknown:
		return decision{action: keep}
	case s.unknown && t.Begun != 0:
		return decision{action: wait, message: "the VM of the template cannot be read now"}
	case s.config != nil:
		return t.decideThere(s)
	case t.Task == "" && t.Begun != 0 && now-t.Begun < target.Arrival:
		return decision{action: wait, message: "waiting for the VM of the template to appear, since the answer to its creation was lost"}
	}
	if seconds := t.RetryIn(now, generation, firstRetry); seconds > 0 {
		return decision{action: wait, message: t.Message}
	}
	return decision{action: start, message: t.Message}
}

// identity returns the identity that proves that the template's VM is ours.
func (t *template) identity() qemu.Identity { return qemu.Identity{VMID: t.VMID, UUID: t.UUID} }

// decideThere decides about an existing VM.
func (t *template) decideThere(s vmState) decision {
	switch t.identity().Prove(s.config) {
	case qemu.Unproven:
		return decision{action: wait, message: "the VM is being created"}
	case qemu.Foreign:
		if t.Done {
			return decision{action: stuck, foreign: true, message: fmt.Sprintf(
				"VM %d is not the template that was made: another VM has its VMID, and is left alone", t.VMID)}
		}
		return decision{action: start} // With another VMID.
	case qemu.Ours:
	}
	switch {
	case s.config["lock"] != "":
		return decision{action: wait, message: vmstate.Locked(t.VMID, s.config["lock"])}
	case s.config["template"] == "1" && t.Done:
		return decision{action: keep}
	case s.config["template"] == "1":
		return decision{action: settle}
	case s.guest != nil && s.guest.Status == "running":
		return decision{action: stuck, message: fmt.Sprintf("VM %d is no template any more, and runs: stop it, so that it is made a template again", t.VMID)}
	}
	return decision{action: convert}
}
