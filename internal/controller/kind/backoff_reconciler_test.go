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
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/metrics"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// said is an error that PVE answered.
func said(status int, message string) error {
	return errors.Wrap(&proxmox.Error{Op: "do it", Method: "PUT", Status: status, Message: message}, "cannot go on")
}

// repeats is what the managed reconciler makes of an error, with what was counted.
func repeats(err error, created bool) reconcile.Func {
	return func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
		c := counter{metrics: metrics.New()}
		_ = c.count(ctx, err)
		if o, ok := ctx.Value(outcomeKey{}).(*outcome); ok {
			o.created = created
		}
		return reconcile.Result{Requeue: err != nil}, nil
	}
}

func even() float64 { return 0.5 }

func nobody(reconcile.Request) {}

func atOnce() time.Duration { return 0 }

func TestPaced(t *testing.T) {
	again := reconcile.Result{Requeue: true}
	after := func(d time.Duration) reconcile.Result { return reconcile.Result{RequeueAfter: d} }
	upToFiveMinutes := []reconcile.Result{
		after(15 * time.Second), after(30 * time.Second), after(time.Minute), after(2 * time.Minute), after(4 * time.Minute), after(5 * time.Minute),
		after(5 * time.Minute),
	}
	cases := map[string]struct {
		reason  string
		err     error
		created bool
		want    []reconcile.Result
	}{
		"Nothing":     {reason: "What went well is left to the poll interval.", want: []reconcile.Result{{}}},
		"Unavailable": {reason: "The back-off is for what passes.", err: said(596, "broken"), want: []reconcile.Result{again, again}},
		"Error":       {reason: "A server that says nothing more may work again.", err: said(500, "internal error"), want: []reconcile.Result{again, again}},
		"BadGateway":  {reason: "A proxy may have its server again.", err: said(502, "bad gateway"), want: []reconcile.Result{again, again}},
		"Busy":        {reason: "A server may be there again.", err: said(503, "service unavailable"), want: []reconcile.Result{again, again}},
		"NotFound":    {reason: "What is not found may come.", err: said(404, "not found"), want: []reconcile.Result{again, again}},
		"NoStorage":   {reason: "A storage that is missing may come.", err: said(500, "storage 'nvme' does not exist"), want: []reconcile.Result{again, again}},
		"NoPool": {
			reason: "A pool that is missing may come.", err: said(403, "Permission check failed (pool 'web' does not exist)"),
			want: []reconcile.Result{again, again},
		},
		"HTTP409":  {reason: "A state that conflicts may be another one later.", err: said(409, "conflict"), want: []reconcile.Result{again, again}},
		"Unknown":  {reason: "What is not known may pass.", err: errors.New("what?"), want: []reconcile.Result{again}},
		"Conflict": {reason: "Another VMID may be free at once.", err: said(500, "VM 100 already exists"), want: []reconcile.Result{again}},
		"Authentication": {
			reason: "PVE logs each attempt.", err: said(401, "no"),
			want: upToFiveMinutes,
		},
		"Authorization": {
			reason: "Privileges do not come by themselves.", err: said(403, "no"),
			want: upToFiveMinutes,
		},
		"Validation": {
			reason: "The same request is as wrong the next time.", err: said(400, "no"),
			want: []reconcile.Result{after(invalidEvery), after(invalidEvery)},
		},
		"Locked": {
			reason: "All who wait for a lock have the same chance.", err: said(500, "can't lock file '/x' - got timeout"),
			want: []reconcile.Result{after(lockedEvery), after(lockedEvery)},
		},
		"Held": {
			reason: "Nobody reports when a resource is given up.", err: Held(errors.New("it is in use")),
			want: []reconcile.Result{
				after(time.Second), after(2 * time.Second), after(4 * time.Second), after(8 * time.Second), after(15 * time.Second), after(15 * time.Second),
			},
		},
		"Created": {reason: "The next look shows why.", err: said(400, "no"), created: true, want: []reconcile.Result{after(shortestBackoff)}},
		"CreatedMissing": {
			reason: "A creation that lacks a storage has a back-off of its own.", err: said(500, "storage 'nvme' does not exist"), created: true,
			want: []reconcile.Result{again, again},
		},
		"CreatedLater": {reason: "A creation that may yet work has its back-off.", err: said(596, "broken"), created: true, want: []reconcile.Result{again}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := newBackoffReconciler(repeats(tc.err, tc.created), nobody, nobody, even, atOnce)
			for i, want := range tc.want {
				got, err := p.Reconcile(t.Context(), reconcile.Request{})
				if diff := cmp.Diff(want, got); diff != "" || err != nil {
					t.Errorf("%s\nattempt %d: %v\n-want, +got:\n%s", tc.reason, i+1, err, diff)
				}
			}
		})
	}
}

// TestWaitsForItsTurn sees that what waits until a task of it may start is woken once, and is looked at meanwhile like all others.
func TestWaitsForItsTurn(t *testing.T) {
	c, waits := outOfTurn(t)
	woken, round := 0, time.Duration(0)
	p := newBackoffReconciler(repeats(waits, false), func(reconcile.Request) { woken++ }, nobody, even, func() time.Duration { return round })
	for r, want := range map[time.Duration]time.Duration{0: turnWithin, time.Second: turnWithin, time.Hour: 3 * time.Hour} {
		round = r
		if got, err := p.Reconcile(t.Context(), reconcile.Request{}); err != nil || got.RequeueAfter != want {
			t.Errorf("where all are looked at within %s: want a look after %s, got %v, %v", r, want, got, err)
		}
	}
	if woken != 0 {
		t.Error("the task may not start yet")
	}
	c.WakeWaiting()
	if woken != 1 {
		t.Errorf("woken %d times, want 1", woken)
	}
}

// TestLaterLast checks that what happens is handled before what is due since time has passed, and also raises the priority of what is queued for that.
func TestLaterLast(t *testing.T) {
	const polled, changed = "polled", "changed"
	named := func(name string) reconcile.Request {
		return reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}
	}
	queue := priorityqueue.New[reconcile.Request]("test")
	defer queue.ShutDown()
	r := laterLast(reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
		return reconcile.Result{RequeueAfter: 1}, nil
	}))
	for _, name := range []string{polled, changed} {
		result, err := r.Reconcile(t.Context(), named(name))
		if err != nil {
			t.Fatal(err)
		}
		queue.AddWithOpts(priorityqueue.AddOpts{Priority: result.Priority}, named(name))
	}
	var w waker
	if err := w.Start(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	w.wake(named(changed))
	for _, want := range []string{changed, polled} {
		if got, _, _ := queue.GetWithPriority(); got != named(want) {
			t.Errorf("want %s, got %s", want, got.Name)
		}
	}
}

// deletes is what the managed reconciler makes of a deletion of which a step was made, or failed.
func deletes(err *error) reconcile.Func {
	return func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
		_, _ = countingClient[*cluster.Machine]{next: external{err: *err}, counter: counter{metrics: metrics.New()}}.Delete(ctx, nil)
		return reconcile.Result{Requeue: true}, nil
	}
}

// TestDeletionSteps has a deletion fail for long, and go on then.
func TestDeletionSteps(t *testing.T) {
	var err error
	limiter := newBackoff(even)
	p := newBackoffReconciler(deletes(&err), nobody, limiter.noteStep, even, atOnce)
	delay := func() time.Duration {
		if got, failed := p.Reconcile(t.Context(), reconcile.Request{}); failed != nil || got != (reconcile.Result{Requeue: true}) {
			t.Errorf("want the queue to decide when to go on, got %v, %v", got, failed)
		}
		return limiter.When(reconcile.Request{})
	}
	boom := errors.New("it is in use")
	for _, step := range []struct {
		reason string
		err    error
		want   time.Duration
	}{
		{reason: "What fails is delayed the longer the more often it did.", err: boom, want: time.Second},
		{reason: "What fails a second time is delayed longer.", err: boom, want: 2 * time.Second},
		{reason: "What fails a third time is delayed longer still.", err: boom, want: 4 * time.Second},
		{reason: "The first step that is made is followed by the next one at once.", want: time.Second},
		{reason: "A deletion that takes long is looked at less and less often.", want: 2 * time.Second},
		{reason: "What fails from then on starts again.", err: boom, want: time.Second},
		{reason: "Steps that lead nowhere are counted on, so that it is not repeated without end at the shortest delay.", want: 4 * time.Second},
	} {
		err = step.err
		if got := delay(); got != step.want {
			t.Errorf("%s Want %s, got %s", step.reason, step.want, got)
		}
	}
	limiter.Forget(reconcile.Request{})
	err = nil
	if got := delay(); got != time.Second {
		t.Errorf("what is woken starts again: got %s", got)
	}
}
