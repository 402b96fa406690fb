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
	"sync"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/internal/imageref"
)

// Images are what a controller of Machines knows of the Images of its scope.
type Images struct {
	// Object is an empty Image.
	Object client.Object

	// Watch tells of changed Images.
	Watch *ImageWatch
}

// An ImageWatch tells controllers of Machines which Images have changed. Machines and
// Images are set up on their own, in any order, or only one of the two.
type ImageWatch struct {
	mu          sync.Mutex
	subscribers map[string]func(imageref.Image)
}

// NewImageWatch makes an ImageWatch without subscribers.
func NewImageWatch() *ImageWatch {
	return &ImageWatch{subscribers: map[string]func(imageref.Image){}}
}

// subscribe to the Images of an API group.
func (w *ImageWatch) subscribe(group string, tell func(imageref.Image)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.subscribers[group] = tell
}

func (w *ImageWatch) tell(group string, image any) {
	w.mu.Lock()
	tell := w.subscribers[group]
	w.mu.Unlock()
	if i, ok := image.(imageref.Image); ok && tell != nil {
		tell(i)
	}
}

// Watch the Images of an API group.
func (w *ImageWatch) Watch(all cache.Informers, group string, object client.Object) error {
	informer, err := all.GetInformer(context.Background(), object, cache.BlockUntilSynced(false))
	if err != nil {
		return err
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(image any) { w.tell(group, image) },
		UpdateFunc: func(before, after any) {
			was, ok := before.(imageref.Image)
			is, too := after.(imageref.Image)
			if ok && too && imageref.Changed(was, is) {
				w.tell(group, after)
			}
		},
		DeleteFunc: func(gone any) {
			if last, ok := gone.(toolscache.DeletedFinalStateUnknown); ok {
				gone = last.Obj
			}
			w.tell(group, gone)
		},
	})
	return err
}

// wakeWaiting makes the function that wakes the Machines which wait for an Image.
func (c *connector) wakeWaiting(list resource.ManagedList) func(imageref.Image) {
	return func(image imageref.Image) {
		name, namespace := image.GetName(), image.GetNamespace()
		go c.wakeWaitingFor(list, name, namespace)
	}
}

func (c *connector) wakeWaitingFor(list resource.ManagedList, name, namespace string) {
	all, ok := list.DeepCopyObject().(resource.ManagedList)
	if !ok {
		return
	}
	if err := c.kube.List(context.Background(), all, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		c.options.Logger.Info("Cannot find Machines that wait for an Image", "image", name, "error", err)
		return
	}
	for _, mg := range all.GetItems() {
		m, ok := mg.(Machine)
		if !ok || m.Observation().UUID != "" || meta.WasDeleted(m) {
			continue
		}
		if ref, refers := imageref.Of(m); refers && ref.Name == name {
			copied, _ := m.DeepCopyObject().(Machine)
			c.wake(copied)
		}
	}
}
