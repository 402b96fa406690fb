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

package quotas

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/internal/objectstate"
)

// askAgain is how long the decision about a waiting resource stands, unless the resource is woken. Room that other replicas and shards have freed
// wakes no resource here before the usage is next computed.
const askAgain = 30 * time.Second

// waiters are the resources of this process that wait for room.
type waiters struct {
	objectstate.Store[waiter]
}

// A waiter is the state of a resource when it was decided that it waits.
type waiter struct {
	key        key
	generation int64
	labels     map[string]string
	err        error
	until      time.Time
	wake       func()
}

func (w *waiters) add(a Application, err error, now time.Time) {
	w.Lock()
	defer w.Unlock()
	r := a.Resource
	was := &waiter{key: a.key(), generation: r.GetGeneration(), labels: maps.Clone(r.GetLabels()), err: err, wake: a.Wake}
	if a.Whole { // Parts that exist are reconciled anyway.
		was.until = now.Add(askAgain)
	}
	w.Set(r, was)
}

// addWarned registers a resource that would wait but is reconciled anyway, so that it is woken.
func (w *waiters) addWarned(of key, o client.Object, err error, wake func()) {
	w.Lock()
	defer w.Unlock()
	w.Set(o, &waiter{key: of, err: err, wake: wake})
}

// warned returns why a resource would wait, or nil if it would not, as far as this process has decided.
func (w *waiters) warned(o client.Object) error {
	w.Lock()
	defer w.Unlock()
	if was := w.Get(o); was != nil && was.key.warned {
		return was.err
	}
	return nil
}

func (w *waiters) remove(o client.Object) {
	w.Lock()
	defer w.Unlock()
	w.Delete(o)
}

// reason returns the reason why a resource waits, unless that may have changed.
func (w *waiters) reason(o client.Object, now time.Time) error {
	w.Lock()
	defer w.Unlock()
	was := w.Get(o)
	if was == nil || now.After(was.until) || was.generation != o.GetGeneration() || o.GetDeletionTimestamp() != nil || !maps.Equal(was.labels, o.GetLabels()) {
		return nil
	}
	return was.err
}

// wake wakes some of the resources of a tenant, or all.
func (w *waiters) wake(of key, uids []string, all bool) {
	w.wakeMatching(func(uid types.UID, was *waiter) bool {
		return was.key == of && (all || slices.Contains(uids, string(uid)))
	})
}

// wakeMatching wakes some resources, which are then decided again. Those that are missed ask again by themselves.
func (w *waiters) wakeMatching(which func(types.UID, *waiter) bool) {
	w.Lock()
	var found []func()
	for uid, was := range w.All() {
		if !which(uid, was) {
			continue
		}
		was.until = time.Time{}
		if was.wake != nil {
			found = append(found, was.wake)
		}
	}
	w.Unlock()
	for _, wake := range found {
		wake()
	}
}
