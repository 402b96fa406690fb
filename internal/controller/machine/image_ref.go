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
	"encoding/json"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/imageref"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// An imageReader reads the Images that Machines of one scope name, and makes those of
// their URLs. It asks the Kubernetes API only.
type imageReader struct {
	kube   client.Client
	object client.Object // An empty Image of the scope.

	// machine is the kind of the Machines.
	machine schema.GroupVersionKind
}

// get an Image of the Machine's namespace, or nil if there is none.
func (r imageReader) get(ctx context.Context, m Machine, name string) (imageref.Image, error) {
	image, err := r.empty()
	if err != nil {
		return nil, err
	}
	err = r.kube.Get(ctx, types.NamespacedName{Namespace: m.GetNamespace(), Name: name}, image)
	if kerrors.IsNotFound(err) {
		return nil, nil
	}
	return image, errors.Wrapf(err, "cannot read image %q", name)
}

func (r imageReader) empty() (imageref.Image, error) {
	if r.object == nil {
		return nil, errors.New("cannot read Images: their kind is not known")
	}
	image, ok := r.object.DeepCopyObject().(imageref.Image)
	if !ok {
		return nil, errors.Errorf("cannot read a %T: it is not an Image", r.object)
	}
	return image, nil
}

// choose the revision that a VM is made from. The Image comes with it.
func (r imageReader) choose(ctx context.Context, m Machine, ref imageref.Reference, pinned *imageref.Pin) (imageref.Choice, imageref.Image, error) {
	image, err := r.get(ctx, m, ref.Name)
	if err != nil {
		return imageref.Choice{}, nil, err
	}
	if image == nil {
		return imageref.Choice{}, nil, imageref.Missing(ref.Name)
	}
	c, err := imageref.Choose(image, ref, pinned)
	return c, image, err
}

// wait returns why a Machine has to wait for an Image before anything is decided about its
// VM, or nil. It has no VMID until then.
func (r imageReader) wait(ctx context.Context, m Machine) error {
	ref, ok := imageref.Of(m)
	if !ok || meta.GetExternalName(m) != "" || meta.WasDeleted(m) || !object.MayCreate(m) {
		return nil
	}
	_, _, err := r.choose(ctx, m, ref, nil)
	return err
}

// awaitImage reports whether a Machine waits for an Image, and makes that of its URL.
func (c *connector) awaitImage(ctx context.Context, m Machine) (bool, error) {
	p := m.Parameters()
	switch {
	case meta.GetExternalName(m) != "":
		return false, nil
	case p.TemplateRef == nil && p.TemplateSelector != nil:
		return true, nil // References are resolved after this.
	}
	if err := c.images.ensure(ctx, m); err != nil {
		return false, err
	}
	err := c.images.wait(ctx, m)
	var no *imageref.NotReadyError
	if errors.As(err, &no) {
		return true, nil
	}
	return false, err
}

// observeImageWait is the observation of a Machine that waits for an Image. Nothing was
// asked of PVE.
func observeImageWait(m Machine, err error) (managed.ExternalObservation, error) {
	if !conditions.SetImageWait(m, err) {
		return managed.ExternalObservation{}, err
	}
	return managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: true}, nil
}

// chooseImage finds the revision of the Image that the spec names, or returns nil if it
// names none. What was pinned stands if a VM may have been made of it.
func (e creator) chooseImage(ctx context.Context, m Machine) (*imageref.Choice, error) {
	ref, ok := imageref.Of(m)
	if !ok {
		return nil, nil
	}
	var pinned *imageref.Pin
	if p, ok := imageref.PinOf(m); ok && !e.mayReplaceNode(m) {
		pinned = &p
	}
	c, image, err := e.images.choose(ctx, m, ref, pinned)
	if err != nil {
		return nil, err
	}
	if !e.sharesCluster(ctx)(image) {
		return nil, conditions.Reject(conditions.Creating, "image '%s' is in another cluster: its provider config is not that of this Machine", ref.Name)
	}
	return &c, nil
}

// importFrom the file of an Image. Which of its replicas is known once the node is.
func (e creator) importFrom(ctx context.Context, m Machine, c *creation, image *imageref.Choice) error {
	c.image = image
	if image == nil || image.Pin.Template {
		return nil
	}
	storages, err := e.inventory.Storages(ctx)
	if err != nil {
		return err
	}
	nodes := map[string]map[string]bool{}
	for _, s := range storages {
		if nodes[s.Node] == nil {
			nodes[s.Node] = map[string]bool{}
		}
		nodes[s.Node][s.Name] = true
	}
	has := func(node, storage string) bool { return nodes[node][storage] }
	c.imageOn = func(node string) (imageref.Replica, bool) { return image.On(node, has) }
	c.imageNodes = image.Nodes(nodeNames(storages), has)
	c.MachineParameters = withImage(m.Parameters(), image.Replicas[0].Volume)
	return nil
}

// nodeNames that have a storage.
func nodeNames(storages []proxmox.Storage) []string {
	var all []string
	seen := map[string]bool{}
	for _, s := range storages {
		if !seen[s.Node] {
			all = append(all, s.Node)
		}
		seen[s.Node] = true
	}
	return all
}

// nodeWithImage is the chosen node if the Image's file is there. Otherwise placement is to
// choose one that has it, unless the spec names the node.
func (c *creation) nodeWithImage(m Machine) (string, error) {
	if c.node == "" || c.imageOn == nil {
		return c.node, nil
	}
	if _, ok := c.imageOn(c.node); ok {
		return c.node, nil
	}
	if m.Parameters().Node != nil {
		return "", conditions.Reject(conditions.Creating, "image '%s' is not on node %s%s", c.image.Pin.Name, c.node, conditions.Instead("nodes that have it", c.imageNodes))
	}
	return "", nil
}

// settleImage imports the file that the node of the VM has.
func (c *creation) settleImage(m Machine) {
	if c.imageOn == nil {
		return
	}
	if r, ok := c.imageOn(c.node); ok {
		c.image.Pin.Volume = r.Volume
		c.MachineParameters = withImage(m.Parameters(), r.Volume)
	}
}

// pin is what is kept of the Image.
func (c *creation) pin() imageref.Pin {
	p := c.image.Pin
	if c.source != nil {
		p.VMID = c.source.VMID
	}
	return p
}

// pinnedVolume is the file of an Image that a Machine was made from, or empty.
func pinnedVolume(m Machine) string {
	p, _ := imageref.PinOf(m)
	return p.Volume
}

// pinnedImage is what the status shows of the Image that a Machine was made from.
func pinnedImage(m Machine) *v1alpha1.MachineImageObservation {
	p, ok := imageref.PinOf(m)
	if !ok {
		return nil
	}
	return p.Observation()
}

// ensure that there is an Image of the URL that the spec names, and that it stays as long
// as the Machine does.
func (r imageReader) ensure(ctx context.Context, m Machine) error {
	i := m.Parameters().Image
	if i == nil || i.URL == nil || meta.WasDeleted(m) || !object.MayCreate(m) {
		return nil
	}
	name := imageref.SharedName(i, imageref.ConfigOf(m))
	image, err := r.get(ctx, m, name)
	switch {
	case err != nil:
		return err
	case image == nil:
		return r.create(ctx, m, name)
	case !imageref.SameSource(image, i):
		return errors.Errorf("image %q has another source than image.url: remove it, or name it by image.ref", name)
	case image.GetLabels()[imageref.LabelShared] == "" || meta.WasDeleted(image):
		return nil // It is somebody's own, or made anew once it is gone.
	}
	return r.own(ctx, m, image)
}

// owner is the reference by which Kubernetes removes an Image with the last Machine that
// asks for it.
func (r imageReader) owner(m Machine) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: r.machine.GroupVersion().String(), Kind: r.machine.Kind, Name: m.GetName(), UID: m.GetUID()}
}

func (r imageReader) create(ctx context.Context, m Machine, name string) error {
	image, err := r.empty()
	if err != nil {
		return err
	}
	image.SetNamespace(m.GetNamespace())
	image.SetName(name)
	image.SetLabels(sharedLabels(m))
	image.SetOwnerReferences([]metav1.OwnerReference{r.owner(m)})
	*image.Parameters() = imageref.SharedParameters(m.Parameters().Image)
	copyConfig(m, image)
	err = r.kube.Create(ctx, image)
	if kerrors.IsAlreadyExists(err) {
		return nil // Another Machine was faster.
	}
	return errors.Wrapf(err, "cannot make image %q", name)
}

// sharedLabels of an Image are those of the Machine that it is made for, so that the same
// provider looks after both. What they say to Crossplane is the Machine's alone.
func sharedLabels(m Machine) map[string]string {
	all := map[string]string{imageref.LabelShared: "true"}
	for name, value := range m.GetLabels() {
		if !strings.Contains(name, "crossplane.io/") {
			all[name] = value
		}
	}
	return all
}

// copyConfig has an Image use the provider config of a Machine.
func copyConfig(from, to resource.Managed) {
	switch to := to.(type) {
	case resource.TypedProviderConfigReferencer:
		if from, ok := from.(resource.TypedProviderConfigReferencer); ok {
			to.SetProviderConfigReference(ptr.To(ptr.Deref(from.GetProviderConfigReference(), xpv2.ProviderConfigReference{})))
		}
	case resource.ProviderConfigReferencer:
		if from, ok := from.(resource.ProviderConfigReferencer); ok {
			to.SetProviderConfigReference(ptr.To(ptr.Deref(from.GetProviderConfigReference(), xpv2.Reference{})))
		}
	}
}

// own adds the Machine to those that an Image stays for. Many may do so at once, so that
// nothing else is written.
func (r imageReader) own(ctx context.Context, m Machine, image imageref.Image) error {
	for _, o := range image.GetOwnerReferences() {
		if o.UID == m.GetUID() {
			return nil
		}
	}
	operation := map[string]any{"op": "add", "path": "/metadata/ownerReferences/-", "value": r.owner(m)}
	if len(image.GetOwnerReferences()) == 0 {
		operation["path"], operation["value"] = "/metadata/ownerReferences", []metav1.OwnerReference{r.owner(m)}
	}
	patch, err := json.Marshal([]any{operation})
	if err != nil {
		return errors.Wrap(err, "cannot write a patch")
	}
	return errors.Wrapf(r.kube.Patch(ctx, image, client.RawPatch(types.JSONPatchType, patch)), "cannot keep image %q", image.GetName())
}
