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
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/vitistack/provider-proxmox/apis"
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

// An api is what several providers share, with the number of their calls about ConfigMaps.
type api struct {
	client.WithWatch

	calls atomic.Int64
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
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			count(o)
			return c.Update(ctx, o, opts...)
		},
	})
	return a
}

// provider is one replica or shard of it.
func provider(a *api, namespace string) *Keeper {
	k := New()
	k.Use(a, connect.New(a, connect.WithRecordsIn(namespace)))
	k.kinds = append(k.kinds, counted{
		Identity: kind.Identity{
			GroupVersionKind: namespaced.MachineGroupVersionKind, Object: &namespaced.Machine{}, List: &namespaced.MachineList{},
		},
		reader: a, direct: a, there: func(resource.Managed) (quota.Amounts, int) { return nil, 0 },
	})
	return k
}

func machine(name string) *namespaced.Machine {
	m := &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: name, UID: types.UID(name), CreationTimestamp: metav1.Unix(1000, 0)}}
	m.SetProviderConfigReference(&xpv2.ProviderConfigReference{Kind: "ClusterProviderConfig", Name: "shared"})
	return m
}

// ask for a VM of some cores.
func ask(m *namespaced.Machine, q *v1alpha1.TenantQuota, cores int64) Application {
	tenants := []v1alpha1.ProviderTenant{{Name: "team-a", Namespaces: []string{"team-a"}, Pools: []string{"team-a"}, Quota: q}}
	return Application{
		Resource: m, Kind: namespaced.MachineGroupVersionKind.GroupKind().String(), Config: config, Tenants: tenants,
		Tenant: tenancy.TenantNamed(tenants, "team-a"), Inventory: guests{}, Wants: quota.Amounts{quota.VMs: 1, quota.Cores: cores}, Whole: true,
	}
}

// TestAtOnce has two providers admit Machines at the same time: exactly as many as there is room for.
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

// TestGone has what a Machine had go with it, and only then.
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
		t.Errorf("want one that was woken decided anew, got %v", err)
	}
	if _, err := k.Admit(t.Context(), ask(second, q, 1)); err != nil {
		t.Errorf("want room for the second, got %v", err)
	}
	_, entries, err := k.read(t.Context(), key{config: config, tenant: "team-a"})
	want := quota.Ledger{"second": {
		Kind: namespaced.MachineGroupVersionKind.GroupKind().String(), Namespace: "team-a", Name: "second", Created: 1000,
		Has: quota.Amounts{quota.VMs: 1, quota.Cores: 1},
	}}
	if diff := cmp.Diff(want, entries); diff != "" || err != nil {
		t.Errorf("entries: %v, -want, +got:\n%s", err, diff)
	}
}

// TestCalls has no tenant without a quota, and nothing that is entered, cost a call.
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

// TestNowhere has a provider that does not know its namespace admit nothing.
func TestNowhere(t *testing.T) {
	m := machine("first")
	_, err := provider(newAPI(t, m), "").Admit(t.Context(), ask(m, &v1alpha1.TenantQuota{VMs: new(int32(1))}, 1))
	if err == nil || quota.IsExceeded(err) || !strings.Contains(err.Error(), "set POD_NAMESPACE") {
		t.Errorf("want it told what is missing, got %v", err)
	}
}

// TestStray counts a VM of the tenant that no Machine manages.
func TestStray(t *testing.T) {
	m := machine("first")
	k, a := provider(newAPI(t, m), "system"), ask(m, &v1alpha1.TenantQuota{VMs: new(int32(1))}, 1)
	a.Inventory = guests{{VMID: 100, Type: "qemu", Pool: "team-a"}}
	if _, err := k.Admit(t.Context(), a); !quota.IsExceeded(err) {
		t.Errorf("want no room beside the VM that is there, got %v", err)
	}
}
