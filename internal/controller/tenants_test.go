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
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	kresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
)

// What team-b has, which team-a must not reach.
const (
	victim         = 30001
	victimTemplate = 30002
	victimUUID     = "b0b0b0b0-0000-4000-8000-000000030001"

	// A VM of others within the range of team-a, on a node that does not belong to team-a.
	hidden = 20052

	// There is also a VM of no tenant.
	strayVM   = 40001
	strayUUID = "c0c0c0c0-0000-4000-8000-000000040001"
)

// tenantLab returns the quickstart cluster with VMs of team-b, and a template for all tenants.
func tenantLab(t *testing.T) *simulator.Scenario {
	t.Helper()
	s, err := simulator.Quickstart()
	if err != nil {
		t.Fatal(err)
	}
	config := func(name, net string) map[string]string {
		return map[string]string{"name": name, "ostype": "l26", "memory": "1024", "scsi0": "ceph:4", "net0": net, "scsihw": "virtio-scsi-single"}
	}
	lab := "virtio,bridge=vmbr1,tag=100"
	s.Storages = append(s.Storages, simulator.ScenarioStorage{ID: "vault", Type: "nfs", Content: []string{"backup"}, Shared: true})
	s.Pools = append(s.Pools, simulator.ScenarioPool{ID: "team-a"}, simulator.ScenarioPool{ID: "team-b"}, simulator.ScenarioPool{ID: "handover"})
	s.Guests = append(s.Guests,
		simulator.ScenarioGuest{VMID: 9002, Node: "pve1", Template: true, Config: config("base-linux", lab)},
		simulator.ScenarioGuest{VMID: 9003, Node: "pve1", Template: true, Config: config("base-office", "virtio,bridge=vmbr0")},
		simulator.ScenarioGuest{VMID: 9004, Node: "pve1", Template: true, Config: map[string]string{
			"name": "base-local", "ostype": "l26", "memory": "1024", "scsi0": "local-lvm:4", "net0": lab, "scsihw": "virtio-scsi-single",
		}},
		simulator.ScenarioGuest{VMID: victim, Node: "pve1", Pool: "team-b", Config: config("victim", lab)},
		simulator.ScenarioGuest{VMID: victimTemplate, Node: "pve1", Pool: "team-b", Template: true, Config: config("base-secret", lab)},
		simulator.ScenarioGuest{VMID: strayVM, Node: "pve1", Config: config("in-no-range", lab)},
		simulator.ScenarioGuest{VMID: 20050, Node: "pve1", Pool: "handover", Config: config("handed-over", lab)},
		simulator.ScenarioGuest{VMID: 20051, Node: "pve1", Config: config("in-no-pool", lab)},
		simulator.ScenarioGuest{VMID: hidden, Node: "pve3", Config: config("hidden", lab)},
		simulator.ScenarioGuest{VMID: 20060, Node: "pve1", Pool: "handover", Config: config("wrong-bridge", "virtio,bridge=vmbr0")},
		simulator.ScenarioGuest{VMID: 20061, Node: "pve1", Pool: "handover", Config: config("foreign-disk", lab)},
	)
	for i := range s.Guests {
		switch s.Guests[i].VMID {
		case victim:
			s.Guests[i].Config["smbios1"] = "uuid=" + victimUUID
		case 20061:
			s.Guests[i].Config["ide0"] = "nfs:iso/windows-11.iso,media=cdrom"
		case strayVM:
			s.Guests[i].Config["smbios1"] = "uuid=" + strayUUID
		}
	}
	return s
}

// tenants returns the tenants of the cluster: two teams, each with a namespace.
func (w *tenantWorld) tenants() []v1alpha1.ProviderTenant {
	return []v1alpha1.ProviderTenant{
		{
			Name: "team-a", Namespaces: []string{w.space("a")},
			VMIDRange: &v1alpha1.VMIDRange{Min: 20000, Max: 20099}, Pools: []string{"team-a"}, Tags: []string{"team-a"},
			Nodes: []string{"pve1", "pve2"}, Storages: []string{"ceph", "vault"},
			Bridges: []v1alpha1.TenantBridge{{Name: "vmbr1", VLANs: []v1alpha1.VLANRange{{Min: 100, Max: 199}}}},
			Images:  []string{"local:iso/debian-*.iso", "local:import/debian-*.qcow2"}, Templates: []string{"base-*"},
			IPPools: []string{"InClusterIPPool/*"}, ImageHosts: []string{"images.example.org", "*.mirror.example.org:8443"},
		},
		{
			Name: "team-b", NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": w.name + "-b"}},
			VMIDRange: &v1alpha1.VMIDRange{Min: 30000, Max: 30099}, Pools: []string{"team-b"}, Tags: []string{"team-b", "tenant_b"},
			Storages: []string{"ceph", "vault"}, Bridges: []v1alpha1.TenantBridge{{Name: "vmbr1"}}, Templates: []string{"base-*"},
			Allow: &v1alpha1.TenantPermissions{Adopt: []string{"handover"}, HighAvailability: new(true), DestroyDisks: new(true)},
		},
	}
}

// A tenantWorld has a cluster that teams share.
type tenantWorld struct {
	*world

	namespaced bool
	config     string

	// teams of the cluster, and their rules; by default team-a and team-b, with the rules in tenants.
	teams []string
	rules func() []v1alpha1.ProviderTenant
}

// space returns the namespace of a team.
func (w *tenantWorld) space(team string) string { return w.name + "-" + team }

// newPairedWorld returns the world of a pairing, where the rules of tenants are enforced.
func newPairedWorld(t *testing.T, p pairing, name string, changes ...func(*tenantWorld)) *tenantWorld {
	t.Helper()
	return newTenantWorldIn(t, p, name+p.version[:1], v1alpha1.TenantRefuse, nil, changes...)
}

// newTenantWorldIn returns a world with another enforcement, or a provider with other options.
func newTenantWorldIn(
	t *testing.T, p pairing, name string, enforcement v1alpha1.TenantEnforcement, options func(ctrl.Manager) kind.Options, changes ...func(*tenantWorld),
) *tenantWorld {
	t.Helper()
	w := &tenantWorld{namespaced: p.scope == "Namespaced", teams: []string{"a", "b", "none"}}
	w.rules = w.tenants
	w.world = worldOf(t, scopes()[p.scope], strings.ToLower(p.scope)+"-"+name, tenantLab(t), nil, p.version)
	w.config, w.options = w.name, options
	for _, change := range changes {
		change(w)
	}
	w.scope.config = func(o metav1.ObjectMeta, spec v1alpha1.ProviderConfigSpec) client.Object {
		spec.Tenants, spec.TenantEnforcement = w.rules(), &enforcement
		if w.namespaced {
			return &namespaced.ClusterProviderConfig{ObjectMeta: o, Spec: spec}
		}
		return &cluster.ProviderConfig{ObjectMeta: o, Spec: spec}
	}
	for _, team := range w.teams {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.space(team), Labels: map[string]string{"team": w.space(team)}}}
		if err := w.kube.Create(w.Context(), ns); err != nil {
			t.Fatal(err)
		}
	}
	w.begin()
	w.grant("/", "Administrator") // Proxmox VE itself refuses nothing.
	return w
}

func versionOf(scope string) string {
	for version, s := range versions() {
		if s == scope {
			return version
		}
	}
	return ""
}

// of returns a Machine of a team. A cluster-scoped one belongs to a claim in the team's namespace.
func (w *tenantWorld) of(team, name string, spec v1alpha1.MachineParameters) machine.Machine {
	o := w.meta()
	o.Name += "-" + name
	spec.ShutdownTimeoutSeconds = new(int32(1))
	if w.namespaced {
		o.Namespace = w.space(team)
		m := &namespaced.Machine{ObjectMeta: o, Spec: namespaced.MachineSpec{ForProvider: spec}}
		m.SetProviderConfigReference(&xpv2.ProviderConfigReference{Kind: "ClusterProviderConfig", Name: w.config})
		return m
	}
	o.Labels["crossplane.io/claim-namespace"] = w.space(team)
	m := &cluster.Machine{ObjectMeta: o, Spec: cluster.MachineSpec{ForProvider: spec}}
	m.SetProviderConfigReference(&xpv2.Reference{Name: w.config})
	return m
}

// refused waits until a resource is shown to be refused because of the rule.
func (w *tenantWorld) refused(mg resource.Managed, text string) {
	w.Helper()
	w.becomes(mg, "is refused with "+text, func() bool { return isRefused(mg, text) })
}

// allRefused waits until all attempts are shown to be refused as expected.
func (w *tenantWorld) allRefused(made map[string]machine.Machine, all map[string]attempt) {
	w.Helper()
	left := slices.Sorted(maps.Keys(made))
	for late := time.Now().Add(slowest); len(left) > 0; <-time.After(pace) {
		left = slices.DeleteFunc(left, func(name string) bool { return w.show(made[name]) && all[name].isTold(made[name]) })
		if time.Now().After(late) {
			break
		}
	}
	for _, name := range left {
		w.Errorf("%s is not refused with %q: %s", name, all[name].says, described(made[name]))
	}
}

// leftBehind waits until events report what a deleted resource has left behind, which happens with a delay, and returns their messages.
func (w *tenantWorld) leftBehind(mg resource.Managed) (told []string) {
	w.Helper()
	w.eventually("it is told what "+mg.GetName()+" has left", func() bool {
		told = w.toldOf(mg.GetName(), "LeftBehind")
		return len(told) > 0
	})
	return told
}

// wroteNothing checks that nothing was written after the first n writes.
func (w *tenantWorld) wroteNothing(n int) {
	w.Helper()
	if got := w.writes(); len(got) != n {
		w.Errorf("want no write, got %v", got[n:])
	}
}

// isRefused reports whether a resource is shown to be refused.
func isRefused(mg resource.Managed, text string) bool {
	s, u := mg.GetCondition(xpv2.TypeSynced), mg.GetCondition(kind.TypeUpToDate)
	refused := s.Status == corev1.ConditionFalse && u.Status == corev1.ConditionFalse
	return refused && strings.Contains(s.Message, text) && s.ObservedGeneration == mg.GetGeneration()
}

// linux is a Machine that team-a may have.
func linux() v1alpha1.MachineParameters {
	return v1alpha1.MachineParameters{Template: new(intstr.FromString("base-linux"))}
}

func TestTenantsAttempts(t *testing.T) {
	t.Parallel()
	eachPairing(t, func(t *testing.T, p pairing) {
		t.Helper()
		w := newPairedWorld(t, p, "redteam")
		w.forge()
		w.haveTheirs()
		all, n := w.newAttempts(), len(w.writes())
		maps.Copy(all, w.editAttempts())
		made := map[string]machine.Machine{}
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if w.namespaced && all[name].clusterScoped || all[name].edited {
				continue
			}
			spec := linux()
			if all[name].spec != nil {
				all[name].spec(&spec)
			}
			m := w.of("a", name, spec)
			if all[name].object != nil {
				all[name].object(m)
			}
			switch err := w.kube.Create(w.Context(), m); {
			case all[name].invalid:
				w.isInvalid(name, err, all[name].says)
			case err != nil:
				t.Errorf("%s: %v", name, err)
			default:
				made[name] = m
			}
		}
		w.allRefused(made, all)
		w.wroteNothing(n)
		w.keptNothing()
		for name, m := range made {
			text := m.GetCondition(xpv2.TypeSynced).Message
			if names := name == "node" || name == "placement"; strings.Contains(text, "pve3") && !names {
				t.Errorf("%s tells of a node that is not the team's: %s", m.GetName(), text)
			}
			if strings.Contains(text, "base-secret") && !strings.Contains(text, "'base-secret'") {
				t.Errorf("%s tells of another tenant's: %s", m.GetName(), text)
			}
		}
		for _, m := range made {
			w.remove(m)
		}
		w.wroteNothing(n)
	})
}

// isInvalid checks that the API server has rejected what the schema forbids everyone.
func (w *tenantWorld) isInvalid(name string, err error, says string) {
	w.Helper()
	if !kerrors.IsInvalid(err) || !strings.Contains(err.Error(), says) {
		w.Errorf("%s: want it refused by the API server with %q, got %v", name, says, err)
	}
}

// keptNothing checks that there is no connection Secret of the world where team-a may have none.
func (w *tenantWorld) keptNothing() {
	w.Helper()
	for _, namespace := range []string{"kube-system", w.space("b")} {
		all := &corev1.SecretList{}
		if err := w.kube.List(w.Context(), all, client.InNamespace(namespace)); err != nil {
			w.Fatal(err)
		}
		for _, s := range all.Items {
			if strings.HasPrefix(s.Name, w.name) {
				w.Errorf("Secret %s/%s was made", namespace, s.Name)
			}
		}
	}
}

func TestTenantsEdits(t *testing.T) {
	t.Parallel()
	eachPairing(t, func(t *testing.T, p pairing) {
		t.Helper()
		w := newPairedWorld(t, p, "redits")
		w.m = w.of("a", "own", linux())
		keptIn(w.m, w.space("a"))
		w.make(w.m)
		w.ready()
		own := w.vm()
		if tags := own.Config["tags"]; w.vmid() != 20000 || own.Node == "pve3" || tags != "team-a" {
			t.Fatalf("want VM 20000 with the tenant's tag, got %d on %s with %s", w.vmid(), own.Node, tags)
		}
		if text, err := yaml.Marshal(w.m); err != nil || strings.Contains(string(text), "pve3") {
			t.Errorf("the Machine tells of a node that is not its tenant's: %v\n%s", err, text)
		}
		w.pve.Edit(func(s *simulator.State) {
			if !s.Pools["team-a"].VMs[20000] {
				t.Errorf("want the VM in pool team-a: %+v", s.Pools["team-a"])
			}
		})
		w.forge()
		w.haveTheirs()
		before := w.m.DeepCopyObject().(machine.Machine)
		n, all := len(w.writes()), w.editAttempts()
		for _, name := range slices.Sorted(maps.Keys(all)) {
			a := all[name]
			if w.namespaced && a.clusterScoped || a.fresh {
				continue
			}
			w.tries(a)
			if got := w.writes(); len(got) != n {
				t.Fatalf("%s: want no write, got %v", name, got[n:])
			}
			w.isAgain(before)
		}
		w.ready()
		w.keptNothing()
		w.keptOwn()
		w.delete()
		w.gone()
		if _, there := w.pve.Guest(20000); there {
			t.Error("the tenant's own VM is left")
		}
	})
}

// keptOwn checks that a cluster-scoped Machine has its connection Secret in the namespace of its team.
func (w *tenantWorld) keptOwn() {
	w.Helper()
	if w.namespaced {
		return
	}
	s := &corev1.Secret{}
	key := client.ObjectKey{Namespace: w.space("a"), Name: w.m.GetName() + "-kept"}
	if err := w.kube.Get(w.Context(), key, s); err != nil || string(s.Data["vmid"]) != "20000" {
		w.Errorf("want the connection Secret of VM 20000, got %q, %v", s.Data["vmid"], err)
	}
}

// tries makes an attempt with a Machine that has a VM, until it is refused.
func (w *tenantWorld) tries(a attempt) {
	w.Helper()
	change := func() {
		if a.spec != nil {
			a.spec(w.m.Parameters())
		}
		if a.object != nil {
			a.object(w.m)
		}
	}
	if a.invalid {
		var err error
		w.eventually("the change is judged", func() bool {
			w.exists()
			change()
			err = w.kube.Update(w.Context(), w.m)
			return !kerrors.IsConflict(err)
		})
		w.isInvalid("edited", err, a.says)
		return
	}
	w.rewrite(change)
	if a.act {
		w.becomes(w.m, "has an act refused with "+a.says, func() bool { return w.refusedAct(a.says) })
		return
	}
	if a.waits {
		w.waitNotReady(w.m, conditions.ReasonWaitingForVolume, a.says)
		return
	}
	w.becomes(w.m, "is refused with "+a.says, func() bool { return a.isTold(w.m) })
}

// isTold reports whether a Machine is shown to be refused as the attempt expects.
func (a attempt) isTold(m machine.Machine) bool {
	if !a.unresolved {
		return isRefused(m, a.says)
	}
	s := m.GetCondition(xpv2.TypeSynced)
	return s.Status == corev1.ConditionFalse && strings.Contains(s.Message, "cannot resolve references") && strings.Contains(s.Message, a.says)
}

// isAgain restores the Machine to its state before an attempt.
func (w *tenantWorld) isAgain(before machine.Machine) {
	w.Helper()
	w.rewrite(func() {
		w.m.SetLabels(before.GetLabels())
		a := w.m.GetAnnotations()
		a[meta.AnnotationKeyExternalName], a[object.AnnotationUUID] = meta.GetExternalName(before), before.GetAnnotations()[object.AnnotationUUID]
		w.m.SetAnnotations(a)
		if o, anywhere := w.m.(secretKeeper); anywhere {
			o.SetWriteConnectionSecretToReference(before.(secretKeeper).GetWriteConnectionSecretToReference())
		}
		*w.m.Parameters() = *before.Parameters().DeepCopy()
	})
}

// TestTenantsBudgets checks that a Machine of a tenant with a quota costs the same calls as one without tenants. The lists that are read for all
// Machines together show who owns a VM. A refusal costs nothing.
func TestTenantsBudgets(t *testing.T) {
	t.Parallel()
	rarePairings(t, func(t *testing.T, p pairing) {
		t.Helper()
		w := newTenantWorldIn(t, p, "budget"+p.version[:1], v1alpha1.TenantRefuse, leisurely, withBudget)
		w.scope.machine = func(_ metav1.ObjectMeta, spec v1alpha1.MachineParameters) machine.Machine {
			return w.of("a", "own", spec)
		}
		for _, name := range slices.Sorted(maps.Keys(budgets())) {
			if budgets()[name].run(w.world); w.exists() {
				w.delete()
				w.gone()
			}
		}
		w.create(calm())
		w.ready()
		w.costs(0, "a refusal", func() {
			w.change(func(p *v1alpha1.MachineParameters) { p.Pool = new("team-b") })
			w.refused(w.m, "(pools)")
			w.change(func(p *v1alpha1.MachineParameters) { p.Pool = nil })
			w.ready()
		})
	})
}

// withBudget gives the first tenant all that the lives of Machines in budgets need, within a quota, and removes the VMs of others that are in their
// way.
func withBudget(w *tenantWorld) {
	w.rules = func() []v1alpha1.ProviderTenant {
		all := w.tenants()
		all[0].Nodes, all[0].Tags, all[0].Storages = nil, nil, []string{"local-lvm", "ceph"}
		all[0].Bridges, all[0].Images, all[0].Templates = []v1alpha1.TenantBridge{{Name: "vmbr0"}, {Name: "vmbr1"}}, []string{cloudImage}, []string{"ubuntu-*"}
		all[0].Allow = &v1alpha1.TenantPermissions{Adopt: []string{"handover"}, HighAvailability: new(true), ExtraConfig: []string{"startup"}}
		all[0].Quota = &v1alpha1.TenantQuota{VMs: new(int32(9)), Cores: new(int32(99)), Memory: new(kresource.MustParse("99Gi"))}
		return all
	}
	w.pve.Edit(func(s *simulator.State) {
		for _, id := range slices.Collect(maps.Keys(s.Guests)) {
			if id < 10000 {
				continue
			}
			delete(s.Guests, id)
			for _, p := range s.Pools {
				delete(p.VMs, id)
			}
		}
		s.Pools["handover"].VMs[router] = true
	})
}

// rewrite rewrites the Machine.
func (w *tenantWorld) rewrite(change func()) {
	w.Helper()
	w.eventually("the change is taken", func() bool {
		w.exists()
		change()
		err := w.kube.Update(w.Context(), w.m)
		if err != nil && !kerrors.IsConflict(err) {
			w.Fatal(err)
		}
		return err == nil
	})
}

// administrators returns examples of the kinds that tenants may not have, by their files.
func administrators() map[string]string {
	return map[string]string{
		"BackupJob": "backupjob", "Pool": "pool", "Storage": "storage",
		"NodeNetwork": "node-network", "ProxmoxNode": "node", "ProxmoxCluster": "cluster",
	}
}

// example returns an example of a kind, as a resource of a team.
func (w *tenantWorld) example(kind, file string) *unstructured.Unstructured {
	w.Helper()
	dir := "cluster"
	if w.namespaced {
		dir = "namespaced"
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "examples", dir, file+".yaml"))
	if err != nil {
		w.Fatal(err)
	}
	for part := range strings.SplitSeq(string(text), "\n---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(part), &o.Object); err != nil {
			w.Fatal(err)
		}
		if o.GetKind() != kind {
			continue
		}
		o.SetName(w.name + "-" + strings.ToLower(kind))
		labels := map[string]string{label: w.name}
		ref := map[string]any{"name": w.config}
		if w.namespaced {
			o.SetNamespace(w.space("a"))
			ref["kind"] = "ClusterProviderConfig"
		} else {
			labels["crossplane.io/claim-namespace"] = w.space("a")
		}
		o.SetLabels(labels)
		if err := unstructured.SetNestedField(o.Object, ref, "spec", "providerConfigRef"); err != nil {
			w.Fatal(err)
		}
		return o
	}
	w.Fatalf("no %s in %s", kind, file)
	return nil
}

func TestTenantsKinds(t *testing.T) {
	t.Parallel()
	eachPairing(t, func(t *testing.T, p pairing) {
		t.Helper()
		w := newPairedWorld(t, p, "kinds")
		w.m = w.of("a", "own", linux())
		w.make(w.m)
		w.ready()
		w.forge()
		w.haveTheirs()
		w.trySnapshots()
		w.tryBackups()
		w.ownBackup()
		w.tryVolumes()
		w.ownVolume()
		w.tryImages()
		n := len(w.writes())
		for _, kind := range slices.Sorted(maps.Keys(administrators())) {
			o := w.example(kind, administrators()[kind])
			o.SetName(o.GetName() + "-own")
			if _, there, _ := unstructured.NestedString(o.Object, "spec", "forProvider", "clusterRef", "name"); there {
				if err := unstructured.SetNestedField(o.Object, w.name+"-proxmoxcluster-own", "spec", "forProvider", "clusterRef", "name"); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.kube.Create(w.Context(), o); err != nil {
				t.Errorf("%s: %v", kind, err)
				continue
			}
			w.eventually(kind+" is refused", func() bool {
				if err := w.kube.Get(w.Context(), client.ObjectKeyFromObject(o), o); err != nil {
					t.Fatal(err)
				}
				all, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
				return strings.Contains(fmt.Sprint(all), "(kinds): to have a resource of kind "+kind)
			})
		}
		w.wroteNothing(n)
	})
}

func TestTenantsOwnVMs(t *testing.T) {
	t.Parallel()
	eachPairing(t, func(t *testing.T, p pairing) {
		t.Helper()
		w := newPairedWorld(t, p, "own")
		nobody := w.of("none", "nobody", linux())
		w.make(nobody)
		w.refused(nobody, "belongs to no tenant")

		adopted := w.of("b", "adopted", v1alpha1.MachineParameters{Description: new("team-b has it now")})
		meta.SetExternalName(adopted, "20050")
		w.make(adopted)
		w.m = adopted
		w.ready()
		if text := strings.TrimSpace(w.vm().Config["description"]); text != "team-b has it now" {
			t.Errorf("want the adopted VM managed, got %q", text)
		}

		w.refusedAdoptions()

		spec := linux()
		spec.HighAvailability = &v1alpha1.MachineHighAvailability{MaxRestart: new(int32(2))}
		w.m = w.of("b", "own", spec)
		w.make(w.m)
		w.ready()
		if w.vmid() != 30000 {
			t.Errorf("want the lowest VMID of the tenant, got %d", w.vmid())
		}
		w.stolenClone()
		w.swapped()
		w.clonesOfOthers()
		w.forgedSnapshot()
		taken := w.snapshotOf("b", w.m.GetName())
		w.make(taken)
		w.becomes(taken, "is taken", func() bool { return taken.GetCondition(xpv2.TypeReady).Status == corev1.ConditionTrue })
		stored, kept := w.ownBackupOf(), w.ownVolumeOf("b")
		late := w.of("b", "late", linux())
		w.make(late)
		w.loseTenant()
		w.leaves(late)
		w.remove(taken)
		w.remove(stored)
		stub := *kept.Observation().StubVMID
		w.remove(kept)
		if _, there := w.pve.Guest(int(stub)); there {
			t.Error("the disk of the namespace is left")
		}
		w.eventually("the backup is removed", func() bool { return len(w.backedUp()) == 0 })
		id := w.vmid()
		w.delete()
		w.gone()
		if _, there := w.pve.Guest(id); there {
			t.Error("what the namespace had is left")
		}
	})
}

// refusedAdoptions checks VMs that team-b may adopt by their pool, and may not have in their present state.
func (w *tenantWorld) refusedAdoptions() {
	w.Helper()
	n := len(w.writes())
	for id, says := range map[string]string{"20060": "(bridges): net0 on bridge vmbr0", "20061": "(images): ide0 is nfs:iso/windows-11.iso"} {
		m := w.of("b", "adopts"+id, v1alpha1.MachineParameters{})
		meta.SetExternalName(m, id)
		w.make(m)
		w.refused(m, says)
		w.remove(m)
	}
	w.wroteNothing(n)
}

// clonesOfOthers makes team-a clone the Machine of team-b by its name, which namespaced resources cannot do.
func (w *tenantWorld) clonesOfOthers() {
	w.Helper()
	if w.namespaced {
		return
	}
	n := len(w.writes())
	name := w.m.GetName()
	for kind, a := range map[string]struct {
		clone v1alpha1.MachineClone
		attempt
	}{
		"named": {clone: v1alpha1.MachineClone{Machine: &name}, attempt: attempt{says: "'" + name + "' to clone not found"}},
		"referenced": {
			clone:   v1alpha1.MachineClone{MachineRef: &v1alpha1.Reference{Name: name}},
			attempt: attempt{says: `"` + name + `" not found`, unresolved: true},
		},
		"selected": {
			clone:   v1alpha1.MachineClone{MachineSelector: &v1alpha1.Selector{MatchLabels: w.m.GetLabels()}},
			attempt: attempt{says: "no resources matched selector", unresolved: true},
		},
	} {
		m := w.of("a", "clone"+kind, v1alpha1.MachineParameters{Clone: &a.clone})
		w.make(m)
		w.becomes(m, "is refused with "+a.says, func() bool { return a.isTold(m) })
		w.remove(m)
	}
	w.wroteNothing(n)
}

// stolenClone makes team-a clone one of its Machines that is changed to name a VM of team-b.
func (w *tenantWorld) stolenClone() {
	w.Helper()
	thief := w.of("a", "thief", linux())
	meta.AddAnnotations(thief, map[string]string{meta.AnnotationKeyExternalName: "30001", object.AnnotationUUID: victimUUID})
	copied := w.of("a", "copied", v1alpha1.MachineParameters{Clone: &v1alpha1.MachineClone{Machine: new(thief.GetName())}})
	n := len(w.writes())
	w.make(thief)
	w.make(copied)
	w.refused(thief, "VMID 30001")
	w.refused(copied, "")
	w.remove(copied)
	w.remove(thief)
	w.wroteNothing(n)
	if _, there := w.pve.Guest(victim); !there {
		w.Error("the VM of team-b is gone")
	}
}

// forgedSnapshot makes team-a forge the record of a Snapshot, so that it belongs to a VM of team-b, and delete it.
func (w *tenantWorld) forgedSnapshot() {
	w.Helper()
	w.pve.Edit(func(s *simulator.State) {
		s.Guests[victim].Snapshots["before"] = &simulator.Snapshot{Config: maps.Clone(s.Guests[victim].Config), Time: time.Unix(1_700_000_000, 0)}
	})
	forged := w.snapshotOf("a", "any")
	forged.SetName(w.name + "-forged")
	meta.AddAnnotations(forged, map[string]string{kind.AnnotationSnapshot: fmt.Sprintf(
		`{"uuid":%q,"begun":1700000000,"done":true,"vmid":%d,"node":"pve1","name":"before","time":1700000000}`, victimUUID, victim,
	)})
	n := len(w.writes())
	w.make(forged)
	w.refused(forged, "VM 30001, which is not the tenant's")
	if vmid, uuid := tenancy.RecordedVM(forged); vmid != 0 || uuid != "" {
		w.Errorf("want nothing recorded of the VM of team-b, got %d, %q", vmid, uuid)
	}
	w.remove(forged)
	w.wroteNothing(n)
	w.pve.Edit(func(s *simulator.State) {
		if s.Guests[victim].Snapshots["before"] == nil {
			w.Error("the snapshot of team-b is gone")
		}
	})
}

// loseTenant removes the tenant of a namespace, and then changes its Machine.
func (w *tenantWorld) loseTenant() {
	w.Helper()
	w.relabel("b", "dissolved")
	w.refused(w.m, "belongs to no tenant")
	n := len(w.writes())
	w.change(func(p *v1alpha1.MachineParameters) { p.Description = new("changed") })
	w.refused(w.m, "belongs to no tenant")
	for _, r := range w.writes()[n:] { // Another creation may have been decided before.
		if strings.Contains(r.Path+"/", fmt.Sprintf("/qemu/%d/", w.vmid())) {
			w.Errorf("want no write to the VM, got %v", r)
		}
	}
}

// snapshotOf returns a Snapshot of a Machine of a team.
func (w *tenantWorld) snapshotOf(team, name string) resource.Managed {
	o := w.meta()
	o.Name += "-snapshot"
	spec := v1alpha1.SnapshotParameters{MachineRef: &v1alpha1.Reference{Name: name}}
	if w.namespaced {
		o.Namespace = w.space(team)
		s := &namespaced.Snapshot{ObjectMeta: o, Spec: namespaced.SnapshotSpec{ForProvider: spec}}
		s.SetProviderConfigReference(&xpv2.ProviderConfigReference{Kind: "ClusterProviderConfig", Name: w.config})
		return s
	}
	o.Labels["crossplane.io/claim-namespace"] = w.space(team)
	s := &cluster.Snapshot{ObjectMeta: o, Spec: cluster.SnapshotSpec{ForProvider: spec}}
	s.SetProviderConfigReference(&xpv2.Reference{Name: w.config})
	return s
}

// forgeStatus forges the status of a resource. The provider does not overwrite it while the resource is refused.
func (w *tenantWorld) forgeStatus(mg resource.Managed, status func()) {
	w.Helper()
	w.eventually("the status is forged", func() bool {
		if !w.show(mg) {
			w.Fatal("it is gone")
		}
		status()
		err := w.kube.Status().Update(w.Context(), mg)
		if err != nil && !kerrors.IsConflict(err) {
			w.Fatal(err)
		}
		return err == nil
	})
}

// A setting is a provider configuration.
type setting interface {
	client.Object

	Settings() *v1alpha1.ProviderConfigSpec
}

// beside creates another configuration for the cluster, with other tenants.
func (w *tenantWorld) beside(tenants []v1alpha1.ProviderTenant) setting {
	w.Helper()
	return w.besideAs("beside", func(s *v1alpha1.ProviderConfigSpec) { s.Tenants = tenants })
}

// besideAs creates another configuration for the cluster.
func (w *tenantWorld) besideAs(name string, change func(*v1alpha1.ProviderConfigSpec)) setting {
	w.Helper()
	site, is := w.scope.config(w.meta(), v1alpha1.ProviderConfigSpec{}).(setting)
	if !is {
		w.Fatal("it is no configuration")
	}
	if err := w.kube.Get(w.Context(), client.ObjectKey{Name: w.config}, site); err != nil {
		w.Fatal(err)
	}
	site.SetName(w.name + "-" + name)
	site.SetResourceVersion("")
	site.SetUID("")
	change(site.Settings())
	if err := w.kube.Create(w.Context(), site); err != nil {
		w.Fatal(err)
	}
	return site
}

// ofConfig returns a Machine of a team that names another configuration.
func (w *tenantWorld) ofConfig(config, team, name string, spec v1alpha1.MachineParameters) machine.Machine {
	own := w.config
	defer func() { w.config = own }()
	w.config = config
	return w.of(team, name, spec)
}

func TestTenantsOtherConfigurations(t *testing.T) {
	t.Parallel()
	eachPairing(t, func(t *testing.T, p pairing) {
		t.Helper()
		w := newPairedWorld(t, p, "otherconfig")
		site := w.beside(nil)
		m := w.ofConfig(site.GetName(), "a", "beside", linux())
		w.make(m)
		w.refused(m, "has no tenants, while another of the same cluster has")
		if w.namespaced {
			s := w.snapshotOf("a", "any")
			if n, is := s.(*namespaced.Snapshot); is {
				n.Spec.ForProvider = v1alpha1.SnapshotParameters{VMID: new(int32(victim)), AllowUnmanaged: new(true)}
			}
			w.make(s)
			w.refused(s, "(allow.adopt): a snapshot of VM 30001")
			w.namesTheirSecrets(*site.Settings())
		}
		if got := w.writes(); len(got) > 0 {
			t.Errorf("want no write, got %v", got)
		}
	})
}

// TestTenantsMovedVM moves a VM out of the pool of its tenant, and changes it, and checks that a warning reports both, and nothing is written to a VM
// that no longer belongs to the tenant.
func TestTenantsMovedVM(t *testing.T) {
	t.Parallel()
	rarePairings(t, func(t *testing.T, p pairing) {
		t.Helper()
		w := newPairedWorld(t, p, "moved")
		w.m = w.of("a", "own", linux())
		w.make(w.m)
		w.ready()
		w.pve.Edit(func(s *simulator.State) { s.Guests[20000].Config["net1"] = "virtio=BC:24:11:00:00:99,bridge=vmbr0" })
		w.rewrite(func() { meta.AddAnnotations(w.m, map[string]string{meta.AnnotationKeyReconcileRequestedAt: "1"}) })
		w.becomes(w.m, "tells what its VM has", func() bool {
			c := w.m.GetCondition(v1alpha1.TypeTenantAllowed)
			return c.Status == corev1.ConditionFalse && strings.Contains(c.Message, "(bridges): net1 on bridge vmbr0")
		})
		w.losesVM(w.m, func(vmid int) {
			w.pve.Edit(func(s *simulator.State) {
				delete(s.Guests[vmid].Config, "net1")
				delete(s.Pools["team-a"].VMs, vmid)
			})
		}, "VM 20000, which is not the tenant's")
	})
}

// TestTenantsWarned checks that a warning reports all that would be refused: the requests of a spec, and the state and place of VMs.
func TestTenantsWarned(t *testing.T) {
	t.Parallel()
	rarePairings(t, func(t *testing.T, p pairing) {
		t.Helper()
		w := newTenantWorldIn(t, p, "warned"+p.version[:1], v1alpha1.TenantWarn, nil)
		cases := map[string]struct {
			spec v1alpha1.MachineParameters
			says string
		}{
			"spec": {spec: v1alpha1.MachineParameters{Template: new(intstr.FromString("base-linux")), Tags: []string{"team-b"}}, says: "(tags): tag team-b"},
			"pool": {spec: linux(), says: "which is not the tenant's"},
			"bridge": {
				spec: v1alpha1.MachineParameters{Template: new(intstr.FromString("base-office")), Pool: new("team-a"), VMID: new(int32(20007))},
				says: "net0 on bridge vmbr0",
			},
			"fine": {spec: v1alpha1.MachineParameters{Template: new(intstr.FromString("base-linux")), Pool: new("team-a"), VMID: new(int32(20008))}},
		}
		for name, tc := range cases {
			m := w.of("a", name, tc.spec)
			w.make(m)
			w.becomes(m, "is made, and told of", func() bool {
				c := m.GetCondition(v1alpha1.TypeTenantAllowed)
				return m.GetCondition(xpv2.TypeReady).Status == corev1.ConditionTrue && strings.Contains(c.Message, tc.says) &&
					(c.Status == corev1.ConditionTrue) == (tc.says == "")
			})
		}
	})
}
