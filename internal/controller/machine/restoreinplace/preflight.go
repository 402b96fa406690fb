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

package restoreinplace

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/restore"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/volumes"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/proxmox/backuplog"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/qemu/validate"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
	"github.com/vitistack/provider-proxmox/internal/vmcache"
)

// preflight returns why the restore cannot be done, or an empty string if it can.
func (a *restoring) preflight(ctx context.Context) (string, error) {
	for _, check := range []func(context.Context) (string, error){
		a.checkBackup, a.checkRunning, a.checkOptions, a.checkSnapshots, a.checkReplication, a.checkPending, a.checkVolumes, a.checkDisks,
		a.checkSafety, a.checkStorages, a.checkPrivileges, a.checkShared, a.checkRoom,
	} {
		if no, err := check(ctx); no != "" || err != nil {
			return no, err
		}
	}
	return "", nil
}

// refusal returns what an error says against the restore, or the error if it says nothing about that.
func refusal(err error) (string, error) {
	_, waits := conditions.WaitsForSource(err)
	if waits || errors.As(err, &conditions.ValidationError{}) || proxmox.IsAuthorization(err) || tenancy.IsRefusal(err) {
		return err.Error(), nil
	}
	return "", err
}

// checkBackup finds the backup. It must be of this VM: a VM that had another UUID would no longer belong to a Machine.
func (a *restoring) checkBackup(ctx context.Context) (string, error) {
	from := restore.Source{
		Field: "restoreInPlace", BackupRef: a.spec.BackupRef, Volume: a.spec.Volume, Storage: a.spec.Storage, StorageRef: a.spec.StorageRef,
	}
	var err error
	if a.archive, err = a.kind.Finder.Find(ctx, a.machine, from); err != nil {
		return refusal(err)
	}
	uuid := a.archive.Read.UUID()
	switch {
	case a.archive.Template:
		return fmt.Sprintf("backup %q is of a template", a.archive.Volume), nil
	case !strings.EqualFold(uuid, a.UUID):
		return fmt.Sprintf("backup %q is of a VM with the UUID %q, and this one has %q: make another Machine of it by restore", a.archive.Volume, uuid, a.UUID), nil
	}
	if no, err := refusal(a.archive.Lacks(a.Ref.Node)); no != "" || err != nil {
		return no, err
	}
	return a.checkVerification(ctx)
}

// checkVerification checks whether a backup server has found that the backup is damaged.
func (a *restoring) checkVerification(ctx context.Context) (string, error) {
	storage, _, _ := strings.Cut(a.archive.Volume, ":")
	all, err := a.kind.Inventory.Volumes(ctx, a.Ref.Node, storage, "backup", inventory.Relaxed)
	if err != nil {
		return "", err
	}
	if slices.ContainsFunc(all, func(v proxmox.Volume) bool { return v.ID == a.archive.Volume && backuplog.Damaged(v) }) {
		return fmt.Sprintf("backup %q is damaged: its latest verification has failed", a.archive.Volume), nil
	}
	return "", nil
}

// checkRunning reads whether the VM runs, or would be started meanwhile by high availability, which could move it to another node.
func (a *restoring) checkRunning(ctx context.Context) (string, error) {
	var err error
	if a.status, err = a.PVE.Status(ctx, a.Ref); err != nil {
		return "", err
	}
	held := a.status.HAManaged && !slices.Contains([]string{"stopped", "disabled", "ignored"}, a.status.HAState)
	switch {
	case held:
		return "high availability keeps the VM running, and would start it in the midst of the restore: stop the VM, or set highAvailability.state to ignored", nil
	case a.status.Running() && !ptr.Deref(a.spec.AllowRunning, false):
		return "the VM runs: stop it, or set allowRunning to have it shut down", nil
	}
	return "", nil
}

// checkOptions checks whether the configuration of the VM forbids the restore.
func (a *restoring) checkOptions(context.Context) (string, error) {
	switch {
	case a.config["protection"] == "1":
		return "the VM is protected: set protection to false", nil
	case a.config.Template():
		return "the VM is a template", nil
	case a.kind.Lost && a.spec.SafetyBackup != nil && !a.Record.Taken:
		return "the VM has lost its configuration, and there is nothing to back up: leave out safetyBackup", nil
	}
	return "", nil
}

// checkSnapshots finds snapshots, which the VM loses by the restore.
func (a *restoring) checkSnapshots(ctx context.Context) (string, error) {
	held, err := a.kind.Holds.Uncached().Of(ctx, a.UUID)
	if err != nil {
		return "", err
	}
	if len(held) > 0 && !a.kind.Lost {
		return "snapshots are to be retained, which would be removed: delete the Snapshot or set its removalPolicy to Delete: " + strings.Join(held, ", "), nil
	}
	tree, err := a.kind.Client.SnapshotTree(ctx, a.Ref)
	if err != nil || len(tree.Snapshots) == 0 || ptr.Deref(a.spec.DiscardSnapshots, false) {
		return "", err
	}
	var names []string
	for _, s := range tree.Snapshots {
		names = append(names, s.Name)
	}
	slices.Sort(names)
	return "the VM would lose its snapshots: remove them, or set discardSnapshots: " + strings.Join(names, ", "), nil
}

// checkReplication finds jobs that replicate the VM: their copies would no longer fit.
func (a *restoring) checkReplication(ctx context.Context) (string, error) {
	all, err := a.kind.Inventory.Replications(ctx, inventory.Fresh)
	if proxmox.IsAuthorization(err) {
		return "", nil
	}
	for _, r := range all {
		if r.VMID == a.Ref.VMID {
			return fmt.Sprintf("replication job %s copies the VM, and could not go on: remove it first", r.ID), nil
		}
	}
	return "", err
}

// checkPending finds disks that the VM has only until its next start: PVE removes the disks that are in force, and all other checks are about the
// disks that the VM is to have. A running VM is shut down first, which applies pending changes. The end of its process alone does not apply them.
func (a *restoring) checkPending(context.Context) (string, error) {
	if a.status.Running() {
		return "", nil
	}
	var waits []string
	for _, device := range slices.Concat(a.inForce.Drives(), a.inForce.Firmware()) {
		if volume := a.inForce.Volume(device); volume != a.config.Volume(device) {
			waits = append(waits, fmt.Sprintf("%s (%s)", device, volume))
		}
	}
	if len(waits) == 0 {
		return "", nil
	}
	return "disks would be removed whose change waits for the next start of the VM: start it, which applies that, and stop it again: " +
		strings.Join(waits, ", "), nil
}

// checkVolumes finds disks of Volumes that would be destroyed, including Volumes that no longer exist.
func (a *restoring) checkVolumes(ctx context.Context) (string, error) {
	if no, err := a.kind.Volumes.CheckReplaceable(ctx, a.UUID, a.config, a.archive.Devices()); no != "" || err != nil {
		return no, err
	}
	return volumes.CheckHandedReplaceable(a.machine, qemu.State{Config: a.config, Active: a.inForce}, a.Ref.VMID, a.archive.Devices())
}

// checkDisks finds disks that would be removed and may not be the same disks as in the backup: they replaced another disk, or were moved. A
// cloud-init drive cannot be created a second time.
func (a *restoring) checkDisks(context.Context) (string, error) {
	made := a.archive.Devices()
	var others []string
	for _, device := range made {
		if own := a.owned(device); own != "" && disk(own) != disk(a.archive.Read.Volume(device)) && !cloudInit(a.config, device) {
			others = append(others, fmt.Sprintf("%s (%s)", device, own))
		}
	}
	if len(others) > 0 && !ptr.Deref(a.spec.ReplaceDisks, false) {
		return "disks would be removed that are not those that the backup was made of, or were moved since: set replaceDisks if that is wanted: " +
			strings.Join(others, ", "), nil
	}
	for _, device := range a.config.Drives() {
		if cloudInit(a.config, device) && !slices.Contains(made, device) {
			return fmt.Sprintf("the drive of cloud-init is %s, and is another one in the backup", device), nil
		}
	}
	return "", nil
}

// checkSafety refuses to remove disks that the safety backup would not have, unless their removal is requested. A backup contains the configuration
// in force.
func (a *restoring) checkSafety(context.Context) (string, error) {
	if a.spec.SafetyBackup == nil || a.Record.Taken || ptr.Deref(a.spec.ReplaceDisks, false) {
		return "", nil
	}
	var lacks []string
	for _, device := range a.archive.Devices() {
		if own := a.owned(device); own != "" && (leftOut(a.config, device) || leftOut(a.inForce, device)) {
			lacks = append(lacks, fmt.Sprintf("%s (%s)", device, own))
		}
	}
	if len(lacks) == 0 {
		return "", nil
	}
	return "disks would be removed that safetyBackup would not have, since they are left out of backups: set backup: true on them, " +
		"and bios: ovmf for that of EFI, leave out safetyBackup, or set replaceDisks if that is wanted: " + strings.Join(lacks, ", "), nil
}

// checkShared finds disks that would be removed while another VM has them attached, before the VM is shut down or backed up in vain. They are checked
// again once the safety backup exists.
func (a *restoring) checkShared(ctx context.Context) (string, error) {
	if a.Record.Safety != "" {
		return "", nil
	}
	return a.shared(ctx)
}

// shared returns which VM uses a disk that would be removed, because PVE does not check that. If it cannot be determined, shared returns an error as
// long as nothing was done, and a refusal later. Otherwise an unrelated offline node would keep the VM off.
func (a *restoring) shared(ctx context.Context) (string, error) {
	var volumes []string
	for _, device := range a.archive.Devices() {
		if own := a.owned(device); own != "" {
			volumes = append(volumes, own)
		}
	}
	err := a.kind.Finder.Checks.CheckSourcesUnshared(ctx, a.Ref, "a disk would be removed", volumes...)
	switch r := a.Record; {
	case errors.As(err, &vmcache.UsedError{}):
		return err.Error() + ": detach it there", nil
	case errors.As(err, &vmcache.OfflineError{}) && (r.Ran || r.Taken):
		return a.unseen(err), nil
	}
	return "", err
}

// unseen returns what to do about nodes that cannot be asked which VMs use a disk, and the state in which the VM is left.
func (a *restoring) unseen(err error) string {
	why := err.Error() + "; nothing was restored: ask again once the node is back, or the configurations of its VMs are moved or removed"
	if a.Record.Taken {
		why += fmt.Sprintf("; Backup %q, which is the safety backup, stays", a.Record.Safety)
	}
	if a.starts() && !a.status.Running() {
		why += "; the VM was shut down for the restore, and its run strategy leaves it off: start it"
	}
	return why
}

// leftOut reports whether a backup leaves out what is at a device. The cloud-init drive, which is created again, is no loss.
func leftOut(c qemu.Config, device string) bool {
	d, err := proxmox.ParseDisk(c[device])
	switch {
	case err != nil || d.CloudInit():
		return false
	case device == qemu.EFIDevice && c["bios"] != "ovmf":
		return true
	}
	return d.CDROM() || d.Options.Get("backup") == "0"
}

// disk returns a volume without the base of a linked clone, and without its format: a restore creates full volumes, in the format of the storage.
func disk(volume string) string {
	storage, name, _ := strings.Cut(volume, ":")
	name = path.Base(name)
	return storage + ":" + strings.TrimSuffix(name, path.Ext(name))
}

func cloudInit(c qemu.Config, device string) bool {
	d, err := proxmox.ParseDisk(c[device])
	return err == nil && d.CloudInit()
}

// owned returns the volume of a device that is removed with the VM, or an empty string if there is none.
func (a *restoring) owned(device string) string {
	volume := a.config.Volume(device)
	if slices.Contains(a.config.OwnVolumes(a.Ref.VMID), volume) {
		return volume
	}
	return ""
}

// checkStorages checks whether the disks can be put on their storages, and fit there once the VM's present disks are removed.
func (a *restoring) checkStorages(ctx context.Context) (string, error) {
	storages, err := a.kind.Inventory.Storages(ctx)
	if err != nil {
		return "", err
	}
	if err := a.archive.CheckStorages(storages, a.Ref.Node, "restoreInPlace", a.kind.Finder.Tenant.AllowsStorage); err != nil {
		return refusal(err)
	}
	var sizes []qemu.Growth
	for _, device := range a.archive.Devices() {
		if a.owned(device) != "" {
			g := growth(a.config, device)
			g.Size, g.More = 0, -g.More
			sizes = append(sizes, g)
		}
	}
	for _, device := range a.archive.Devices() {
		sizes = append(sizes, growth(a.archive.Config, device))
	}
	fits, err := a.kind.Finder.Checks.CheckCapacity(ctx, sizes, a.Ref.Node)
	return strings.Join(fits.Rejections, "; "), err
}

// growth returns the space that a disk takes on its storage.
func growth(c qemu.Config, device string) qemu.Growth {
	d, err := proxmox.ParseDisk(c[device])
	if err != nil {
		return qemu.Growth{}
	}
	size, _ := d.Size()
	return qemu.Growth{Name: device, Storage: d.Storage(), Size: size, More: size}
}

// checkPrivileges returns which privileges are missing.
func (a *restoring) checkPrivileges(ctx context.Context) (string, error) {
	vm := "/vms/" + strconv.Itoa(a.Ref.VMID)
	needs, err := a.archive.Privileges(ctx, a.kind.Finder.Checks, a.Ref.Node)
	if err != nil {
		return refusal(err)
	}
	needs = append(needs, validate.PrivilegeRequirement{{Path: vm, Names: []string{"VM.Allocate", "VM.Backup"}}})
	if a.starts() {
		needs = append(needs, validate.On(vm, "VM.PowerMgmt"))
	}
	return refusal(a.kind.Finder.Checks.CheckPrivileges(ctx, fmt.Sprintf("restore VM %d in place", a.Ref.VMID), needs))
}

// checkRoom requests room in the quota for the resources that the backup has in excess of the VM. It is the last check, because it reserves room that
// others could have.
func (a *restoring) checkRoom(ctx context.Context) (string, error) {
	return a.kind.Room(ctx, a.archive.Config)
}
