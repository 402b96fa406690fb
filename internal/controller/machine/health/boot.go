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

package health

import (
	"slices"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/qemu/fields"
)

// source lists the fields that fill the disks of a VM at its creation.
const source = "template, templateTags, templateRef, templateSelector, image, iso, restore or clone"

const (
	// nothingToBoot is the message for a VM that was declared without anything to boot from.
	nothingToBoot = "the VM has nothing to boot from: it was made without " + source + ", and lists neither disks nor networks; a source counts " +
		"at creation only, so delete the Machine and create it with one"

	// nothingLeft is the message for a VM whose source has left nothing on it.
	nothingLeft = "the VM has nothing to boot from: no disk, CD-ROM drive or network is attached to it; list one in the spec"

	// EmptyDisks is the message for a VM that seems to have nothing to boot from, because its disks were not filled.
	EmptyDisks = "the VM seems to have nothing to boot from: the spec has no " + source + ", and nothing was written to the disks since the VM " +
		"started; install a system by iso or by a network in bootOrder, or delete the Machine and create it with a source"
)

// BootTime is the time within which a guest that boots has written to its disks.
const BootTime = time.Minute

// nothingBoots returns why a running VM has no running guest, or an empty string if it may have one.
func (c Checker) nothingBoots(p *v1alpha1.MachineParameters) string {
	if !c.VM.Status.Running() {
		return ""
	}
	switch {
	case boots(c.VM.Active):
	case hasSource(p):
		return nothingLeft
	default:
		return nothingToBoot
	}
	if c.VM.Usage != nil && c.VM.Status.Uptime >= BootTime && c.onlyEmptyDisks(p) {
		return EmptyDisks
	}
	return ""
}

// ShowBootable shows in the condition Bootable that a VM with this condition Ready has nothing to boot from, and what comes after that. While a guest
// may still write to disks that were empty, the condition stays.
func (c Checker) ShowBootable(m object.Machine, ready xpv2.Condition) {
	p, before := m.Parameters(), m.GetCondition(conditions.TypeBootable)
	show := func(s corev1.ConditionStatus, r xpv2.ConditionReason, message string) {
		conditions.Set(m, conditions.New(conditions.TypeBootable, s, r, message))
	}
	ends := before.Reason != "" && before.Status != corev1.ConditionTrue
	switch why := c.nothingBoots(p); {
	case ends && !c.VM.Status.Running():
		show(corev1.ConditionUnknown, conditions.ReasonNotRunning, "the VM is not running")
	case ready.Status != corev1.ConditionTrue:
	case why != "":
		show(corev1.ConditionFalse, conditions.ReasonNothingToBoot, why)
	case ends && !c.onlyEmptyDisks(p):
		show(corev1.ConditionTrue, conditions.ReasonBootDeviceFound, "")
	}
}

// onlyEmptyDisks reports whether a running VM has nothing to boot from except disks that were created empty, to which nothing is known to be written.
func (c Checker) onlyEmptyDisks(p *v1alpha1.MachineParameters) bool {
	written := c.VM.Usage != nil && c.VM.Usage.DiskWritten > 0
	return !written && !hasSource(p) && !bootsFromNetwork(p) && c.onlyNewDisks(p)
}

// boots reports whether a VM has a device that it may boot from: a disk or a drive, a network, or a device of the node.
func boots(c qemu.Config) bool {
	for option := range c {
		if qemu.BusOf(option) != "" || passesThrough(option) {
			return true
		}
	}
	return false
}

// passesThrough reports whether an option gives the VM a device that only the node knows.
func passesThrough(option string) bool {
	stem, _ := fields.Stem(option)
	return slices.Contains([]string{"hostpci", "usb", "args"}, stem)
}

// hasSource reports whether a spec names the source of the disks' content.
func hasSource(p *v1alpha1.MachineParameters) bool {
	return p.Template != nil || len(p.TemplateTags) > 0 || p.TemplateRef != nil || p.TemplateSelector != nil || p.Clone != nil || p.Image != nil ||
		p.Restore != nil || ptr.Deref(p.ISO, "") != ""
}

// bootsFromNetwork reports whether a spec lists a network in the VM's boot order.
func bootsFromNetwork(p *v1alpha1.MachineParameters) bool {
	return slices.ContainsFunc(p.BootOrder, func(entry string) bool {
		return entry == "network" || qemu.BusOf(entry) == "net" ||
			slices.ContainsFunc(p.Networks, func(n v1alpha1.MachineNetwork) bool { return n.Name == entry })
	})
}

// onlyNewDisks reports whether all devices that the VM may boot from, except networks, are disks that entries of the spec have created empty.
func (c Checker) onlyNewDisks(p *v1alpha1.MachineParameters) bool {
	made := map[string]bool{}
	for i := range p.Disks {
		if d := &p.Disks[i]; d.ImportFrom == nil && ptr.Deref(d.Volume, "") == "" && d.VolumeRef == nil {
			made[c.Devices.Disks[d.Name]] = true
		}
	}
	for option, value := range c.VM.Active {
		switch bus := qemu.BusOf(option); {
		case passesThrough(option):
			return false
		case bus == "", bus == "net", made[option]:
		case !emptyDrive(value):
			return false
		}
	}
	return len(made) > 0
}

// emptyDrive reports whether a drive has no medium that boots.
func emptyDrive(value string) bool {
	d, err := proxmox.ParseDisk(value)
	return err == nil && d.CDROM() && (d.Volume == "none" || d.CloudInit())
}
