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

// Package agentpoll decides what the guest agent of a VM is asked and when: for the addresses of the guest, its SSH host keys and the end of its
// provisioning. Package guestagent keeps the answers.
package agentpoll

import (
	"context"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"

	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/poll"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/provisioned"
	"github.com/vitistack/provider-proxmox/internal/guestagent"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// DetailHostKeys is the connection detail with the public keys by which the guest's SSH server proves its identity, one per line.
const DetailHostKeys = "sshHostKeys"

const (
	// timeout is how long to wait for the guest agent.
	timeout = 10 * time.Second

	// hostKeysPace is the minimum time between queries for host keys to guests of one cluster that were started long ago.
	hostKeysPace = time.Minute
)

// A Client queries guest agents.
type Client interface {
	guestagent.FileReader

	Interfaces(ctx context.Context, ref proxmox.Ref) ([]proxmox.Interface, error)
}

// A Poll queries the guest of one VM for what only the guest knows.
type Poll struct {
	Client   Client
	VM       *vmstate.VM
	Agents   *guestagent.Results
	HostKeys *guestagent.HostKeys

	// Cluster distinguishes the clusters, each of which has a pace of queries.
	Cluster any

	Now   func() time.Time
	Log   logging.Logger
	Waker func(object.Machine) func() // returns a function that requests a reconcile of the Machine
}

// Run adds what the guest has reported to the VM, and queries the guest in the background if that is due.
func (p Poll) Run(m object.Machine) {
	boot := p.Now().Add(-p.VM.Status.Uptime)
	provisioned.Show(m, p.VM, p.Agents.Provisionings, boot)
	if !p.VM.On() || !p.VM.AgentOn() || p.VM.BeingCreated() {
		return
	}
	at := guestagent.Node{Cluster: p.Cluster, Name: p.VM.Node}
	p.Agents.UpdateMACs(m, boot, p.VM.AllMACs())
	switch {
	case p.VM.Paused(), meta.WasDeleted(m): // It does not answer until it is resumed. The answers of a VM that is being removed are not needed.
	case p.Agents.Due(m, boot, at):
		p.ask(m, func(ctx context.Context, p Poll, later object.Machine) bool {
			return p.readAddresses(ctx, later, boot, at)
		})
	case p.Agents.Addresses(m, boot) != nil && p.hostKeysWanted(m, boot) && p.HostKeys.Due(m, boot):
		p.ask(m, func(ctx context.Context, p Poll, later object.Machine) bool {
			return p.HostKeys.Ask(ctx, p.Client, later, p.VM.Ref, p.Log)
		})
	case p.Agents.Addresses(m, boot) != nil && provisioned.Wanted(m) && p.Agents.Provisionings.Due(m, boot):
		p.ask(m, func(ctx context.Context, p Poll, later object.Machine) bool {
			return p.Agents.Provisionings.Ask(ctx, p.Client, later, p.VM.Ref, boot, p.Waker(later))
		})
	default:
		p.Agents.WakeForPoll(m, boot, p.Waker(m))
	}
	p.VM.Interfaces, p.VM.AgentUnavailable = p.Agents.Addresses(m, boot), p.Agents.Denial(m, boot)
}

// ask queries the guest in the background, and wakes the Machine if the answer is new.
func (p Poll) ask(m object.Machine, ask func(context.Context, Poll, object.Machine) bool) {
	later, _ := m.DeepCopyObject().(object.Machine) // The reconciler continues to use these.
	v := *p.VM
	p.VM = &v
	p.Agents.Background(func() {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		if ask(ctx, p, later) {
			p.Waker(later)()
		}
	})
}

// readAddresses asks the guest for its addresses, and for its host keys if it answers. It reports whether the answer is new.
func (p Poll) readAddresses(ctx context.Context, m object.Machine, boot time.Time, at guestagent.Node) bool {
	reported, err := p.Client.Interfaces(ctx, p.VM.Ref)
	if err != nil {
		// An agent that is not running yet, or never will, is not an error: the condition NetworkConfigured shows it.
		p.Log.Debug("Cannot ask guest agent", "vmid", p.VM.VMID, "error", err)
		reported = nil
	}
	news := p.Agents.Record(m, boot, at, reported)
	if guestagent.MissesIPv4(p.VM.MACs(), reported) {
		p.Agents.PollAgain(m, boot)
	}
	news = p.Agents.Deny(m, boot, err) || news
	if !news {
		p.Agents.WakeForPoll(m, boot, p.Waker(m))
	}
	if reported != nil && p.wantsHostKeys(m) && p.Agents.StillRunning(m, boot) && p.HostKeys.Due(m, boot) {
		news = p.HostKeys.Ask(ctx, p.Client, m, p.VM.Ref, p.Log) || news
	}
	return news
}

// wantsHostKeys reports whether the Machine has a connection Secret and a guest that may have host keys.
func (p Poll) wantsHostKeys(m object.Machine) bool {
	return object.ConnectionSecret(m).Name != "" && !strings.HasPrefix(p.VM.Config["ostype"], "w")
}

// hostKeysWanted reports whether a guest whose agent answers is to be asked for its keys, once for each start. Guests that were started long ago are
// asked one after another: after a restart of the provider, all would be asked at once.
func (p Poll) hostKeysWanted(m object.Machine, boot time.Time) bool {
	return p.wantsHostKeys(m) && p.HostKeys.Waiting(m, boot) &&
		(p.VM.Status.Uptime < poll.AddressesWithin || p.Agents.TakeSlot(p.Cluster, hostKeysPace))
}

// WithHostKeys adds the guest's host keys to the connection details.
func (p Poll) WithHostKeys(m object.Machine, d managed.ConnectionDetails) managed.ConnectionDetails {
	if !p.wantsHostKeys(m) {
		return d
	}
	if keys := p.HostKeys.Of(m); keys != "" {
		d[DetailHostKeys] = []byte(keys)
	}
	return d
}
