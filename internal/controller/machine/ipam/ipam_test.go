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

package ipam

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

const uuid = "c5b1c1a6-6f0c-4f6e-9f4b-0a4ab37b8b1b"

// reader of a Kubernetes API with objects, whose answers to lists may be an error.
func reader(t *testing.T, denied error, objects ...client.Object) Reader {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1beta2.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	kinds := apimeta.NewDefaultRESTMapper([]schema.GroupVersion{v1beta2.GroupVersion})
	for _, kind := range []string{"IPAddressClaim", "IPAddress"} {
		kinds.Add(v1beta2.GroupVersion.WithKind(kind), apimeta.RESTScopeNamespace)
	}
	kube := fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(kinds).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if denied != nil {
				return denied
			}
			return c.List(ctx, list, opts...)
		},
	}).Build()
	w := NewWatch(nil, time.Now, func(client.ObjectKey) {})
	w.read = kube.Get
	return Reader{Kube: kube, Watch: w}
}

// claimed returns a claim of a VM, and the address that it was given.
func claimed(name, of, address string) []client.Object {
	meta := metav1.ObjectMeta{Namespace: "team", Name: name, Labels: map[string]string{LabelUUID: of}}
	meta.Labels[LabelNetwork] = "lan"
	c := &v1beta2.IPAddressClaim{
		ObjectMeta: meta, Spec: v1beta2.IPAddressClaimSpec{PoolRef: v1beta2.IPPoolReference{APIGroup: Group, Kind: "InClusterIPPool", Name: "lan"}},
		Status: v1beta2.IPAddressClaimStatus{AddressRef: v1beta2.IPAddressReference{Name: name}},
	}
	a := &v1beta2.IPAddress{ObjectMeta: meta, Spec: v1beta2.IPAddressSpec{
		ClaimRef: v1beta2.IPAddressClaimReference{Name: name}, Address: address, Prefix: new(int32(24)),
	}}
	return []client.Object{c, a}
}

func pooled() *namespaced.Machine {
	m := &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web"}}
	m.Spec.ForProvider.Networks = []v1alpha1.MachineNetwork{{Name: "lan", IPConfig: &v1alpha1.MachineIPConfig{
		PoolRef: &v1alpha1.MachineIPPoolReference{APIGroup: Group, Kind: "InClusterIPPool", Name: "lan"},
	}}}
	return m
}

// nameOf returns the name of the claim of a Machine.
func nameOf(t *testing.T, m object.Machine) string {
	t.Helper()
	key, err := claim{uuid: uuid, network: "lan", family: ipv4, pool: v1alpha1.MachineIPPoolReference{
		APIGroup: Group, Kind: "InClusterIPPool", Name: "lan", Namespace: new("team"),
	}}.key(m)
	if err != nil {
		t.Fatal(err)
	}
	return key.Name
}

func TestResolve(t *testing.T) {
	m := pooled()
	name := nameOf(t, m)
	other := claimed(name, uuid, "192.0.2.10")
	other[1].(*v1beta2.IPAddress).Spec.ClaimRef.Name = "another"
	none := claimed(name, uuid, "192.0.2.10")
	none[1].(*v1beta2.IPAddress).Spec.Gateway = "192.0.2.1,ip6=auto"
	cases := map[string]struct {
		reason  string
		objects []client.Object
		want    string // address, or a part of what it waits for
	}{
		"Allocated": {reason: "What is allocated is used.", objects: claimed(name, uuid, "192.0.2.10"), want: "192.0.2.10/24"},
		"None":      {reason: "A claim is made where there is none.", want: "has no address yet"},
		"Foreign": {
			reason:  "A claim of the same name that somebody else has made is not used.",
			objects: claimed(name, "other", "192.0.2.10"), want: "is not this Machine's",
		},
		"OtherClaim": {reason: "The address of another claim is not used.", objects: other, want: "which is of IPAddressClaim 'another'"},
		"Text":       {reason: "What is no address does not reach Proxmox VE.", objects: none, want: "is not an IPv4 address"},
		"NotThere": {
			reason:  "An address may show later than its claim.",
			objects: claimed(name, uuid, "192.0.2.10")[:1], want: "which is not there yet",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := reader(t, nil, tc.objects...)
			a, err := r.Resolve(t.Context(), m, uuid)
			if err == nil {
				err = r.Claim(t.Context(), m, a, m.Parameters().Networks)
			}
			if err != nil {
				t.Fatal(err)
			}
			got := a.taken[0].wait
			if got == "" {
				got = a.taken[0].address
			}
			if !strings.Contains(got, tc.want) || (a.Wait() == nil) != (a.taken[0].wait == "") {
				t.Errorf("%s: want %q, got %q", tc.reason, tc.want, got)
			}
		})
	}
}

// TestClaim checks that addresses are claimed only for the given networks, and that an address that is not claimed is not waited for.
func TestClaim(t *testing.T) {
	m := pooled()
	key := client.ObjectKey{Namespace: m.GetNamespace(), Name: nameOf(t, m)}
	r := reader(t, nil)
	a, err := r.Resolve(t.Context(), m, uuid)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		reason   string
		networks []v1alpha1.MachineNetwork
		claimed  bool
	}{
		{reason: "Nothing is claimed for a network that the VM does not get yet."},
		{reason: "An address is claimed once the VM gets the network.", networks: m.Parameters().Networks, claimed: true},
		{reason: "An address that is claimed is not claimed again.", networks: m.Parameters().Networks, claimed: true},
	} {
		if err := r.Claim(t.Context(), m, a, tc.networks); err != nil {
			t.Fatal(err)
		}
		there, err := r.get(t.Context(), claimKind, key)
		if claimed := there != nil; claimed != tc.claimed || (a.Wait() != nil) != tc.claimed || len(a.Waits()) != 1 || err != nil {
			t.Errorf("%s: want it claimed: %v, got %v, that waits for %v of %v, %v", tc.reason, tc.claimed, claimed, a.Wait(), a.Waits(), err)
		}
	}
}

func TestParameters(t *testing.T) {
	m := pooled()
	waits := &Addresses{taken: []taken{{network: "lan", family: ipv4, wait: "no address"}}}
	cases := map[string]struct {
		reason string
		from   *Addresses
		now    *v1alpha1.MachineIPConfig
		want   []*string
	}{
		"Allocated": {
			reason: "What is allocated is what is wanted.", from: &Addresses{taken: []taken{{network: "lan", family: ipv4, address: "192.0.2.10/24"}}},
			want: []*string{new("192.0.2.10/24"), new("")},
		},
		"Waits": {
			reason: "A VM keeps what it has.",
			from:   waits, now: Configured("ip=192.0.2.9/24,gw=192.0.2.1"), want: []*string{new("192.0.2.9/24"), new("192.0.2.1")},
		},
		"New":     {reason: "A network that has nothing gets nothing.", from: waits, now: Configured(""), want: []*string{new(""), new("")}},
		"Unknown": {reason: "What is not known is not managed.", from: waits, want: []*string{nil, nil}},
		"None":    {reason: "Without pools nothing is added.", want: []*string{nil, nil}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := tc.from.Parameters(m.Parameters(), func(string) *v1alpha1.MachineIPConfig { return tc.now })
			if diff := cmp.Diff(tc.want, []*string{p.Networks[0].IPConfig.Address, p.Networks[0].IPConfig.Gateway}); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
			if m.Spec.ForProvider.Networks[0].IPConfig.Address != nil {
				t.Errorf("%s: the spec was changed", tc.reason)
			}
		})
	}
}

func TestRelease(t *testing.T) {
	forbidden := kerrors.NewForbidden(schema.GroupResource{Group: Group, Resource: "ipaddressclaims"}, "", nil)
	clusterScoped := func(name string) object.Machine { return &cluster.Machine{ObjectMeta: metav1.ObjectMeta{Name: name}} }
	other := pooled()
	other.Name = "other"
	cases := map[string]struct {
		reason string
		m      object.Machine // The deleted Machine.
		of     object.Machine // The owner of the claim; the same if nil.
		there  qemu.Config
		denied error
		stays  bool
		fails  bool
	}{
		"Gone":          {reason: "The address of a VM that is gone is free.", m: pooled()},
		"ClusterScoped": {reason: "A cluster-scoped Machine may claim in any namespace.", m: clusterScoped("web")},
		"InUse": {
			reason: "The address of a VM that may be the same one is not free.",
			m:      pooled(), there: qemu.Config{"ipconfig0": "gw=192.0.2.1,ip=192.0.2.10/24"}, stays: true,
		},
		"Elsewhere": {
			reason: "What others have is of no matter.",
			m:      pooled(), there: qemu.Config{"ipconfig0": "ip=192.0.2.100/24", "name": "192.0.2.10"},
		},
		"Denied": {reason: "An address that cannot be released is not forgotten.", m: pooled(), denied: forbidden, stays: true, fails: true},
		"Unasked": {
			reason: "A Machine without pools needs no right to use IPAM.", denied: forbidden, stays: true,
			m: &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web"}}, of: pooled(),
		},
		"ForgedUUID": {reason: "The UUID of another's VM, which anybody may write, releases nothing.", m: other, of: pooled(), stays: true},
		"ForgedUUIDOfAnotherNamespace": {
			reason: "A Machine without a namespace does not release the claim of one of its name in a namespace.", m: clusterScoped("web"), of: pooled(), stays: true,
		},
		"ForgedUUIDOfClusterScoped": {
			reason: "A cluster-scoped Machine with the UUID of another releases nothing.", m: clusterScoped("other"), of: clusterScoped("web"), stays: true,
		},
		"LongName": {
			reason: "A Machine whose long name begins the same releases nothing.", stays: true,
			m: clusterScoped(strings.Repeat("a", longestName) + "b"), of: clusterScoped(strings.Repeat("a", longestName) + "c"),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			of := tc.m
			if tc.of != nil {
				of = tc.of
			}
			mine := nameOf(t, of)
			all := append(claimed(mine, uuid, "192.0.2.10"), claimed("another", "other", "192.0.2.11")...)
			r := reader(t, tc.denied, all...)
			if err := r.Release(t.Context(), tc.m, uuid, tc.there); (err != nil) != tc.fails {
				t.Errorf("%s: got %v", tc.reason, err)
			}
			for name, want := range map[string]bool{mine: tc.stays, "another": true} {
				err := r.Kube.Get(t.Context(), client.ObjectKey{Namespace: "team", Name: name}, &v1beta2.IPAddressClaim{})
				if (err == nil) != want {
					t.Errorf("%s: claim %s: %v", tc.reason, name, err)
				}
			}
		})
	}
}

// askedKinds counts how often the API server is asked which kinds it serves.
type askedKinds struct {
	client.Client
	asked int
	kinds *apimeta.DefaultRESTMapper
}

func (a *askedKinds) RESTMapper() apimeta.RESTMapper {
	a.asked++
	return a.kinds
}

// TestReleaseUnserved deletes many Machines where there are no claims. Claims are created afterwards.
func TestReleaseUnserved(t *testing.T) {
	r := reader(t, nil)
	kinds := &askedKinds{Client: r.Kube, kinds: apimeta.NewDefaultRESTMapper(nil)}
	r.Kube = kinds
	for range 10 {
		if err := r.Release(t.Context(), pooled(), uuid, nil); err != nil {
			t.Fatal(err)
		}
	}
	if kinds.asked != 1 {
		t.Errorf("the deletion of ten Machines asked %d times for a kind that is not there", kinds.asked)
	}

	kinds.kinds.Add(v1beta2.GroupVersion.WithKind("IPAddressClaim"), apimeta.RESTScopeNamespace)
	if _, err := r.Resolve(t.Context(), pooled(), uuid); err != nil {
		t.Fatal(err)
	}
	if err := r.Release(t.Context(), pooled(), uuid, nil); err != nil {
		t.Fatal(err)
	}
	key := client.ObjectKey{Namespace: "team", Name: nameOf(t, pooled())}
	if err := r.Kube.Get(t.Context(), key, &v1beta2.IPAddressClaim{}); !kerrors.IsNotFound(err) {
		t.Errorf("a claim that was made since is not released: %v", err)
	}
}

// TestServedNone checks that claims that the API server does not serve are looked for again after a while.
func TestServedNone(t *testing.T) {
	now := time.Now()
	w := NewWatch(nil, func() time.Time { return now }, nil)
	w.serves(false)
	now = now.Add(unservedFor - time.Second)
	if !w.servedNone() {
		t.Errorf("want none to be looked for within %s", unservedFor)
	}
	now = now.Add(time.Second)
	if w.servedNone() {
		t.Errorf("want claims to be looked for again after %s", unservedFor)
	}
	w.serves(false)
	w.serves(true)
	if w.servedNone() {
		t.Error("want claims to be looked for that are served")
	}
}

func TestChanged(t *testing.T) {
	var woken []client.ObjectKey
	w := NewWatch(nil, time.Now, func(key client.ObjectKey) { woken = append(woken, key) })
	web := client.ObjectKey{Namespace: "team", Name: "web"}
	w.follow(client.ObjectKey{Namespace: "team", Name: "web-1"}, web)
	for _, o := range append(claimed("web-1", uuid, ""), claimed("other-1", uuid, "")...) {
		raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		if err != nil {
			t.Fatal(err)
		}
		w.changed(&unstructured.Unstructured{Object: raw})
	}
	if diff := cmp.Diff([]client.ObjectKey{web, web}, woken); diff != "" {
		t.Errorf("a claim and its address wake their Machine: -want, +got:\n%s", diff)
	}
}
