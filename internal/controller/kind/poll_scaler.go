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

package kind

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/ratelimiter"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"golang.org/x/time/rate"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The parts of all reconciles per second that may happen only because time has passed, so that a new or changed resource does not wait behind thousands of
// them.
const (
	// pollShare is for all resources, in turn.
	pollShare = 0.5

	// soonShare is for those that are not ready, in addition.
	soonShare = 0.25
)

// A PollScaler counts the managed resources of all kinds that share a rate limit, and lengthens their poll intervals accordingly. It is safe for concurrent
// use.
type PollScaler struct {
	size atomic.Int64
	// perSecond is how many may be reconciled; rate.Inf if nothing limits that.
	perSecond rate.Limit

	mu sync.Mutex
	// next is when the next of those may be looked at that are looked at sooner than others.
	next time.Time
}

// NewPollScaler returns a PollScaler of the resources whose reconciles a limiter limits.
func NewPollScaler(l ratelimiter.RateLimiter) *PollScaler {
	return &PollScaler{perSecond: perSecond(l)}
}

// watch counts the resources of a kind in a cache.
func (c *PollScaler) watch(all cache.Informers, share Shard, kind client.Object) error {
	informer, err := all.GetInformer(context.Background(), kind, cache.BlockUntilSynced(false))
	if err != nil {
		return errors.Wrap(err, "cannot count resources")
	}
	_, err = informer.AddEventHandler(toolscache.FilteringResourceEventHandler{
		FilterFunc: func(obj any) bool {
			if last, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
				obj = last.Obj
			}
			mg, ok := obj.(client.Object)
			return ok && share.Has(mg)
		},
		Handler: toolscache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { c.size.Add(1) },
			DeleteFunc: func(any) { c.size.Add(-1) },
		},
	})
	return errors.Wrap(err, "cannot count resources")
}

// perSecond returns the rate that a limiter allows.
func perSecond(l ratelimiter.RateLimiter) rate.Limit {
	if bucket, ok := l.(*ratelimiter.BucketRateLimiter); ok {
		return bucket.Limit()
	}
	return rate.Inf
}

// interval wraps a hook. The interval is long enough for all resources, unless a resource has its own. If the hook returns a shorter one, as for a resource
// that is not ready, that is used as long as such reconciles do not exceed their share: thousands of resources that are not ready do not delay others.
func (c *PollScaler) interval(hook managed.PollIntervalHook, clock func() time.Time) managed.PollIntervalHook {
	return func(mg resource.Managed, d time.Duration) time.Duration {
		if _, asked := meta.GetPollInterval(mg); asked {
			return after(hook, mg, d)
		}
		d = max(d, c.fullRound())
		sooner := after(hook, mg, d)
		if sooner >= d {
			return sooner
		}
		return min(d, max(sooner, c.turn(clock(), d)))
	}
}

// after returns the interval of a hook, or d if there is no hook or it returns zero, which the reconciler would take for never.
func after(hook managed.PollIntervalHook, mg resource.Managed, d time.Duration) time.Duration {
	if hook == nil {
		return d
	}
	if wanted := hook(mg, d); wanted > 0 {
		return wanted
	}
	return d
}

// turn reserves the next turn among the resources with a shorter interval, and returns the time until then, at most longest.
func (c *PollScaler) turn(now time.Time, longest time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next.Before(now) {
		c.next = now
	}
	wait := c.next.Sub(now)
	if wait < longest {
		c.next = c.next.Add(c.each(soonShare))
	}
	return wait
}

// each returns the time between two reconciles of a part of all.
func (c *PollScaler) each(share float64) time.Duration {
	return time.Duration(float64(time.Second) / (float64(c.perSecond) * share))
}

// fullRound returns the time that it takes to reconcile all resources once.
func (c *PollScaler) fullRound() time.Duration {
	return time.Duration(c.size.Load()) * c.each(pollShare)
}

// spread is the part of a delay by which it varies in both directions, so that many resources that were reconciled at the same time are not reconciled at
// the same time again.
const spread = 0.1

// random returns a number of at least 0 and below 1.
func random() float64 { return rand.Float64() } //nolint:gosec // Nobody gains from guessing a delay.

// jitter varies a delay by up to a tenth of it.
func jitter(d time.Duration, random func() float64) time.Duration {
	return d + time.Duration((2*random()-1)*spread*float64(d))
}

// jittered adds jitter to the interval of a hook.
func jittered(hook managed.PollIntervalHook, random func() float64) managed.PollIntervalHook {
	return func(mg resource.Managed, d time.Duration) time.Duration {
		return jitter(after(hook, mg, d), random)
	}
}
