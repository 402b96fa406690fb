//go:build integration

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

package integration

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/cluster/local/commands"
	"github.com/vitistack/provider-proxmox/cluster/local/process"
	"github.com/vitistack/provider-proxmox/cluster/local/provider"
	"github.com/vitistack/provider-proxmox/cluster/local/repository"
	"github.com/vitistack/provider-proxmox/cluster/local/supervisor"
)

// Set by TestMain.
var (
	runContext context.Context       //nolint:gochecknoglobals // Nothing else reaches tests from TestMain.
	runDir     string                //nolint:gochecknoglobals // See above.
	checkout   repository.Repository //nolint:gochecknoglobals // See above.
)

// TestMain runs the tests under a supervisor: an interruption ends them like a failure, and what they have created is removed.
func TestMain(m *testing.M) {
	var err error
	if checkout, err = repository.Find("."); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	os.Exit(supervisor.Run(checkout.Runs(), "integration", func(ctx context.Context, dir string) error {
		runContext, runDir = ctx, dir //nolint:fatcontext // It is set once.
		if m.Run() != 0 {
			return errors.New("a test failed")
		}
		return nil
	}))
}

// A suite has a separate control plane, the provider, and the cluster that the environment names.
type suite struct {
	*commands.Environment
	Settings

	ctx    context.Context //nolint:containedctx // It ends when the run does, and every wait with it.
	server *server
	log    string

	mu       sync.Mutex
	machines []*unstructured.Unstructured
}

// start checks that the range is empty and the pool exists, then starts the provider. At the end of the test, everything that the suite has created is
// removed.
func start(t *testing.T) *suite {
	t.Helper()
	settings, err := FromEnvironment(os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	connection, err := provider.FromEnvironment(os.Getenv, os.ReadFile)
	if err != nil {
		t.Fatal(err)
	}
	s := &suite{Settings: settings}
	if s.server, err = newServer(connection); err != nil {
		t.Fatal(err)
	}
	existing, err := s.server.guests(runContext)
	if err == nil {
		err = s.Unused(existing)
	}
	if err == nil {
		_, err = s.server.members(runContext, s.Pool) // The members of the pool are not changed.
	}
	if err != nil {
		t.Fatal(err)
	}
	s.Environment, s.ctx = commands.New(runContext, checkout, runDir, os.Stdout)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, step := range []func(context.Context) error{
		func(ctx context.Context) error { return s.StartControlPlane(ctx) },
		s.InstallCRDs,
		func(ctx context.Context) error { return s.connect(ctx, connection) },
		s.startProvider,
	} {
		if err := step(s.ctx); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { s.cleanUp(t) })
	return s
}

// connect creates the configurations, which assign only VMIDs of the range.
func (s *suite) connect(ctx context.Context, c provider.Connection) error {
	objs, err := c.Objects()
	if err != nil {
		return err
	}
	for _, o := range objs {
		if _, ok := o.Object["spec"]; !ok {
			continue
		}
		if err := unstructured.SetNestedMap(o.Object, map[string]any{"min": s.First, "max": s.Last}, "spec", "vmidRange"); err != nil {
			return err
		}
	}
	return s.Kube.ApplyAll(ctx, objs)
}

func (s *suite) startProvider(ctx context.Context) error {
	p, err := s.StartProvider(ctx)
	if err == nil {
		s.log = p.Log()
	}
	return err
}

// cleanUp deletes all Machines, even after an interruption, and reports which VMs are left.
func (s *suite) cleanUp(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), s.Timeout)
	defer cancel()
	for _, m := range s.machines {
		if err := s.Kube.Delete(ctx, m); client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	}
	for _, m := range s.machines {
		if err := s.poll(ctx, func() string { return s.exists(ctx, m) }); err != nil {
			t.Error(err)
		}
	}
	left, err := s.server.guests(ctx)
	if err != nil {
		t.Error(err)
	}
	for _, vmid := range left {
		if s.Holds(vmid) {
			t.Errorf("VM %d is left: see that it is a test's, then remove it with: qm destroy %d", vmid, vmid)
		}
	}
}

// machine returns a Machine in the pool for the caller to apply. The suite deletes it at the end, whatever happens.
func (s *suite) machine(group, name string, parameters map[string]any) *unstructured.Unstructured {
	fields := map[string]any{"pool": s.Pool, "name": name}
	if s.Node != "" {
		fields["node"] = s.Node
	}
	maps.Copy(fields, parameters)
	u := object(group, "Machine", name, map[string]any{"forProvider": fields})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.machines = append(s.machines, u)
	return u
}

func object(group, kind, name string, spec map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	u.SetAPIVersion(group + "/v1alpha1")
	u.SetKind(kind)
	u.SetName(name)
	if strings.Contains(group, ".m.") {
		u.SetNamespace(provider.DefaultNamespace)
	}
	return u
}

// empty returns parameters of a VM without a source, with the least that a test needs.
func (s *suite) empty() map[string]any {
	parameters := map[string]any{
		"cpu": map[string]any{"cores": int64(1)}, "memory": "256Mi", "powerState": "Stopped",
		"shutdownTimeoutSeconds": int64(5), // An empty disk has no system that would react to a shutdown request.
		"disks":                  []any{map[string]any{"name": "system", "size": "1G", "storage": s.Storage}},
	}
	if s.Bridge != "" {
		parameters["networks"] = []any{map[string]any{"name": "lan", "bridge": s.Bridge}}
	}
	return parameters
}

// apply applies an object and waits until these conditions are true for its present generation.
func (s *suite) apply(t *testing.T, u *unstructured.Unstructured, conditions ...string) {
	t.Helper()
	if err := s.Kube.Apply(s.ctx, u.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	s.until(t, func() string { return s.lacks(u, conditions) })
}

// lacks returns the conditions that an object does not have, or has for an earlier generation.
func (s *suite) lacks(u *unstructured.Unstructured, conditions []string) string {
	now := u.DeepCopy()
	if err := s.Kube.Get(s.ctx, client.ObjectKeyFromObject(u), now); err != nil {
		return err.Error()
	}
	all, _, _ := unstructured.NestedSlice(now.Object, "status", "conditions")
	for _, wanted := range conditions {
		if !slices.ContainsFunc(all, func(c any) bool { return isTrue(c, wanted, now.GetGeneration()) }) {
			return fmt.Sprintf("%s %q: %s is not True: %v", u.GetKind(), u.GetName(), wanted, all)
		}
	}
	return ""
}

func isTrue(c any, wanted string, generation int64) bool {
	fields, _ := c.(map[string]any)
	observed, _ := fields["observedGeneration"].(int64)
	return fields["type"] == wanted && fields["status"] == "True" && observed >= generation
}

// remove deletes an object and waits until it no longer exists.
func (s *suite) remove(t *testing.T, u *unstructured.Unstructured) {
	t.Helper()
	if err := s.Kube.Delete(s.ctx, u); err != nil {
		t.Fatal(err)
	}
	s.until(t, func() string { return s.exists(s.ctx, u) })
}

func (s *suite) exists(ctx context.Context, u *unstructured.Unstructured) string {
	now := u.DeepCopy()
	if err := s.Kube.Get(ctx, client.ObjectKeyFromObject(u), now); apierrors.IsNotFound(err) {
		return ""
	}
	return fmt.Sprintf("%s %q still exists: %v", u.GetKind(), u.GetName(), now.Object["status"])
}

// until waits until missing returns an empty string.
func (s *suite) until(t *testing.T, missing func() string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(s.ctx, s.Timeout)
	defer cancel()
	if err := s.poll(ctx, missing); err != nil {
		t.Fatalf("%v\nthe provider's last lines:\n%s", err, process.LogTail(s.log, 30))
	}
}

func (s *suite) poll(ctx context.Context, missing func() string) error {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		what := missing()
		if what == "" {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%w: %s", context.Cause(ctx), what)
		}
	}
}
