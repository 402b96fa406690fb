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
	"io"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/vitistack/provider-proxmox/cluster/local/machine"
)

const (
	maxMachines = 10000
	// writers is how many Machines are written in parallel.
	writers = 16
	// label marks the Machines of a load test.
	label = "proxmox.vitistack.io/load-test"
)

// A test creates Machines and deletes them again.
type test struct {
	options

	machines dynamic.ResourceInterface

	mu sync.Mutex
	// seen are the Machines as the watch shows them, and ready is when each was first complete.
	seen  map[string]machine.Machine
	ready map[string]time.Time
	sent  map[string]time.Time
}

// newTest returns a test whose Machines are watched until ctx ends.
func newTest(ctx context.Context, config *rest.Config, o options) (*test, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("cannot make a Kubernetes client: %w", err)
	}
	resource := machines()
	t := &test{
		options: o, machines: client.Resource(resource).Namespace(o.Namespace),
		seen: map[string]machine.Machine{}, ready: map[string]time.Time{}, sent: map[string]time.Time{},
	}
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(client, 0, o.Namespace, nil)
	informer := factory.ForResource(resource).Informer()
	if _, err := informer.AddEventHandler(t.handler()); err != nil {
		return nil, fmt.Errorf("cannot watch Machines: %w", err)
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return nil, context.Cause(ctx)
	}
	return t, nil
}

func machines() schema.GroupVersionResource {
	for _, r := range machine.Resources() {
		if r.Group == machine.NamespacedGroup {
			return r
		}
	}
	panic("there are no namespaced Machines")
}

func (t *test) handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { t.see(obj, false) },
		UpdateFunc: func(_, obj any) { t.see(obj, false) },
		DeleteFunc: func(obj any) { t.see(obj, true) },
	}
}

func (t *test) see(obj any, gone bool) {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = tombstone.Obj
	}
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return
	}
	m := machine.Of(u)
	t.mu.Lock()
	defer t.mu.Unlock()
	if gone {
		delete(t.seen, u.GetName())
		return
	}
	t.seen[u.GetName()] = m
	if _, known := t.ready[u.GetName()]; !known && m.Complete() {
		t.ready[u.GetName()] = time.Now()
	}
}

// run creates the Machines, waits, and deletes them. If some do not become ready in time, they are kept for analysis.
func (t *test) run(ctx context.Context, out io.Writer) error {
	if n := t.count(); n > 0 {
		return fmt.Errorf("namespace %q has %d Machines already, and a load test uses one that has none", t.Namespace, n)
	}
	begin := time.Now()
	if err := t.each(ctx, t.create); err != nil {
		return err
	}
	if err := t.wait(ctx, "ready", t.unready); err != nil {
		return err
	}
	took := t.took()
	fmt.Fprintf(out, "ready    %s\n", summary(took, time.Since(begin)))
	begin = time.Now()
	if err := t.each(ctx, t.remove); err != nil {
		return err
	}
	if err := t.wait(ctx, "gone", t.left); err != nil {
		return err
	}
	fmt.Fprintf(out, "deleted  %d in %s\n", t.Machines, time.Since(begin).Round(time.Millisecond))
	return nil
}

func (t *test) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.seen)
}

// each calls a function for each Machine, some in parallel, until one call fails.
func (t *test) each(ctx context.Context, do func(context.Context, string) error) error {
	names := make(chan string)
	failures := make(chan error, writers)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var running sync.WaitGroup
	for range writers {
		running.Go(func() {
			for name := range names {
				if err := do(ctx, name); err != nil {
					failures <- err
					cancel()
					return
				}
			}
		})
	}
	t.send(ctx, names)
	running.Wait()
	close(failures)
	if err := <-failures; err != nil {
		return err
	}
	return ctx.Err()
}

func (t *test) send(ctx context.Context, names chan<- string) {
	defer close(names)
	for i := range t.Machines {
		select {
		case names <- fmt.Sprintf("load-test-%04d", i):
		case <-ctx.Done():
			return
		}
	}
}

func (t *test) create(ctx context.Context, name string) error {
	t.mu.Lock()
	t.sent[name] = time.Now()
	t.mu.Unlock()
	if _, err := t.machines.Create(ctx, t.machine(name), metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("cannot create Machine %q: %w", name, err)
	}
	return nil
}

func (t *test) machine(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": machine.NamespacedGroup + "/v1alpha1",
		"kind":       "Machine",
		"metadata":   map[string]any{"namespace": t.Namespace, "name": name, "labels": map[string]any{label: "true"}},
		"spec": map[string]any{
			"providerConfigRef": map[string]any{"kind": "ClusterProviderConfig", "name": t.ProviderConfig},
			"forProvider": map[string]any{
				"template": t.Template, "cpu": map[string]any{"cores": int64(1)}, "memory": "256Mi",
				"shutdownTimeoutSeconds": int64(1), // The time that guests take is not measured.
			},
		},
	}}
}

func (t *test) remove(ctx context.Context, name string) error {
	if err := t.machines.Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("cannot delete Machine %q: %w", name, err)
	}
	return nil
}

// wait waits until left returns no Machine. If that takes too long, it returns an error with an example.
func (t *test) wait(ctx context.Context, what string, left func() (int, string)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, t.Timeout, errors.New("the time is over"))
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		n, example := left()
		if n == 0 {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%d of %d Machines are not %s: %w: %s", n, t.Machines, what, context.Cause(ctx), example)
		}
	}
}

// unready returns the number of Machines that have not been ready yet, and one of them.
func (t *test) unready() (int, string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for name := range t.sent {
		if _, ready := t.ready[name]; !ready {
			return len(t.sent) - len(t.ready), t.seen[name].String()
		}
	}
	return 0, ""
}

// left returns the number of existing Machines, and one of them.
func (t *test) left() (int, string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, m := range t.seen {
		return len(t.seen), m.String()
	}
	return 0, ""
}

// took returns how long each Machine took from its creation to readiness.
func (t *test) took() []time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	var took []time.Duration
	for name, sent := range t.sent {
		took = append(took, t.ready[name].Sub(sent))
	}
	return took
}
