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

package images

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/connect"
	"github.com/vitistack/provider-proxmox/internal/imageref"
)

const url = "https://example.org/debian.qcow2"

func machine(name string, change func(*namespaced.Machine)) *namespaced.Machine {
	m := &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, UID: types.UID(name), Labels: map[string]string{
		"shard": "a", "crossplane.io/composite": "x",
	}}}
	m.Spec.ForProvider.Image = &v1alpha1.MachineImage{URL: new(url)}
	m.Spec.ProviderConfigReference = &xpv2.ProviderConfigReference{Kind: "ProviderConfig", Name: "site"}
	if change != nil {
		change(m)
	}
	return m
}

func reader(t *testing.T, objects ...client.Object) Reader {
	t.Helper()
	s := runtime.NewScheme()
	if err := namespaced.SchemeBuilder.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	kube := fake.NewClientBuilder().WithScheme(s).WithObjects(objects...).Build()
	return Reader{Kube: kube, Object: &namespaced.Image{}, MachineKind: namespaced.MachineGroupVersionKind}
}

func sharedName(m *namespaced.Machine) string {
	return imageref.SharedName(m.Spec.ForProvider.Image, imageref.ConfigOf(m))
}

// image returns an Image of the name that the URL has, with the given owners.
func image(url string, shared bool, owners ...string) *namespaced.Image {
	i := &namespaced.Image{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: sharedName(machine("web", nil))}}
	i.Spec.ForProvider = imageref.SharedParameters(&v1alpha1.MachineImage{URL: &url})
	if shared {
		i.Labels = map[string]string{imageref.LabelShared: "true"}
	}
	for _, name := range owners {
		i.OwnerReferences = append(i.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "Machine", Name: name, UID: types.UID(name)})
	}
	return i
}

func TestEnsure(t *testing.T) {
	observe := func(m *namespaced.Machine) {
		m.Spec.ManagementPolicies = xpv2.ManagementPolicies{xpv2.ManagementActionObserve}
	}
	cases := map[string]struct {
		reason  string
		machine func(*namespaced.Machine)
		has     *namespaced.Image
		owners  []string // Nil if there is to be no Image.
		err     string
	}{
		"New":     {reason: "The Image of a URL is made.", owners: []string{"web"}},
		"Shared":  {reason: "An Image that another Machine owns stays and gets this owner.", has: image(url, true, "db"), owners: []string{"db", "web"}},
		"Unowned": {reason: "An Image without owners stays for this one.", has: image(url, true), owners: []string{"web"}},
		"Owned":   {reason: "An Image that stays already is not changed.", has: image(url, true, "web"), owners: []string{"web"}},
		"Own":     {reason: "An Image that somebody has made is not to go with Machines.", has: image(url, false), owners: []string{}},
		"Other": {
			reason: "An Image of another source is not used.", has: image("https://example.org/other.qcow2", true), owners: []string{},
			err: "has another source than image.url",
		},
		"Ref":      {reason: "A Machine that names an Image makes none.", machine: func(m *namespaced.Machine) { m.Spec.ForProvider.Image.URL = nil }},
		"Observed": {reason: "A Machine that creates nothing makes none.", machine: observe},
		"Deleted":  {reason: "A Machine that goes makes none.", machine: func(m *namespaced.Machine) { m.DeletionTimestamp = &metav1.Time{} }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var objects []client.Object
			if tc.has != nil {
				objects = append(objects, tc.has)
			}
			r, m := reader(t, objects...), machine("web", tc.machine)
			if m.DeletionTimestamp != nil {
				now := metav1.Now()
				m.DeletionTimestamp = &now
			}
			err := r.Ensure(t.Context(), m)
			if (err != nil) != (tc.err != "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%s Want error %q, got %v", tc.reason, tc.err, err)
			}
			all := &namespaced.ImageList{}
			if err := r.Kube.List(t.Context(), all); err != nil {
				t.Fatal(err)
			}
			var owners []string
			for _, i := range all.Items {
				owners = []string{}
				for _, o := range i.OwnerReferences {
					owners = append(owners, o.Name)
				}
			}
			if diff := cmp.Diff(tc.owners, owners); diff != "" {
				t.Errorf("%s Owners: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestEnsureMakes checks that a new Image has the Machine's source, connection and labels, except those of Crossplane.
func TestEnsureMakes(t *testing.T) {
	r, m := reader(t), machine("web", nil)
	if err := r.Ensure(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	made := &namespaced.Image{}
	if err := r.Kube.Get(t.Context(), client.ObjectKey{Namespace: "team", Name: sharedName(m)}, made); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"shard": "a", imageref.LabelShared: "true"}, made.Labels); diff != "" {
		t.Errorf("labels: -want, +got:\n%s", diff)
	}
	if c := made.Spec.ProviderConfigReference; c == nil || c.Name != "site" || made.Spec.ForProvider.Source.URL == nil ||
		*made.Spec.ForProvider.Source.URL != url {
		t.Errorf("want the connection and the URL of the Machine, got %+v", made.Spec)
	}
}

// tenantReader reads the cluster-scoped Images of two tenants, which have labels, with a configuration that refuses what they may not have.
func tenantReader(t *testing.T) Reader {
	t.Helper()
	s := runtime.NewScheme()
	if err := errors.Join(cluster.SchemeBuilder.AddToScheme(s), namespaced.SchemeBuilder.AddToScheme(s)); err != nil {
		t.Fatal(err)
	}
	config := &cluster.ProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: "site"}}
	config.Spec.Endpoints = []string{"https://pve1.example.com:8006"}
	for _, name := range []string{"a", "b"} {
		config.Spec.Tenants = append(config.Spec.Tenants, v1alpha1.ProviderTenant{
			Name: name, Pools: []string{name}, ResourceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"crossplane.io/team": name}},
			Namespaces: []string{"team-" + name}, Storages: []string{"local"}, ImageHosts: []string{"example.org"},
		})
	}
	config.Spec.Tenants = append(config.Spec.Tenants, v1alpha1.ProviderTenant{Name: "ops", Namespaces: []string{"ops"}, Unrestricted: new(true)})
	kube := fake.NewClientBuilder().WithScheme(s).WithObjects(config).Build()
	c := connect.New(kube)
	return Reader{
		Kube: kube, Object: &cluster.Image{}, MachineKind: cluster.MachineGroupVersionKind, Tenant: c.NamedTenant,
		SameTenant: func(ctx context.Context) connect.SameTenantFunc { return c.Isolation(ctx, nil).SameTenant },
	}
}

// clusterMachine returns a Machine that asks for the URL.
func clusterMachine(name, url string, labels map[string]string) *cluster.Machine {
	m := &cluster.Machine{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: labels}}
	m.Spec.ForProvider.Image = &v1alpha1.MachineImage{URL: new(url)}
	m.Spec.ProviderConfigReference = &xpv2.Reference{Name: "site"}
	return m
}

// TestEnsureOfTenants checks that cluster-scoped Machines that ask for one URL share an Image only with Machines of their own tenant or claim.
func TestEnsureOfTenants(t *testing.T) {
	const label, claim = "crossplane.io/team", "crossplane.io/claim-namespace"
	r := tenantReader(t)
	ensure := func(m *cluster.Machine) error { return r.Ensure(t.Context(), m) }
	for name, labels := range map[string]map[string]string{
		"a1": {label: "a"}, "a2": {label: "a"}, "a3": {claim: "team-a"}, "b1": {label: "b"}, "ops": {claim: "ops"},
		"nobody": {label: "x"}, "unclaimed": nil,
	} {
		if err := ensure(clusterMachine(name, url, labels)); err != nil {
			t.Fatal(err)
		}
	}
	if err := ensure(clusterMachine("elsewhere", "https://evil.example/x.qcow2", map[string]string{label: "a"})); err != nil {
		t.Fatal(err)
	}
	all, got := &cluster.ImageList{}, map[string]string{}
	if err := r.Kube.List(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	for _, i := range all.Items {
		var owners []string
		for _, o := range i.OwnerReferences {
			owners = append(owners, o.Name)
		}
		slices.Sort(owners)
		got[strings.Join(owners, " ")] = i.Labels[label] + " " + i.Labels[claim]
	}
	if diff := cmp.Diff(map[string]string{"a1 a2": "a ", "a3": " team-a", "b1": "b ", "ops": " ops"}, got); diff != "" {
		t.Errorf("owners and labels that tell tenants: -want, +got:\n%s", diff)
	}
}

// TestImagesOfOtherTenants checks that a cluster-scoped Machine neither knows Images of other tenants, by whatever name, nor keeps them.
func TestImagesOfOtherTenants(t *testing.T) {
	const label = "crossplane.io/team"
	r := tenantReader(t)
	m := clusterMachine("own", url, map[string]string{label: "a"})
	ref, _, err := r.Reference(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	theirs := &cluster.Image{ObjectMeta: metav1.ObjectMeta{Name: ref.Name, Labels: map[string]string{label: "b", imageref.LabelShared: "true"}}}
	theirs.Spec.ForProvider, theirs.Spec.ProviderConfigReference = imageref.SharedParameters(m.Spec.ForProvider.Image), &xpv2.Reference{Name: "site"}
	if err := r.Kube.Create(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	if err := r.Ensure(t.Context(), m); err == nil || !strings.Contains(err.Error(), "is not of the tenant of this Machine") {
		t.Errorf("want an Image that another tenant has made under the name refused, got %v", err)
	}
	if err := r.Kube.Get(t.Context(), client.ObjectKeyFromObject(theirs), theirs); err != nil || len(theirs.OwnerReferences) > 0 {
		t.Errorf("want it left as it is, got %+v, %v", theirs.OwnerReferences, err)
	}
	m.Spec.ForProvider.Image = &v1alpha1.MachineImage{Ref: &v1alpha1.Reference{Name: theirs.Name}}
	if err := r.Wait(t.Context(), m); err == nil || err.Error() != imageref.Missing(theirs.Name).Error() {
		t.Errorf("want it not found by its name, got %v", err)
	}
	m.Labels[label] = "b"
	if err := r.Wait(t.Context(), m); err == nil || !strings.Contains(err.Error(), "is not ready") {
		t.Errorf("want it found by who has it, got %v", err)
	}
}

func TestWait(t *testing.T) {
	named := func(m *namespaced.Machine) {
		m.Spec.ForProvider.Image = &v1alpha1.MachineImage{Ref: &v1alpha1.Reference{Name: "debian"}}
	}
	cases := map[string]struct {
		reason  string
		machine func(*namespaced.Machine)
		want    bool
	}{
		"Missing": {reason: "A Machine waits for an Image that is not there.", machine: named, want: true},
		"None":    {reason: "A Machine without an Image waits for none.", machine: func(m *namespaced.Machine) { m.Spec.ForProvider.Image = nil }},
		"Has":     {reason: "A Machine with a VMID does not wait.", machine: func(m *namespaced.Machine) { named(m); meta.SetExternalName(m, "100") }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if err := reader(t).Wait(t.Context(), machine("web", tc.machine)); (err != nil) != tc.want {
				t.Errorf("%s Want wait %t, got %v", tc.reason, tc.want, err)
			}
		})
	}
}

func TestWaitingFor(t *testing.T) {
	named := func(image string) func(*namespaced.Machine) {
		return func(m *namespaced.Machine) {
			m.Spec.ForProvider.Image = &v1alpha1.MachineImage{Ref: &v1alpha1.Reference{Name: image}}
		}
	}
	r := reader(t,
		machine("waits", named("debian")),
		machine("other", named("alma")),
		machine("elsewhere", func(m *namespaced.Machine) { named("debian")(m); m.Namespace = "other" }),
		machine("has", func(m *namespaced.Machine) { named("debian")(m); m.Status.AtProvider.UUID = "u" }),
	)
	got, err := WaitingFor(t.Context(), r.Kube, &namespaced.MachineList{}, client.ObjectKey{Namespace: "team", Name: "debian"})
	if err != nil || len(got) != 1 || got[0].GetName() != "waits" {
		t.Errorf("want the one Machine of the namespace that has no VM yet, got %v, %v", got, err)
	}
}

func TestNotifier(t *testing.T) {
	n, told := NewNotifier(), []string{}
	n.Notify("a", image(url, true)) // There are no subscribers.
	n.Subscribe("a", func(i imageref.Image) { told = append(told, "a "+i.GetNamespace()) })
	n.Subscribe("b", func(imageref.Image) { told = append(told, "b") })
	n.Notify("a", image(url, true))
	n.Notify("a", machine("web", nil)) // It is not an Image.
	if diff := cmp.Diff([]string{"a team"}, told); diff != "" {
		t.Errorf("the subscriber of the group is told of Images: -want, +got:\n%s", diff)
	}
}
