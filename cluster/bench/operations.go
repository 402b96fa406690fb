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
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/vitistack/provider-proxmox/cluster/local/machine"
	"github.com/vitistack/provider-proxmox/cluster/local/provider"
	"github.com/vitistack/provider-proxmox/cluster/percentile"
)

// lookToken names the look that is asked for.
const lookToken = "bench"

// An operation is something that is asked of a Machine.
type operation struct {
	name string
	// resource that is written: Machines are changed, others are made, one for each Machine.
	resource schema.GroupVersionResource
	// write returns the change of a Machine, as a merge patch, or what is made for it.
	write func(name string) map[string]any
	// done reports whether the resource shows that it was done.
	done func(u *unstructured.Unstructured) bool
	// prepares is true if it only prepares those after it, and is not measured.
	prepares bool
}

// operations are in the order in which they are asked of the same VMs, which run at first.
func operations() []operation {
	machines := machine.Namespaced()
	return []operation{
		{
			name: "describe (a reconcile that is requested)", resource: machines,
			write: func(string) map[string]any {
				return map[string]any{"metadata": map[string]any{"annotations": map[string]any{"crossplane.io/reconcile-requested-at": lookToken}}}
			},
			done: func(u *unstructured.Unstructured) bool {
				return text(u, "status", "lastHandledReconcileAt") == lookToken
			},
		},
		{
			name: "reconfigure CPU (its limit, while the VM runs)", resource: machines, write: func(string) map[string]any {
				return declared(map[string]any{"cpu": map[string]any{"limit": "1500m"}})
			},
			done: func(u *unstructured.Unstructured) bool {
				return text(u, "spec", "forProvider", "cpu", "limit") == "1500m" && asDeclared(u)
			},
		},
		power("off", "Stopped", machines),
		hotPluggable(machines),
		power("on", "Running", machines),
		{
			name: "reconfigure CPU (hot-plug)", resource: machines, write: func(string) map[string]any {
				return declared(map[string]any{"cpu": map[string]any{"vcpus": pluggedCPUs}})
			},
			done: func(u *unstructured.Unstructured) bool { return vcpus(u) == pluggedCPUs && asDeclared(u) },
		},
		{
			name: "snapshot with memory", resource: machines.GroupVersion().WithResource("snapshots"), write: snapshotOf,
			done: func(u *unstructured.Unstructured) bool { return condition(u, "Ready") },
		},
	}
}

// The CPUs that a VM can have, that it starts with, and that it has once another one was plugged in.
const (
	mostCPUs, startCPUs, pluggedCPUs int64 = 4, 2, 3
)

// hotPluggable prepares VMs, which a running one would take at its next start only, for CPUs that are plugged in while they run. Proxmox VE's
// documentation has NUMA as a condition of that.
func hotPluggable(machines schema.GroupVersionResource) operation {
	return operation{
		name: "prepare hot-plug", resource: machines, prepares: true,
		write: func(string) map[string]any {
			return declared(map[string]any{
				"hotplug": []any{"network", "disk", "usb", "cpu"},
				"cpu":     map[string]any{"cores": mostCPUs, "vcpus": startCPUs, "numa": true},
			})
		},
		done: func(u *unstructured.Unstructured) bool { return vcpus(u) == startCPUs && asDeclared(u) },
	}
}

// vcpus that a Machine declares.
func vcpus(u *unstructured.Unstructured) int64 {
	n, _, _ := unstructured.NestedInt64(u.Object, "spec", "forProvider", "cpu", "vcpus")
	return n
}

// power is the operation that brings VMs to a power state.
func power(name, state string, machines schema.GroupVersionResource) operation {
	return operation{
		name: "power " + name, resource: machines,
		write: func(string) map[string]any { return declared(map[string]any{"powerState": state}) },
		done: func(u *unstructured.Unstructured) bool {
			return text(u, "spec", "forProvider", "powerState") == state && text(u, "status", "atProvider", "phase") == state && asDeclared(u)
		},
	}
}

func declared(fields map[string]any) map[string]any {
	return map[string]any{"spec": map[string]any{"forProvider": fields}}
}

// snapshotOf a Machine's VM with its memory.
func snapshotOf(name string) map[string]any {
	out := declared(map[string]any{"machineRef": map[string]any{"name": name}, "includeMemory": true})
	out["apiVersion"], out["kind"] = machine.NamespacedGroup+"/v1alpha1", "Snapshot"
	out["metadata"] = map[string]any{"namespace": provider.DefaultNamespace, "name": name}
	return out
}

func text(u *unstructured.Unstructured, path ...string) string {
	s, _, _ := unstructured.NestedString(u.Object, path...)
	return s
}

// asDeclared reports whether the spec as it is now was carried out.
func asDeclared(u *unstructured.Unstructured) bool {
	seen, _, _ := unstructured.NestedInt64(u.Object, "status", "observedGeneration")
	return seen == u.GetGeneration() && condition(u, "Synced") && condition(u, "Ready") && condition(u, "UpToDate")
}

func condition(u *unstructured.Unstructured, kind string) bool {
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range conditions {
		if fields, ok := c.(map[string]any); ok && fields["type"] == kind {
			return fields["status"] == "True"
		}
	}
	return false
}

// ends are the times at which the operation was first seen to be done, by the names of those that are asked for it: zero until then.
type ends struct {
	operation

	mu sync.Mutex
	at map[string]time.Time
}

// newEnds of an operation that the first VMs are asked for, so many.
func newEnds(o operation, n int) *ends {
	e := &ends{operation: o, at: map[string]time.Time{}}
	for i := range n {
		e.at["vm-"+itoa(i)] = time.Time{}
	}
	return e
}

func (e *ends) see(u *unstructured.Unstructured, now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if end, asked := e.at[u.GetName()]; asked && end.IsZero() && e.done(u) {
		e.at[u.GetName()] = now
	}
}

// left is how many are not done.
func (e *ends) left() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := 0
	for _, end := range e.at {
		if end.IsZero() {
			n++
		}
	}
	return n
}

// since returns how long each took, from when it was asked for to its end, and the whole from the first to the last.
func (e *ends) since(sent map[string]time.Time) (each []time.Duration, whole time.Duration) {
	var first, last time.Time
	for name, at := range sent {
		each = append(each, e.at[name].Sub(at))
		if first.IsZero() || at.Before(first) {
			first = at
		}
		if e.at[name].After(last) {
			last = e.at[name]
		}
	}
	return each, last.Sub(first)
}

// follow the resources until ctx ends.
func (e *ends) follow(ctx context.Context, config *rest.Config) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("cannot follow %s: %w", e.resource.Resource, err)
	}
	see := func(obj any) {
		if u, ok := obj.(*unstructured.Unstructured); ok {
			e.see(u, time.Now())
		}
	}
	informer := dynamicinformer.NewFilteredDynamicInformer(client, e.resource, provider.DefaultNamespace, 0, cache.Indexers{}, nil).Informer()
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: see, UpdateFunc: func(_, obj any) { see(obj) }}); err != nil {
		return fmt.Errorf("cannot follow %s: %w", e.resource.Resource, err)
	}
	go informer.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return context.Cause(ctx)
	}
	return nil
}

// operations measures how long operations take, each asked of all VMs at once.
func (b *bench) operations(ctx context.Context) (err error) {
	c := newCluster(b.Operations)
	w, ctx, err := b.open(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if err := b.alone(func() error { return w.populate(ctx, c) }); err != nil {
		return err
	}
	if err := w.wait(ctx, quietTime); err != nil {
		return err
	}
	return b.concurrent(func() error { return b.operateAll(ctx, w, c) })
}

// operateAll measures one operation after the other.
func (b *bench) operateAll(ctx context.Context, w *env, c cluster) error {
	t := table{name: "operations", rows: [][]string{{"operation", "VMs", "p50", "p95", "per minute"}}}
	for _, o := range operations() {
		w.Console.Stepf("%s: %d VMs", o.name, c.running())
		row, err := w.operate(ctx, o, c.running())
		if err != nil {
			return fmt.Errorf("%s: %w", o.name, err)
		}
		if !o.prepares {
			t.rows = append(t.rows, row)
		}
	}
	b.add(t)
	b.show(t)
	return nil
}

// operate asks so many running VMs for an operation at once, and waits until it is done.
func (w *env) operate(ctx context.Context, o operation, n int) ([]string, error) {
	e := newEnds(o, n)
	following, stop := context.WithCancel(ctx)
	defer stop()
	if err := e.follow(following, w.Kube.Config()); err != nil {
		return nil, err
	}
	sent := make([]time.Time, n)
	err := w.machineSet.eachOf(ctx, o.resource, n, func(ctx context.Context, client dynamic.ResourceInterface, i int) error {
		sent[i] = time.Now()
		return o.ask(ctx, client, "vm-"+itoa(i))
	})
	if err != nil {
		return nil, err
	}
	if err := w.until(ctx, o.name, e.left); err != nil {
		return nil, err
	}
	asked := map[string]time.Time{}
	for i, at := range sent {
		asked["vm-"+itoa(i)] = at
	}
	each, whole := e.since(asked)
	return operationRow(o.name, each, whole), nil
}

// ask for the operation.
func (o operation) ask(ctx context.Context, client dynamic.ResourceInterface, name string) error {
	written := o.write(name)
	if written["kind"] != nil {
		_, err := client.Create(ctx, &unstructured.Unstructured{Object: written}, metav1.CreateOptions{})
		return err
	}
	patch, err := json.Marshal(written)
	if err != nil {
		return err
	}
	_, err = client.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

func operationRow(name string, each []time.Duration, whole time.Duration) []string {
	return []string{
		name, itoa(len(each)), round(percentile.Of(each, 50)).String(), round(percentile.Of(each, 95)).String(),
		number(float64(len(each)) / whole.Minutes()),
	}
}
