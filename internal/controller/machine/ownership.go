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

	xpevent "github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/claims"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/events"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// An ownership knows which VM is a Machine's, and that it is nobody else's.
type ownership struct{ *external }

// claims compares what Machines claim.
func (e *external) claims() claims.Checker {
	return claims.Checker{
		Machines: e.scheduler, SharesCluster: e.sharesCluster, Hides: e.tenant.Hides, SignedUUID: e.tenant.SignedUUID, SpecCounts: e.isolation.specCounts,
		Holders: e.tenant.Holders,
	}
}

// observeConflict is the observation of a VM that is another Machine's: as if there were
// none, which is not to be created either.
func (e *external) observeConflict(m Machine, err error) (managed.ExternalObservation, error) {
	if claims.IsConflict(err) && meta.WasDeleted(m) {
		if claims.IsLeftBehind(err) {
			e.record.Event(m, xpevent.Warning(events.ReasonLeftBehind, err))
		}
		e.forget(m)
		return managed.ExternalObservation{}, nil
	}
	claims.ShowConflict(m, err)
	return managed.ExternalObservation{}, err
}

// checkIdentity is an error if the VM that was found, or its absence, is not that of the Machine.
func (e ownership) checkIdentity(ctx context.Context, m Machine, id qemu.Identity) error {
	err := claims.CheckUnchanged(m, id, e.vm)
	if _, destroyed := e.tasks.Destroyed(m); err != nil || destroyed {
		return err
	}
	return claims.CheckCluster(ctx, e.inventory, m, id, e.vm)
}

// recordCluster shows which cluster the VM is in, if that can be told.
func (e ownership) recordCluster(ctx context.Context, o *v1alpha1.MachineObservation) {
	name, err := e.inventory.ClusterName(ctx)
	if err == nil && name != "" {
		o.Cluster = name
	}
}

// countedVolumes are the disks of the VM with a UUID that count in the quota of the tenant as Volumes, by their volume IDs.
func (e ownership) countedVolumes(ctx context.Context, m Machine, uuid string) ([]string, error) {
	if !e.tenant.Limited() {
		return nil, nil
	}
	return e.volumes.Counted(ctx, m, uuid, e.tenant.Counts)
}
