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

package snapshot

import (
	"fmt"
	"slices"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/kind/target"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// An action is the next step for a snapshot.
type action int

const (
	// keep the snapshot, which exists as it was taken.
	keep action = iota

	// wait for a task, for the result of a call to appear, or for the next attempt.
	wait

	// start to take the snapshot, after the intent was recorded.
	start

	// adopt the snapshot that the user has named.
	adopt

	// settle records that the snapshot exists.
	settle

	// fail records that the task has failed.
	fail

	// forget a task that PVE no longer knows, or that has left an incomplete snapshot.
	forget

	// lose records that the snapshot no longer exists.
	lose

	// stuck does nothing, because a user has to act.
	stuck
)

// The states of an incomplete snapshot.
const (
	statePrepare = "prepare"
	stateDelete  = "delete"
)

// A state holds the observations of a snapshot, and of the task that takes it. The tasks were read before the snapshots.
type state struct {
	// entry with the name among the VM's snapshots, or nil.
	entry *proxmox.Snapshot

	// task that is recorded, or nil if PVE does not know it.
	task *proxmox.Task

	// offline is the problem that the node on which it was begun cannot be asked; nil if it has answered.
	offline *kind.Problem

	// others are our tasks that may be the one whose start was not confirmed.
	others []proxmox.Task

	// busy is true while any task works on the VM.
	busy bool

	// named is true if the user has named the snapshot to adopt it.
	named bool

	// looks is true for a resource that may only observe.
	looks bool
}

// A decision is an action, and the problem to show meanwhile.
type decision struct {
	action  action
	problem *kind.Problem
}

func because(a action, p kind.Problem) decision { return decision{action: a, problem: &p} }

// decide decides what to do next about a snapshot.
func (r *record) decide(s state, now, generation int64) decision {
	switch {
	case s.looks:
		return r.decideLook(s)
	case s.offline != nil && !r.Done:
		return because(wait, *s.offline)
	case r.Task != "":
		return r.decideTask(s)
	case r.Done:
		return r.decideDone(s)
	case r.Begun != 0:
		return r.decideLost(s, now)
	case s.entry != nil:
		return r.decideThere(s)
	case r.Lock.BacksOff(time.Unix(now, 0)):
		return because(wait, target.HeldLock("taken"))
	case target.BacksOff(r.Failures, now, generation, firstRetry):
		return because(wait, r.failure())
	}
	return decision{action: start}
}

// decideLook decides about a snapshot that is only observed.
func (r *record) decideLook(s state) decision {
	switch {
	case s.entry == nil:
		return because(start, kind.Problem{Reason: target.ReasonNotFound, Message: "the VM has no snapshot of that name, and managementPolicies leave out Create: " +
			"name one that is there in name, or in the annotation " + meta.AnnotationKeyExternalName})
	case s.entry.State != "":
		return because(stuck, r.incomplete(s))
	}
	return decision{action: keep}
}

// decideTask decides about a snapshot that a task takes.
func (r *record) decideTask(s state) decision {
	switch {
	case s.task == nil && r.began(s.entry) && s.entry.State != "":
		return because(stuck, r.incomplete(s))
	case s.task == nil && r.began(s.entry):
		return decision{action: settle}
	case s.task == nil:
		return decision{action: forget}
	case s.task.Running:
		return because(wait, kind.Problem{Reason: target.ReasonCreating, Message: "the snapshot is being taken"})
	case s.entry != nil && s.entry.State != "":
		return decision{action: forget}
	case !s.task.OK() && r.late(s):
		return decision{action: settle}
	case !s.task.OK():
		return decision{action: fail}
	case s.entry == nil:
		return decision{action: lose}
	}
	return decision{action: settle}
}

// decideDone decides about a snapshot that existed before.
func (r *record) decideDone(s state) decision {
	switch {
	case s.entry == nil && r.Gone:
		return because(stuck, r.gone())
	case s.entry == nil:
		return decision{action: lose}
	case s.entry.Time.Unix() != r.Time:
		return because(stuck, kind.Problem{Reason: kind.ReasonAlreadyExists, Message: fmt.Sprintf(
			"the snapshot is gone, and another one has its name, %q: delete this resource; another resource can adopt that snapshot", r.Name)})
	case s.entry.State != "":
		return because(stuck, r.incomplete(s))
	case r.Gone: // It exists again, for example because its storage is back.
		return decision{action: settle}
	}
	return decision{action: keep}
}

// decideLost decides about a snapshot that was begun, but whose call got no answer.
func (r *record) decideLost(s state, now int64) decision {
	switch {
	case s.busy, now-r.Begun < target.Arrival && s.entry == nil:
		return because(wait, kind.Problem{
			Reason: target.ReasonCreating, Message: "waiting for the snapshot to appear in the list of the VM, since the answer to the call was lost",
		})
	case s.entry == nil:
		return decision{action: start}
	case len(s.others) == 0 || !r.intended(*s.entry):
		return decision{action: fail}
	case s.entry.State != "":
		return because(stuck, r.incomplete(s))
	}
	return decision{action: settle}
}

// decideThere decides about a snapshot that existed before anything was begun.
func (r *record) decideThere(s state) decision {
	switch {
	case !s.named && r.late(s):
		return decision{action: settle}
	case !s.named && r.Lost && s.busy:
		return because(wait, kind.Problem{Reason: target.ReasonCreating, Message: "the snapshot is being taken"})
	case !s.named:
		return because(stuck, kind.AlreadyExists("snapshot", s.entry.Name))
	case s.entry.State != "":
		return because(stuck, r.incomplete(s))
	}
	return decision{action: adopt}
}

// late reports whether a snapshot was taken by a call whose answer was lost, before the call was repeated. Another of our tasks was running at the
// time of the snapshot.
func (r *record) late(s state) bool {
	return r.Lost && s.entry != nil && s.entry.State == "" && s.entry.Name == r.Name && r.intended(*s.entry) &&
		slices.ContainsFunc(s.others, func(t proxmox.Task) bool {
			return t.UPID != r.Task && t.OK() && !s.entry.Time.Before(t.Start) && !s.entry.Time.After(t.End)
		})
}

// began reports whether the recorded task has taken a snapshot, or begun to, as far as that can be determined without the task. PVE forgets the tasks
// of a node that is removed from the cluster. The clock of that node determined when the task began.
func (r *record) began(s *proxmox.Snapshot) bool {
	if s == nil || !r.intended(*s) {
		return false
	}
	after := s.Time.Sub(r.Task.Start())
	return after >= 0 && after < target.Arrival*time.Second
}

// intended reports whether a snapshot is as intended. PVE leaves out the memory of a stopped VM.
func (r *record) intended(s proxmox.Snapshot) bool {
	return proxmox.SameText(s.Description, r.Description) && (r.Memory || !s.Memory)
}

// incomplete returns the problem with a snapshot that a task takes or removes, or did before it was killed.
func (r *record) incomplete(s state) kind.Problem {
	doing, undone := "being taken", "taken"
	if s.entry.State == stateDelete {
		doing, undone = "being removed", "removed"
	}
	if s.busy {
		return kind.Problem{Reason: reasonIncomplete, Message: "the snapshot is " + doing}
	}
	id := r.VMID
	return kind.Problem{Reason: reasonIncomplete, Message: fmt.Sprintf("the snapshot was not %s to the end (snapstate %s), and no task works on the VM: "+
		"on its node, \"qm unlock %d\" lifts the lock if there is one, and \"qm delsnapshot %d %s --force\" removes what is left",
		undone, s.entry.State, id, id, s.entry.Name)}
}

// gone returns the problem with a snapshot that someone else has removed.
func (r *record) gone() kind.Problem {
	return kind.Problem{Reason: target.ReasonGone, Message: fmt.Sprintf(
		"snapshot %q is gone, or its VM is: it is not taken again, since it would be of another time; delete this resource", r.Name)}
}

// failure returns the problem of a failed attempt.
func (r *record) failure() kind.Problem {
	return kind.Problem{Reason: conditionReason(r.Problem), Message: "the snapshot could not be taken: " + r.Message}
}
