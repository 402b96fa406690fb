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

package machine

import (
	"context"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"

	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/poll"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/provisioned"
	"github.com/vitistack/provider-proxmox/internal/guestagent"
)

// An agentPoll asks the guest what it alone knows.
type agentPoll struct{ *external }

// agentTimeout is how long the guest agent is waited for.
const agentTimeout = 10 * time.Second

// pollAgent adds what the guest has reported to the VM, and asks the guest in the background if that is due.
func (e agentPoll) pollAgent(m Machine) {
	boot := e.now().Add(-e.vm.Status.Uptime)
	provisioned.Show(m, e.vm, e.agents.Provisionings, boot)
	if !e.vm.On() || !e.vm.AgentOn() || e.vm.BeingCreated() {
		return
	}
	at := guestagent.Node{Cluster: e.inventory, Name: e.vm.Node}
	e.agents.Rewire(m, boot, e.vm.AllMACs())
	switch {
	case e.vm.Paused(): // It answers nothing until it is resumed.
	case e.agents.Due(m, boot, at):
		e.askAgent(m, func(ctx context.Context, asker *external, later Machine) bool {
			return agentPoll{external: asker}.readAddresses(ctx, later, boot, at)
		})
	case e.agents.Addresses(m, boot) != nil && e.hostKeysWanted(m, boot) && e.hostKeys.Due(m, boot):
		e.askAgent(m, func(ctx context.Context, asker *external, later Machine) bool {
			return asker.hostKeys.Ask(ctx, asker.client, later, asker.vm.Ref, asker.log)
		})
	case e.agents.Addresses(m, boot) != nil && provisioned.Wanted(m) && e.agents.Provisionings.Due(m, boot):
		e.askAgent(m, func(ctx context.Context, asker *external, later Machine) bool {
			return asker.agents.Provisionings.Ask(ctx, asker.client, later, asker.vm.Ref, boot, asker.waker(later))
		})
	default:
		e.agents.WakeForPoll(m, boot, e.waker(m))
	}
	e.vm.Interfaces, e.vm.AgentUnavailable = e.agents.Addresses(m, boot), e.agents.Denial(m, boot)
}

// askAgent asks the guest in the background, and wakes the Machine if the answer is news.
func (e agentPoll) askAgent(m Machine, ask func(context.Context, *external, Machine) bool) {
	later, _ := m.DeepCopyObject().(Machine) // The reconciler goes on with these.
	asker, v := *e.external, *e.vm
	asker.vm = &v
	e.agents.Background(func() {
		ctx, cancel := context.WithTimeout(context.Background(), agentTimeout)
		defer cancel()
		if ask(ctx, &asker, later) {
			go asker.wake(later)
		}
	})
}

// readAddresses asks the guest for its addresses, and for its host keys if it answers. It reports whether there is news.
func (e agentPoll) readAddresses(ctx context.Context, m Machine, boot time.Time, at guestagent.Node) bool {
	told, err := e.client.Interfaces(ctx, e.vm.Ref)
	if err != nil {
		// An agent that is not up yet, or ever, is no error: the condition NetworkConfigured shows it.
		e.log.Debug("Cannot ask guest agent", "vmid", e.vm.VMID, "error", err)
		told = nil
	}
	news := e.agents.Record(m, boot, at, told)
	if guestagent.MissesIPv4(e.vm.MACs(), told) {
		e.agents.PollAgain(m, boot)
	}
	news = e.agents.Deny(m, boot, err) || news
	if !news {
		e.agents.WakeForPoll(m, boot, e.waker(m))
	}
	if told != nil && e.wantsHostKeys(m) && e.agents.StillRunning(m, boot) && e.hostKeys.Due(m, boot) {
		news = e.hostKeys.Ask(ctx, e.client, m, e.vm.Ref, e.log) || news
	}
	return news
}

// detailHostKeys is the connection detail with the public keys by which the guest's SSH server proves its identity, one a line.
const detailHostKeys = "sshHostKeys"

// hostKeysPace is the least time between questions for host keys to guests of one cluster that were started long ago.
const hostKeysPace = time.Minute

// wantsHostKeys reports whether the Machine has a connection Secret and a guest that may have host keys.
func (e agentPoll) wantsHostKeys(m Machine) bool {
	return object.ConnectionSecret(m).Name != "" && !strings.HasPrefix(e.vm.Config["ostype"], "w")
}

// hostKeysWanted reports whether a guest whose agent answers is to be asked for its keys, once for each start. Guests that were started
// long ago are asked one after another: after a restart of the provider all would be asked at once.
func (e agentPoll) hostKeysWanted(m Machine, boot time.Time) bool {
	return e.wantsHostKeys(m) && e.hostKeys.Waiting(m, boot) &&
		(e.vm.Status.Uptime < poll.AddressesWithin || e.agents.TakeSlot(e.inventory, hostKeysPace))
}

// withHostKeys adds the guest's host keys to the connection details.
func (e agentPoll) withHostKeys(m Machine, d managed.ConnectionDetails) managed.ConnectionDetails {
	if !e.wantsHostKeys(m) {
		return d
	}
	if keys := e.hostKeys.Of(m); keys != "" {
		d[detailHostKeys] = []byte(keys)
	}
	return d
}
