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
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// A Life is a cluster, a Kubernetes API and a provider, for what is particular to a kind.
type Life struct {
	Simulator

	env *env
}

// RunIn runs a test in its ways.
func RunIn(t *testing.T, k Kind, run func(*Life)) {
	t.Helper()
	EachWay(t, func(t *testing.T, w Way) {
		t.Helper()
		t.Parallel()
		e := newEnv(t, k, w.Scope, w.Version)
		run(&Life{Simulator: e.Simulator(), env: e})
	})
}

// Resource makes a resource of the kind, older than those of higher numbers.
func (l *Life) Resource(number int, forProvider string, annotations map[string]string) resource.Managed {
	l.Helper()
	return l.env.resource(number, forProvider, annotations)
}

// Machine makes a Machine of the scope, of the cluster of that name, for what refers to it.
func (l *Life) Machine(name, cluster string, labels, annotations map[string]string) {
	l.Helper()
	mg := NewResource(l.T, l.env.scope, "Machine", name, 1, "{}", annotations)
	mg.SetLabels(labels)
	l.env.create(mg)
	m, ok := mg.(interface {
		Observation() *v1alpha1.MachineObservation
	})
	if !ok {
		l.Fatalf("%T is no Machine", mg)
	}
	m.Observation().Cluster = cluster
	l.Must(l.env.kube.Status().Update(l.Context(), mg))
}

// Reconcile a resource once. It reports whether the resource is still there.
func (l *Life) Reconcile(mg resource.Managed) bool {
	l.Helper()
	return l.env.reconcile(mg)
}

// Settle reconciles a resource until it is as its spec asks.
func (l *Life) Settle(mg resource.Managed) {
	l.Helper()
	l.env.until(mg, "the object is as the spec asks", Settled(mg))
}

// Until a condition of a resource is False for a reason, with words in its message, the
// resource is reconciled.
func (l *Life) Until(mg resource.Managed, c xpv2.ConditionType, reason xpv2.ConditionReason, words ...string) {
	l.Helper()
	l.env.until(mg, string(c)+" is False: "+string(reason), Says(mg, c, reason, words...))
}

// EditSpec edits the spec of a resource as a user does.
func (l *Life) EditSpec(mg resource.Managed, forProvider string) {
	l.Helper()
	l.env.edit(mg, forProvider)
}

// Change a resource in the Kubernetes API.
func (l *Life) Change(mg resource.Managed, change func()) {
	l.Helper()
	l.env.change(mg, change)
}

// Delete a resource, and reconcile it until it is gone.
func (l *Life) Delete(mg resource.Managed) {
	l.Helper()
	l.env.delete(mg)
	l.env.until(mg, gone, func() bool { return false })
}

// StartDelete deletes a resource, which is gone only once it is reconciled.
func (l *Life) StartDelete(mg resource.Managed) {
	l.Helper()
	l.env.delete(mg)
}

// Restart has the provider die and another one live on.
func (l *Life) Restart() {
	if l.env.process != nil {
		l.env.process.cancel()
		l.env.process = nil
	}
}

// Writes returns the writes to Proxmox VE by the provider so far.
func (l *Life) Writes() []string { return l.env.writes() }

// Options returns the options of an object, or nil.
func (l *Life) Options(name string) map[string]string {
	l.Helper()
	all, err := l.Client.Objects(l.Context(), l.env.kind.Collection)
	l.Must(err)
	for _, o := range all {
		if o.Name == name {
			return o.Values
		}
	}
	return nil
}
