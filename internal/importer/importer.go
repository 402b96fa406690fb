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

// Package importer writes manifests for the VMs that a Proxmox VE cluster has. It
// reads only.
package importer

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"golang.org/x/sync/errgroup"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/qemu/export"
)

// A Cluster tells of its guests.
type Cluster interface {
	Guests(ctx context.Context) ([]proxmox.Guest, error)
	Nodes(ctx context.Context) ([]proxmox.Node, error)
	Pending(ctx context.Context, ref proxmox.Ref) ([]proxmox.PendingValue, error)
	HAResource(ctx context.Context, vmid int) (proxmox.HASettings, error)
}

// atOnce is how many VMs are read at once: few, so that Proxmox VE has time for
// others.
const atOnce = 4

// A Find is a guest that was chosen, and what was found out about it.
type Find struct {
	proxmox.Guest

	// Resource is the name that its Machine gets.
	Resource string

	// Machine is the one that it has already, as namespace/name.
	Machine string

	// Description of the VM; nil without one.
	Description *export.Description

	// Skipped says why a guest is no Machine; empty for one that is.
	Skipped string

	// Err is why a VM could not be read.
	Err error
}

// Guests returns the guests of a cluster that the filter keeps, by VMID, with the names that their
// Machines get. These do not depend on the filter.
func Guests(ctx context.Context, c Cluster, f Filter) ([]Find, error) {
	guests, err := c.Guests(ctx)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(guests, func(a, b proxmox.Guest) int { return a.VMID - b.VMID })
	names := resourceNames(guests)
	var finds []Find
	for _, g := range guests {
		if f.keeps(g) {
			finds = append(finds, Find{Guest: g, Resource: names[g.VMID], Skipped: skipped(g)})
		}
	}
	return finds, nil
}

// Machines that there are, as namespace/name, by the UUID of their VM in lower case, and the VMIDs that they have.
type Machines struct {
	ByUUID map[string]string
	VMIDs  map[int]bool
}

// Find notes which Machine each guest has. Only guests are read whose VMID a Machine has, since VMIDs are those of one cluster and may be
// used again there.
func (all Machines) Find(ctx context.Context, c Cluster, finds []Find) error {
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i := range finds {
		if f := &finds[i]; f.Skipped == "" && all.VMIDs[f.VMID] {
			group.Go(func() error {
				var values []proxmox.PendingValue
				if values, f.Err = c.Pending(ctx, f.Ref()); f.Err == nil {
					f.Machine = all.ByUUID[strings.ToLower(qemu.Read(values).Config.UUID())]
				}
				return nil
			})
		}
	}
	_ = group.Wait() // It has no errors.
	return ctx.Err()
}

// skipped returns why a guest is no Machine.
func skipped(g proxmox.Guest) string {
	switch {
	case g.Type != "qemu":
		return "it is a container"
	case g.Template:
		return "it is a template, which Machines are cloned from"
	}
	return ""
}

// Rules of a run, besides what the cluster tells.
type Rules struct {
	// Refuses says which fields of parameters admission does not take, by their
	// paths.
	Refuses func(v1alpha1.MachineParameters) []string

	// Namespace of the Machines that the manifests are of; empty for those that have
	// none.
	Namespace string

	// Managed are the Machines that there are.
	Managed Machines

	// Existing has VMs be described that have a Machine already, of the name and namespace that its manifest has.
	Existing bool

	// Each is called for every guest that is done.
	Each func()
}

// managed returns the Machine that has the VM with a UUID, and why it gets no manifest therefore.
func (r Rules) managed(uuid, resource string) (machine, skipped string) {
	m := r.Managed.ByUUID[uuid]
	switch {
	case m == "":
		return "", ""
	case m != path.Join(r.Namespace, resource):
		return m, "it is Machine " + m + " already"
	case !r.Existing:
		return m, "it is Machine " + m + " already: --existing writes its manifest again"
	}
	return m, ""
}

// Describe describes the guests that can be Machines and are none yet. The error is that of
// the list of nodes or of the context: what goes wrong with a guest is noted with it.
func Describe(ctx context.Context, c Cluster, finds []Find, r Rules) error {
	nodes, err := c.Nodes(ctx)
	if err != nil {
		return err
	}
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i := range finds {
		group.Go(func() error {
			defer r.Each()
			finds[i] = finds[i].described(ctx, c, nodes, r)
			return nil
		})
	}
	_ = group.Wait() // It has no errors.
	return ctx.Err()
}

// described returns a guest with what was found out about it.
func (f Find) described(ctx context.Context, c Cluster, nodes []proxmox.Node, r Rules) Find {
	if f.Skipped != "" || ctx.Err() != nil {
		return f
	}
	if slices.ContainsFunc(nodes, func(n proxmox.Node) bool { return n.Name == f.Node && !n.Online() }) {
		f.Err = errors.Errorf("node %q is offline", f.Node)
		return f
	}
	s := export.Subject{Pool: f.Pool}
	if s.Options, f.Err = c.Pending(ctx, f.Ref()); f.Err != nil {
		return f
	}
	var noHA error
	if f.HAState != "" {
		s.HA, noHA = c.HAResource(ctx, f.VMID)
	}
	d, err := export.Describe(s, r.Refuses)
	if err != nil {
		f.Skipped = err.Error()
		return f
	}
	if f.Machine, f.Skipped = r.managed(d.UUID, f.Resource); f.Skipped != "" {
		return f
	}
	if noHA != nil {
		d.Omissions = append(d.Omissions, export.Omission{Option: "ha", Reason: noHA.Error()})
	}
	f.Description = &d
	return f
}

// Unread returns an error if guests could not be read.
func Unread(finds []Find) error {
	n := 0
	for _, f := range finds {
		if f.Err != nil {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return errors.Errorf("cannot read %d of %d guests: the report says why", n, len(finds))
}
