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

package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// maxWait limits each wait, even on a slow computer.
const maxWait = 5 * time.Minute

// TestRun runs the program on a real API server, which serves the kinds only after the program has started.
func TestRun(t *testing.T) {
	env, o := apiServer(t)
	o.MetricsBindAddress, o.HealthProbeBindAddress = freeAddress(t), freeAddress(t)
	o.LeaderElection, o.LeaderElectionNamespace = true, "default"
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, o) }()

	eventually(t, "the provider is ready without any of its kinds", func() bool {
		return get(o.HealthProbeBindAddress, "/healthz") == "ok" && get(o.HealthProbeBindAddress, "/readyz") == "ok"
	})
	kube := install(t, env)
	for name, u := range users() {
		t.Run(name, func(t *testing.T) { testUser(t, kube, u) })
	}
	t.Run("Metrics", func(t *testing.T) { testMetrics(t, o.MetricsBindAddress) })

	stop()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("run(): %v", err)
		}
	case <-time.After(maxWait):
		t.Fatal("run(): never ended")
	}
	lease := &coordinationv1.Lease{}
	if err := kube.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: leaseName}, lease); err != nil {
		t.Fatal(err)
	}
	if holder := ptr.Deref(lease.Spec.HolderIdentity, ""); holder != "" {
		t.Errorf("the lease must be given back at the end, got holder %q", holder)
	}
}

// apiServer starts an API server without any of our kinds.
func apiServer(t *testing.T) (*envtest.Environment, options) {
	t.Helper()
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Fatal(`cannot start an API server: KUBEBUILDER_ASSETS is not set; run "make test", which builds one and sets it`)
	}
	env := &envtest.Environment{ControlPlaneStartTimeout: maxWait, ControlPlaneStopTimeout: maxWait}
	if _, err := env.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Error(err)
		}
	})
	o := defaults()
	o.Kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(o.Kubeconfig, env.KubeConfig, 0o600); err != nil {
		t.Fatal(err)
	}
	return env, o
}

// install installs our kinds, and returns a client that knows them.
func install(t *testing.T, env *envtest.Environment) client.Client {
	t.Helper()
	crds := envtest.CRDInstallOptions{Paths: []string{filepath.Join("..", "..", "package", "crds")}, ErrorIfPathMissing: true, MaxTime: maxWait}
	if _, err := envtest.InstallCRDs(env.Config, crds); err != nil {
		t.Fatal(err)
	}
	s, err := newScheme()
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(env.Config, client.Options{Scheme: s})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// freeAddress returns an address that no program listens on. On systems with more than one loopback address, it has one that no other process uses: on
// the usual one, another program could take the port before the provider does.
func freeAddress(t *testing.T) string {
	t.Helper()
	pid := os.Getpid()
	l, err := net.Listen("tcp", fmt.Sprintf("127.%d.%d.%d:0", 64+pid>>16%64, pid>>8%256, pid%256))
	if err != nil {
		l, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // It listens for nothing.
	return l.Addr().String()
}

// get returns the text of a page, or of an error.
func get(address, path string) string {
	resp, err := http.Get(fmt.Sprintf("http://%s%s", address, path))
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close() //nolint:errcheck // It is only read.
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	end := time.After(maxWait)
	for !condition() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("never happened: %s", what)
		}
	}
}

func spec(namespace *string) v1alpha1.ProviderConfigSpec {
	return v1alpha1.ProviderConfigSpec{
		Endpoints: []string{"https://127.0.0.1:1"},
		Credentials: v1alpha1.ProviderCredentials{SecretRef: &v1alpha1.SecretOptionalKeyReference{
			SecretReference: v1alpha1.SecretReference{Namespace: namespace, Name: "pve"},
		}},
	}
}

// A user is a Machine that uses a configuration without credentials.
type user struct {
	config  resource.ProviderConfig
	machine resource.Managed
	message string
}

func users() map[string]user {
	inCluster := metav1.ObjectMeta{Name: "default"}
	inNamespace := metav1.ObjectMeta{Namespace: "default", Name: "default"}
	own := &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "own"}}
	own.SetProviderConfigReference(&xpv2.ProviderConfigReference{Kind: namespaced.ProviderConfigKind, Name: "default"})
	missing := `cannot read secret "default/pve": it does not exist`
	return map[string]user{
		"Cluster": {
			config:  &cluster.ProviderConfig{ObjectMeta: inCluster, Spec: spec(ptr.To("default"))},
			machine: &cluster.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m"}},
			message: `cannot use ProviderConfig "default": ` + missing,
		},
		"Shared": {
			config:  &namespaced.ClusterProviderConfig{ObjectMeta: inCluster, Spec: spec(ptr.To("default"))},
			machine: &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "shared"}},
			message: `cannot use ClusterProviderConfig "default": ` + missing,
		},
		"Namespaced": {
			config:  &namespaced.ProviderConfig{ObjectMeta: inNamespace, Spec: spec(nil)},
			machine: own,
			message: `cannot use ProviderConfig "default/default": ` + missing,
		},
	}
}

// testUser tests that the Machine reports the error in its configuration, and that the configuration counts its user and cannot be deleted.
func testUser(t *testing.T, kube client.Client, u user) {
	t.Helper()
	read := func(o client.Object) bool { return kube.Get(t.Context(), client.ObjectKeyFromObject(o), o) == nil }
	for _, o := range []client.Object{u.config, u.machine} {
		if err := kube.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the Machine says what is wrong", func() bool {
		return read(u.machine) && strings.Contains(u.machine.GetCondition(xpv2.TypeSynced).Message, u.message)
	})
	eventually(t, "the configuration knows its user", func() bool {
		return read(u.config) && u.config.GetUsers() == 1
	})
	if err := kube.Delete(t.Context(), u.config); err != nil {
		t.Fatal(err)
	}
	eventually(t, "deleting a configuration in use is blocked", func() bool {
		return read(u.config) && u.config.GetCondition("Terminating").Status == corev1.ConditionTrue
	})
}

func testMetrics(t *testing.T, address string) {
	t.Helper()
	for _, want := range []string{
		`(?m)^proxmox_operator_machines_total\{node="",phase="Error"\} 3$`,
		`(?m)^proxmox_operator_errors_total\{controller="managed/machine.proxmox.vitistack.io",error_type="Configuration"\} [1-9]`,
		`(?m)^proxmox_operator_reconciliation_duration_seconds_count\{controller="managed/machine.proxmox.vitistack.io"\} [1-9]`,
		`(?m)^crossplane_managed_resource_first_time_to_reconcile_seconds_count\{gvk="proxmox.vitistack.io/v1alpha1, Kind=Machine"\} 1$`,
		`(?m)^proxmox_cluster_connection_status\{cluster="ProviderConfig/default"\} 0$`,
		`(?m)^proxmox_cluster_connection_status\{cluster="ClusterProviderConfig/default"\} 0$`,
		`(?m)^proxmox_cluster_connection_status\{cluster="ProviderConfig/default/default"\} 0$`,
		`(?m)^proxmox_cluster_nodes_available\{cluster="ProviderConfig/default"\} 0$`,
	} {
		shows := regexp.MustCompile(want)
		eventually(t, "/metrics shows "+want, func() bool { return shows.MatchString(get(address, "/metrics")) })
	}
}
