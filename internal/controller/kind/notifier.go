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

package kind

import (
	"context"
	"sync"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A Notifier informs controllers of one kind about changed resources of another kind. The two can be set up separately, in any order, or only one of
// them.
type Notifier[T resource.Managed] struct {
	changed func(before, after T) bool

	mu          sync.Mutex
	subscribers map[string]func(T)
}

// NewNotifier returns a Notifier without subscribers. changed reports whether a change counts.
func NewNotifier[T resource.Managed](changed func(before, after T) bool) *Notifier[T] {
	return &Notifier[T]{changed: changed, subscribers: map[string]func(T){}}
}

// Subscribe registers a function that is called for changes of the resources of an API group.
func (n *Notifier[T]) Subscribe(group string, tell func(T)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.subscribers[group] = tell
}

// Notify calls the subscriber of an API group.
func (n *Notifier[T]) Notify(group string, changed any) {
	n.mu.Lock()
	tell := n.subscribers[group]
	n.mu.Unlock()
	if mg, ok := changed.(T); ok && tell != nil {
		tell(mg)
	}
}

// Watch watches the resources of an API group.
func (n *Notifier[T]) Watch(all cache.Informers, group string, object client.Object) error {
	informer, err := all.GetInformer(context.Background(), object, cache.BlockUntilSynced(false))
	if err != nil {
		return err
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(added any) { n.Notify(group, added) },
		UpdateFunc: func(before, after any) {
			was, ok := before.(T)
			is, too := after.(T)
			if ok && too && n.changed(was, is) {
				n.Notify(group, after)
			}
		},
		DeleteFunc: func(gone any) {
			if last, ok := gone.(toolscache.DeletedFinalStateUnknown); ok {
				gone = last.Obj
			}
			n.Notify(group, gone)
		},
	})
	return err
}
