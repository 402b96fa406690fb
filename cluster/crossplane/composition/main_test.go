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

// Package composition tests the Configuration of examples/composition: the results of its Compositions for each example, with the real functions, as a
// real API server accepts them.
package composition

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	fnv1 "github.com/crossplane/crossplane/v2/proto/fn/v1"
	"github.com/go-logr/logr"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/vitistack/provider-proxmox/cluster/conditions"
	"github.com/vitistack/provider-proxmox/cluster/local/assets"
	"github.com/vitistack/provider-proxmox/cluster/local/commands"
	"github.com/vitistack/provider-proxmox/cluster/local/repository"
)

// Shared by all tests of this package: starting it takes seconds.
var (
	checkout  repository.Repository //nolint:gochecknoglobals // Set once by TestMain.
	kube      client.Client         //nolint:gochecknoglobals // Set once by TestMain.
	functions map[string]runner     //nolint:gochecknoglobals // Set once by TestMain.

	// kubeconfig is the file that programs use to reach the API server.
	kubeconfig string //nolint:gochecknoglobals // Set once by TestMain.
)

// A runner runs a function like Crossplane.
type runner func(context.Context, *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error)

func TestMain(m *testing.M) {
	ctrllog.SetLogger(logr.Discard())
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		return 1, fmt.Errorf("cannot start an API server: KUBEBUILDER_ASSETS is not set; run \"make e2e-crossplane\", which builds one and sets it")
	}
	if checkout, err = repository.Find("."); err != nil {
		return 1, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	stop, err := startFunction(ctx)
	if err != nil {
		return 1, err
	}
	defer stop()
	server := &envtest.Environment{}
	cfg, err := server.Start()
	if err != nil {
		return 1, fmt.Errorf("cannot start an API server: %w", err)
	}
	defer func() {
		if stop := server.Stop(); err == nil && stop != nil {
			code, err = 1, stop
		}
	}()
	dir, err := os.MkdirTemp("", "composition")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // It is in the folder of temporary files.
	kubeconfig = filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(kubeconfig, server.KubeConfig, 0o600); err != nil {
		return 1, err
	}
	cfg.QPS, cfg.Burst = -1, -1
	if err := install(ctx, cfg); err != nil {
		return 1, err
	}
	c, err := client.New(cfg, client.Options{})
	if err != nil {
		return 1, fmt.Errorf("cannot make a client: %w", err)
	}
	kube = client.WithFieldValidation(c, metav1.FieldValidationStrict)
	if err := makeNamespace(ctx); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// startFunction runs the function of the Compositions without certificates. The function of conditions runs in the tests themselves.
func startFunction(ctx context.Context) (func(), error) {
	dir, err := commands.FunctionAssets(checkout).Build(ctx, assets.PatchAndTransform())
	if err != nil {
		return nil, err
	}
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(dir, assets.Function), "--insecure", "--address", address)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot start the function: %w", err)
	}
	stop := func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		stop()
		return nil, fmt.Errorf("cannot reach the function: %w", err)
	}
	patches := fnv1.NewFunctionRunnerServiceClient(conn)
	// By the names that Crossplane gives the functions that a Configuration depends on.
	functions = map[string]runner{
		"crossplane-contrib-" + assets.Function: func(ctx context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
			return patches.RunFunction(ctx, req, grpc.WaitForReady(true))
		},
		"vitistack-function-proxmox-conditions": conditions.Function{}.RunFunction,
	}
	return stop, nil
}

func freeAddress(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("cannot find a free port: %w", err)
	}
	return l.Addr().String(), l.Close()
}

// callTimeout limits a call of the function, including its start, and the time until definitions are served.
const callTimeout = 4 * time.Minute
