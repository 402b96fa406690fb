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
	"github.com/vitistack/provider-proxmox/internal/guestagent"
)

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
		(e.vm.Status.Uptime < addressesWithin || e.agents.TakeSlot(e.inventory, hostKeysPace))
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

// askHostKeys reads the guest's host keys and reports whether they differ from those before.
func (e agentPoll) askHostKeys(ctx context.Context, m Machine) bool {
	if may, err := guestagent.MayReadFiles(ctx, e.client, e.vm.VMID); err != nil || !may {
		e.log.Debug("Cannot read host keys of guest", "vmid", e.vm.VMID, "allowed", may, "error", err)
		e.hostKeys.GiveUp(m)
		return false
	}
	before := e.hostKeys.Of(m)
	e.hostKeys.Record(m, guestagent.ReadHostKeys(ctx, e.client, e.vm.Ref, func(file string, err error) {
		e.log.Debug("Cannot read host key of guest", "vmid", e.vm.VMID, "file", file, "error", err)
	}))
	return e.hostKeys.Of(m) != before
}
