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

package inventory

import (
	"context"
	"time"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// An haClient is the part of a Client that reads high availability.
type haClient interface {
	HARules(ctx context.Context) (proxmox.HARules, error)
	HAResources(ctx context.Context) (map[int]proxmox.HASettings, error)
	HAStatus(ctx context.Context) (proxmox.HAStatus, error)
}

// ha caches the configuration and the state of high availability.
type ha struct {
	times *times

	rules     cached[readResult[proxmox.HARules]]
	resources cached[readResult[map[int]proxmox.HASettings]]
	status    cached[readResult[proxmox.HAStatus]]
}

func newHA(times *times, client haClient) *ha {
	return &ha{
		times: times,

		rules:     cached[readResult[proxmox.HARules]]{read: newReadResult(client.HARules)},
		resources: cached[readResult[map[int]proxmox.HASettings]]{read: newReadResult(client.HAResources)},
		status:    cached[readResult[proxmox.HAStatus]]{read: newReadResult(client.HAStatus)},
	}
}

// readResult holds what was read, or the error if PVE does not permit the read. Asking again at each reconcile would not change that.
type readResult[T any] struct {
	value   T
	refusal error
}

func newReadResult[T any](read func(context.Context) (T, error)) func(context.Context) (readResult[T], error) {
	return func(ctx context.Context) (readResult[T], error) {
		v, err := read(ctx)
		if proxmox.IsAuthorization(err) {
			return readResult[T]{refusal: err}, nil
		}
		return readResult[T]{value: v}, err
	}
}

func (r readResult[T]) or(err error) (T, error) {
	if err == nil {
		err = r.refusal
	}
	return r.value, err
}

// granted returns the value, at most maxAge old. A read that PVE did not permit is repeated after another age, refused, since the privilege may have been
// granted meanwhile.
func granted[T any](ctx context.Context, t *times, of *cached[readResult[T]], maxAge, refused time.Duration) (T, error) {
	r, err := of.get(ctx, t.life, t.now, maxAge)
	if r.refusal != nil {
		r, err = of.get(ctx, t.life, t.now, refused)
	}
	return r.or(err)
}

// HARules returns the HA rules of the cluster. No event reports their changes. They must not be changed.
func (h *ha) HARules(ctx context.Context, maxAge time.Duration) (proxmox.HARules, error) {
	r, err := read(ctx, h.times, &h.rules, maxAge)
	return r.or(err)
}

// HAResources returns the HA settings of VMs, by VMID. They are read again after InvalidateHA, and after any sign that the behaviour of HA has changed.
// The result must not be changed.
func (h *ha) HAResources(ctx context.Context, maxAge time.Duration) (map[int]proxmox.HASettings, error) {
	if maxAge == Fresh {
		r, err := h.resources.fresh(ctx, h.times.life, h.times.now)
		return r.or(err)
	}
	return granted(ctx, h.times, &h.resources, h.times.scale(maxAge), h.times.scale(min(maxAge, Relaxed)))
}

// HAStatus returns the state of high availability. It is at most a minute old, and read again after any sign that the behaviour of HA has changed.
func (h *ha) HAStatus(ctx context.Context) (proxmox.HAStatus, error) {
	r, err := read(ctx, h.times, &h.status, time.Minute)
	return r.or(err)
}

// InvalidateHA invalidates what was read of HA. Call it after a change of HA.
func (h *ha) InvalidateHA() {
	h.resources.invalidate()
	h.status.invalidate()
}

// concerns reports whether HA manages one of the guests, as far as is known.
func (h *ha) concerns(all changes) bool {
	h.resources.mu.Lock()
	defer h.resources.mu.Unlock()
	for vmid := range all {
		if _, ok := h.resources.value.value[vmid]; ok {
			return true
		}
	}
	return false
}
