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

package images

import (
	"context"
	"sync"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/imageref"
)

// A Notifier tells controllers of Machines which Images have changed. Machines and
// Images are set up on their own, in any order, or only one of the two.
type Notifier struct {
	mu          sync.Mutex
	subscribers map[string]func(imageref.Image)
}

// NewNotifier returns a Notifier without subscribers.
func NewNotifier() *Notifier {
	return &Notifier{subscribers: map[string]func(imageref.Image){}}
}

// Subscribe has a function called for changes of the Images of an API group.
func (w *Notifier) Subscribe(group string, tell func(imageref.Image)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.subscribers[group] = tell
}

// Tell calls the subscriber of an API group.
func (w *Notifier) Tell(group string, image any) {
	w.mu.Lock()
	tell := w.subscribers[group]
	w.mu.Unlock()
	if i, ok := image.(imageref.Image); ok && tell != nil {
		tell(i)
	}
}

// Watch follows the Images of an API group.
func (w *Notifier) Watch(all cache.Informers, group string, object client.Object) error {
	informer, err := all.GetInformer(context.Background(), object, cache.BlockUntilSynced(false))
	if err != nil {
		return err
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(image any) { w.Tell(group, image) },
		UpdateFunc: func(before, after any) {
			was, ok := before.(imageref.Image)
			is, too := after.(imageref.Image)
			if ok && too && imageref.Changed(was, is) {
				w.Tell(group, after)
			}
		},
		DeleteFunc: func(gone any) {
			if last, ok := gone.(toolscache.DeletedFinalStateUnknown); ok {
				gone = last.Obj
			}
			w.Tell(group, gone)
		},
	})
	return err
}

// WaitingFor returns the Machines of a kind that wait for an Image.
func WaitingFor(ctx context.Context, kube client.Reader, list resource.ManagedList, image client.ObjectKey) ([]object.Machine, error) {
	all, err := kind.ListCached(ctx, kube, list, client.InNamespace(image.Namespace))
	if err != nil {
		return nil, err
	}
	var waiting []object.Machine
	for _, mg := range all {
		m, ok := mg.(object.Machine)
		if !ok || m.Observation().UUID != "" || meta.WasDeleted(m) {
			continue
		}
		if ref, refers := imageref.Of(m); refers && ref.Name == image.Name {
			copied, _ := m.DeepCopyObject().(object.Machine)
			waiting = append(waiting, copied)
		}
	}
	return waiting, nil
}
