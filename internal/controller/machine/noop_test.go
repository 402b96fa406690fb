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
	"maps"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
)

// TestNoOp checks that a reconcile of an unchanged VM writes nothing, whether the VM is read or cached. hack/noop-cost compares the coverage of this
// test with that of everything before the reconcile. The VM has two options, or what most VMs have: a disk, a NIC, a guest agent, and a user of
// cloud-init.
func TestNoOp(t *testing.T) {
	for name, tc := range map[string]struct {
		bench  func(*testing.T) *bench
		change func(*bench)
	}{
		"Known":      {bench: twoOptions, change: func(*bench) {}},
		"Read":       {bench: twoOptions, change: (*bench).touch},
		"KnownUsual": {bench: usualOptions, change: func(*bench) {}},
		"ReadUsual":  {bench: usualOptions, change: (*bench).touch},
	} {
		t.Run(name, func(t *testing.T) {
			b := tc.bench(t)
			for range 3 {
				if s := b.reconcile(t.Context()); s.err != nil {
					t.Fatal(s.err)
				}
				b.runOn(time.Minute)
			}
			if s := b.reconcile(t.Context()); s.err != nil {
				t.Fatal(s.err)
			}
			b.writes = nil
			tc.change(b)
			e := b.external()
			if os.Getenv("NOOP_WITHOUT") != "" {
				return
			}
			o, err := e.Observe(t.Context(), b.m)
			if err != nil || !o.ResourceUpToDate || len(b.writes) != 0 {
				t.Errorf("want nothing to do, got %+v, error %v and writes %q", o, err, b.writes)
			}
			if c := b.m.GetCondition(kind.TypeUpToDate); !e.evaluated || c.Status != corev1.ConditionTrue {
				t.Errorf("want the last evaluation to hold, got %t: %s", e.evaluated, c.Message)
			}
		})
	}
}

// twoOptions has a VM with two options that are as its Machine has them.
func twoOptions(t *testing.T) *bench {
	t.Helper()
	b := newBench(t, spec(func(p *v1alpha1.MachineParameters) {
		p.Memory = quantity("2Gi")
		p.OnBoot = new(true)
	}))
	b.vms[10000] = ourVM("running")
	b.vms[10000].config["memory"], b.vms[10000].config["onboot"] = "2048", "1"
	return b
}

// usualOptions has a VM with the options that most VMs have.
func usualOptions(t *testing.T) *bench {
	t.Helper()
	b := newBench(t, spec(func(p *v1alpha1.MachineParameters) {
		p.Memory = quantity("2Gi")
		p.Agent = new(true)
		p.Disks = []v1alpha1.MachineDisk{{Name: "root", Size: new("8G")}}
		p.Networks = []v1alpha1.MachineNetwork{{Name: "lan"}}
		p.CloudInit = &v1alpha1.MachineCloudInit{User: new("joe")}
	}))
	b.m.Annotations[object.AnnotationDevices] = `{"disks":{"root":"scsi0"},"networks":{"lan":"net0"}}`
	b.vms[10000] = ourVM("running")
	maps.Copy(b.vms[10000].config, map[string]string{
		"memory": "2048", "agent": "1", "scsi0": "local-lvm:vm-10000-disk-0,size=8G", "net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0",
		"ide2": "local-lvm:vm-10000-cloudinit,media=cdrom", "ciuser": "joe",
	})
	b.vms[10000].agent, b.vms[10000].now.Uptime = reports("10.0.0.5"), time.Hour
	return b
}
