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
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	xpevent "github.com/crossplane/crossplane-runtime/v2/pkg/event"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/events"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// removingDisks is what tasks remember that begin.
const removingDisks = "remove disks"

// unavailableVolumes are the volumes of the VM that PVE could not remove with it now: their storage
// is not available. It destroys the VM all the same, and only warns of what it leaves.
func (e deletion) unavailableVolumes(ctx context.Context) ([]string, error) {
	storages, err := e.inventory.Storages(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(e.vm.Config.OwnVolumes(e.vm.VMID), func(volume string) bool {
		name, _, _ := strings.Cut(volume, ":")
		return !slices.ContainsFunc(storages, func(s proxmox.Storage) bool {
			return s.Name == name && s.Node == e.vm.Node && s.Status == "unknown"
		})
	}), nil
}

// waitForDisks says why a VM cannot be destroyed yet, or else which of its volumes will be
// left.
func (e deletion) waitForDisks(ctx context.Context, m Machine) (left []string, waits error) {
	volumes, err := e.unavailableVolumes(ctx)
	if err != nil || len(volumes) == 0 || e.tasks.Waited(m, removingDisks) >= obstacleTime {
		return volumes, err
	}
	return nil, errors.Errorf("VM %d waits, %s at most, for the storage of %s: it is not available on node %s, and Proxmox VE would leave the disks there",
		e.vm.VMID, obstacleTime, strings.Join(volumes, ", "), e.vm.Node)
}

// emitOrphanedDisks tells which volumes are left of a VM that is gone.
func (e deletion) emitOrphanedDisks(m Machine, left []string) {
	if len(left) == 0 {
		return
	}
	e.record.Event(m, xpevent.Warning(events.ReasonOrphanedDisks, errors.Errorf(
		"VM %d is removed although the storage of %s is not available on node %s: remove what is left of it there", e.vm.VMID, strings.Join(left, ", "), e.vm.Node)))
}

// checkHolds returns an error while a Snapshot retains a snapshot of the VM, which would go
// with the VM.
func (e deletion) checkHolds(ctx context.Context, m Machine) error {
	names, err := e.holds.Of(ctx, e.vm.Config.UUID())
	if err != nil || len(names) == 0 {
		return err
	}
	held := errors.Errorf("VM %d is kept for the snapshots that are to be retained, which would be removed with it: "+
		"delete the Snapshot or set its removalPolicy to Delete: %s", e.vm.VMID, strings.Join(names, ", "))
	conditions.Set(m, xpv2.Deleting().WithMessage(held.Error()))
	return kind.Held(held)
}
