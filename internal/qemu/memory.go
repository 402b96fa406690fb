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
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// ballooned reports whether memory is declared, and the least that ballooning leaves
// of it is not.
func (d Desired) ballooned() bool {
	return d.Memory != nil && ptr.Deref(d.Balloon, true) && d.minimum() == nil
}

// minimum that ballooning is to leave to the VM; nil if the spec does not say.
func (d Desired) minimum() *resource.Quantity {
	if d.MemoryOptions == nil || !ptr.Deref(d.Balloon, true) {
		return nil
	}
	return d.MemoryOptions.Minimum
}

// keepsMemory reports whether the VM has been told already what is declared of its
// memory: whatever that is, it is not to change.
func (d Desired) keepsMemory(config Config) bool {
	return d.Memory != nil && config["memory"] != "" && config.Memory() == d.Memory.Value()
}

// memoryRejections are sizes of memory that PVE does not take, or not for long.
func (d Desired) memoryRejections(config Config) []string {
	if d.keepsMemory(config) {
		return nil
	}
	no := d.hotplugRejections(config)
	if least := config.Integer("balloon", 0); d.ballooned() && int64(least)*int64(proxmox.MiB) > d.Memory.Value() {
		no = append(no, fmt.Sprintf("memory %s is less than the %d MiB that ballooning leaves to the VM: "+
			"set memoryOptions.minimum, or balloon to false", d.Memory, least))
	}
	least := d.minimum()
	if d.Memory == nil && least != nil && least.Value() > config.Memory() && mebibytesText(least) != config["balloon"] {
		no = append(no, fmt.Sprintf("memoryOptions.minimum %s is more than the memory of the VM, %d MiB: set memory", least, config.Memory()/int64(proxmox.MiB)))
	}
	return no
}

// Sizes in MiB of memory that can be plugged in: what a VM starts with, and 32
// modules each of a size that doubles.
const (
	FirstMemory = 1024
	firstModule = 512
	modulesEach = 32
	moduleSizes = 8
)

// hotplugRejections are sizes of memory that are not made of whole modules. PVE rounds
// them up, and takes a module out again when it is asked for less.
func (d Desired) hotplugRejections(config Config) []string {
	features := SplitHotplug(cmp.Or(config["hotplug"], DefaultHotplug))
	if d.Hotplug != nil {
		features = d.Hotplug
	}
	gigantic := config["hugepages"] == "1024" || d.MemoryOptions != nil && ptr.Deref(d.MemoryOptions.HugePages, "") == "1024"
	if d.Memory == nil || gigantic || !slices.Contains(features, "memory") {
		return nil
	}
	want, below, size := d.Memory.Value()/int64(proxmox.MiB), int64(0), int64(FirstMemory)
	for i := 0; size < want && i < modulesEach*moduleSizes; i++ {
		below, size = size, size+firstModule<<(i/modulesEach)
	}
	if size == want {
		return nil
	}
	return []string{fmt.Sprintf("memory %s cannot be plugged in: with memory in hotplug, Proxmox VE has %d MiB after %d MiB", d.Memory, size, below)}
}
