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
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// TestChangeEvents checks that each change is reported in one event with the old and the new value, and that a change that was not made is not reported.
func TestChangeEvents(t *testing.T) {
	b := newBench(t, all(named(10000), spec(func(p *v1alpha1.MachineParameters) {
		p.Memory, p.Pool = quantity("8Gi"), new("a")
		p.Networks = []v1alpha1.MachineNetwork{{Name: "lan", Bridge: new("vmbr0")}}
	})))
	b.m.Annotations[object.AnnotationDevices] = `{"networks":{"lan":"net0"}}`
	b.vms[10000] = ourVM("running")
	b.vms[10000].pool = "a"
	b.bridges = append(b.bridges, proxmox.Bridge{Name: "vmbr1"})
	c := b.vms[10000].config
	c["memory"], c["net0"] = "4096", "virtio=BC:24:11:00:00:01,bridge=vmbr0"
	reconcile := func() []string {
		e, h := b.external(), &heard{}
		e.record = h
		b.touch()
		if s := b.reconcileWith(t.Context(), e); s.err != nil {
			t.Fatal(s.err)
		}
		return h.messages
	}
	b.reconcile(t.Context())
	b.clock.wait(time.Hour)
	if diff := cmp.Diff([]string{"memory 4096 → 8192"}, reconcile()); diff != "" {
		t.Errorf("a change of the spec: -want, +got:\n%s", diff)
	}
	c["memory"] = "8192"
	if got := reconcile(); len(got) > 0 {
		t.Errorf("want no event of a VM that is up to date, got %q", got)
	}
	c["net0"] = "virtio=BC:24:11:00:00:01,bridge=vmbr1"
	if diff := cmp.Diff([]string{"net0 bridge vmbr1 → vmbr0: set by others, put back"}, reconcile()); diff != "" {
		t.Errorf("an edit by hand: -want, +got:\n%s", diff)
	}
	c["net0"] = "virtio=BC:24:11:00:00:01,bridge=vmbr0"
	if got := reconcile(); len(got) > 0 {
		t.Errorf("want no event of a VM that is up to date again, got %q", got)
	}
	b.vms[10000].pool = "b"
	if diff := cmp.Diff([]string{"pool b → a: set by others, put back"}, reconcile()); diff != "" {
		t.Errorf("another pool: -want, +got:\n%s", diff)
	}
}
