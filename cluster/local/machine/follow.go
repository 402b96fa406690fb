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
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// Change is a Machine that appeared, changed, or was deleted.
type Change struct {
	Machine Machine
	Gone    bool
}

// Follow watches the Machines of both scopes until ctx ends. The channel receives every existing Machine, then every change. The caller must receive
// from it until ctx ends.
func Follow(ctx context.Context, config *rest.Config) (<-chan Change, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("cannot watch Machines: %w", err)
	}
	changes := make(chan Change)
	factory := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
	for _, resource := range Resources() {
		if _, err := factory.ForResource(resource).Informer().AddEventHandler(handler(ctx, changes)); err != nil {
			return nil, fmt.Errorf("cannot watch Machines: %w", err)
		}
	}
	factory.Start(ctx.Done())
	return changes, nil
}

func handler(ctx context.Context, changes chan<- Change) cache.ResourceEventHandler {
	send := func(obj any, gone bool) {
		if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
			obj = tombstone.Obj
		}
		u, ok := obj.(*unstructured.Unstructured)
		if !ok {
			return
		}
		select {
		case changes <- Change{Machine: Of(u), Gone: gone}:
		case <-ctx.Done():
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { send(obj, false) },
		UpdateFunc: func(_, obj any) { send(obj, false) },
		DeleteFunc: func(obj any) { send(obj, true) },
	}
}

// List returns the Machines of both scopes, by their keys.
func List(ctx context.Context, config *rest.Config) (map[Key]Machine, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("cannot list Machines: %w", err)
	}
	machines := map[Key]Machine{}
	for _, resource := range Resources() {
		list, err := client.Resource(resource).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("cannot list Machines of %s: %w", resource.Group, err)
		}
		for i := range list.Items {
			m := Of(&list.Items[i])
			machines[m.Key] = m
		}
	}
	return machines, nil
}
