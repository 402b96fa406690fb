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

package volumes

import (
	"context"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/volumeref"
)

// Watch wakes the Machines that list a Volume when the record of the Volume changes. If the kind Volume is not installed, there is nothing to watch.
// The list is an empty list of Machines of the scope.
func (r Reader) Watch(all cache.Informers, list resource.ManagedList, wake func(object.Machine)) error {
	if r.Object == nil {
		return nil
	}
	informer, err := all.GetInformer(context.Background(), r.Object, cache.BlockUntilSynced(false))
	if apimeta.IsNoMatchError(err) {
		return nil
	}
	if err != nil {
		return err
	}
	changed := func(o any) {
		if v, ok := o.(volumeref.Volume); ok {
			go r.wakeFor(v, list, wake)
		}
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: changed,
		UpdateFunc: func(before, after any) {
			a, ok := before.(volumeref.Volume)
			b, alsoOK := after.(volumeref.Volume)
			const record = volumeref.AnnotationRecord
			if ok && alsoOK && (a.GetAnnotations()[record] != b.GetAnnotations()[record] || meta.WasDeleted(a) != meta.WasDeleted(b)) {
				changed(after)
			}
		},
	})
	return err
}

// wakeFor wakes the Machines that list a Volume, and those that have its disk.
func (r Reader) wakeFor(v volumeref.Volume, list resource.ManagedList, wake func(object.Machine)) {
	all, err := kind.List(context.Background(), r.Kube, list, client.InNamespace(v.GetNamespace()))
	if err != nil {
		return // They are polled anyway.
	}
	record, err := volumeref.RecordOf(v)
	if err != nil {
		return
	}
	for _, mg := range all {
		if m, ok := mg.(object.Machine); ok && (volumeref.Listed(m.Parameters(), v.GetName()) || record.Touches(m.Observation().UUID)) {
			wake(m)
		}
	}
}
