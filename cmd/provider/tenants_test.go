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
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	kresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/yaml"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
)

// teamA returns a tenant that may have VMs on one node.
func teamA() v1alpha1.ProviderTenant {
	return v1alpha1.ProviderTenant{Name: "team-a", Namespaces: []string{"a"}, Pools: []string{"team-a"}, Nodes: []string{"pve1"}, Storages: []string{"ceph"}}
}

// tenantsLab returns clients of a provider configuration for a cluster, which is named site, with its users.
func tenantsLab(t *testing.T, tenants []v1alpha1.ProviderTenant, objects ...client.Object) (client.Client, *simulator.Server) {
	t.Helper()
	scenario, err := simulator.Quickstart()
	if err != nil {
		t.Fatal(err)
	}
	scenario.Pools = append(scenario.Pools, simulator.ScenarioPool{ID: "team-a"})
	scenario.Guests = append(scenario.Guests, simulator.ScenarioGuest{VMID: 20001, Node: "pve2", Pool: "team-a", Config: map[string]string{"name": "there"}})
	pve := simulatortest.NewTest(t, simulator.Options{Scenario: scenario})
	spec := v1alpha1.ProviderConfigSpec{
		Endpoints: []string{pve.URL()}, TLS: &v1alpha1.ProviderTLS{CACertificate: new(string(pve.CA()))}, Tenants: tenants,
		Credentials: v1alpha1.ProviderCredentials{SecretRef: &v1alpha1.SecretOptionalKeyReference{
			SecretReference: v1alpha1.SecretReference{Namespace: new("system"), Name: "pve"},
		}},
	}
	scheme, err := newScheme()
	if err != nil {
		t.Fatal(err)
	}
	all := append([]client.Object{
		&namespaced.ClusterProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: "site"}, Spec: spec},
		&cluster.ProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: "site"}, Spec: spec},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "pve"}, Data: map[string][]byte{
			"tokenID": []byte(simulatortest.TestToken), "tokenSecret": []byte(simulatortest.TestSecret),
		}},
	}, objects...)
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(all...).Build(), pve
}

// of sets the configuration of a resource.
func of(config string, mg resource.Managed) client.Object {
	switch mg := mg.(type) {
	case resource.ModernManaged:
		mg.SetProviderConfigReference(&xpv2.ProviderConfigReference{Kind: "ClusterProviderConfig", Name: config})
	case resource.LegacyManaged:
		mg.SetProviderConfigReference(&xpv2.Reference{Name: config})
	}
	return mg
}

func teamMachine(name string, spec v1alpha1.MachineParameters) *namespaced.Machine {
	return &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name}, Spec: namespaced.MachineSpec{ForProvider: spec}}
}

// A checkCase is the expected result of a check.
type checkCase struct {
	reason  string
	check   tenantsCheck
	tenants []v1alpha1.ProviderTenant
	file    []v1alpha1.ProviderTenant
	objects []client.Object
	broken  []string // Rows, by their fields.
	says    string
	not     string // Text that is not expected.
}

// checksOfNamespaces returns the cases for one namespace, which has the claim of a cluster-scoped Machine.
func checksOfNamespaces(claimed *cluster.Machine) map[string]checkCase {
	elsewhere := v1alpha1.MachineParameters{Node: new("pve3")}
	rules := []v1alpha1.ProviderTenant{
		teamA(), {Name: "team-b", Namespaces: []string{"b"}, Pools: []string{"team-b"}}, {Name: "operators", Namespaces: []string{"ops"}, Unrestricted: new(true)},
	}
	other := teamMachine("other", elsewhere)
	other.SetNamespace("b")
	nobody := teamMachine("nobody", v1alpha1.MachineParameters{})
	nobody.SetNamespace("c")
	objects := []client.Object{of("site", claimed), of("site", teamMachine("web", elsewhere)), of("site", other), of("site", nobody)}
	return map[string]checkCase{
		"Namespace": {
			reason: "The rules of a namespace are those of its tenant.", check: tenantsCheck{Namespace: "a"}, tenants: rules, objects: objects,
			broken: []string{`a Machine web - tenant "team-a" may not (nodes): no VM on node pve3`}, says: "  - team-a\n", not: "team-b",
		},
		"NamespaceOfClaims": {
			reason: "The claims in a namespace tell the tenant.", check: tenantsCheck{Namespace: "a", ClusterScoped: true}, tenants: rules, objects: objects,
			broken: []string{`a Machine claimed - tenant "team-a" may not (nodes): no VM on node pve3`}, says: "  - team-a\n", not: "team-b",
		},
		"NamespaceOfOperators": {
			reason: "Operators may do everything.", check: tenantsCheck{Namespace: "ops"}, tenants: rules, objects: objects,
			says: `Namespace "ops" may do everything`, not: "team-",
		},
		"NamespaceOfNobody": {
			reason: "Who has no tenant may do nothing.", check: tenantsCheck{Namespace: "c"}, tenants: rules, objects: objects,
			broken: []string{`c Machine nobody - namespace "c" belongs to no tenant of the provider configuration`},
			says:   "namespace \"c\" belongs to no tenant of the provider configuration\n\nNAMESPACE", not: "team-",
		},
	}
}

func TestTenantsCheck(t *testing.T) {
	elsewhere := v1alpha1.MachineParameters{Node: new("pve3")}
	there := teamMachine("there", v1alpha1.MachineParameters{})
	there.Status.AtProvider.VMID, there.Status.AtProvider.UUID = new(int32(20001)), "c0c0c0c0-0000-4000-8000-000000020001"
	claimed := &cluster.Machine{
		ObjectMeta: metav1.ObjectMeta{Name: "claimed", Labels: map[string]string{"crossplane.io/claim-namespace": "a"}},
		Spec:       cluster.MachineSpec{ForProvider: elsewhere},
	}
	cases := map[string]checkCase{
		"Fine": {
			reason: "What keeps the rules is counted.", tenants: []v1alpha1.ProviderTenant{teamA()},
			objects: []client.Object{of("site", teamMachine("web", v1alpha1.MachineParameters{}))}, says: "1 resources, and none breaks a rule.",
		},
		"None": {
			reason:  "Without tenants everything may stay.",
			objects: []client.Object{of("site", teamMachine("web", elsewhere))}, says: "every resource may do all that the credentials may",
		},
		"Spec": {
			reason: "What a spec asks for.", tenants: []v1alpha1.ProviderTenant{teamA()},
			objects: []client.Object{of("site", teamMachine("web", elsewhere)), of("other", teamMachine("not-of-it", elsewhere))},
			broken:  []string{`a Machine web - tenant "team-a" may not (nodes): no VM on node pve3`}, says: "  pools:\n  - team-a",
		},
		"VM": {
			reason:  "The VM of a Machine is checked for the node that it is on.",
			tenants: []v1alpha1.ProviderTenant{teamA()}, objects: []client.Object{of("site", there)},
			broken: []string{`a Machine there 20001 tenant "team-a" may not (nodes): no VM on node pve2`},
		},
		"Kinds": {
			reason: "Kinds that tenants may not have.", tenants: []v1alpha1.ProviderTenant{teamA()},
			objects: []client.Object{
				of("site", &namespaced.Image{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "data"}}),
				of("site", &namespaced.Pool{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "own"}}),
			},
			broken: []string{
				`a Image data - tenant "team-a" may not (kinds): to have a resource of kind Image`,
				`a Pool own - tenant "team-a" may not (kinds): to have a resource of kind Pool`,
			},
		},
		"File": {
			reason: "A manifest stands in for what is there.", file: []v1alpha1.ProviderTenant{teamA()},
			objects: []client.Object{of("site", teamMachine("web", elsewhere))},
			broken:  []string{`a Machine web - tenant "team-a" may not (nodes): no VM on node pve3`},
		},
		"Default": {
			reason: "What names default uses what stands in for that.", tenants: []v1alpha1.ProviderTenant{teamA()},
			objects: []client.Object{of("default", teamMachine("web", elsewhere))},
			broken:  []string{`a Machine web - tenant "team-a" may not (nodes): no VM on node pve3`},
		},
		"ClusterScoped": {
			reason: "Cluster-scoped resources have a configuration of their own.", check: tenantsCheck{ClusterScoped: true},
			tenants: []v1alpha1.ProviderTenant{teamA()}, objects: []client.Object{of("site", claimed), of("site", teamMachine("web", elsewhere))},
			broken: []string{`a Machine claimed - tenant "team-a" may not (nodes): no VM on node pve3`},
		},
	}
	maps.Copy(cases, checksOfNamespaces(claimed))
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Setenv("PROXMOX_DEFAULT_CLUSTER", "site")
			kube, pve := tenantsLab(t, tc.tenants, tc.objects...)
			if tc.check.Name = "site"; tc.file != nil {
				tc.check.File = manifestOf(t, tc.file)
			}
			var out bytes.Buffer
			err := tc.check.check(t.Context(), kube, &out)
			if errors.Is(err, errBroken) != (len(tc.broken) > 0) || err != nil && !errors.Is(err, errBroken) {
				t.Errorf("\n%s\n%v", tc.reason, err)
			}
			_, table, _ := strings.Cut(out.String(), "WOULD BE REFUSED\n")
			var rows []string
			for row := range strings.Lines(table) {
				rows = append(rows, strings.Join(strings.Fields(row), " "))
			}
			if diff := cmp.Diff(tc.broken, rows); diff != "" {
				t.Errorf("\n%s\n-want, +got:\n%s", tc.reason, diff)
			}
			if text := out.String(); !strings.Contains(text, tc.says) || strings.Contains(text, simulatortest.TestSecret) {
				t.Errorf("\n%s\nwant %q and no secret, got\n%s", tc.reason, tc.says, text)
			}
			if tc.not != "" && strings.Contains(out.String(), tc.not) {
				t.Errorf("\n%s\nwant nothing of %q, got\n%s", tc.reason, tc.not, out.String())
			}
			if w := written(pve); len(w) > 0 {
				t.Errorf("a check writes: %v", w)
			}
		})
	}
}

// TestTenantsCheckMissing checks that the error names the existing configurations.
func TestTenantsCheckMissing(t *testing.T) {
	kube, _ := tenantsLab(t, nil)
	err := (&tenantsCheck{Name: "lab"}).check(t.Context(), kube, &bytes.Buffer{})
	if want := "there is no ClusterProviderConfig/lab, but ProviderConfig/site, ClusterProviderConfig/site: --cluster-scoped"; err == nil ||
		!strings.HasPrefix(err.Error(), want) {
		t.Errorf("want %q, got %v", want, err)
	}
}

// TestTenantsUsage checks the usage and the limits of a quota that are shown: those that the provider keeps, or those of a manifest.
func TestTenantsUsage(t *testing.T) {
	limited := func(cores int32) []v1alpha1.ProviderTenant {
		a := teamA()
		a.Quota = &v1alpha1.TenantQuota{Cores: new(cores), Memory: ptr.To(kresource.MustParse("64Gi"))}
		return []v1alpha1.ProviderTenant{a}
	}
	elsewhere := limited(10)
	elsewhere[0].Pools = []string{"team-b"}
	used := []v1alpha1.TenantObservation{{Name: "team-a", Usage: []v1alpha1.TenantUsage{
		{Resource: "cores", Used: kresource.MustParse("6"), Limit: kresource.MustParse("8"), Waiting: new(int32(2))},
		{Resource: "memory", Used: kresource.MustParse("3Gi"), Limit: kresource.MustParse("64Gi")},
	}}}
	for name, tc := range map[string]struct {
		reason string
		check  tenantsCheck
		file   []v1alpha1.ProviderTenant
		used   []v1alpha1.TenantObservation
		want   []string
	}{
		"Kept": { // Another configuration has the lower limit of cores.
			reason: "The limit is that which the provider keeps.", used: used, want: []string{"team-a cores 6 8 2", "team-a memory 3Gi 64Gi 0"},
		},
		"ClusterScoped": {
			reason: "Cluster-scoped resources have a configuration of their own.", check: tenantsCheck{ClusterScoped: true}, used: used,
			want: []string{"team-a cores 6 8 2", "team-a memory 3Gi 64Gi 0"},
		},
		"File": {
			reason: "The limit is that of the manifest.", used: used, file: limited(20), want: []string{"team-a cores 6 20 2", "team-a memory 3Gi 64Gi 0"},
		},
		"NotCounted": { // A VM of the team has one core and half a GiB.
			reason: "What the provider has not counted yet is counted here.", want: []string{"team-a cores 1 10 0", "team-a memory 512Mi 64Gi 0"},
		},
		"Another": {
			reason: "A tenant with other rules is not the one that the provider has counted.", used: used, file: elsewhere,
			want: []string{"team-a cores 1 10 0", "team-a memory 512Mi 64Gi 0"},
		},
		"None": {reason: "A tenant without a quota has no usage.", file: []v1alpha1.ProviderTenant{teamA()}, used: used},
	} {
		t.Run(name, func(t *testing.T) {
			kube, _ := tenantsLab(t, limited(10))
			for _, pc := range []interface {
				client.Object
				Observation() *v1alpha1.ProviderConfigStatus
			}{&namespaced.ClusterProviderConfig{}, &cluster.ProviderConfig{}} {
				if err := kube.Get(t.Context(), client.ObjectKey{Name: "site"}, pc); err != nil {
					t.Fatal(err)
				}
				pc.Observation().Tenants = tc.used
				if err := kube.Update(t.Context(), pc); err != nil {
					t.Fatal(err)
				}
			}
			if tc.check.Name = "site"; tc.file != nil {
				tc.check.File = manifestOf(t, tc.file)
			}
			var out bytes.Buffer
			if err := tc.check.check(t.Context(), kube, &out); err != nil {
				t.Fatal(err)
			}
			_, table, _ := strings.Cut(out.String(), "WAITING\n")
			table, _, _ = strings.Cut(table, "\n\n")
			var rows []string
			for row := range strings.Lines(table) {
				rows = append(rows, strings.Join(strings.Fields(row), " "))
			}
			if diff := cmp.Diff(tc.want, rows); diff != "" {
				t.Errorf("%s -want, +got:\n%s\n%s", tc.reason, diff, out.String())
			}
		})
	}
}

// TestTenantsCheckQuota checks what a quota has no room for among existing resources, before it is enabled, and if it is not enforced.
func TestTenantsCheckQuota(t *testing.T) {
	asks := func(name string, cores int32, change ...func(*v1alpha1.MachineParameters)) client.Object {
		p := v1alpha1.MachineParameters{
			CPU: &v1alpha1.MachineCPU{Cores: new(cores)}, Memory: new(kresource.MustParse("1Gi")),
			Disks: []v1alpha1.MachineDisk{{Name: "root", Size: new("10G"), Storage: new("ceph")}},
		}
		for _, c := range change {
			c(&p)
		}
		m := teamMachine(name, p)
		m.SetUID(types.UID(name))
		return of("site", m)
	}
	copied := func(p *v1alpha1.MachineParameters) { p.TemplateTags = []string{"golden"} }
	other := teamMachine("other", v1alpha1.MachineParameters{CPU: &v1alpha1.MachineCPU{Cores: new(int32(64))}})
	other.SetNamespace("b")
	limited := func(q v1alpha1.TenantQuota) []v1alpha1.ProviderTenant {
		a := teamA()
		a.Quota = &q
		return []v1alpha1.ProviderTenant{a, {Name: "team-b", Namespaces: []string{"b"}, Pools: []string{"team-b"}}}
	}
	claimed := &cluster.Machine{
		ObjectMeta: metav1.ObjectMeta{Name: "claimed", UID: "claimed", Labels: map[string]string{"crossplane.io/claim-namespace": "a"}},
		Spec:       cluster.MachineSpec{ForProvider: v1alpha1.MachineParameters{CPU: &v1alpha1.MachineCPU{Cores: new(int32(3))}}},
	}
	five := v1alpha1.TenantQuota{Cores: new(int32(5))}
	for name, tc := range map[string]struct {
		reason    string
		namespace string
		file      []v1alpha1.ProviderTenant
		tenants   []v1alpha1.ProviderTenant
		warn      bool
		objects   []client.Object
		want      []string
		broken    bool
	}{
		"Fits": {
			reason: "What fits is counted and breaks nothing.", file: limited(five), objects: []client.Object{asks("a1", 4), of("site", other)},
			want: []string{"team-a cores 5 5 0", "2 resources, and none breaks a rule."},
		},
		"Over": {
			reason: "What has no room is told, with those that use most.", file: limited(five), broken: true,
			objects: []client.Object{asks("a1", 2), asks("a2", 1), asks("a3", 2), asks("a4", 1)},
			want: []string{
				"team-a cores 7 5 1", "team-a cores 2 Machine a/a1: 2, Machine a/a3: 2, Machine a/a2: 1, 2 more",
				`a Machine a3 - the quota of tenant "team-a" has no room: cores: 2 more, of 5 4 are used by 3 resources (a1: 2, a2: 1, …)`,
				"4 resources: none breaks a rule, but quotas are exceeded.",
			},
		},
		"Storages": {
			reason: "Disks count by their storage.", broken: true, objects: []client.Object{asks("a1", 1)},
			file: limited(v1alpha1.TenantQuota{Disks: []v1alpha1.TenantStorageQuota{{Storage: "ceph", Size: kresource.MustParse("8Gi")}}}),
			want: []string{"team-a disks/ceph 10Gi 8Gi 1", "team-a disks/ceph 2Gi Machine a/a1: 10Gi"},
		},
		"Templates": {
			reason: "What a template brings is not known.", objects: []client.Object{asks("a1", 1, copied)},
			file: limited(v1alpha1.TenantQuota{Disks: []v1alpha1.TenantStorageQuota{{Storage: "ceph", Size: kresource.MustParse("80Gi")}}}),
			want: []string{"team-a disks/ceph at least 10Gi 80Gi 0"},
		},
		"Warn": {
			reason: "What is declared counts in a quota that is not enforced.", tenants: limited(five), warn: true, broken: true,
			objects: []client.Object{asks("a1", 6)}, want: []string{"team-a cores 7 5 1", "team-a cores 2 Machine a/a1: 6, VM 20001: 1", "a Machine a1 - the quota"},
		},
		"BothScopes": {
			reason: "What shares the quota counts in it.", tenants: limited(five), broken: true,
			objects: []client.Object{asks("a1", 2), of("site", claimed)}, want: []string{"team-a cores 6 5 1", "Machine claimed: 3, Machine a/a1: 2, VM 20001: 1"},
		},
		"Namespace": {
			reason: "The quota of a namespace is that of its tenant.", namespace: "a", file: limited(five), broken: true,
			objects: []client.Object{asks("a1", 6)}, want: []string{"team-a cores 7 5 1", "a Machine a1 - the quota"},
		},
		"AnotherNamespace": {
			reason: "A namespace of another tenant has nothing to do with it.", namespace: "b", file: limited(five), objects: []client.Object{asks("a1", 6)},
			want: []string{"0 resources, and none breaks a rule."},
		},
	} {
		t.Run(name, func(t *testing.T) {
			kube, pve := tenantsLab(t, tc.tenants, tc.objects...)
			if tc.warn {
				pc := &namespaced.ClusterProviderConfig{}
				if err := kube.Get(t.Context(), client.ObjectKey{Name: "site"}, pc); err != nil {
					t.Fatal(err)
				}
				pc.Spec.TenantEnforcement = ptr.To(v1alpha1.TenantWarn)
				pc.Status.Tenants = []v1alpha1.TenantObservation{{Name: "team-a", Usage: []v1alpha1.TenantUsage{
					{Resource: "cores", Used: kresource.MustParse("1"), Limit: kresource.MustParse("5")},
				}}}
				if err := kube.Update(t.Context(), pc); err != nil {
					t.Fatal(err)
				}
			}
			check := tenantsCheck{Name: "site", Namespace: tc.namespace}
			if tc.file != nil {
				check.File = manifestOf(t, tc.file)
			}
			var out bytes.Buffer
			if err := check.check(t.Context(), kube, &out); errors.Is(err, errBroken) != tc.broken || err != nil && !tc.broken {
				t.Errorf("%s want that it fails: %v, got %v", tc.reason, tc.broken, err)
			}
			text := strings.Join(strings.Fields(out.String()), " ")
			for _, want := range tc.want {
				if !strings.Contains(text, want) {
					t.Errorf("%s want %q, got\n%s", tc.reason, want, out.String())
				}
			}
			if !tc.broken && (strings.Contains(text, "OVER BY") || strings.Contains(text, "WOULD WAIT")) {
				t.Errorf("%s want nothing over, got\n%s", tc.reason, out.String())
			}
			if w := written(pve); len(w) > 0 {
				t.Errorf("a check writes: %v", w)
			}
		})
	}
}

// manifestOf returns the manifest of a configuration with tenants.
func manifestOf(t *testing.T, tenants []v1alpha1.ProviderTenant) string {
	t.Helper()
	return manifest(t, v1alpha1.ProviderConfigSpec{Tenants: tenants})
}

// manifest returns the manifest of a configuration.
func manifest(t *testing.T, spec v1alpha1.ProviderConfigSpec) string {
	t.Helper()
	text, err := yaml.Marshal(&namespaced.ClusterProviderConfig{Spec: spec})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "site.yaml")
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestTenantsPoliciesCommand checks that the output of the command can be applied.
func TestTenantsPoliciesCommand(t *testing.T) {
	var out bytes.Buffer
	if err := tenants(t.Context(), []string{"policies", "site", "-f", manifestOf(t, []v1alpha1.ProviderTenant{teamA()})}, &out); err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for part := range strings.SplitSeq(strings.TrimPrefix(out.String(), "---\n"), "\n---\n") {
		o := &metav1.PartialObjectMetadata{}
		if err := yaml.Unmarshal([]byte(part), o); err != nil {
			t.Fatal(err)
		}
		if o.Name == "" || o.APIVersion != "admissionregistration.k8s.io/v1" {
			t.Errorf("cannot be applied:\n%s", part)
		}
		kinds = append(kinds, o.Kind)
	}
	const policy, binding = "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"
	if diff := cmp.Diff([]string{policy, policy, policy, policy, binding, binding, binding, binding}, kinds); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// TestTenantsPoliciesWarn checks that policies warn if the configuration does, except the one about the status.
func TestTenantsPoliciesWarn(t *testing.T) {
	for enforcement, want := range map[v1alpha1.TenantEnforcement][2]int{v1alpha1.TenantWarn: {3, 1}, v1alpha1.TenantRefuse: {0, 4}} {
		spec := v1alpha1.ProviderConfigSpec{Tenants: []v1alpha1.ProviderTenant{teamA()}, TenantEnforcement: &enforcement}
		var out bytes.Buffer
		if err := tenants(t.Context(), []string{"policies", "site", "-f", manifest(t, spec)}, &out); err != nil {
			t.Fatal(err)
		}
		if got := [2]int{strings.Count(out.String(), "- Warn\n"), strings.Count(out.String(), "- Deny\n")}; got != want {
			t.Errorf("%s: want %d policies that warn and that deny, got %d", enforcement, want, got)
		}
	}
}

// TestTenantsPoliciesClusterScoped checks that the command reads the ProviderConfig of cluster-scoped resources, with the names by which they use it.
func TestTenantsPoliciesClusterScoped(t *testing.T) {
	kube, _ := tenantsLab(t, []v1alpha1.ProviderTenant{teamA()}, &namespaced.ClusterProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: "default"}})
	o := tenantsPolicies{Name: "site", DefaultCluster: "site", ClusterScoped: true}
	var out bytes.Buffer
	if err := o.write(t.Context(), kube, &out); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(out.String()), " ") // Long lines are folded.
	for part, want := range map[string]int{
		`(has(object.spec.providerConfigRef) ? object.spec.providerConfigRef.name in ["site", "default"] : true)`: 3,
		"proxmox.vitistack.io/cluster-scoped-tenants-of: site":                                                    6,
		"name: provider-proxmox.cluster-scoped-site.no-tenant":                                                    2,
		"name: provider-proxmox.cluster-scoped-site.team-a-":                                                      4, "*/status": 0,
	} {
		if n := strings.Count(text, part); n != want {
			t.Errorf("want %q %d times, got it %d times:\n%s", part, want, n, out.String())
		}
	}
}

// TestTenantsPoliciesOfDefault checks that policies are about resources that name default if the configuration stands in for that.
func TestTenantsPoliciesOfDefault(t *testing.T) {
	const own, both = `name in ["site"] : false)`, `name in ["site", "default"] : true)`
	for name, tc := range map[string]struct {
		reason, standIn, want string
		file                  bool
		objects               []client.Object
	}{
		"None":    {reason: "Nothing stands in for a default.", want: own},
		"StandIn": {reason: "A configuration stands in for a default that is not there.", standIn: "site", want: both},
		"Another": {reason: "Another configuration stands in for the default.", standIn: "other", want: own},
		"Default": {
			reason: "A default that is there needs no stand-in.", standIn: "site", want: own,
			objects: []client.Object{&namespaced.ClusterProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: "default"}}},
		},
		"File": {reason: "A manifest does not tell of others.", standIn: "site", file: true, want: both},
	} {
		t.Run(name, func(t *testing.T) {
			kube, _ := tenantsLab(t, []v1alpha1.ProviderTenant{teamA()}, tc.objects...)
			o := tenantsPolicies{Name: "site", DefaultCluster: tc.standIn}
			if tc.file {
				o.File = manifestOf(t, []v1alpha1.ProviderTenant{teamA()})
			}
			var out bytes.Buffer
			if err := o.write(t.Context(), kube, &out); err != nil {
				t.Fatal(err)
			}
			text := strings.Join(strings.Fields(out.String()), " ") // Long lines are folded.
			if n := strings.Count(text, tc.want); n != 3 {
				t.Errorf("%s Want %q in all three policies, got it in %d:\n%s", tc.reason, tc.want, n, out.String())
			}
		})
	}
}
