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

// Package poweraction determines which power action a Machine is to do, and for which tokens it has done one.
package poweraction

import (
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/act"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/tasktrack"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// Reboot is an action of the guest, which does not react to it while it boots.
const Reboot = "Reboot"

// Shutdown is an action that is requested from the guest in rounds, because the guest does not react to it while it boots.
const Shutdown = "Shutdown"

// Unknown is the result of an action whose task is not known.
const Unknown = "unknown"

// last returns the record of the last action, with the tokens before it. Earlier releases have saved only the token.
func last(m object.Machine) *act.Record {
	text := m.GetAnnotations()[object.AnnotationPowerAction]
	r, err := act.Parse(text)
	if err != nil {
		return &act.Record{Token: text, State: v1alpha1.ActSucceeded}
	}
	return r
}

// lastToken returns the token of the last action, or an empty string if there is none.
func lastToken(m object.Machine) string { return last(m).Token }

// Begun returns when the last action was begun, to the second.
func Begun(m object.Machine) time.Time { return time.Unix(last(m).At, 0) }

// Done returns the record of the action of a token, which is written before the call. Further requests of one action leave it unchanged.
func Done(m object.Machine, token string, now time.Time) string {
	r := last(m)
	if r.Token == token {
		return m.GetAnnotations()[object.AnnotationPowerAction]
	}
	r = r.Next(token, now)
	r.State = v1alpha1.ActSucceeded
	return r.String()
}

// Undone returns the record without an action that has done nothing, which leaves the tokens before it.
func Undone(m object.Machine) string {
	r := last(m)
	if r.Token = ""; len(r.Used) == 0 {
		return ""
	}
	return r.String()
}

// repeats reports whether an action has the token of an action before the last one.
func repeats(m object.Machine, a *v1alpha1.MachinePowerAction) bool {
	r := last(m)
	r.Token = a.Token
	return r.Repeated()
}

// Due returns the power action that is requested and was not done yet.
func Due(m object.Machine) *v1alpha1.MachinePowerAction {
	a := m.Parameters().PowerAction
	if a == nil || lastToken(m) == a.Token || repeats(m, a) {
		return nil
	}
	if done := m.Observation().PowerAction; done != nil && done.Token == a.Token {
		return nil // The annotation was lost.
	}
	return a
}

// Show shows the action that the spec asks for if it is not done, or if nothing else is known of it.
func Show(m object.Machine) {
	a, seen := m.Parameters().PowerAction, m.Observation().PowerAction
	switch {
	case a == nil || seen != nil && seen.Token == a.Token:
	case lastToken(m) == a.Token:
		m.Observation().PowerAction = &v1alpha1.MachinePowerActionObservation{Action: a.Action, Token: a.Token, Result: Unknown}
	case repeats(m, a):
		m.Observation().PowerAction = Result(a, "", errors.New("not done: its token was used before; another token asks again"))
	}
}

// UnderWay reports whether the shutdown that the spec asks for has begun, and its end was not seen.
func UnderWay(m object.Machine) bool {
	a, seen := m.Parameters().PowerAction, m.Observation().PowerAction
	return a != nil && a.Action == Shutdown && a.Token == lastToken(m) && seen != nil && seen.Token == a.Token && seen.Result == ""
}

// NeedsAnotherRequest reports whether a guest must be asked again to shut down. The task of the last request has ended as it does when a guest does
// not react, and the VM has run since the first request. A VM that was off meanwhile was shut down, which takes a guest at least one round.
func NeedsAnotherRequest(m object.Machine, v *vmstate.VM, t proxmox.Task, now time.Time) bool {
	anew := now.Add(-v.Status.Uptime).After(Begun(m).Add(tasktrack.BootingRound))
	return UnderWay(m) && v.Status.Running() && !v.Status.HAManaged && proxmox.IsShutdownTimeout(t.Err()) && !anew
}

// WaitsForGuest returns the message that an action waits until the guest has booted, which takes at most the given time.
func WaitsForGuest(m object.Machine, a *v1alpha1.MachinePowerAction, boot time.Duration) string {
	wait := "powerAction " + a.Action + " waits for the guest, which may still be booting and would not react to the request"
	if started := m.Observation().StartedAt; started != nil {
		wait += ", until " + started.Add(boot).UTC().Format(time.RFC3339) + " at most"
	}
	return wait
}

// Result returns the result of a requested power action, as far as it is known.
func Result(a *v1alpha1.MachinePowerAction, u proxmox.UPID, err error) *v1alpha1.MachinePowerActionObservation {
	seen := &v1alpha1.MachinePowerActionObservation{Action: a.Action, Token: a.Token, UPID: string(u)}
	switch {
	case proxmox.IsUnavailable(err):
		seen.Result = Unknown + ": " + err.Error()
	case err != nil:
		seen.Result = err.Error()
	case u == "":
		seen.Result = "OK"
	}
	return seen
}
