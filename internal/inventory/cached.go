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
	"net/http"
	"sync"
	"time"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// readTimeout ends a shared read, since all of its callers may have left.
const readTimeout = time.Minute

const (
	// joinTimeout is how long callers wait for a read that others have begun, counted from its beginning. Otherwise one cluster that does not answer would
	// block all workers, which serve other clusters too.
	joinTimeout = 10 * time.Second

	// retryTimeout is how long callers wait for a read if the previous one got no answer. A cluster that works answers sooner.
	retryTimeout = time.Second
)

// A cached value is read once for all callers that ask for it at the same time, and kept for a while.
type cached[T any] struct {
	read func(context.Context) (T, error)

	mu      sync.Mutex
	value   T
	begun   time.Time
	tried   time.Time // when the last read began
	valid   bool
	current *call[T]
	next    *call[T]

	// stale counts how often the value was invalidated.
	stale int

	// joined names what is read, such as "list tasks", if callers wait for the reads of others only as long as the timeouts allow. failed is the error of the
	// last read if it got no answer.
	joined string
	failed error
}

// A call is a read that is running, or the read after it.
type call[T any] struct {
	done  chan struct{}
	begun time.Time
	fresh bool
	stale int // cached.stale when the call began
	value T
	err   error
}

// invalidate marks the value, and a read that is running, as stale because something has changed.
func (r *cached[T]) invalidate() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.valid = false
	r.stale++
}

// get returns the value, at most maxAge old. If the context of one caller ends, the read continues for the others: only the end of life ends it.
func (r *cached[T]) get(ctx, life context.Context, now func() time.Time, maxAge time.Duration) (T, error) {
	r.mu.Lock()
	if r.valid && now().Sub(r.begun) <= maxAge {
		defer r.mu.Unlock()
		return r.value, nil
	}
	f, own := r.current, false
	if f == nil || f.stale != r.stale {
		f, own = &call[T]{done: make(chan struct{})}, true
		r.begin(life, f, now)
	}
	p := r.waitLimit(f, own, now)
	r.mu.Unlock()
	return f.wait(ctx, p)
}

// A waitLimit holds how long a caller waits for a read, and the error that it gets afterwards.
type waitLimit struct {
	time.Duration

	err error
}

// waitLimit returns how long a caller waits for a read, which is its own or that of another caller. It must be called with the lock held.
func (r *cached[T]) waitLimit(f *call[T], own bool, now func() time.Time) waitLimit {
	switch {
	case r.joined == "" || own && r.failed == nil:
		return waitLimit{}
	case r.failed != nil:
		return waitLimit{Duration: retryTimeout, err: r.failed}
	}
	age := time.Duration(0)
	if !f.begun.IsZero() {
		age = now().Sub(f.begun)
	}
	return waitLimit{
		Duration: max(joinTimeout-age, retryTimeout),
		err:      &proxmox.Error{Op: r.joined, Method: http.MethodGet, Status: 599, Message: "no answer in time", Problem: proxmox.ProblemTimeout},
	}
}

// refresh begins to read the value again if it is older than maxAge and is not being read. Until then the old value is used.
func (r *cached[T]) refresh(life context.Context, now func() time.Time, maxAge time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.current == nil && now().Sub(r.tried) > maxAge {
		r.begin(life, &call[T]{done: make(chan struct{})}, now)
	}
}

// fresh returns a value whose read begins after now. Callers that arrive during a read share the next one.
func (r *cached[T]) fresh(ctx, life context.Context, now func() time.Time) (T, error) {
	f, p := r.following(life, now)
	return f.wait(ctx, p)
}

// since returns a value whose read began after a time: the known value, the value of a running read, or that of a new read.
func (r *cached[T]) since(ctx, life context.Context, now func() time.Time, after time.Time) (T, error) {
	r.mu.Lock()
	if r.valid && r.begun.After(after) {
		defer r.mu.Unlock()
		return r.value, nil
	}
	if f := r.current; f != nil && f.stale == r.stale && f.begun.After(after) {
		p := r.waitLimit(f, false, now)
		r.mu.Unlock()
		return f.wait(ctx, p)
	}
	r.mu.Unlock()
	return r.fresh(ctx, life, now)
}

// poll reads the value after now, however long that takes.
func (r *cached[T]) poll(life context.Context, now func() time.Time) (T, error) {
	f, _ := r.following(life, now)
	return f.wait(life, waitLimit{})
}

// following returns a read that begins after now, and how long its callers wait.
func (r *cached[T]) following(life context.Context, now func() time.Time) (*call[T], waitLimit) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f, own := r.next, false
	switch {
	case f != nil:
	case r.current != nil && r.current.fresh:
		f = &call[T]{done: make(chan struct{}), fresh: true}
		r.next = f
	default:
		f, own = &call[T]{done: make(chan struct{}), fresh: true}, true
		r.begin(life, f, now)
	}
	return f, r.waitLimit(f, own, now)
}

// begin starts a read. It must be called with the lock held.
func (r *cached[T]) begin(life context.Context, f *call[T], now func() time.Time) {
	r.current, f.stale, f.begun = f, r.stale, now()
	r.tried = f.begun
	go r.run(life, f, now)
}

func (f *call[T]) wait(ctx context.Context, p waitLimit) (T, error) {
	var late <-chan time.Time
	if p.err != nil {
		t := time.NewTimer(p.Duration)
		defer t.Stop()
		late = t.C
	}
	var none T
	select {
	case <-f.done:
		return f.value, f.err
	case <-late:
		return none, p.err
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

func (r *cached[T]) run(life context.Context, f *call[T], now func() time.Time) {
	ctx, cancel := context.WithTimeout(life, readTimeout)
	defer cancel()
	f.value, f.err = r.read(ctx)

	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed = nil; proxmox.IsUnavailable(f.err) {
		r.failed = f.err
	}
	if r.current == f {
		r.current = nil
		if f.err == nil && f.stale == r.stale {
			r.value, r.begun, r.valid = f.value, f.begun, true
		}
		if r.next != nil {
			next := r.next
			r.next = nil
			r.begin(life, next, now)
		}
	}
	close(f.done)
}
