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

package placement

import (
	"context"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vitistack/provider-proxmox/internal/objectstate"
)

// queuePoll is how often Retry runs. All tries look at the same shared view, which is read once.
const queuePoll = 10 * time.Second

// A Queue has the objects for which there is no node. They cost no calls of their own until there may be a node for them, or none for
// another reason.
type Queue[T metav1.Object] struct {
	wake    func(T)
	waiting objectstate.Store[waiting[T]]
}

// A waiting object is as it was when no node was found.
type waiting[T metav1.Object] struct {
	object T
	err    error                       // why there was none
	try    func(context.Context) error // finds out whether there is one now
}

// NewQueue returns an empty queue, which wakes objects that are to be tried again.
func NewQueue[T metav1.Object](wake func(T)) *Queue[T] { return &Queue[T]{wake: wake} }

// Add adds an object, which the queue keeps.
func (q *Queue[T]) Add(o T, err error, try func(context.Context) error) {
	q.waiting.Lock()
	defer q.waiting.Unlock()
	q.waiting.Set(o, &waiting[T]{object: o, err: err, try: try})
}

// Len returns the number of objects that wait.
func (q *Queue[T]) Len() int {
	q.waiting.Lock()
	defer q.waiting.Unlock()
	return q.waiting.Len()
}

// Reason returns why there is no node for an object that waits, or nil. An object that has changed since waits no longer.
func (q *Queue[T]) Reason(o T) error {
	q.waiting.Lock()
	defer q.waiting.Unlock()
	was := q.waiting.Get(o)
	if was == nil {
		return nil
	}
	if was.object.GetGeneration() == o.GetGeneration() && o.GetDeletionTimestamp() == nil &&
		maps.Equal(was.object.GetLabels(), o.GetLabels()) && maps.Equal(was.object.GetAnnotations(), o.GetAnnotations()) {
		return was.err
	}
	q.waiting.Delete(o)
	return nil
}

// Start retries again and again until the context ends.
func (q *Queue[T]) Start(ctx context.Context) error {
	ticker := time.NewTicker(queuePoll)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			q.Retry(ctx)
		}
	}
}

// Retry retries all objects, and wakes those for which there may be a node now or that have another reason to wait.
func (q *Queue[T]) Retry(ctx context.Context) {
	q.waiting.Lock()
	all := slices.Collect(maps.Values(q.waiting.All()))
	q.waiting.Unlock()
	for _, was := range all {
		if err := was.try(ctx); err != nil && err.Error() == was.err.Error() || ctx.Err() != nil {
			continue
		}
		q.waiting.Lock()
		q.waiting.Delete(was.object)
		q.waiting.Unlock()
		q.wake(was.object)
	}
}
