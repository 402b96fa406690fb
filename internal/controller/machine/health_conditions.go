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

package machine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// A report tells in conditions what the VM lacks, and what it waits for.
type report struct{ *external }

// withHealth are conditions of a VM, with those replaced that its surroundings put
// in doubt: a bridge or a storage that has gone, or is full. What cannot be read
// now is in no doubt.
func (e report) withHealth(ctx context.Context, all ...xpv2.Condition) []xpv2.Condition {
	for i, c := range all {
		if c.Type == conditions.TypeNetworkConfigured {
			if missing := e.missingBridges(ctx); missing != "" {
				all[i] = unhealthy(c, conditions.ReasonNetworkError, missing)
			}
		}
		if c.Type == conditions.TypeResourcesAllocated {
			if unavailable := e.unavailableStorages(ctx); unavailable != "" {
				all[i] = unhealthy(c, conditions.ReasonInsufficientResources, unavailable)
			}
		}
	}
	return all
}

// unhealthy returns the condition as a false one.
func unhealthy(c xpv2.Condition, r xpv2.ConditionReason, message string) xpv2.Condition {
	return conditions.New(c.Type, corev1.ConditionFalse, r, message)
}

// missingBridges says which bridges of the VM its node does not have.
func (e report) missingBridges(ctx context.Context) string {
	wanted := e.vm.Bridges()
	if len(wanted) == 0 {
		return ""
	}
	for _, maxAge := range []time.Duration{inventory.Stable, inventory.Relaxed} {
		there, err := e.inventory.Bridges(ctx, e.vm.Node, maxAge)
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
	return sentences(wanted, "bridge '%s' not found on node "+e.vm.Node+", or the user may not use it")
}

// fullAt is the part of a storage from which on it is called full.
const fullAt = 0.99

// unavailableStorages says which storages of the VM's disks are full or not available.
func (e report) unavailableStorages(ctx context.Context) string {
	storages, err := e.inventory.Storages(ctx)
	if err != nil {
		return ""
	}
	full, gone := map[string]bool{}, map[string]bool{}
	for _, device := range e.vm.Active.Drives() {
		d, err := proxmox.ParseDisk(e.vm.Active[device])
		if err != nil || d.CDROM() {
			continue
		}
		name, _, _ := strings.Cut(d.Volume, ":")
		i := slices.IndexFunc(storages, func(s proxmox.Storage) bool { return s.Name == name && s.Node == e.vm.Node })
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
	return join(sentences(full, "storage '%s' on node "+e.vm.Node+" is full"), sentences(gone, "storage '%s' is not available on node "+e.vm.Node))
}

// sentences say the same of each name, in order.
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
