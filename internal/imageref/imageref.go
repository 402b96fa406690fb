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

// Package imageref decides which revision of an Image a Machine uses, and which of its files or templates. It makes no calls: all it knows is in its
// arguments.
package imageref

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// An Image is an Image of either scope.
type Image interface {
	resource.Managed

	Parameters() *v1alpha1.ImageParameters
	Observation() *v1alpha1.ImageObservation
}

// A Reference describes what a Machine needs of an Image.
type Reference struct {
	// Name of the Image, which has the Machine's scope and namespace.
	Name string

	// Template is true if a template of the Image is cloned, and false if its file is imported.
	Template bool
}

// A Machine is a Machine of either scope, as far as it refers to Images.
type Machine interface {
	resource.Managed

	Parameters() *v1alpha1.MachineParameters
}

// Of returns what the spec of a Machine needs of an Image, and whether it names one.
func Of(m Machine) (Reference, bool) {
	p := m.Parameters()
	switch {
	case p.TemplateRef != nil:
		return Reference{Name: p.TemplateRef.Name, Template: true}, true
	case p.Image != nil && p.Image.Ref != nil:
		return Reference{Name: p.Image.Ref.Name}, true
	case p.Image != nil && p.Image.URL != nil:
		return Reference{Name: SharedName(p.Image, ConfigOf(m))}, true
	}
	return Reference{}, false
}

// A NotReadyError is the reason why a Machine has to wait for an Image.
type NotReadyError struct{ Message string }

// Error returns the message.
func (e *NotReadyError) Error() string { return e.Message }

// Brief returns the error without the details of the Image's problem: "image 'x' is not ready: StorageNotFound".
func (e *NotReadyError) Brief() error {
	parts := strings.SplitN(e.Message, ": ", 3)
	return &NotReadyError{Message: strings.Join(parts[:min(len(parts), 2)], ": ")}
}

func notReady(format string, args ...any) error {
	return &NotReadyError{Message: fmt.Sprintf(format, args...)}
}

// Missing returns the error for an Image that does not exist.
func Missing(name string) error { return notReady("image '%s' not found", name) }

// A Replica is a file or a template that a VM can be created from.
type Replica struct {
	// Node that has it, and Storage that it is on. If it is Shared, every node with the storage can use it.
	Node, Storage string
	Shared        bool

	// Volume ID of a file, and VMID of a template.
	Volume string
	VMID   int
}

// A Choice is the revision that a VM is created from, and its replicas.
type Choice struct {
	Pin Pin

	// Replicas that are ready, sorted. There is at least one.
	Replicas []Replica
}

// Choose chooses the revision of an Image that a VM is created from: the pinned one if there is one and it still exists, otherwise the newest complete
// one.
func Choose(image Image, r Reference, pinned *Pin) (Choice, error) {
	o := image.Observation()
	if meta.WasDeleted(image) {
		return Choice{}, notReady("image '%s' is being deleted", r.Name)
	}
	if r.Template && image.Parameters().Template == nil && len(o.Templates) == 0 {
		return Choice{}, notReady("image '%s' has no template: set its template, or use image.ref", r.Name)
	}
	if pinned != nil && pinned.Name == r.Name && pinned.UID == string(image.GetUID()) && pinned.Revision != o.Revision {
		if c, ok := older(image, r, pinned.Revision); ok {
			return c, nil
		}
	}
	c := choice(image, r, v1alpha1.ImageRevision{
		Revision: o.Revision, Digest: o.Digest, File: o.File, Replicas: o.Replicas, Templates: o.Templates,
	})
	if o.Revision == 0 || len(c.Replicas) == 0 {
		return Choice{}, notReady("image '%s' is not ready: %s", r.Name, reason(image, r))
	}
	return c, nil
}

// older returns the choice of a revision that is not the newest, if a replica of it exists.
func older(image Image, r Reference, revision int32) (Choice, bool) {
	for _, rev := range image.Observation().Revisions {
		if rev.Revision == revision {
			c := choice(image, r, rev)
			return c, len(c.Replicas) > 0
		}
	}
	return Choice{}, false
}

// choice returns the choice of a revision.
func choice(image Image, r Reference, rev v1alpha1.ImageRevision) Choice {
	c := Choice{Pin: Pin{
		Name: r.Name, UID: string(image.GetUID()), Revision: rev.Revision, Digest: rev.Digest, File: rev.File, Template: r.Template,
	}}
	if r.Template {
		c.Replicas = templateReplicas(rev.Templates)
	} else {
		c.Replicas = fileReplicas(rev.Replicas)
	}
	slices.SortFunc(c.Replicas, func(a, b Replica) int {
		return cmp.Or(strings.Compare(a.Node, b.Node), strings.Compare(a.Storage, b.Storage), cmp.Compare(a.VMID, b.VMID))
	})
	return c
}

func templateReplicas(templates []v1alpha1.ImageTemplateObservation) []Replica {
	var all []Replica
	for _, t := range templates {
		if t.Ready && t.VMID != nil {
			all = append(all, Replica{Node: t.Node, Storage: t.Storage, Shared: t.Shared, VMID: int(*t.VMID)})
		}
	}
	return all
}

func fileReplicas(files []v1alpha1.ImageReplica) []Replica {
	var all []Replica
	for _, f := range files {
		if f.Ready && strings.Contains(f.Volume, ":import/") {
			all = append(all, Replica{Node: f.Node, Storage: f.Storage, Shared: f.Shared, Volume: f.Volume})
		}
	}
	return all
}

// reason returns the reason why an Image cannot be used. It contains only what changes when the Image becomes usable or fails: the progress of a
// download is shown in the Image itself.
func reason(image Image, r Reference) string {
	ready := image.GetCondition(xpv2.TypeReady)
	switch {
	case !r.Template && len(image.Observation().Templates) > 0 && ready.Status == "True":
		return "it has no file to import: use templateRef"
	case ready.Reason == "", ready.Reason == v1alpha1.ReasonNotReconciled:
		return "nothing was done about it yet"
	case slices.Contains(underWay(), string(ready.Reason)):
		return string(ready.Reason)
	case ready.Status == "True":
		return "none of it is what this Machine needs"
	}
	return string(ready.Reason) + ": " + ready.Message
}

// underWay returns the reasons of an Image that is being prepared.
func underWay() []string { return []string{"Creating", "Downloading", "MakingTemplate"} }

// On returns the replica that a node can use, given which nodes have a storage. A replica on the node itself comes first.
func (c Choice) On(node string, has func(node, storage string) bool) (Replica, bool) {
	for _, r := range c.Replicas {
		if r.Node == node && !r.Shared {
			return r, true
		}
	}
	for _, r := range c.Replicas {
		if r.Shared && (r.Node == node || has(node, r.Storage)) {
			return r, true
		}
	}
	return Replica{}, false
}

// Nodes returns the nodes that can use the revision.
func (c Choice) Nodes(all []string, has func(node, storage string) bool) []string {
	return slices.DeleteFunc(slices.Clone(all), func(node string) bool {
		_, ok := c.On(node, has)
		return !ok
	})
}

// Changed reports whether an Image has changed in a way that matters to a Machine that waits for it.
func Changed(before, after Image) bool { return stateOf(before) != stateOf(after) }

// stateOf returns the state of an Image, as far as Machines wait for it.
func stateOf(image Image) string {
	o := image.Observation()
	parts := []string{fmt.Sprint(o.Revision, meta.WasDeleted(image), image.GetUID())}
	for _, r := range slices.Concat(fileReplicas(o.Replicas), templateReplicas(o.Templates)) {
		parts = append(parts, fmt.Sprint(r))
	}
	slices.Sort(parts)
	ready := image.GetCondition(xpv2.TypeReady)
	if !slices.Contains(underWay(), string(ready.Reason)) {
		parts = append(parts, ready.Message)
	}
	return strings.Join(append(parts, string(ready.Reason)), "\n")
}
