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
	"sync"
	"time"
)

// readTimeout ends a shared read whose callers may all have gone.
const readTimeout = time.Minute

// A cached is a value that is read once for all who want it at the same time,
// and kept for a while.
type cached[T any] struct {
	read func(context.Context) (T, error)

	mu      sync.Mutex
	value   T
	begun   time.Time
	valid   bool
	current *call[T]
	next    *call[T]

	// stale counts how often what was read was found to be that.
	stale int
}

// A call is a read under way, or the one after it.
type call[T any] struct {
	done  chan struct{}
	fresh bool
	stale int // of the reading when it began
	value T
	err   error
}

// invalidate what was read, or is being read: something has changed.
func (r *cached[T]) invalidate() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.valid = false
	r.stale++
}

// get returns the value, at most maxAge old. One caller's end does not end the
// read for the others: it lives as long as life.
func (r *cached[T]) get(ctx, life context.Context, now func() time.Time, maxAge time.Duration) (T, error) {
	r.mu.Lock()
	if r.valid && now().Sub(r.begun) <= maxAge {
		defer r.mu.Unlock()
		return r.value, nil
	}
	f := r.current
	if f == nil || f.stale != r.stale {
		f = &call[T]{done: make(chan struct{})}
		r.begin(life, f, now)
	}
	r.mu.Unlock()
	return f.wait(ctx)
}

// refresh reads a value that is older than maxAge anew, unless that is under way. Until then it
// counts as before.
func (r *cached[T]) refresh(life context.Context, now func() time.Time, maxAge time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.current == nil && now().Sub(r.begun) > maxAge {
		r.begin(life, &call[T]{done: make(chan struct{})}, now)
	}
}

// fresh reads the value after now. Those who want that while such a read is under
// way share the next one.
func (r *cached[T]) fresh(ctx, life context.Context, now func() time.Time) (T, error) {
	r.mu.Lock()
	f := r.next
	switch {
	case f != nil:
	case r.current != nil && r.current.fresh:
		f = &call[T]{done: make(chan struct{}), fresh: true}
		r.next = f
	default:
		f = &call[T]{done: make(chan struct{}), fresh: true}
		r.begin(life, f, now)
	}
	r.mu.Unlock()
	return f.wait(ctx)
}

// begin must be called with the lock held.
func (r *cached[T]) begin(life context.Context, f *call[T], now func() time.Time) {
	r.current, f.stale = f, r.stale
	go r.run(life, f, now)
}

func (f *call[T]) wait(ctx context.Context) (T, error) {
	select {
	case <-f.done:
		return f.value, f.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

func (r *cached[T]) run(life context.Context, f *call[T], now func() time.Time) {
	begun := now()
	ctx, cancel := context.WithTimeout(life, readTimeout)
	defer cancel()
	f.value, f.err = r.read(ctx)

	r.mu.Lock()
	defer r.mu.Unlock()
	if r.current == f {
		r.current = nil
		if f.err == nil && f.stale == r.stale {
			r.value, r.begun, r.valid = f.value, begun, true
		}
		if r.next != nil {
			next := r.next
			r.next = nil
			r.begin(life, next, now)
		}
	}
	close(f.done)
}
