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

// Package bootorder reads and writes PVE's option boot, and knows how PVE changes it by itself.
package bootorder

import (
	"slices"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/proxmox/propertystring"
)

// Devices returns the devices in a boot option, in order.
func Devices(boot string) []string {
	p, err := propertystring.Parse(strings.TrimSpace(boot), "legacy")
	if err != nil || p.Get("order") == "" {
		return nil
	}
	return strings.FieldsFunc(p.Get("order"), func(r rune) bool { return strings.ContainsRune(";, \t\n", r) })
}

// Of returns the boot option for devices, as PVE writes it.
func Of(devices []string) string { return "order=" + strings.Join(devices, ";") }

// HoldsMedia reports whether a value is a drive for removable media, which PVE adds to the boot order when the drive is added. PVE does not add its own
// cloud-init drive.
func HoldsMedia(value string) bool {
	k, err := proxmox.ParseDisk(value)
	return err == nil && k.CDROM() && !k.CloudInit()
}

// Overwritten reports whether PVE has overwritten an order that waited for the next start. It compares the configuration in force with the next one. When
// a device is removed, or a drive for removable media is added, PVE writes the order in force again, with that change, and ignores the waiting one
// (PVE::API2::Qemu::update_vm_api).
func Overwritten(active, next map[string]string) bool {
	inForce, waits := Devices(active["boot"]), Devices(next["boot"])
	if slices.Equal(inForce, waits) {
		return false
	}
	left := slices.DeleteFunc(slices.Clone(inForce), func(device string) bool { return next[device] == "" })
	return len(waits) >= len(left) && slices.Equal(waits[:len(left)], left) &&
		!slices.ContainsFunc(waits[len(left):], func(device string) bool { return !HoldsMedia(next[device]) })
}
