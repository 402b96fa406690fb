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

package image

import (
	"context"
	"fmt"
	"maps"
	"strconv"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// templateDisk is the name of the image's disk among those of the template.
const templateDisk = "image"

// intendTemplate records which VM is about to become a template. A VMID that was chosen before is kept, unless another guest has it.
func (e *external) intendTemplate(ctx context.Context, m Image, v *view, i *item) error {
	if err := e.permitTemplate(ctx, i.place); err != nil {
		return err
	}
	t := i.template
	if t.VMID == 0 || t.Done || i.foreignVMID(v) {
		if _, err := e.inventory.Guests(ctx, inventory.Fresh); err != nil {
			return err
		}
		id, err := e.inventory.ReserveVMID(ctx, string(m.GetUID())+"/"+i.key+i.rev.String(), int(e.vmids.Min), int(e.vmids.Max))
		if err != nil {
			return errors.Wrap(err, "cannot choose a VMID for the template")
		}
		*t = template{attempt: t.attempt, Node: t.Node, Storage: t.Storage, Shared: t.Shared, VMID: id, UUID: uuid.NewString()}
	}
	t.Begun, t.Task = e.now().Unix(), ""
	if i.rev.Templates == nil {
		i.rev.Templates = map[string]*template{}
	}
	i.rev.Templates[i.key] = t
	return nil
}

// foreignVMID reports whether another guest has the VMID that was chosen for the template. If our VM had it, the VM would not be created again.
func (i *item) foreignVMID(v *view) bool {
	for _, g := range v.guests {
		if g.VMID == i.template.VMID {
			return true
		}
	}
	return false
}

// permitTemplate returns an error that names the missing privileges for a template.
func (e *external) permitTemplate(ctx context.Context, p place) error {
	return kind.CheckPrivileges(ctx, e.client, "make a template on storage "+p.Storage,
		proxmox.Privilege{Path: "/vms", Names: []string{"VM.Allocate"}},
		proxmox.Privilege{Path: "/storage/" + p.Storage, Names: []string{"Datastore.AllocateSpace"}})
}

// actOnTemplate carries out the decision about a template.
func (e *external) actOnTemplate(ctx context.Context, m Image, v *view, i *item) error {
	t := i.template
	switch i.action {
	case start:
		return e.makeVM(ctx, m, v, i)
	case convert:
		return e.convert(ctx, m, i)
	case settle:
		t.attempt, t.Done = attempt{}, true
		e.event(m, event.Normal(eventTemplateMade, fmt.Sprintf("VM %d on node %s is the template of %s", t.VMID, t.Node, i.rev)))
	case fail:
		return e.failTemplate(ctx, m, i)
	case forget:
		t.Task = ""
	case keep, wait, join, stuck:
	}
	return nil
}

// makeVM starts to create the VM, from the file or as a copy of a Machine's VM.
func (e *external) makeVM(ctx context.Context, m Image, v *view, i *item) error {
	t := i.template
	var u proxmox.UPID
	var err error
	if m.Parameters().Source.Machine != nil {
		u, err = e.copyMachine(ctx, m, t)
	} else {
		u, err = e.createVM(ctx, m, v, i)
	}
	if proxmox.IsAlreadyExists(err) {
		return e.vmidTaken(ctx, t, err)
	}
	if err != nil {
		t.noteUnanswered(err, e.now())
		return err
	}
	t.Task = string(u)
	e.follow(m, u)
	return nil
}

// vmidTaken gives up the VMID of a template, unless the VM that has it is the template's. Such a VM was created by a call whose answer was lost, and
// the next reconcile finds it.
func (e *external) vmidTaken(ctx context.Context, t *template, taken error) error {
	config, _, err := e.reader().vm(ctx, t)
	switch {
	case err != nil:
		return errors.Join(taken, err)
	case config != nil && t.identity().Prove(config) != qemu.Foreign:
		return nil
	}
	e.inventory.BlockVMID(t.VMID)
	t.VMID, t.Begun = 0, 0
	return taken
}

func (e *external) createVM(ctx context.Context, m Image, v *view, i *item) (proxmox.UPID, error) {
	t := i.template
	p, err := e.templateParams(m, t, volumeID(v.fileFor(t.Node), v1alpha1.ImageContentImport, i.rev.File))
	if err != nil {
		return "", err
	}
	return e.client.Create(ctx, proxmox.Ref{Node: t.Node, VMID: t.VMID}, p)
}

// templateParams returns the parameters with which the template's VM is created.
func (e *external) templateParams(m Image, t *template, volume string) (proxmox.Params, error) {
	p := machineParameters(m, t, volume)
	devices, err := (qemu.Devices{}).Assign(p, nil)
	if err != nil {
		return nil, err
	}
	d := qemu.Desired{
		MachineParameters: p, Identity: t.identity(), Devices: devices, Created: true,
		Defaults: qemu.Defaults{Storage: t.Storage, Bridge: e.bridge},
	}
	params := maps.Clone(d.Params())
	if ptr.Deref(m.Parameters().Template.CloudInit, true) {
		params["ide2"] = t.Storage + ":cloudinit"
	}
	if pool := m.Parameters().Template.Pool; pool != nil {
		params["pool"] = *pool
	}
	return params, nil
}

// machineParameters describes the template as a Machine would.
func machineParameters(m Image, t *template, volume string) *v1alpha1.MachineParameters {
	w := m.Parameters().Template
	p := &v1alpha1.MachineParameters{
		Name: ptr.To(templateName(m)), CPU: w.CPU, Memory: w.Memory, Agent: w.Agent, BIOS: w.BIOS, MachineType: w.MachineType,
		OSType: w.OSType, SCSIController: w.SCSIController, Tags: w.Tags, Description: w.Description,
		Disks: []v1alpha1.MachineDisk{{Name: templateDisk, ImportFrom: &volume, Storage: &t.Storage, Type: w.DiskType, Format: w.DiskFormat}},
	}
	if p.OSType == nil {
		p.OSType = ptr.To("linux")
	}
	if ptr.Deref(w.BIOS, "") == "ovmf" {
		p.EFIDisk = &v1alpha1.MachineEFIDisk{Storage: &t.Storage}
	}
	if w.Bridge != nil {
		p.Networks = []v1alpha1.MachineNetwork{{Name: "net", Bridge: w.Bridge}}
	}
	if ptr.Deref(w.SerialConsole, false) {
		p.SerialPorts = []string{"socket"}
		p.VGA = &v1alpha1.MachineVGA{Type: ptr.To("serial0")}
	}
	return p
}

// convert starts to convert the VM, which was proven to be ours, to a template.
func (e *external) convert(ctx context.Context, m Image, i *item) error {
	t := i.template
	u, err := e.client.ConvertToTemplate(ctx, proxmox.Ref{Node: t.Node, VMID: t.VMID})
	if err != nil {
		return err
	}
	t.Begun, t.Task = e.now().Unix(), string(u)
	e.follow(m, u)
	return nil
}

// failTemplate records why a template could not be created.
func (e *external) failTemplate(ctx context.Context, m Image, i *item) error {
	t, err := e.reader().task(ctx, i.template.Task)
	if err != nil || t == nil {
		return err
	}
	message := fmt.Sprintf("cannot make the template on %s: %s", i.place, t.Err())
	i.template.fail(e.now().Unix(), m.GetGeneration(), string(reasonTemplateFailed), message)
	e.event(m, event.Warning(eventTemplateFailed, errors.New(message)))
	return nil
}

// sourceMachine returns the VM of the Machine that the source names.
func (e *external) sourceMachine(ctx context.Context, m Image) (proxmox.Ref, error) {
	name := *m.Parameters().Source.Machine
	other, ok := e.kinds.Machine.DeepCopyObject().(Machine)
	if !ok {
		return proxmox.Ref{}, errors.Errorf("cannot read a %T: it is not a Machine", e.kinds.Machine)
	}
	if err := e.kube.Get(ctx, types.NamespacedName{Namespace: m.GetNamespace(), Name: name}, other); err != nil {
		return proxmox.Ref{}, errors.Wrapf(err, "cannot read machine %q of source.machine", name)
	}
	id, err := strconv.Atoi(meta.GetExternalName(other))
	if o := other.Observation(); err != nil || o.VMID == nil || int(*o.VMID) != id || o.Node == "" || o.Phase == v1alpha1.MachineCreating {
		return proxmox.Ref{}, errors.Errorf("machine %q of source.machine has no VM yet", name)
	}
	return proxmox.Ref{Node: other.Observation().Node, VMID: id}, nil
}

// copyMachine starts to copy the VM of a Machine, after its identity was proven.
func (e *external) copyMachine(ctx context.Context, m Image, t *template) (proxmox.UPID, error) {
	source, err := e.sourceMachine(ctx, m)
	if err != nil {
		return "", err
	}
	return e.client.Clone(ctx, source, proxmox.CloneOptions{
		NewID: t.VMID, Name: templateName(m), Storage: t.Storage, Full: ptr.To(true), Pool: ptr.Deref(m.Parameters().Template.Pool, ""),
		Description: t.identity().Mark(ptr.Deref(m.Parameters().Template.Description, "")),
	})
}
