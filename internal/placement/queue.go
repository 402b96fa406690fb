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

// queuePoll is how often Retry runs. All attempts use the same shared view, which is read once.
const queuePoll = 10 * time.Second

// A Queue has the objects that no node fits. They cost no separate calls until a node may fit, or there is another reason why none does.
type Queue[T metav1.Object] struct {
	wake    func(T)
	waiting objectstate.Store[waiting[T]]
}

// A waiting object is kept as it was when no node was found.
type waiting[T metav1.Object] struct {
	object T
	err    error                       // why none was found
	try    func(context.Context) error // checks whether there is a node now
}

// NewQueue returns an empty queue, which wakes objects that should be tried again.
func NewQueue[T metav1.Object](wake func(T)) *Queue[T] { return &Queue[T]{wake: wake} }

// Add adds an object, which the queue keeps.
func (q *Queue[T]) Add(o T, err error, try func(context.Context) error) {
	q.waiting.Lock()
	defer q.waiting.Unlock()
	q.waiting.Set(o, &waiting[T]{object: o, err: err, try: try})
}

// Len returns the number of waiting objects.
func (q *Queue[T]) Len() int {
	q.waiting.Lock()
	defer q.waiting.Unlock()
	return q.waiting.Len()
}

// Reason returns why there is no node for a waiting object, or nil. An object that has changed meanwhile no longer waits.
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

// Start calls Retry periodically until the context ends.
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

// Retry retries all objects, and wakes those that may fit a node now or have another reason to wait.
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
