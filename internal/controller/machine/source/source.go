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

// Package source finds the template or the VM that a VM is cloned from.
package source

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/connect"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/preflight"
	"github.com/vitistack/provider-proxmox/internal/imageref"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/qemu/validate"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
	"github.com/vitistack/provider-proxmox/internal/vmcache"
)

// A Source is the template or the VM that a VM is cloned from.
type Source struct {
	proxmox.Guest

	Config qemu.Config

	// Shared reports whether all nodes reach its disks, and those of its clone.
	Shared bool

	// Instead are the templates that can replace it, including itself: those of the same name, or of the same Image, on other nodes.
	Instead []proxmox.Guest
}

// On reports whether a template that can replace the source is on a node.
func (s *Source) On(node string) bool { return len(onNode(s.Instead, node)) > 0 }

// Nodes returns the nodes that have the source, or a template that can replace it.
func (s *Source) Nodes() []string {
	all := []string{s.Node}
	for _, g := range s.Instead {
		all = append(all, g.Node)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// IsFull reports whether a clone copies the disks. Only the disks of a template can be shared, and not those that it had at a snapshot. A VM that is
// not a clone has separate disks.
func IsFull(c *v1alpha1.MachineClone, s *Source) bool {
	return s == nil || !s.Template || c != nil && (ptr.Deref(c.Full, false) || c.Snapshot != nil)
}

// CheckMigratable returns why a clone cannot be created on the source's node and then move to the node that the spec names, which is necessary if its
// disks are on local storage.
func (s *Source) CheckMigratable(p *v1alpha1.MachineParameters, nodes []proxmox.Node) error {
	if err := preflight.CheckNode(nodes, *p.Node); err != nil {
		return err
	}
	if !IsFull(p.Clone, s) {
		return conditions.Reject(conditions.Allocating, "%s (VMID %d) is on node %s with local storage, where a linked clone has to stay: "+
			"set clone.full to true for one on node %s", s.Name, s.VMID, s.Node, *p.Node)
	}
	return nil
}

// A Client reads the state of a VM at its snapshots.
type Client interface {
	SnapshotConfig(ctx context.Context, ref proxmox.Ref, snapshot string) (proxmox.VMConfig, error)
	Snapshots(ctx context.Context, ref proxmox.Ref) ([]string, error)
}

// An Inventory reads the guests of the cluster and where their disks are.
type Inventory interface {
	Guests(ctx context.Context, maxAge time.Duration) ([]proxmox.Guest, error)
	Config(ctx context.Context, ref proxmox.Ref) (proxmox.VMConfig, error)
	Storages(ctx context.Context) ([]proxmox.Storage, error)
}

// A Finder finds the sources from which the VMs of one connection are cloned.
type Finder struct {
	Client    Client
	Inventory Inventory
	Reader    *vmcache.Reader
	Checks    *preflight.Checks
	Kube      client.Reader
	Object    client.Object // An empty Machine of the scope.

	// Tenant whose own VMs and templates are found, and those that it may use. If it is nil, all are found.
	Tenant *tenancy.Tenant

	// Records of which VM the provider creates for which Machine.
	Records tenancy.Records

	// SameTenant returns a function that reports whether a Machine may know of another one. If it is nil, Machines may know of all others.
	SameTenant func(ctx context.Context) connect.SameTenantFunc
}

// seen returns those of some guests that the tenant may see.
func (e Finder) seen(guests []proxmox.Guest) []proxmox.Guest {
	if e.Tenant == nil {
		return guests
	}
	return slices.DeleteFunc(slices.Clone(guests), func(g proxmox.Guest) bool { return !e.Tenant.MaySee(g) })
}

// A search determines which guests are usable.
type search struct {
	// match returns the usable guests, or why there are none.
	match func([]proxmox.Guest) ([]proxmox.Guest, error)

	// templates are the VMIDs of guests that are known to be templates, whatever the cluster's list says. No others match. It is nil if none is known.
	templates []int

	// named reports whether the name or VMID of a guest is that of the requested template. It is nil if no template is requested.
	named func(proxmox.Guest) bool
}

// unlisted reports whether a template is missing in the cluster's list.
func (s search) unlisted(guests []proxmox.Guest) bool {
	return slices.ContainsFunc(s.templates, func(vmid int) bool {
		_, listed := proxmox.GuestOf(guests, vmid)
		return !listed
	})
}

// outdated reports whether a guest may have become a template since its node last reported it. The cluster's list, which is based on that report,
// does not show that. A name alone is reason to check only if it leads to no template.
func (s search) outdated(g proxmox.Guest, refused bool) bool {
	if g.Type != "qemu" || g.Template || g.Status != "stopped" {
		return false
	}
	return slices.Contains(s.templates, g.VMID) || refused && s.named != nil && s.named(g)
}

// unreported reports whether a guest that was not reported yet may match.
func (s search) unreported(g proxmox.Guest) bool {
	return unreported(g) && (s.templates == nil || slices.Contains(s.templates, g.VMID))
}

// matched returns the guests of the cluster that match. If the result depends on guests of which the list contains too little, their configurations
// are read.
func (e Finder) matched(ctx context.Context, s search) ([]proxmox.Guest, error) {
	guests, err := e.Inventory.Guests(ctx, inventory.Current)
	if err != nil {
		return nil, err
	}
	found, refused := s.match(e.seen(guests))
	if refused != nil && s.unlisted(guests) { // It was created since, or does not exist.
		if guests, err = e.Inventory.Guests(ctx, inventory.Fresh); err != nil {
			return nil, err
		}
		found, refused = s.match(e.seen(guests))
	}
	uncertain := refused != nil || slices.ContainsFunc(found, unreported)
	toRead := func(g proxmox.Guest) bool { return uncertain && s.unreported(g) || s.outdated(g, refused != nil) }
	if !slices.ContainsFunc(guests, toRead) {
		return found, refused
	}
	if guests, err = e.reported(ctx, guests, toRead); err != nil {
		return nil, err
	}
	return s.match(e.seen(guests))
}

// unreported reports whether the cluster's list has neither the name of a VM nor whether it is a template: pvestatd has not reported it yet, as in
// the first seconds after it was created or its node was started.
func unreported(g proxmox.Guest) bool {
	return g.Type == "qemu" && g.Status == "unknown" && g.Name == ""
}

// reported returns the guests, updated from the configurations of those that are to be read, if their nodes answer.
func (e Finder) reported(ctx context.Context, guests []proxmox.Guest, toRead func(proxmox.Guest) bool) ([]proxmox.Guest, error) {
	guests = slices.Clone(guests)
	silent := map[string]bool{} // Each call to a node that is down takes seconds.
	for i, g := range guests {
		if !toRead(g) || silent[g.Node] {
			continue
		}
		read, err := e.Inventory.Config(ctx, g.Ref())
		if proxmox.IsUnavailable(err) || proxmox.IsNotFound(err) {
			silent[g.Node] = proxmox.IsUnavailable(err)
			continue
		}
		if err != nil {
			return nil, err
		}
		guests[i].Name, guests[i].Template = read.Values["name"], qemu.Config(read.Values).Template()
		if guests[i].Template {
			guests[i].Status = "stopped"
		}
	}
	return guests, nil
}

// checkTenant returns an error if the source may not be cloned. Its configuration, which may be newer than the list, shows whether it is a template.
func (e Finder) checkTenant(ctx context.Context, s *Source) error {
	if e.Tenant == nil {
		return nil
	}
	guests, err := e.Inventory.Guests(ctx, inventory.Current)
	if err != nil {
		return err
	}
	g, listed := proxmox.GuestOf(guests, s.VMID)
	if !listed {
		return e.Tenant.CheckClone(proxmox.Guest{VMID: s.VMID})
	}
	if s.Template {
		g.Template, g.Name = true, s.Name
	}
	return e.Tenant.CheckClone(g)
}

// Find resolves the source of the spec, or returns nil if nothing is cloned. Of several usable templates, it returns the one on the given node.
func (e Finder) Find(ctx context.Context, m object.Machine, image *imageref.Choice, node string) (*Source, error) {
	p := m.Parameters()
	s, err := e.sourceOf(ctx, m, image, node)
	if s == nil || err != nil {
		return nil, err
	}
	if err := e.checkTenant(ctx, s); err != nil {
		return nil, err
	}
	if c := p.Clone; c != nil && c.Snapshot != nil {
		if err := e.atSnapshot(ctx, s, *c.Snapshot); err != nil {
			return nil, err
		}
	}
	s.Shared, err = e.disksShared(ctx, s.Config, p.Clone)
	return s, err
}

func (e Finder) sourceOf(ctx context.Context, m object.Machine, image *imageref.Choice, node string) (*Source, error) {
	p := m.Parameters()
	switch {
	case p.NamesTemplate():
		return e.namedTemplate(ctx, p, node)
	case image != nil && image.Pin.Template:
		match := func(all []proxmox.Guest) ([]proxmox.Guest, error) {
			return templatesOf(all, *image, tenancy.AmongAllowed(e.Tenant, "templates"))
		}
		return e.listedSource(ctx, node, validate.On("/vms", "VM.Audit"), search{match: match, templates: templateVMIDs(*image)})
	case p.Clone != nil && p.Clone.VM != nil:
		match := func(all []proxmox.Guest) ([]proxmox.Guest, error) {
			return matchVM(all, p.Clone.VM.String(), tenancy.AmongAllowed(e.Tenant, "templates"))
		}
		return e.listedSource(ctx, node, validate.On(templatePath(p.Clone.VM), "VM.Audit"), search{match: match})
	case p.Clone != nil && p.Clone.Machine != nil:
		return e.machineSource(ctx, m, *p.Clone.Machine)
	}
	return nil, nil
}

// listedSource returns one of the guests that match, preferably one on the node. If none matches, the privilege to see it may be missing.
func (e Finder) listedSource(ctx context.Context, node string, sees validate.PrivilegeRequirement, wanted search) (*Source, error) {
	found, err := e.matched(ctx, wanted)
	if err != nil {
		return nil, e.Checks.HintMissingPrivilege(ctx, err, sees)
	}
	s := &Source{Guest: highest(preferred(found, node)), Instead: found}
	config, err := e.Inventory.Config(ctx, s.Ref())
	s.Config = maps.Clone(config.Values)
	s.Template = s.Template || s.Config.Template() // It may have become a template since its node last reported it.
	return s, err
}

// preferred returns the guests on the node, if there are any.
func preferred(found []proxmox.Guest, node string) []proxmox.Guest {
	if here := onNode(found, node); len(here) > 0 {
		return here
	}
	return found
}

// highest returns the guest with the highest VMID.
func highest(found []proxmox.Guest) proxmox.Guest {
	return slices.MaxFunc(found, func(a, b proxmox.Guest) int { return cmp.Compare(a.VMID, b.VMID) })
}

// machineSource returns the VM of another Machine of the same scope. As for every VM, its VMID alone does not prove that it is the intended VM.
func (e Finder) machineSource(ctx context.Context, m object.Machine, name string) (*Source, error) {
	if name == m.GetName() {
		return nil, conditions.Reject(conditions.Creating, "machine '%s' cannot be a clone of itself: clone names it", name)
	}
	other, ok := e.Object.DeepCopyObject().(object.Machine)
	if !ok {
		return nil, errors.Errorf("cannot read a %T: it is not a Machine", e.Object)
	}
	err := e.Kube.Get(ctx, types.NamespacedName{Namespace: m.GetNamespace(), Name: name}, other)
	if kerrors.IsNotFound(err) {
		return nil, e.noMachine(name)
	}
	if err != nil {
		return nil, errors.Wrapf(err, "cannot read machine %q to clone", name)
	}
	id, err := object.IdentityOf(other)
	if err := e.checkMachine(ctx, m, other, id.VMID); err != nil {
		return nil, err
	}
	if err != nil || id.UUID == "" {
		return nil, conditions.Reject(conditions.Creating, "machine '%s' to clone has no VM yet", name)
	}
	v, err := e.Reader.Find(ctx, id.VMID, other.GetAnnotations()[object.AnnotationNode])
	switch {
	case err != nil:
		return nil, errors.Wrapf(err, "cannot look at the VM of machine %q to clone", name)
	case v == nil || id.ProveState(v.State) != qemu.Ours || v.BeingCreated():
		return nil, conditions.Reject(conditions.Creating, "machine '%s' to clone has no VM yet", name)
	}
	return &Source{
		Guest:  proxmox.Guest{VMID: v.VMID, Node: v.Node, Name: v.Config["name"], Type: "qemu", Template: v.Template()},
		Config: v.Config,
	}, nil
}

// noMachine returns the refusal of a Machine that does not exist, or that the tenant may not use.
func (e Finder) noMachine(name string) error {
	return conditions.Reject(conditions.Creating, "machine '%s' to clone not found%s", name, tenancy.AmongAllowed(e.Tenant, "templates"))
}

// checkMachine returns an error if the VM that a Machine names may not be cloned. The VM is looked for only after this check: users can write the
// annotations, and the result, or the error, would reveal VMs of others. Of the Machines of others, only templates that the tenant may use are found.
func (e Finder) checkMachine(ctx context.Context, m, other object.Machine, vmid int) error {
	if e.Tenant == nil {
		return nil
	}
	own := true
	if e.SameTenant != nil {
		own, _ = e.SameTenant(ctx)(m, other)
	}
	err := connect.CheckVM(ctx, e.Inventory, vmid, func(g proxmox.Guest) error {
		err := e.Tenant.CheckClone(g)
		if err != nil && own && (g.Type == "" || e.Records.IsCreating(other, g)) {
			return nil // The message that it has no VM yet may be shown.
		}
		return err
	})
	if !own && tenancy.IsRefusal(err) {
		return e.noMachine(other.GetName())
	}
	return err
}

// atSnapshot takes the configuration that the source had at a snapshot. Its description is that of the snapshot.
func (e Finder) atSnapshot(ctx context.Context, s *Source, snapshot string) error {
	config, err := e.Client.SnapshotConfig(ctx, s.Ref(), snapshot)
	if proxmox.IsUnknownReference(err) {
		return e.noSnapshot(ctx, s, snapshot)
	}
	if err != nil {
		return err
	}
	description := s.Config["description"]
	s.Config = maps.Clone(config.Values)
	s.Config["description"] = description
	return nil
}

// noSnapshot returns the refusal of a snapshot that is missing.
func (e Finder) noSnapshot(ctx context.Context, s *Source, snapshot string) error {
	there, err := e.Client.Snapshots(ctx, s.Ref())
	if err != nil {
		return err
	}
	return conditions.Reject(conditions.Creating, "snapshot '%s' of VM %d (%s) not found%s",
		snapshot, s.VMID, s.Name, conditions.Instead("snapshots of it", there))
}

// matchVM finds a VM by its VMID or name among the guests that a tenant may see.
func matchVM(guests []proxmox.Guest, vm, within string) ([]proxmox.Guest, error) {
	id, err := strconv.Atoi(vm)
	byID := err == nil
	var found []proxmox.Guest
	for _, g := range guests {
		if g.Type == "qemu" && (byID && g.VMID == id || !byID && g.Name == vm) {
			found = append(found, g)
		}
	}
	switch {
	case len(found) == 0:
		return nil, conditions.Reject(conditions.Creating, "VM '%s' to clone not found%s", vm, within)
	case len(found) > 1:
		return nil, conditions.Reject(conditions.Creating, "clone.vm '%s' is the name of %d VMs (VMID %s): name it by its VMID", vm, len(found), vmids(found))
	}
	return found, nil
}

// templatesOf returns the existing templates of an Image among the guests that a tenant may see.
func templatesOf(guests []proxmox.Guest, image imageref.Choice, within string) ([]proxmox.Guest, error) {
	ids := templateVMIDs(image)
	var found []proxmox.Guest
	for _, g := range guests {
		if g.Template && slices.Contains(ids, g.VMID) {
			found = append(found, g)
		}
	}
	if len(found) == 0 {
		return nil, conditions.Reject(conditions.Creating, "no template of image '%s' found%s", image.Pin.Name, within)
	}
	return found, nil
}

// templateVMIDs returns the VMIDs of the templates of an Image.
func templateVMIDs(image imageref.Choice) []int {
	ids := make([]int, 0, len(image.Replicas))
	for _, r := range image.Replicas {
		ids = append(ids, r.VMID)
	}
	return ids
}

func onNode(guests []proxmox.Guest, node string) []proxmox.Guest {
	var here []proxmox.Guest
	for _, g := range guests {
		if g.Node == node {
			here = append(here, g)
		}
	}
	return here
}

func vmids(guests []proxmox.Guest) string {
	ids := make([]string, 0, len(guests))
	for _, g := range guests {
		ids = append(ids, strconv.Itoa(g.VMID))
	}
	slices.Sort(ids)
	return strings.Join(ids, ", ")
}

// disksShared reports whether all disks of a configuration are on shared storage, and those of its clone too.
func (e Finder) disksShared(ctx context.Context, config qemu.Config, c *v1alpha1.MachineClone) (bool, error) {
	storages, err := e.Inventory.Storages(ctx)
	if err != nil {
		return false, err
	}
	shared := map[string]bool{}
	for _, s := range storages {
		shared[s.Name] = s.Shared
	}
	if c != nil && c.Storage != nil && !shared[*c.Storage] {
		return false, nil
	}
	for _, device := range slices.Concat(config.Drives(), config.Firmware()) {
		d, err := proxmox.ParseDisk(config[device])
		if err == nil && d.Storage() != "" && !shared[d.Storage()] {
			return false, nil
		}
	}
	return true, nil
}
