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

package tenancy

import (
	"maps"
	"regexp"
	"slices"
	"strconv"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/proxmox/guarded"
)

// CheckBackup refuses a backup that VMs may not be restored from, and otherwise returns its record. Users may have written what a Backup shows in its
// status. A signed record has to show that the backup is the Backup's, and of a VM of the tenant.
func (t *Tenant) CheckBackup(r Records, mg resource.Managed, volume string) (BackupRecord, error) {
	if t == nil {
		return BackupRecord{}, nil
	}
	if t.denied != "" {
		return BackupRecord{}, &refusedError{what: t.denied}
	}
	if mg == nil {
		return BackupRecord{}, t.refuse("pools and vmidRange", "backup %s, which is not proven to be of a VM of the tenant", volume)
	}
	if b, signed := r.Backup(mg); signed && b.Done && b.Tenant == t.Name && b.Volume == volume {
		return b, nil
	}
	return BackupRecord{}, t.refuse("pools and vmidRange", "Backup %s, whose backup is not proven to be of a VM of the tenant", mg.GetName())
}

// restoredOptions matches the options that a VM gets only by a restore, and that do not reach out of the VM.
var restoredOptions = regexp.MustCompile(`^(` + restoredByPVE + `)$`)

// CheckRestored refuses what a VM gets by a restore: the configuration in the backup, with new volumes for some of its devices. The VM may have got it
// from a user with more permissions than the tenant.
func (t *Tenant) CheckRestored(config map[string]string, made []string) error {
	if t == nil {
		return nil
	}
	var all []error
	for _, name := range slices.Sorted(maps.Keys(config)) {
		switch {
		case slices.Contains(made, name):
			all = append(all, t.checkNewDisk(name, config[name]))
		case !restoredOptions.MatchString(name) && !excludedFromBackup(name, config[name]):
			all = append(all, t.checkOption(0, name, config[name]))
		}
	}
	return join(all)
}

// checkNewDisk refuses the storage of a disk whose volume is created again.
func (t *Tenant) checkNewDisk(name, value string) error {
	d, err := proxmox.ParseDisk(value)
	if err != nil {
		return t.refuse("storages", "%s, which cannot be read", name)
	}
	d.Volume = d.Storage() + ":1"
	return t.checkDisk(0, name, d.String())
}

// excludedFromBackup reports whether a restore turns an option into a comment, since it is a disk that backups leave out (PVE::QemuServer,
// restore_update_config_line).
func excludedFromBackup(name, value string) bool {
	d, err := proxmox.ParseDisk(value)
	return err == nil && diskOption.MatchString(name) && d.Options.Get("backup") == "0"
}

// restore refuses a backup that is not proven to be of a VM of the tenant, and a VM that is not the tenant's. The content of the backup is checked
// before.
func (g Guard) restore(w guarded.Write, options map[string]string) error {
	if g.Archive == nil {
		return g.refuseUnknown(w)
	}
	if err := g.Archive(w.Form["archive"]); err != nil {
		return err
	}
	vmid, _ := strconv.Atoi(w.Form["vmid"])
	all := []error{g.CheckNode(w.Args[0]), g.CheckOptions(vmid, options)}
	if storage := w.Form["storage"]; storage != "" {
		all = append(all, g.checkStorage(storage, "the disks of a backup"))
	}
	if w.Form["force"] == "" {
		return join(append(all, g.newVMID(vmid), g.checkPool(w.Form["pool"])))
	}
	if err := g.checkHeld(vmid); err != nil {
		return err
	}
	return join(all)
}
