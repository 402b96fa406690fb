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
	"encoding/json"
	"strings"
	"time"
	"unicode"

	"github.com/vitistack/provider-proxmox/internal/objectstate"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// CloudInitResult is the path of the file that cloud-init writes when it finishes, and removes when it starts.
const CloudInitResult = "/run/cloud-init/result.json"

const (
	// longestResult is the size from which on a file is not a result of cloud-init.
	longestResult = 64 << 10

	// mostErrors and longestError limit the errors of a guest that are shown.
	mostErrors   = 3
	longestError = 256
)

// A ProvisioningState is the progress of cloud-init in a guest.
type ProvisioningState int

// The states of provisioning.
const (
	// ProvisioningUnasked means that the guest has not been asked since its start.
	ProvisioningUnasked ProvisioningState = iota
	// ProvisioningRuns means that cloud-init has written no result yet.
	ProvisioningRuns
	// ProvisioningUnknown means that the guest cannot be asked.
	ProvisioningUnknown
	// ProvisioningFailed means that cloud-init has finished with errors.
	ProvisioningFailed
	// ProvisioningDone means that cloud-init has finished without errors.
	ProvisioningDone
)

// Provisioning is what a guest has reported about cloud-init since its start.
type Provisioning struct {
	State ProvisioningState

	// Message has the errors of cloud-init, or the reason why the guest cannot be asked.
	Message string
}

// Ended reports whether cloud-init has finished.
func (p Provisioning) Ended() bool {
	return p.State == ProvisioningFailed || p.State == ProvisioningDone
}

// Provisionings remembers what guests have reported about cloud-init.
type Provisionings struct {
	now    func() time.Time
	later  func(time.Duration, func())
	guests objectstate.Store[provisioningRecord]
}

type provisioningRecord struct {
	Provisioning

	boot   time.Time
	asking bool
	tries  int
	next   time.Time
}

// at returns the record of a guest that was started at boot.
func (p *Provisionings) at(o objectstate.Object, boot time.Time) *provisioningRecord {
	r := p.guests.Ensure(o)
	if boot.Sub(r.boot).Abs() > time.Minute { // Uptimes are in whole seconds, and may be old.
		*r = provisioningRecord{boot: boot}
	}
	return r
}

// Of returns the report of a guest that was started at boot.
func (p *Provisionings) Of(o objectstate.Object, boot time.Time) Provisioning {
	p.guests.Lock()
	defer p.guests.Unlock()
	return p.at(o, boot).Provisioning
}

// RecordEarlier records what a guest that was started at boot had reported before the provider was started, unless the guest has been asked since.
func (p *Provisionings) RecordEarlier(o objectstate.Object, boot time.Time, reported Provisioning) {
	p.guests.Lock()
	defer p.guests.Unlock()
	if r := p.at(o, boot); r.State == ProvisioningUnasked {
		r.Provisioning = reported
	}
}

// Due reports whether a guest that was started at boot should be asked now. If so, it counts as being asked until Ask returns. A guest whose cloud-init
// has finished is asked again after its next start.
func (p *Provisionings) Due(o objectstate.Object, boot time.Time) bool {
	p.guests.Lock()
	defer p.guests.Unlock()
	r := p.at(o, boot)
	if r.Ended() || r.asking || p.now().Before(r.next) {
		return false
	}
	r.asking = true
	return true
}

// Ask asks a guest that was started at boot for the result of cloud-init, and reports whether the answer has changed. If cloud-init has not finished,
// Ask calls wake when the guest should be asked again.
func (p *Provisionings) Ask(ctx context.Context, c FileReader, o objectstate.Object, ref proxmox.Ref, boot time.Time, wake func()) bool {
	content, err := c.ReadFile(ctx, ref, CloudInitResult)
	answer := provisioningOf(content, err)
	p.guests.Lock()
	defer p.guests.Unlock()
	r := p.guests.Get(o)
	if r == nil || boot.Sub(r.boot).Abs() > time.Minute {
		return false // Its Machine was deleted meanwhile, or the guest was started again.
	}
	news := r.Provisioning != answer
	r.Provisioning, r.asking = answer, false
	if !answer.Ended() {
		wait := retryDelay(r.tries)
		if answer.State == ProvisioningUnknown {
			wait = maxPollDelay
		}
		r.tries++
		r.next = p.now().Add(wait)
		p.later(wait, wake)
	}
	return news
}

// Forget forgets a Machine that no longer exists.
func (p *Provisionings) Forget(o objectstate.Object) {
	p.guests.Lock()
	defer p.guests.Unlock()
	p.guests.Delete(o)
}

// provisioningOf interprets the result of cloud-init, or the error of reading it.
func provisioningOf(content string, err error) Provisioning {
	switch {
	case proxmox.IsNoSuchFile(err):
		return Provisioning{State: ProvisioningRuns}
	case err != nil:
		return Provisioning{State: ProvisioningUnknown, Message: err.Error()}
	case len(content) > longestResult:
		return Provisioning{State: ProvisioningUnknown, Message: "the file is too long"}
	}
	var result struct {
		V1 *struct {
			Errors []string `json:"errors"`
		} `json:"v1"`
	}
	switch err := json.Unmarshal([]byte(content), &result); {
	case err != nil, result.V1 == nil:
		return Provisioning{State: ProvisioningUnknown, Message: "the file is no result of cloud-init"}
	case len(result.V1.Errors) > 0:
		return Provisioning{State: ProvisioningFailed, Message: inOneLine(result.V1.Errors)}
	}
	return Provisioning{State: ProvisioningDone}
}

// inOneLine returns the first of a guest's errors in one line. The guest can write anything there.
func inOneLine(all []string) string {
	var lines []string
	for _, e := range all[:min(len(all), mostErrors)] {
		line := strings.Join(strings.FieldsFunc(e, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " ")
		if short := []rune(line); len(short) > longestError {
			line = string(short[:longestError]) + "…"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "; ")
}
