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

package volume

import (
	"context"
	"fmt"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"

	"github.com/vitistack/provider-proxmox/internal/objectstate"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
	"github.com/vitistack/provider-proxmox/internal/vmcache"
)

// used returns why a volume of a VM is left alone: another VM uses it, or may do so. PVE would rename or destroy the disk anyway.
func (r *reader) used(ctx context.Context, tenant *tenancy.Tenant, volume string, owner *vm) (string, error) {
	storages, err := r.inventory.Storages(ctx)
	if err != nil {
		return "", err
	}
	disks := vmcache.Disks{Volumes: []string{volume}, Node: owner.Node, Storages: storages, MayName: tenancy.MayName(tenant)}
	err = r.now.CheckUnused(ctx, disks, owner.VMID)
	user, off := vmcache.UsedError{}, vmcache.OfflineError{}
	switch {
	case errors.As(err, &user):
		return user.User() + " uses it too: detach it there", nil
	case errors.As(err, &off):
		return err.Error() + ": bring the node back, or move the configurations of its VMs to another node once it is known to be dead", nil
	}
	return "", err
}

// refuseUsed records that the disk is left alone because a VM other than the one that it is taken from uses it, or may do so. It reports whether that
// is so.
func (e *external) refuseUsed(ctx context.Context, m Volume) (bool, error) {
	v := e.view
	if !v.Made() || !v.has(v.from) {
		return false, nil
	}
	why, err := e.reader.used(ctx, e.confinement.tenant, v.Volume, v.from)
	if why == "" || err != nil {
		return false, err
	}
	e.fail(m, fmt.Sprintf("disk %s is left alone: %s", v.Volume, why))
	return true, e.save(ctx, m)
}

// A refusal is why a disk is not adopted, and until when that is not checked again.
type refusal struct {
	volume, why string
	times       int
	until       time.Time
}

// refusals are those of each Volume. They are stored because reading all VMs takes many calls.
type refusals struct{ all objectstate.Store[refusal] }

// whether reports whether a disk is refused, and why. It calls look, less and less often while the disk is refused.
func (r *refusals) whether(m resource.Managed, volume string, now time.Time, look func() (string, error)) (string, error) {
	last := r.last(m, volume)
	if now.Before(last.until) {
		return last.why, nil
	}
	why, err := look()
	if err != nil {
		return "", err
	}
	r.all.Lock()
	defer r.all.Unlock()
	r.all.Delete(m)
	if why != "" {
		wait := time.Duration(backoff(last.times)) * time.Second
		r.all.Set(m, &refusal{volume: volume, why: why, times: last.times + 1, until: now.Add(wait)})
	}
	return why, nil
}

// last returns the last refusal of a disk; the zero value for none.
func (r *refusals) last(m resource.Managed, volume string) refusal {
	r.all.Lock()
	defer r.all.Unlock()
	if last := r.all.Get(m); last != nil && last.volume == volume {
		return *last
	}
	return refusal{}
}

// forget removes the refusals of a Volume that is being deleted.
func (r *refusals) forget(m resource.Managed) {
	r.all.Lock()
	defer r.all.Unlock()
	r.all.Delete(m)
}
