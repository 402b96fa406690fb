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

package crossplane

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/cluster/crossplane/stack"
	"github.com/vitistack/provider-proxmox/cluster/local/kube"
	"github.com/vitistack/provider-proxmox/cluster/local/process"
	"github.com/vitistack/provider-proxmox/cluster/local/repository"
)

// Limits of the waits for what takes Crossplane and the provider seconds, even on a busy machine. The second one is for kubectl.
const (
	maxWait  = 4 * time.Minute
	patience = "--timeout=4m"
)

// A suite is the stack that all steps share.
type suite struct {
	*stack.Stack

	// activation is true if kinds are served once they are activated, as in Crossplane 2.
	activation bool

	ctx context.Context //nolint:containedctx // It ends when the run does, and every wait with it.
	// initial are the simulated cluster's VMs at the start.
	initial []string
}

// start runs a Crossplane in a separate folder.
func start(t *testing.T, name string, core func(repository.Repository) stack.Core) *suite {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("this needs the rights of root, for a network of its own and to run programs of images as their users: run \"make e2e-crossplane\" as root")
	}
	helm := os.Getenv("HELM")
	if helm == "" {
		t.Fatal("HELM is not set: run \"make e2e-crossplane\"")
	}
	dir := filepath.Join(runDir, name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	scenario, err := checkout.ScenarioWith(dir, repository.NetworkRights())
	if err != nil {
		t.Fatal(err)
	}
	s, ctx, err := stack.Start(runContext, stack.Options{
		Checkout: checkout, Dir: dir, Core: core(checkout), Helm: helm, Scenario: scenario, Names: append(hostsOfManifests(), simulatorHost),
	})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		keepLogs(t, dir)
	})
	if err != nil {
		t.Fatal(err)
	}
	all := &suite{Stack: s, ctx: ctx}
	all.initial = all.vmNames(t)
	return all
}

// keepLogs moves the logs of a failed test to a folder where they are kept.
func keepLogs(t *testing.T, dir string) {
	t.Helper()
	logs, _ := filepath.Glob(filepath.Join(dir, "*.log"))
	for _, log := range logs {
		if err := os.Rename(log, filepath.Join(runDir, filepath.Base(dir)+"-"+filepath.Base(log))); t.Failed() && err != nil {
			t.Error(err)
		}
	}
}

// until waits until missing returns an empty string.
func (s *suite) until(t *testing.T, missing func() string) {
	t.Helper()
	deadline := time.NewTimer(maxWait)
	defer deadline.Stop()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		what := missing()
		if what == "" {
			return
		}
		select {
		case <-tick.C:
		case <-s.ctx.Done():
			t.Fatal(context.Cause(s.ctx))
		case <-deadline.C:
			t.Fatalf("after %s: %s\n%s", maxWait, what, s.logs())
		}
	}
}

// logs returns the last lines of every Pod.
func (s *suite) logs() string {
	files, _ := filepath.Glob(filepath.Join(s.Dir, "*-*.log"))
	var text strings.Builder
	for _, file := range files {
		fmt.Fprintf(&text, "---- %s\n%s\n", filepath.Base(file), process.LogTail(file, 15))
	}
	return text.String()
}

// kubectl runs kubectl and returns its output.
func (s *suite) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	output, err := s.RunKubectl(s.ctx, args...)
	if err != nil {
		t.Fatal(err)
	}
	return output
}

// apply applies a manifest of the checkout, or all in a folder, and returns its objects.
func (s *suite) apply(t *testing.T, path string) []*unstructured.Unstructured {
	t.Helper()
	objs := read(t, path)
	s.kubectl(t, "apply", "-f", path)
	return objs
}

// read returns the objects of a manifest of the checkout, or of all in a folder.
func read(t *testing.T, path string) []*unstructured.Unstructured {
	t.Helper()
	from := kube.ReadDir
	if filepath.Ext(path) != "" {
		from = kube.ReadFile
	}
	objs, err := from(checkout.Resolve(path))
	if err != nil {
		t.Fatal(err)
	}
	if len(objs) == 0 {
		t.Fatalf("%s holds no object", path)
	}
	return objs
}

// untilTrue waits until conditions of objects are true.
func (s *suite) untilTrue(t *testing.T, objs []*unstructured.Unstructured, conditions ...string) {
	t.Helper()
	for _, obj := range objs {
		s.until(t, func() string { return s.lacks(obj, conditions) })
	}
}

// lacks reads an object again and returns what it lacks.
func (s *suite) lacks(obj *unstructured.Unstructured, conditions []string) string {
	if err := s.Kube.Get(s.ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
		return err.Error()
	}
	have, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	for _, wanted := range conditions {
		if !holds(have, wanted) {
			return fmt.Sprintf("%s %q is not %s: %v", obj.GetKind(), obj.GetName(), wanted, have)
		}
	}
	return ""
}

func holds(conditions []any, wanted string) bool {
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == wanted && c["status"] == "True" {
			return true
		}
	}
	return false
}

// podLog returns all that a container has logged, or nothing if it has never started.
func (s *suite) podLog(name string) string {
	text, err := os.ReadFile(filepath.Join(s.Dir, name+".log"))
	if err != nil {
		return ""
	}
	return string(text)
}

// object returns an object without content.
func object(apiVersion, kind, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion(apiVersion)
	u.SetKind(kind)
	u.SetName(name)
	return u
}
