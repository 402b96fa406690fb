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

package configtest

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	xpmeta "github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/yaml"

	"github.com/vitistack/provider-proxmox/apis"
	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
)

const (
	namespace = "team"
	pveConfig = "pve"

	// longest that a state may take to be reached.
	longest = 20 * time.Second
)

// certificates are shared, since new ones take long.
//
//nolint:gochecknoglobals // See above.
var certificates = sync.OnceValues(func() (*simulator.Certificates, error) { return simulator.NewCertificates(time.Now()) })

// An env is one simulated cluster, one Kubernetes API, and a provider that lives and
// dies.
type env struct {
	*testing.T

	kind  Kind
	scope kind.Scope
	pve   *simulator.Server
	root  *proxmox.Client
	kube  client.WithWatch

	process *process
	fatal   int // The side effect that the next provider dies of.
	deaths  int
	last    error
}

// scopes are both, by name.
func scopes() map[string]kind.Scope {
	all := []v1alpha1.Kinds{cluster.Kinds(), namespaced.Kinds()}
	return map[string]kind.Scope{
		"Cluster":    {GroupVersion: cluster.SchemeGroupVersion, Kinds: all[0], All: all},
		"Namespaced": {GroupVersion: namespaced.SchemeGroupVersion, Kinds: all[1], All: all},
	}
}

func newEnv(t *testing.T, k Kind, s kind.Scope, version string) *env {
	t.Helper()
	scenario, err := simulator.Quickstart()
	if err != nil {
		t.Fatal(err)
	}
	scenario.ACL = append(scenario.ACL, simulator.ScenarioGrant{Path: "/", User: "crossplane@pve", Roles: []string{"Administrator"}})
	certs, err := certificates()
	if err != nil {
		t.Fatal(err)
	}
	e := &env{T: t, kind: k, scope: s}
	e.pve = simulatortest.NewTest(t, simulator.Options{Scenario: scenario, Version: version, Certificates: certs})
	e.root, err = proxmox.New(proxmox.Config{
		Endpoints: []string{e.pve.URL()}, TLS: proxmox.TLS{CA: e.pve.CA()},
		Credentials: proxmox.Credentials{Username: "root@pam", Password: simulatortest.RootPassword},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.root.Close)
	e.serve()
	t.Cleanup(func() {
		if e.process != nil {
			e.process.cancel()
		}
	})
	if k.Prepare != nil {
		k.Prepare(e.Simulator())
	}
	return e
}

// serve a Kubernetes API with the configuration and what the kind needs.
func (e *env) serve() {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, apis.AddToScheme} {
		if err := add(s); err != nil {
			e.Fatal(err)
		}
	}
	b := fake.NewClientBuilder().WithScheme(s)
	for _, scope := range scopes() {
		for name := range scope.Kinds {
			b = b.WithStatusSubresource(scope.Identity(name).Object)
		}
	}
	e.kube = b.Build()
	secret := func(name string, data map[string]string) *corev1.Secret {
		o := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(name)}, Data: map[string][]byte{}}
		for key, value := range data {
			o.Data[key] = []byte(value)
		}
		return o
	}
	spec := v1alpha1.ProviderConfigSpec{
		Endpoints: []string{e.pve.URL()}, TLS: &v1alpha1.ProviderTLS{CACertificate: new(string(e.pve.CA()))},
		Credentials: v1alpha1.ProviderCredentials{SecretRef: &v1alpha1.SecretOptionalKeyReference{SecretReference: v1alpha1.SecretReference{
			Namespace: new(namespace), Name: pveConfig,
		}}},
		Limits: &v1alpha1.ProviderLimits{RequestsPerSecond: new(int32(1000))},
	}
	local := *spec.DeepCopy()
	local.Credentials.SecretRef.Namespace = nil
	e.create(secret(pveConfig, map[string]string{"tokenID": simulatortest.TestToken, "tokenSecret": simulatortest.TestSecret}))
	for name, data := range e.kind.Secrets {
		e.create(secret(name, data))
	}
	e.create(&cluster.ProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: pveConfig}, Spec: spec})
	e.create(&namespaced.ProviderConfig{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: pveConfig}, Spec: local})
}

func (e *env) create(o client.Object) {
	e.Helper()
	if err := e.kube.Create(e.Context(), o); err != nil {
		e.Fatal(err)
	}
}

// Simulator is the simulated cluster with a client that may do everything, as what
// others do there is done.
func (e *env) Simulator() Simulator { return Simulator{T: e.T, Server: e.pve, Client: e.root} }

// resource makes a resource of the kind, older than those of higher numbers.
func (e *env) resource(number int, forProvider string, annotations map[string]string) resource.Managed {
	e.Helper()
	spec := map[string]any{}
	if err := yaml.Unmarshal([]byte(forProvider), &spec); err != nil {
		e.Fatal(err)
	}
	name := fmt.Sprintf("%s-%d", strings.ToLower(e.kind.Kind), number)
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"forProvider": spec, "managementPolicies": []any{"*"}, "providerConfigRef": map[string]any{"name": pveConfig, "kind": "ProviderConfig"},
	}}}
	u.SetName(name)
	u.SetUID(types.UID(name))
	u.SetGeneration(1)
	u.SetAnnotations(annotations)
	u.SetCreationTimestamp(metav1.NewTime(time.Unix(1_700_000_000+int64(number), 0)))
	mg, ok := e.scope.Identity(e.kind.Kind).Object.DeepCopyObject().(resource.Managed)
	if !ok {
		e.Fatalf("%s is no kind of managed resources", e.kind.Kind)
	}
	if e.scope.GroupVersion == namespaced.SchemeGroupVersion {
		u.SetNamespace(namespace)
	} else if err := unstructured.SetNestedField(u.Object, "Delete", "spec", "deletionPolicy"); err != nil { // Its default.
		e.Fatal(err)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, mg); err != nil {
		e.Fatal(err)
	}
	e.create(mg)
	return mg
}

// reconcile a resource once, by a provider that is alive, and read it again. It reports
// whether the resource is still there.
func (e *env) reconcile(mg resource.Managed) bool {
	e.Helper()
	if e.process == nil {
		e.process = start(e.T, e.kube, e.kind.Setup, e.scope, e.fatal)
	}
	key := client.ObjectKeyFromObject(mg)
	if err := e.process.reconcile(key); err != nil {
		e.last = err
	}
	if e.process.isDead() {
		e.process, e.fatal = nil, 0
		e.deaths++
	}
	return e.read(mg)
}

func (e *env) read(mg resource.Managed) bool {
	e.Helper()
	err := e.kube.Get(context.Background(), client.ObjectKeyFromObject(mg), mg)
	if err != nil && !kerrors.IsNotFound(err) {
		e.Fatal(err)
	}
	return err == nil
}

// until something holds, the provider reconciles the resource.
func (e *env) until(mg resource.Managed, what string, holds func() bool) {
	e.Helper()
	for end := time.Now().Add(longest); time.Now().Before(end); <-time.After(2 * time.Millisecond) {
		there := e.reconcile(mg)
		if there && holds() || !there && what == gone {
			return
		}
		e.age(mg)
	}
	e.Fatalf("never happened: %s\nlast error: %v\n%s", what, e.last, e.describe(mg))
}

const gone = "the resource is gone"

// age a resource whose object was created, so that it is not taken for too young to be
// seen.
func (e *env) age(mg resource.Managed) {
	created := xpmeta.GetExternalCreateSucceeded(mg)
	if created.IsZero() || time.Since(created) > time.Minute || !e.read(mg) {
		return
	}
	xpmeta.SetExternalCreateSucceeded(mg, created.Add(-time.Hour))
	xpmeta.SetExternalCreatePending(mg, created.Add(-2*time.Hour))
	if err := e.kube.Update(context.Background(), mg); err != nil && !kerrors.IsConflict(err) {
		e.Fatal(err)
	}
}

// settled reports whether the object is as the spec asks.
func settled(mg resource.Managed) func() bool {
	return func() bool {
		for _, c := range []xpv2.ConditionType{xpv2.TypeReady, xpv2.TypeSynced, kind.TypeUpToDate} {
			if is := mg.GetCondition(c); is.Status != corev1.ConditionTrue || is.ObservedGeneration != mg.GetGeneration() {
				return false
			}
		}
		return true
	}
}

// says reports whether a condition is False for a reason.
func says(mg resource.Managed, c xpv2.ConditionType, reason xpv2.ConditionReason, parts ...string) func() bool {
	return func() bool {
		is := mg.GetCondition(c)
		for _, part := range parts {
			if !strings.Contains(is.Message, part) {
				return false
			}
		}
		return is.Status == corev1.ConditionFalse && is.Reason == reason
	}
}

// edit the spec as a user does.
func (e *env) edit(mg resource.Managed, forProvider string) {
	e.Helper()
	e.read(mg)
	u, err := runtime.DefaultUnstructuredConverter.ToUnstructured(mg)
	if err != nil {
		e.Fatal(err)
	}
	spec := map[string]any{}
	if err := yaml.Unmarshal([]byte(forProvider), &spec); err != nil {
		e.Fatal(err)
	}
	if err := unstructured.SetNestedMap(u, spec, "spec", "forProvider"); err != nil {
		e.Fatal(err)
	}
	generation := mg.GetGeneration() + 1
	empty, _ := e.scope.Identity(e.kind.Kind).Object.DeepCopyObject().(resource.Managed)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u, empty); err != nil {
		e.Fatal(err)
	}
	empty.SetGeneration(generation)
	if err := e.kube.Update(e.Context(), empty); err != nil {
		e.Fatal(err)
	}
	e.read(mg)
}

// change a resource in the API.
func (e *env) change(mg resource.Managed, change func()) {
	e.Helper()
	e.read(mg)
	change()
	if err := e.kube.Update(e.Context(), mg); err != nil {
		e.Fatal(err)
	}
}

func (e *env) delete(mg resource.Managed) {
	e.Helper()
	if err := e.kube.Delete(e.Context(), mg); err != nil {
		e.Fatal(err)
	}
}

// object is the object in Proxmox VE, or nil.
func (e *env) object() *proxmox.Object {
	e.Helper()
	all, err := e.root.Objects(e.Context(), e.kind.Collection)
	if err != nil {
		e.Fatal(err)
	}
	for _, o := range all {
		if o.Name == e.kind.Name {
			return &o
		}
	}
	return nil
}

// writes to Proxmox VE by the provider so far.
func (e *env) writes() []string {
	var all []string
	for _, r := range e.pve.Requests() {
		if r.Method != http.MethodGet && strings.HasPrefix(r.User, "crossplane@pve") {
			all = append(all, r.Method+" "+r.Path)
		}
	}
	return all
}

// has checks the options of the object.
func (e *env) has(want map[string]string) {
	e.Helper()
	o := e.object()
	if o == nil {
		e.Fatalf("%s %q does not exist", e.kind.Collection.Noun, e.kind.Name)
	}
	for option, value := range want {
		if got := o.Values[option]; !same(got, value) {
			e.Errorf("%s %q: %s is %q, want %q", e.kind.Collection.Noun, e.kind.Name, option, got, value)
		}
	}
}

func (e *env) describe(mg resource.Managed) string {
	var b strings.Builder
	raw, _ := yaml.Marshal(mg)
	fmt.Fprintf(&b, "%s\n", raw)
	for _, r := range e.pve.Requests() {
		fmt.Fprintf(&b, "%s %s %v: %d %s\n", r.Method, r.Path, r.Params, r.Status, r.Message)
	}
	return b.String()
}
