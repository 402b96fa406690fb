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
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	// The back-off of a resource that fails: 1, 2, 4, 8 seconds … 5 minutes.
	shortestBackoff = time.Second
	longestBackoff  = 5 * time.Minute

	// spread is the part of a delay by which it varies both ways, so that what
	// happened to many resources at once does not happen to them at once again.
	spread = 0.1
)

// random is a number of at least 0 and below 1.
func random() float64 { return rand.Float64() } //nolint:gosec // Nobody gains from guessing a delay.

// jitter varies a delay by up to a tenth of it.
func jitter(d time.Duration, random func() float64) time.Duration {
	return d + time.Duration((2*random()-1)*spread*float64(d))
}

// jittered is the hook, or none, with jitter.
func jittered(hook managed.PollIntervalHook, random func() float64) managed.PollIntervalHook {
	return func(mg resource.Managed, d time.Duration) time.Duration {
		if hook == nil {
			return jitter(d, random)
		}
		// Zero would mean never again to the reconciler.
		if wanted := hook(mg, d); wanted > 0 {
			d = wanted
		}
		return jitter(d, random)
	}
}

// backoff delays each object the longer the more often it failed in a row.
type backoff struct {
	workqueue.TypedRateLimiter[reconcile.Request]

	random func() float64
}

func newBackoff(random func() float64) backoff {
	return backoff{
		TypedRateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](shortestBackoff, longestBackoff),
		random:           random,
	}
}

// When the object may be tried again: the delay from now.
func (b backoff) When(r reconcile.Request) time.Duration {
	return jitter(b.TypedRateLimiter.When(r), b.random)
}

func controllerOptions(o Options) controller.Options {
	opts := o.ForControllerRuntime()
	opts.RateLimiter = newBackoff(random)
	return opts
}

// wake queues an object at once and forgets its failures.
func wake() handler.TypedEventHandler[client.Object, reconcile.Request] {
	return handler.TypedFuncs[client.Object, reconcile.Request]{
		GenericFunc: func(_ context.Context, e event.GenericEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			r := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(e.Object)}
			q.Forget(r)
			q.Add(r)
		},
	}
}
