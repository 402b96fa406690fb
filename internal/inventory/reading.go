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

// A reading is a value that is read once for all who want it at the same time,
// and kept for a while.
type reading[T any] struct {
	read func(context.Context) (T, error)

	mu      sync.Mutex
	value   T
	begun   time.Time
	valid   bool
	current *flight[T]
}

// A flight is a read under way.
type flight[T any] struct {
	done  chan struct{}
	value T
	err   error
}

// get returns the value, at most maxAge old. One caller's end does not end the
// read for the others: it lives as long as life.
func (r *reading[T]) get(ctx, life context.Context, now func() time.Time, maxAge time.Duration) (T, error) {
	r.mu.Lock()
	if r.valid && now().Sub(r.begun) <= maxAge {
		defer r.mu.Unlock()
		return r.value, nil
	}
	f := r.current
	if f == nil {
		f = &flight[T]{done: make(chan struct{})}
		r.current = f
		go r.fly(life, f, now())
	}
	r.mu.Unlock()

	select {
	case <-f.done:
		return f.value, f.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// expire forgets the value and does not join a read that began before.
func (r *reading[T]) expire() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.valid, r.current = false, nil
}

func (r *reading[T]) fly(life context.Context, f *flight[T], begun time.Time) {
	ctx, cancel := context.WithTimeout(life, readTimeout)
	defer cancel()
	f.value, f.err = r.read(ctx)

	r.mu.Lock()
	defer r.mu.Unlock()
	if r.current == f {
		r.current = nil
		if f.err == nil {
			r.value, r.begun, r.valid = f.value, begun, true
		}
	}
	close(f.done)
}
