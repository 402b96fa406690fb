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

// Package rollback puts a VM back to a snapshot, at most once for each request. record.go has
// what is kept of it, settle.go finds out what became of a call, preflight.go what keeps a
// rollback from being done, and act.go does it.
package rollback

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// A Record is what was done for the request to go back of one token. It is written before
// each call that it is about.
type Record struct {
	Token string `json:"token"`

	// Snapshot is the name in PVE of the one that the VM goes back to.
	Snapshot string `json:"snapshot,omitempty"`

	State   v1alpha1.MachineRollbackState `json:"state"`
	Message string                        `json:"message,omitempty"`

	// At is when the state was reached, in seconds.
	At int64 `json:"at"`

	// Node that the VM was on when a call was noted.
	Node string `json:"node,omitempty"`

	// Safety is the name of the safety snapshot, Taking the call that takes it, and Taken
	// true once it was there.
	Safety string `json:"safety,omitempty"`
	Taking call   `json:"taking,omitzero"`
	Taken  bool   `json:"taken,omitempty"`

	// Call is the call that goes back.
	Call call `json:"call,omitzero"`
}

// A call is one that starts a task.
type call struct {
	// Begun is when the intent was noted, in seconds.
	Begun int64 `json:"begun,omitempty"`

	// Before are the latest tasks of the kind that were there before.
	Before []proxmox.UPID `json:"before,omitempty"`

	// Task that was started. Empty if its start is not known to have happened.
	Task proxmox.UPID `json:"task,omitempty"`
}

// Parse reads what String has written. Empty is a record of nothing.
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

// String returns what is kept of the record.
func (r *Record) String() string {
	text, err := json.Marshal(r)
	if err != nil {
		return "" // Such values can always be written.
	}
	return string(text)
}

// New returns the record of a request that is yet to be done.
func New(token string, now time.Time) *Record {
	return &Record{Token: token, State: v1alpha1.RollbackPending, At: now.Unix()}
}

// Refuse returns the record of a request that nothing is done for.
func Refuse(token, snapshot, message string, now time.Time) *Record {
	return &Record{Token: token, Snapshot: snapshot, State: v1alpha1.RollbackRefused, Message: message, At: now.Unix()}
}

// Final reports whether nothing more is done for the token.
func (r *Record) Final() bool { return r.State.Final() }

// Open reports whether a call was noted whose end is not known yet.
func (r *Record) Open() bool {
	return !r.Final() && (r.Call.Begun != 0 || r.Taking.Begun != 0 && !r.Taken)
}

// enter a state.
func (r *Record) enter(s v1alpha1.MachineRollbackState, message string, now time.Time) {
	if r.State != s || r.Message != message {
		r.State, r.Message, r.At = s, message, now.Unix()
	}
}

// Observation returns what users see of the record; nil of a record of nothing.
func (r *Record) Observation() *v1alpha1.MachineRollbackObservation {
	if r.Token == "" {
		return nil
	}
	o := &v1alpha1.MachineRollbackObservation{
		Token: r.Token, Snapshot: r.Snapshot, State: r.State, Message: r.Message, Time: ptr.To(metav1.NewTime(time.Unix(r.At, 0))),
	}
	if r.Taken {
		o.SafetySnapshot = r.Safety
	}
	return o
}

// SafetyName returns the name of the safety snapshot of a token.
func SafetyName(token string) string {
	sum := sha256.Sum256([]byte(token))
	return "before-rollback-" + hex.EncodeToString(sum[:])[:8]
}
