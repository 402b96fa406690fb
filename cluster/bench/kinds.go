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
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/vitistack/provider-proxmox/cluster/local/machine"
	"github.com/vitistack/provider-proxmox/cluster/local/provider"
)

// fewer of a kind are compared with all of them: one of so many.
const fewer = 10

// A manyOf is a kind of which there are many.
type manyOf struct {
	kind, resource string
	number         int
	spec           func(i int) map[string]any
}

func (b *bench) manyOf() []manyOf {
	return []manyOf{
		{kind: "Snapshot", resource: "snapshots", number: b.Snapshots, spec: func(i int) map[string]any {
			return map[string]any{"vmid": int64(firstID + i), "allowUnmanaged": true}
		}},
		{kind: "Volume", resource: "volumes", number: b.Volumes, spec: func(int) map[string]any {
			return map[string]any{"size": "1G", "storage": "ceph"}
		}},
	}
}

// named is the one of a kind with a number.
func (k manyOf) named(i int) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: declared(k.spec(i))}
	u.SetAPIVersion(machine.NamespacedGroup + "/v1alpha1")
	u.SetKind(k.kind)
	u.SetNamespace(provider.DefaultNamespace)
	u.SetName(fmt.Sprintf("%s-%d", k.resource, i))
	return u
}

// kinds measures what many Snapshots and Volumes cost while nothing happens: as much as a few.
func (b *bench) kinds(ctx context.Context) (err error) {
	c := newCluster(max(b.Snapshots, 1) * stoppedShare / (stoppedShare - 1))
	c.rate = resourcesRate
	w, ctx, err := b.open(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if err := w.startProvider(ctx); err != nil {
		return err
	}
	t := table{name: "kinds", rows: [][]string{{"kind", "number", "calls/min", "bound"}}}
	for _, k := range b.manyOf() {
		rows, err := b.kind(ctx, w, k)
		if err != nil {
			return fmt.Errorf("%s: %w", k.kind, err)
		}
		t.rows = append(t.rows, rows...)
	}
	b.add(t)
	b.show(t)
	return nil
}

// kind measures a few of a kind, and then many.
func (b *bench) kind(ctx context.Context, w *env, k manyOf) (rows [][]string, err error) {
	made, usual := 0, 0.0
	for _, n := range []int{k.number / fewer, k.number} {
		if err := w.makeMore(ctx, k, made, n); err != nil {
			return nil, err
		}
		made = n
		if err := w.wait(ctx, settle(n)); err != nil {
			return nil, err
		}
		calls, _, _, err := w.watch(ctx, b.Window, func(context.Context) {})
		if err != nil {
			return nil, err
		}
		perMinute := float64(calls.total()) / b.Window.Minutes()
		rows = append(rows, []string{k.kind, itoa(n), number(perMinute), b.atMost(itoa(n)+" "+k.resource+": calls per minute", perMinute, mostOf(usual), "")})
		usual = perMinute
	}
	return rows, nil
}

// mostOf is how many calls many may cost where a few cost so many: a fifth more, since a minute may have one poll of each sort more.
func mostOf(few float64) float64 { return few * 1.2 }

// makeMore makes those of a kind from one number to another, and waits until all are ready.
func (w *env) makeMore(ctx context.Context, k manyOf, from, to int) error {
	resource := machine.Resources()[1].GroupVersion().WithResource(k.resource)
	ready := func(u *unstructured.Unstructured) bool { return condition(u, "Ready") }
	e := &ends{operation: operation{name: k.kind, resource: resource, done: ready}, at: map[string]time.Time{}}
	for i := from; i < to; i++ {
		e.at[k.named(i).GetName()] = time.Time{}
	}
	following, stop := context.WithCancel(ctx)
	defer stop()
	if err := e.follow(following, w.Kube.Config()); err != nil {
		return err
	}
	w.Console.Stepf("%d %s", to, k.resource)
	err := w.machineSet.eachOf(ctx, resource, to-from, func(ctx context.Context, client dynamic.ResourceInterface, i int) error {
		_, err := client.Create(ctx, k.named(from+i), metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return err
	}
	return w.until(ctx, "making "+k.resource, e.left)
}
