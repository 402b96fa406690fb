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

package transform_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind/transform"
)

// noted returns the annotations of an object that was written by kubectl apply.
func noted() metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: "a", Annotations: map[string]string{corev1.LastAppliedConfigAnnotation: "{}", "theirs": "1"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
	}
}

func TestCached(t *testing.T) {
	lean := metav1.ObjectMeta{Name: "a", Annotations: map[string]string{"theirs": "1"}}
	applied := metav1.ObjectMeta{Name: "a", Annotations: noted().Annotations}
	gone := cache.DeletedFinalStateUnknown{Key: "a", Obj: &cluster.Machine{ObjectMeta: applied}}
	cases := map[string]struct {
		reason    string
		obj, want any
	}{
		"Resource": {
			reason: "Who manages which fields, and what was applied last, nobody asks the cache.",
			obj:    &cluster.Machine{ObjectMeta: noted()}, want: &cluster.Machine{ObjectMeta: lean},
		},
		"Configuration": {
			reason: "What is written as a whole keeps all that an update would take away.",
			obj:    &cluster.ProviderConfig{ObjectMeta: noted()}, want: &cluster.ProviderConfig{ObjectMeta: applied},
		},
		"Unseen": {reason: "What was deleted unseen is in the cache already.", obj: gone, want: gone},
		"Values": {
			reason: "Everything else stays as it is.",
			obj:    machine(t, 1), want: machine(t, 1),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := transform.Cached(tc.obj)
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Errorf("%s\nerror %v, -want, +got:\n%s", tc.reason, err, diff)
			}
		})
	}
}

// The maximum size of a Machine and of its ProviderConfigUsage in the cache, in bytes. With 10,000 of each, that is at most 52 MiB of the 256 MiB
// that the chart allows.
const (
	machineBudget = 4400
	usageBudget   = 1000
)

// TestCachedMemory limits the size in the cache of a running VM with one disk, one network and an agent.
func TestCachedMemory(t *testing.T) {
	cases := map[string]struct {
		make   func(i int) any
		budget uint64
	}{
		"Machine":             {make: func(i int) any { return machine(t, i) }, budget: machineBudget},
		"ProviderConfigUsage": {make: func(i int) any { return providerConfigUsage(t, i) }, budget: usageBudget},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			const n = 1000
			if got := held(t, n, tc.make); got > tc.budget {
				t.Errorf("want at most %d bytes for each, got %d", tc.budget, got)
			} else {
				t.Logf("%d bytes for each", got)
			}
		})
	}
}

// held returns how much memory the cache holds for each of n objects.
func held(t *testing.T, n int, read func(i int) any) uint64 {
	t.Helper()
	all := make([]any, 0, n)
	before := inUse()
	for i := range n {
		o, err := transform.Cached(read(i))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, o)
	}
	after := inUse()
	runtime.KeepAlive(all)
	return (after - before) / uint64(n)
}

// inUse returns the memory that is in use.
func inUse() uint64 {
	var m runtime.MemStats
	for range 2 { // The second collection frees what the first has found to be unshared.
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func decode[T any](t *testing.T, text string, i int) *T {
	t.Helper()
	o := new(T)
	number := strings.NewReplacer("NUMBER", fmt.Sprint(10_000+i), "HEX", fmt.Sprintf("%012x", i))
	if err := json.Unmarshal([]byte(number.Replace(text)), o); err != nil {
		t.Fatal(err)
	}
	return o
}

// machine returns a Machine as the API server sends it.
func machine(t *testing.T, i int) *namespaced.Machine {
	t.Helper()
	return decode[namespaced.Machine](t, machineText, i)
}

func providerConfigUsage(t *testing.T, i int) *namespaced.ProviderConfigUsage {
	t.Helper()
	return decode[namespaced.ProviderConfigUsage](t, usageText, i)
}

const machineText = `{
"apiVersion": "proxmox.m.vitistack.io/v1alpha1", "kind": "Machine",
"metadata": {
  "name": "vm-NUMBER", "namespace": "default", "uid": "11111111-2222-4333-8444-HEX", "resourceVersion": "NUMBER", "generation": 2,
  "creationTimestamp": "2026-11-26T09:00:00Z", "finalizers": ["finalizer.managedresource.crossplane.io"],
  "annotations": {
    "crossplane.io/external-name": "NUMBER", "proxmox.vitistack.io/uuid": "21111111-2222-4333-8444-HEX",
    "proxmox.vitistack.io/node": "pve2", "proxmox.vitistack.io/cluster": "bench"
  }
},
"spec": {
  "providerConfigRef": {"kind": "ClusterProviderConfig", "name": "default"}, "managementPolicies": ["*"],
  "forProvider": {"name": "vm-NUMBER", "template": "linux", "cpu": {"cores": 2}, "memory": "2Gi", "powerState": "Running"}
},
"status": {
  "observedGeneration": 2,
  "atProvider": {
    "vmid": 1, "uuid": "21111111-2222-4333-8444-HEX", "node": "pve2", "phase": "Running", "powerState": "running", "uptimeSeconds": 12345,
    "annotations": {
      "crossplane.io/external-name": "NUMBER", "proxmox.vitistack.io/uuid": "21111111-2222-4333-8444-HEX",
      "proxmox.vitistack.io/node": "pve2", "proxmox.vitistack.io/cluster": "bench"
    },
    "usage": {"cpuPercent": 3, "memoryBytes": 1000000000, "diskReadBytes": 1, "diskWrittenBytes": 1, "observedAt": "2026-11-26T09:00:00Z"},
    "startedAt": "2026-11-26T09:00:00Z", "ipAddresses": ["192.0.2.10"], "cpu": {"cores": 2, "sockets": 1}, "memoryBytes": 2147483648,
    "disks": [{"device": "scsi0", "volume": "ceph:vm-NUMBER-disk-0", "size": "8G"}],
    "cdroms": [{"device": "ide2", "volume": "ceph:vm-NUMBER-cloudinit"}],
    "networks": [{
      "device": "net0", "macAddress": "BC:24:11:0NUMBER", "bridge": "vmbr0", "model": "virtio", "interface": "eth0", "ipAddresses": ["192.0.2.10"]
    }],
    "lastUpdated": "2026-11-26T09:00:00Z"
  },
  "conditions": [
    {"type": "Ready", "status": "True", "reason": "Available", "lastTransitionTime": "2026-11-26T09:00:00Z", "observedGeneration": 2},
    {"type": "Synced", "status": "True", "reason": "ReconcileSuccess", "lastTransitionTime": "2026-11-26T09:00:00Z", "observedGeneration": 2},
    {"type": "UpToDate", "status": "True", "reason": "UpToDate", "lastTransitionTime": "2026-11-26T09:00:00Z", "observedGeneration": 2},
    {"type": "VMCreated", "status": "True", "reason": "Created", "lastTransitionTime": "2026-11-26T09:00:00Z", "observedGeneration": 2},
    {"type": "GuestAgentReady", "status": "True", "reason": "Answers", "lastTransitionTime": "2026-11-26T09:00:00Z", "observedGeneration": 2},
    {"type": "RestartRequired", "status": "False", "reason": "NothingPending", "lastTransitionTime": "2026-11-26T09:00:00Z", "observedGeneration": 2}
  ]
}}`

const usageText = `{
"apiVersion": "proxmox.m.vitistack.io/v1alpha1", "kind": "ProviderConfigUsage",
"metadata": {
  "name": "11111111-2222-4333-8444-HEX", "namespace": "default", "uid": "41111111-2222-4333-8444-HEX", "resourceVersion": "NUMBER",
  "generation": 1, "creationTimestamp": "2026-11-26T09:00:00Z",
  "labels": {"crossplane.io/provider-config": "default", "crossplane.io/provider-config-kind": "ClusterProviderConfig"},
  "ownerReferences": [{
    "apiVersion": "proxmox.m.vitistack.io/v1alpha1", "blockOwnerDeletion": true, "controller": true, "kind": "Machine", "name": "vm-NUMBER",
    "uid": "11111111-2222-4333-8444-HEX"
  }]
},
"providerConfigRef": {"kind": "ClusterProviderConfig", "name": "default"},
"resourceRef": {
  "apiVersion": "proxmox.m.vitistack.io/v1alpha1", "kind": "Machine", "name": "vm-NUMBER", "uid": "11111111-2222-4333-8444-HEX"
}}`
