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
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
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
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
)

const (
	// Namespace of the namespaced resources, and of the Secrets.
	namespace = "team"

	// pveConfig is the name of the provider configs.
	pveConfig = "pve"
)

// certificates are shared, because creating them takes long.
//
//nolint:gochecknoglobals // See above.
var certificates = sync.OnceValues(func() (*simulator.Certificates, error) { return simulator.NewCertificates(time.Now()) })

// scopes returns both scopes, by name.
func scopes() map[string]kind.Scope {
	all := []v1alpha1.Kinds{cluster.Kinds(), namespaced.Kinds()}
	return map[string]kind.Scope{
		"Cluster":    {GroupVersion: cluster.SchemeGroupVersion, Kinds: all[0], All: all},
		"Namespaced": {GroupVersion: namespaced.SchemeGroupVersion, Kinds: all[1], All: all},
	}
}

// Scopes returns both scopes, by name.
func Scopes() map[string]kind.Scope { return scopes() }

// Simulate simulates a cluster in which the user of the provider has all privileges.
func Simulate(t *testing.T, version string) Simulator {
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
	s := Simulator{T: t, Server: simulatortest.NewTest(t, simulator.Options{Scenario: scenario, Version: version, Certificates: certs})}
	s.Client, err = proxmox.New(proxmox.Config{
		Endpoints: []string{s.URL()}, TLS: proxmox.TLS{CA: s.CA()},
		Credentials: proxmox.Credentials{Username: "root@pam", Password: simulatortest.RootPassword},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Client.Close)
	return s
}

// Serve serves a Kubernetes API with a provider config of each scope that leads to the cluster.
func Serve(s Simulator) client.WithWatch {
	s.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, apis.AddToScheme} {
		s.Must(add(scheme))
	}
	b := fake.NewClientBuilder().WithScheme(scheme)
	for _, scope := range scopes() {
		for name := range scope.Kinds {
			b = b.WithStatusSubresource(scope.Identity(name).Object)
		}
		b = b.WithIndex(scope.Identity("Machine").Object, object.ClaimIndex, object.Claims)
	}
	kube := b.Build()
	for _, o := range append(configs(s), secret(pveConfig, map[string]string{
		"tokenID": simulatortest.TestToken, "tokenSecret": simulatortest.TestSecret,
	})) {
		s.Must(kube.Create(s.Context(), o))
	}
	return kube
}

// configs returns the provider configs of both scopes.
func configs(s Simulator) []client.Object {
	spec := v1alpha1.ProviderConfigSpec{
		Endpoints: []string{s.URL()}, TLS: &v1alpha1.ProviderTLS{CACertificate: new(string(s.CA()))},
		Credentials: v1alpha1.ProviderCredentials{SecretRef: &v1alpha1.SecretOptionalKeyReference{SecretReference: v1alpha1.SecretReference{
			Namespace: new(namespace), Name: pveConfig,
		}}},
		Limits: &v1alpha1.ProviderLimits{RequestsPerSecond: new(int32(1000))},
	}
	local := *spec.DeepCopy()
	local.Credentials.SecretRef.Namespace = nil
	return []client.Object{
		&cluster.ProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: pveConfig}, Spec: spec},
		&namespaced.ProviderConfig{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: pveConfig}, Spec: local},
	}
}

// secret returns the secret of the namespace.
func secret(name string, data map[string]string) *corev1.Secret {
	o := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(name)}, Data: map[string][]byte{}}
	for key, value := range data {
		o.Data[key] = []byte(value)
	}
	return o
}

// NewResource returns a resource of a kind of the scope, older than those of higher numbers, that is not in the Kubernetes API yet.
func NewResource(t *testing.T, s kind.Scope, kindName, name string, number int, forProvider string, annotations map[string]string) resource.Managed {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	spec := map[string]any{}
	must(yaml.Unmarshal([]byte(forProvider), &spec))
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"forProvider": spec, "managementPolicies": []any{"*"}, "providerConfigRef": map[string]any{"name": pveConfig, "kind": "ProviderConfig"},
	}}}
	u.SetName(name)
	u.SetUID(types.UID(kindName + name))
	u.SetGeneration(1)
	u.SetAnnotations(annotations)
	u.SetCreationTimestamp(metav1.NewTime(time.Unix(1_700_000_000+int64(number), 0)))
	if s.GroupVersion == namespaced.SchemeGroupVersion {
		u.SetNamespace(namespace)
	} else {
		must(unstructured.SetNestedField(u.Object, "Delete", "spec", "deletionPolicy")) // Its default.
	}
	mg, ok := s.Identity(kindName).Object.DeepCopyObject().(resource.Managed)
	if !ok {
		t.Fatalf("%s is no kind of managed resources", kindName)
	}
	must(runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, mg))
	return mg
}

// Settled returns a function that reports whether the object matches the spec.
func Settled(mg resource.Managed) func() bool {
	return func() bool {
		for _, c := range []xpv2.ConditionType{xpv2.TypeReady, xpv2.TypeSynced, kind.TypeUpToDate} {
			if is := mg.GetCondition(c); is.Status != corev1.ConditionTrue || is.ObservedGeneration != mg.GetGeneration() {
				return false
			}
		}
		return true
	}
}

// Says returns a function that reports whether a condition is False for a reason.
func Says(mg resource.Managed, c xpv2.ConditionType, reason xpv2.ConditionReason, parts ...string) func() bool {
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
