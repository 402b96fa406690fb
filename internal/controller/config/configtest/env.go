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

package configtest

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	xpmeta "github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/simulator"
)

// longest that a state may take to be reached.
const longest = 20 * time.Second

// An env is one simulated cluster, one Kubernetes API, and a provider that lives and
// dies.
type env struct {
	*testing.T

	kind  Kind
	scope kind.Scope
	pve   *simulator.Server
	root  *proxmox.Client
	kube  client.WithWatch

	process *process
	fatal   int // The side effect that the next provider dies of.
	deaths  int
	last    error
}

func newEnv(t *testing.T, k Kind, s kind.Scope, version string) *env {
	t.Helper()
	cluster := Simulate(t, version)
	e := &env{T: t, kind: k, scope: s, pve: cluster.Server, root: cluster.Client, kube: Serve(cluster)}
	for name, data := range k.Secrets {
		e.create(secret(name, data))
	}
	t.Cleanup(func() {
		if e.process != nil {
			e.process.cancel()
		}
	})
	if k.Prepare != nil {
		k.Prepare(e.Simulator())
	}
	return e
}

func (e *env) create(o client.Object) {
	e.Helper()
	if err := e.kube.Create(e.Context(), o); err != nil {
		e.Fatal(err)
	}
}

// Simulator is the simulated cluster with a client that may do everything, as what
// others do there is done.
func (e *env) Simulator() Simulator { return Simulator{T: e.T, Server: e.pve, Client: e.root} }

// resource makes a resource of the kind, older than those of higher numbers.
func (e *env) resource(number int, forProvider string, annotations map[string]string) resource.Managed {
	e.Helper()
	name := fmt.Sprintf("%s-%d", strings.ToLower(e.kind.Kind), number)
	mg := NewResource(e.T, e.scope, e.kind.Kind, name, number, forProvider, annotations)
	e.create(mg)
	return mg
}

// reconcile a resource once, by a provider that is alive, and read it again. It reports
// whether the resource is still there.
func (e *env) reconcile(mg resource.Managed) bool {
	e.Helper()
	if e.process == nil {
		e.process = start(e.T, e.kube, e.kind.Setup, e.scope, e.fatal)
	}
	key := client.ObjectKeyFromObject(mg)
	if err := e.process.reconcile(key); err != nil {
		e.last = err
	}
	if e.process.isDead() {
		e.process, e.fatal = nil, 0
		e.deaths++
	}
	return e.read(mg)
}

func (e *env) read(mg resource.Managed) bool {
	e.Helper()
	err := e.kube.Get(context.Background(), client.ObjectKeyFromObject(mg), mg)
	if err != nil && !kerrors.IsNotFound(err) {
		e.Fatal(err)
	}
	return err == nil
}

// until something holds, the provider reconciles the resource.
func (e *env) until(mg resource.Managed, what string, holds func() bool) {
	e.Helper()
	for end := time.Now().Add(longest); time.Now().Before(end); <-time.After(2 * time.Millisecond) {
		there := e.reconcile(mg)
		if there && holds() || !there && what == gone {
			return
		}
		e.age(mg)
	}
	e.Fatalf("never happened: %s\nlast error: %v\n%s", what, e.last, e.describe(mg))
}

const gone = "the resource is gone"

// age a resource whose object was created, so that it is not taken for too young to be
// seen.
func (e *env) age(mg resource.Managed) {
	created := xpmeta.GetExternalCreateSucceeded(mg)
	if created.IsZero() || time.Since(created) > time.Minute || !e.read(mg) {
		return
	}
	xpmeta.SetExternalCreateSucceeded(mg, created.Add(-time.Hour))
	xpmeta.SetExternalCreatePending(mg, created.Add(-2*time.Hour))
	if err := e.kube.Update(context.Background(), mg); err != nil && !kerrors.IsConflict(err) {
		e.Fatal(err)
	}
}

// edit the spec as a user does.
func (e *env) edit(mg resource.Managed, forProvider string) {
	e.Helper()
	e.read(mg)
	u, err := runtime.DefaultUnstructuredConverter.ToUnstructured(mg)
	if err != nil {
		e.Fatal(err)
	}
	spec := map[string]any{}
	if err := yaml.Unmarshal([]byte(forProvider), &spec); err != nil {
		e.Fatal(err)
	}
	if err := unstructured.SetNestedMap(u, spec, "spec", "forProvider"); err != nil {
		e.Fatal(err)
	}
	generation := mg.GetGeneration() + 1
	empty, _ := e.scope.Identity(e.kind.Kind).Object.DeepCopyObject().(resource.Managed)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u, empty); err != nil {
		e.Fatal(err)
	}
	empty.SetGeneration(generation)
	if err := e.kube.Update(e.Context(), empty); err != nil {
		e.Fatal(err)
	}
	e.read(mg)
}

// change a resource in the API.
func (e *env) change(mg resource.Managed, change func()) {
	e.Helper()
	e.read(mg)
	change()
	if err := e.kube.Update(e.Context(), mg); err != nil {
		e.Fatal(err)
	}
}

func (e *env) delete(mg resource.Managed) {
	e.Helper()
	if err := e.kube.Delete(e.Context(), mg); err != nil {
		e.Fatal(err)
	}
}

// object is the object in Proxmox VE, or nil.
func (e *env) object() *proxmox.Object {
	e.Helper()
	all, err := e.root.Objects(e.Context(), e.kind.Collection)
	if err != nil {
		e.Fatal(err)
	}
	for _, o := range all {
		if o.Name == e.kind.Name {
			return &o
		}
	}
	return nil
}

// writes to Proxmox VE by the provider so far.
func (e *env) writes() []string {
	var all []string
	for _, r := range e.pve.Requests() {
		if r.Method != http.MethodGet && strings.HasPrefix(r.User, "crossplane@pve") {
			all = append(all, r.Method+" "+r.Path)
		}
	}
	return all
}

// has checks the options of the object.
func (e *env) has(want map[string]string) {
	e.Helper()
	o := e.object()
	if o == nil {
		e.Fatalf("%s %q does not exist", e.kind.Collection.Noun, e.kind.Name)
	}
	for option, value := range want {
		if got := o.Values[option]; !same(got, value) {
			e.Errorf("%s %q: %s is %q, want %q", e.kind.Collection.Noun, e.kind.Name, option, got, value)
		}
	}
}

func (e *env) describe(mg resource.Managed) string {
	var b strings.Builder
	raw, _ := yaml.Marshal(mg)
	fmt.Fprintf(&b, "%s\n", raw)
	for _, r := range e.pve.Requests() {
		fmt.Fprintf(&b, "%s %s %v: %d %s\n", r.Method, r.Path, r.Params, r.Status, r.Message)
	}
	return b.String()
}
