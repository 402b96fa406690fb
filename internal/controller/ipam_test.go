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
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cluster-api-ipam-provider-in-cluster/api/v1alpha2"
	"sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/ipam"
)

// TestIPAMLater runs before the parallel tests, while no definition of Cluster API exists.
func TestIPAMLater(t *testing.T) {
	for name, s := range scopes() {
		w := newWorld(t, s, "ipam-later-"+strings.ToLower(name), nil, "")
		w.create(fromPools("later", ""))
		if !ipamInstalled { // With -shuffle, another test may have run first.
			w.says(conditions.TypeVMCreated, conditions.ReasonWaitingForIPAddress, "Cluster API's IPAM is not installed")
		}
		installIPAM(t)
		w.says(conditions.TypeVMCreated, conditions.ReasonWaitingForIPAddress, "has no address yet")
		w.allocate(w.claim(), "192.0.2.10", 24, "192.0.2.1")
		w.ready()
		w.finish()
		return // The definitions exist from now on.
	}
}

// TestIPAM checks Machines that take addresses from pools, with the real definitions of Cluster API and an IPAM provider that fulfils its contract.
func TestIPAM(t *testing.T) {
	installIPAM(t)
	t.Parallel()
	runVersions(t, map[string]scenario{
		"ipam":       {reason: "A VM is made with the address that its pool gives, which is released when the VM is gone.", run: takesAddress},
		"ipam-other": {reason: "Another pool is another address; until that is there, the VM keeps what it has.", run: changesPool},
		"ipam-stays": {reason: "The address of a VM that stays is kept for it.", run: leavesAddress},
		"ipam-bad":   {reason: "What is no address of the family is not used.", run: badAddress},
	})
}

var ipamInstalled bool //nolint:gochecknoglobals // All tests have one API server. What is not parallel sets it.

// installIPAM adds the IPAM kinds of Cluster API to the API server.
func installIPAM(t *testing.T) {
	t.Helper()
	if ipamInstalled {
		return
	}
	_, err := envtest.InstallCRDs(apiServer, envtest.CRDInstallOptions{MaxTime: slowest, ErrorIfPathMissing: true, Paths: []string{
		definition(t, "sigs.k8s.io/cluster-api", "ipaddressclaims"), definition(t, "sigs.k8s.io/cluster-api", "ipaddresses"),
		definition(t, "sigs.k8s.io/cluster-api-ipam-provider-in-cluster", "inclusterippools"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	ipamInstalled = true
}

// definition returns the file of a definition in a module.
func definition(t *testing.T, module, resource string) string {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		t.Fatalf("cannot find the module %s: %v", module, err)
	}
	return filepath.Join(strings.TrimSpace(string(dir)), "config", "crd", "bases", ipam.Group+"_"+resource+".yaml")
}

// pools returns the pools of the example, by their names, as the definition of the in-cluster IPAM provider accepts them.
func (w *world) pools() map[string]v1alpha2.InClusterIPPoolSpec {
	w.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "examples", "ipam", "pools.yaml"))
	if err != nil {
		w.Fatal(err)
	}
	pools := map[string]v1alpha2.InClusterIPPoolSpec{}
	for doc := range strings.SplitSeq(string(text), "\n---\n") {
		var pool v1alpha2.InClusterIPPool
		obj := &unstructured.Unstructured{}
		if err := errors.Join(yaml.UnmarshalStrict([]byte(doc), &pool), yaml.Unmarshal([]byte(doc), &obj.Object)); err != nil {
			w.Fatal(err)
		}
		if err := w.kube.Create(w.Context(), obj, client.DryRunAll, client.FieldValidation("Strict")); err != nil {
			w.Errorf("the pool %q is refused: %v", pool.Name, err)
		}
		pools[pool.Name] = pool.Spec
	}
	return pools
}

// takes allocates the first address of its pool for a claim.
func (w *world) takes(c *v1beta2.IPAddressClaim, pools map[string]v1alpha2.InClusterIPPoolSpec) {
	w.Helper()
	name := c.Spec.PoolRef.Name
	pool, ok := pools[name]
	if want := (v1beta2.IPPoolReference{APIGroup: v1alpha2.GroupVersion.Group, Kind: "InClusterIPPool", Name: name}); !ok || c.Spec.PoolRef != want {
		w.Fatalf("%+v is no pool of the example", c.Spec.PoolRef)
	}
	address, _, _ := strings.Cut(pool.Addresses[0], "-")
	w.allocate(c, address, int32(pool.Prefix), pool.Gateway)
}

// fromPools returns a VM whose network takes addresses from pools; empty for none.
func fromPools(pool, pool6 string) v1alpha1.MachineParameters {
	of := func(name string) *v1alpha1.MachineIPPoolReference {
		if name == "" {
			return nil
		}
		return &v1alpha1.MachineIPPoolReference{APIGroup: ipam.Group, Kind: "InClusterIPPool", Name: name, Namespace: new(namespace)}
	}
	spec := ubuntu()
	spec.CloudInit = &v1alpha1.MachineCloudInit{User: new("debian")}
	spec.Networks = []v1alpha1.MachineNetwork{{Name: "lan", IPConfig: &v1alpha1.MachineIPConfig{PoolRef: of(pool), PoolRef6: of(pool6)}}}
	return spec
}

// example returns the spec in a folder of examples for the scope, with a template that exists.
func (w *world) example(folder string) v1alpha1.MachineParameters {
	w.Helper()
	file := "machine-cluster.yaml"
	var m machine.Machine = &cluster.Machine{}
	if w.scope.namespaced() {
		file, m = "machine.yaml", &namespaced.Machine{}
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "examples", folder, file))
	if err == nil {
		err = yaml.UnmarshalStrict(text, m)
	}
	if err != nil {
		w.Fatal(err)
	}
	m.Parameters().Template = ubuntu().Template
	return *m.Parameters()
}

// claims returns the claims of addresses for the Machine that have none yet, or all of them.
func (w *world) claims(all bool) []v1beta2.IPAddressClaim {
	w.Helper()
	var list v1beta2.IPAddressClaimList
	if err := w.kube.List(w.Context(), &list, client.InNamespace(namespace)); err != nil {
		w.Fatal(err)
	}
	var found []v1beta2.IPAddressClaim
	for _, c := range list.Items {
		if strings.HasPrefix(c.Name, w.name+"-") && len(c.Name) == len(w.name)+len("-0123456789") && (all || c.Status.AddressRef.Name == "") {
			found = append(found, c)
		}
	}
	return found
}

// claim waits for the only claim of the Machine that has no address yet.
func (w *world) claim() *v1beta2.IPAddressClaim {
	w.Helper()
	var found []v1beta2.IPAddressClaim
	w.eventually("there is a claim", func() bool {
		found = w.claims(false)
		return len(found) == 1
	})
	return &found[0]
}

// allocate allocates an address for a claim, as an IPAM provider does.
func (w *world) allocate(c *v1beta2.IPAddressClaim, address string, prefix int32, gateway string) {
	w.Helper()
	c.Finalizers = append(c.Finalizers, "example.org/release")
	a := &v1beta2.IPAddress{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: c.Namespace, Name: c.Name, Finalizers: []string{"ipam.cluster.x-k8s.io/protect-address"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: v1beta2.GroupVersion.String(), Kind: "IPAddressClaim", Name: c.Name, UID: c.UID, Controller: new(true), BlockOwnerDeletion: new(true),
			}},
		},
		Spec: v1beta2.IPAddressSpec{
			ClaimRef: v1beta2.IPAddressClaimReference{Name: c.Name}, PoolRef: c.Spec.PoolRef, Address: address, Prefix: &prefix, Gateway: gateway,
		},
	}
	for _, err := range []error{w.kube.Update(w.Context(), c), w.kube.Create(w.Context(), a)} {
		if err != nil {
			w.Fatal(err)
		}
	}
	c.Status.AddressRef.Name = a.Name
	if err := w.kube.Status().Update(w.Context(), c); err != nil {
		w.Fatal(err)
	}
}

// released waits until a claim is being deleted, and releases its address as an IPAM provider does.
func (w *world) released(c *v1beta2.IPAddressClaim) {
	w.Helper()
	w.eventually("the claim is being deleted", func() bool {
		if err := w.kube.Get(w.Context(), client.ObjectKeyFromObject(c), c); err != nil {
			w.Fatal(err)
		}
		return c.DeletionTimestamp != nil
	})
	c.Finalizers = nil
	if err := w.kube.Update(w.Context(), c); err != nil {
		w.Error(err)
	}
}

// kept checks that a claim is not being deleted, and that Kubernetes would not delete it before the VM is deleted.
func (w *world) kept(c *v1beta2.IPAddressClaim) {
	w.Helper()
	if err := w.kube.Get(w.Context(), client.ObjectKeyFromObject(c), c); err != nil {
		w.Fatal(err)
	}
	if c.DeletionTimestamp != nil || len(c.OwnerReferences) > 0 {
		w.Errorf("the address would be released while the VM has it: %+v", c.ObjectMeta)
	}
}

func takesAddress(w *world) {
	spec := w.example("ipam")
	spec.Protection = new(true)
	w.create(spec)
	w.says(conditions.TypeVMCreated, conditions.ReasonWaitingForIPAddress, `network "lan": IPAddressClaim '`+w.name)
	w.says(kind.TypeUpToDate, xpv2.ReasonUpdateFailed, "has no address yet")
	var both []v1beta2.IPAddressClaim
	w.eventually("there are two claims", func() bool {
		both = w.claims(false)
		return len(both) == 2
	})
	first, second := &both[0], &both[1]
	if second.Spec.PoolRef.Name == "lan" {
		first, second = second, first
	}
	want := v1beta2.IPPoolReference{APIGroup: ipam.Group, Kind: "InClusterIPPool", Name: "lan"}
	if first.Spec.PoolRef != want || first.Labels[ipam.LabelNetwork] != "lan" {
		w.Errorf("want a claim of %v for network lan, got %+v", want, first)
	}
	pools := w.pools()
	w.takes(first, pools)
	w.says(conditions.TypeVMCreated, conditions.ReasonWaitingForIPAddress, second.Name)
	if ours := w.ours(); len(ours) > 0 {
		w.Errorf("no VM may be made without its addresses, got %v", ours)
	}
	w.takes(second, pools)
	w.ready()
	if got, want := w.vm().Config["ipconfig0"], "ip=192.0.2.10/24,gw=192.0.2.1,ip6=2001:db8::10/64,gw6=2001:db8::1"; got != want {
		w.Errorf("want ipconfig0 %q, got %q", want, got)
	}
	w.unchanged()
	w.delete()
	w.says(xpv2.TypeSynced, xpv2.ReasonReconcileError, "is protected")
	w.kept(first)
	w.change(func(p *v1alpha1.MachineParameters) { p.Protection = new(false) })
	w.gone()
	w.released(first)
	w.released(second)
}

func changesPool(w *world) {
	w.create(fromPools("one", ""))
	first := w.claim()
	w.allocate(first, "192.0.2.10", 24, "192.0.2.1")
	w.ready()
	w.change(func(p *v1alpha1.MachineParameters) { p.Networks[0].IPConfig.PoolRef.Name = "two" })
	w.says(kind.TypeUpToDate, conditions.ReasonWaitingForIPAddress, "has no address yet")
	second := w.claim()
	second.Status.Conditions = []metav1.Condition{{
		Type: "Ready", Status: metav1.ConditionFalse, Reason: "PoolExhausted", Message: "no free address", LastTransitionTime: metav1.Now(),
	}}
	if err := w.kube.Status().Update(w.Context(), second); err != nil {
		w.Fatal(err)
	}
	w.says(xpv2.TypeReady, conditions.ReasonWaitingForIPAddress, "(PoolExhausted: no free address)")
	if got, want := w.vm().Config["ipconfig0"], "ip=192.0.2.10/24,gw=192.0.2.1"; got != want {
		w.Errorf("want the VM as it was, ipconfig0 %q, got %q", want, got)
	}
	w.allocate(second, "198.51.100.10", 25, "")
	w.eventually("the VM has the other address", func() bool { return w.vm().Config["ipconfig0"] == "ip=198.51.100.10/25" })
	w.ready()
	w.kept(first)
	w.finish()
	w.released(first)
	w.released(second)
}

func leavesAddress(w *world) {
	w.create(fromPools("stays", ""), func(m machine.Machine) {
		m.SetManagementPolicies(xpv2.ManagementPolicies{xpv2.ManagementActionObserve, xpv2.ManagementActionCreate, xpv2.ManagementActionUpdate})
	})
	c := w.claim()
	w.allocate(c, "192.0.2.10", 24, "192.0.2.1")
	w.ready()
	w.delete()
	w.gone()
	w.kept(c)
	if len(w.ours()) != 1 {
		w.Errorf("want the VM to stay, got %v", w.ours())
	}
}

func badAddress(w *world) {
	w.create(fromPools("bad", ""))
	c := w.claim()
	w.allocate(c, "2001:db8::10", 64, "")
	w.says(conditions.TypeVMCreated, conditions.ReasonWaitingForIPAddress, `"2001:db8::10" is not an IPv4 address`)
	a := &v1beta2.IPAddress{}
	if err := w.kube.Get(w.Context(), client.ObjectKeyFromObject(c), a); err != nil {
		w.Fatal(err)
	}
	a.Spec.Address, a.Spec.Prefix = "192.0.2.10", new(int32(24))
	if err := w.kube.Update(w.Context(), a); err != nil {
		w.Fatal(err)
	}
	w.ready()
	w.finish()
	w.released(c)
}
