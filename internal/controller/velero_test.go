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

package controller_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
)

// TestVelero restores a hundred Machines that a provider has created into another cluster, which has a separate API server and provider, as Velero
// does, and checks that they are the Machines of their VMs there. Nothing is written to Proxmox VE, and a deletion does what the spec says.
func TestVelero(t *testing.T) {
	t.Parallel()
	const count = 100
	other, stop, err := startServer()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	eachScope(t, func(t *testing.T, scopeName string) {
		t.Helper()
		c := newPopulation(t, scopeName, strings.ToLower(scopeName)+"-velero", nil)
		c.createVarious(count)
		c.upToDate(count)
		c.stop()
		passwords := c.passwords()
		if len(passwords) != 2*count/varieties {
			t.Fatalf("want passwords of the Machines that have some, got %d", len(passwords))
		}

		restored := &population{list: c.list, of: c.of, world: &world{
			T: t, scope: c.scope, name: c.name, pve: c.pve, admin: c.admin, server: other, poll: time.Second,
		}}
		if restored.kube, err = client.NewWithWatch(other, client.Options{Scheme: scheme}); err != nil {
			t.Fatal(err)
		}
		c.pve.ClearRequests()
		seen := watched(restored.world)
		restored.restoreAll(c.backup())
		restored.upToDate(count)
		seen.further(restored.world, 1, 2*count)
		for _, r := range restored.writes() {
			t.Errorf("want nothing written, got %s %s %v: %d %s", r.Method, r.Path, r.Params, r.Status, r.Message)
		}
		if diff := cmp.Diff(passwords, restored.passwords()); diff != "" {
			t.Errorf("the passwords of the guests: -want, +got:\n%s", diff)
		}
		restored.asBefore(c)
		restored.deleteAll()
		if got, want := len(restored.ours()), count/varieties; got != want {
			t.Errorf("%d VMs stay, want the %d whose Machines may not delete them", got, want)
		}
	})
}

// varieties of Machines that createVarious creates in turn.
const varieties = 5

// createVarious creates Machines of all kinds: from nothing, from a template, with cloud-init data from the provider, with a password that it has
// generated or was given, and without permission to delete the VM.
func (c *population) createVarious(count int) {
	c.Helper()
	empty := v1alpha1.MachineParameters{
		Memory: new(resource.MustParse("64Mi")), PowerState: new(v1alpha1.PowerStateStopped),
		Disks: []v1alpha1.MachineDisk{{Name: "root", Size: new("1G"), Storage: new("ceph")}},
	}
	clone, generated, given := ubuntu(), *empty.DeepCopy(), *empty.DeepCopy()
	clone.Memory = new(resource.MustParse("256Mi"))
	userData := c.withUserData()
	userData.Memory = clone.Memory
	generated.CloudInit = &v1alpha1.MachineCloudInit{User: new("admin"), GeneratePassword: new(true)}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "password-" + c.name}, StringData: map[string]string{"password": secretText},
	}
	if err := c.kube.Create(c.Context(), secret); err != nil {
		c.Fatal(err)
	}
	given.CloudInit = &v1alpha1.MachineCloudInit{
		PasswordSecretRef: &v1alpha1.SecretKeyReference{Namespace: new(namespace), Name: secret.Name, Key: "password"},
	}
	for i := range count {
		o := c.meta()
		o.Name = fmt.Sprintf("%s-%d", c.name, i)
		m := c.scope.machine(o, []v1alpha1.MachineParameters{empty, clone, userData, generated, given}[i%varieties])
		c.of(m, c.name)
		switch i % varieties {
		case 0:
			m.SetManagementPolicies(xpv2.ManagementPolicies{xpv2.ManagementActionObserve, xpv2.ManagementActionCreate, xpv2.ManagementActionUpdate})
		case 3, 4:
			connected(m)
		}
		if err := c.kube.Create(c.Context(), m); err != nil {
			c.Fatal(err)
		}
	}
}

// connected gives a Machine a connection Secret.
func connected(m machine.Machine) {
	switch m := m.(type) {
	case *cluster.Machine:
		m.SetWriteConnectionSecretToReference(&xpv2.SecretReference{Namespace: namespace, Name: "connection-" + m.Name})
	case *namespaced.Machine:
		m.SetWriteConnectionSecretToReference(&xpv2.LocalSecretReference{Name: "connection-" + m.Name})
	}
}

// upToDate waits until count Machines are ready and match their specs.
func (c *population) upToDate(count int) {
	c.Helper()
	c.slowly(fmt.Sprintf("%d Machines of %s are up to date", count, c.name), func() string {
		is, last := 0, ""
		for _, m := range c.machines() {
			why := unsettled(m)
			if u := m.GetCondition(kind.TypeUpToDate); why == "" && u.Status != corev1.ConditionTrue {
				why = string(u.Reason) + ": " + u.Message
			}
			if why == "" {
				is++
			} else {
				last = m.GetName() + ": " + why
			}
		}
		if is == count {
			return ""
		}
		return fmt.Sprintf("%d are, but %s", is, last)
	})
}

// secrets returns the Secrets of the population.
func (c *population) secrets() []corev1.Secret {
	c.Helper()
	list := &corev1.SecretList{}
	if err := c.kube.List(c.Context(), list, client.InNamespace(namespace)); err != nil {
		c.Fatal(err)
	}
	return slices.DeleteFunc(list.Items, func(s corev1.Secret) bool { return !strings.Contains(s.Name, c.name) })
}

// passwords returns the passwords in the connection Secrets, by their names.
func (c *population) passwords() map[string]string {
	c.Helper()
	all := map[string]string{}
	for _, s := range c.secrets() {
		if s.Type != corev1.SecretTypeOpaque {
			all[s.Name] = string(s.Data["password"])
		}
	}
	return all
}

// backup returns the objects of the population in the order of a backup: Secrets first, which are restored before other kinds, and the others in the
// order of the names of their kinds, so that Machines come before the configuration that they use.
func (c *population) backup() []*unstructured.Unstructured {
	c.Helper()
	var all []*unstructured.Unstructured
	for _, s := range c.secrets() {
		all = append(all, c.read(corev1.SchemeGroupVersion.WithKind("Secret"), namespace, s.Name))
	}
	version := cluster.SchemeGroupVersion
	if c.inNamespace() {
		version = namespaced.SchemeGroupVersion
	}
	for _, name := range []string{"Machine", "ProviderConfig", "ProviderConfigUsage"} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(version.WithKind(name + "List"))
		if err := c.kube.List(c.Context(), list); err != nil {
			c.Fatal(err)
		}
		for i, o := range list.Items {
			config, _, _ := unstructured.NestedString(o.Object, "providerConfigRef", "name")
			if o.GetLabels()[label] == c.name || config == c.name {
				all = append(all, &list.Items[i])
			}
		}
	}
	return all
}

// read reads an object, without its type.
func (c *population) read(of schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	c.Helper()
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(of)
	if err := c.kube.Get(c.Context(), client.ObjectKey{Namespace: namespace, Name: name}, u); err != nil {
		c.Fatal(err)
	}
	return u
}

// restoreAll restores the objects of a backup as Velero does: with additional labels, and without the status and what an API server or an owner has
// set.
func (c *population) restoreAll(all []*unstructured.Unstructured) {
	c.Helper()
	for _, o := range all {
		unstructured.RemoveNestedField(o.Object, "status")
		for _, field := range []string{
			"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "ownerReferences", "selfLink",
			"generateName", "managedFields",
		} {
			unstructured.RemoveNestedField(o.Object, "metadata", field)
		}
		labels := maps.Clone(o.GetLabels())
		if labels == nil {
			labels = map[string]string{}
		}
		labels["velero.io/backup-name"], labels["velero.io/restore-name"] = "machines", "machines-1"
		o.SetLabels(labels)
		if err := c.kube.Create(c.Context(), o); err != nil {
			c.Fatalf("cannot restore %s %q: %v", o.GetKind(), o.GetName(), err)
		}
	}
}

// asBefore compares Machines with those from which they were restored, and checks that no usage of the configuration is left without its Machine,
// because the configuration could then not be deleted.
func (c *population) asBefore(before *population) {
	c.Helper()
	was := map[string]machine.Machine{}
	for _, m := range before.machines() {
		was[m.GetName()] = m
	}
	uids := map[string]bool{}
	for _, m := range c.machines() {
		uids[string(m.GetUID())] = true
		b := was[m.GetName()]
		for what, pair := range map[string][2]any{
			"finalizers": {b.GetFinalizers(), m.GetFinalizers()}, "policies": {b.GetManagementPolicies(), m.GetManagementPolicies()},
			"annotations": {lasting(b), lasting(m)}, "parameters": {b.Parameters(), m.Parameters()},
			"VM": {b.Observation().UUID, m.Observation().UUID}, "phase": {b.Observation().Phase, m.Observation().Phase},
		} {
			if diff := cmp.Diff(pair[0], pair[1]); diff != "" {
				c.Errorf("%s of %s: -before, +restored:\n%s", what, m.GetName(), diff)
			}
		}
	}
	c.slowly("each user of the configuration is a Machine", func() string {
		users := 0
		for _, u := range c.backup() {
			if u.GetKind() == "ProviderConfigUsage" {
				if users++; !uids[u.GetName()] {
					return u.GetName() + " is none"
				}
			}
		}
		if users != len(uids) {
			return fmt.Sprintf("there are %d users", users)
		}
		return ""
	})
}

// lasting returns the annotations of a Machine except the one that names the version of its Secret.
func lasting(m machine.Machine) map[string]string {
	all := maps.Clone(m.GetAnnotations())
	delete(all, object.AnnotationPassword)
	return all
}
