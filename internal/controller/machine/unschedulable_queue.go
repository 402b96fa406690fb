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

// A unschedulableQueue has the Machines for which there is no place. They cost no calls of
// their own until they may have one, or have none for another reason.
type unschedulableQueue struct {
	wake func(Machine)

	mu  sync.Mutex
	all map[types.UID]waitingMachine
}

// A waitingMachine is a Machine as it was when no place was found, why there was none,
// and how to find out whether there is one now.
type waitingMachine struct {
	m   Machine
	err error
	try func(context.Context) error
}

func newUnschedulableQueue(wake func(Machine)) *unschedulableQueue {
	return &unschedulableQueue{wake: wake, all: map[types.UID]waitingMachine{}}
}

func (q *unschedulableQueue) add(m Machine, err error, try func(context.Context) error) {
	m, _ = m.DeepCopyObject().(Machine)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.all[m.GetUID()] = waitingMachine{m: m, err: err, try: try}
}

// reason is why there is no place for a Machine that waits. One that has changed
// since waits no longer.
func (q *unschedulableQueue) reason(m Machine) error {
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
func (q *unschedulableQueue) Start(ctx context.Context) error {
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
func (q *unschedulableQueue) look(ctx context.Context) {
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
