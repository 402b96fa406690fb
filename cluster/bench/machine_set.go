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

package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/vitistack/provider-proxmox/cluster/local/machine"
	"github.com/vitistack/provider-proxmox/cluster/local/provider"
)

// externalName is the annotation that names an existing VM.
const externalName = "crossplane.io/external-name"

// writers is how many Machines are written to Kubernetes at once.
const writers = 16

// A machineSet holds the Machines as a watch reports them.
type machineSet struct {
	config *rest.Config

	mu   sync.Mutex
	seen map[string]observed
}

// observed is the last state of a Machine and the time at which it was first complete.
type observed struct {
	machine.Machine

	complete time.Time
	// arrived is when it was first seen on its node.
	arrived time.Time
}

func follow(ctx context.Context, config *rest.Config) (*machineSet, error) {
	changes, err := machine.Follow(ctx, config)
	if err != nil {
		return nil, err
	}
	f := &machineSet{config: config, seen: map[string]observed{}}
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case c := <-changes:
				f.take(c, time.Now())
			}
		}
	}()
	return f, nil
}

func (f *machineSet) take(c machine.Change, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	name := c.Machine.Key.Name
	if c.Gone {
		delete(f.seen, name)
		return
	}
	s := f.seen[name]
	if c.Machine.Node != s.Node {
		s.arrived = now
	}
	s.Machine = c.Machine
	if s.complete.IsZero() && s.Complete() {
		s.complete = now
	}
	f.seen[name] = s
}

// incomplete counts the Machines, of so many, that were never ready and in sync.
func (f *machineSet) incomplete(of int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.seen {
		if !s.complete.IsZero() {
			of--
		}
	}
	return of
}

// withoutAddress counts the Machines that run without a known address.
func (f *machineSet) withoutAddress() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, s := range f.seen {
		if s.Phase == "Running" && s.IP == "" {
			n++
		}
	}
	return n
}

// left counts the Machines.
func (f *machineSet) left() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.seen)
}

func (f *machineSet) get(name string) observed {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seen[name]
}

// example is a Machine that is not complete, in a line.
func (f *machineSet) example() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(f.seen)) {
		if s := f.seen[name]; !s.Complete() {
			return ", such as " + s.String()
		}
	}
	return ""
}

// apply creates Machines, many at once, and returns when each was sent.
func (f *machineSet) apply(ctx context.Context, objs []*unstructured.Unstructured) (map[string]time.Time, error) {
	sent := make([]time.Time, len(objs))
	err := f.each(ctx, len(objs), func(ctx context.Context, c dynamic.ResourceInterface, i int) error {
		sent[i] = time.Now()
		_, err := c.Create(ctx, objs[i], metav1.CreateOptions{})
		return err
	})
	out := map[string]time.Time{}
	for i, o := range objs {
		out[o.GetName()] = sent[i]
	}
	return out, err
}

// remove deletes Machines, many at once.
func (f *machineSet) remove(ctx context.Context, objs []*unstructured.Unstructured) error {
	return f.each(ctx, len(objs), func(ctx context.Context, c dynamic.ResourceInterface, i int) error {
		return c.Delete(ctx, objs[i].GetName(), metav1.DeleteOptions{})
	})
}

// A writeFunc writes one of many resources, of those that the client is for.
type writeFunc func(ctx context.Context, client dynamic.ResourceInterface, i int) error

// each calls do for 0 to n-1, many at once, with a client of Machines.
func (f *machineSet) each(ctx context.Context, n int, do writeFunc) error {
	return f.eachOf(ctx, machine.Namespaced(), n, do)
}

// eachOf does so with a client of another resource.
func (f *machineSet) eachOf(ctx context.Context, resource schema.GroupVersionResource, n int, do writeFunc) error {
	config := rest.CopyConfig(f.config)
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", resource.Resource, err)
	}
	resources := client.Resource(resource).Namespace(provider.DefaultNamespace)
	return parallel(ctx, writers, n, func(ctx context.Context, i int) error { return do(ctx, resources, i) })
}

// parallel calls do for 0 to n-1, so many at once, and returns the first error.
func parallel(ctx context.Context, width, n int, do func(context.Context, int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(width, n) {
		wg.Go(func() {
			for i := range next {
				if err := do(ctx, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	for i := 0; i < n && ctx.Err() == nil; i++ {
		select {
		case next <- i:
		case <-ctx.Done():
		}
	}
	close(next)
	wg.Wait()
	return context.Cause(ctx)
}

// Annotations and the finalizer of a Machine that manages a VM, and what the Machines of VMs that the cluster starts with note of their devices.
const (
	uuidAnnotation    = "proxmox.vitistack.io/uuid"
	nodeAnnotation    = "proxmox.vitistack.io/node"
	devicesAnnotation = "proxmox.vitistack.io/devices"
	finalizer         = "finalizer.managedresource.crossplane.io"
	devices           = `{"source":{"disks":["scsi0"],"networks":["net0"]},"boot":["scsi0"]}`
)

// restored are Machines for the VMs that the cluster starts with, as a backup of a Kubernetes cluster restores them: with the annotations by which the
// provider knows whose a VM is, and without a status. An adoption of each would write twice as much. They declare what the VMs have.
func restored(ctx context.Context, c cluster, operator *pve) ([]*unstructured.Unstructured, error) {
	all := declaredFor(c)
	return all, parallel(ctx, writers, len(all), func(ctx context.Context, i int) error {
		uuid, err := operator.uuid(ctx, vmNode, firstID+i)
		if err != nil {
			return err
		}
		all[i].SetAnnotations(map[string]string{
			externalName: itoa(firstID + i), uuidAnnotation: uuid, nodeAnnotation: vmNode, devicesAnnotation: devices,
		})
		all[i].SetFinalizers([]string{finalizer})
		return nil
	})
}

// declaredFor are Machines that declare what the VMs have that the cluster starts with.
func declaredFor(c cluster) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for i := range c.machines {
		name, index, power := "vm", i, "Running"
		if i >= c.running() {
			name, index, power = "off", i-c.running(), "Stopped"
		}
		out = append(out, newMachine(name+"-"+itoa(index), map[string]any{"powerState": power}))
	}
	return out
}

// created are Machines that are made from the template, with more cores than that has.
func created(n int) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for i := range n {
		out = append(out, newMachine("new-"+itoa(i), map[string]any{"cpu": map[string]any{"cores": int64(newCores)}}))
	}
	return out
}

// partlyStopped has as many of the Machines not run as of the VMs that a cluster starts with.
func partlyStopped(machines []*unstructured.Unstructured) []*unstructured.Unstructured {
	for i := 0; i < len(machines); i += stoppedShare {
		_ = unstructured.SetNestedField(machines[i].Object, "Stopped", "spec", "forProvider", "powerState")
	}
	return machines
}

// newCores is how many cores a clone gets.
const newCores = 4

// newMachine is a Machine with a name, a template, two cores and what else is declared.
func newMachine(name string, declared map[string]any) *unstructured.Unstructured {
	spec := map[string]any{
		"name": name, "template": templateName, "cpu": map[string]any{"cores": int64(2)}, "memory": "2Gi",
	}
	maps.Copy(spec, declared)
	m := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": machine.NamespacedGroup + "/v1alpha1",
		"kind":       "Machine",
		"spec":       map[string]any{"forProvider": spec},
	}}
	m.SetNamespace(provider.DefaultNamespace)
	m.SetName(name)
	return m
}

func itoa(n int) string { return strconv.Itoa(n) }
