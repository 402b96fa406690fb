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

// An action is what is to be done next about a backup.
type action int

const (
	// keep it: it is there, as it was made.
	keep action = iota

	// wait for a task, for the answer of a call to show, or for the next attempt.
	wait

	// start to make it, after the intent is noted.
	start

	// claim the task whose start was not seen.
	claim

	// adopt what the user has named.
	adopt

	// settle notes that it is there.
	settle

	// fail notes that its task has failed.
	fail

	// forget a task that PVE knows no more.
	forget

	// lose notes that it is gone.
	lose

	// stuck needs somebody else: nothing is done.
	stuck
)

// A state is what was seen of a backup, and of the task that makes it. The tasks were read
// before the volumes.
type state struct {
	// volume of the record, of the task, or of the external name; nil if it is not there.
	volume *proxmox.Volume

	// task that is recorded, or nil if PVE does not know it.
	task *proxmox.Task

	// offline is the problem that the node cannot be asked on which it was begun; nil if it was.
	offline *kind.Problem

	// log has its first lines, once it has ended.
	log []string

	// found is the task whose start was not seen; nil for none.
	found *proxmox.Task

	// unclear is true while a task runs that may turn out to be the one.
	unclear bool

	// named is true if the user has named the backup to adopt it.
	named bool

	// looks is true for a resource that may change nothing.
	looks bool
}

// A decision is an action, and the problem that there is meanwhile.
type decision struct {
	action  action
	problem *kind.Problem
}

func because(a action, p kind.Problem) decision { return decision{action: a, problem: &p} }

// decide what to do next about a backup.
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

// noneNamed is what is wrong if the backup that the user has named is not there.
const noneNamed = "the storage has no backup of the volume ID in the annotation " + meta.AnnotationKeyExternalName +
	": correct the annotation, or delete this resource"

// decideLook about a backup that is only looked at.
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

// decideTask about a backup that a task makes. One that has failed may have made it all the
// same, and failed at what comes after.
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

// decideDone about a backup that was there.
func (r *record) decideDone(s state) decision {
	switch {
	case s.volume == nil && r.Gone:
		return because(stuck, r.gone())
	case s.volume == nil:
		return decision{action: lose}
	case !r.same(s.volume):
		return because(stuck, kind.Problem{Reason: kind.ReasonAlreadyExists, Message: "the backup is gone, and another one has its name, " + r.Volume +
			": delete this resource; another resource can adopt that backup"})
	case r.Gone: // It is back, with its storage for example.
		return decision{action: settle}
	}
	return decision{action: keep}
}

// decideLost about a backup that was begun, without an answer.
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

// gone is the problem with a backup that was removed by somebody.
func (r *record) gone() kind.Problem {
	message := "the backup was made and is gone: it is not made again, since it would be of another time; delete this resource"
	if r.Volume != "" {
		message = "backup " + r.Volume + " is gone: it is not made again, since it would be of another time; delete this resource"
	}
	return kind.Problem{Reason: target.ReasonGone, Message: message}
}

// failure is the problem of an attempt that has failed.
func (r *record) failure() kind.Problem {
	return kind.Problem{Reason: conditionReason(r.Problem), Message: "the backup could not be made: " + r.Message}
}
