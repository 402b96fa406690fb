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

package validate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/proxmox/propertystring"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// A startError is a reason why PVE would not start a VM with a configuration.
type startError struct {
	// fields that conflict.
	fields string

	why string
}

// StartError returns why a running VM would not start again with its pending changes, or why a VM created from the active configuration would not start.
// PVE accepts such a configuration, and fails only at the start.
func StartError(s qemu.State) []string {
	active := startErrors(s.Active)
	var no []string
	for _, f := range startErrors(s.Config) {
		if !slices.ContainsFunc(active, func(a startError) bool { return a.fields == f.fields }) {
			no = append(no, f.fields+" "+f.why)
		}
	}
	return no
}

func startErrors(c qemu.Config) []startError {
	return slices.Concat(hotplugErrors(c), numaErrors(c), numaNodeErrors(c), hugePageErrors(c), hardwareErrors(c))
}

// hotplugs reports whether a configuration has a feature of hotplug.
func hotplugs(c qemu.Config, feature string) bool {
	return slices.Contains(qemu.SplitHotplug(cmp.Or(c["hotplug"], qemu.DefaultHotplug)), feature)
}

// hotplugErrors finds conflicts with memory hotplug.
func hotplugErrors(c qemu.Config) []startError {
	if !hotplugs(c, "memory") {
		return nil
	}
	var found []startError
	if c["numa"] != "1" {
		found = append(found, startError{"hotplug memory", "needs cpu.numa"})
	}
	if len(c.Numbered("numa")) > 0 {
		found = append(found, startError{"hotplug memory", "does not go with cpu.numaNodes"})
	}
	if len(c.Numbered("virtiofs")) > 0 {
		found = append(found, startError{"hotplug memory", "does not go with virtiofs"})
	}
	if has := c.Memory() / int64(proxmox.MiB); has < qemu.FirstMemory {
		found = append(found, startError{"hotplug memory", fmt.Sprintf("needs %d MiB of memory, and the VM has %d MiB", qemu.FirstMemory, has)})
	}
	return found
}

// numaErrors finds settings that need NUMA, and nodes that do not match the VM.
func numaErrors(c qemu.Config) []startError {
	switch nodes := c.Numbered("numa"); {
	case c["numa"] != "1" && c["hugepages"] != "":
		return []startError{{"memoryOptions.hugePages", "needs cpu.numa"}}
	case c["numa"] != "1" || len(nodes) == 0 || hotplugs(c, "memory"):
		return nil
	}
	var sum int64
	for _, n := range numaNodesOf(c) {
		sum += int64(qemu.IntegerOr(n.Get("memory"), 0))
	}
	if has := c.Memory() / int64(proxmox.MiB); sum != has {
		return []startError{{"cpu.numaNodes", fmt.Sprintf("have %d MiB in all, and the VM has %d MiB of memory", sum, has)}}
	}
	return nil
}

// numaNodesOf returns the NUMA nodes by their numbers.
func numaNodesOf(c qemu.Config) map[string]propertystring.Properties {
	all := map[string]propertystring.Properties{}
	for _, option := range c.Numbered("numa") {
		if p, err := propertystring.Parse(c[option], ""); err == nil {
			all[strings.TrimPrefix(option, "numa")] = p
		}
	}
	return all
}

// numaNodeErrors finds NUMA nodes with missing settings.
func numaNodeErrors(c qemu.Config) []startError {
	if c["numa"] != "1" {
		return nil
	}
	var found []startError
	nodes := numaNodesOf(c)
	for _, i := range slices.Sorted(maps.Keys(nodes)) {
		n, field := nodes[i], fmt.Sprintf("cpu.numaNodes[%s]", i)
		switch {
		case !n.Has("memory"):
			found = append(found, startError{field, "needs memory"})
		case n.Has("hostnodes") && !n.Has("policy"):
			found = append(found, startError{field, "needs policy with hostNodes"})
		case !n.Has("hostnodes") && c["hugepages"] != "":
			found = append(found, startError{field, "needs hostNodes with memoryOptions.hugePages"})
		}
	}
	return found
}

// hugePageErrors finds memory sizes that are not possible with huge pages: PVE::QemuServer::Memory::hugepages_size.
func hugePageErrors(c qemu.Config) []startError {
	if c["hugepages"] == "" || c["numa"] != "1" || hotplugs(c, "memory") {
		return nil
	}
	page, err := strconv.Atoi(c["hugepages"])
	if err != nil {
		page = 2 // Any size, of which this is the smallest.
	}
	for _, has := range nodeMemory(c) {
		if has%page != 0 {
			return []startError{{"memoryOptions.hugePages", fmt.Sprintf("of %d MiB cannot hold a NUMA node's memory, %d MiB", page, has)}}
		}
	}
	return nil
}

// nodeMemory returns the memory of each NUMA node of the VM, in MiB. Without configured nodes, the sockets share the memory.
func nodeMemory(c qemu.Config) []int {
	var each []int
	for _, n := range numaNodesOf(c) {
		each = append(each, int(qemu.IntegerOr(n.Get("memory"), 0)))
	}
	if len(each) == 0 {
		return []int{int(c.Memory()/int64(proxmox.MiB)) / int(max(1, c.Integer("sockets", 1)))}
	}
	return each
}
