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

package connect

import (
	"cmp"
	"context"
	"strings"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
)

// nodeIn returns a ProxmoxNode, which tenants may not have, with a provider configuration.
func nodeIn(namespace, kind, config string) resource.Managed {
	n := &namespaced.ProxmoxNode{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "pve1", UID: "uid-node"}}
	n.SetProviderConfigReference(&xpv2.ProviderConfigReference{Kind: kind, Name: config})
	return n
}

// namespacesOf returns a client that cannot read namespaces if unread is true.
func namespacesOf(kube client.WithWatch, unread bool) client.Client {
	return interceptor.NewClient(kube, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if _, is := o.(*metav1.PartialObjectMetadata); is && unread {
				return errors.New("forbidden")
			}
			return c.Get(ctx, key, o, opts...)
		},
	})
}

// TestSpecCounts checks that the spec of a resource that a tenant may not have does not count for others, and that the spec of a resource that uses a
// configuration of another namespace does not either.
func TestSpecCounts(t *testing.T) {
	outOfRange := func() resource.Managed {
		m := namespacedMachine("team-a", "ClusterProviderConfig", "site")
		meta.SetExternalName(m, "100")
		return m
	}
	cases := map[string]struct {
		reason string
		other  resource.Managed
		tell   v1alpha1.TenantEnforcement
		unread bool // Whether no namespace can be read.

		free, want bool

		annotations bool // Its annotations count for all.
	}{
		"Machine":   {reason: "What a tenant may have counts.", other: namespacedMachine("team-a", "ClusterProviderConfig", "site"), want: true},
		"Kind":      {reason: "A kind that it may not have does not.", other: nodeIn("team-a", "ClusterProviderConfig", "site")},
		"Claim":     {reason: "The claim to a VM that is not its own does not count.", other: outOfRange()},
		"NoTenant":  {reason: "What is of no tenant does not count.", other: nodeIn("other", "ClusterProviderConfig", "site")},
		"Operators": {reason: "What operators say counts for all.", other: nodeIn("ops", "ClusterProviderConfig", "site"), want: true, annotations: true},
		"Own":       {reason: "A configuration of a namespace makes nobody an operator.", other: nodeIn("team-a", "ProviderConfig", "own")},
		"OwnHere":   {reason: "A configuration of its own namespace counts within that namespace.", other: nodeIn("home", "ProviderConfig", "own"), want: true},
		"Beside": {
			reason: "What uses a configuration without tenants does not count where another one has tenants.",
			other:  nodeIn("ops", "ClusterProviderConfig", "beside"),
		},
		"Missing": {reason: "What uses a configuration that does not exist does not count.", other: nodeIn("ops", "ClusterProviderConfig", "missing")},
		"Warn": {
			reason: "Where refusals are only shown, all count.", other: nodeIn("team-a", "ClusterProviderConfig", "site"),
			tell: v1alpha1.TenantWarn, want: true, annotations: true,
		},
		"WarnBeside": {
			reason: "Where another configuration refuses it, what is only warned of does not count.",
			other:  nodeIn("team-a", "ClusterProviderConfig", "warns"),
		},
		"WarnBesideOperators": {
			reason: "What operators say counts by any configuration with tenants.",
			other:  nodeIn("ops", "ClusterProviderConfig", "warns"), want: true, annotations: true,
		},
		"Unread": {
			reason: "Labels that cannot be read make nobody an operator.",
			other:  nodeIn("labelled", "ClusterProviderConfig", "selects"), unread: true,
		},
		"UnreadTenant": {
			reason: "What a tenant may not have counts no more while labels cannot be read.",
			other:  nodeIn("team-a", "ClusterProviderConfig", "site"), unread: true,
		},
		"UnreadOperators": {
			reason: "Operators that are selected by the name of their namespace count.",
			other:  nodeIn("ops", "ClusterProviderConfig", "site"), unread: true, want: true,
		},
		"Selected": {
			reason: "Operators that are selected by labels count.",
			other:  nodeIn("labelled", "ClusterProviderConfig", "selects"), want: true, annotations: true,
		},
		"WithoutAny": {
			reason: "What all say counts where there are no tenants.",
			other:  nodeIn("team-a", "ProviderConfig", "own"), free: true, want: true, annotations: true,
		},
		"MissingFree": {
			reason: "Without tenants also what cannot be read counts.", other: nodeIn("ops", "ClusterProviderConfig", "missing"),
			free: true, want: true, annotations: true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			site, beside, own := clusterProviderConfig("site"), clusterProviderConfig("beside"), namespacedConfigOf("team-a", "own")
			warns, selects := clusterProviderConfig("warns"), clusterProviderConfig("selects")
			for _, spec := range []*v1alpha1.ProviderConfigSpec{&site.Spec, &beside.Spec, &own.Spec, &warns.Spec, &selects.Spec} {
				spec.Endpoints = []string{"https://pve1.example.com:8006"}
			}
			warns.Spec.Tenants, warns.Spec.TenantEnforcement = teams(), new(v1alpha1.TenantWarn)
			selects.Spec.Tenants = []v1alpha1.ProviderTenant{{
				Name: "operators", NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "ops"}}, Unrestricted: new(true),
			}}
			if tc.free || tc.tell == v1alpha1.TenantWarn {
				selects.Spec.TenantEnforcement = new(v1alpha1.TenantWarn)
			}
			if site.Spec.TenantEnforcement = &tc.tell; !tc.free {
				site.Spec.Tenants = teams()
			}
			by := namespacedMachine("home", "ClusterProviderConfig", "site")
			by.SetUID("uid-by")
			from := namespacesOf(kube(t, site, beside, own, warns, selects, &corev1.Namespace{
				ObjectMeta: metav1.ObjectMeta{Name: "labelled", Labels: map[string]string{"team": "ops"}},
			}), tc.unread)
			to := &Connection{Config: &v1alpha1.ProviderConfigSpec{Endpoints: []string{"https://PVE1.example.com"}}}
			if got := New(from).Isolation(t.Context(), to).SpecCounts(by, tc.other); got != tc.want {
				t.Errorf("\n%s\nwant %t, got %t", tc.reason, tc.want, got)
			}
			if got := New(from).Isolation(t.Context(), to).AnnotationsCount(tc.other); got != tc.annotations {
				t.Errorf("annotations: want %t, got %t", tc.annotations, got)
			}
		})
	}
}

// TestGuestCounts checks that a VM counts for a Machine whose tenant holds it, or for which the provider has signed that it is its own, and not for one
// that only names it.
func TestGuestCounts(t *testing.T) {
	const uuid = "21111111-2222-4333-8444-555555555555"
	key := []byte(strings.Repeat("k", recordKeySize))
	site := func(namespace string) *namespaced.Machine {
		return namespacedMachine(namespace, "ClusterProviderConfig", "site")
	}
	signed := func(m *namespaced.Machine, by string, tenant string) *namespaced.Machine {
		m.Status.AtProvider.VMID, m.Status.AtProvider.UUID = new(int32(600)), uuid
		tenancy.Records{Key: key, Config: "ClusterProviderConfig/" + by, Tenant: tenant}.Sign(m)
		return m
	}
	made := func(m *namespaced.Machine, node string) *namespaced.Machine {
		m.SetAnnotations(map[string]string{
			tenancy.AnnotationUUID:     uuid,
			tenancy.AnnotationCreation: tenancy.Records{Key: key, Config: "ClusterProviderConfig/site"}.SignCreation(m, 250, uuid, node),
		})
		return m
	}
	own, others := proxmox.Guest{VMID: 250, Pool: "a"}, proxmox.Guest{VMID: 600, Pool: "b"}
	cases := map[string]struct {
		reason  string
		machine *namespaced.Machine
		guest   proxmox.Guest
		by      string // The configuration that guests are listed with; site by default.
		free    bool
		want    bool
	}{
		"Own":       {reason: "A VM of the tenant counts.", machine: site("team-a"), guest: own, want: true},
		"Named":     {reason: "A VM of others does not, whoever names it.", machine: site("team-a"), guest: others},
		"Operators": {reason: "Operators may have all.", machine: site("ops"), guest: others, want: true},
		"NoTenant":  {reason: "A Machine of no tenant has no VM.", machine: site("other"), guest: others},
		"Signed": {
			reason:  "A VM that was the Machine's counts also if the rules have changed.",
			machine: signed(site("team-a"), "site", "a"), guest: proxmox.Guest{VMID: 600}, want: true,
		},
		"Lost": {
			reason:  "One of a namespace that has lost its tenant counts where it is.",
			machine: signed(site("other"), "site", "a"), guest: proxmox.Guest{VMID: 600}, want: true,
		},
		"Transferred": {reason: "A VM that another tenant has got is that tenant's.", machine: signed(site("team-a"), "site", "a"), guest: others},
		"LostTransferred": {
			reason:  "A VM that another tenant has got is not that of a namespace which has lost its tenant.",
			machine: signed(site("other"), "site", "a"), guest: others,
		},
		"SignedOf": {
			reason:  "A signature counts for its VM.",
			machine: signed(site("team-a"), "site", "a"), guest: proxmox.Guest{VMID: 601},
		},
		"SignedBy": {
			reason:  "A signature of another configuration proves nothing.",
			machine: signed(site("team-a"), "beside", "a"), guest: proxmox.Guest{VMID: 600},
		},
		"Made": {
			reason:  "A VM that the provider makes is in no pool yet.",
			machine: made(site("team-a"), "pve1"), guest: proxmox.Guest{VMID: 250, Node: "pve1"}, want: true,
		},
		"MadeOn": {
			reason:  "On another node it is another one.",
			machine: made(site("team-a"), "pve1"), guest: proxmox.Guest{VMID: 250, Node: "pve2"},
		},
		"MadePooled": {
			reason:  "One in a pool of others is theirs.",
			machine: made(site("team-a"), "pve1"), guest: proxmox.Guest{VMID: 250, Node: "pve1", Pool: "b"},
		},
		"Beside": {
			reason:  "What uses a configuration without tenants does not count where another one has tenants.",
			machine: namespacedMachine("ops", "ClusterProviderConfig", "beside"), guest: own,
		},
		"Missing": {
			reason:  "What uses a configuration that does not exist does not count.",
			machine: namespacedMachine("ops", "ClusterProviderConfig", "missing"), guest: own,
		},
		"OwnConfig": {
			reason:  "A configuration of a namespace gives nobody a VM of others.",
			machine: namespacedMachine("team-a", "ProviderConfig", "own"), guest: others,
		},
		"OwnConfigHeld": {
			reason:  "A configuration of a namespace gives a team the VMs of its tenant.",
			machine: namespacedMachine("team-a", "ProviderConfig", "own"), guest: own, want: true,
		},
		"OwnConfigAlone": {
			reason:  "A configuration that lists VMs tells whose they are.",
			machine: namespacedMachine("team-a", "ProviderConfig", "own"), guest: others, by: "ProviderConfig/team-a/own", want: true,
		},
		"Free": {reason: "All VMs count where there are no tenants.", machine: site("team-a"), guest: others, free: true, want: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			shared, beside, own := clusterProviderConfig("site"), clusterProviderConfig("beside"), namespacedConfigOf("team-a", "own")
			for _, spec := range []*v1alpha1.ProviderConfigSpec{&shared.Spec, &beside.Spec, &own.Spec} {
				spec.Endpoints = []string{"https://pve1.example.com:8006"}
			}
			if !tc.free {
				shared.Spec.Tenants = teams()
			}
			c := New(kube(t, shared, beside, own, &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: recordSecret}, Data: map[string][]byte{recordDataKey: key},
			}), WithRecordsIn("system"))
			to := &Connection{Name: cmp.Or(tc.by, "ClusterProviderConfig/site"), Config: &shared.Spec}
			if got := c.Isolation(t.Context(), to).GuestCounts(tc.machine, tc.guest); got != tc.want {
				t.Errorf("\n%s\nwant %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}

// TestImagePrefix checks that the files of cluster-scoped Images are named after the namespace of the claim. If labels select the tenant, they are
// named after the tenant and the configuration that the Image uses.
func TestImagePrefix(t *testing.T) {
	hosts := teams()
	for i := range hosts[:2] {
		hosts[i].ImageHosts = []string{"images.example.org"}
	}
	of := func(config string, labels map[string]string) resource.Managed {
		i := &cluster.Image{}
		i.SetLabels(labels)
		i.SetProviderConfigReference(&xpv2.Reference{Name: config})
		return i
	}
	claim := func(namespace string) map[string]string {
		return map[string]string{tenancy.LabelClaimNamespace: namespace}
	}
	labels := map[string]string{"team": "b"}
	cases := map[string]struct {
		reason string
		image  resource.Managed
		unread bool
		want   string
	}{
		"Claim":      {reason: "A claim tells the namespace.", image: of("site", claim("team-a")), want: "team-a."},
		"Selected":   {reason: "A namespace may be the tenant's by its labels.", image: of("site", claim("labelled")), want: "labelled."},
		"Unread":     {reason: "Labels that cannot be read tell no tenant.", image: of("site", claim("labelled")), unread: true},
		"Labels":     {reason: "Labels tell the tenant.", image: of("site", labels), want: "b_site_."},
		"Default":    {reason: "A configuration that stands in for the default one counts by its own name.", image: of("default", labels), want: "b_site_."},
		"Elsewhere":  {reason: "Tenants of one name in two configurations are two.", image: of("other", labels), want: "b_other_."},
		"Operators":  {reason: "Operators choose names themselves.", image: of("site", claim("ops"))},
		"Nobody":     {reason: "What is no tenant's has no files.", image: of("site", claim("other"))},
		"Free":       {reason: "Without tenants the name of the Image counts alone.", image: of("free", claim("team-a"))},
		"Missing":    {reason: "A configuration that is not there has no tenants.", image: of("missing", labels)},
		"Namespaced": {reason: "A namespaced Image has its own namespace before its name.", image: namespacedMachine("team-a", "ClusterProviderConfig", "site")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			site, other := clusterConfig("site"), clusterConfig("other")
			site.Spec.Tenants, other.Spec.Tenants = hosts, hosts
			from := namespacesOf(kube(t, site, other, clusterConfig("free"), &corev1.Namespace{
				ObjectMeta: metav1.ObjectMeta{Name: "labelled", Labels: labels},
			}), tc.unread)
			if got := New(from, WithDefault("site")).Isolation(t.Context(), nil).ImagePrefix(tc.image); got != tc.want {
				t.Errorf("\n%s\nwant %q, got %q", tc.reason, tc.want, got)
			}
		})
	}
}

// TestSameTenant checks that cluster-scoped resources may know of Machines of their own tenant.
func TestSameTenant(t *testing.T) {
	of := func(team, config string) resource.Managed {
		m := clusterMachine(config)
		if team != "" {
			m.SetLabels(map[string]string{tenancy.LabelClaimNamespace: team})
		}
		return m
	}
	cases := map[string]struct {
		reason          string
		by, other       resource.Managed
		tell            v1alpha1.TenantEnforcement
		same, operators bool
		unread, unknown bool
	}{
		"Own": {reason: "Two Machines of one tenant know of each other.", by: of("team-a", "site"), other: of("team-a", "site"), same: true},
		"OwnByLabel": {
			reason: "Tenants are told by labels as by names.",
			by:     labelled(of("", "site"), map[string]string{"team": "b"}), other: of("labelled", "site"), same: true,
		},
		"Others":    {reason: "A Machine of another tenant is not one's own.", by: of("team-a", "site"), other: of("labelled", "site")},
		"Operators": {reason: "A Machine of operators is not a tenant's own.", by: of("team-a", "site"), other: of("ops", "site"), operators: true},
		"OfAll":     {reason: "Operators are told of all.", by: of("ops", "site"), other: of("team-a", "site"), same: true},
		"NoTenant":  {reason: "Resources of no tenant are not of one tenant.", by: of("other", "site"), other: of("another", "site")},
		"Beside": {
			reason: "Machines of a configuration without tenants are of no tenant where another one has tenants.",
			by:     of("team-a", "site"), other: of("team-a", "beside"),
		},
		"Elsewhere": {reason: "Tenants of another configuration do not share the cluster.", by: of("team-a", "site"), other: of("labelled", "elsewhere"), same: true},
		"Missing": {
			reason: "The tenant of a Machine whose configuration does not exist is not known.",
			by:     of("team-a", "site"), other: of("team-a", "missing"), unknown: true,
		},
		"Unread": {
			reason: "A namespace whose labels cannot be read may be of any tenant.",
			by:     of("team-a", "site"), other: of("labelled", "site"), unread: true, unknown: true,
		},
		"Warn": {
			reason: "Where refusals are only shown, all may know of each other.", by: of("team-a", "site"), other: of("labelled", "site"),
			tell: v1alpha1.TenantWarn, same: true,
		},
		"Namespaced": {
			reason: "Namespaced resources name those of their namespaces alone.", by: namespacedMachine("team-a", "ClusterProviderConfig", "site"),
			other: namespacedMachine("team-a", "ClusterProviderConfig", "site"), same: true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			site, beside, elsewhere := clusterConfig("site"), clusterConfig("beside"), clusterConfig("elsewhere")
			for _, c := range []*cluster.ProviderConfig{site, beside, elsewhere} {
				c.Spec.Endpoints = []string{"https://pve1.example.com:8006"}
			}
			elsewhere.Spec.Endpoints = []string{"https://pve9.example.com:8006"}
			site.Spec.Tenants, site.Spec.TenantEnforcement = teams(), &tc.tell
			k := namespacesOf(kube(t, site, beside, elsewhere, &corev1.Namespace{
				ObjectMeta: metav1.ObjectMeta{Name: "labelled", Labels: map[string]string{"team": "b"}},
			}), tc.unread)
			isolation := New(k).Isolation(t.Context(), nil)
			if same, operators := isolation.SameTenant(tc.by, tc.other); same != tc.same || operators != tc.operators {
				t.Errorf("\n%s\nwant %t and %t, got %t and %t", tc.reason, tc.same, tc.operators, same, operators)
			}
			want := !tc.same && !tc.operators && !tc.unknown
			if got := isolation.OtherTenant(tc.by, tc.other); got != want {
				t.Errorf("\n%s\nwant it known to be another tenant: %t, got %t", tc.reason, want, got)
			}
		})
	}
}

// TestVolumeRecordCounts checks that a record of a Volume counts if the provider has signed it, and not if it may be forged.
func TestVolumeRecordCounts(t *testing.T) {
	const record = `{"volume":"ceph:vm-100-disk-0"}`
	key := []byte(strings.Repeat("k", recordKeySize))
	volume := func(namespace, kind, config string) *namespaced.Volume {
		v := &namespaced.Volume{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "data", UID: "uid-volume"}}
		v.SetProviderConfigReference(&xpv2.ProviderConfigReference{Kind: kind, Name: config})
		v.SetAnnotations(map[string]string{tenancy.AnnotationVolume: record})
		return v
	}
	signed := func(v *namespaced.Volume, config string) *namespaced.Volume {
		meta.AddAnnotations(v, map[string]string{
			tenancy.AnnotationVolumeSignature: tenancy.Records{Key: key, Config: config}.SignVolume(v, record),
		})
		return v
	}
	edited := signed(volume("team-a", "ClusterProviderConfig", "site"), "ClusterProviderConfig/site")
	edited.Annotations[tenancy.AnnotationVolume] = `{"volume":"ceph:vm-200-disk-0"}`
	cases := map[string]struct {
		reason     string
		other      *namespaced.Volume
		free, want bool
	}{
		"MadeUp": {reason: "A team may write anything.", other: volume("team-a", "ClusterProviderConfig", "site")},
		"Signed": {
			reason: "The provider has seen it.", want: true,
			other: signed(volume("team-a", "ClusterProviderConfig", "site"), "ClusterProviderConfig/site"),
		},
		"Edited": {reason: "A record that was edited is another one than was signed.", other: edited},
		"Elsewhere": {
			reason: "The record was signed for another configuration.",
			other:  signed(volume("team-a", "ClusterProviderConfig", "site"), "ClusterProviderConfig/x"),
		},
		"Own":       {reason: "A configuration of a namespace makes nobody an operator.", other: volume("team-a", "ProviderConfig", "own")},
		"Home":      {reason: "All in one namespace are of one team.", other: volume("home", "ClusterProviderConfig", "site"), want: true},
		"Operators": {reason: "The record of operators counts for all teams.", other: volume("ops", "ClusterProviderConfig", "site"), want: true},
		"Free":      {reason: "All records count where there are no tenants.", other: volume("team-a", "ClusterProviderConfig", "site"), free: true, want: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			site, own := clusterProviderConfig("site"), namespacedConfigOf("team-a", "own")
			for _, spec := range []*v1alpha1.ProviderConfigSpec{&site.Spec, &own.Spec} {
				spec.Endpoints = []string{"https://pve1.example.com:8006"}
			}
			if !tc.free {
				site.Spec.Tenants = teams()
			}
			s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: recordSecret}, Data: map[string][]byte{recordDataKey: key}}
			isolation := New(kube(t, site, own, s), WithRecordsIn("system")).Isolation(t.Context(), &Connection{Config: &site.Spec})
			by := namespacedMachine("home", "ClusterProviderConfig", "site")
			if got := isolation.VolumeRecordCounts(by, tc.other); got != tc.want {
				t.Errorf("\n%s\nwant %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}

// TestVMRecordCounts checks that a Snapshot counts if the provider has signed that it is about the VM.
func TestVMRecordCounts(t *testing.T) {
	const uuid = "21111111-2222-4333-8444-555555555555"
	key := []byte(strings.Repeat("k", recordKeySize))
	of := func(namespace, config, seen string) *namespaced.Snapshot {
		s := &namespaced.Snapshot{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "s", UID: "uid-snapshot"}}
		s.SetProviderConfigReference(&xpv2.ProviderConfigReference{Kind: "ClusterProviderConfig", Name: config})
		s.Status.AtProvider.VMID, s.Status.AtProvider.VMUUID = new(int32(250)), seen
		return s
	}
	signed := func(s *namespaced.Snapshot) *namespaced.Snapshot {
		tenancy.Records{Key: key, Config: "ClusterProviderConfig/site", Tenant: "a"}.Sign(s)
		return s
	}
	cases := map[string]struct {
		reason     string
		other      *namespaced.Snapshot
		free, want bool
	}{
		"MadeUp":    {reason: "A team may write any status.", other: of("team-a", "site", uuid)},
		"Signed":    {reason: "The provider has seen it.", other: signed(of("team-a", "site", uuid)), want: true},
		"Another":   {reason: "A record that was signed for another VM does not count.", other: signed(of("team-a", "site", "b"+uuid[1:]))},
		"Home":      {reason: "All resources in one namespace are of one team.", other: of("home", "site", ""), want: true},
		"Operators": {reason: "The status of operators' resources counts.", other: of("ops", "site", ""), want: true},
		"Free":      {reason: "The status of all resources counts where there are no tenants.", other: of("team-a", "site", ""), free: true, want: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			site := clusterProviderConfig("site")
			if site.Spec.Endpoints = []string{"https://pve1.example.com:8006"}; !tc.free {
				site.Spec.Tenants = teams()
			}
			s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: recordSecret}, Data: map[string][]byte{recordDataKey: key}}
			to := &Connection{Name: "ClusterProviderConfig/site", Config: &site.Spec, Records: tenancy.Records{Key: key, Config: "ClusterProviderConfig/site"}}
			by := namespacedMachine("home", "ClusterProviderConfig", "site")
			isolation := New(kube(t, site, s), WithRecordsIn("system")).Isolation(t.Context(), to)
			if got := isolation.VMRecordCounts(by, tc.other, uuid); got != tc.want {
				t.Errorf("\n%s\nwant %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}

// TestIsolationLooksOnce checks that the provider configurations are listed only at the first use, and that a namespace that cannot be read is waited
// for once.
func TestIsolationLooksOnce(t *testing.T) {
	site := clusterProviderConfig("site")
	site.Spec.Endpoints = []string{"https://pve1.example.com:8006"}
	site.Spec.Tenants = []v1alpha1.ProviderTenant{{
		Name: "a", NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}, Pools: []string{"a"},
	}}
	lists, namespaces := 0, 0
	from := interceptor.NewClient(kube(t, site), interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			lists++
			return c.List(ctx, list, opts...)
		},
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if _, is := o.(*metav1.PartialObjectMetadata); is {
				namespaces++
				return errors.New("forbidden")
			}
			return c.Get(ctx, key, o, opts...)
		},
	})
	isolation := New(from).Isolation(t.Context(), &Connection{Config: &site.Spec})
	if lists != 0 || namespaces != 0 {
		t.Errorf("want nothing read before it is asked, got %d lists and %d namespaces", lists, namespaces)
	}
	by := namespacedMachine("home", "ClusterProviderConfig", "site")
	by.SetUID("uid-by")
	for range 2 {
		if isolation.SpecCounts(by, nodeIn("team-a", "ClusterProviderConfig", "site")) {
			t.Error("the spec of a resource of no tenant counts")
		}
	}
	if lists != 2 || namespaces != 1 { // One list for each scope.
		t.Errorf("want 2 lists and 1 namespace read, got %d and %d", lists, namespaces)
	}
}

// TestIsolationWithoutConnection checks that without a connection, only specs and records count that would count if tenants shared the cluster.
func TestIsolationWithoutConnection(t *testing.T) {
	key := []byte(strings.Repeat("k", recordKeySize))
	isolation := New(kube(t, clusterProviderConfig("site"), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: recordSecret}, Data: map[string][]byte{recordDataKey: key},
	}), WithRecordsIn("system")).Isolation(t.Context(), nil)
	by, other := namespacedMachine("home", "ClusterProviderConfig", "site"), namespacedMachine("team-a", "ClusterProviderConfig", "site")
	by.SetUID("uid-by")
	for what, counts := range map[string]bool{
		"spec": isolation.SpecCounts(by, other), "annotations": isolation.AnnotationsCount(other), "volume": isolation.VolumeRecordCounts(by, other),
		"VM": isolation.VMRecordCounts(by, other, "21111111-2222-4333-8444-555555555555"), "guest": isolation.GuestCounts(other, proxmox.Guest{VMID: 100}),
	} {
		if counts {
			t.Errorf("the %s of a resource counts without a connection", what)
		}
	}
	if same, _ := isolation.SameTenant(clusterMachine("site"), clusterMachine("site")); !same {
		t.Error("two Machines are kept apart although no configuration has tenants")
	}
}
