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
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/cluster/local/commands"
	"github.com/vitistack/provider-proxmox/cluster/local/kube"
	"github.com/vitistack/provider-proxmox/cluster/local/machine"
	"github.com/vitistack/provider-proxmox/cluster/local/velero"
)

// testVelero backs up a hundred Machines of both scopes with Velero, and restores them into another cluster with a separate provider, with the commands
// of the document. The provider of the first cluster has ended then. The Machines keep their VMs, and nothing is written to Proxmox VE.
func (s *suite) testVelero(t *testing.T) {
	const count = 100
	before := s.holdings(t)
	store := filepath.Join(s.Dir, "velero-store")
	first, err := velero.Start(s.ctx, s.Environment, store)
	if err != nil {
		t.Fatal(err)
	}
	s.kubectl(t, "create", "namespace", "shop")
	objs := machinesOfShop(count)
	keys := s.apply(t, objs)
	s.untilComplete(t, keys)
	s.velero(t, first, "backup")
	s.schedule(t, first)
	s.kill(t)
	known, last := s.identities(t, objs), s.lastRequest(t)

	other := s.another(t, "velero")
	second, err := velero.Start(other.ctx, other.Environment, store)
	if err != nil {
		t.Fatal(err)
	}
	other.until(t, func() string {
		if out, err := second.Run(other.ctx, "velero backup get machines"); err != nil {
			return out
		}
		return ""
	})
	other.velero(t, second, "restore")
	restored := time.Now()
	other.untilComplete(t, keys)
	t.Logf("all Machines were complete %s after Velero had restored them", time.Since(restored).Round(time.Millisecond))
	if diff := cmp.Diff(known, other.identities(t, objs)); diff != "" {
		t.Errorf("the VMs of the Machines: -backed up, +restored:\n%s", diff)
	}
	s.wroteNothing(t, last)

	if err := other.provider.Stop(); err != nil {
		t.Error(err)
	}
	s.restart(t, s.spec.Ready)
	for _, obj := range objs {
		s.remove(t, obj)
	}
	s.untilGone(t, keys)
	s.holdings(t).sameAs(t, before)
}

// machinesOfShop returns Machines, half of them in the namespace shop. Some are running clones.
func machinesOfShop(count int) []*unstructured.Unstructured {
	var objs []*unstructured.Unstructured
	for i := range count {
		parameters := map[string]any{"template": "ubuntu-24.04"}
		if i%5 > 0 {
			parameters = map[string]any{"powerState": "Stopped", "disks": []any{map[string]any{"name": "root", "size": "1G", "storage": "local-lvm"}}}
		}
		m := newMachine(fmt.Sprintf("velero-%d", i), parameters)
		m.SetNamespace("shop")
		if i%2 > 0 {
			m.SetAPIVersion(machine.ClusterGroup + "/v1alpha1")
			m.SetNamespace("")
		}
		objs = append(objs, m)
	}
	return objs
}

// another starts a further control plane and a provider for the same simulated cluster. It has no configuration.
func (s *suite) another(t *testing.T, folder string) *suite {
	t.Helper()
	o := &suite{simulator: s.simulator, connection: s.connection, machines: map[machine.Key]machine.Machine{}}
	o.Environment, o.ctx = commands.New(s.ctx, checkout, filepath.Join(s.Dir, folder), os.Stdout)
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, step := range []func() error{o.startPlane, o.startFirstProvider, o.follow} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

// velero runs a command of the document, and waits until it has finished.
func (s *suite) velero(t *testing.T, v velero.Velero, command string) {
	t.Helper()
	document, err := os.ReadFile(checkout.Resolve("docs/gitops.md"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(document)) {
		if strings.HasPrefix(line, "velero "+command+" create ") {
			out, err := v.Run(s.ctx, strings.TrimSpace(line)+" --wait")
			if err != nil || !strings.Contains(out, "completed with status: Completed") {
				t.Fatalf("%v\n%s\n%s", err, out, v.Problems(s.ctx))
			}
			return
		}
	}
	t.Fatalf("the document does not tell how to %s", command)
}

// schedule creates a backup like the Schedule of the example does at night.
func (s *suite) schedule(t *testing.T, v velero.Velero) {
	t.Helper()
	objs, err := kube.ReadFile(examples("velero/schedule.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	s.takes(t, objs[0], "A Schedule makes a backup each night.")
	out, err := v.Run(s.ctx, "velero backup create nightly --from-schedule machines --wait")
	if err != nil || !strings.Contains(out, "completed with status: Completed") {
		t.Fatalf("%v\n%s\n%s", err, out, v.Problems(s.ctx))
	}
}

// identities returns the VMID and the UUID of the VM of each Machine.
func (s *suite) identities(t *testing.T, objs []*unstructured.Unstructured) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, obj := range objs {
		now := obj.DeepCopy()
		if err := s.Kube.Get(s.ctx, client.ObjectKeyFromObject(obj), now); err != nil {
			t.Fatal(err)
		}
		id := machine.Of(now).VMID
		all[machine.KeyOf(obj).String()] = fmt.Sprint(id, " ", now.GetAnnotations()[uuid])
	}
	return all
}

func (s *suite) lastRequest(t *testing.T) int {
	t.Helper()
	n, err := s.simulator.LastRequest(s.ctx)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// wroteNothing checks that all requests after one were reads, or logins with the password of another configuration that was restored too.
func (s *suite) wroteNothing(t *testing.T, after int) {
	t.Helper()
	requests, err := s.simulator.Requests(s.ctx, after)
	if err != nil {
		t.Fatal(err)
	}
	if len(requests) == 0 {
		t.Error("nothing was asked")
	}
	for _, r := range requests {
		if r.Method != http.MethodGet && r.Path != "/access/ticket" {
			t.Errorf("want nothing written, got %s %s", r.Method, r.Path)
		}
	}
}
