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
	"sync"
	"testing"
	"time"

	xpmeta "github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/inventory"
)

// A Clock advances only on request.
type Clock struct {
	mu sync.Mutex
	at time.Time
}

// NewClock returns a Clock that shows the present time.
func NewClock() *Clock { return &Clock{at: time.Now()} }

// Now returns the time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

// Pass advances the time.
func (c *Clock) Pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// A Runner is a simulated cluster, a Kubernetes API, and a provider of one kind that is killed and started again.
type Runner struct {
	Simulator

	Scope kind.Scope
	Kube  client.WithWatch
	Clock *Clock

	// Events that the providers have recorded so far.
	Events Events

	// Deaths is how often a provider was killed at a side effect.
	Deaths int

	setup   Setup
	process *process
	fatal   int // The side effect at which the next provider is killed.
	last    error
}

// newRunner returns a Runner for a kind.
func newRunner(t *testing.T, setup Setup, w Way) *Runner {
	t.Helper()
	r := &Runner{Simulator: Simulate(t, w.Version), Scope: w.Scope, Clock: NewClock()}
	r.setup = func(mgr ctrl.Manager, o kind.Options, s kind.Scope) error {
		o.Now = r.Clock.Now
		return setup(recordingManager{Manager: mgr, into: &r.Events}, o, s)
	}
	r.Kube = Serve(r.Simulator)
	t.Cleanup(r.Restart)
	return r
}

// Restart kills the provider and starts another one.
func (r *Runner) Restart() {
	if r.process != nil {
		r.process.cancel()
		r.process = nil
	}
}

// BySigns returns options for a provider whose cached data never expires. It reads data again only when a sign shows that it has changed.
func BySigns() []inventory.Option {
	return []inventory.Option{inventory.WithPollInterval(maxAge), inventory.WithEventPollInterval(maxAge), inventory.WithMaxAge(time.Hour)}
}

// RestartBySigns kills the provider and starts another one with the options BySigns.
func (r *Runner) RestartBySigns() {
	r.Restart()
	r.process = start(r.T, r.Kube, r.setup, r.Scope, 0, BySigns()...)
}

// GuestCalls counts the calls to Proxmox VE about single VMs so far.
func (s Simulator) GuestCalls() int {
	n := 0
	for _, r := range s.Requests() {
		if strings.Contains(r.Path, "/qemu/") {
			n++
		}
	}
	return n
}

// KillAfter starts another provider, which is killed at that side effect: after the answer to a write to Proxmox VE has arrived, and before and after
// each write to the Kubernetes API. 0 means none.
func (r *Runner) KillAfter(effect int) {
	r.Restart()
	r.fatal, r.Deaths = effect, 0
}

// Create creates an object in the Kubernetes API.
func (r *Runner) Create(o client.Object) {
	r.Helper()
	r.Must(r.Kube.Create(r.Context(), o))
}

// Object creates a resource of a kind of the scope, older than those of higher numbers.
func (r *Runner) Object(kindName, name string, number int, forProvider string, annotations map[string]string) resource.Managed {
	r.Helper()
	mg := NewResource(r.T, r.Scope, kindName, name, number, forProvider, annotations)
	r.Create(mg)
	return mg
}

// Reconcile reconciles a resource once, by a provider that is alive, and reads it again. It reports whether the resource still exists.
func (r *Runner) Reconcile(mg resource.Managed) bool {
	r.Helper()
	if r.process == nil {
		r.process = start(r.T, r.Kube, r.setup, r.Scope, r.fatal)
	}
	if err := r.process.reconcile(client.ObjectKeyFromObject(mg)); err != nil {
		r.last = err
	}
	if r.process.isDead() {
		r.process, r.fatal = nil, 0
		r.Deaths++
	}
	return r.Read(mg)
}

// Read reads a resource again. It reports whether it still exists.
func (r *Runner) Read(mg resource.Managed) bool {
	r.Helper()
	err := r.Kube.Get(context.Background(), client.ObjectKeyFromObject(mg), mg)
	if err != nil && !kerrors.IsNotFound(err) {
		r.Fatal(err)
	}
	return err == nil
}

// longest is how long a state may take to be reached on a busy machine.
const longest = 2 * time.Minute

// Gone describes the state in which a resource no longer exists.
const Gone = "the resource is gone"

// Until makes the provider reconcile the resource until holds returns true.
func (r *Runner) Until(mg resource.Managed, what string, holds func() bool) {
	r.Helper()
	for end := time.Now().Add(longest); time.Now().Before(end); <-time.After(2 * time.Millisecond) {
		there := r.Reconcile(mg)
		if there && holds() || !there && what == Gone {
			return
		}
		r.Clock.Pass(time.Second)
		r.age(mg)
	}
	r.Fatalf("never happened: %s\nlast error: %v\n%s", what, r.last, r.describe(mg))
}

// age makes a resource whose object was created older, so that it is not considered too young to be seen.
func (r *Runner) age(mg resource.Managed) {
	created := xpmeta.GetExternalCreateSucceeded(mg)
	if created.IsZero() || time.Since(created) > time.Minute || !r.Read(mg) {
		return
	}
	xpmeta.SetExternalCreateSucceeded(mg, created.Add(-time.Hour))
	xpmeta.SetExternalCreatePending(mg, created.Add(-2*time.Hour))
	if err := r.Kube.Update(context.Background(), mg); err != nil && !kerrors.IsConflict(err) {
		r.Fatal(err)
	}
}

// Change changes a resource in the Kubernetes API.
func (r *Runner) Change(mg resource.Managed, change func()) {
	r.Helper()
	r.Read(mg)
	change()
	r.Must(r.Kube.Update(r.Context(), mg))
}

// ChangeSpec changes the spec of a resource, and its generation.
func (r *Runner) ChangeSpec(mg resource.Managed, change func()) {
	r.Helper()
	r.Change(mg, func() {
		change()
		mg.SetGeneration(mg.GetGeneration() + 1)
	})
}

// StartDelete deletes a resource, which still exists until it is reconciled.
func (r *Runner) StartDelete(mg resource.Managed) {
	r.Helper()
	r.Must(r.Kube.Delete(r.Context(), mg))
}

// Delete deletes a resource, and reconciles it until it no longer exists.
func (r *Runner) Delete(mg resource.Managed) {
	r.Helper()
	r.StartDelete(mg)
	r.Until(mg, Gone, func() bool { return false })
}

// Writes returns the writes to Proxmox VE by the provider so far.
func (r *Runner) Writes() []string {
	var all []string
	for _, q := range r.Requests() {
		if q.Method != http.MethodGet && strings.HasPrefix(q.User, "crossplane@pve") {
			all = append(all, q.Method+" "+q.Path)
		}
	}
	return all
}

func (r *Runner) describe(mg resource.Managed) string {
	var b strings.Builder
	raw, _ := yaml.Marshal(mg)
	fmt.Fprintf(&b, "%s\n", raw)
	for _, q := range r.Requests() {
		fmt.Fprintf(&b, "%s %s %v: %d %s\n", q.Method, q.Path, q.Params, q.Status, q.Message)
	}
	return b.String()
}
