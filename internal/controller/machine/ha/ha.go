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

// Package ha decides the settings of a VM in high availability, and reads them.
package ha

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/power"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/rules"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/qemu/validate"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// defaults are the settings that apply in HA if they are not set.
//
//nolint:gochecknoglobals // A constant.
var defaults = map[string]string{"state": vmstate.HAStarted, "max_restart": "1", "max_relocate": "1", "failback": "1"}

// Settings hold what a spec, and the rules that placement asks for, require of HA.
type Settings struct {
	power.Policy

	Rules rules.Rules
}

// Wanted returns the desired settings of the VM in HA.
func (s Settings) Wanted(v *vmstate.VM) proxmox.HASettings {
	r := qemu.HASettings(s.HighAvailability)
	if ours := s.Rules.Group(v); ours != nil {
		r["group"] = *ours
	}
	delete(r, "state")
	if state := s.HAState(v); state != "" {
		r["state"] = state
	}
	return r
}

// Change returns the settings that differ from the HA resource.
func (s Settings) Change(v *vmstate.VM) proxmox.HASettings {
	change := s.Wanted(v)
	maps.DeleteFunc(change, func(name, wanted string) bool {
		has := cmp.Or(v.HA[name], defaults[name])
		return cmp.Or(wanted, defaults[name]) == has || name == "state" && wanted == vmstate.HAStarted && has == "enabled"
	})
	return change
}

// Refuses reports whether Proxmox VE refuses to change the settings: HA has given the VM up, and must first be told to disable it.
func (s Settings) Refuses(v *vmstate.VM) bool {
	if !v.InHA || !v.HAFailed() || !s.HAEnabled() {
		return false
	}
	change := s.Change(v)
	return len(change) > 0 && change["state"] != vmstate.HADisabled
}

// Rejections returns why the VM cannot be added to HA. PVE accepts a template into HA, which then fails to start it.
func (s Settings) Rejections(v *vmstate.VM) []string {
	switch {
	case v.HAUnavailable != "":
		return []string{v.HAUnavailable}
	case v.Template() && s.HAEnabled():
		return []string{"the VM is a template, which high availability cannot start: make a VM of it again in Proxmox VE, or set highAvailability.enabled to false"}
	}
	return nil
}

// VersionRequirements returns the desired settings that not every version of PVE knows.
func (s Settings) VersionRequirements(v *vmstate.VM) []validate.VersionRequirement {
	if !s.HAEnabled() || v.Template() || v.HAUnavailable != "" {
		return nil
	}
	told := s.Wanted(v)
	if v.InHA {
		told = s.Change(v)
	}
	return validate.HAVersionRequirements(told)
}

// First returns the first settings of a VM that HA does not manage yet. They always contain a state, because HA starts a VM without one.
func (s Settings) First(v *vmstate.VM) proxmox.HASettings {
	r := s.Wanted(v)
	maps.DeleteFunc(r, func(_, wanted string) bool { return wanted == "" })
	if r["state"] == "" {
		r["state"] = vmstate.HAStopped
		if v.On() {
			r["state"] = vmstate.HAStarted
		}
	}
	return r
}

// Differences returns the differences between the settings of a VM that HA manages and the change.
func Differences(v *vmstate.VM, change proxmox.HASettings) []v1alpha1.MachinePendingChange {
	all := make([]v1alpha1.MachinePendingChange, 0, len(change))
	for _, name := range slices.Sorted(maps.Keys(change)) {
		all = append(all, v1alpha1.MachinePendingChange{Option: "high availability " + name, Current: v.HA[name], Desired: change[name]})
	}
	return all
}

// An Inventory reads the settings of HA.
type Inventory interface {
	HAResources(ctx context.Context, maxAge time.Duration) (map[int]proxmox.HASettings, error)
	Guests(ctx context.Context, maxAge time.Duration) ([]proxmox.Guest, error)
}

// An UnlistedError is returned for a VM that is said to be managed by HA, which does not list it.
type UnlistedError struct{ error }

// Read adds the VM's settings in HA, if the spec declares them. If settings that may be out of date differ, they are read again. The status of a VM
// that HA is to ignore says that HA does not manage it.
func (s Settings) Read(ctx context.Context, i Inventory, v *vmstate.VM) error {
	if s.HighAvailability == nil || v.Template() || v.InHA && !s.HAEnabled() {
		return nil
	}
	if !v.InHA {
		if ignored, err := s.mayIgnore(ctx, i, v); err != nil || !ignored {
			return err
		}
	}
	for _, maxAge := range []time.Duration{inventory.Stable, inventory.Fresh} {
		all, err := i.HAResources(ctx, maxAge)
		if proxmox.IsAuthorization(err) {
			if s.HAEnabled() {
				v.HAUnavailable = err.Error()
			}
			return nil // Everything else is still observed.
		}
		if err != nil {
			return err
		}
		v.HA, v.InHA = all[v.VMID], all[v.VMID] != nil
		if v.InHA == s.HAEnabled() && (!v.InHA || len(s.Change(v)) == 0) {
			return nil
		}
	}
	if v.Status.HAManaged && !v.InHA {
		return UnlistedError{errors.Errorf("VM %d is said to be managed by high availability, which does not list it", v.VMID)}
	}
	return nil
}

// mayIgnore reports whether HA may be told to ignore the VM, according to the spec or the cluster's list.
func (s Settings) mayIgnore(ctx context.Context, i Inventory, v *vmstate.VM) (bool, error) {
	if s.HAState(v) == vmstate.HAIgnored {
		return true, nil
	}
	guests, err := i.Guests(ctx, inventory.Current)
	g, _ := proxmox.GuestOf(guests, v.VMID)
	return g.HAState == vmstate.HAIgnored, err
}
