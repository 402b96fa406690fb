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
	"strings"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// An Identity is what makes a VM a resource's: the VMID says where to look, the UUID
// proves that the VM there is the one.
type Identity struct {
	VMID int
	UUID string
}

// NoUUID is why a VM cannot be adopted that does not say its UUID, and what to do.
const NoUUID = "it has no SMBIOS UUID that would prove it to be the same one later: " +
	"set one with qm set --smbios1 uuid=…, which the guest sees after a restart"

// A Proof is the answer to whether a VM is a resource's.
type Proof int

const (
	// Foreign VMs are somebody else's. They are never written to.
	Foreign Proof = iota

	// Unproven VMs are being created, so that they do not show their identity
	// yet. They are left alone until they do.
	Unproven

	// Ours was created or adopted by the resource.
	Ours
)

// A clone gets a random UUID from PVE. Until it has its own, this comment in its
// description proves whose it is; PVE shows comments nowhere.
const (
	markerStart = "<!-- provider-proxmox: uuid="
	markerEnd   = " -->"
)

// marker returns what proves a clone ours before it has its UUID.
func (id Identity) marker() string { return markerStart + id.UUID + markerEnd }

// longestDescription that PVE takes, in bytes.
const longestDescription = 8192

// Mark adds the marker to a description, in place of any that it has, and of all
// of one that leaves no room.
func (id Identity) Mark(description string) string {
	description = strings.TrimRight(Unmark(description), "\n")
	if description == "" || len(description)+len(id.marker()) >= longestDescription {
		return id.marker()
	}
	return description + "\n" + id.marker()
}

// Unmark removes all markers from a description.
func Unmark(description string) string {
	before, rest, ok := strings.Cut(description, markerStart)
	if !ok {
		return description
	}
	_, after, _ := strings.Cut(rest, markerEnd)
	return Unmark(strings.TrimRight(before, "\n") + strings.TrimRight(after, "\n"))
}

// Prove reports whether a VM with this configuration is the resource's.
func (id Identity) Prove(config Config) Proof {
	switch has := config.UUID(); {
	case id.UUID == "":
		return Foreign
	case strings.EqualFold(has, id.UUID), strings.Contains(config["description"], id.marker()):
		return Ours
	case has == "" && config.BeingCreated():
		return Unproven
	}
	return Foreign
}

// ProveState reports whether a VM in this state is the resource's. A marker that is in force counts although it is to go: of a change that
// fails halfway, Proxmox VE keeps a part pending, which may be the new description without the UUID.
func (id Identity) ProveState(s State) Proof {
	if id.UUID != "" && strings.Contains(s.Active["description"], id.marker()) {
		return Ours
	}
	return id.Prove(s.Config)
}

// stubMarker marks the VMs that have the disks of Volumes while no Machine has them.
const stubMarker = "<!-- provider-proxmox: stub VM of a volume -->"

// MarkStub adds to a description what marks the stub VM of a Volume.
func MarkStub(description string) string { return description + "\n" + stubMarker }

// NotStub is why a stub VM is no Machine.
const NotStub = "it is the stub VM of a Volume, which has the disk while no Machine has it and is never started"

// Stub reports whether the VM is the stub VM of a Volume.
func (c Config) Stub() bool { return strings.Contains(c["description"], stubMarker) }

// options returns the options that carry the identity: the UUID, and the description without the
// marker, unless the spec declares one.
func (id Identity) options(description *string, smbios *v1alpha1.MachineSMBIOS) []Option {
	return []Option{
		smbiosOption(id.UUID, smbios),
		{Name: "description", same: proxmox.SameText, Want: func(now string) (string, bool) {
			if description != nil {
				return *description, true
			}
			return Unmark(now), Unmark(now) != now
		}},
	}
}
