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

package machine

import (
	"os"
	"testing"
	"time"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// A reconcile of an unchanged VM writes nothing, whether the VM is read or known. hack/noop-cost
// compares the coverage of this test with that of what comes before the reconcile.
func TestNoOp(t *testing.T) {
	for name, change := range map[string]func(*bench){
		"Known": func(*bench) {},
		"Read":  (*bench).touch,
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, spec(func(p *v1alpha1.MachineParameters) {
				p.Memory = quantity("2Gi")
				p.OnBoot = new(true)
			}))
			b.vms[10000] = ourVM("running")
			b.vms[10000].config["memory"], b.vms[10000].config["onboot"] = "2048", "1"
			for range 3 {
				if s := b.reconcile(t.Context()); s.err != nil {
					t.Fatal(s.err)
				}
				b.runOn(time.Minute)
			}
			if s := b.reconcile(t.Context()); s.err != nil {
				t.Fatal(s.err)
			}
			change(b)
			e := b.external()
			if os.Getenv("NOOP_WITHOUT") != "" {
				return
			}
			o, err := e.Observe(t.Context(), b.m)
			if err != nil || !o.ResourceUpToDate || len(b.writes) != 0 {
				t.Errorf("want nothing to do, got %+v, error %v and writes %q", o, err, b.writes)
			}
		})
	}
}
