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

package controller_test

import (
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/simulator"
)

func TestCDROMs(t *testing.T) {
	t.Parallel()
	runVersions(t, map[string]scenario{
		"windows":     {reason: "A setup has its image and that of drivers.", run: windows},
		"cdrom-local": {reason: "A VM that is off goes only where its images are.", run: goesWithMedia},
		"cdrom-clone": {reason: "A clone that is made elsewhere goes where its images are.", run: clonedWithMedia},
	})
}

const installer = "local:iso/debian-13.1.0-amd64-netinst.iso"

// example returns the spec in an example.
func example(w *world, name string) v1alpha1.MachineParameters {
	w.Helper()
	b, err := os.ReadFile("../../examples/namespaced/" + name)
	if err != nil {
		w.Fatal(err)
	}
	m := struct {
		Spec struct{ ForProvider v1alpha1.MachineParameters }
	}{}
	if err := yaml.Unmarshal(b, &m); err != nil {
		w.Fatal(err)
	}
	return m.Spec.ForProvider
}

// drive reports whether a drive contains a volume, and has no pending change.
func (w *world) drive(device, volume string) bool {
	w.Helper()
	v := w.vm()
	return strings.HasPrefix(v.Config[device], volume+",") && v.Pending[device] == ""
}

func windows(w *world) {
	w.create(example(w, "machine-windows.yaml"))
	w.ready()
	if !w.drive("ide2", "nfs:iso/windows-11.iso") || !w.drive("ide0", "nfs:iso/virtio-win.iso") || w.vm().Config["boot"] != "order=scsi0;ide2;net0" {
		w.Errorf("want both images, and to boot from the installer, got %v", w.vm().Config)
	}
	if n := len(w.writes()); n != 2 {
		w.Errorf("want two writes, to create and to start:\n%s", w)
	}
	w.unchanged()
	w.change(func(p *v1alpha1.MachineParameters) { p.ISO = new(""); p.CDROMs[0].ISO = new(installer) })
	w.eventually("the media are changed", func() bool { return w.drive("ide2", "none") && w.drive("ide0", installer) })
	w.ready()
	if err := w.admin.Configure(w.Context(), w.ref(), proxmox.Change{Set: proxmox.Params{"ide0": "none,media=cdrom"}}); err != nil {
		w.Fatal(err)
	}
	w.eventually("what somebody took out is put back", func() bool { return w.drive("ide0", installer) })
	w.ready()
	if w.tasks("qmstart") != 1 || w.tasks("qmreboot")+w.tasks("qmstop") > 0 {
		w.Errorf("a medium was changed by a restart:\n%s", w)
	}
	w.change(func(p *v1alpha1.MachineParameters) { p.CDROMs = []v1alpha1.MachineCDROM{} })
	w.says(conditions.TypeRestartRequired, conditions.ReasonPendingChanges, "ide0")
	w.change(func(p *v1alpha1.MachineParameters) { p.PowerState = new(v1alpha1.PowerStateStopped) })
	w.eventually("the drive goes with the next stop", func() bool { return w.vm().Power == simulator.Stopped && w.vm().Config["ide0"] == "" })
	w.ready()
	if w.vm().Config["ide2"] != "none,media=cdrom" {
		w.Errorf("the drive of iso has become %q", w.vm().Config["ide2"])
	}
	w.unchanged()
	w.finish()
}

func goesWithMedia(w *world) {
	w.create(v1alpha1.MachineParameters{
		Node: new("pve1"), ISO: new(installer), CDROMs: []v1alpha1.MachineCDROM{{Name: "again", ISO: new(installer), Type: new("sata")}},
		Disks: []v1alpha1.MachineDisk{{Name: "root", Size: new("1G"), Storage: new("ceph")}},
	})
	w.ready()
	w.change(func(p *v1alpha1.MachineParameters) { p.Node = new("pve2") })
	w.says("Synced", "ReconcileError", installer+" is on local storage")
	w.change(func(p *v1alpha1.MachineParameters) {
		p.PowerState = new(v1alpha1.PowerStateStopped)
		p.Node = new("pve1")
	})
	w.eventually("the VM is off", func() bool { return w.vm().Power == simulator.Stopped })
	w.ready()
	w.change(func(p *v1alpha1.MachineParameters) { p.Node = new("pve2") })
	w.eventually("the VM is there, with its images", func() bool {
		return w.vm().Node == "pve2" && w.drive("ide2", installer) && w.drive("sata0", installer)
	})
	w.ready()
	if w.tasks("qmigrate") != 1 {
		w.Errorf("want one migration:\n%s", w)
	}
	w.unchanged()
	w.finish()
}

func clonedWithMedia(w *world) {
	spec := ubuntu()
	spec.Node, spec.Clone = new("pve2"), &v1alpha1.MachineClone{Full: new(true), Storage: new("local-lvm")}
	spec.CDROMs = []v1alpha1.MachineCDROM{{Name: "tools", ISO: new(installer)}}
	w.create(spec)
	w.ready()
	if w.vm().Node != "pve2" || !w.drive("ide0", installer) || w.tasks("qmigrate") != 1 || w.vm().Power != simulator.Running {
		w.Errorf("want a clone on pve2 with its image, got %v on %s:\n%s", w.vm().Config, w.vm().Node, w)
	}
	w.unchanged()
	w.finish()
}
