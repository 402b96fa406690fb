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

package qemu

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// reOwner finds the VMID in the name of a volume: that of the directory which the
// file is in, or that in the name itself. The name of a linked clone has that of
// its template before its own.
var reOwner = regexp.MustCompile(`^(?:(?:[0-9]+/[^/]+/)?([0-9]+)/[^/]+|(?:base-[^/]+/)?(?:vm|base)-([0-9]+)-[^/]+)$`)

// volumeOwner is the VMID that PVE holds a volume for.
func volumeOwner(volume string) (int, bool) {
	_, name, _ := strings.Cut(volume, ":")
	m := reOwner.FindStringSubmatch(name)
	if m == nil {
		return 0, false
	}
	id, err := strconv.Atoi(cmp.Or(m[1], m[2]))
	return id, err == nil
}

// attachRejections are why an existing volume cannot become a disk of the VM.
func (d Desired) attachRejections(k v1alpha1.MachineDisk, config Config) []string {
	volume := d.existingVolume(k)
	owner, known := volumeOwner(volume)
	switch {
	case !known:
		return []string{fmt.Sprintf("disk %q: volume %s is not named as one that belongs to a VM", k.Name, volume)}
	case owner != d.Identity.VMID:
		return []string{fmt.Sprintf("disk %q: volume %s belongs to VM %d", k.Name, volume, owner)}
	}
	if device := config.holderOf(volume); BusOf(device) != "" {
		return []string{fmt.Sprintf("disk %q: volume %s is attached as %s already", k.Name, volume, device)}
	}
	return nil
}

// Attached are the existing volumes that a change of the VM's configuration attaches.
func (d Desired) Attached(change Difference, config Config) []string {
	var volumes []string
	for _, k := range d.Disks {
		device := d.Devices.Disks[k.Name]
		if volume := d.existingVolume(k); volume != "" && config[device] == "" && change.Set[device] != "" {
			volumes = append(volumes, volume)
		}
	}
	return volumes
}
