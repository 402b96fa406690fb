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

package machine

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"k8s.io/apimachinery/pkg/types"
)

// queuePoll is how often it is looked whether there is a place for Machines
// that have none. All look at the same shared view, which is read once.
const queuePoll = 10 * time.Second

// A queue has the Machines for which there is no place. They cost no calls of
// their own until they may have one, or have none for another reason.
type queue struct {
	wake func(Machine)

	mu  sync.Mutex
	all map[types.UID]waiter
}

// A waiter is a Machine as it was when no place was found, why there was none,
// and how to find out whether there is one now.
type waiter struct {
	m   Machine
	err error
	try func(context.Context) error
}

func newQueue(wake func(Machine)) *queue {
	return &queue{wake: wake, all: map[types.UID]waiter{}}
}

func (q *queue) add(m Machine, err error, try func(context.Context) error) {
	m, _ = m.DeepCopyObject().(Machine)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.all[m.GetUID()] = waiter{m: m, err: err, try: try}
}

// held is why there is no place for a Machine that waits. One that has changed
// since waits no longer.
func (q *queue) held(m Machine) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	was, ok := q.all[m.GetUID()]
	if !ok {
		return nil
	}
	if was.m.GetGeneration() == m.GetGeneration() && !meta.WasDeleted(m) &&
		maps.Equal(was.m.GetLabels(), m.GetLabels()) && maps.Equal(was.m.GetAnnotations(), m.GetAnnotations()) {
		return was.err
	}
	delete(q.all, m.GetUID())
	return nil
}

// Start looks again and again until the context ends.
func (q *queue) Start(ctx context.Context) error {
	ticker := time.NewTicker(queuePoll)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			q.look(ctx)
		}
	}
}

// look for whom there is a place now.
func (q *queue) look(ctx context.Context) {
	q.mu.Lock()
	all := slices.Collect(maps.Values(q.all))
	q.mu.Unlock()
	for _, was := range all {
		if err := was.try(ctx); err != nil && err.Error() == was.err.Error() || ctx.Err() != nil {
			continue
		}
		q.mu.Lock()
		delete(q.all, was.m.GetUID())
		q.mu.Unlock()
		q.wake(was.m)
	}
}
