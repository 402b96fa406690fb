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
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine"
	"github.com/vitistack/provider-proxmox/internal/imageref"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
)

// refusedAtAdmission reports whether the API server has refused something by a policy of team-a.
func refusedAtAdmission(err error) bool {
	return err != nil && strings.Contains(err.Error(), `tenant "team-a" may not`)
}

// target returns the configuration of the world, which resources may use under the names.
func (w *tenantWorld) target(names ...string) tenancy.PolicyTarget {
	return tenancy.PolicyTarget{Config: w.config, Names: names, ClusterScoped: !w.namespaced}
}

// admit installs the policies for the tenants in the API server, and waits until they are in force. It returns a function that tries to create an
// object.
func (w *tenantWorld) admit() func(name string, o client.Object) error {
	w.Helper()
	policies, bindings := tenancy.Policies(w.target(w.config, "default"), w.rules())
	if w.namespaced {
		policies, bindings = policies[:len(policies)-1], bindings[:len(bindings)-1] // The last one is about the status, and applies to all tenants.
	}
	var all []client.Object
	for i := range policies {
		all = append(all, &policies[i])
	}
	for i := range bindings {
		if bindings[i].Spec.MatchResources == nil { // Other worlds have resources that name default too.
			bindings[i].Spec.MatchResources = &admissionv1.MatchResources{ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{label: w.name}}}
		}
		all = append(all, &bindings[i])
	}
	for _, o := range append(all, w.lastPolicy()...) {
		if err := w.kube.Create(w.Context(), o); err != nil {
			w.Fatal(err)
		}
		w.Cleanup(func() { _ = w.kube.Delete(context.WithoutCancel(w.Context()), o) })
	}
	w.eventually("the policies are in force", func() bool {
		o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: w.name + "-last"}}
		return kerrors.IsInvalid(w.kube.Create(w.Context(), o, client.DryRunAll))
	})
	return func(name string, o client.Object) error {
		o.SetName(w.name + "-" + name)
		return w.kube.Create(w.Context(), o, client.DryRunAll)
	}
}

// lastPolicy returns a policy that refuses one ConfigMap. The API server puts policies and bindings into force in the order of their creation. Once
// this one is in force, all that were created before it are too.
func (w *tenantWorld) lastPolicy() []client.Object {
	name := w.name + "-last"
	created := admissionv1.RuleWithOperations{
		Operations: []admissionv1.OperationType{admissionv1.Create},
		Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
	}
	return []client.Object{
		&admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: created}}},
			Validations:      []admissionv1.Validation{{Expression: "object.metadata.name != '" + name + "'"}},
		}},
		&admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		}},
	}
}

// TestTenantPolicies checks that the API server refuses what the specs of Machines show by themselves, and accepts the others.
func TestTenantPolicies(t *testing.T) {
	t.Parallel()
	for _, scope := range slices.Sorted(maps.Keys(scopes())) {
		t.Run(scope, func(t *testing.T) {
			t.Parallel()
			w := newPairedWorld(t, pairing{scope, versionOf(scope)}, "policies")
			try := w.admit()
			w.triesMachines(try)
			w.triesConfigurations(try)
			w.triesSnapshots(try)
			w.triesImages(try)
			if err := try("others", w.of("none", "others", v1alpha1.MachineParameters{Node: new("pve3")})); refusedAtAdmission(err) || noTenant(err) != w.namespaced {
				t.Errorf("want what belongs to no tenant refused %t, got %v", w.namespaced, err)
			}
		})
	}
}

// triesMachines checks that the API server refuses Machines that team-a may not have, except for what the spec does not show.
func (w *tenantWorld) triesMachines(try func(string, client.Object) error) {
	w.Helper()
	attempts := w.newAttempts()
	maps.Copy(attempts, w.editAttempts())
	for _, name := range slices.Sorted(maps.Keys(attempts)) {
		a := attempts[name]
		if w.namespaced && a.clusterScoped || a.edited || a.invalid {
			continue
		}
		spec := linux()
		if a.spec != nil {
			a.spec(&spec)
		}
		m := w.of("a", name, spec)
		if a.object != nil {
			a.object(m)
		}
		err := try(name, m)
		if refused := refusedAtAdmission(err); refused == a.late || err != nil && !refused {
			w.Errorf("%s: want refused %t, got %v", name, !a.late, err)
		}
		if err != nil && !kerrors.IsInvalid(err) {
			w.Errorf("%s keeps Crossplane from the other resources of a composite: %v", name, err)
		}
	}
	if err := try("fine", w.of("a", "fine", linux())); err != nil {
		w.Errorf("what a tenant may have is refused: %v", err)
	}
}

// triesConfigurations checks the decisions of the API server about resources that name the configuration of the tenants, or none.
func (w *tenantWorld) triesConfigurations(try func(string, client.Object) error) {
	w.Helper()
	for name, want := range map[string]bool{"default": true, "elsewhere": false} { // It stands in for the default.
		m := w.ofConfig(name, "a", name, v1alpha1.MachineParameters{Node: new("pve3")})
		if err := try(name, m); refusedAtAdmission(err) != want || err != nil && !want {
			w.Errorf("by the configuration %q: want refused %t, got %v", name, want, err)
		}
	}
	if err := try("unnamed", namesNone(w.of("a", "unnamed", v1alpha1.MachineParameters{Node: new("pve3")}))); !refusedAtAdmission(err) {
		w.Errorf("what names no configuration, and so the default, is not refused: %v", err)
	}
}

// triesSnapshots checks that the API server refuses the Snapshot of a VM that no Machine manages, and no other.
func (w *tenantWorld) triesSnapshots(try func(string, client.Object) error) {
	w.Helper()
	unmanaged := w.snapshotOf("a", "own")
	*unmanaged.(interface {
		Parameters() *v1alpha1.SnapshotParameters
	}).Parameters() = v1alpha1.SnapshotParameters{
		VMID: new(int32(victim)), AllowUnmanaged: new(true),
	}
	if err := try("unmanaged", unmanaged); !refusedAtAdmission(err) {
		w.Errorf("a snapshot of a VM that no Machine manages is not refused: %v", err)
	}
	if err := try("snapshot", w.snapshotOf("a", "own")); err != nil {
		w.Errorf("a Snapshot that a tenant may have is refused: %v", err)
	}
}

// namesNone returns a Machine that names no configuration.
func namesNone(m machine.Machine) machine.Machine {
	switch m := m.(type) {
	case *namespaced.Machine:
		m.SetProviderConfigReference(nil)
	case *cluster.Machine:
		m.SetProviderConfigReference(nil)
	}
	return m
}

// TestTenantStatusPolicy checks that the API server denies the status to a team that has all rights in its namespace, as with Crossplane's roles, and
// to no other user.
func TestTenantStatusPolicy(t *testing.T) {
	t.Parallel()
	w := newPairedWorld(t, pairing{"Namespaced", "9.2"}, "statuspolicy")
	m := w.of("a", "own", linux())
	w.make(m)
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: w.name}, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{"proxmox.m.vitistack.io"}, Resources: []string{"*"}, Verbs: []string{"*"},
	}}}
	bound := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.space("a"), Name: w.name}, Subjects: []rbacv1.Subject{{Kind: "User", Name: w.name}},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: w.name},
	}
	for _, o := range []client.Object{role, bound} {
		if err := w.kube.Create(w.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	as := rest.CopyConfig(apiServer)
	as.Impersonate.UserName = w.name
	team, err := client.New(as, client.Options{Scheme: w.kube.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	write := func(kube client.Client) error {
		all := &namespaced.Machine{}
		if err := kube.Get(w.Context(), client.ObjectKeyFromObject(m), all); err != nil {
			return err
		}
		return kube.Status().Patch(w.Context(), all, client.RawPatch(types.MergePatchType, []byte(`{"status":{"atProvider":{"name":"forged"}}}`)), client.DryRunAll)
	}
	w.eventually("the team has its rights", func() bool { return write(team) == nil })
	policies, bindings := tenancy.Policies(w.target(w.config), w.tenants())
	for _, o := range []client.Object{&policies[len(policies)-1], &bindings[len(bindings)-1]} {
		if err := w.kube.Create(w.Context(), o); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = w.kube.Delete(context.WithoutCancel(t.Context()), o) })
	}
	w.eventually("the policy is in force", func() bool { return kerrors.IsForbidden(write(team)) })
	if err := write(w.kube); err != nil {
		t.Errorf("who may write the status everywhere is refused: %v", err)
	}
	labelled := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"new":"one"}}}`))
	if err := team.Patch(w.Context(), m, labelled, client.DryRunAll); err != nil {
		t.Errorf("what is not the status is refused: %v", err)
	}
}

// noTenant reports whether the API server has refused something that does not belong to one tenant.
func noTenant(err error) bool {
	return kerrors.IsInvalid(err) && strings.Contains(err.Error(), "belongs to no tenant of the provider configuration")
}

// TestTenantPoliciesOfNoTenant checks that the API server refuses what belongs to no tenant, or to several, and accepts what did so before.
func TestTenantPoliciesOfNoTenant(t *testing.T) {
	t.Parallel()
	for _, scope := range slices.Sorted(maps.Keys(scopes())) {
		t.Run(scope, func(t *testing.T) {
			t.Parallel()
			w := newPairedWorld(t, pairing{scope, versionOf(scope)}, "notenant", func(w *tenantWorld) {
				w.teams, w.rules = append(w.teams, "both", "ops"), w.disputed
			})
			before := w.of("none", "before", linux())
			w.make(before)
			try := w.admit()
			w.eventually("the policy is in force", func() bool { return noTenant(try("none", w.of("none", "none", linux()))) })
			for team, want := range map[string]bool{"a": false, "b": false, "ops": false, "both": true} {
				if err := try(team, w.of(team, team, linux())); noTenant(err) != want || err != nil && !want {
					t.Errorf("%s: want refused %t, got %v", team, want, err)
				}
			}
			if err := w.patches(before, `{"metadata":{"annotations":{"example.org/any":"one"}}}`); err != nil {
				t.Errorf("an annotation of no meaning is refused: %v", err)
			}
			if err := w.patches(before, `{"spec":{"forProvider":{"description":"new"}}}`); !noTenant(err) {
				t.Errorf("a spec that has been changed is not refused: %v", err)
			}
			own := w.of("a", "leaves", linux())
			w.make(own)
			if err := w.patches(own, `{"metadata":{"labels":{"crossplane.io/claim-namespace":"elsewhere"}}}`); noTenant(err) == w.namespaced {
				t.Errorf("want a resource that leaves its tenant refused %t, got %v", !w.namespaced, err)
			}
		})
	}
}

// disputed returns tenants with operators, two of which have the same namespace. It is selected by its labels where the API server can evaluate
// these.
func (w *tenantWorld) disputed() []v1alpha1.ProviderTenant {
	all := append(w.tenants(), v1alpha1.ProviderTenant{Name: "operators", Namespaces: []string{w.space("ops")}, Unrestricted: new(true)})
	all[0].Namespaces = append(all[0].Namespaces, w.space("both"))
	if w.namespaced {
		all[1].NamespaceSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "team", Operator: metav1.LabelSelectorOpIn, Values: []string{w.space("b"), w.space("both")}},
		}}
		return all
	}
	all[1].NamespaceSelector, all[1].Namespaces = nil, []string{w.space("b"), w.space("both")}
	return all
}

// patches tries to change a Machine.
func (w *tenantWorld) patches(m machine.Machine, text string) error {
	o, is := m.DeepCopyObject().(client.Object)
	if !is {
		w.Fatalf("a %T is no object", m)
	}
	return w.kube.Patch(w.Context(), o, client.RawPatch(types.MergePatchType, []byte(text)), client.DryRunAll)
}

// refusedFor reports whether the API server has refused something by a policy of a tenant.
func refusedFor(tenant string, err error) bool {
	return err != nil && strings.Contains(err.Error(), `tenant "`+tenant+`" may not`)
}

// TestTenantPoliciesOfLabels checks that the API server determines by labels and claims which tenant cluster-scoped resources belong to, as the
// provider does.
func TestTenantPoliciesOfLabels(t *testing.T) {
	t.Parallel()
	w := newPairedWorld(t, pairing{"Cluster", versionOf("Cluster")}, "labelpolicies", func(w *tenantWorld) {
		w.rules = func() []v1alpha1.ProviderTenant {
			all := w.tenants()
			byLabels(all)
			all[0].ConnectionSecretNamespaces = []string{"kube-public"}
			return append(all, byExpressions())
		}
	})
	elsewhere := v1alpha1.MachineParameters{CloudInit: &v1alpha1.MachineCloudInit{Storage: new("local-lvm")}}
	before, free := w.of("a", "before", elsewhere), w.of("none", "free", elsewhere)
	w.make(before)
	w.make(free)
	try := w.admit()
	w.eventually("the labels of a namespace tell its tenant", func() bool { return refusedFor("team-b", try("claim", w.of("b", "claim", elsewhere))) })
	labelled := relabel(w.of("none", "labelled", elsewhere), "team-b")
	if err := try("labelled", labelled); !refusedFor("team-b", err) {
		t.Errorf("what is a tenant's by its own labels is not refused: %v", err)
	}
	for name, team := range map[string]string{"ofclaim": "b", "ofnobody": "none"} {
		if err := try(name, w.of(team, name, linux())); err != nil {
			t.Errorf("%s is refused: %v", name, err)
		}
	}
	w.triesExpressions(try)
	w.triesLabels(before, free)
	w.triesNamesOfFiles(try)
	w.triesConnectionSecrets(try)
}

// byExpressions returns a tenant of the resources that are selected by one expression of each kind.
func byExpressions() v1alpha1.ProviderTenant {
	return v1alpha1.ProviderTenant{
		Name: "team-c", VMIDRange: &v1alpha1.VMIDRange{Min: 41000, Max: 41099}, Storages: []string{"ceph"}, Bridges: []v1alpha1.TenantBridge{{Name: "vmbr1"}},
		ResourceSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: ownedBy, Operator: metav1.LabelSelectorOpIn, Values: []string{"team-c", "team-d"}},
			{Key: "example.org/tier", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"gold"}},
			{Key: "example.org/zone", Operator: metav1.LabelSelectorOpExists},
			{Key: "example.org/frozen", Operator: metav1.LabelSelectorOpDoesNotExist},
		}},
	}
}

// triesExpressions checks that the API server evaluates the expressions of selectors as the provider does.
func (w *tenantWorld) triesExpressions(try func(string, client.Object) error) {
	w.Helper()
	for name, labels := range map[string]map[string]string{
		"all":         {ownedBy: "team-d", "example.org/zone": "a"},
		"othertier":   {ownedBy: "team-c", "example.org/zone": "a", "example.org/tier": "silver"},
		"notin":       {ownedBy: "team-c", "example.org/zone": "a", "example.org/tier": "gold"},
		"notexisting": {ownedBy: "team-c"},
		"existing":    {ownedBy: "team-c", "example.org/zone": "a", "example.org/frozen": ""},
		"othervalue":  {ownedBy: "team-e", "example.org/zone": "a"},
		"novalue":     {"example.org/zone": "a"},
	} {
		m := w.of("none", name, v1alpha1.MachineParameters{CloudInit: &v1alpha1.MachineCloudInit{Storage: new("local-lvm")}})
		meta.AddLabels(m, labels)
		s := tenancy.Subject{Namespace: w.space("none"), Labels: m.GetLabels()}
		of, err := tenancy.Of([]v1alpha1.ProviderTenant{byExpressions()}, s)
		if err != nil {
			w.Fatal(err)
		}
		want := of.Name == "team-c"
		if err := try(name, m); refusedFor("team-c", err) != want || err != nil && !want {
			w.Errorf("%s: want refused %t as by the provider, got %v", name, want, err)
		}
	}
}

// triesLabels checks the decisions of the API server about a resource that becomes a tenant's, and about changes to the spec of one that was a
// tenant's before.
func (w *tenantWorld) triesLabels(before, free machine.Machine) {
	w.Helper()
	for name, text := range map[string]string{
		"the claim of another": `{"metadata":{"labels":{"crossplane.io/claim-namespace":"` + w.space("a") + `"}}}`,
		"the label of another": `{"metadata":{"labels":{"` + ownedBy + `":"team-a"}}}`,
	} {
		if err := w.patches(free, text); !refusedFor("team-a", err) {
			w.Errorf("a resource that gets %s is not refused: %v", name, err)
		}
	}
	if err := w.patches(before, `{"metadata":{"labels":{"example.org/any":"one"}}}`); err != nil {
		w.Errorf("a label of no meaning is refused: %v", err)
	}
	if err := w.patches(before, `{"spec":{"forProvider":{"description":"new"}}}`); !refusedFor("team-a", err) {
		w.Errorf("a spec that has been changed is not refused: %v", err)
	}
}

// triesNamesOfFiles checks that the API server accepts Images with file names of their tenant, and no others.
func (w *tenantWorld) triesNamesOfFiles(try func(string, client.Object) error) {
	w.Helper()
	byLabel, byClaim := func(i imageref.Image) imageref.Image { return relabel(i, "team-b") }, func(i imageref.Image) imageref.Image { return i }
	byBoth := func(i imageref.Image) imageref.Image {
		meta.AddLabels(i, map[string]string{ownedBy: "team-b"})
		return i
	}
	for _, tc := range []struct {
		name, file string
		of         func(imageref.Image) imageref.Image
		refused    bool
	}{
		{name: "label", of: byLabel, file: "team-b_" + w.config + "_.x"},
		{name: "labelasclaim", of: byLabel, file: w.space("b") + ".x", refused: true},
		{name: "labelofother", of: byLabel, file: "team-a_" + w.config + "_.x", refused: true},
		{name: "claim", of: byClaim, file: w.space("b") + ".x"},
		{name: "claimaslabel", of: byClaim, file: "team-b_" + w.config + "_.x", refused: true},
		{name: "claimofother", of: byClaim, file: w.space("a") + ".x", refused: true},
		{name: "both", of: byBoth, file: w.space("b") + ".x"},
	} {
		i := tc.of(w.imageOf("b", tc.name))
		i.Parameters().FileName = &tc.file
		if err := try("file-"+tc.name, i); refusedFor("team-b", err) != tc.refused || err != nil && !tc.refused {
			w.Errorf("%s: want refused %t, got %v", tc.name, tc.refused, err)
		}
	}
}

// triesConnectionSecrets checks that the API server accepts connection Secrets where the tenant may have them.
func (w *tenantWorld) triesConnectionSecrets(try func(string, client.Object) error) {
	w.Helper()
	for namespace, refused := range map[string]bool{w.space("a"): false, "kube-public": false, "kube-system": true} {
		p := &cluster.SnapshotPolicy{}
		w.give(p, "a", w.name+"-kept")
		p.Spec.ForProvider = *policyIn("Cluster", w.name).Parameters()
		for name, mg := range map[string]client.Object{"keptmachine": w.of("a", "kept", linux()), "keptsnapshot": w.snapshotOf("a", "own"), "keptpolicy": p} {
			mg.(secretKeeper).SetWriteConnectionSecretToReference(&xpv2.SecretReference{Namespace: namespace, Name: "kept"})
			if err := try(name, mg); refusedAtAdmission(err) != refused || err != nil && !refused {
				w.Errorf("%s in %s: want refused %t, got %v", name, namespace, refused, err)
			}
		}
	}
}
