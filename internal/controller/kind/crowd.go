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

// regularShare is the part of all reconciles per second that may look at resources for
// no other reason than that time has passed. Whoever changes one, or needs
// a new one, does not wait behind thousands of such looks.
const regularShare = 0.5

// A Crowd is the resources that we are in charge of, of all kinds that share a limit. It
// is safe for concurrent use.
type Crowd struct {
	size atomic.Int64
	// perSecond is how many may be reconciled; rate.Inf if nothing limits that.
	perSecond rate.Limit
}

// NewCrowd of those whose reconciles a limiter limits.
func NewCrowd(l ratelimiter.RateLimiter) *Crowd { return &Crowd{perSecond: perSecond(l)} }

// count the resources that a cache has of a kind.
func (c *Crowd) count(all cache.Informers, share Share, kind client.Object) error {
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

// perSecond is what a limiter allows.
func perSecond(l ratelimiter.RateLimiter) rate.Limit {
	if bucket, ok := l.(*ratelimiter.BucketRateLimiter); ok {
		return bucket.Limit()
	}
	return rate.Inf
}

// unhurried is the hook with an interval that is long enough for all of the crowd,
// unless a resource asks for one of its own.
func (c *Crowd) unhurried(hook managed.PollIntervalHook) managed.PollIntervalHook {
	return func(mg resource.Managed, d time.Duration) time.Duration {
		if _, asked := meta.GetPollInterval(mg); !asked {
			d = max(d, c.round())
		}
		return hook(mg, d)
	}
}

// round is how long it takes to look at all of them once.
func (c *Crowd) round() time.Duration {
	return time.Duration(float64(c.size.Load()) / (float64(c.perSecond) * regularShare) * float64(time.Second))
}
