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

package backupjob

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/settings"
)

// A target is the result of resolving the references of a spec.
type target struct {
	storage, pool string

	// fleecing is the storage for fleecing; nil if the spec names none.
	fleecing *string

	// vmids are the guests that are named, and excluded those that are excluded. Guests that do not exist yet are left out, but not removed from a job,
	// because they may only be hidden.
	vmids, excluded []int

	// guests that the job backs up, as far as they are visible, and their nodes.
	guests []int
	nodes  map[int]string

	// waits is true while a selected Machine is not known to have a VM.
	waits bool

	// missing is true if a named guest is not listed.
	missing bool

	// problems report declared objects that do not exist.
	problems []string
}

// resolve returns the options that name guests, a pool and a storage.
func resolve(ctx context.Context, v view) (settings.Declared, error) {
	t, err := newTarget(ctx, v, v.MaxAge(inventory.Current))
	if err == nil && t.missing && !v.Fresh {
		t, err = newTarget(ctx, v, inventory.Fresh) // A guest may have been created a moment ago.
	}
	if err != nil {
		return nil, err
	}
	d := settings.Declared{}
	if t.storage != "" {
		d.Set(storageOption, &t.storage)
	}
	if f := v.Resource.Parameters().Fleecing; f != nil {
		parts := map[string]*string{"enabled": settings.Boolean(&f.Enabled)}
		if t.fleecing != nil && *t.fleecing != "" {
			parts["storage"] = t.fleecing
		}
		d.SetParts("fleecing", "enabled", parts)
	}
	// Options that name guests in another way are removed. PVE mostly does so itself.
	none := func(options ...string) {
		for _, option := range options {
			d.SetSame(option, new(""), func(a, b string) bool { return a+b == "0" })
		}
	}
	switch p := v.Resource.Parameters(); {
	case isAll(p):
		d.SetSame(allOption, new("1"), sameFlag)
		none(vmidOption, poolOption)
		if excludes(p) {
			d.SetSame(excludeOption, new(join(t.excluded)), settings.SameList)
		}
	case byPool(p) && t.pool != "":
		d.Set(poolOption, &t.pool)
		none(vmidOption, allOption, excludeOption)
	case len(t.vmids) > 0:
		d.SetSame(vmidOption, new(join(t.vmids)), settings.SameList)
		none(poolOption, allOption, excludeOption)
	}
	return d, nil
}

func isAll(p *parameters) bool { return p.All != nil && *p.All }

func byPool(p *parameters) bool { return p.Pool != nil || p.PoolRef != nil || p.PoolSelector != nil }

func excludes(p *parameters) bool {
	return p.ExcludeVMIDs != nil || p.ExcludeMachineRefs != nil || p.ExcludeMachineSelector != nil
}

// newTarget looks up what a spec refers to, in a list of guests that is at most maxAge old.
func newTarget(ctx context.Context, v view, maxAge time.Duration) (*target, error) {
	p, t := v.Resource.Parameters(), &target{nodes: map[int]string{}}
	var err error
	if t.storage, err = t.one(ctx, v, "Storage", p.Storage, p.StorageRef, p.StorageSelector); err != nil {
		return nil, err
	}
	if t.pool, err = t.one(ctx, v, "Pool", p.Pool, p.PoolRef, p.PoolSelector); err != nil {
		return nil, err
	}
	if f := p.Fleecing; f != nil && (f.Storage != nil || f.StorageRef != nil) {
		name, err := t.one(ctx, v, "Storage", f.Storage, f.StorageRef, nil)
		if err != nil {
			return nil, err
		}
		t.fleecing = &name
	}
	guests, err := v.Inventory.Guests(ctx, maxAge)
	if err != nil {
		return nil, err
	}
	switch {
	case isAll(p):
		if t.excluded, err = t.machines(ctx, v, p.ExcludeVMIDs, p.ExcludeMachineRefs, p.ExcludeMachineSelector); err == nil {
			err = t.keepExcluded(ctx, v)
		}
		t.see(guests, func(g proxmox.Guest) bool { return !slices.Contains(t.excluded, g.VMID) })
	case byPool(p):
		t.see(guests, func(g proxmox.Guest) bool { return g.Pool == t.pool && t.pool != "" })
	default:
		t.vmids, err = t.machines(ctx, v, p.VMIDs, p.MachineRefs, p.MachineSelector)
		t.keep(v)
		t.see(guests, func(g proxmox.Guest) bool { return slices.Contains(t.vmids, g.VMID) })
		t.dropMissing(v)
	}
	return t, err
}

// one returns the name of the single object that is named, referenced or selected, if any.
func (t *target) one(ctx context.Context, v view, kind string, name *string, ref *v1alpha1.Reference, s *v1alpha1.Selector) (string, error) {
	if name != nil {
		return *name, nil
	}
	var refs []v1alpha1.Reference
	if ref != nil {
		refs = append(refs, *ref)
	}
	names, waiting, err := v.Referenced(ctx, kind, refs, s)
	switch {
	case err != nil || ref == nil && s == nil:
		return "", err
	case len(names) == 1 && len(waiting) == 0:
		return names[0], nil
	case len(names)+len(waiting) > 1:
		t.problems = append(t.problems, fmt.Sprintf("the selector matches several resources of the kind %s: %s", kind,
			strings.Join(append(names, waiting...), ", ")))
	case len(waiting) == 1:
		t.problems = append(t.problems, kind+" "+strconv.Quote(waiting[0])+" is not there yet")
	default:
		t.problems = append(t.problems, "the selector matches no resource of the kind "+kind)
	}
	return "", nil
}

// machines returns the VMIDs that are named, and those of Machines.
func (t *target) machines(ctx context.Context, v view, ids []int32, refs []v1alpha1.Reference, s *v1alpha1.Selector) ([]int, error) {
	names, waiting, err := v.Referenced(ctx, "Machine", refs, s)
	for _, name := range waiting {
		t.problems = append(t.problems, "Machine "+strconv.Quote(name)+" has no VM in this cluster yet")
	}
	t.waits = len(waiting) > 0
	var all []int
	for _, id := range ids {
		all = append(all, int(id))
	}
	for _, name := range names {
		if id, err := strconv.Atoi(name); err == nil {
			all = append(all, id)
		}
	}
	slices.Sort(all)
	return slices.Compact(all), err
}

// keep keeps the guests that the job names while a Machine waits. The Machine may have its VM and not have been reconciled yet, for example after a
// restore of Kubernetes.
func (t *target) keep(v view) {
	if !t.waits {
		return
	}
	t.vmids = append(t.vmids, listed(v, vmidOption)...)
	slices.Sort(t.vmids)
	t.vmids = slices.Compact(t.vmids)
}

// keepExcluded keeps the guests that the job excludes while a Machine waits, except VMIDs that other Machines have meanwhile. Proxmox VE gives a free
// VMID to the next VM, which the spec does not exclude.
func (t *target) keepExcluded(ctx context.Context, v view) error {
	if !t.waits {
		return nil
	}
	vms, err := v.MachineVMs(ctx)
	if err != nil {
		return err
	}
	var kept []int
	for _, id := range listed(v, excludeOption) {
		if _, has := vms[id]; !has && !slices.Contains(t.excluded, id) {
			kept = append(kept, id)
		}
	}
	if len(kept) == 0 {
		return nil
	}
	t.problems = append(t.problems, "guests that stay excluded until then, as they were before: "+join(kept))
	t.excluded = append(t.excluded, kept...)
	slices.Sort(t.excluded)
	return nil
}

// listed returns the VMIDs in an option of the job.
func listed(v view, option string) []int {
	var all []int
	for _, id := range strings.FieldsFunc(v.Seen.Values[option], func(r rune) bool { return strings.ContainsRune(",; ", r) }) {
		if n, err := strconv.Atoi(id); err == nil {
			all = append(all, n)
		}
	}
	return all
}

// see reads the guests that the job backs up.
func (t *target) see(guests []proxmox.Guest, backedUp func(proxmox.Guest) bool) {
	for _, g := range guests {
		if backedUp(g) {
			t.guests = append(t.guests, g.VMID)
			t.nodes[g.VMID] = g.Node
		}
	}
	slices.Sort(t.guests)
}

// dropMissing leaves out VMIDs without a guest, because PVE accepts any number. A VMID that the job already has stays: a guest that is not visible
// now must not lose its backups.
func (t *target) dropMissing(v view) {
	has := listed(v, vmidOption)
	t.vmids = slices.DeleteFunc(t.vmids, func(id int) bool {
		if slices.Contains(t.guests, id) {
			return false
		}
		t.missing = true
		t.problems = append(t.problems, fmt.Sprintf("guest %d does not exist, or the user may not see it", id))
		return !slices.Contains(has, id)
	})
}

func join(ids []int) string {
	all := make([]string, 0, len(ids))
	for _, id := range ids {
		all = append(all, strconv.Itoa(id))
	}
	return strings.Join(all, ",")
}
