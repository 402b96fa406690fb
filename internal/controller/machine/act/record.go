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

// Package act carries out operations on VMs that discard data, such as going back to a snapshot, at most once for each token, even if the provider is
// killed at any moment. record.go defines the record of an act, call.go determines the result of a call, act.go makes calls, and kind.go has the
// common parts of the acts that Machines request.
package act

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/tasktrack"
)

// A Record holds what was done for the request of one token. It is written before each call that it describes.
type Record struct {
	Token string `json:"token"`

	// Target is the state that the VM goes back to, by its name in PVE.
	Target string `json:"target,omitempty"`

	State   v1alpha1.MachineActState `json:"state"`
	Message string                   `json:"message,omitempty"`

	// At is when the state was reached, in seconds.
	At int64 `json:"at"`

	// Node that the VM was on when a call was recorded.
	Node string `json:"node,omitempty"`

	// Ran is true if the VM was stopped for the act.
	Ran bool `json:"ran,omitempty"`

	// Safety is the name of the snapshot or backup that was taken first, to go back to. Taking is the call that takes it, and Taken is true once it existed.
	Safety string `json:"safety,omitempty"`
	Taking Call   `json:"taking,omitzero"`
	Taken  bool   `json:"taken,omitempty"`

	// Call is the call that discards data.
	Call Call `json:"call,omitzero"`

	// Lock is how long PVE was seen to hold the lock of the VM.
	Lock tasktrack.LockWait `json:"lock,omitzero"`

	// Offline is why the task of the last call, which may still work on the VM, cannot be read, or nil if it can. It is determined again each time.
	Offline *kind.Problem `json:"-"`

	// Used are digests of earlier tokens for which anything was done, the latest last.
	Used []string `json:"used,omitempty"`

	// Left is the call of an earlier token that has left the VM unfinished.
	Left *Leaving `json:"left,omitempty"`

	// Remains are VMs that may return with their nodes.
	Remains []Remains `json:"remains,omitempty"`
}

// Remains are the remains of a creation that was lost with its node.
type Remains struct {
	VMID int    `json:"vmid"`
	UUID string `json:"uuid"`
	Node string `json:"node"`

	// Signature proves that the provider began to create it for the Machine, so that a tenant may be informed of it.
	Signature string `json:"signature,omitempty"`
}

// A Leaving is a call on a node that has left a VM unfinished.
type Leaving struct {
	Node string `json:"node"`
	Call
}

// Parse reads the output of String. An empty text is an empty record.
func Parse(text string) (*Record, error) {
	r := &Record{}
	if text == "" {
		return r, nil
	}
	if err := json.Unmarshal([]byte(text), r); err != nil {
		return nil, errors.New("it is not what this provider wrote")
	}
	return r, nil
}

// String returns the text of the record that is saved.
func (r *Record) String() string { return kind.RecordText(r) }

// New returns the record of a request that is yet to be done.
func New(token string, now time.Time) *Record {
	return &Record{Token: token, State: v1alpha1.ActPending, At: now.Unix()}
}

// Next returns the record of another request. It keeps what the last request may have left.
func (r *Record) Next(token string, now time.Time) *Record {
	next := New(token, now)
	next.Left, next.Used, next.Remains = r.left(), slices.Clone(r.Used), slices.Clone(r.Remains)
	if r.Token != "" && (r.Final() || r.Call.Begun != 0 || r.Taking.Begun != 0) && !slices.Contains(r.Used, digest(r.Token)) {
		next.Used = append(next.Used, digest(r.Token))
		next.Used = next.Used[max(0, len(next.Used)-mostUsed):]
	}
	return next
}

// mostUsed is how many earlier tokens are kept.
const mostUsed = 200

// digest distinguishes a token from others, in a few characters.
func digest(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:6])
}

// Repeated reports whether the token was requested before another one, as when a manifest is reverted.
func (r *Record) Repeated() bool { return slices.Contains(r.Used, digest(r.Token)) }

// left returns the call that may have left the VM unfinished, or nil.
func (r *Record) left() *Leaving {
	if r.Call.Begun != 0 && r.State != v1alpha1.ActSucceeded {
		return &Leaving{Node: r.Node, Call: r.Call}
	}
	return r.Left
}

// Calls returns the calls whose tasks may work on the VM, or have left it unfinished.
func (r *Record) Calls() []Leaving {
	var all []Leaving
	if r.Call.Begun != 0 {
		all = append(all, Leaving{Node: r.Node, Call: r.Call})
	}
	if r.Left != nil {
		all = append(all, *r.Left)
	}
	return all
}

// refusedRecord returns the record of a request for which nothing is done.
func refusedRecord(token, target, message string, now time.Time) *Record {
	return &Record{Token: token, Target: target, State: v1alpha1.ActRefused, Message: message, At: now.Unix()}
}

// Explanation returns the message of the state, or why the end of the last call cannot be seen.
func (r *Record) Explanation() string {
	if r.Offline != nil {
		return r.Offline.Message
	}
	return r.Message
}

// Final reports whether nothing more is done for the token.
func (r *Record) Final() bool { return r.State.Final() }

// Open reports whether a call was recorded whose end is not known yet.
func (r *Record) Open() bool {
	return !r.Final() && (r.Call.Begun != 0 || r.Taking.Begun != 0 && !r.Taken)
}

// Enter enters a state.
func (r *Record) Enter(s v1alpha1.MachineActState, message string, now time.Time) {
	if r.State != s || r.Message != message {
		r.State, r.Message, r.At = s, message, now.Unix()
	}
}
