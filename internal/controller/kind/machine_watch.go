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
	"maps"
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// A MachineWatch wakes the resources of one kind and scope that wait for their Machine to get its VM.
type MachineWatch struct {
	Kube client.Reader

	// Machine of the scope, and List of the resources that may wait.
	Machine client.Object
	List    resource.ManagedList

	// Means reports whether a resource belongs to the Machine of this name, or may turn out to.
	Means func(mg resource.Managed, machine string) bool

	// Wake has a resource reconciled.
	Wake func(mg resource.Managed)
}

// A watchedMachine is a Machine of either scope, reduced to what a MachineWatch needs.
type watchedMachine interface {
	resource.Managed

	Observation() *v1alpha1.MachineObservation
}

// Start begins to watch. Without the kind Machine there is nothing to watch.
func (w MachineWatch) Start(all cache.Informers) error {
	informer, err := all.GetInformer(context.Background(), w.Machine, cache.BlockUntilSynced(false))
	if apimeta.IsNoMatchError(err) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(added any) {
			if m, ok := added.(watchedMachine); ok {
				go w.wakeFor(m)
			}
		},
		UpdateFunc: func(before, after any) {
			m, ok := before.(watchedMachine)
			n, alsoOK := after.(watchedMachine)
			if ok && alsoOK && endsWait(m, n) {
				go w.wakeFor(n)
			}
		},
	})
	return err
}

// endsWait reports whether a change to a Machine may end the wait of a resource.
func endsWait(before, after watchedMachine) bool {
	was, is := before.Observation(), after.Observation()
	return HasVM(was) != HasVM(is) || !slices.Equal(was.PendingDisks, is.PendingDisks) || meta.WasDeleted(before) != meta.WasDeleted(after) ||
		!maps.Equal(before.GetLabels(), after.GetLabels())
}

// wakeFor wakes the resources in a Machine's scope and namespace that are not ready and may belong to the Machine.
func (w MachineWatch) wakeFor(m watchedMachine) {
	all, err := List(context.Background(), w.Kube, w.List, client.InNamespace(m.GetNamespace()))
	if err != nil {
		return // The resources poll anyway.
	}
	for _, mg := range all {
		if mg.GetCondition(xpv2.TypeReady).Status != corev1.ConditionTrue && w.Means(mg, m.GetName()) {
			w.Wake(mg)
		}
	}
}

// HasVM reports whether a Machine has its VM.
func HasVM(m *v1alpha1.MachineObservation) bool {
	creating := m.Phase == "" || m.Phase == v1alpha1.MachinePending || m.Phase == v1alpha1.MachineCreating
	return !creating && m.UUID != "" && m.VMID != nil
}

// MeansMachine reports whether a name, a reference or a selector refers to a Machine, or may turn out to.
func MeansMachine(machine string, name *string, ref *v1alpha1.Reference, selector *v1alpha1.Selector) bool {
	return ptr.Deref(name, "") == machine || ref != nil && ref.Name == machine || name == nil && selector != nil
}
