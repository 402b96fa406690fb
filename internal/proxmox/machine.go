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

package proxmox

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"
)

// VMConfig is the configuration of a VM.
type VMConfig struct {
	// Digest of the configuration's content. If it is sent with a change, PVE rejects the change if the configuration has changed since. The same content has
	// the same digest again.
	Digest string

	// Values by option. Numbers are in their shortest decimal form, booleans are 1 and 0. Values that PVE stores as a blank are empty.
	Values map[string]string
}

// Lock returns the lock of the VM, such as create or clone, or nothing.
func (c VMConfig) Lock() string { return c.Values["lock"] }

const digest = "digest"

func newVMConfig(data map[string]text) VMConfig {
	c := VMConfig{Digest: string(data[digest]), Values: make(map[string]string, len(data))}
	for k, v := range data {
		if k != digest {
			c.Values[k] = unblank(v)
		}
	}
	return c
}

// unblank returns an empty text for the single space that PVE uses for empty tags and for a boot order without devices.
func unblank(v text) string {
	if strings.TrimSpace(string(v)) == "" {
		return ""
	}
	return string(v)
}

// SameText compares texts, such as descriptions, without the parts that PVE does not keep: white space at the end, and the kind of line ends.
func SameText(a, b string) bool {
	kept := func(s string) string {
		return strings.TrimRightFunc(strings.ReplaceAll(s, "\r\n", "\n"), unicode.IsSpace)
	}
	return kept(a) == kept(b)
}

// Config returns the configuration of a VM with its pending changes applied.
func (c GuestAPI) Config(ctx context.Context, ref Ref) (VMConfig, error) {
	return c.config(ctx, ref, nil)
}

// SnapshotConfig returns the configuration of a VM at a snapshot. If the snapshot does not exist, IsUnknownReference holds for the error.
func (c GuestAPI) SnapshotConfig(ctx context.Context, ref Ref, snapshot string) (VMConfig, error) {
	return c.config(ctx, ref, url.Values{"snapshot": {snapshot}})
}

// Snapshots returns the names of a VM's snapshots.
func (c GuestAPI) Snapshots(ctx context.Context, ref Ref) ([]string, error) {
	t, err := c.SnapshotTree(ctx, ref)
	var names []string
	for _, s := range t.Snapshots {
		names = append(names, s.Name)
	}
	return names, err
}

func (c GuestAPI) config(ctx context.Context, ref Ref, query url.Values) (VMConfig, error) {
	r := machine("read the configuration of", http.MethodGet, ref, "/config")
	r.query = query
	var data map[string]text
	if err := c.vm(ctx, ref, r, &data); err != nil {
		return VMConfig{}, err
	}
	return newVMConfig(data), nil
}

// vm makes a request about a VM, unless the reference is invalid.
func (c *conn) vm(ctx context.Context, ref Ref, r request, data any) error {
	if why := ref.validate(r.method); why != "" {
		return r.refuse(why)
	}
	return c.do(ctx, r, data)
}

// A PendingValue is an option with its value in force and its pending value.
type PendingValue struct {
	// Key is the option's name.
	Key string `json:"k"`

	// Value in force, or nil if there is none.
	Value *string `json:"v,omitempty"`

	// Pending is the value from the next start on, or nil if the start does not set one.
	Pending *string `json:"p,omitempty"`

	// Delete is 1 if the option is removed at the next start, 2 if that is
	// forced, otherwise 0.
	Delete int `json:"d,omitempty"`
}

// Changes reports whether the next start changes the option.
func (p PendingValue) Changes() bool { return p.Pending != nil || p.Delete != 0 }

// Pending returns all options of a VM with their pending changes. The digest is one
// of them.
func (c GuestAPI) Pending(ctx context.Context, ref Ref) ([]PendingValue, error) {
	var data list[struct {
		Key     text    `json:"key"`
		Value   *text   `json:"value"`
		Pending *text   `json:"pending"`
		Delete  integer `json:"delete"`
	}]
	r := machine("read pending changes of", http.MethodGet, ref, "/pending")
	if err := c.vm(ctx, ref, r, &data); err != nil {
		return nil, err
	}
	values := make([]PendingValue, 0, len(data))
	for _, d := range data {
		values = append(values, PendingValue{
			Key: string(d.Key), Value: unblankPtr(d.Value), Pending: unblankPtr(d.Pending), Delete: int(d.Delete),
		})
	}
	return values, nil
}

func unblankPtr(v *text) *string {
	if v == nil {
		return nil
	}
	s := unblank(*v)
	return &s
}

// Status is the current status of a VM.
type Status struct {
	// Status is running or stopped.
	Status string

	// QMPStatus is QEMU's own state, such as running, paused, prelaunch or
	// stopped.
	QMPStatus string

	// Uptime since the VM's start, to the second.
	Uptime time.Duration

	// Lock of the VM's configuration.
	Lock string

	// Agent reports whether the guest agent is configured, not whether it runs.
	Agent bool

	// PID of the VM's process on its node, or 0.
	PID int

	// HAManaged reports whether HA manages the VM.
	HAManaged bool

	// HAState is the state that HA requests.
	HAState string

	// Name of the VM.
	Name string

	// Template reports whether the VM is a template.
	Template bool

	// CPUs is the number of virtual CPUs in use.
	CPUs int

	// Memory used and MaxMemory assigned, in bytes.
	Memory, MaxMemory int64
}

// Running reports whether the VM has a process, paused or not.
func (s Status) Running() bool { return s.Status == "running" }

// Status returns the current status of a VM. Each node answers this for only few VMs at the same time, so use a list for all VMs.
func (c GuestAPI) Status(ctx context.Context, ref Ref) (Status, error) {
	var d struct {
		Status    text     `json:"status"`
		QMPStatus text     `json:"qmpstatus"`
		Uptime    integer  `json:"uptime"`
		Lock      text     `json:"lock"`
		Agent     flag     `json:"agent"`
		PID       integer  `json:"pid"`
		HA        haStatus `json:"ha"`
		Name      text     `json:"name"`
		Template  flag     `json:"template"`
		CPUs      float    `json:"cpus"`
		Memory    integer  `json:"mem"`
		MaxMemory integer  `json:"maxmem"`
	}
	r := machine("read the status of", http.MethodGet, ref, "/status/current")
	if err := c.vm(ctx, ref, r, &d); err != nil {
		return Status{}, err
	}
	return Status{
		Status: string(d.Status), QMPStatus: string(d.QMPStatus), Uptime: seconds(d.Uptime), Lock: string(d.Lock),
		Agent: bool(d.Agent), PID: int(d.PID), HAManaged: bool(d.HA.Managed), HAState: string(d.HA.State),
		Name: string(d.Name), Template: bool(d.Template), CPUs: int(d.CPUs),
		Memory: int64(d.Memory), MaxMemory: int64(d.MaxMemory),
	}, nil
}

type haStatus struct {
	Managed flag `json:"managed"`
	State   text `json:"state"`
}

// UnmarshalJSON treats anything except an object as unmanaged.
func (h *haStatus) UnmarshalJSON(b []byte) error {
	type plain haStatus
	*h = haStatus{}
	if !isObject(b) {
		return nil
	}
	return json.Unmarshal(b, (*plain)(h))
}
