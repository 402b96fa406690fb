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

package ipam

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// unservedFor is how long a Machine that is being deleted does not look again for claims that the API server does not serve. A Machine that asks for
// an address looks each time.
const unservedFor = 30 * time.Second

// A Watch reports changed claims and addresses. It begins with the first Machine that asks for one: the kinds may be installed later than the
// provider, or never.
type Watch struct {
	cache cache.Cache
	now   func() time.Time
	wake  func(client.ObjectKey)

	// read reads an object from the cache, which watches its kind from then on.
	read func(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error

	mu       sync.Mutex
	unserved time.Time // When the API server was seen to serve no claims.
	started  map[schema.GroupVersionKind]bool
	machines map[client.ObjectKey]client.ObjectKey // by claim
}

// NewWatch returns a Watch that reads the time from a clock and wakes Machines by their keys.
func NewWatch(all cache.Cache, now func() time.Time, wake func(client.ObjectKey)) *Watch {
	w := &Watch{cache: all, now: now, wake: wake, started: map[schema.GroupVersionKind]bool{}, machines: map[client.ObjectKey]client.ObjectKey{}}
	w.read = w.get
	return w
}

// follow registers a Machine to be woken when the claim or its address changes.
func (w *Watch) follow(claim, machine client.ObjectKey) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.machines[claim] = machine
}

func (w *Watch) leave(claim client.ObjectKey) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.machines, claim)
}

func (w *Watch) get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if err := w.start(ctx, o); err != nil {
		return err
	}
	return w.cache.Get(ctx, key, o, opts...)
}

// serves records whether the API server serves claims.
func (w *Watch) serves(is bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unserved = time.Time{}
	if !is {
		w.unserved = w.now()
	}
}

// servedNone reports whether the API server was recently seen to serve no claims. A query costs three requests, because a missing kind is looked for
// again each time.
func (w *Watch) servedNone() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now().Sub(w.unserved) < unservedFor
}

// watches reports whether a kind is watched.
func (w *Watch) watches(kind schema.GroupVersionKind) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.started[kind]
}

// start starts to watch the kind of an object.
func (w *Watch) start(ctx context.Context, o client.Object) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	kind := o.GetObjectKind().GroupVersionKind()
	if w.started[kind] {
		return nil
	}
	informer, err := w.cache.GetInformer(ctx, o, cache.BlockUntilSynced(false))
	if err != nil {
		return err
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: w.changed, UpdateFunc: func(_, now any) { w.changed(now) }, DeleteFunc: w.changed,
	})
	w.started[kind] = err == nil
	return err
}

// changed wakes the Machine of a claim, or of the claim of an address.
func (w *Watch) changed(o any) {
	if last, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
		o = last.Obj
	}
	u, ok := o.(*unstructured.Unstructured)
	if !ok {
		return
	}
	key := client.ObjectKeyFromObject(u)
	if of, has, _ := unstructured.NestedString(u.Object, "spec", "claimRef", "name"); has {
		key.Name = of
	}
	w.mu.Lock()
	machine, ok := w.machines[key]
	w.mu.Unlock()
	if ok {
		w.wake(machine)
	}
}
