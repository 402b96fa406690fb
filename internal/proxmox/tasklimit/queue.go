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

package tasklimit

import (
	"slices"
	"sync"
	"time"
)

// A Turn comes when a request that was refused may be made again. It is safe for concurrent use.
type Turn struct {
	mu   sync.Mutex
	came bool
	wake func()
}

// Then has a function called when the turn comes, at once if it has come. It replaces the function of an earlier call. The function must not
// block, and must not use the Limiter.
func (t *Turn) Then(wake func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wake = wake
	t.call()
}

// come records that the turn has come, and calls the function.
func (t *Turn) come() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.came = true
	t.call()
}

// call calls the function once, if the turn has come.
func (t *Turn) call() {
	if t.came && t.wake != nil {
		t.wake()
		t.wake = nil
	}
}

// A waiter is a request that has to wait.
type waiter struct {
	place

	number int // position in the order of arrival, zero before it is in the queue
	key    string
	turn   *Turn
	due    time.Time // when its turn came, zero before
}

// missed reports whether the request was not made again in time after its turn had come. Then others go first until it is made again. It keeps its place in
// the queue, because with thousands of waiting requests many are late.
func (w *waiter) missed(now time.Time) bool { return !w.due.IsZero() && now.Sub(w.due) > reservedFor }

// A queue contains the requests that wait, in one line for each place, so that the cost of a call does not depend on the number of requests.
type queue struct {
	last  int
	byKey map[string]*waiter
	lines map[place][]*waiter
}

func newQueue() queue { return queue{byKey: map[string]*waiter{}, lines: map[place][]*waiter{}} }

// find returns the waiter of a request, or a new one that is not in the queue yet. A request for another node than before keeps its position.
func (q *queue) find(r Request) *waiter {
	at := place{node: r.Node, source: r.Source}
	w := q.byKey[r.Key]
	if w == nil {
		return &waiter{place: at, key: r.Key}
	}
	if w.place != at {
		q.remove(w)
		w.place = at
		q.add(w)
	}
	return w
}

// add adds a waiter that is not in the queue: at the end, or at its former position.
func (q *queue) add(w *waiter) {
	if q.byKey[w.key] == w {
		return
	}
	if w.number == 0 {
		q.last++
		w.number = q.last
	}
	line := q.lines[w.place]
	i, _ := slices.BinarySearchFunc(line, w.number, func(o *waiter, n int) int { return o.number - n })
	q.byKey[w.key], q.lines[w.place] = w, slices.Insert(line, i, w)
}

// remove removes a waiter.
func (q *queue) remove(w *waiter) {
	if q.byKey[w.key] != w {
		return
	}
	delete(q.byKey, w.key)
	line := slices.DeleteFunc(q.lines[w.place], func(o *waiter) bool { return o == w })
	if q.lines[w.place] = line; len(line) == 0 {
		delete(q.lines, w.place)
	}
}

// inOrder returns the waiters that a function permits, in the order of arrival. After the first waiter of a line that the function does not permit, it is
// not called for the rest of the line.
func (q *queue) inOrder(permit func(*waiter) bool) (permitted []*waiter) {
	rest := make([][]*waiter, 0, len(q.lines))
	for _, line := range q.lines {
		rest = append(rest, line)
	}
	for len(rest) > 0 {
		next := 0
		for i := range rest {
			if rest[i][0].number < rest[next][0].number {
				next = i
			}
		}
		line := rest[next]
		ok := permit(line[0])
		if ok {
			permitted, rest[next] = append(permitted, line[0]), line[1:]
		}
		if !ok || len(line) == 1 {
			rest = slices.Delete(rest, next, next+1)
		}
	}
	return permitted
}
