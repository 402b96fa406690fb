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

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/password"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// A passwordFeature sends the password of cloud-init's user.
type passwordFeature struct {
	noopFeature

	kube   client.Client
	source *password.Source
	sent   *password.Sent
	vm     *vmstate.VM
}

// passwordFeature returns the passwordFeature of the VM.
func (e *external) passwordFeature() passwordFeature {
	return passwordFeature{kube: e.kube, source: e.password, sent: e.passwords, vm: e.vm}
}

func (f passwordFeature) complete(ctx context.Context, m Machine, d *desired) ([]string, error) {
	return f.addPassword(ctx, m, d)
}

// plan records another version of a password that was already sent.
func (f passwordFeature) plan(_ context.Context, _ Machine, p *plan) (proposal, error) {
	if p.unchangedPassword == "" {
		return proposal{}, nil
	}
	return proposal{annotations: map[string]string{object.AnnotationPassword: p.unchangedPassword}}, nil
}

// lasts is true: an evaluation compares the version of the Secret.
func (passwordFeature) lasts(Machine) bool { return true }

// addPassword adds the password of the user to the desired state unless it was already sent, or returns why it cannot be read.
func (f passwordFeature) addPassword(ctx context.Context, m Machine, d *desired) ([]string, error) {
	c := d.CloudInit
	if c == nil || meta.WasDeleted(m) || f.vm.BeingCreated() || d.CloudInitFrozen && !ptr.Deref(c.GeneratePassword, false) {
		return nil, nil
	}
	p, err := f.source.Of(ctx, m, c)
	if p == nil || err != nil || d.CloudInitFrozen || d.CustomData() {
		return conditions.Rejections(err) // Custom data contains its hash, and there is no drive of PVE's own.
	}
	sent := m.GetAnnotations()[object.AnnotationPassword]
	switch {
	case sent == p.Version:
		f.sent.Record(m, *p)
	case f.sent.Has(m, *p): // It was sent as another version, or its note is not seen yet.
		d.unchangedPassword = p.Version
	case p.IsRestored(m, sent):
		f.sent.Record(m, *p)
		d.unchangedPassword = p.Version
	default:
		d.password = p
	}
	return nil, nil
}

// withPassword adds the password to a change. A change that takes a task goes first, without the password: no caller that sees how the task ends
// could record whether the password was set.
func (d desired) withPassword(change qemu.Difference) qemu.Difference {
	if d.password != nil && !change.Allocates {
		change.Set["cipassword"] = d.password.Text
	}
	return change
}

// keepPassword records that the password was sent.
func (f passwordFeature) keepPassword(ctx context.Context, m Machine, p plan) error {
	if p.password == nil || p.change.Set["cipassword"] == "" {
		return nil
	}
	f.sent.Record(m, *p.password)
	return kind.Annotate(ctx, f.kube, m, map[string]string{object.AnnotationPassword: p.password.Version})
}

// findPassword looks for the password before anything is created. A VM that is created without a source has it from the start.
func (c *creation) findPassword(ctx context.Context, m Machine, from *password.Source) error {
	p, err := from.Of(ctx, m, c.CloudInit)
	if err == nil && c.source == nil && c.archive == nil && !c.CustomData() {
		c.password = p
	}
	return err
}
