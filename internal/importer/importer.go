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

// Package importer writes manifests for the VMs of a Proxmox VE cluster. It only reads.
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

// A Cluster returns the guests of a cluster.
type Cluster interface {
	Guests(ctx context.Context) ([]proxmox.Guest, error)
	Nodes(ctx context.Context) ([]proxmox.Node, error)
	Pending(ctx context.Context, ref proxmox.Ref) ([]proxmox.PendingValue, error)
	HAResource(ctx context.Context, vmid int) (proxmox.HASettings, error)
}

// atOnce is how many VMs are read in parallel: few, so that Proxmox VE has capacity for other clients.
const atOnce = 4

// A Find is a guest that was selected, with the results for it.
type Find struct {
	proxmox.Guest

	// Resource is the name that its Machine gets.
	Resource string

	// Machine is its existing Machine, as namespace/name.
	Machine string

	// Description of the VM; nil without one.
	Description *export.Description

	// Skipped is the reason why a guest is not imported; empty for one that is.
	Skipped string

	// Err is the reason why a VM could not be read.
	Err error
}

// Guests returns the guests of a cluster that the filter selects, by VMID, with the names of their Machines. The names do not depend on the filter.
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

// Machines has the existing Machines, as namespace/name, by the UUID of their VM in lower case, and their VMIDs.
type Machines struct {
	ByUUID map[string]string
	VMIDs  map[int]bool
}

// Find records the Machine of each guest. It reads only guests whose VMID a Machine has. VMIDs alone are not sufficient, since they belong to one
// cluster and may be reused there.
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
	_ = group.Wait() // The functions return no errors.
	return ctx.Err()
}

// skipped returns the reason why a guest cannot be a Machine.
func skipped(g proxmox.Guest) string {
	switch {
	case g.Type != "qemu":
		return "it is a container"
	case g.Template:
		return "it is a template, which Machines are cloned from"
	}
	return ""
}

// Rules for a run, in addition to the data of the cluster.
type Rules struct {
	// Refuses returns the paths of the fields of parameters that admission refuses.
	Refuses func(v1alpha1.MachineParameters) []string

	// Namespace of the Machines in the manifests; empty for Machines without one.
	Namespace string

	// Managed are the existing Machines.
	Managed Machines

	// Existing includes VMs that already have a Machine with the name and namespace of the manifest.
	Existing bool

	// Each is called for every guest that is finished.
	Each func()
}

// managed returns the Machine that has the VM with a UUID, and the reason why the VM therefore gets no manifest.
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

// Describe describes the guests that can be Machines and are not. It returns an error of listing the nodes or of the context. Errors of one guest are
// recorded with the guest.
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
	_ = group.Wait() // The functions return no errors.
	return ctx.Err()
}

// described returns a guest with the results for it.
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
