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
	"context"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	resourcefake "github.com/crossplane/crossplane-runtime/v2/pkg/resource/fake"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

func TestConnectByReference(t *testing.T) {
	objects := []client.Object{
		tokenSecretOf("system", "pve"),
		tokenSecretOf("team", "pve"),
		clusterConfig("site"),
		namespacedConfigOf("team", "site"),
		clusterProviderConfig("site"),
		clusterProviderConfig("default"),
	}
	cases := map[string]struct {
		reason   string
		resource resource.Managed
		standIn  string
		want     string
		err      string
	}{
		"Cluster": {
			reason:   "A cluster-scoped resource uses the ProviderConfig of its group.",
			resource: clusterMachine("site"),
			want:     "ProviderConfig/site",
		},
		"ClusterMissing": {
			reason:   "A missing configuration is named.",
			resource: clusterMachine("default"),
			err:      `ProviderConfig "default" does not exist`,
		},
		"ClusterDefault": {
			reason:   "The stand-in is used where there is no configuration named default.",
			resource: clusterMachine("default"),
			standIn:  "site",
			want:     "ProviderConfig/site",
		},
		"ClusterNone": {
			reason:   "A resource that names no configuration is like one that names default.",
			resource: clusterMachine(""),
			standIn:  "site",
			want:     "ProviderConfig/site",
		},
		"ClusterNoStandIn": {
			reason:   "A missing stand-in is what the user has to create.",
			resource: clusterMachine(""),
			standIn:  "elsewhere",
			err:      `ProviderConfig "elsewhere" does not exist`,
		},
		"ClusterNoStandInForOthers": {
			reason:   "Nothing stands in for a configuration that is asked for by another name.",
			resource: clusterMachine("other"),
			standIn:  "site",
			err:      `ProviderConfig "other" does not exist`,
		},
		"Namespaced": {
			reason:   "A namespaced resource uses a ProviderConfig of its namespace.",
			resource: namespacedMachine("team", "ProviderConfig", "site"),
			want:     "ProviderConfig/team/site",
		},
		"NamespacedElsewhere": {
			reason:   "A namespaced resource does not use a ProviderConfig of another namespace.",
			resource: namespacedMachine("other", "ProviderConfig", "site"),
			err:      `ProviderConfig "other/site" does not exist`,
		},
		"NamespacedDefault": {
			reason:   "The stand-in is of the same kind and namespace.",
			resource: namespacedMachine("team", "ProviderConfig", "default"),
			standIn:  "site",
			want:     "ProviderConfig/team/site",
		},
		"ClusterProviderConfig": {
			reason:   "A namespaced resource may use a ClusterProviderConfig.",
			resource: namespacedMachine("other", "ClusterProviderConfig", "site"),
			want:     "ClusterProviderConfig/site",
		},
		"ClusterProviderConfigExists": {
			reason:   "Nothing stands in for a configuration named default that exists.",
			resource: namespacedMachine("other", "ClusterProviderConfig", "default"),
			standIn:  "site",
			want:     "ClusterProviderConfig/default",
		},
		"NamespacedNone": {
			reason:   "A namespaced resource that names none uses the ClusterProviderConfig default.",
			resource: namespacedMachine("other", "", ""),
			want:     "ClusterProviderConfig/default",
		},
		"UnknownKind": {
			reason:   "An unknown kind is refused.",
			resource: namespacedMachine("team", "Secret", "site"),
			err:      `spec.providerConfigRef.kind is "Secret": only ProviderConfig and ClusterProviderConfig are known`,
		},
		"UnknownResource": {
			reason:   "A resource of neither scope is refused.",
			resource: &resourcefake.Managed{},
			err:      `cannot find the provider configuration of a *fake.Managed`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := New(kube(t, objects...), WithDefault(tc.standIn))
			got, err := c.Connect(t.Context(), tc.resource)
			if diff := cmp.Diff(tc.err, text(err)); diff != "" {
				t.Errorf("\n%s\nConnect(): -want error, +got error:\n%s", tc.reason, diff)
			}
			if IsConfiguration(err) != (err != nil) {
				t.Errorf("\n%s\nIsConfiguration(): want %t", tc.reason, err != nil)
			}
			if got == nil {
				got = &Connection{}
			}
			if diff := cmp.Diff(tc.want, got.Name); diff != "" {
				t.Errorf("\n%s\nConnect(): -want name, +got name:\n%s", tc.reason, diff)
			}
		})
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestStandInForCluster checks that the replacement is used if the ClusterProviderConfig default does not exist.
func TestStandInForCluster(t *testing.T) {
	c := New(kube(t, tokenSecretOf("system", "pve"), clusterProviderConfig("site")), WithDefault("site"))
	got, err := c.Connect(t.Context(), namespacedMachine("team", "ClusterProviderConfig", "default"))
	if err != nil {
		t.Fatal(err)
	}
	if got.Name != "ClusterProviderConfig/site" {
		t.Errorf("want the stand-in, got %s", got.Name)
	}
}

func TestUsage(t *testing.T) {
	c := kube(t, tokenSecretOf("system", "pve"), clusterConfig("site"), clusterProviderConfig("site"))
	connector := New(c, WithDefault("site"))
	cm, nm := clusterMachine("default"), namespacedMachine("team", "ClusterProviderConfig", "broken")
	if _, err := connector.Connect(t.Context(), cm); err != nil {
		t.Fatal(err)
	}
	if _, err := connector.Connect(t.Context(), nm); err == nil {
		t.Fatal("Connect(): want an error")
	}

	used := &cluster.ProviderConfigUsage{}
	if err := c.Get(t.Context(), client.ObjectKey{Name: string(cm.GetUID())}, used); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(xpv2.Reference{Name: "site"}, used.GetProviderConfigReference()); diff != "" {
		t.Errorf("the configuration that stands in must be recorded: -want, +got:\n%s", diff)
	}
	if diff := cmp.Diff("Machine", used.GetResourceReference().Kind); diff != "" {
		t.Errorf("the resource must be recorded: -want, +got:\n%s", diff)
	}
	if diff := cmp.Diff("default", cm.GetProviderConfigReference().Name); diff != "" {
		t.Errorf("the resource must stay as it is: -want, +got:\n%s", diff)
	}

	broken := &namespaced.ProviderConfigUsage{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "team", Name: string(nm.GetUID())}, broken); err != nil {
		t.Fatal(err)
	}
	want := xpv2.ProviderConfigReference{Kind: "ClusterProviderConfig", Name: "broken"}
	if diff := cmp.Diff(want, broken.GetProviderConfigReference()); diff != "" {
		t.Errorf("a configuration that does not work must be recorded: -want, +got:\n%s", diff)
	}
}

func TestUsageNotRecorded(t *testing.T) {
	c := interceptor.NewClient(kube(t, tokenSecretOf("system", "pve"), clusterConfig("site")), interceptor.Funcs{
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
			return kerrors.NewForbidden(schema.GroupResource{Resource: "providerconfigusages"}, "uid", nil)
		},
	})
	_, err := New(c).Connect(t.Context(), clusterMachine("site"))
	if !kerrors.IsForbidden(err) || IsConfiguration(err) {
		t.Errorf("Connect(): want the error of the Kubernetes API, got: %v", err)
	}
}

func TestUsageNotCachedYet(t *testing.T) {
	c := interceptor.NewClient(kube(t, tokenSecretOf("system", "pve"), clusterConfig("site")), interceptor.Funcs{
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
			return kerrors.NewAlreadyExists(schema.GroupResource{Resource: "providerconfigusages"}, "uid")
		},
	})
	if _, err := New(c).Connect(t.Context(), clusterMachine("site")); err != nil {
		t.Errorf("Connect(): a usage that exists is no error, got: %v", err)
	}
}

// everything refers to Secrets and a ConfigMap of the given namespace.
func everything(namespace string) v1alpha1.ProviderConfigSpec {
	s := specOf(&namespace)
	s.TLS = &v1alpha1.ProviderTLS{
		CACertificateConfigMapRef:  &v1alpha1.SecretKeyReference{Namespace: &namespace, Name: "ca", Key: "ca.crt"},
		ClientCertificateSecretRef: &v1alpha1.SecretReference{Namespace: &namespace, Name: "cert"},
	}
	return s
}

func TestNamespaceIsolation(t *testing.T) {
	parts := everything("system")
	parts.Credentials = v1alpha1.ProviderCredentials{
		Username: ptr.To("root@pam"),
		Password: &v1alpha1.SecretValue{SecretRef: v1alpha1.SecretKeyReference{Namespace: ptr.To("system"), Name: "pw", Key: "pw"}},
	}
	authority := everything("system")
	authority.Credentials.SecretRef.Namespace = nil
	authority.TLS.CACertificateConfigMapRef = nil
	authority.TLS.CACertificateSecretRef = &v1alpha1.SecretKeyReference{Namespace: ptr.To("system"), Name: "ca", Key: "ca.crt"}
	pair := everything("system")
	pair.Credentials.SecretRef.Namespace = nil
	pair.TLS.CACertificateConfigMapRef = nil

	cases := map[string]struct {
		reason string
		spec   v1alpha1.ProviderConfigSpec
		own    []client.Object
		err    string
	}{
		"Credentials": {
			reason: "Credentials of another namespace are out of reach.",
			spec:   everything("system"),
			err:    `cannot use ProviderConfig "team/site": cannot read secret "team/pve": it does not exist`,
		},
		"Password": {
			reason: "A password of another namespace is out of reach.",
			spec:   parts,
			err:    `cannot use ProviderConfig "team/site": cannot read secret "team/pw": it does not exist`,
		},
		"ConfigMap": {
			reason: "A ConfigMap of another namespace is out of reach.",
			spec:   everything("system"),
			own:    []client.Object{tokenSecretOf("team", "pve")},
			err:    `cannot use ProviderConfig "team/site": cannot read config map "team/ca": it does not exist`,
		},
		"Authority": {
			reason: "A certificate in a Secret of another namespace is out of reach.",
			spec:   authority,
			own:    []client.Object{tokenSecretOf("team", "pve")},
			err:    `cannot use ProviderConfig "team/site": cannot read secret "team/ca": it does not exist`,
		},
		"Pair": {
			reason: "A client certificate of another namespace is out of reach.",
			spec:   pair,
			own:    []client.Object{tokenSecretOf("team", "pve")},
			err:    `cannot use ProviderConfig "team/site": cannot read secret "team/cert": it does not exist`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pc := namespacedConfigOf("team", "site")
			pc.Spec = tc.spec
			objects := append([]client.Object{
				pc,
				tokenSecretOf("system", "pve"),
				secretOf("system", "pw", map[string]string{"pw": hidden}),
				secretOf("system", "ca", map[string]string{"ca.crt": hidden}),
				secretOf("system", "cert", map[string]string{"tls.crt": hidden, "tls.key": hidden}),
				&corev1.ConfigMap{
					ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "ca"},
					Data:       map[string]string{"ca.crt": hidden},
				},
			}, tc.own...)
			seen := &reads{}
			_, err := New(spied(kube(t, objects...), seen)).
				Connect(t.Context(), namespacedMachine("team", "ProviderConfig", "site"))
			if diff := cmp.Diff(tc.err, text(err)); diff != "" {
				t.Errorf("\n%s\nConnect(): -want error, +got error:\n%s", tc.reason, diff)
			}
			if len(seen.keys) == 0 {
				t.Errorf("\n%s\nConnect(): want something to be read", tc.reason)
			}
			for _, k := range seen.keys {
				if k.Namespace != "team" {
					t.Errorf("\n%s\nConnect(): %s was read", tc.reason, k)
				}
			}
		})
	}
}

func TestTLSMistakes(t *testing.T) {
	cases := map[string]struct {
		reason string
		tls    v1alpha1.ProviderTLS
		err    string
	}{
		"CA": {
			reason: "Certificates to trust must be PEM.",
			tls:    v1alpha1.ProviderTLS{CACertificate: ptr.To(hidden)},
			err:    `cannot use ProviderConfig "site": cannot use TLS settings: CA bundle has no PEM certificate`,
		},
		"Key": {
			reason: "A Secret with a client certificate needs the key of it.",
			tls: v1alpha1.ProviderTLS{
				ClientCertificateSecretRef: &v1alpha1.SecretReference{Namespace: ptr.To("system"), Name: "half"},
			},
			err: `cannot use ProviderConfig "site": secret "system/half" has no key "tls.key"`,
		},
		"Pair": {
			reason: "Certificate and key must fit.",
			tls: v1alpha1.ProviderTLS{
				ClientCertificateSecretRef: &v1alpha1.SecretReference{Namespace: ptr.To("system"), Name: "cert"},
			},
			err: `cannot use ProviderConfig "site": cannot use TLS settings: client certificate and key are not a PEM pair`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pc := clusterConfig("site")
			pc.Spec.TLS = &tc.tls
			c := New(kube(t, pc, tokenSecretOf("system", "pve"),
				secretOf("system", "half", map[string]string{"tls.crt": hidden}),
				secretOf("system", "cert", map[string]string{"tls.crt": hidden, "tls.key": hidden})))
			_, err := c.Connect(t.Context(), clusterMachine("site"))
			if diff := cmp.Diff(tc.err, text(err)); diff != "" {
				t.Errorf("\n%s\nConnect(): -want error, +got error:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestRequests makes a request through a connection, and checks that all settings of the configuration are applied.
func TestRequests(t *testing.T) {
	type seen struct{ Authorization, Agent string }
	var got seen
	server := serve(t, `{"data":{"version":"9.2","release":"9","repoid":"x"}}`, func(r *http.Request) {
		got = seen{Authorization: r.Header.Get("Authorization"), Agent: r.UserAgent()}
	})

	pc := clusterConfig("site")
	pc.Spec.Endpoints = []string{server.URL}
	pc.Spec.TLS = &v1alpha1.ProviderTLS{CACertificateConfigMapRef: &v1alpha1.SecretKeyReference{
		Namespace: ptr.To("system"), Name: "ca", Key: "ca.crt",
	}}
	ca := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "ca"},
		Data:       map[string]string{"ca.crt": pemOf(server)},
	}
	var calls []proxmox.Call
	c := New(kube(t, pc, ca, tokenSecretOf("system", "pve")),
		WithUserAgent("me/1"), WithObserver(func(c proxmox.Call) { calls = append(calls, c) }))
	connection, err := c.Connect(t.Context(), clusterMachine("site"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := connection.Client.Version(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(seen{Authorization: "PVEAPIToken=u@pve!t1=" + hidden, Agent: "me/1"}, got); diff != "" {
		t.Errorf("request: -want, +got:\n%s", diff)
	}
	if len(calls) != 1 || calls[0].Path != "/version" || calls[0].Status != http.StatusOK {
		t.Errorf("observed: want one call of /version, got: %v", calls)
	}
}

// TestAuthoritiesBeside checks that certificates in the Secret of the credentials are trusted, unless the configuration has some.
func TestAuthoritiesBeside(t *testing.T) {
	server := serve(t, `{"data":{"version":"9.2","release":"9","repoid":"x"}}`, func(*http.Request) {})
	other := serve(t, "", func(*http.Request) {})
	cases := map[string]struct {
		reason string
		beside string
		tls    *v1alpha1.ProviderTLS
		fails  bool
	}{
		"Beside":  {reason: "The Secret has what to trust.", beside: pemOf(server)},
		"Nothing": {reason: "Nobody else knows the authority.", fails: true},
		"Spec":    {reason: "The configuration's own come first.", beside: pemOf(other), tls: &v1alpha1.ProviderTLS{CACertificate: new(pemOf(server))}},
		"Options": {reason: "Other settings of TLS leave it as it is.", beside: pemOf(server), tls: &v1alpha1.ProviderTLS{ServerName: new("example.com")}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pc := clusterConfig("site")
			pc.Spec.Endpoints, pc.Spec.TLS = []string{server.URL}, tc.tls
			credentials := tokenSecretOf("system", "pve")
			if tc.beside != "" {
				credentials.Data["ca.crt"] = []byte(tc.beside)
			}
			connection, err := New(kube(t, pc, credentials)).Connect(t.Context(), clusterMachine("site"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := connection.Client.Version(t.Context()); (err != nil) != tc.fails {
				t.Errorf("\n%s\ngot %v", tc.reason, err)
			}
		})
	}
}

// A bench is a Connector with three configurations, two of which are equivalent.
type bench struct {
	*Connector

	t     *testing.T
	kube  client.WithWatch
	clock *clock
	reads *reads
}

func newBench(t *testing.T) *bench {
	t.Helper()
	server := serve(t, `{"data":[]}`, func(*http.Request) {})
	site, same, other := clusterConfig("site"), clusterProviderConfig("site"), clusterConfig("other")
	for _, spec := range []*v1alpha1.ProviderConfigSpec{&site.Spec, &same.Spec, &other.Spec} {
		spec.Endpoints = []string{server.URL}
		spec.TLS = &v1alpha1.ProviderTLS{CACertificate: ptr.To(pemOf(server))}
	}
	other.Spec.RequestTimeoutSeconds = ptr.To(int32(7))
	b := &bench{t: t, kube: kube(t, tokenSecretOf("system", "pve"), site, same, other), clock: newClock(), reads: &reads{}}
	b.Connector = New(spied(b.kube, b.reads), WithClock(b.clock.Now), WithMaxAge(10*time.Second), withGrace(time.Minute),
		WithInventory(inventory.WithClock(b.clock.Now)))
	return b
}

func (b *bench) connect(mg resource.Managed) *Connection {
	b.t.Helper()
	c, err := b.Connect(b.t.Context(), mg)
	if err != nil {
		b.t.Fatal(err)
	}
	return c
}

// rotate changes the Secret that all configurations use.
func (b *bench) rotate(to string) {
	b.t.Helper()
	s := tokenSecretOf("system", "pve")
	s.Data["tokenSecret"] = []byte(to)
	if err := b.kube.Update(b.t.Context(), s); err != nil {
		b.t.Fatal(err)
	}
}

// swept returns how many connections are left after sweeping.
func (b *bench) swept() int {
	b.sweep(b.t.Context())
	return b.size()
}

func TestSharing(t *testing.T) {
	b := newBench(t)
	first := b.connect(clusterMachine("site"))
	if again := b.connect(clusterMachine("site")); again.Client != first.Client || again.Inventory != first.Inventory {
		t.Error("a configuration that did not change must keep its connection")
	}
	if again := b.connect(clusterMachine("site")); again.Config == first.Config {
		t.Error("each connection must have a configuration of its own")
	}
	if same := b.connect(namespacedMachine("team", "ClusterProviderConfig", "site")); same.Client != first.Client {
		t.Error("configurations that come to the same must share a connection")
	}
	if differs := b.connect(clusterMachine("other")); differs.Client == first.Client {
		t.Error("configurations that differ must not share a connection")
	}
	if len(b.reads.keys) != 1 {
		t.Errorf("the Secret must be read once, got %d times", len(b.reads.keys))
	}
}

func TestRotation(t *testing.T) {
	b := newBench(t)
	first := b.connect(clusterMachine("site"))
	b.rotate("new" + hidden)
	b.clock.Add(9 * time.Second)
	if early := b.connect(clusterMachine("site")); early.Client != first.Client {
		t.Error("a Secret must not be read again before its time")
	}
	b.clock.Add(time.Second)
	if second := b.connect(clusterMachine("site")); second.Client == first.Client || second.Inventory == first.Inventory {
		t.Error("a rotated Secret must lead to a new connection")
	}
}

func TestRotationUndone(t *testing.T) {
	b := newBench(t)
	first := b.connect(clusterMachine("site"))
	for _, to := range []string{"new" + hidden, hidden} {
		b.rotate(to)
		b.clock.Add(10 * time.Second)
		b.connect(clusterMachine("site"))
	}
	b.clock.Add(time.Hour)
	if n := b.swept(); n != 1 {
		t.Errorf("the connection in use must be kept, and no other: want 1, got %d", n)
	}
	if again := b.connect(clusterMachine("site")); again.Client != first.Client {
		t.Error("a connection that came into use again must be kept")
	}
}

func TestClosing(t *testing.T) {
	b := newBench(t)
	shared := namespacedMachine("team", "ClusterProviderConfig", "site")
	first := b.connect(clusterMachine("site"))
	b.connect(shared)
	b.rotate("new" + hidden)
	b.clock.Add(10 * time.Second)
	second := b.connect(clusterMachine("site"))

	b.clock.Add(time.Hour)
	if n := b.swept(); n != 2 {
		t.Errorf("a connection that another configuration uses must be kept: want 2, got %d", n)
	}
	b.connect(shared)
	b.clock.Add(time.Minute - time.Nanosecond)
	if n := b.swept(); n != 2 {
		t.Errorf("a connection that a reconcile may still use must be kept: want 2, got %d", n)
	}
	if _, err := first.Inventory.Nodes(t.Context()); err != nil {
		t.Errorf("it must be open, got: %v", err)
	}
	b.clock.Add(time.Nanosecond)
	if n := b.swept(); n != 1 {
		t.Errorf("a connection out of use must go: want 1 left, got %d", n)
	}
	b.clock.Add(time.Minute) // past what the inventory remembers
	if _, err := first.Inventory.Nodes(t.Context()); err == nil {
		t.Error("a connection out of use must be closed")
	}
	if _, err := second.Inventory.Nodes(t.Context()); err != nil {
		t.Errorf("a connection in use must be open, got: %v", err)
	}
}

func TestDeletedConfiguration(t *testing.T) {
	ctx := t.Context()
	clock := newClock()
	pc := clusterConfig("site")
	c := kube(t, tokenSecretOf("system", "pve"), pc)
	connector := New(c, WithClock(clock.Now), withGrace(time.Minute))
	if _, err := connector.Connect(ctx, clusterMachine("site")); err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(ctx, pc); err != nil {
		t.Fatal(err)
	}
	connector.sweep(ctx)
	clock.Add(time.Minute)
	connector.sweep(ctx)
	if n := len(connector.pool.shared); n != 0 {
		t.Errorf("the connection of a deleted configuration must be closed, got %d", n)
	}
	if n := len(connector.objects.read); n != 0 {
		t.Errorf("contents of Secrets must be forgotten, got %d", n)
	}
}

func TestConcurrently(t *testing.T) {
	connector := New(kube(t, tokenSecretOf("system", "pve"), clusterConfig("site")))
	clients := make([]*proxmox.Client, 16)
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			c, err := connector.Connect(t.Context(), clusterMachine("site"))
			if err != nil {
				t.Errorf("Connect(): %v", err)
				return
			}
			clients[i] = c.Client
		})
	}
	wg.Wait()
	for _, c := range clients {
		if c != clients[0] {
			t.Fatal("Connect(): want one client for all")
		}
	}
}

func TestStart(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	clock := newClock()
	pc := clusterConfig("site")
	c := kube(t, tokenSecretOf("system", "pve"), pc, clusterConfig("other"))
	connector := New(c, WithClock(clock.Now), withGrace(time.Nanosecond))
	connector.sweepEvery = time.Millisecond
	if _, err := connector.Connect(ctx, clusterMachine("site")); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- connector.Start(ctx) }()

	if err := c.Delete(ctx, pc); err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for connector.size() != 0 {
		clock.Add(time.Second)
		<-tick.C
	}
	connection, err := connector.Connect(ctx, clusterMachine("other"))
	if err != nil {
		t.Fatal(err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("Start(): %v", err)
	}
	if n := connector.size(); n != 0 {
		t.Errorf("Start(): everything must be closed at the end, got %d", n)
	}
	if _, err := connection.Inventory.Nodes(t.Context()); err == nil {
		t.Error("Start(): the inventory must be closed at the end")
	}
}

func (c *Connector) size() int {
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	return len(c.pool.shared)
}

func TestFingerprint(t *testing.T) {
	base := proxmox.Config{
		Endpoints:   []string{"https://a", "https://b"},
		Credentials: proxmox.Credentials{Username: "u", Password: "p"},
	}
	differing := map[string]func(*proxmox.Config){
		"Endpoints":     func(c *proxmox.Config) { c.Endpoints = []string{"https://a"} },
		"EndpointOrder": func(c *proxmox.Config) { c.Endpoints = []string{"https://b", "https://a"} },
		"Username":      func(c *proxmox.Config) { c.Credentials.Username = "v" },
		"Password":      func(c *proxmox.Config) { c.Credentials.Password = "q" },
		"Boundary":      func(c *proxmox.Config) { c.Credentials.Username, c.Credentials.Password = "up", "" },
		"TokenID":       func(c *proxmox.Config) { c.Credentials.TokenID = "t" },
		"TokenSecret":   func(c *proxmox.Config) { c.Credentials.TokenSecret = "t" },
		"CA":            func(c *proxmox.Config) { c.TLS.CA = []byte("x") },
		"Certificate":   func(c *proxmox.Config) { c.TLS.Certificate = []byte("x") },
		"Key":           func(c *proxmox.Config) { c.TLS.Key = []byte("x") },
		"ServerName":    func(c *proxmox.Config) { c.TLS.ServerName = "x" },
		"Insecure":      func(c *proxmox.Config) { c.TLS.InsecureSkipVerify = true },
		"Timeout":       func(c *proxmox.Config) { c.Timeout = time.Second },
		"Limits":        func(c *proxmox.Config) { c.Limits.PerSecond = 1 },
	}
	seen := map[fingerprint]string{fingerprintOf(base): "base"}
	for name, change := range differing {
		c := base
		change(&c)
		f := fingerprintOf(c)
		if other, ok := seen[f]; ok {
			t.Errorf("%s: same fingerprint as %s", name, other)
		}
		seen[f] = name
	}
	same := base
	same.Endpoints = slices.Clone(base.Endpoints)
	if fingerprintOf(same) != fingerprintOf(base) {
		t.Error("equal configurations must have equal fingerprints")
	}
}
