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
	"maps"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// holdings are the objects of the simulated cluster according to its API, by names such as "VM 100".
type holdings struct {
	vms     map[string]string
	volumes map[string]volume
}

type volume struct {
	// VMID of the VM that the volume belongs to, or 0 if it belongs to none.
	VMID int64
	// Text is all that the API returns about it.
	Text string
}

func nameOf(id int64) string { return fmt.Sprintf("VM %d", id) }

func (s *suite) holdings(t *testing.T) holdings {
	t.Helper()
	h := holdings{vms: map[string]string{}, volumes: map[string]volume{}}
	vms, err := s.simulator.VMs(s.ctx)
	if err != nil {
		t.Fatal(err)
	}
	for id, vm := range vms {
		h.vms[nameOf(id)] = s.describe(t, vm.Node, id)
	}
	for _, node := range names(t, s, "/nodes", "node") {
		for _, storage := range names(t, s, "/nodes/"+node+"/storage", "storage") {
			maps.Copy(h.volumes, s.volumes(t, node, storage))
		}
	}
	return h
}

// describe returns a VM's configuration byte for byte, with its pending changes and its power state.
func (s *suite) describe(t *testing.T, node string, id int64) string {
	t.Helper()
	at := fmt.Sprintf("/nodes/%s/qemu/%d", node, id)
	var status struct{ Status string }
	if err := json.Unmarshal(s.get(t, at+"/status/current"), &status); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("on %s, %s\n%s\n%s", node, status.Status, s.get(t, at+"/config"), s.get(t, at+"/pending"))
}

func (s *suite) volumes(t *testing.T, node, storage string) map[string]volume {
	t.Helper()
	var list []json.RawMessage
	if err := json.Unmarshal(s.get(t, "/nodes/"+node+"/storage/"+storage+"/content"), &list); err != nil {
		t.Fatal(err)
	}
	volumes := map[string]volume{}
	for _, text := range list {
		var v struct {
			Volid, Content string
			VMID           json.Number
		}
		if err := json.Unmarshal(text, &v); err != nil {
			t.Fatal(err)
		}
		id, _ := v.VMID.Int64()
		if v.Content == "backup" {
			id = 0 // It outlives its VM.
		}
		volumes[node+" "+v.Volid] = volume{VMID: id, Text: string(text)}
	}
	return volumes
}

func names(t *testing.T, s *suite, at, field string) []string {
	t.Helper()
	var list []map[string]any
	if err := json.Unmarshal(s.get(t, at), &list); err != nil {
		t.Fatal(err)
	}
	found := make([]string, 0, len(list))
	for _, entry := range list {
		found = append(found, fmt.Sprint(entry[field]))
	}
	return found
}

func (s *suite) get(t *testing.T, at string) json.RawMessage {
	t.Helper()
	var answer struct{ Data json.RawMessage }
	if err := s.simulator.Get(s.ctx, at, &answer); err != nil {
		t.Fatalf("cannot read %s: %v", at, err)
	}
	return answer.Data
}

// sameAs fails unless the cluster has exactly its former content, byte for byte.
func (h holdings) sameAs(t *testing.T, before holdings) {
	t.Helper()
	if diff := cmp.Diff(before, h, cmp.AllowUnexported(holdings{})); diff != "" {
		t.Errorf("the cluster does not hold what it held before: -before, +now:\n%s", diff)
	}
}

// keeps fails unless all of before still exists, byte for byte.
func (h holdings) keeps(t *testing.T, before holdings) {
	t.Helper()
	still := holdings{vms: map[string]string{}, volumes: map[string]volume{}}
	for name := range before.vms {
		still.vms[name] = h.vms[name]
	}
	for name := range before.volumes {
		still.volumes[name] = h.volumes[name]
	}
	still.sameAs(t, before)
}

// noStrays fails if a volume of a VM is not in the configuration of its VM.
func (h holdings) noStrays(t *testing.T) {
	t.Helper()
	for name, v := range h.volumes {
		if v.VMID != 0 && !strings.Contains(h.vms[nameOf(v.VMID)], path.Base(strings.ReplaceAll(name, ":", "/"))) {
			t.Errorf("volume %q is in no configuration of VM %d", name, v.VMID)
		}
	}
}
