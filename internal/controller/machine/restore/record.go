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

package restore

import (
	"context"
	"encoding/json"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/act"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// A Client makes the queries to PVE that a restore needs.
type Client interface {
	act.Tasks

	BackupConfig(ctx context.Context, node, volume string) (proxmox.VMConfig, error)
}

// TaskType is the type of the task that restores a VM.
const TaskType = "qmrestore"

// A record describes the call that restores a VM. It is written before the call. Until the restore has succeeded, only its task proves that the VM is
// ours, because PVE writes the configuration only then.
type record struct {
	VMID   int    `json:"vmid"`
	Node   string `json:"node"`
	Volume string `json:"volume"`

	act.Call
}

// parseRecord reads the output of String. It returns nil for an empty text.
func parseRecord(text string) (*record, error) {
	if text == "" {
		return nil, nil
	}
	r := &record{}
	if err := json.Unmarshal([]byte(text), r); err != nil {
		return nil, errors.New("it is not what this provider wrote")
	}
	return r, nil
}

// String returns the text of the record that is saved.
func (r *record) String() string { return kind.RecordText(r) }

// newRecord returns the record of a call that is about to be made. A task of an earlier call whose outcome is unknown counts too.
func newRecord(ctx context.Context, c Client, earlier *record, ref proxmox.Ref, volume string, now time.Time) (*record, error) {
	noted, err := act.Note(ctx, c, ref, TaskType, now)
	if earlier != nil && earlier.VMID == ref.VMID && earlier.Node == ref.Node && earlier.Task == "" {
		noted.Before = earlier.Before
	}
	return &record{VMID: ref.VMID, Node: ref.Node, Volume: volume, Call: noted}, err
}

// A callOutcome is the outcome of a call.
type callOutcome int

// The outcomes.
const (
	// outcomeNothing means that no task is known: the VM is not the one that was to be restored.
	outcomeNothing callOutcome = iota
	// outcomePending is a call whose task may still appear, or is on a node that cannot be asked now.
	outcomePending
	// outcomeRunning is a task that works on the VM.
	outcomeRunning
	// outcomeSucceeded is a task that has succeeded.
	outcomeSucceeded
	// outcomeFailed is a task that has left the VM unfinished.
	outcomeFailed
)

// settle determines the outcome of the call, and records its task.
func (r *record) settle(ctx context.Context, in inventory.Members, c Client, now time.Time) (callOutcome, error) {
	t, offline, err := r.Find(ctx, in, c, proxmox.Ref{Node: r.Node, VMID: r.VMID}, TaskType)
	switch {
	case err != nil:
		return outcomeNothing, err
	case offline != nil:
		return outcomePending, nil
	case t == nil && r.Task == "" && r.MayShow(now):
		return outcomePending, nil
	case t == nil:
		return outcomeNothing, nil
	}
	r.Task = t.UPID
	switch {
	case t.Running:
		return outcomeRunning, nil
	case t.OK():
		return outcomeSucceeded, nil
	}
	return outcomeFailed, nil
}

// Unfinished reports whether a configuration is what PVE leaves of a VM whose restore has failed. Anyone who has changed such a VM since has taken it
// over.
func Unfinished(c qemu.Config) bool { return c.Unfinished() }
