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

// An Identity identifies the VM of a resource: the VMID shows where to look, and the UUID proves that the VM there is the right one.
type Identity struct {
	VMID int
	UUID string
}

// NoUUID is the reason why a VM without a UUID cannot be adopted, and what to do.
const NoUUID = "it has no SMBIOS UUID that would prove it to be the same one later: " +
	"set one with qm set --smbios1 uuid=…, which the guest sees after a restart"

// A Proof is the result of the check whether a VM belongs to a resource.
type Proof int

const (
	// Foreign VMs belong to others. They are never changed.
	Foreign Proof = iota

	// Unproven VMs are being created and do not show their identity yet. They are left alone until they do.
	Unproven

	// Ours is a VM that the resource created or adopted.
	Ours
)

// PVE gives a clone a random UUID. Until the clone has its own, this comment in its description proves its owner. PVE never displays comments.
const (
	markerStart = "<!-- provider-proxmox: uuid="
	markerEnd   = " -->"
)

// marker returns the text that proves the ownership of a clone before it has its UUID.
func (id Identity) marker() string { return markerStart + id.UUID + markerEnd }

// longestDescription is the maximum length of a description in PVE, in bytes.
const longestDescription = 8192

// Mark adds the marker to a description in place of any that it has. If the description leaves no room, the marker replaces all of it.
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

// Prove reports whether a VM with this configuration belongs to the resource.
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

// ProveState reports whether a VM in this state belongs to the resource. A marker in force counts even if its removal is pending: if a change fails
// halfway, Proxmox VE keeps a part of it pending, which may be the new description without the UUID.
func (id Identity) ProveState(s State) Proof {
	if id.UUID != "" && strings.Contains(s.Active["description"], id.marker()) {
		return Ours
	}
	return id.Prove(s.Config)
}

// stubMarker marks the VMs that have the disks of Volumes while no Machine has them.
const stubMarker = "<!-- provider-proxmox: stub VM of a volume -->"

// MarkStub adds the marker of a Volume's stub VM to a description.
func MarkStub(description string) string { return description + "\n" + stubMarker }

// NotStub is the reason why a stub VM cannot belong to a Machine.
const NotStub = "it is the stub VM of a Volume, which has the disk while no Machine has it and is never started"

// Stub reports whether the VM is the stub VM of a Volume.
func (c Config) Stub() bool { return strings.Contains(c["description"], stubMarker) }

// options returns the options that carry the identity: the UUID, and the description without the marker, unless the spec declares a description.
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
