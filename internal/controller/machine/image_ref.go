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
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"

	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/images"
	"github.com/vitistack/provider-proxmox/internal/imageref"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// awaitSource reports whether a Machine waits for an Image or a Backup, and creates the Image of its URL.
func (c *connector) awaitSource(ctx context.Context, m Machine) (bool, error) {
	p := m.Parameters()
	switch {
	case meta.GetExternalName(m) != "":
		return false, nil
	case p.TemplateRef == nil && p.TemplateSelector != nil:
		return true, nil // References are resolved after this.
	}
	if err := c.images.Ensure(ctx, m); err != nil {
		return false, err
	}
	err := c.waitForSource(ctx, m)
	if _, waits := conditions.WaitsForSource(err); waits {
		return true, nil
	}
	return false, err
}

// waitForSource returns why a Machine must wait for an Image or a Backup, or nil.
func (s *shared) waitForSource(ctx context.Context, m Machine) error {
	if err := s.images.Wait(ctx, m); err != nil {
		return err
	}
	return s.backups().Wait(ctx, m)
}

// observeSourceWait returns the observation of a Machine that waits for an Image or a Backup. No request was sent to PVE.
func observeSourceWait(m Machine, err error) (managed.ExternalObservation, error) {
	if !conditions.SetSourceWait(m, err) {
		return managed.ExternalObservation{}, err
	}
	return managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: true}, nil
}

// chooseImage finds the revision of the Image that the spec names, or returns nil if it names none. A pinned revision stands if a VM may have been
// created from it.
func (e creator) chooseImage(ctx context.Context, m Machine) (*imageref.Choice, error) {
	ref, ok, err := e.images.Reference(ctx, m)
	if !ok || err != nil {
		return nil, err
	}
	var pinned *imageref.Pin
	if p, ok := imageref.PinOf(m); ok && !mayReplaceNode(e.tasks, m) {
		pinned = &p
	}
	c, image, err := e.images.Choose(ctx, m, ref, pinned)
	if err != nil {
		return nil, e.tenant.Brief(err)
	}
	if !e.sharesCluster(ctx)(image) {
		return nil, conditions.Reject(conditions.Creating,
			"image '%s' is in another cluster: give it and this Machine a provider configuration of the same cluster", ref.Name)
	}
	return &c, nil
}

// importFrom imports the VM from the file of an Image. The replica is known once the node is.
func (e creator) importFrom(ctx context.Context, c *creation, image *imageref.Choice) error {
	c.image = image
	if image == nil || image.Pin.Template {
		return nil
	}
	if err := e.tenant.CheckImport(image); err != nil {
		return err
	}
	storages, err := e.inventory.Storages(ctx)
	if err != nil {
		return err
	}
	nodes, has := images.Storages(storages)
	c.imageOn = func(node string) (imageref.Replica, bool) { return image.On(node, has) }
	c.imageNodes = slices.DeleteFunc(image.Nodes(nodes, has), func(node string) bool { return e.tenant.CheckNode(node) != nil })
	c.MachineParameters = qemu.WithImage(c.MachineParameters, image.Replicas[0].Volume)
	return nil
}

// nodeWithImage returns the chosen node if the Image's file is there. Otherwise placement is to choose a node that has it, unless the spec names the node.
func (c *creation) nodeWithImage(m Machine) (string, error) {
	if c.madeOn == "" || c.imageOn == nil {
		return c.madeOn, nil
	}
	if _, ok := c.imageOn(c.madeOn); ok {
		return c.madeOn, nil
	}
	if m.Parameters().Node != nil {
		return "", conditions.Reject(conditions.Creating, "image '%s' is not on node %s%s",
			c.image.Pin.Name, c.madeOn, conditions.Instead("nodes that have it", c.imageNodes))
	}
	return "", nil
}

// settleImage selects the file on the node of the VM for the import.
func (c *creation) settleImage() {
	if c.imageOn == nil {
		return
	}
	if r, ok := c.imageOn(c.madeOn); ok {
		c.image.Pin.Volume = r.Volume
		c.MachineParameters = qemu.WithImage(c.MachineParameters, r.Volume)
	}
}

// pin returns what is saved of the Image.
func (c *creation) pin() imageref.Pin {
	p := c.image.Pin
	if c.source != nil {
		p.VMID = c.source.VMID
	}
	return p
}
