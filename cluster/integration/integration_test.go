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
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/cluster/local/machine"
)

// TestServer tests the life cycles of VMs of both scopes. All share the control plane and the provider.
func TestServer(t *testing.T) {
	t.Parallel()
	s := start(t)
	t.Run("Namespaced", func(t *testing.T) {
		t.Parallel()
		s.testLife(t, machine.NamespacedGroup, "provider-test-namespaced")
	})
	t.Run("ClusterScoped", func(t *testing.T) {
		t.Parallel()
		s.testLife(t, machine.ClusterGroup, "provider-test-cluster")
	})
	t.Run("Snapshot", s.testSnapshot)
	t.Run("Clone", s.testClone)
}

// testLife creates a VM, changes it in several ways, and deletes it.
func (s *suite) testLife(t *testing.T, group, name string) {
	t.Helper()
	m := s.machine(group, name, s.empty())
	s.apply(t, m, "Ready", "Synced", "UpToDate")
	vm := s.placed(t, m)

	declare(t, m, int64(2), "cpu", "cores")
	declare(t, m, "Changed by a test", "description")
	declare(t, m, []any{map[string]any{"name": "system", "size": "2G", "storage": s.Storage}}, "disks")
	s.apply(t, m, "Ready", "Synced", "UpToDate")
	s.has(t, vm, "cores", "2")
	s.has(t, vm, "description", "Changed by a test")
	s.has(t, vm, "scsi0", "size=2G")

	s.change(t, vm, url.Values{"description": {"Changed by hand"}})
	// The token of the tests may not read the cluster's log, which would show such a change at once.
	m.SetAnnotations(map[string]string{"crossplane.io/reconcile-requested-at": time.Now().Format(time.RFC3339Nano)})
	s.apply(t, m)
	s.until(t, func() string { return s.lacksOption(vm, "description", "Changed by a test") })

	declare(t, m, "Running", "powerState")
	s.apply(t, m, "Ready", "Synced", "UpToDate")
	s.isIn(t, vm, "running")
	declare(t, m, "Stopped", "powerState")
	s.apply(t, m, "Ready", "Synced", "UpToDate")
	s.isIn(t, vm, "stopped")

	s.remove(t, m)
	s.isGone(t, vm)
}

// testSnapshot takes a snapshot of a VM and removes it.
func (s *suite) testSnapshot(t *testing.T) {
	t.Parallel()
	m := s.machine(machine.NamespacedGroup, "provider-test-snapshot", s.empty())
	s.apply(t, m, "Ready", "Synced", "UpToDate")
	vm := s.placed(t, m)
	snapshot := object(machine.NamespacedGroup, "Snapshot", "provider-test", map[string]any{
		"forProvider": map[string]any{"machineRef": map[string]any{"name": m.GetName()}},
	})
	s.apply(t, snapshot, "Ready", "Synced")
	s.has(t, vm, "parent", "")
	s.remove(t, snapshot)
	s.remove(t, m)
	s.isGone(t, vm)
}

// testClone clones the given template.
func (s *suite) testClone(t *testing.T) {
	t.Parallel()
	if s.Template == "" {
		t.Skipf("%s is not set", Template)
	}
	var template any = s.Template
	if vmid, err := strconv.ParseInt(s.Template, 10, 32); err == nil {
		template = vmid
	}
	m := s.machine(machine.NamespacedGroup, "provider-test-clone", map[string]any{"template": template, "powerState": "Stopped"})
	s.apply(t, m, "Ready", "Synced", "UpToDate")
	vm := s.placed(t, m)
	s.has(t, vm, "name", "provider-test-clone")
	s.remove(t, m)
	s.isGone(t, vm)
}

func declare(t *testing.T, m *unstructured.Unstructured, value any, path ...string) {
	t.Helper()
	if err := unstructured.SetNestedField(m.Object, value, append([]string{"spec", "forProvider"}, path...)...); err != nil {
		t.Fatal(err)
	}
}

// placed returns the VM of a Machine, after checking that it is in a place for VMs of the tests.
func (s *suite) placed(t *testing.T, m *unstructured.Unstructured) machine.Machine {
	t.Helper()
	now := m.DeepCopy()
	if err := s.Kube.Get(s.ctx, client.ObjectKeyFromObject(m), now); err != nil {
		t.Fatal(err)
	}
	vm := machine.Of(now)
	if !s.Holds(vm.VMID) {
		t.Fatalf("%s: its VMID is outside %d-%d", vm, s.First, s.Last)
	}
	members, err := s.server.members(s.ctx, s.Pool)
	if err != nil || !slices.Contains(members, vm.VMID) {
		t.Fatalf("%s: it is not in pool %q, whose members are %d: %v", vm, s.Pool, members, err)
	}
	return vm
}

// has checks that an option of a VM contains a text.
func (s *suite) has(t *testing.T, vm machine.Machine, option, text string) {
	t.Helper()
	if lacks := s.lacksOption(vm, option, text); lacks != "" {
		t.Error(lacks)
	}
}

func (s *suite) lacksOption(vm machine.Machine, option, text string) string {
	config, err := s.server.config(s.ctx, vm.Node, vm.VMID)
	if err != nil {
		return err.Error()
	}
	if value, ok := config[option]; ok && strings.Contains(fmt.Sprint(value), text) {
		return ""
	}
	return fmt.Sprintf("%s: its %s is %v, want %q", vm, option, config[option], text)
}

// change changes options of a VM without the provider.
func (s *suite) change(t *testing.T, vm machine.Machine, options url.Values) {
	t.Helper()
	if err := s.server.call(s.ctx, fmt.Sprintf("PUT /nodes/%s/qemu/%d/config", vm.Node, vm.VMID), options, nil); err != nil {
		t.Fatal(err)
	}
}

func (s *suite) isIn(t *testing.T, vm machine.Machine, want string) {
	t.Helper()
	var status struct{ Status string }
	if err := s.server.call(s.ctx, fmt.Sprintf("GET /nodes/%s/qemu/%d/status/current", vm.Node, vm.VMID), nil, &status); err != nil {
		t.Fatal(err)
	}
	if status.Status != want {
		t.Errorf("%s: its VM is %s, want %s", vm, status.Status, want)
	}
}

// isGone waits until Proxmox VE does not list a VM any more.
func (s *suite) isGone(t *testing.T, vm machine.Machine) {
	t.Helper()
	s.until(t, func() string {
		all, err := s.server.guests(s.ctx)
		if err != nil {
			return err.Error()
		}
		if slices.Contains(all, vm.VMID) {
			return fmt.Sprintf("VM %d still exists", vm.VMID)
		}
		return ""
	})
}
