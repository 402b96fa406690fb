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
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
	"github.com/vitistack/provider-proxmox/internal/tenancy/quota"
)

// teams returns two tenants, one of which is selected by labels, and the operators.
func teams() []v1alpha1.ProviderTenant {
	return []v1alpha1.ProviderTenant{
		{Name: "a", Namespaces: []string{"team-a"}, Pools: []string{"a"}, VMIDRange: &v1alpha1.VMIDRange{Min: 200, Max: 299}},
		{
			Name: "b", Pools: []string{"b"},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "b"}},
			ResourceSelector:  &metav1.LabelSelector{MatchLabels: map[string]string{"team": "b"}},
		},
		{Name: "operators", Namespaces: []string{"ops"}, Unrestricted: new(true)},
	}
}

// labelled sets the labels of a Machine.
func labelled(m resource.Managed, labels map[string]string) resource.Managed {
	m.SetLabels(labels)
	return m
}

// poolIn returns a resource of a kind that tenants may not have.
func poolIn(namespace string) resource.Managed {
	p := &namespaced.Pool{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "p", UID: "uid-pool"}}
	p.SetProviderConfigReference(&xpv2.ProviderConfigReference{Kind: "ClusterProviderConfig", Name: "site"})
	return p
}

// keeping sets the namespace of the connection Secret of a cluster-scoped Machine.
func keeping(m resource.Managed, namespace string) resource.Managed {
	if m, is := m.(*cluster.Machine); is {
		m.SetWriteConnectionSecretToReference(&xpv2.SecretReference{Namespace: namespace, Name: "login"})
	}
	return m
}

// wanting sets a pool of a Machine that no tenant may use.
func wanting(m resource.Managed) resource.Managed {
	switch m := m.(type) {
	case *namespaced.Machine:
		m.Spec.ForProvider.Pool = new("elsewhere")
	case *cluster.Machine:
		m.Spec.ForProvider.Pool = new("elsewhere")
	}
	return m
}

func TestTenant(t *testing.T) {
	deleted := func(m resource.Managed) resource.Managed {
		now := metav1.Now()
		m.SetDeletionTimestamp(&now)
		return m
	}
	in := func(namespace string) resource.Managed {
		return namespacedMachine(namespace, "ClusterProviderConfig", "site")
	}
	claimed := func(namespace string) resource.Managed {
		return labelled(clusterMachine("site"), map[string]string{"crossplane.io/claim-namespace": namespace})
	}
	cases := map[string]struct {
		reason   string
		resource resource.Managed
		warn     bool
		tenant   string // Empty for one that may do everything.
		refused  string
	}{
		"Namespace": {reason: "A namespace tells the tenant.", resource: in("team-a"), tenant: "a"},
		"Labels":    {reason: "The labels of a namespace tell the tenant.", resource: in("labelled"), tenant: "b"},
		"Operators": {reason: "Operators are not confined.", resource: wanting(in("ops"))},
		"NoTenant":  {reason: "A resource of no tenant may do nothing.", resource: in("other"), refused: `namespace "other" belongs to no tenant`},
		"OwnLabels": {
			reason:   "Labels of a namespaced resource tell nothing.",
			resource: labelled(in("other"), map[string]string{"team": "b"}),
			refused:  "belongs to no tenant",
		},
		"Gone": {reason: "A namespace that is gone has no labels.", resource: in("gone"), refused: "belongs to no tenant"},
		"Wants": {
			reason: "What is not for the tenant is refused.", resource: wanting(in("team-a")),
			refused: `tenant "a" may not (pools): a VM in pool elsewhere`,
		},
		"Kind": {
			reason:   "Kinds that are not for the tenant are refused.",
			resource: poolIn("team-a"), refused: "(kinds): to have a resource of kind Pool",
		},
		"Deleted":         {reason: "A deletion is not held up by what was asked for.", resource: deleted(wanting(in("team-a"))), tenant: "a"},
		"DeletedNoTenant": {reason: "A deletion is not held up by a tenant that was lost.", resource: deleted(in("other")), tenant: "nobody"},
		"DeletedKind": {
			reason:   "A resource of a refused kind is not looked at, which would show what is not the tenant's.",
			resource: deleted(poolIn("team-a")), refused: "(kinds): to have a resource of kind Pool",
		},
		"DeletedKindOfNoTenant": {
			reason:   "A resource of a refused kind of no tenant is not looked at.",
			resource: deleted(poolIn("other")), refused: "belongs to no tenant",
		},
		"Claim":           {reason: "A claim's namespace tells the tenant.", resource: claimed("team-a"), tenant: "a"},
		"ClaimLabels":     {reason: "Labels of a namespace tell its tenant.", resource: claimed("labelled"), tenant: "b"},
		"ClaimOfNoTenant": {reason: "A claim may belong to no tenant.", resource: claimed("other"), refused: "belongs to no tenant"},
		"Resource": {
			reason:   "The labels of a cluster-scoped resource tell the tenant.",
			resource: labelled(clusterMachine("site"), map[string]string{"team": "b"}),
			tenant:   "b",
		},
		"Unlabelled":   {reason: "A resource without labels is of no tenant.", resource: clusterMachine("site"), refused: "this resource belongs to no tenant"},
		"Warn":         {reason: "A warning refuses nothing.", resource: wanting(in("team-a")), warn: true},
		"WarnNoTenant": {reason: "A warning refuses nothing to a resource of no tenant.", resource: in("other"), warn: true},
		"Beside": {
			reason:   "A configuration beside one with tenants needs tenants.",
			resource: namespacedMachine("team-a", "ClusterProviderConfig", "beside"),
			refused:  "has no tenants, while another of the same cluster has",
		},
		"BesideWarning": {reason: "Unless that only warns.", resource: namespacedMachine("team-a", "ClusterProviderConfig", "beside"), warn: true},
		"BesideCluster": {
			reason:   "A configuration of cluster-scoped resources needs tenants beside one that has them.",
			resource: labelled(clusterMachine("beside"), map[string]string{"crossplane.io/claim-namespace": "team-a"}),
			refused:  `ProviderConfig "beside" has no tenants, while another of the same cluster has`,
		},
		"BesideOperators": {
			reason:   "A configuration has tenants also if its resources are of none, since their labels tell their tenants.",
			resource: clusterMachine("beside"), refused: "has no tenants, while another of the same cluster has",
		},
		"Own": {reason: "A namespace's own configuration has no tenants.", resource: namespacedMachine("team-a", "ProviderConfig", "site")},
		"Secret": {
			reason: "A connection Secret in the namespace of others is refused.", resource: keeping(claimed("team-a"), "kube-system"),
			refused: `tenant "a" may not (namespaces): writeConnectionSecretToRef of namespace "kube-system"`,
		},
		"SecretHere": {reason: "One in the namespace of the claim is fine.", resource: keeping(claimed("team-a"), "team-a"), tenant: "a"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			site, of := clusterProviderConfig("site"), clusterConfig("site")
			for _, c := range []*v1alpha1.ProviderConfigSpec{&site.Spec, &of.Spec} {
				if c.Tenants = teams(); tc.warn {
					c.TenantEnforcement = new(v1alpha1.TenantWarn)
				}
			}
			c := New(kube(
				t, tokenSecretOf("system", "pve"), tokenSecretOf("team-a", "pve"), site, of, clusterProviderConfig("beside"), clusterConfig("beside"),
				namespacedConfigOf("team-a", "site"),
				&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "labelled", Labels: map[string]string{"team": "b"}}},
				&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other"}},
			))
			to, err := c.Connect(t.Context(), tc.resource)
			if tc.refused != "" {
				wantRefusal(t, tc.reason, tc.resource, err, tc.refused)
				return
			}
			if err != nil {
				t.Fatalf("\n%s\n%v", tc.reason, err)
			}
			got := ""
			if to.Tenant != nil {
				got = to.Tenant.Name
				if got == "" {
					got = "nobody"
				}
			}
			if got != tc.tenant {
				t.Errorf("\n%s\nwant tenant %q, got %q", tc.reason, tc.tenant, got)
			}
			shown := tc.resource.GetCondition(v1alpha1.TypeTenantAllowed)
			if warned := shown.Status == corev1.ConditionFalse; warned != (tc.warn && name != "BesideWarning") {
				t.Errorf("\n%s\ncondition: %+v", tc.reason, shown)
			}
			if (to.Warned != nil) != (tc.warn && name != "BesideWarning") {
				t.Errorf("\n%s\nthe tenant that is only warned: %+v", tc.reason, to.Warned)
			}
		})
	}
}

// TestTenantQuotaShown checks that the controller reports what a resource would wait for, if the quota only warns.
func TestTenantQuotaShown(t *testing.T) {
	allowed, waits := xpv2.ConditionReason("Allowed"), v1alpha1.ReasonQuotaExceeded
	cases := map[string]struct {
		reason      string
		resource    resource.Managed
		enforcement v1alpha1.TenantEnforcement
		want        xpv2.ConditionReason
	}{
		"Warns": {reason: "The controller counts again.", resource: namespacedMachine("team-a", "ClusterProviderConfig", "site"), want: waits},
		"Enforced": {
			reason: "What is enforced is not warned of.", resource: namespacedMachine("team-a", "ClusterProviderConfig", "site"), want: allowed,
			enforcement: v1alpha1.TenantRefuse,
		},
		"Refused": {
			reason: "A rule is told before a quota.", resource: wanting(namespacedMachine("team-a", "ClusterProviderConfig", "site")),
			want: v1alpha1.ReasonTenantRefused,
		},
		"Operators": {reason: "Operators have no quota.", resource: namespacedMachine("ops", "ClusterProviderConfig", "site"), want: allowed},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			site := clusterProviderConfig("site")
			site.Spec.Tenants, site.Spec.TenantEnforcement = teams(), new(cmp.Or(tc.enforcement, v1alpha1.TenantWarn))
			c := New(kube(t, tokenSecretOf("system", "pve"), site))
			tenancy.ShowAllowed(tc.resource, &quota.ExceededError{Short: []quota.Shortage{{Name: quota.VMs, More: 1}}})
			if _, err := c.Connect(t.Context(), tc.resource); err != nil {
				t.Fatal(err)
			}
			if got := tc.resource.GetCondition(v1alpha1.TypeTenantAllowed).Reason; got != tc.want {
				t.Errorf("%s\nwant reason %s, got %s", tc.reason, tc.want, got)
			}
		})
	}
}

// wantRefusal compares an error and the conditions that show it.
func wantRefusal(t *testing.T, reason string, mg resource.Managed, err error, want string) {
	t.Helper()
	if !tenancy.IsRefusal(err) || !strings.Contains(err.Error(), want) {
		t.Fatalf("\n%s\nwant %q, got %v", reason, want, err)
	}
	for _, of := range []xpv2.ConditionType{xpv2.TypeReady, xpv2.TypeUpToDate} {
		c := mg.GetCondition(of)
		if c.Status != corev1.ConditionFalse || c.Reason != v1alpha1.ReasonTenantRefused || c.Message != err.Error() {
			t.Errorf("\n%s\n%s: %+v", reason, of, c)
		}
	}
}

// TestTenantWarnedBeside checks that a configuration that only warns refuses if another one for the same cluster refuses.
func TestTenantWarnedBeside(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, endpoint string
		of               v1alpha1.TenantEnforcement // The other configuration.
		reached          bool
		refused          string
	}{
		"Refuses": {
			reason: "Who is refused by one names no other.", of: v1alpha1.TenantRefuse, endpoint: "https://pve1.example.org",
			refused: `tenant "a" may not (pools): a VM in pool elsewhere`,
		},
		"Unknown": {
			reason: "While it is not known whether both are of one cluster, they are.", of: v1alpha1.TenantRefuse, endpoint: "https://127.0.0.1:1", reached: true,
			refused: `tenant "a" may not (pools): a VM in pool elsewhere`,
		},
		"Warns": {reason: "Two that warn refuse nothing.", of: v1alpha1.TenantWarn, endpoint: "https://pve1.example.org"},
		"Other": {reason: "One of a cluster that was never reached changes nothing.", of: v1alpha1.TenantRefuse, endpoint: "https://127.0.0.1:1"},
	} {
		t.Run(name, func(t *testing.T) {
			site, warns := clusterProviderConfig("site"), clusterProviderConfig("warns")
			site.Spec.Tenants, site.Spec.TenantEnforcement, site.Spec.Endpoints = teams(), &tc.of, []string{tc.endpoint}
			if tc.reached {
				site.Status.Version = "9.2.11"
			}
			warns.Spec.Tenants, warns.Spec.TenantEnforcement = teams(), new(v1alpha1.TenantWarn)
			if tc.reached {
				warns.Spec.Endpoints = []string{"https://127.0.0.1:2"}
			}
			c := New(kube(t, tokenSecretOf("system", "pve"), site, warns))
			m := wanting(namespacedMachine("team-a", "ClusterProviderConfig", "warns"))
			to, err := c.Connect(t.Context(), m)
			if tc.refused != "" {
				wantRefusal(t, tc.reason, m, err, tc.refused)
				return
			}
			if err != nil || to.Warned == nil {
				t.Errorf("\n%s\nwant a warning, got %+v, %v", tc.reason, to, err)
			}
		})
	}
}

// TestTenantZones checks that a tenant may use the VNets of its zones.
func TestTenantZones(t *testing.T) {
	cases := map[string]struct {
		reason, answer string
		vnet           string
		deleted        bool
		refused, fails string
	}{
		"Own": {reason: "VNets of a zone of the tenant are its own.", answer: `{"data":[{"vnet":"vn1","zone":"za"},{"vnet":"vn2","zone":"zb"}]}`, vnet: "vn1"},
		"Theirs": {
			reason: "VNets of other zones are not its own.", answer: `{"data":[{"vnet":"vn1","zone":"za"},{"vnet":"vn2","zone":"zb"}]}`,
			vnet: "vn2", refused: "(bridges)",
		},
		"Unknown": {
			reason: "While they are not known, nothing is done.", answer: "403", vnet: "vn1",
			fails: `cannot list the VNets of the SDN zones of tenant "a"`,
		},
		"Deleted": {reason: "What is deleted may be removed.", answer: "403", vnet: "vn1", deleted: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			site := clusterProviderConfig("site")
			site.Spec.Tenants = teams()
			site.Spec.Tenants[0].SDNZones = []string{"za"}
			reach(site, answering(t, tc.answer))
			c := New(kube(t, tokenSecretOf("system", "pve"), site))
			m := namespacedMachine("team-a", "ClusterProviderConfig", "site")
			m.Spec.ForProvider.Networks = []v1alpha1.MachineNetwork{{Name: "lan", Bridge: &tc.vnet}}
			if tc.deleted {
				m.SetDeletionTimestamp(new(metav1.Now()))
			}
			_, err := c.Connect(t.Context(), m)
			switch {
			case tc.refused != "":
				wantRefusal(t, tc.reason, m, err, tc.refused)
			case tc.fails != "":
				if err == nil || tenancy.IsRefusal(err) || !strings.Contains(err.Error(), tc.fails) {
					t.Errorf("\n%s\nwant %q, got %v", tc.reason, tc.fails, err)
				}
			case err != nil:
				t.Errorf("\n%s\n%v", tc.reason, err)
			}
		})
	}
}

// TestTenantVia checks that the permissions of the resource itself count, not those of the one that it connects through.
func TestTenantVia(t *testing.T) {
	of := clusterConfig("site")
	of.Spec.Tenants = teams()
	c := New(kube(t, tokenSecretOf("system", "pve"), of))
	via := labelled(clusterMachine("site"), map[string]string{"crossplane.io/claim-namespace": "ops"})
	mg := labelled(clusterMachine("elsewhere"), map[string]string{"crossplane.io/claim-namespace": "other"})
	if _, err := c.ConnectVia(t.Context(), mg, via); !tenancy.IsRefusal(err) {
		t.Errorf("want a refusal, got %v", err)
	}
}

// The responses of clusters to a request for their name.
const (
	ofLab    = `{"data":[{"type":"cluster","name":"lab","quorate":1,"nodes":1}]}`
	ofOffice = `{"data":[{"type":"cluster","name":"office","quorate":1,"nodes":1}]}`
	ofNode   = `{"data":[{"type":"node","name":"pve1","online":1,"local":1}]}`
)

// TestTenantBesideByName checks that a configuration needs tenants if it reaches the cluster of another one by an address that the other one does not
// name.
func TestTenantBesideByName(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, seen, answer string

		theirs   string // The response of the cluster with tenants; empty if it cannot be reached.
		outdated bool   // Whether its status is from before its endpoints changed.
		never    bool   // Whether it was never reached.

		want, fails string
	}{
		"Same":  {reason: "The name of the cluster tells.", seen: "lab", answer: ofLab, want: "has no tenants, while another of the same cluster has"},
		"Other": {reason: "Another cluster is free.", seen: "lab", answer: ofOffice},
		"Nodes": {
			reason: "Nodes of no cluster are not told apart.", answer: ofNode,
			want: "has no tenants, while another of the same cluster has",
		},
		"NotSeen": {
			reason: "One whose name is not known is asked.", answer: ofLab, theirs: ofLab,
			want: "has no tenants, while another of the same cluster has",
		},
		"NotSeenOther": {reason: "Another cluster is told apart.", answer: ofOffice, theirs: ofLab},
		"NotSeenNode":  {reason: "A node of no cluster is told apart.", answer: ofOffice, theirs: ofNode},
		"Unreachable": {
			reason: "What cannot be told apart is refused.", answer: ofLab,
			fails: "cannot tell whether ClusterProviderConfig \"beside\" is for the cluster of",
		},
		"NeverReached": {reason: "One that was never reached, as by a wrong address, does not stop other clusters.", answer: ofLab, never: true},
		"NeverReachedRefused": {
			reason: "One whose credentials were never right does not either.", answer: ofLab, theirs: "403", never: true,
		},
		"Unreadable": {
			reason: "The name of a cluster that a token may not read is told as the cause.", answer: ofLab, theirs: "403",
			want: "the name of the cluster of ClusterProviderConfig \"site\", which has tenants, cannot be read",
		},
		"Outdated": {
			reason: "What was seen before an edit tells nothing.", seen: "office", outdated: true, answer: ofLab, theirs: ofLab,
			want: "has no tenants, while another of the same cluster has",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, tc.answer, func(*http.Request) {})
			site, beside := clusterProviderConfig("site"), clusterProviderConfig("beside")
			site.Spec.Tenants, site.Status.Cluster = teams(), tc.seen
			site.SetConditions(xpv2.Available().WithObservedGeneration(1))
			if site.Generation = 1; tc.outdated {
				site.Generation = 2
			}
			if !tc.never {
				site.Status.Version = "9.2.11"
			}
			site.Spec.Endpoints = []string{"https://127.0.0.1:1"}
			if tc.theirs != "" {
				reach(site, answering(t, tc.theirs))
			}
			reach(beside, s)
			c := New(kube(t, tokenSecretOf("system", "pve"), site, beside))
			m := namespacedMachine("team-a", "ClusterProviderConfig", "beside")
			_, err := c.Connect(t.Context(), m)
			switch {
			case tc.want != "":
				wantRefusal(t, tc.reason, m, err, tc.want)
			case tc.fails != "":
				if err == nil || tenancy.IsRefusal(err) || !strings.Contains(err.Error(), tc.fails) {
					t.Errorf("\n%s\nwant %q, got %v", tc.reason, tc.fails, err)
				}
			case err != nil:
				t.Errorf("\n%s\n%v", tc.reason, err)
			}
		})
	}
}

// TestTenantBesideEdited edits a configuration with tenants while its cluster is down, and checks that resources of other clusters do not wait, unless
// the configuration may be for another cluster now.
func TestTenantBesideEdited(t *testing.T) {
	const down, other = "https://127.0.0.1:1", "https://127.0.0.2:1"
	for name, tc := range map[string]struct {
		reason, seen string
		endpoints    []string
		then         []string // The endpoints after another edit.
		want, fails  string
	}{
		"Kept":  {reason: "What an endpoint led to, it leads to.", seen: "office", endpoints: []string{other, down}},
		"Moved": {reason: "Other endpoints may be those of any cluster.", seen: "office", endpoints: []string{other}, fails: "cannot tell whether"},
		"Again": {
			reason: "An endpoint that never answered is not trusted after the next edit either.", seen: "office",
			endpoints: []string{other, down}, then: []string{other}, fails: "cannot tell whether",
		},
		"Same": {reason: "The same cluster stays the same.", seen: "lab", endpoints: []string{down}, want: "has no tenants, while another of the same cluster has"},
	} {
		t.Run(name, func(t *testing.T) {
			site, beside := clusterProviderConfig("site"), clusterProviderConfig("beside")
			site.Generation, site.Spec.Tenants, site.Spec.Endpoints = 1, teams(), []string{down}
			site.Status.Cluster, site.Status.Version = tc.seen, "9.2.11"
			site.SetConditions(xpv2.Available().WithObservedGeneration(1))
			reach(beside, serve(t, ofLab, func(*http.Request) {}))
			k := kube(t, tokenSecretOf("system", "pve"), site, beside)
			c, m := New(k), namespacedMachine("team-a", "ClusterProviderConfig", "beside")
			_, _ = c.Connect(t.Context(), m) // The observed names are kept.
			var err error
			for i, endpoints := range [][]string{tc.endpoints, tc.then} {
				if len(endpoints) == 0 {
					break
				}
				if err := k.Get(t.Context(), client.ObjectKeyFromObject(site), site); err != nil {
					t.Fatal(err)
				}
				site.Generation, site.Spec.Endpoints = int64(2+i), endpoints
				if err := k.Update(t.Context(), site); err != nil {
					t.Fatal(err)
				}
				_, err = c.Connect(t.Context(), m)
			}
			switch {
			case tc.want != "":
				wantRefusal(t, tc.reason, m, err, tc.want)
			case tc.fails != "" && (err == nil || tenancy.IsRefusal(err) || !strings.Contains(err.Error(), tc.fails)):
				t.Errorf("%s: want %q, got %v", tc.reason, tc.fails, err)
			case tc.fails == "" && err != nil:
				t.Errorf("%s: %v", tc.reason, err)
			}
		})
	}
}

// answering returns a cluster with the same response to every request, or one that permits nothing.
func answering(t *testing.T, answer string) *httptest.Server {
	t.Helper()
	if answer != "403" {
		return serve(t, answer, func(*http.Request) {})
	}
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	t.Cleanup(s.Close)
	return s
}

// reach sets the endpoint of a configuration to that of a server.
func reach(pc *namespaced.ClusterProviderConfig, s *httptest.Server) {
	pc.Spec.Endpoints, pc.Spec.TLS = []string{s.URL}, &v1alpha1.ProviderTLS{CACertificate: new(pemOf(s))}
}
