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

// Package preflight checks what Proxmox VE would find only after part of an operation was done: options that the user or the version may not set,
// missing privileges, media and bridges that a node does not have, storages that are too small, volumes that another VM uses.
package preflight

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/qemu/validate"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
	"github.com/vitistack/provider-proxmox/internal/vmcache"
)

// A Client is the part of the API of Proxmox VE that the checks query.
type Client interface {
	Permissions(ctx context.Context, path string) (map[string]proxmox.Privileges, error)
}

// An Inventory is the part of the cluster's inventory that the checks query.
type Inventory interface {
	Version(ctx context.Context) (proxmox.Version, error)
	Privileges(ctx context.Context, path string) (proxmox.Privileges, error)
	PrivilegesOn(ctx context.Context, path string) (proxmox.Privileges, error)
	Guests(ctx context.Context, maxAge time.Duration) ([]proxmox.Guest, error)
	Storages(ctx context.Context) ([]proxmox.Storage, error)
	Bridges(ctx context.Context, node string, maxAge time.Duration) ([]proxmox.Bridge, error)
	Volumes(ctx context.Context, node, storage, content string, maxAge time.Duration) ([]proxmox.Volume, error)
	Objects(ctx context.Context, of proxmox.Collection, maxAge time.Duration) ([]proxmox.Object, error)
}

// Checks are the checks of one connection to a cluster.
type Checks struct {
	Client    Client
	Inventory Inventory
	Reader    *vmcache.Reader

	// Superuser is true for root@pam with its password.
	Superuser bool

	// Tenant for which messages name only what it may use. If it is nil, messages may name everything.
	Tenant *tenancy.Tenant
}

// ForbiddenChanges returns the changes that PVE would refuse because of the user or its version. There may be more requirements of the version than
// those of the configuration.
func (e *Checks) ForbiddenChanges(ctx context.Context, d qemu.Difference, config qemu.Config, more ...validate.VersionRequirement) ([]string, error) {
	var no []string
	if !e.Superuser {
		no = validate.Forbidden(d, config)
	}
	unknown, err := e.UnmetRequirements(ctx, append(validate.VersionRequirements(d, config), more...))
	return append(no, unknown...), err
}

// UnmetRequirements returns the demands that the version of PVE does not meet. PVE is asked for its version only if that matters.
func (e *Checks) UnmetRequirements(ctx context.Context, demands []validate.VersionRequirement) ([]string, error) {
	if len(demands) == 0 {
		return nil, nil
	}
	v, err := e.Inventory.Version(ctx)
	if err != nil {
		return nil, err
	}
	var no []string
	for _, a := range demands {
		if why := a.Unmet(v); why != "" {
			no = append(no, why)
		}
	}
	return no, nil
}

// CheckPrivileges returns which privileges are missing for an operation whose first part must not be done if the rest of it would be refused.
func (e *Checks) CheckPrivileges(ctx context.Context, op string, needs []validate.PrivilegeRequirement) error {
	if e.Superuser {
		return nil
	}
	seen := &permissions{look: func(path string) (map[string]proxmox.Privileges, error) { return e.Client.Permissions(ctx, path) }}
	var missing []proxmox.Privilege
	for _, n := range validate.Distinct(needs) {
		if !n.Met(seen.has) {
			missing = append(missing, n.Named())
		}
	}
	if len(missing) == 0 || seen.err != nil {
		return seen.err
	}
	return proxmox.Denial(op, missing...)
}

// CheckPrivilegesKnown is CheckPrivileges for an operation on many VMs at once: it uses the known privileges of the user on all paths, and queries
// them again only if they are not sufficient.
func (e *Checks) CheckPrivilegesKnown(ctx context.Context, op string, needs []validate.PrivilegeRequirement) error {
	if e.Superuser {
		return nil
	}
	var err error
	has := func(path, name string) bool {
		there, failed := e.Inventory.PrivilegesOn(ctx, path)
		err = cmp.Or(err, failed)
		_, granted := there[name]
		return granted
	}
	missing := slices.DeleteFunc(slices.Clone(needs), func(n validate.PrivilegeRequirement) bool { return n.Met(has) })
	if err != nil || len(missing) == 0 {
		return err
	}
	return e.CheckPrivileges(ctx, op, needs)
}

// CheckPrivilegesOfNew is CheckPrivileges for a VM that does not exist yet. It uses the known privileges that all Machines share, and queries them
// again only if they are not sufficient.
func (e *Checks) CheckPrivilegesOfNew(ctx context.Context, op string, needs []validate.PrivilegeRequirement) error {
	if e.Superuser {
		return nil
	}
	var rest []validate.PrivilegeRequirement
	for _, n := range needs {
		known, err := e.privilegeKnown(ctx, n.Named())
		if err != nil {
			return err
		}
		if !known {
			rest = append(rest, n)
		}
	}
	return e.CheckPrivileges(ctx, op, rest)
}

// privilegeKnown reports whether one of the privileges is known to be granted on the path, or on all VMs: privileges are not granted or revoked on a
// VM that does not exist.
func (e *Checks) privilegeKnown(ctx context.Context, p proxmox.Privilege) (bool, error) {
	at, absent := p.Path, strings.HasPrefix(p.Path, "/vms/")
	if absent {
		at = "/vms"
	}
	all, err := e.Inventory.Privileges(ctx, at)
	return slices.ContainsFunc(p.Names, func(name string) bool {
		inherited, has := all[name]
		return has && (inherited || !absent)
	}), err
}

// permissions caches the user's privileges. Each path is read once.
type permissions struct {
	look  func(path string) (map[string]proxmox.Privileges, error)
	paths map[string]proxmox.Privileges
	err   error
}

func (s *permissions) has(path, privilege string) bool {
	all, known := s.paths[path]
	if !known && s.err == nil {
		if s.paths == nil {
			s.paths = map[string]proxmox.Privileges{}
		}
		there, err := s.look(path)
		all, s.err = there[path], err
		s.paths[path] = all
	}
	_, has := all[privilege]
	return has
}
