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

package rollback

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// preflight returns why the rollback cannot be done, or an empty string if it can.
func (a *rollback) preflight(ctx context.Context, q request) (string, error) {
	for _, check := range []func(context.Context, request) (string, error){
		a.checkSnapshot, a.checkRunning, a.checkStorages, a.checkSafety, a.checkPrivileges, a.checkRoom,
	} {
		if no, err := check(ctx, q); no != "" || err != nil {
			return no, err
		}
	}
	return "", nil
}

// checkSnapshot reads the snapshot. It must be complete, and have the UUID of this Machine's VM: a VM that went back to another UUID would no longer
// belong to a Machine.
func (a *rollback) checkSnapshot(ctx context.Context, q request) (string, error) {
	var err error
	if a.tree, err = a.pve.SnapshotTree(ctx, a.Ref); err != nil {
		return "", err
	}
	s := a.tree.Named(q.Snapshot)
	switch {
	case s == nil:
		return fmt.Sprintf("VM %d has no snapshot %q", a.Ref.VMID, q.Snapshot), nil
	case s.State != "":
		return fmt.Sprintf("snapshot %q is incomplete (snapstate %s): remove it in Proxmox VE, and go back to another one", q.Snapshot, s.State), nil
	case !q.Taken.IsZero() && !s.Time.Equal(q.Taken):
		return fmt.Sprintf("snapshot %q is not the one that the Snapshot has taken: it was taken at another time", q.Snapshot), nil
	}
	a.snapshot = *s
	read, err := a.pve.SnapshotConfig(ctx, a.Ref, q.Snapshot)
	if err != nil {
		return "", err
	}
	a.config = qemu.Config(read.Values)
	if uuid := a.config.UUID(); !strings.EqualFold(uuid, a.UUID) {
		return fmt.Sprintf("the VM had the UUID %q at snapshot %q, and has %q: it would no longer be this Machine's", uuid, q.Snapshot, a.UUID), nil
	}
	if err := a.allows(a.config); err != nil {
		return fmt.Sprintf("snapshot %q has options that the Machine may not have: %v", q.Snapshot, err), nil
	}
	return "", nil
}

// checkRunning reads whether the VM runs, which PVE does not check before it stops it.
func (a *rollback) checkRunning(ctx context.Context, q request) (string, error) {
	s, err := a.pve.Status(ctx, a.Ref)
	if err != nil {
		return "", err
	}
	a.running = s.Running()
	switch {
	case !a.running:
		return "", nil
	case !q.AllowRunning:
		return "the VM runs, and would be stopped hard: stop it, or set allowRunning", nil
	case s.HAManaged && s.HAState != "ignored":
		return "the VM runs, and high availability would start it in the midst of the rollback: stop it, or set highAvailability.state to ignored", nil
	}
	return "", nil
}

// newestOnly reports whether a type of storage only goes back to the newest snapshot of a volume. Other types may do so because of their options:
// then the task fails before it changes anything.
func newestOnly(storage string) bool {
	return slices.Contains([]string{"zfspool", "zfs", "lvm"}, storage)
}

// checkStorages finds volumes that can only go back to their newest snapshot.
func (a *rollback) checkStorages(ctx context.Context, q request) (string, error) {
	storages, err := a.storages(ctx)
	if err != nil {
		return "", err
	}
	limited := map[string]string{}
	for _, device := range slices.Concat(a.config.Drives(), a.config.Firmware()) {
		volume := a.config.Volume(device)
		id, _, _ := strings.Cut(volume, ":")
		i := slices.IndexFunc(storages, func(s proxmox.Storage) bool { return s.Name == id && s.Node == a.Ref.Node })
		if i >= 0 && newestOnly(storages[i].Type) && !strings.Contains(a.config[device], "media=cdrom") {
			limited[volume] = fmt.Sprintf("storage %s (%s) only goes back to the newest snapshot of a volume", id, storages[i].Type)
		}
	}
	for volume, why := range limited {
		if q.Safety && !a.Record.Taken {
			return why + ": leave out safetySnapshot", nil
		}
		later, err := a.laterSnapshot(ctx, volume)
		if later != "" || err != nil {
			return fmt.Sprintf("%s, and %s has the later snapshot %q", why, volume, later), err
		}
	}
	return "", nil
}

// laterSnapshot returns the name of a snapshot of a volume that was taken after the one to go back to, or an empty string if there is none.
func (a *rollback) laterSnapshot(ctx context.Context, volume string) (string, error) {
	for _, s := range a.tree.Snapshots {
		if s.Name == a.snapshot.Name || !s.Time.After(a.snapshot.Time) && s.Parent != a.snapshot.Name {
			continue
		}
		read, err := a.pve.SnapshotConfig(ctx, a.Ref, s.Name)
		if err != nil {
			return "", err
		}
		if qemu.Config(read.Values).Uses(volume) != "" {
			return s.Name, nil
		}
	}
	return "", nil
}

// checkSafety reads whether the safety snapshot can be taken, or exists.
func (a *rollback) checkSafety(ctx context.Context, q request) (string, error) {
	if !q.Safety {
		return "", nil
	}
	there := a.tree.Named(SafetyName(q.Token)) != nil
	switch {
	case there && !a.Record.Taken:
		return fmt.Sprintf("another snapshot has the name of the safety snapshot, %s", SafetyName(q.Token)), nil
	case !there && a.Record.Taken:
		return fmt.Sprintf("the safety snapshot %s is gone", SafetyName(q.Token)), nil
	case there:
		return "", nil
	}
	can, err := a.pve.CanSnapshot(ctx, a.Ref)
	if err != nil || can {
		return "", err
	}
	return "no safety snapshot can be taken: the storage of a disk of the VM has no snapshots", nil
}

// checkPrivileges returns which privileges are missing.
func (a *rollback) checkPrivileges(ctx context.Context, q request) (string, error) {
	path := fmt.Sprintf("/vms/%d", a.Ref.VMID)
	needs := []proxmox.Privilege{{Path: path, Names: []string{"VM.Snapshot", "VM.Snapshot.Rollback"}}}
	if q.Safety {
		needs = append(needs, proxmox.Privilege{Path: path, Names: []string{"VM.Snapshot"}})
	}
	if a.starts(q) {
		needs = append(needs, proxmox.Privilege{Path: path, Names: []string{"VM.PowerMgmt"}})
	}
	err := kind.CheckPrivileges(ctx, a.pve, fmt.Sprintf("go back to a snapshot of VM %d", a.Ref.VMID), needs...)
	if proxmox.IsAuthorization(err) {
		return err.Error(), nil
	}
	return "", err
}

// starts reports whether the call asks PVE to start a VM that ran, unless PVE starts it anyway.
func (a *rollback) starts(q request) bool { return q.Start && a.running && !a.snapshot.Memory }

// checkRoom requests room in the quota for the resources that the snapshot has in excess of the VM. It is the last check, because it reserves room
// that others could have.
func (a *rollback) checkRoom(ctx context.Context, _ request) (string, error) {
	return a.room(ctx, a.config)
}
