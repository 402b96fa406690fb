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
	"github.com/vitistack/provider-proxmox/internal/controller/kind/target"
)

// A Life is a cluster, a Kubernetes API and a provider, for the particular behavior of a kind.
type Life struct{ *env }

// RunIn runs a test in its ways.
func RunIn(t *testing.T, k Kind, run func(*Life)) {
	t.Helper()
	EachWay(t, func(t *testing.T, w Way) {
		t.Helper()
		t.Parallel()
		run(&Life{env: newEnv(t, k, w)})
	})
}

// Other returns the same cluster and Kubernetes API with resources, and a provider, of the other scope.
func (l *Life) Other() *Life {
	r := &Runner{Simulator: l.Simulator, Kube: l.Kube, Clock: l.Clock, setup: l.setup}
	for _, s := range scopes() {
		if s.GroupVersion != l.Scope.GroupVersion {
			r.Scope = s
		}
	}
	l.Cleanup(r.Restart)
	return &Life{env: &env{Runner: r, kind: l.kind}}
}

// Resource creates a resource of the kind, older than those of higher numbers.
func (l *Life) Resource(number int, forProvider string, annotations map[string]string) resource.Managed {
	l.Helper()
	return l.resource(number, forProvider, annotations)
}

// Machine creates a Machine of the scope in the cluster of that name, for resources that refer to it. It has the VM with the VMID. With 0, it has no
// VM that is proven to belong to it.
func (l *Life) Machine(name, cluster string, vmid int32, labels, annotations map[string]string) target.Machine {
	l.Helper()
	mg := NewResource(l.T, l.Scope, "Machine", name, 1, "{}", annotations)
	mg.SetLabels(labels)
	l.Create(mg)
	m, ok := mg.(target.Machine)
	if !ok {
		l.Fatalf("%T is no Machine", mg)
	}
	m.Observation().Cluster = cluster
	l.HasVM(m, vmid)
	return m
}

// HasVM makes a Machine report its VM, or none with 0.
func (l *Life) HasVM(m target.Machine, vmid int32) {
	l.Helper()
	o := m.Observation()
	o.VMID, o.UUID, o.Phase = nil, "", v1alpha1.MachineError
	if vmid != 0 {
		o.VMID, o.UUID, o.Phase = &vmid, "11111111-2222-4333-8444-555555555555", v1alpha1.MachineRunning
	}
	l.Must(l.Kube.Status().Update(l.Context(), m))
}

// Settle reconciles a resource until it matches its spec.
func (l *Life) Settle(mg resource.Managed) {
	l.Helper()
	l.env.Until(mg, "the object is as the spec asks", Settled(mg))
}

// Until reconciles a resource until one of its conditions is False for a reason, with words in its message.
func (l *Life) Until(mg resource.Managed, c xpv2.ConditionType, reason xpv2.ConditionReason, words ...string) {
	l.Helper()
	l.env.Until(mg, string(c)+" is False: "+string(reason), Says(mg, c, reason, words...))
}

// UntilHolds reconciles a resource until holds returns true.
func (l *Life) UntilHolds(mg resource.Managed, what string, holds func() bool) {
	l.Helper()
	l.env.Until(mg, what, holds)
}

// UntilGone reconciles a resource that is being deleted until it no longer exists.
func (l *Life) UntilGone(mg resource.Managed) {
	l.Helper()
	l.env.Until(mg, Gone, func() bool { return false })
}

// EditSpec edits the spec of a resource as a user does.
func (l *Life) EditSpec(mg resource.Managed, forProvider string) {
	l.Helper()
	l.edit(mg, forProvider)
}

// Options returns the options of an object, or nil.
func (l *Life) Options(name string) map[string]string {
	l.Helper()
	all, err := l.Client.Objects(l.Context(), l.kind.Collection)
	l.Must(err)
	for _, o := range all {
		if o.Name == name {
			return o.Values
		}
	}
	return nil
}
