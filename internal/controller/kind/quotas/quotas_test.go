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
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/vitistack/provider-proxmox/apis"
	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/connect"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
	"github.com/vitistack/provider-proxmox/internal/tenancy/quota"
)

// config of all Machines of these tests.
const config = "ClusterProviderConfig/shared"

// guests of the cluster.
type guests []proxmox.Guest

func (g guests) Guests(context.Context, time.Duration) ([]proxmox.Guest, error) { return g, nil }

func (g guests) Volumes(context.Context, string, string, string, time.Duration) ([]proxmox.Volume, error) {
	return nil, nil
}

// An api is shared by several providers, and counts their calls about ConfigMaps.
type api struct {
	client.WithWatch

	calls atomic.Int64

	// fails is the error of every write of a ConfigMap, if it is to fail.
	fails error
}

func newAPI(t *testing.T, objects ...client.Object) *api {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, apis.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	a := &api{}
	count := func(o client.Object) {
		if _, ok := o.(*corev1.ConfigMap); ok {
			a.calls.Add(1)
		}
	}
	a.WithWatch = interceptor.NewClient(fake.NewClientBuilder().WithScheme(s).WithObjects(objects...).Build(), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			count(o)
			return c.Get(ctx, key, o, opts...)
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			count(o)
			if a.fails != nil {
				return a.fails
			}
			return c.Create(ctx, o, opts...)
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			count(o)
			if a.fails != nil {
				return a.fails
			}
			return c.Update(ctx, o, opts...)
		},
	})
	return a
}

// provider returns a replica or shard of the provider.
func provider(a *api, namespace string) *Keeper {
	k := New()
	k.Use(a, connect.New(a, connect.WithRecordsIn(namespace)))
	k.kinds = append(k.kinds, counted{
		Identity: kind.Identity{
			GroupVersionKind: namespaced.MachineGroupVersionKind, Object: &namespaced.Machine{}, List: &namespaced.MachineList{},
		},
		reader: a, direct: a, there: func(resource.Managed) (quota.Amounts, int, bool) { return nil, 0, false },
	})
	return k
}

func machine(name string) *namespaced.Machine {
	m := &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: name, UID: types.UID(name), CreationTimestamp: metav1.Unix(1000, 0)}}
	m.SetProviderConfigReference(&xpv2.ProviderConfigReference{Kind: "ClusterProviderConfig", Name: "shared"})
	return m
}

// ask returns an application for a VM with a number of cores.
func ask(m *namespaced.Machine, q *v1alpha1.TenantQuota, cores int64) Application {
	tenants := []v1alpha1.ProviderTenant{{Name: "team-a", Namespaces: []string{"team-a"}, Pools: []string{"team-a"}, Quota: q}}
	return Application{
		Resource: m, Kind: namespaced.MachineGroupVersionKind.GroupKind().String(), Config: config, Tenants: tenants,
		Tenant: tenancy.TenantNamed(tenants, "team-a"), Inventory: guests{}, Wants: quota.Amounts{quota.VMs: 1, quota.Cores: cores}, Whole: true,
	}
}

// TestAtOnce checks that two providers that admit Machines at the same time admit exactly as many as there is room for.
func TestAtOnce(t *testing.T) {
	const n = 24
	var all []client.Object
	for i := range n {
		all = append(all, machine(fmt.Sprintf("m%02d", i)))
	}
	a := newAPI(t, all...)
	providers := []*Keeper{provider(a, "system"), provider(a, "system")}
	var admitted, waits atomic.Int64
	var done sync.WaitGroup
	for i := range n {
		done.Go(func() {
			_, err := providers[i%2].Admit(t.Context(), ask(machine(fmt.Sprintf("m%02d", i)), &v1alpha1.TenantQuota{Cores: new(int32(16))}, 2))
			switch {
			case err == nil:
				admitted.Add(1)
			case quota.IsExceeded(err):
				waits.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	done.Wait()
	if admitted.Load() != 8 || waits.Load() != n-8 {
		t.Errorf("want 8 of %d admitted and the others waiting, got %d and %d", n, admitted.Load(), waits.Load())
	}
}

// TestScopes checks Machines of both scopes. If their configurations lead to one cluster, they share one quota in one account, each with its own
// limit. With configurations of two clusters, each scope has a separate one.
func TestScopes(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, endpoint, want string
		used                   int64
	}{
		"OneCluster": {
			reason: "Machines of both scopes have the quota of one cluster together.", endpoint: "https://pve1.example.com:8006",
			want: "cores: 4 more, of 5 2 are used by 1 resource", used: 2,
		},
		"Two": {reason: "Each scope has the quota of its own cluster.", endpoint: "https://other.example.com:8006", used: 4},
	} {
		t.Run(name, func(t *testing.T) {
			q := &v1alpha1.TenantQuota{VMs: new(int32(3)), Cores: new(int32(5))}
			first, second := machine("first"), clusterMachine("second")
			spec := v1alpha1.ProviderConfigSpec{Endpoints: []string{"https://pve1.example.com"}, Tenants: ask(first, q, 2).Tenants}
			other := v1alpha1.ProviderConfigSpec{Endpoints: []string{tc.endpoint}, Tenants: spec.Tenants}
			a := newAPI(t, first, second,
				&namespaced.ClusterProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: "shared"}, Spec: spec},
				&cluster.ProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: "claims"}, Spec: other})
			k := provider(a, "system")
			k.kinds = append(k.kinds, counted{
				Identity: kind.Identity{GroupVersionKind: cluster.MachineGroupVersionKind, Object: &cluster.Machine{}, List: &cluster.MachineList{}},
				reader:   a, direct: a, there: func(resource.Managed) (quota.Amounts, int, bool) { return nil, 0, false },
			})
			if _, err := k.Admit(t.Context(), ask(first, q, 2)); err != nil {
				t.Fatal(err)
			}
			application := ask(first, q, 4)
			application.Resource, application.Kind, application.Config = second, cluster.MachineGroupVersionKind.GroupKind().String(), "ProviderConfig/claims"
			_, err := k.Admit(t.Context(), application)
			if quota.IsExceeded(err) != (tc.want != "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s Want %q, got %v", tc.reason, tc.want, err)
			}
			shown, err := k.Usage(t.Context(), "ProviderConfig/claims", spec.Tenants, guests{})
			if err != nil {
				t.Fatal(err)
			}
			if got := shown[0].Usage[0]; got.Used.Value() != tc.used {
				t.Errorf("%s Want %d cores shown in the other scope, got %v", tc.reason, tc.used, got)
			}
		})
	}
}

// clusterMachine returns the Machine of a claim of the team.
func clusterMachine(name string) *cluster.Machine {
	m := &cluster.Machine{ObjectMeta: metav1.ObjectMeta{
		Name: name, UID: types.UID(name), CreationTimestamp: metav1.Unix(1001, 0), Labels: map[string]string{tenancy.LabelClaimNamespace: "team-a"},
	}}
	m.SetProviderConfigReference(&xpv2.Reference{Name: "claims"})
	return m
}

// TestGone checks that what a Machine had stops counting when it is deleted, and only then.
func TestGone(t *testing.T) {
	first, second := machine("first"), machine("second")
	a := newAPI(t, first, second)
	k, q := provider(a, "system"), &v1alpha1.TenantQuota{VMs: new(int32(1))}
	if _, err := k.Admit(t.Context(), ask(first, q, 1)); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Admit(t.Context(), ask(second, q, 1)); !quota.IsExceeded(err) {
		t.Errorf("want the second to wait, got %v", err)
	}
	if err := k.Reason(second); !quota.IsExceeded(err) {
		t.Errorf("want the reason remembered, got %v", err)
	}
	if err := a.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	k.gone("first")
	if err := k.Reason(second); err != nil {
		t.Errorf("want one that was woken decided again, got %v", err)
	}
	if _, err := k.Admit(t.Context(), ask(second, q, 1)); err != nil {
		t.Errorf("want room for the second, got %v", err)
	}
	entries := k.entriesOf(t)
	want := quota.Ledger{"second": {
		Kind: namespaced.MachineGroupVersionKind.GroupKind().String(), Namespace: "team-a", Name: "second", Config: config, Created: 1000,
		Has: quota.Amounts{quota.VMs: 1, quota.Cores: 1}, Pending: quota.Amounts{quota.VMs: 1, quota.Cores: 1},
	}}
	if diff := cmp.Diff(want, entries); diff != "" {
		t.Errorf("entries: -want, +got:\n%s", diff)
	}
}

// TestCalls checks that a tenant without a quota, and amounts that are entered already, cost no call.
func TestCalls(t *testing.T) {
	m := machine("first")
	a := newAPI(t, m)
	k := provider(a, "system")
	if got, err := k.Admit(t.Context(), ask(m, nil, 500)); err != nil || got[quota.Cores] != 500 {
		t.Errorf("want all granted without a quota, got %v, %v", got, err)
	}
	if n := a.calls.Load(); n != 0 {
		t.Errorf("want no calls without a quota, got %d", n)
	}
	there := ask(m, &v1alpha1.TenantQuota{VMs: new(int32(1))}, 1)
	there.There = there.Wants
	for range 3 {
		if _, err := k.Admit(t.Context(), there); err != nil {
			t.Fatal(err)
		}
	}
	if n := a.calls.Load(); n > 2 {
		t.Errorf("want what is there entered once, got %d calls", n)
	}
}

// TestNowhere checks that a provider that does not know its namespace admits nothing.
func TestNowhere(t *testing.T) {
	m := machine("first")
	_, err := provider(newAPI(t, m), "").Admit(t.Context(), ask(m, &v1alpha1.TenantQuota{VMs: new(int32(1))}, 1))
	if err == nil || quota.IsExceeded(err) || !strings.Contains(err.Error(), "set POD_NAMESPACE") {
		t.Errorf("want it told what is missing, got %v", err)
	}
}

// TestStray checks that a VM of the tenant counts that no Machine manages.
func TestStray(t *testing.T) {
	m := machine("first")
	k, a := provider(newAPI(t, m), "system"), ask(m, &v1alpha1.TenantQuota{VMs: new(int32(1))}, 1)
	a.Inventory = guests{{VMID: 100, Type: "qemu", Pool: "team-a"}}
	if _, err := k.Admit(t.Context(), a); !quota.IsExceeded(err) {
		t.Errorf("want no room beside the VM that is there, got %v", err)
	}
}

// TestAdopted checks that a VM counts that stays where it was adopted, even after its Machine is deleted, until the VM is deleted too or moved
// elsewhere.
func TestAdopted(t *testing.T) {
	first, second := machine("first"), machine("second")
	api := newAPI(t, first, second)
	k, pool := provider(api, "system"), "free"
	adopt := func(m *namespaced.Machine, vmid int) error {
		a := ask(m, &v1alpha1.TenantQuota{Cores: new(int32(6))}, 4)
		a.Tenants[0].Allow = &v1alpha1.TenantPermissions{Adopt: []string{"free"}}
		a.Tenant, a.VMID = tenancy.TenantNamed(a.Tenants, "team-a"), vmid
		a.Inventory = guests{{VMID: 100, Type: "qemu", Pool: pool, MaxCPU: 4}, {VMID: 101, Type: "qemu", Pool: "free", MaxCPU: 4}}
		_, err := k.Admit(t.Context(), a)
		return err
	}
	if err := adopt(first, 100); err != nil {
		t.Fatalf("want what nobody has adopted not counted, got %v", err)
	}
	if err := api.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := adopt(second, 101); err == nil || !strings.Contains(err.Error(), "cores: 4 more, of 6 4 are used by 1 resource") {
			t.Errorf("want the VM that is left counted, once, got %v", err)
		}
	}
	pool = "elsewhere"
	if err := adopt(second, 101); err != nil {
		t.Errorf("want room when the VM was taken elsewhere, got %v", err)
	}
}

// entriesOf returns the entries of the tenant in the ConfigMap.
func (k *Keeper) entriesOf(t *testing.T) quota.Ledger {
	t.Helper()
	_, entries := k.storedOf(t)
	return entries
}

// storedOf returns the ConfigMap of the tenant, and the entries of its account.
func (k *Keeper) storedOf(t *testing.T) (storedLedger, quota.Ledger) {
	t.Helper()
	account, err := k.connections.AccountOf(t.Context(), config, nil, "team-a")
	if err != nil {
		t.Fatal(err)
	}
	b, entries, err := k.read(t.Context(), account)
	if err != nil {
		t.Fatal(err)
	}
	return b, entries
}

// TestUnwritten checks that nothing is admitted that could not be entered.
func TestUnwritten(t *testing.T) {
	first := machine("first")
	a := newAPI(t, first)
	k, q := provider(a, "system"), &v1alpha1.TenantQuota{VMs: new(int32(1))}
	a.fails = kerrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "any", errors.New("no right"))
	for range 2 {
		if _, err := k.Admit(t.Context(), ask(first, q, 1)); err == nil || quota.IsExceeded(err) || !strings.Contains(err.Error(), "no right") {
			t.Errorf("want the reason why it cannot be entered, got %v", err)
		}
	}
	a.fails = nil
	if _, err := k.Admit(t.Context(), ask(first, q, 1)); err != nil {
		t.Errorf("want it admitted once that can be entered, got %v", err)
	}
}

// TestGoneMeanwhile checks that entries of resources that were deleted while no provider ran are removed by the next decision or count.
func TestGoneMeanwhile(t *testing.T) {
	first, second := machine("first"), machine("second")
	a := newAPI(t, first, second)
	q := &v1alpha1.TenantQuota{VMs: new(int32(2))}
	for _, m := range []*namespaced.Machine{first, second} {
		if _, err := provider(a, "system").Admit(t.Context(), ask(m, q, 1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	again := machine("second") // A resource of the same name is a different one.
	again.UID = "another"
	if err := errors.Join(a.Delete(t.Context(), second), a.Create(t.Context(), again)); err != nil {
		t.Fatal(err)
	}
	k := provider(a, "system")
	all, err := k.Usage(t.Context(), config, ask(first, q, 1).Tenants, guests{})
	if err != nil || len(all) != 1 || len(all[0].Usage) != 1 || !all[0].Usage[0].Used.IsZero() {
		t.Errorf("want nothing used, got %+v, %v", all, err)
	}
	if entries := k.entriesOf(t); len(entries) != 0 {
		t.Errorf("want no entries left, got %v", entries)
	}
}

// TestMoved checks that a Machine whose namespace now belongs to another tenant keeps what its VM uses, once, and no longer waits.
func TestMoved(t *testing.T) {
	m, waiting, next := machine("first"), machine("waiting"), machine("next")
	m.Annotations = map[string]string{"crossplane.io/external-name": "100"}
	next.CreationTimestamp = metav1.Unix(2000, 0)
	a := newAPI(t, m, waiting, next)
	k, q := provider(a, "system"), &v1alpha1.TenantQuota{VMs: new(int32(2)), Cores: new(int32(4))}
	k.kinds[0].there = func(mg resource.Managed) (quota.Amounts, int, bool) {
		id, _ := strconv.Atoi(meta.GetExternalName(mg))
		return nil, id, false
	}
	if _, err := k.Admit(t.Context(), ask(m, q, 2)); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Admit(t.Context(), ask(waiting, q, 3)); !quota.IsExceeded(err) {
		t.Fatalf("want it to wait, got %v", err)
	}
	moved := ask(next, q, 2)
	next.Namespace = "team-a2"
	moved.Tenants[0].Namespaces = []string{"team-a2"}
	moved.Inventory = guests{{VMID: 100, Type: "qemu", Pool: "team-a", MaxCPU: 2}}
	if _, err := k.Admit(t.Context(), moved); err != nil {
		t.Errorf("want room beside the one VM that is there, got %v", err)
	}
	if entries := k.entriesOf(t); len(entries) != 2 || entries["first"].Has[quota.Cores] != 2 || entries["waiting"].Name != "" {
		t.Errorf("want an entry of what has a VM, and none of what waits, got %v", entries)
	}
}

// TestEdited checks that manual changes of the ConfigMap do not allow more than there is room for.
func TestEdited(t *testing.T) {
	cases := map[string]struct {
		reason  string
		entries string
		want    string
	}{
		"Null":     {reason: "What is no list of entries is told.", entries: "null", want: "delete it, and the provider creates it again"},
		"Broken":   {reason: "What cannot be read is told.", entries: "{", want: "delete it, and the provider creates it again"},
		"None":     {reason: "Where there are no entries they were removed.", want: "delete it, and the provider creates it again"},
		"Empty":    {reason: "What is there counts without entries.", entries: "{}", want: "cores: 2 more, of 3 2 are used by 1 resource"},
		"Negative": {reason: "Nobody has less than nothing.", entries: `{"first":{"name":"first","has":{"cores":-5}}}`, want: "of 3 2 are used by 1 resource"},
		"More":     {reason: "What was granted counts.", entries: `{"first":{"name":"first","has":{"cores":3}}}`, want: "of 3 3 are used by 1 resource"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			first, second := machine("first"), machine("second")
			o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: nameOf("team-a")}}
			if tc.entries != "" {
				o.Data = map[string]string{entriesDataKey: tc.entries}
			}
			k := provider(newAPI(t, first, second, o), "system")
			k.kinds[0].there = func(mg resource.Managed) (quota.Amounts, int, bool) {
				if mg.GetName() == "first" {
					return quota.Amounts{quota.VMs: 1, quota.Cores: 2}, 0, false
				}
				return nil, 0, false
			}
			_, err := k.Admit(t.Context(), ask(second, &v1alpha1.TenantQuota{Cores: new(int32(3))}, 2))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: want %q, got %v", tc.reason, tc.want, err)
			}
		})
	}
}

// begins makes Machines count as begun, with VMs of these cores. Their external names are the VMIDs.
func (k *Keeper) begins(cores map[string]int64) {
	k.kinds[0].there = func(mg resource.Managed) (quota.Amounts, int, bool) {
		n, begun := cores[mg.GetName()]
		if !begun {
			return nil, 0, false
		}
		id, _ := strconv.Atoi(meta.GetExternalName(mg))
		return quota.Amounts{quota.VMs: 1, quota.Cores: n}, id, true
	}
}

// begunMachine returns a Machine that was created at some time, and names a VM.
func begunMachine(name string, came int64, vmid string) *namespaced.Machine {
	m := machine(name)
	m.CreationTimestamp, m.Annotations = metav1.Unix(came, 0), map[string]string{meta.AnnotationKeyExternalName: vmid}
	return m
}

// TestBegunWaits checks that a Machine whose VM was not created, because another VM has its VMID, waits without what it waits for. An older one gets
// the room that is reserved for it.
func TestBegunWaits(t *testing.T) {
	large, first, begun := begunMachine("large", 999, ""), machine("first"), begunMachine("begun", 1001, "100")
	api := newAPI(t, large, first, begun)
	k, q := provider(api, "system"), &v1alpha1.TenantQuota{Cores: new(int32(4))}
	cores := map[string]int64{}
	k.begins(cores)
	if _, err := k.Admit(t.Context(), ask(first, q, 3)); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Admit(t.Context(), ask(large, q, 4)); !quota.IsExceeded(err) {
		t.Fatalf("want no room for the large one, got %v", err)
	}
	granted := ask(begun, q, 1)
	granted.VMID, granted.Beside = 100, true
	if _, err := k.Admit(t.Context(), granted); err != nil {
		t.Fatalf("want what fits granted, got %v", err)
	}
	cores["begun"] = 1
	if err := api.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	lost := granted
	lost.VMID, lost.Inventory = 0, guests{{VMID: 100, Type: "qemu", Pool: "team-b"}}
	for range 2 {
		if _, err := k.Admit(t.Context(), lost); err == nil || !strings.Contains(err.Error(), "those that have waited longer") {
			t.Errorf("want it to wait for its turn, got %v", err)
		}
	}
	older := ask(large, q, 4)
	older.Inventory = lost.Inventory
	if _, err := k.Admit(t.Context(), older); err != nil {
		t.Errorf("want the room for who has waited longest, got %v, of %v", err, k.entriesOf(t))
	}
}

// TestBegunUnknown checks that Machines that were begun before there was a quota count as long as their VMs may come to exist, and no longer.
func TestBegunUnknown(t *testing.T) {
	first, second, at := begunMachine("first", 1000, "100"), begunMachine("second", 1001, "101"), time.Unix(5000, 0)
	k, q := provider(newAPI(t, first, second), "system"), &v1alpha1.TenantQuota{VMs: new(int32(1))}
	k.now = func() time.Time { return at }
	k.begins(map[string]int64{"first": 1, "second": 1})
	admit := func(m *namespaced.Machine) error {
		a := ask(m, q, 1)
		a.VMID, _ = strconv.Atoi(meta.GetExternalName(m))
		a.Beside = true
		_, err := k.Admit(t.Context(), a)
		return err
	}
	for _, m := range []*namespaced.Machine{first, second, first} {
		if err := admit(m); err == nil || !strings.Contains(err.Error(), "vms: 1 more, of 1 2 are used") {
			t.Errorf("%s: want both VMs counted, which may be being made, got %v", m.Name, err)
		}
	}
	at = at.Add(2 * time.Minute)
	if err := admit(first); err != nil {
		t.Errorf("want room once no VM has come, got %v, of %v", err, k.entriesOf(t))
	}
}

// TestRaised checks that a Machine whose VM is being created counts as much as it was granted, and not what its spec says meanwhile.
func TestRaised(t *testing.T) {
	m, next := begunMachine("first", 1000, "100"), machine("next")
	k, q := provider(newAPI(t, m, next), "system"), &v1alpha1.TenantQuota{Cores: new(int32(8))}
	cores := map[string]int64{}
	k.begins(cores)
	granted := ask(m, q, 2)
	granted.VMID, granted.Beside = 100, true
	if _, err := k.Admit(t.Context(), granted); err != nil {
		t.Fatal(err)
	}
	cores["first"] = 8
	if _, err := k.Admit(t.Context(), ask(next, q, 6)); err != nil {
		t.Errorf("want room beside what was granted, got %v", err)
	}
}

// TestGrownByHand checks that manual additions to a VM count, even while its Machine waits to return to a larger configuration.
func TestGrownByHand(t *testing.T) {
	m, next := machine("first"), machine("next")
	k, q := provider(newAPI(t, m, next), "system"), &v1alpha1.TenantQuota{Cores: new(int32(8))}
	var there quota.Amounts
	k.kinds[0].there = func(mg resource.Managed) (quota.Amounts, int, bool) {
		if mg.GetName() == "first" {
			return there, 100, false
		}
		return nil, 0, false
	}
	back := ask(m, q, 9)
	back.There, back.VMID = quota.Amounts{quota.VMs: 1, quota.Cores: 2}, 100
	if _, err := k.Admit(t.Context(), back); !quota.IsExceeded(err) {
		t.Fatalf("want no room for the larger configuration, got %v", err)
	}
	there = quota.Amounts{quota.VMs: 1, quota.Cores: 5}
	if _, err := k.Admit(t.Context(), ask(next, q, 4)); err == nil || !strings.Contains(err.Error(), "cores: 4 more, of 8 5 are used") {
		t.Errorf("want what is there counted, got %v", err)
	}
}

// TestWoken checks that a waiting resource is woken when the usage is counted, regardless of who has freed the room: here another process that has
// removed the entry.
func TestWoken(t *testing.T) {
	first, second, third := machine("first"), machine("second"), machine("third")
	a := newAPI(t, first, second, third)
	one, two, q := provider(a, "system"), provider(a, "system"), &v1alpha1.TenantQuota{VMs: new(int32(1))}
	if _, err := one.Admit(t.Context(), ask(first, q, 1)); err != nil {
		t.Fatal(err)
	}
	woken := map[string]int{}
	for _, m := range []*namespaced.Machine{second, third} {
		waits := ask(m, q, 1)
		waits.Wake = func() { woken[m.Name]++ }
		if _, err := two.Admit(t.Context(), waits); !quota.IsExceeded(err) {
			t.Fatalf("want it to wait, got %v", err)
		}
	}
	count := func(k *Keeper) {
		if _, err := k.Usage(t.Context(), config, ask(first, q, 1).Tenants, guests{}); err != nil {
			t.Fatal(err)
		}
	}
	if count(two); len(woken) != 0 {
		t.Errorf("want nobody woken while there is no room, got %v", woken)
	}
	if err := a.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	count(one)
	count(two)
	if diff := cmp.Diff(map[string]int{"second": 1}, woken); diff != "" || two.Reason(second) != nil || two.Reason(third) == nil {
		t.Errorf("want the one woken that has waited longest, and its reason forgotten: -want, +got:\n%s", diff)
	}
}
