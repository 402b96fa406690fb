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

package backup

import (
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/kind/target"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// An action is the next step for a backup.
type action int

const (
	// keep the backup, which exists as it was created.
	keep action = iota

	// wait for a task, for the result of a call to appear, or for the next attempt.
	wait

	// start to create the backup, after the intent was recorded.
	start

	// claim the task whose start was not confirmed.
	claim

	// adopt the backup that the user has named.
	adopt

	// settle records that the backup exists.
	settle

	// fail records that the task has failed.
	fail

	// forget a task that PVE no longer knows.
	forget

	// lose records that the backup no longer exists.
	lose

	// stuck does nothing, because a user has to act.
	stuck
)

// A state holds the observations of a backup, and of the task that creates it. The tasks were read before the volumes.
type state struct {
	// volume of the record, of the task, or of the external name; nil if it does not exist.
	volume *proxmox.Volume

	// task that is recorded, or nil if PVE does not know it.
	task *proxmox.Task

	// offline is the problem that the node on which it was begun cannot be asked; nil if it has answered.
	offline *kind.Problem

	// log has the first lines of the task's log, once the task has ended.
	log []string

	// found is the task whose start was not confirmed; nil for none.
	found *proxmox.Task

	// unclear is true while a task is running that may turn out to be this task.
	unclear bool

	// named is true if the user has named the backup to adopt it.
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

// decide decides what to do next about a backup.
func (r *record) decide(s state, now, generation int64) decision {
	switch {
	case s.looks:
		return decideLook(s)
	case r.Done:
		return r.decideDone(s)
	case r.Task != "":
		return decideTask(s)
	case r.Begun != 0:
		return r.decideLost(s, now)
	case s.named && s.volume == nil:
		return because(stuck, kind.Problem{Reason: target.ReasonNotFound, Message: noneNamed})
	case s.named:
		return decision{action: adopt}
	case target.BacksOff(r.Failures, now, generation, firstRetry):
		return because(wait, r.failure())
	}
	return decision{action: start}
}

// noneNamed is the problem that the backup that the user has named does not exist.
const noneNamed = "the storage has no backup of the volume ID in the annotation " + meta.AnnotationKeyExternalName +
	": correct the annotation, or delete this resource"

// decideLook decides about a backup that is only observed.
func decideLook(s state) decision {
	switch {
	case s.volume != nil:
		return decision{action: keep}
	case s.named:
		return because(start, kind.Problem{Reason: target.ReasonNotFound, Message: noneNamed})
	}
	return because(start, kind.Problem{Reason: target.ReasonNotFound, Message: "there is no backup to observe, and managementPolicies leave out Create: " +
		"name one by its volume ID in the annotation " + meta.AnnotationKeyExternalName})
}

// decideTask decides about a backup that a task creates. A failed task may have created it anyway, and failed at a later step.
func decideTask(s state) decision {
	switch {
	case s.task == nil:
		return decision{action: forget}
	case s.offline != nil:
		return because(wait, *s.offline)
	case s.task.Running:
		return because(wait, kind.Problem{Reason: target.ReasonCreating, Message: "the backup is being made"})
	case s.volume != nil:
		return decision{action: settle}
	case !s.task.OK():
		return decision{action: fail}
	}
	return decision{action: lose}
}

// decideDone decides about a backup that existed before.
func (r *record) decideDone(s state) decision {
	switch {
	case s.volume == nil && r.Gone:
		return because(stuck, r.gone())
	case s.volume == nil:
		return decision{action: lose}
	case !r.same(s.volume):
		return because(stuck, kind.Problem{Reason: kind.ReasonAlreadyExists, Message: "the backup is gone, and another one has its name, " + r.Volume +
			": delete this resource; another resource can adopt that backup"})
	case r.Gone: // It exists again, for example because its storage is back.
		return decision{action: settle}
	}
	return decision{action: keep}
}

// decideLost decides about a backup that was begun, but whose call got no answer.
func (r *record) decideLost(s state, now int64) decision {
	switch {
	case s.found != nil:
		return decision{action: claim}
	case s.volume != nil:
		return decision{action: settle}
	case s.offline != nil:
		return because(wait, *s.offline)
	case s.unclear, now-r.Begun < target.Arrival:
		return because(wait, kind.Problem{
			Reason: target.ReasonCreating, Message: "waiting for the backup to appear in its storage, since the answer to the call was lost",
		})
	}
	return decision{action: start}
}

// gone returns the problem with a backup that someone else has removed.
func (r *record) gone() kind.Problem {
	message := "the backup was made and is gone: it is not made again, since it would be of another time; delete this resource"
	if r.Volume != "" {
		message = "backup " + r.Volume + " is gone: it is not made again, since it would be of another time; delete this resource"
	}
	return kind.Problem{Reason: target.ReasonGone, Message: message}
}

// failure returns the problem of a failed attempt.
func (r *record) failure() kind.Problem {
	return kind.Problem{Reason: conditionReason(r.Problem), Message: "the backup could not be made: " + r.Message}
}
