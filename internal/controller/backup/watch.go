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

package backup

import (
	"context"
	"maps"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// watchMachines has Backups that wait woken when their Machine gets its VM. Without the
// kind Machine there is nothing to watch.
func (c *connector) watchMachines(all cache.Informers) error {
	informer, err := all.GetInformer(context.Background(), c.kinds.Machine, cache.BlockUntilSynced(false))
	if apimeta.IsNoMatchError(err) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(added any) {
			if x, ok := added.(Machine); ok {
				go c.wakeFor(x)
			}
		},
		UpdateFunc: func(before, after any) {
			x, ok := before.(Machine)
			y, alsoOK := after.(Machine)
			if ok && alsoOK && concerns(x, y) {
				go c.wakeFor(y)
			}
		},
	})
	return err
}

// concerns reports whether a change of a Machine may end the wait of a Backup.
func concerns(before, after Machine) bool {
	return hasVM(before) != hasVM(after) || meta.WasDeleted(before) != meta.WasDeleted(after) || !maps.Equal(before.GetLabels(), after.GetLabels())
}

// wakeFor wakes the Backups of a Machine's scope and namespace that are not ready and may
// mean the Machine.
func (c *connector) wakeFor(x Machine) {
	list, ok := c.kinds.List.DeepCopyObject().(resource.ManagedList)
	if !ok {
		return
	}
	if err := c.kube.List(context.Background(), list, client.InNamespace(x.GetNamespace())); err != nil {
		return // They look again by themselves.
	}
	for _, mg := range list.GetItems() {
		b, ok := mg.(Backup)
		if ok && b.GetCondition(xpv2.TypeReady).Status != corev1.ConditionTrue && mayMean(b, x) {
			c.wake(b)
		}
	}
}

// mayMean reports whether a Backup is of a Machine, or may turn out to be.
func mayMean(b Backup, x Machine) bool {
	p := b.Parameters()
	return ptr.Deref(p.Machine, "") == x.GetName() || p.MachineRef != nil && p.MachineRef.Name == x.GetName() ||
		p.Machine == nil && p.MachineSelector != nil
}
