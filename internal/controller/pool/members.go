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

package pool

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/config"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// ReasonMembersMissing means that some members that the spec names cannot be members now.
const ReasonMembersMissing xpv2.ConditionReason = "MembersMissing"

// A membership holds the members that the spec names, and why some cannot be members now.
type membership struct {
	declared proxmox.PoolMembers
	problems []string
}

// inspect compares the members.
func inspect(ctx context.Context, v view) (config.Findings, error) {
	m, err := declared(ctx, v)
	if err != nil {
		return config.Findings{}, err
	}
	o := v.Resource.Observation()
	o.VMIDs, o.Storages, o.MemberCount = nil, nil, nil
	if len(m.declared.VMIDs)+len(m.declared.Storages)+len(m.problems) == 0 {
		return config.Findings{}, nil
	}
	has, err := members(ctx, v)
	if err != nil {
		return config.Findings{}, err
	}
	for _, id := range has.VMIDs {
		o.VMIDs = append(o.VMIDs, int32(id)) //nolint:gosec // A VMID.
	}
	o.Storages, o.MemberCount = has.Storages, new(int32(len(has.VMIDs)+len(has.Storages))) //nolint:gosec // Few.
	missing := without(m.declared, has)
	if missing, err = m.joinable(ctx, v, missing); err != nil {
		return config.Findings{}, err
	}
	return m.findings(v, has, missing), nil
}

// members returns the members of the pool. A pool that does not exist yet has none.
func members(ctx context.Context, v view) (proxmox.PoolMembers, error) {
	if !v.Exists {
		return proxmox.PoolMembers{}, nil
	}
	return v.Inventory.PoolMembers(ctx, v.Name, v.MaxAge(inventory.Stable))
}

// declared returns the members that the spec names. A member that does not exist in PVE yet is a problem.
func declared(ctx context.Context, v view) (*membership, error) {
	p, m := v.Resource.Parameters(), &membership{}
	machines, waiting, err := v.Referenced(ctx, "Machine", p.MachineRefs, p.MachineSelector)
	if err != nil {
		return nil, err
	}
	storages, unnamed, err := v.Referenced(ctx, "Storage", p.StorageRefs, p.StorageSelector)
	if err != nil {
		return nil, err
	}
	for _, name := range waiting {
		m.problems = append(m.problems, "Machine "+strconv.Quote(name)+" has no VM in this cluster yet")
	}
	for _, name := range unnamed {
		m.problems = append(m.problems, "Storage "+strconv.Quote(name)+" is not there yet")
	}
	for _, id := range p.VMIDs {
		m.declared.VMIDs = append(m.declared.VMIDs, int(id))
	}
	for _, name := range machines {
		if id, err := strconv.Atoi(name); err == nil {
			m.declared.VMIDs = append(m.declared.VMIDs, id)
		}
	}
	m.declared.Storages = append(slices.Clone(p.Storages), storages...)
	return m, nil
}

// joinable returns the missing members that can be added. PVE would accept VMIDs and storages that do not exist, and hide them. A VM of another pool
// stays there. Only a fresh list proves that a member cannot be added, because it may have been created, or have left its pool, a moment ago.
func (m *membership) joinable(ctx context.Context, v view, missing proxmox.PoolMembers) (proxmox.PoolMembers, error) {
	if len(missing.VMIDs)+len(missing.Storages) == 0 {
		return missing, nil
	}
	r, err := v.Inventory.Resources(ctx, v.MaxAge(inventory.Current))
	if err != nil {
		return missing, err
	}
	can, problems := joinableOf(missing, r, v.Name)
	if len(problems) > 0 && !v.Fresh {
		if r, err = v.Inventory.Resources(ctx, inventory.Fresh); err != nil {
			return missing, err
		}
		can, problems = joinableOf(missing, r, v.Name)
	}
	m.problems = append(m.problems, problems...)
	return can, nil
}

// joinableOf returns the missing members that can be added to a pool according to a list of resources, and why the others cannot.
func joinableOf(missing proxmox.PoolMembers, r proxmox.Resources, pool string) (can proxmox.PoolMembers, problems []string) {
	for _, id := range missing.VMIDs {
		g, listed := proxmox.GuestOf(r.Guests, id)
		switch {
		case !listed:
			problems = append(problems, fmt.Sprintf("VM %d does not exist, or the user may not see it", id))
		case g.Pool != "" && g.Pool != pool:
			problems = append(problems, fmt.Sprintf("VM %d is in pool %q, and is left there", id, g.Pool))
		default:
			can.VMIDs = append(can.VMIDs, id)
		}
	}
	for _, name := range missing.Storages {
		if slices.ContainsFunc(r.Storages, func(s proxmox.Storage) bool { return s.Name == name }) {
			can.Storages = append(can.Storages, name)
			continue
		}
		problems = append(problems, fmt.Sprintf("storage %q does not exist, or the user may not see it: correct storages, or grant Datastore.Audit", name))
	}
	return can, problems
}

func (m *membership) findings(v view, has, missing proxmox.PoolMembers) config.Findings {
	f := config.Findings{}
	for _, problem := range m.problems {
		f.Problems = append(f.Problems, kind.Problem{Reason: ReasonMembersMissing, Message: problem})
	}
	if own := without(m.declared, without(m.declared, has)); len(own.VMIDs)+len(own.Storages) > 0 {
		f.BeforeDelete = func(ctx context.Context) error { return change(ctx, v, v.Client.RemovePoolMembers, own) }
	}
	if len(missing.VMIDs)+len(missing.Storages) == 0 || !v.Exists {
		return f
	}
	f.Apply = func(ctx context.Context) error { return add(ctx, v, missing) }
	for _, id := range missing.VMIDs {
		f.Difference = append(f.Difference, v1alpha1.OptionDifference{Option: "vms", Desired: strconv.Itoa(id)})
		f.Privileges = append(f.Privileges, proxmox.Privilege{Path: "/vms/" + strconv.Itoa(id), Names: []string{"Permissions.Modify", "VM.Allocate"}})
	}
	for _, name := range missing.Storages {
		f.Difference = append(f.Difference, v1alpha1.OptionDifference{Option: "storage", Desired: name})
		f.Privileges = append(f.Privileges, proxmox.Privilege{Path: "/storage/" + name, Names: []string{"Permissions.Modify", "Datastore.Allocate"}})
	}
	return f
}

// add adds members to the pool. PVE adds none of them if one of the VMs is in another pool. Such VMs are left out, and the next reconcile reports
// them.
func add(ctx context.Context, v view, missing proxmox.PoolMembers) error {
	guests, err := v.Inventory.Guests(ctx, inventory.Fresh)
	if err != nil {
		return err
	}
	missing.VMIDs = slices.DeleteFunc(slices.Clone(missing.VMIDs), func(id int) bool {
		return !slices.ContainsFunc(guests, func(g proxmox.Guest) bool { return g.VMID == id && (g.Pool == "" || g.Pool == v.Name) })
	})
	if len(missing.VMIDs)+len(missing.Storages) == 0 {
		return nil
	}
	return change(ctx, v, v.Client.AddPoolMembers, missing)
}

// change changes the members of the pool.
func change(ctx context.Context, v view, how func(context.Context, string, proxmox.PoolMembers) error, m proxmox.PoolMembers) error {
	defer v.Inventory.InvalidatePoolMembers(v.Name)
	return how(ctx, v.Name, m)
}

// users returns the users of a pool: its members that the spec does not name, and the pools in it.
func users(ctx context.Context, v view) ([]string, error) {
	m, err := declared(ctx, v)
	if err != nil {
		return nil, err
	}
	has, err := v.Client.PoolMembers(ctx, v.Name)
	if err != nil {
		return nil, err
	}
	pools, err := v.Inventory.Objects(ctx, collection(), inventory.Fresh)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, p := range pools {
		if strings.HasPrefix(p.Name, v.Name+"/") {
			all = append(all, "pool "+strconv.Quote(p.Name))
		}
	}
	others := without(has, m.declared)
	for _, id := range others.VMIDs {
		all = append(all, "VM "+strconv.Itoa(id))
	}
	for _, name := range others.Storages {
		all = append(all, "storage "+strconv.Quote(name))
	}
	return all, nil
}

// without returns the members of a that are not in b.
func without(a, b proxmox.PoolMembers) proxmox.PoolMembers {
	return proxmox.PoolMembers{
		VMIDs:    slices.DeleteFunc(slices.Clone(a.VMIDs), func(id int) bool { return slices.Contains(b.VMIDs, id) }),
		Storages: slices.DeleteFunc(slices.Clone(a.Storages), func(s string) bool { return slices.Contains(b.Storages, s) }),
	}
}
