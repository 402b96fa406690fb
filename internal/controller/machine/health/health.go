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

// Package health finds declared devices that a VM does not have, and problems of the bridges and storages that it uses.
package health

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/preflight"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// An Inventory reads the bridges and storages of the cluster.
type Inventory interface {
	Bridges(ctx context.Context, node string, maxAge time.Duration) ([]proxmox.Bridge, error)
	Storages(ctx context.Context) ([]proxmox.Storage, error)
}

// A Checker finds what a VM lacks.
type Checker struct {
	Inventory Inventory
	Checks    *preflight.Checks
	VM        *vmstate.VM

	// Devices are the devices of the entries of the spec.
	Devices qemu.Devices

	// Adds reports whether a device comes with the next change, or with the change whose task runs.
	Adds func(device string) bool
}

// Ready returns the condition Ready of a VM that is in the power state of the spec, depending on its devices.
func (c Checker) Ready(ctx context.Context, p *v1alpha1.MachineParameters, ready xpv2.Condition) xpv2.Condition {
	if ready.Status != corev1.ConditionTrue {
		return ready
	}
	if missing := c.missingDevices(p); len(missing) > 0 {
		return conditions.NotReady(conditions.ReasonDeviceMissing, "the VM does not have "+strings.Join(missing, ", "))
	}
	if volume := c.VM.MissingBootDisk(); volume != "" {
		return conditions.NotReady(conditions.ReasonBootDiskMissing, "the VM has no disk to boot from: "+volume)
	}
	if device := c.Devices.BootDiskGone(c.VM.State); device != "" && !c.Adds(device) {
		return conditions.NotReady(conditions.ReasonBootDiskMissing,
			"the VM has no disk to boot from: "+device+", the disk that it booted from last, is not attached")
	}
	if missing := c.knownMissingBridges(ctx); missing != "" {
		return conditions.NotReady(conditions.ReasonBridgeMissing, missing)
	}
	if why := c.nothingBoots(p); why != "" {
		return ready.WithMessage(why)
	}
	return ready
}

// missingDevices returns the entries of the spec's lists whose device the VM does not have, and that neither a restart nor a change under way adds.
func (c Checker) missingDevices(p *v1alpha1.MachineParameters) []string {
	d := c.Devices
	var missing []string
	gone := func(device string) bool {
		return device != "" && c.VM.Config[device] == "" && c.VM.Active[device] == "" && !c.Adds(device)
	}
	find := func(noun string, devices map[string]string, names []string) {
		for _, name := range names {
			if device := devices[name]; gone(device) {
				missing = append(missing, fmt.Sprintf("%s %q (%s)", noun, name, device))
			}
		}
	}
	find("disk", d.Disks, namesOf(p.Disks, func(i int) string { return p.Disks[i].Name }))
	find("CD-ROM drive", d.CDROMs, namesOf(p.CDROMs, func(i int) string { return p.CDROMs[i].Name }))
	find("network", d.Networks, namesOf(p.Networks, func(i int) string { return p.Networks[i].Name }))
	find("PCI device", d.PCI, namesOf(p.PCIDevices, func(i int) string { return p.PCIDevices[i].Name }))
	find("USB device", d.USB, namesOf(p.USBDevices, func(i int) string { return p.USBDevices[i].Name }))
	find("share", d.VirtioFS, namesOf(p.VirtioFS, func(i int) string { return p.VirtioFS[i].Name }))
	for _, device := range []string{qemu.EFIDevice, qemu.TPMDevice} {
		if d.Seen[qemu.FirmwareKey(device)] && gone(device) {
			missing = append(missing, device)
		}
	}
	return missing
}

// PendingDisks returns the names of the disks of the spec that a VM which was created for it has not had yet, according to the previous observation.
// Once it has had all of them there are none.
func PendingDisks(p *v1alpha1.MachineParameters, before *v1alpha1.MachineObservation, d qemu.Devices) []string {
	if before.UUID != "" && len(before.PendingDisks) == 0 {
		return nil
	}
	names := namesOf(p.Disks, func(i int) string { return p.Disks[i].Name })
	return slices.DeleteFunc(names, func(name string) bool { return d.Seen[name] })
}

func namesOf[T any](entries []T, name func(int) string) []string {
	names := make([]string, 0, len(entries))
	for i := range entries {
		names = append(names, name(i))
	}
	return names
}

// knownMissingBridges returns which bridges of the VM its node does not have, as far as the user may see them.
func (c Checker) knownMissingBridges(ctx context.Context) string {
	wanted := c.VM.Bridges()
	if len(wanted) == 0 {
		return ""
	}
	there, err := c.Checks.BridgesWith(ctx, slices.Sorted(maps.Keys(wanted)), c.VM.Node)
	if err != nil {
		return ""
	}
	for _, b := range there {
		delete(wanted, b.Name)
	}
	for name := range wanted {
		if hidden, err := c.Checks.BridgeHidden(ctx, name); err != nil || hidden != "" {
			delete(wanted, name)
		}
	}
	return sentences(wanted, "bridge '%s' not found on node "+c.VM.Node)
}

// Conditions returns the conditions of a VM. It replaces those that no longer hold because a bridge or a storage is missing, or is full. Those that
// cannot be checked now stay.
func (c Checker) Conditions(ctx context.Context, all ...xpv2.Condition) []xpv2.Condition {
	for i, now := range all {
		if now.Type == conditions.TypeNetworkConfigured {
			if missing := c.missingBridges(ctx); missing != "" {
				all[i] = unhealthy(now, conditions.ReasonNetworkError, missing)
			}
		}
		if now.Type == conditions.TypeResourcesAllocated {
			if unavailable := c.unavailableStorages(ctx); unavailable != "" {
				all[i] = unhealthy(now, conditions.ReasonInsufficientResources, unavailable)
			}
		}
	}
	return all
}

// DependenciesHold reports whether the bridges and storages that the VM uses are there.
func (c Checker) DependenciesHold(ctx context.Context) bool {
	return c.knownMissingBridges(ctx) == "" && c.missingBridges(ctx) == "" && c.unavailableStorages(ctx) == ""
}

// unhealthy returns the condition as a false one.
func unhealthy(was xpv2.Condition, r xpv2.ConditionReason, message string) xpv2.Condition {
	return conditions.New(was.Type, corev1.ConditionFalse, r, message)
}

// missingBridges returns which bridges of the VM its node does not have.
func (c Checker) missingBridges(ctx context.Context) string {
	wanted := c.VM.Bridges()
	if len(wanted) == 0 {
		return ""
	}
	for _, maxAge := range []time.Duration{inventory.Stable, inventory.Relaxed} {
		there, err := c.Inventory.Bridges(ctx, c.VM.Node, maxAge)
		if err != nil {
			return ""
		}
		for _, b := range there {
			delete(wanted, b.Name)
		}
		if len(wanted) == 0 {
			return ""
		}
	}
	return sentences(wanted, "bridge '%s' not found on node "+c.VM.Node+", or the user may not use it")
}

// fullAt is the fraction from which a storage counts as full.
const fullAt = 0.99

// unavailableStorages returns which storages of the VM's disks are full or not available.
func (c Checker) unavailableStorages(ctx context.Context) string {
	storages, err := c.Inventory.Storages(ctx)
	if err != nil {
		return ""
	}
	full, gone := map[string]bool{}, map[string]bool{}
	for _, device := range c.VM.Active.Drives() {
		d, err := proxmox.ParseDisk(c.VM.Active[device])
		if err != nil || d.CDROM() {
			continue
		}
		name, _, _ := strings.Cut(d.Volume, ":")
		i := slices.IndexFunc(storages, func(s proxmox.Storage) bool { return s.Name == name && s.Node == c.VM.Node })
		switch {
		case i < 0: // The user may not see it.
		case storages[i].Status == "unknown":
			gone[name] = true
		case storages[i].MaxDisk > 0 && float64(storages[i].Disk) >= fullAt*float64(storages[i].MaxDisk):
			full[name] = true
		}
	}
	if len(full) == 0 && len(gone) == 0 {
		return ""
	}
	return join(sentences(full, "storage '%s' on node "+c.VM.Node+" is full"), sentences(gone, "storage '%s' is not available on node "+c.VM.Node))
}

// sentences returns the same sentence for each name, in order.
func sentences(names map[string]bool, format string) string {
	var out []string
	for name := range names {
		out = append(out, fmt.Sprintf(format, name))
	}
	slices.Sort(out)
	return strings.Join(out, "; ")
}

func join(sentences ...string) string {
	return strings.Join(slices.DeleteFunc(sentences, func(s string) bool { return s == "" }), "; ")
}
