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

package quotas

import (
	"fmt"
	"strings"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/tenancy/quota"
)

// TestAccountsChange checks that grants of Machines whose VMs do not exist yet always count while configurations begin and stop sharing a cluster.
func TestAccountsChange(t *testing.T) {
	const here, elsewhere = "https://pve1.example.com", "https://pve2.example.com"
	q := &v1alpha1.TenantQuota{Cores: new(int32(5))}
	claims := &cluster.ProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: "claims"}}
	claims.Spec = v1alpha1.ProviderConfigSpec{Endpoints: []string{elsewhere}, Tenants: ask(machine("any"), q, 1).Tenants}
	shared := &namespaced.ClusterProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: "shared"}, Spec: *claims.Spec.DeepCopy()}
	shared.Spec.Endpoints = []string{here}
	all := []client.Object{claims, shared}
	for _, name := range []string{"first", "third"} {
		all = append(all, machine(name))
	}
	for _, name := range []string{"second", "fourth", "fifth"} {
		all = append(all, clusterMachine(name))
	}
	a := newAPI(t, all...)
	k := provider(a, "system")
	k.kinds = append(k.kinds, counted{
		Identity: kind.Identity{GroupVersionKind: cluster.MachineGroupVersionKind, Object: &cluster.Machine{}, List: &cluster.MachineList{}},
		reader:   a, direct: a, there: func(resource.Managed) (quota.Amounts, int, bool) { return nil, 0, false },
	})
	leads := func(to string) {
		t.Helper()
		if err := a.Get(t.Context(), client.ObjectKeyFromObject(claims), claims); err != nil {
			t.Fatal(err)
		}
		claims.Spec.Endpoints = []string{to}
		if err := a.Update(t.Context(), claims); err != nil {
			t.Fatal(err)
		}
	}
	asks := func(name string, cores int64, want string) {
		t.Helper()
		application := ask(machine(name), q, cores)
		if name == "second" || name == "fourth" || name == "fifth" {
			application.Resource, application.Kind = clusterMachine(name), cluster.MachineGroupVersionKind.GroupKind().String()
			application.Config = "ProviderConfig/claims"
		}
		_, err := k.Admit(t.Context(), application)
		if quota.IsExceeded(err) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s asks for %d cores: want %q, got %v", name, cores, want, err)
		}
	}
	asks("first", 2, "")
	asks("second", 2, "")
	leads(here)
	asks("third", 2, "cores: 2 more, of 5 4 are used by 2 resources")
	asks("fourth", 1, "")
	leads(elsewhere)
	asks("fifth", 3, "cores: 3 more, of 5 3 are used by 2 resources")
	asks("third", 3, "")
}

// TestLeftAccount checks that a Machine that changes to another configuration leaves what its VM has in the account of the former one.
func TestLeftAccount(t *testing.T) {
	k := provider(newAPI(t), "system")
	disks := quota.Disks("ceph")
	b, _ := k.storedOf(t)
	b.others = quota.Ledger{"first": {Name: "first", Config: "ProviderConfig/former", VMID: 100, Has: quota.Amounts{quota.Cores: 2, disks: 3}}}
	if err := k.write(t.Context(), b, quota.Ledger{"first": {Name: "first", Config: config, Has: quota.Amounts{quota.Cores: 4}}}); err != nil {
		t.Fatal(err)
	}
	b, entries := k.storedOf(t)
	want := quota.Ledger{"first/100/": {Name: "first", Config: "ProviderConfig/former", VMID: 100, Left: true, Has: quota.Amounts{disks: 3}}}
	if diff := cmp.Diff(want, b.others); diff != "" || len(entries) != 1 || entries["first"].Has[quota.Cores] != 4 {
		t.Errorf("want the entry of the account, got %v; those of others, -want, +got:\n%s", entries, diff)
	}
}

// TestCreatingAccount checks that a Machine that changes to another configuration while its VM is being created leaves all that it was granted in the
// account of the former one.
func TestCreatingAccount(t *testing.T) {
	k := provider(newAPI(t), "system")
	b, _ := k.storedOf(t)
	has := quota.Amounts{quota.Cores: 2}
	b.others = quota.Ledger{"first": {Name: "first", Config: "ProviderConfig/former", VMID: 100, Has: has, Pending: has}}
	if err := k.write(t.Context(), b, quota.Ledger{"first": {Name: "first", Config: config}}); err != nil {
		t.Fatal(err)
	}
	b, _ = k.storedOf(t)
	if e := b.others["first/100/"]; e.Has[quota.Cores] != 2 || e.Creating == 0 {
		t.Errorf("want the VM counted on, got %v", b.others)
	}
}

// TestPacked checks that the entries of thousands of Machines fit into an object, and that a few entries are readable text.
func TestPacked(t *testing.T) {
	k := provider(newAPI(t), "system")
	for _, n := range []int{3, 8000, 3} {
		entries := quota.Ledger{}
		for i := range n {
			entries[uuid.NewString()] = quota.Entry{
				Kind: "Machine.proxmox.m.vitistack.io", Namespace: "team-a", Name: fmt.Sprintf("web-%d", i), Config: config, Created: 1764200000 + int64(i),
				VMID: 20000 + i,
				Has:  quota.Amounts{quota.VMs: 1, quota.Cores: 4, quota.Memory: 8 << 30, quota.Disks("ceph"): 64 << 30},
			}
		}
		b, _ := k.storedOf(t)
		if err := k.write(t.Context(), b, entries); err != nil {
			t.Fatal(err)
		}
		b, got := k.storedOf(t)
		if diff := cmp.Diff(entries, got); diff != "" {
			t.Errorf("%d entries: -want, +got:\n%s", n, diff)
		}
		plain, packed := len(b.Data[entriesDataKey]), len(b.BinaryData[packedDataKey])
		if (plain > 0) != (n == 3) || (packed > 0) != (n != 3) || plain+packed*4/3 > 900<<10 {
			t.Errorf("%d entries: got %d bytes, or %d that are packed", n, plain, packed)
		}
	}
	b, _ := k.storedOf(t)
	b.Data, b.BinaryData = nil, map[string][]byte{packedDataKey: []byte("x")}
	if err := k.kube.Update(t.Context(), b.ConfigMap); err != nil {
		t.Fatal(err)
	}
	_, err := k.Admit(t.Context(), ask(machine("first"), &v1alpha1.TenantQuota{VMs: new(int32(1))}, 1))
	if err == nil || !strings.Contains(err.Error(), "delete it, and the provider creates it again") {
		t.Errorf("want it told that nobody can read it, got %v", err)
	}
}
