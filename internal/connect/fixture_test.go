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
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/vitistack/provider-proxmox/apis"
	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// hidden is part of every secret value of these tests, and of no message.
const hidden = "5ec2e7"

func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, apis.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func kube(t *testing.T, objects ...client.Object) client.WithWatch {
	t.Helper()
	return fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(objects...).Build()
}

// reads are the Secrets and ConfigMaps that were read.
type reads struct {
	mu   sync.Mutex
	keys []client.ObjectKey
}

func (r *reads) add(o client.Object, key client.ObjectKey) {
	switch o.(type) {
	case *corev1.Secret, *corev1.ConfigMap:
		r.mu.Lock()
		defer r.mu.Unlock()
		r.keys = append(r.keys, key)
	}
}

func spied(c client.WithWatch, r *reads) client.Client {
	return interceptor.NewClient(c, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			r.add(o, key)
			return c.Get(ctx, key, o, opts...)
		},
	})
}

// A clock that only moves when it is set.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func newClock() *clock { return &clock{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)} }

func secretOf(namespace, name string, data map[string]string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string][]byte{}}
	for k, v := range data {
		s.Data[k] = []byte(v)
	}
	return s
}

// tokenSecretOf returns a Secret with an API token.
func tokenSecretOf(namespace, name string) *corev1.Secret {
	return secretOf(namespace, name, map[string]string{"tokenID": "u@pve!t1", "tokenSecret": hidden})
}

// specOf returns a configuration with the Secret pve of the namespace, or of none.
func specOf(namespace *string) v1alpha1.ProviderConfigSpec {
	return v1alpha1.ProviderConfigSpec{
		Endpoints: []string{"https://pve1.example.org"},
		Credentials: v1alpha1.ProviderCredentials{SecretRef: &v1alpha1.SecretOptionalKeyReference{
			SecretReference: v1alpha1.SecretReference{Namespace: namespace, Name: "pve"},
		}},
	}
}

func clusterConfig(name string) *cluster.ProviderConfig {
	return &cluster.ProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: specOf(ptr.To("system"))}
}

func namespacedConfigOf(namespace, name string) *namespaced.ProviderConfig {
	return &namespaced.ProviderConfig{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: specOf(nil)}
}

func clusterProviderConfig(name string) *namespaced.ClusterProviderConfig {
	return &namespaced.ClusterProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: specOf(ptr.To("system"))}
}

func clusterMachine(config string) *cluster.Machine {
	m := &cluster.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m", UID: types.UID("uid-" + config)}}
	if config != "" {
		m.SetProviderConfigReference(&xpv2.Reference{Name: config})
	}
	return m
}

func namespacedMachine(namespace, kind, config string) *namespaced.Machine {
	m := &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "m", UID: types.UID("uid-" + config)}}
	if config != "" {
		m.SetProviderConfigReference(&xpv2.ProviderConfigReference{Kind: kind, Name: config})
	}
	return m
}

// pemOf returns the certificate of a test server.
func pemOf(s *httptest.Server) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
}

// serve sends the same response to every request, after calling see.
func serve(t *testing.T, answer string, see func(*http.Request)) *httptest.Server {
	t.Helper()
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		see(r)
		w.Header().Set("Content-Type", "application/json")
		if _, err := io.WriteString(w, answer); err != nil {
			t.Errorf("cannot answer: %v", err)
		}
	}))
	t.Cleanup(s.Close)
	return s
}
