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

package connect

import (
	"context"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// firstRewatch and lastRewatch are the shortest and longest delay before a failed or ended watch is retried.
	firstRewatch = time.Second
	lastRewatch  = 5 * time.Minute
)

// watches reads only the Secrets and ConfigMaps that resources refer to: a watch of all would transfer every Secret of the cluster.
type watches struct {
	kube    client.WithWatch
	objects *objects
	changed func(reference)

	mu      sync.Mutex
	wanted  map[reference][]object
	running map[object]context.CancelFunc
	closed  bool
}

func newWatches(o *objects, changed func(reference)) *watches {
	return &watches{objects: o, changed: changed, wanted: map[reference][]object{}, running: map[object]context.CancelFunc{}}
}

// watch watches the objects that a resource refers to now, and stops watching its former ones.
func (w *watches) watch(r reference, all []object) {
	if w.kube == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.wanted[r]
	delete(w.wanted, r)
	if len(all) > 0 {
		w.wanted[r] = all
	}
	for _, o := range all {
		if _, ok := w.running[o]; !ok && !w.closed {
			ctx, cancel := context.WithCancel(context.Background()) //nolint:gosec // Called when nobody refers to the object.
			w.running[o] = cancel
			go w.follow(ctx, o)
		}
	}
	for _, o := range before {
		if cancel, ok := w.running[o]; ok && len(w.users(o)) == 0 {
			cancel()
			delete(w.running, o)
			w.objects.ignore(o)
		}
	}
}

// users returns the resources that refer to an object.
func (w *watches) users(of object) []reference {
	var all []reference
	for r, objects := range w.wanted {
		if slices.Contains(objects, of) {
			all = append(all, r)
		}
	}
	return all
}

// follow watches one object until the context ends. API servers end watches every few minutes. Without the permission to watch, contents are read again
// when they are too old.
func (w *watches) follow(ctx context.Context, of object) {
	pause := firstRewatch
	for ctx.Err() == nil {
		if w.once(ctx, of) {
			pause = firstRewatch
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, lastRewatch)
	}
}

// once watches until the watch ends, and reports whether it could be started.
func (w *watches) once(ctx context.Context, of object) bool {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(of.gvk())
	seen, err := w.kube.Watch(ctx, list, client.InNamespace(of.key.Namespace), client.MatchingFields{"metadata.name": of.key.Name})
	if err != nil {
		return false
	}
	defer seen.Stop()
	for e := range seen.ResultChan() {
		w.see(of, e)
	}
	return true
}

func (w *watches) see(of object, e watch.Event) {
	o, ok := e.Object.(client.Object)
	if !ok || o.GetName() != of.key.Name {
		return
	}
	version := o.GetResourceVersion()
	if e.Type == watch.Deleted {
		version = ""
	}
	if !w.objects.note(of, version) {
		return
	}
	w.mu.Lock()
	users := w.users(of)
	w.mu.Unlock()
	for _, r := range users {
		w.changed(r)
	}
}

// close ends all watches.
func (w *watches) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	for o, cancel := range w.running {
		cancel()
		delete(w.running, o)
	}
}
