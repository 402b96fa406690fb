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
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/cluster/crossplane/pods"
)

const (
	loadTest = "load-test"
	// simulatorHost is the host by which Pods reach the simulator of the load test.
	simulatorHost = "pve-simulator." + loadTest + ".svc"
)

// testLoadTest runs the manifests of the load test unchanged, with the image of make simulator-image: the simulator by its Deployment, and then the
// Job, with fewer Machines.
func (s *suite) testLoadTest(t *testing.T) {
	before, last := s.vms(t), s.lastRequest(t)
	if err := s.PushLayout(s.ctx, "vitistack/pve-simulator", "v0.1.0", checkout.Resolve("_output/e2e/pve-simulator")); err != nil {
		t.Fatal(err)
	}
	simulator, job := s.local(t, "simulator.yaml"), s.local(t, "job.yaml")
	s.kubectl(t, "apply", "-f", simulator)
	runner, err := pods.Start(s.ctx, pods.Options{
		Config: s.Kube.Config(), Namespace: loadTest, Dir: filepath.Join(s.Dir, loadTest), Logs: s.Dir, Names: []string{simulatorHost},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := runner.Stop(); err != nil {
			t.Error(err)
		}
	}()
	s.untilAvailable(t, "pve-simulator")
	s.untilTrue(t, []*unstructured.Unstructured{object("proxmox.m.vitistack.io/v1alpha1", "ClusterProviderConfig", loadTest)}, "Ready")

	s.kubectl(t, "apply", "-f", job)
	j := &batchv1.Job{}
	if err := s.Kube.Get(s.ctx, client.ObjectKey{Namespace: loadTest, Name: loadTest}, j); err != nil {
		t.Fatal(err)
	}
	if err := runner.RunJob(s.ctx, j); err != nil {
		t.Fatal(err)
	}
	if log := s.podLog(loadTest + "-" + loadTest); !regexp.MustCompile(`ready    8 in \S+, each p50 \S+, p95 .*\ndeleted  8 in `).MatchString(log) {
		t.Errorf("the log of the Job does not tell of 8 Machines:\n%s", log)
	}
	s.kubectl(t, "delete", patience, "-f", job)
	s.kubectl(t, "delete", patience, "-f", simulator)
	s.untouched(t, before, last)
}

// local returns the path of a manifest of the load test with the local registry, and with 8 Machines.
func (s *suite) local(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(checkout.Resolve(filepath.Join("examples", loadTest, name)))
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.ReplaceAll(text, []byte("ghcr.io/"), []byte(s.Registry+"/"))
	text = bytes.ReplaceAll(text, []byte("--machines=100"), []byte("--machines=8"))
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// untilAvailable waits until the Pod of a Deployment of the load test is ready.
func (s *suite) untilAvailable(t *testing.T, name string) {
	t.Helper()
	d := &appsv1.Deployment{}
	s.until(t, func() string {
		if err := s.Kube.Get(s.ctx, client.ObjectKey{Namespace: loadTest, Name: name}, d); err != nil {
			return err.Error()
		}
		if d.Status.AvailableReplicas == 0 {
			return fmt.Sprintf("Deployment %q is not available:\n%s", name, s.podLog(name+"-simulator"))
		}
		return ""
	})
}
