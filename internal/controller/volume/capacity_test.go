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

package volume

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"k8s.io/apimachinery/pkg/runtime"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/volumeref"
)

// storages is all the data of an Inventory.
type storages struct {
	Inventory

	all []proxmox.Storage
}

func (s storages) Storages(context.Context) ([]proxmox.Storage, error) { return s.all, nil }

func (s storages) Objects(context.Context, proxmox.Collection, time.Duration) ([]proxmox.Object, error) {
	return nil, nil
}

// heard are the events of a Volume.
type heard struct{ all []string }

func (h *heard) Event(_ runtime.Object, e event.Event) {
	h.all = append(h.all, string(e.Reason)+": "+e.Message)
}

func (h *heard) WithAnnotations(...string) event.Recorder { return h }

// TestJudge checks that a disk that is created, grows or moves is judged by the storage that it takes space of.
func TestJudge(t *testing.T) {
	const gib = proxmox.GiB
	all := []proxmox.Storage{
		{Name: "lvm", Node: "n1", Type: "lvm", MaxDisk: int64(100 * gib), Disk: int64(90 * gib)},
		{Name: "thin", Node: "n1", Type: "lvmthin", MaxDisk: int64(100 * gib), Disk: int64(90 * gib)},
	}
	stub := seen(stubID, "n1", "scsi0="+atStub+",size=20G")
	made := func(v *view) { v.Volume = atStub }
	cases := map[string]struct {
		reason   string
		decision decision
		size     proxmox.Size
		storage  string
		state    func(*view)
		no       string
		warning  string
	}{
		"Made": {
			reason: "What is made takes all of its size.", decision: decision{action: makeStub}, size: 11 * gib, storage: "lvm",
			no: "storage 'lvm' on node n1 has 10G left, and 11G are asked for",
		},
		"MadeLarge": {
			reason: "No storage holds more than all of it.", decision: decision{action: makeStub}, size: 101 * gib, storage: "thin",
			no: "larger than storage 'thin'",
		},
		"MadeThin":  {reason: "A thin storage may be filled.", decision: decision{action: makeStub}, size: 11 * gib, storage: "thin", warning: "which is 1G less"},
		"StubAlone": {reason: "A stub VM that is created again takes nothing.", decision: decision{action: makeStub}, size: 101 * gib, storage: "thin", state: made},
		"Grows":     {reason: "What is there already counts no more.", decision: decision{action: grow, from: stub, key: "scsi0"}, size: 30 * gib, state: made},
		"GrowsLarge": {
			reason: "Growth is new on the storage.", decision: decision{action: grow, from: stub, key: "scsi0"}, size: 31 * gib, state: made,
			no: `disk "data" of 31G does not fit: storage 'lvm' on node n1 has 10G left, and 11G are asked for`,
		},
		"Moves": {
			reason: "A disk that moves takes all of its size.", decision: decision{action: move, from: stub, key: "scsi0"}, storage: "thin", state: made,
			warning: `disk "data" of 20G may fill storage 'thin' on node n1: it has 10G left`,
		},
		"MovesLarge": {
			reason:   "A disk that moves and grows needs the size that it grows to.",
			decision: decision{action: move, from: stub, key: "scsi0"}, size: 101 * gib, storage: "thin", state: made,
			no: `disk "data" of 101G is larger than storage 'thin'`,
		},
		"Given": {reason: "A disk that changes hands takes nothing.", decision: decision{action: give, from: stub, key: "scsi0"}, size: 101 * gib, state: made},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			h := &heard{}
			e := &external{connector: &connector{}, inventory: storages{all: all}}
			e.Record = h
			e.view = &view{decision: tc.decision, state: &state{Record: &volumeref.Record{}, size: tc.size, storage: tc.storage}, storage: tc.storage, node: "n1"}
			if tc.state != nil {
				tc.state(e.view)
			}
			m := &namespaced.Volume{}
			m.Name = "data"
			if err := e.view.judge(t.Context(), e.inventory, m.Name); err != nil {
				t.Fatal(err)
			}
			no := ""
			if p := e.view.problem; p != nil {
				no = string(p.Reason) + ": " + p.Message
			}
			if (tc.no == "") != (no == "") || !strings.Contains(no, tc.no) || no != "" && !strings.HasPrefix(no, "StorageFull: ") {
				t.Errorf("\n%s\nwant it refused with %q, got %q", tc.reason, tc.no, no)
			}
			e.warn(m)
			warned := strings.Join(h.all, "\n")
			if (tc.warning == "") != (warned == "") || !strings.Contains(warned, tc.warning) || warned != "" && !strings.HasPrefix(warned, "StorageOvercommitted: ") {
				t.Errorf("\n%s\nwant the warning %q, got %q", tc.reason, tc.warning, warned)
			}
		})
	}
}
