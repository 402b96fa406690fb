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

package apis_test

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"

	"github.com/vitistack/provider-proxmox/apis"
)

// The API server that all tests of this package share: starting one takes seconds.
var (
	restConfig *rest.Config  //nolint:gochecknoglobals // Set once by TestMain.
	kube       client.Client //nolint:gochecknoglobals // Set once by TestMain.
)

func TestMain(m *testing.M) {
	ctrllog.SetLogger(logr.Discard())
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		return 1, fmt.Errorf("cannot start an API server: KUBEBUILDER_ASSETS is not set; run \"make test\", which builds one and sets it")
	}
	server := &envtest.Environment{
		CRDDirectoryPaths:     []string{filepath.Join("..", "package", "crds")},
		ErrorIfCRDPathMissing: true,
		CRDInstallOptions:     envtest.CRDInstallOptions{MaxTime: 2 * time.Minute}, // On a busy machine it takes longer than the 10 s of the default.
	}
	stopWhenInterrupted(server)
	cfg, err := server.Start()
	if err != nil {
		_ = server.Stop() // It may run without the definitions.
		return 1, fmt.Errorf("cannot start an API server with the CRDs of package/crds: %w", err)
	}
	restConfig = cfg
	code, err := runWithClient(m, cfg)
	if stop := server.Stop(); err == nil && stop != nil {
		return 1, fmt.Errorf("cannot stop the API server: %w", stop)
	}
	return code, err
}

// stopWhenInterrupted ends the API server when the tests are interrupted. It is in a process group of its own, so that
// Ctrl-C would leave it behind.
func stopWhenInterrupted(server *envtest.Environment) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		_ = server.Stop()
		os.Exit(1)
	}()
}

func runWithClient(m *testing.M, cfg *rest.Config) (int, error) {
	cfg.QPS, cfg.Burst = -1, -1
	cfg.WarningHandler = rest.NoWarnings{}
	scheme := runtime.NewScheme()
	if err := apis.AddToScheme(scheme); err != nil {
		return 1, fmt.Errorf("cannot build the scheme: %w", err)
	}
	c, err := client.New(cfg, client.Options{Scheme: scheme})
	if err != nil {
		return 1, fmt.Errorf("cannot make a client: %w", err)
	}
	kube = client.WithFieldValidation(c, metav1.FieldValidationStrict)
	return m.Run(), nil
}

// A scope is one of the two API groups.
type scope struct {
	group     string
	namespace string
}

func scopes() map[string]scope {
	return map[string]scope{
		"Cluster":    {group: "proxmox.vitistack.io"},
		"Namespaced": {group: "proxmox.m.vitistack.io", namespace: "default"},
	}
}

// object of the scope with a spec in YAML.
func (s scope) object(t *testing.T, kind, spec string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{"spec": parse(t, spec)}}
	u.SetAPIVersion(s.group + "/v1alpha1")
	u.SetKind(kind)
	u.SetNamespace(s.namespace)
	u.SetName("admission")
	return u
}

// machine of the scope with parameters in YAML.
func (s scope) machine(t *testing.T, forProvider string) *unstructured.Unstructured {
	t.Helper()
	u := s.object(t, "Machine", "{}")
	u.Object["spec"] = map[string]any{"forProvider": parse(t, forProvider)}
	return u
}

func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	out := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("cannot parse %q: %v", text, err)
	}
	return out
}

// tryCreate asks the API server whether it would create the object.
func tryCreate(ctx context.Context, o client.Object) error {
	return kube.Create(ctx, o, client.DryRunAll)
}

// wantRefused fails the test unless err is the API server's refusal of invalid input and its message has all parts.
func wantRefused(t *testing.T, reason string, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("\n%s\nwas accepted", reason)
	}
	if !isInvalid(err) {
		t.Fatalf("\n%s\nwant a refusal as invalid, got: %v", reason, err)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("\n%s\nwant a message with %q, got: %v", reason, part, err)
		}
	}
	t.Log(err)
}

func wantAccepted(t *testing.T, reason string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("\n%s\nwas refused: %v", reason, err)
	}
}
