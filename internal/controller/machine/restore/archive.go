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

package restore

import (
	"cmp"
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/preflight"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/tenant"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/qemu/validate"
)

// An Archive is a backup that a VM is restored from.
type Archive struct {
	// Volume of the backup, and the nodes that have it.
	Volume string
	Nodes  []string

	// Config is the configuration of a VM restored from it before anything is changed, and Read the configuration in the backup.
	Config, Read qemu.Config

	// Storage that all disks are put on, or nil if each goes to its original storage.
	Storage *string

	// Template is true if it is the backup of a template.
	Template bool
}

// Storages returns the storages that the disks of the VM are put on.
func (a *Archive) Storages() []string {
	var all []string
	for _, device := range allocated(a.Config) {
		storage, _, _ := strings.Cut(a.Config.Volume(device), ":")
		all = append(all, storage)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Privileges returns the privileges that the disks and networks of the VM need on a node.
func (a *Archive) Privileges(ctx context.Context, checks *preflight.Checks, node string) ([]validate.PrivilegeRequirement, error) {
	nics := qemu.Difference{Set: proxmox.Params{}}
	for _, device := range a.Config.NICs() {
		nics.Set[device] = a.Config[device]
	}
	needs, err := checks.NetworkPrivileges(ctx, nics, nil, node)
	for _, storage := range a.Storages() {
		needs = append(needs, validate.On("/storage/"+storage, "Datastore.AllocateSpace"))
	}
	return needs, err
}

// Params returns the parameters of the call that restores the VM, with its final name and SMBIOS.
func (a *Archive) Params(spec *v1alpha1.MachineParameters, name, smbios string) proxmox.Params {
	p := proxmox.Params{"archive": a.Volume, "name": name, "smbios1": cmp.Or(smbios, a.Config["smbios1"])}
	if ptr.Deref(spec.Restore.Unique, true) {
		p["unique"] = "1"
	}
	if a.Storage != nil {
		p["storage"] = *a.Storage
	}
	if ptr.Deref(spec.Pool, "") != "" {
		p["pool"] = *spec.Pool
	}
	if a.Template {
		p["template"] = "0" // Otherwise it would become a template again.
	}
	return p
}

// An Inventory reads the storages of a cluster.
type Inventory interface {
	Nodes(ctx context.Context) ([]proxmox.Node, error)
	Storages(ctx context.Context) ([]proxmox.Storage, error)
	Volumes(ctx context.Context, node, storage, content string, maxAge time.Duration) ([]proxmox.Volume, error)
}

// A Finder finds backups in a cluster.
type Finder struct {
	Backups

	Client    Client
	Inventory Inventory
	Checks    *preflight.Checks

	// SharesCluster reports whether a resource is in the same cluster.
	SharesCluster func(resource.Managed) bool

	// Tenant whose own backups are found, and those that it may use. Without a tenant, all are found.
	Tenant tenant.Checks
}

// Find finds the backup that the spec of a Machine names.
func (f Finder) Find(ctx context.Context, m object.Machine, from Source) (*Archive, error) {
	volume, uuid, err := f.choose(ctx, m, from)
	if err != nil {
		return nil, err
	}
	nodes, err := f.nodes(ctx, volume)
	if err != nil {
		return nil, err
	}
	read, err := f.Client.BackupConfig(ctx, nodes[0], volume)
	if err != nil {
		return nil, err
	}
	if has := qemu.Config(read.Values).UUID(); uuid != "" && !strings.EqualFold(has, uuid) {
		return nil, from.ofAnother(volume, has, uuid)
	}
	a := &Archive{Volume: volume, Nodes: nodes, Config: maps.Clone(read.Values), Read: read.Values, Template: qemu.Config(read.Values).Template()}
	delete(a.Config, "template")
	if a.Storage, err = f.storage(ctx, m, from.Storage, from.StorageRef); a.Storage != nil {
		a.putOn(*a.Storage)
	}
	return a, cmp.Or(err, f.Tenant.CheckRestored(a.Config, allocated(a.Config)))
}

// ofAnother returns the error that a backup is of another VM than the intended one.
func (s Source) ofAnother(volume, has, uuid string) error {
	if s.Latest == nil {
		return conditions.Reject(conditions.Creating, "backup '%s' is not of the VM that its Backup is of: it has the UUID %q, and that has %q", volume, has, uuid)
	}
	return conditions.Reject(conditions.Creating, "backup '%s' is the newest of its VMID, but of another VM: it has the UUID %q, "+
		"and that of %s.latestOf has %q", volume, has, s.Field, uuid)
}

// choose chooses the intended backup. If its VM must have a certain UUID, that is returned too.
func (f Finder) choose(ctx context.Context, m object.Machine, from Source) (volume, uuid string, err error) {
	if from.Latest != nil {
		return f.latest(ctx, m, from.Latest)
	}
	volume, of, err := f.Volume(ctx, m, from)
	if err != nil {
		return "", "", err
	}
	recorded, err := f.Tenant.CheckBackup(of, volume)
	if err != nil {
		return "", "", err
	}
	if of != nil && !f.SharesCluster(of) {
		return "", "", conditions.Reject(conditions.Creating, "Backup '%s' is in another cluster than this Machine: "+
			"name the backup by %s.volume, on a storage that this cluster has too", of.GetName(), from.Field)
	}
	storage, _, _ := strings.Cut(volume, ":")
	owner := ownerOf(volume)
	if owner == "" {
		return "", "", conditions.Reject(conditions.Creating, "'%s' is not the backup of a VM, which is named vzdump-qemu-VMID-…, "+
			"or vm/VMID/… on a backup server", volume)
	}
	return volume, recorded.UUID, f.checkPrivileges(ctx, "restore backup "+volume, storage, owner)
}

// reOwner finds the VMID in the volume ID of the backup of a VM.
var reOwner = regexp.MustCompile(`:backup/(?:vzdump-qemu-|(?:.*/)?vm/)([0-9]+)[-/]`)

// ownerOf returns the VMID of the VM that was backed up, or an empty string if it is not the backup of a VM.
func ownerOf(volume string) string {
	if found := reOwner.FindStringSubmatch(volume); found != nil {
		return found[1]
	}
	return ""
}

// checkPrivileges checks the privileges that are needed to see and to read a backup of a VM.
func (f Finder) checkPrivileges(ctx context.Context, what, storage, vmid string) error {
	return f.Checks.CheckPrivilegesOfNew(ctx, what, []validate.PrivilegeRequirement{
		{{Path: "/storage/" + storage, Names: []string{"Datastore.Allocate", "Datastore.AllocateSpace"}}},
		validate.On("/vms/"+vmid, "VM.Backup"),
	})
}

// nodes returns the nodes that have a backup and are online.
func (f Finder) nodes(ctx context.Context, volume string) ([]string, error) {
	storage, _, _ := strings.Cut(volume, ":")
	rows, err := f.reachable(ctx, storage)
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		no := conditions.Reject(conditions.Creating, "storage '%s' of backup '%s' not found on a node that is up", storage, volume)
		return nil, f.Checks.HintMissingPrivilege(ctx, no, preflight.StorageReadPrivilege(storage))
	}
	var nodes []string
	for _, s := range rows {
		if s.Shared && len(nodes) > 0 {
			nodes = append(nodes, s.Node)
			continue
		}
		is, err := f.has(ctx, s.Node, storage, volume)
		if err != nil {
			return nil, err
		}
		if is {
			nodes = append(nodes, s.Node)
		}
		if s.Shared && !is {
			break
		}
	}
	if len(nodes) == 0 {
		return nil, conditions.Reject(conditions.Creating, "backup '%s' not found", volume)
	}
	return nodes, nil
}

// reachable returns the entries of a storage on nodes that are online.
func (f Finder) reachable(ctx context.Context, storage string) ([]proxmox.Storage, error) {
	all, err := f.Inventory.Storages(ctx)
	if err != nil {
		return nil, err
	}
	nodes, err := f.Inventory.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	up := func(node string) bool {
		return slices.ContainsFunc(nodes, func(n proxmox.Node) bool { return n.Name == node && n.Online() })
	}
	return slices.DeleteFunc(slices.Clone(all), func(s proxmox.Storage) bool {
		return s.Name != storage || !up(s.Node) || f.Tenant.CheckNode(s.Node) != nil
	}), nil
}

// has reports whether a node has a backup. A list that may be old suffices if it contains the backup.
func (f Finder) has(ctx context.Context, node, storage, volume string) (bool, error) {
	for _, age := range []time.Duration{inventory.Relaxed, inventory.Fresh} {
		all, err := f.Inventory.Volumes(ctx, node, storage, "backup", age)
		if err != nil {
			return false, err
		}
		if slices.ContainsFunc(all, func(v proxmox.Volume) bool { return v.ID == volume }) {
			return true, nil
		}
	}
	return false, nil
}

// Devices returns the devices whose volumes a restore creates.
func (a *Archive) Devices() []string { return allocated(a.Read) }

// allocated returns the devices whose volumes a restore creates: disks, firmware disks, and cloud-init drives, except disks that are left out of backups.
func allocated(c qemu.Config) []string {
	return slices.DeleteFunc(slices.Concat(c.Drives(), c.Firmware()), func(device string) bool {
		d, err := proxmox.ParseDisk(c[device])
		return err != nil || d.CDROM() && !d.CloudInit() || d.Storage() == "" || d.Options.Get("backup") == "0"
	})
}

// putOn puts all disks on one storage, where their volumes have no names yet.
func (a *Archive) putOn(storage string) {
	for _, device := range allocated(a.Config) {
		d, err := proxmox.ParseDisk(a.Config[device])
		if err != nil {
			continue
		}
		d.Volume = storage + ":" + strings.TrimPrefix(d.Volume, d.Storage()+":")
		a.Config[device] = d.String()
	}
}

// Lacks returns why the VM cannot be restored on a node, or nil if it can.
func (a *Archive) Lacks(node string) error {
	if slices.Contains(a.Nodes, node) {
		return nil
	}
	others := conditions.Instead("nodes that have it", slices.Clone(a.Nodes))
	return conditions.Reject(conditions.Creating, "backup '%s' is not on node %s%s", a.Volume, node, others)
}

// CheckStorages returns why the disks cannot be put on their storages of a node. It names other storages that may be shown as alternatives.
func (a *Archive) CheckStorages(storages []proxmox.Storage, node, field string, shown func(string) bool) error {
	for _, name := range a.Storages() {
		if err := preflight.CheckStorage(storages, name, node, shown); err != nil {
			return errors.Errorf("%w; %s.storage puts the disks of the backup on another one", err, field)
		}
	}
	return nil
}
