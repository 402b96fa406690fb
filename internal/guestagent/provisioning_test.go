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

package guestagent

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// A guestFile is a guest's response for a file.
type guestFile struct {
	content string
	err     error
}

func (guestFile) Permissions(context.Context, string) (map[string]proxmox.Privileges, error) {
	return nil, errors.New("nobody asks for this")
}

func (f guestFile) ReadFile(_ context.Context, _ proxmox.Ref, path string) (string, error) {
	if path != CloudInitResult {
		return "", errors.New("nobody reads this")
	}
	return f.content, f.err
}

func missingFile() error {
	return &proxmox.Error{
		Op: "read", Method: "GET", Status: 500,
		Message: "Agent error: failed to open file '" + CloudInitResult + "' (mode: 'r'): No such file or directory",
	}
}

func TestProvisioningOf(t *testing.T) {
	cases := map[string]struct {
		reason, content string
		err             error
		want            ProvisioningState
		message         string
	}{
		"Missing":   {reason: "The file is written at the end.", err: missingFile(), want: ProvisioningRuns},
		"Forbidden": {reason: "A guest that may not be asked says nothing.", err: errors.New("403"), want: ProvisioningUnknown, message: "403"},
		"Done": {
			reason:  "Cloud-init has finished without errors.",
			content: `{"v1": {"datasource": "DataSourceNoCloud", "errors": []}}`, want: ProvisioningDone,
		},
		"Failed": {
			reason: "Errors are told in one line.", content: `{"v1": {"errors": ["('runcmd', Error())", "line\nbreak\u0007"]}}`,
			want: ProvisioningFailed, message: "('runcmd', Error()); line break",
		},
		"Many": {
			reason: "Three errors are enough.", content: `{"v1": {"errors": ["a", "b", "c", "d"]}}`, want: ProvisioningFailed, message: "a; b; c",
		},
		"Long": {
			reason: "A guest cannot fill the status.", content: `{"v1": {"errors": ["` + strings.Repeat("é", 300) + `"]}}`,
			want: ProvisioningFailed, message: strings.Repeat("é", 256) + "…",
		},
		"Huge":  {reason: "A file of any length is not read.", content: strings.Repeat(" ", 70_000), want: ProvisioningUnknown, message: "the file is too long"},
		"Other": {reason: "A guest can write anything.", content: `{"v2": {}}`, want: ProvisioningUnknown, message: "the file is no result of cloud-init"},
		"Text":  {reason: "A guest can write anything.", content: `done`, want: ProvisioningUnknown, message: "the file is no result of cloud-init"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := provisioningOf(tc.content, tc.err); got != (Provisioning{State: tc.want, Message: tc.message}) {
				t.Errorf("%s: want %d %q, got %d %q", tc.reason, tc.want, tc.message, got.State, got.Message)
			}
		})
	}
}

// TestProvisionings asks a guest until cloud-init has finished, at increasing intervals, and again after its next start.
func TestProvisionings(t *testing.T) {
	c := newClock()
	var waits []time.Duration
	p := New(c.now, WithTimer(func(d time.Duration, _ func()) { waits = append(waits, d) })).Provisionings
	m, boot, ref := &namespaced.Machine{}, c.now(), proxmox.Ref{VMID: 100}
	ask := func(f guestFile) bool { return p.Ask(t.Context(), f, m, ref, boot, func() {}) }
	due := func(why string, want bool) {
		t.Helper()
		if got := p.Due(m, boot); got != want {
			t.Errorf("%s: want due %t, got %t", why, want, got)
		}
	}
	due("Just started", true)
	due("Being asked", false)
	if !ask(guestFile{err: missingFile()}) || p.Of(m, boot).State != ProvisioningRuns {
		t.Error("That cloud-init runs is news once")
	}
	due("Just asked", false)
	for range 30 {
		c.wait(waits[len(waits)-1])
		due("Some time later", true)
		if ask(guestFile{err: missingFile()}) {
			t.Error("That cloud-init still runs is no news")
		}
	}
	if waits[0] != firstPoll || waits[30] != maxPollDelay {
		t.Errorf("The guest is asked at the wrong times: %v", waits)
	}
	c.wait(maxPollDelay)
	due("Five minutes later", true)
	if !ask(guestFile{content: `{"v1": {"errors": []}}`}) || !p.Of(m, boot).Ended() || len(waits) != 31 {
		t.Error("The end is news, and the last question")
	}
	c.wait(time.Hour)
	due("After the end", false)
	late := boot
	boot = c.now()
	due("Started again", true)
	if p.Ask(t.Context(), guestFile{content: `{"v1": {"errors": []}}`}, m, ref, late, func() {}) || p.Of(m, boot).Ended() {
		t.Error("An answer from before the start counts no more")
	}
	p.RecordEarlier(m, boot, Provisioning{State: ProvisioningDone})
	if !p.Of(m, boot).Ended() {
		t.Error("What the guest had reported is known after a restart of the provider")
	}
	p.Forget(m)
	if ask(guestFile{content: `{"v1": {"errors": []}}`}) {
		t.Error("The answer for a Machine that is gone is no news")
	}
}
