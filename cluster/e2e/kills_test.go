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

package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/cluster/local/machine"
)

// Annotations of a Machine that identify its VM.
const (
	externalName = "crossplane.io/external-name"
	uuid         = "proxmox.vitistack.io/uuid"
)

// seedVariable sets the seed of an earlier run, to repeat its moments as far as possible.
const seedVariable = "E2E_SEED"

// testKills kills the provider at random moments while Machines are created, and while they are deleted.
func (s *suite) testKills(t *testing.T) {
	random := rand.New(rand.NewPCG(seed(t), 0))
	before := s.holdings(t)
	var objs []*unstructured.Unstructured
	for i := range 10 {
		objs = append(objs, victim(i))
	}
	keys := s.apply(t, objs)
	s.kills(t, random, func() int { return s.incomplete(keys) })
	s.untilComplete(t, keys)
	now := s.holdings(t)
	now.keeps(t, before)
	now.noStrays(t)
	if got, want := len(now.vms), len(before.vms)+len(keys); got != want {
		t.Errorf("the cluster holds %d VMs, want %d", got, want)
	}
	for _, obj := range objs {
		s.checkIdentity(t, obj)
	}

	for _, obj := range objs {
		s.remove(t, obj)
	}
	s.kills(t, random, func() int { return s.left(keys) })
	s.untilGone(t, keys)
	s.holdings(t).sameAs(t, before)
}

func seed(t *testing.T) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(os.Getenv(seedVariable), 10, 64)
	if err != nil {
		n = rand.Uint64()
	}
	t.Logf("%s=%d", seedVariable, n)
	return n
}

// victim returns one of the Machines: every third is a full clone, and some have a disk that grows.
func victim(i int) *unstructured.Unstructured {
	parameters := map[string]any{"template": "ubuntu-24.04"}
	if i%3 == 1 {
		parameters["clone"] = map[string]any{"full": true, "storage": "ceph"}
	}
	if i%4 == 2 {
		parameters["disks"] = []any{map[string]any{"name": "system", "size": "20G"}}
	}
	return newMachine(fmt.Sprintf("victim-%d", i), parameters)
}

// newMachine returns a Machine in the namespace default.
func newMachine(name string, parameters map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"forProvider": parameters}}}
	u.SetAPIVersion(machine.NamespacedGroup + "/v1alpha1")
	u.SetKind("Machine")
	u.SetNamespace("default")
	u.SetName(name)
	return u
}

func (s *suite) apply(t *testing.T, objs []*unstructured.Unstructured) []machine.Key {
	t.Helper()
	if err := s.Kube.ApplyAll(s.ctx, objs); err != nil {
		t.Fatal(err)
	}
	var keys []machine.Key
	for _, obj := range objs {
		keys = append(keys, machine.KeyOf(obj))
	}
	return keys
}

func (s *suite) remove(t *testing.T, obj *unstructured.Unstructured) {
	t.Helper()
	if err := s.Kube.Delete(s.ctx, obj); err != nil {
		t.Fatal(err)
	}
}

// How often the provider is killed at most, and how long it runs at most until then.
const (
	mostKills   = 20
	longestLife = 1500 * time.Millisecond
)

// kills kills the provider at random moments while Machines remain to be processed, and leaves it running.
func (s *suite) kills(t *testing.T, random *rand.Rand, remaining func() int) {
	t.Helper()
	for n := 0; n < mostKills && remaining() > 0; n++ {
		life := time.Duration(random.Int64N(int64(longestLife)))
		s.pause(t, life)
		t.Logf("killed after %s, %d Machines remain", life.Round(time.Millisecond), remaining())
		s.kill(t)
		// The test does not wait until it is ready, so that it may be killed while it starts.
		s.restart(t, nil)
	}
	s.kill(t)
	s.restart(t, s.spec.Ready)
}

// checkIdentity checks that the VM of a Machine is the one that its annotations name, with its name, its
// UUID and its disk.
func (s *suite) checkIdentity(t *testing.T, obj *unstructured.Unstructured) {
	t.Helper()
	now := obj.DeepCopy()
	if err := s.Kube.Get(s.ctx, client.ObjectKeyFromObject(obj), now); err != nil {
		t.Fatal(err)
	}
	m := machine.Of(now)
	annotations := now.GetAnnotations()
	if got := annotations[externalName]; got != strconv.FormatInt(m.VMID, 10) {
		t.Errorf("%s: the annotation %s is %q", m, externalName, got)
	}
	var config struct{ Name, Smbios1, Scsi0 string }
	if err := json.Unmarshal(s.get(t, fmt.Sprintf("/nodes/%s/qemu/%d/config", m.Node, m.VMID)), &config); err != nil {
		t.Fatal(err)
	}
	if config.Name != obj.GetName() {
		t.Errorf("%s: its VM is named %q", m, config.Name)
	}
	if annotations[uuid] == "" || !strings.Contains(config.Smbios1, "uuid="+annotations[uuid]) {
		t.Errorf("%s: its VM has the SMBIOS %q, want the UUID %q", m, config.Smbios1, annotations[uuid])
	}
	size := "size=8G"
	if _, grown, _ := unstructured.NestedSlice(obj.Object, "spec", "forProvider", "disks"); grown {
		size = "size=20G"
	}
	if !strings.Contains(config.Scsi0, size) {
		t.Errorf("%s: its disk is %q, want %s", m, config.Scsi0, size)
	}
}
