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
	"sync"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

const (
	// The back-off of a resource that fails: 1, 2, 4, 8 seconds … 5 minutes.
	shortestBackoff = time.Second
	longestBackoff  = 5 * time.Minute

	// A request that PVE does not permit, or whose credentials it refuses, is repeated after 15, 30, 60 seconds … 5 minutes, or at once after the
	// provider configuration was corrected.
	shortestDenial = 15 * time.Second

	// invalidEvery is how often a request that PVE considers wrong is repeated without a change of the resource: PVE may have been upgraded.
	invalidEvery = time.Hour

	// lockedEvery is how often a request that fails on a lock is repeated. It does not grow, so that all requests that wait for one lock have the same chance.
	lockedEvery = 5 * time.Second

	// longestHeld is the longest interval at which a resource that another resource blocks is reconciled again, after 1, 2, 4 and 8 seconds.
	longestHeld = 15 * time.Second

	// turnWithin is the interval at which a resource that waits for its turn is reconciled although the turn has not come. With many resources the
	// interval is as long as turnRounds reconciles of all of them.
	turnWithin = time.Minute
	turnRounds = 3
)

// backoff delays an object longer after each failure in a row, and the next step of its deletion longer after each step.
type backoff struct {
	workqueue.TypedRateLimiter[reconcile.Request]

	random func() float64

	// deletions delays objects by the number of steps of their deletion. stepMade contains the objects whose deletion has just made a step.
	deletions workqueue.TypedRateLimiter[reconcile.Request]
	stepMade  *sync.Map

	// postponed contains the objects for which there was no worker. The controller takes that for a success and calls Forget, which must keep their delays.
	postponed *sync.Map
}

func newBackoff(random func() float64) backoff {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request]
	return backoff{
		TypedRateLimiter: limiter(shortestBackoff, longestBackoff), deletions: limiter(shortestBackoff, longestBackoff),
		random: random, stepMade: &sync.Map{}, postponed: &sync.Map{},
	}
}

// When returns the delay until the object may be tried again. A step of a deletion resets the delays of the failures before it.
func (b backoff) When(r reconcile.Request) time.Duration {
	limiter := b.TypedRateLimiter
	if _, made := b.stepMade.LoadAndDelete(r); made {
		b.TypedRateLimiter.Forget(r)
		limiter = b.deletions
	}
	return jitter(limiter.When(r), b.random)
}

// Forget resets the failures of the object and the steps of its deletion, unless it was postponed.
func (b backoff) Forget(r reconcile.Request) {
	if _, postponed := b.postponed.LoadAndDelete(r); postponed {
		return
	}
	b.TypedRateLimiter.Forget(r)
	b.deletions.Forget(r)
	b.stepMade.Delete(r)
}

// noteStep records that the deletion of an object has made a step.
func (b backoff) noteStep(r reconcile.Request) { b.stepMade.Store(r, struct{}{}) }

// postpone keeps the delays of the object at the next call of Forget.
func (b backoff) postpone(r reconcile.Request) { b.postponed.Store(r, struct{}{}) }

func controllerOptions(o Options, limiter backoff) controller.Options {
	opts := o.ForControllerRuntime()
	opts.RateLimiter = limiter
	return opts
}

// A backoffReconciler decides by the error of a reconcile when the resource is reconciled again.
type backoffReconciler struct {
	next   reconcile.Reconciler
	wake   func(reconcile.Request)
	random func() float64
	denied workqueue.TypedRateLimiter[reconcile.Request]
	held   workqueue.TypedRateLimiter[reconcile.Request]

	// noteStep records that a deletion has made a step.
	noteStep func(reconcile.Request)

	// fullRound returns the time that it takes to reconcile all resources once.
	fullRound func() time.Duration
}

func newBackoffReconciler(
	next reconcile.Reconciler, wake, noteStep func(reconcile.Request), random func() float64, fullRound func() time.Duration,
) backoffReconciler {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request]
	return backoffReconciler{
		next: next, wake: wake, noteStep: noteStep, random: random, fullRound: fullRound,
		denied: limiter(shortestDenial, longestBackoff), held: limiter(shortestBackoff, longestHeld),
	}
}

// Reconcile reconciles the request. It repeats a failure with the back-off of the managed reconciler only if that may help.
func (p backoffReconciler) Reconcile(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
	var o outcome
	result, err := p.next.Reconcile(withOutcome(ctx, &o), r)
	if !denied(o.err) {
		p.denied.Forget(r)
	}
	if !isHeld(o.err) {
		p.held.Forget(r)
	}
	if o.deleting && o.err == nil {
		p.noteStep(r)
	}
	if err != nil || o.err == nil {
		return result, err
	}
	if turn, ok := proxmox.Waiting(o.err); ok {
		turn.Then(func() { p.wake(r) })
		return reconcile.Result{RequeueAfter: jitter(max(turnWithin, turnRounds*p.fullRound()), p.random)}, nil
	}
	if o.created && (denied(o.err) || wrong(o.err)) {
		return reconcile.Result{RequeueAfter: jitter(shortestBackoff, p.random)}, nil
	}
	if d := p.delay(r, o.err); d > 0 {
		return reconcile.Result{RequeueAfter: jitter(d, p.random)}, nil
	}
	return result, nil
}

// laterLast returns a reconciler that gives requests a low priority when they are due again only because time has passed. A change of a resource, and an
// event of Proxmox VE, are handled first if there is not enough time for both.
func laterLast(next reconcile.Reconciler) reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
		result, err := next.Reconcile(ctx, r)
		result.Priority = new(handler.LowPriority)
		return result, err
	})
}

// denied reports whether PVE refuses our credentials, or does not permit the request.
func denied(err error) bool { return proxmox.IsAuthentication(err) || proxmox.IsAuthorization(err) }

// wrong reports whether PVE considers the request wrong, for another reason than an object that does not exist, which may be created later.
func wrong(err error) bool { return proxmox.IsInvalid(err) && !proxmox.IsUnknownReference(err) }

// delay returns the delay until what failed is tried again, zero for the back-off.
func (p backoffReconciler) delay(r reconcile.Request, err error) time.Duration {
	switch {
	case denied(err):
		return p.denied.When(r)
	case wrong(err):
		return invalidEvery
	case proxmox.IsLocked(err):
		return lockedEvery
	case isHeld(err):
		return p.held.When(r)
	}
	return 0
}

// A waker queues requests at once and forgets their failures. Before it has a queue, it does nothing.
type waker struct {
	mu    sync.Mutex
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
}

// Start gives the waker the queue of the controller, which calls it like a source.
func (w *waker) Start(_ context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue = q
	return nil
}

func (w *waker) wake(r reconcile.Request) {
	w.mu.Lock()
	q := w.queue
	w.mu.Unlock()
	if q != nil {
		q.Forget(r)
		q.Add(r)
	}
}

// recovered returns a function that wakes the resources of a kind that have failed and use a configuration that works again.
func (w *waker) recovered(kube client.Reader, empty resource.ManagedList, log logging.Logger) func(func(resource.Managed) bool) {
	return func(used func(resource.Managed) bool) {
		all, err := ListCached(context.Background(), kube, empty)
		if err != nil {
			log.Info("Cannot list what to try again", "error", err)
			return
		}
		for _, mg := range all {
			if used(mg) && mg.GetCondition(xpv2.TypeSynced).Status != corev1.ConditionTrue {
				w.wake(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(mg)})
			}
		}
	}
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
