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
	"context"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// Update does the next thing that brings the VM nearer to the spec. What takes a
// task is started, and the rest waits for its end.
func (e *external) Update(ctx context.Context, m Machine) (managed.ExternalUpdate, error) {
	p := e.plan
	if e.vm == nil {
		return managed.ExternalUpdate{}, errors.New("cannot update a VM that was not looked at")
	}
	if len(p.refusals) > 0 {
		return managed.ExternalUpdate{}, errors.New(strings.Join(p.refusals, "; "))
	}
	if err := e.keepDevices(ctx, m); err != nil {
		return managed.ExternalUpdate{}, err
	}
	if p.change.Allocates {
		return managed.ExternalUpdate{}, e.start(m)(e.client.ConfigureAsync(ctx, e.vm.Ref, e.change()))
	}
	if err := e.configure(ctx, m); err != nil {
		return managed.ExternalUpdate{}, err
	}
	if len(p.resizes) > 0 {
		r := p.resizes[0]
		return managed.ExternalUpdate{}, e.start(m)(e.client.Resize(ctx, e.vm.Ref, r.Device, r.Size.String(), ""))
	}
	return managed.ExternalUpdate{}, e.setPower(ctx, m)
}

// keepDevices writes down which device each entry of the spec is, before a
// change makes them so.
func (e *external) keepDevices(ctx context.Context, m Machine) error {
	if !e.plan.unkept {
		return nil
	}
	return kind.Annotate(ctx, e.kube, m, map[string]string{AnnotationDevices: e.plan.devices.String()})
}

func (e *external) change() proxmox.Change {
	return proxmox.Change{Set: e.plan.change.Set, Delete: e.plan.change.Delete, Digest: e.vm.Digest}
}

// configure changes options, and has the VM looked at again soon: some may have
// become pending, also of those that the running VM has refused. A change that
// fails is tried again no sooner than the back-off says.
func (e *external) configure(ctx context.Context, m Machine) error {
	if e.plan.change.empty() {
		return nil
	}
	if e.tasks.sent(m, e.plan.change) {
		return errors.Errorf("the change of %s was made, but Proxmox VE does not keep it as the spec has it", strings.Join(e.plan.change.options(), ", "))
	}
	err := e.client.Configure(ctx, e.vm.Ref, e.change())
	if err != nil && !proxmox.IsHotplugRefused(err) {
		return err
	}
	if err != nil {
		e.log.Debug("VM takes a change at its next start only", "vmid", e.vm.VMID, "error", err)
	}
	e.tasks.send(m, e.plan.change)
	later, _ := m.DeepCopyObject().(Machine) // The reconciler goes on with this one.
	go e.wake(later)
	return nil
}

func (e *external) setPower(ctx context.Context, m Machine) error {
	switch e.plan.power {
	case powerOn:
		return e.start(m)(e.client.Start(ctx, e.vm.Ref))
	case powerOff:
		return e.start(m)(e.client.Shutdown(ctx, e.vm.Ref, shutdown(m)))
	case keepPower:
	}
	return nil
}

// shutdown gracefully, and hard after the time that the guest has for it.
func shutdown(m Machine) proxmox.ShutdownOptions {
	seconds := value(m.Parameters().ShutdownTimeoutSeconds)
	return proxmox.ShutdownOptions{Timeout: time.Duration(seconds) * time.Second, ForceStop: true}
}
