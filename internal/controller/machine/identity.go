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
	"strings"
	"unicode"

	"github.com/google/uuid"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// Annotations that this provider keeps with a Machine. All are written before
// the call to PVE that they are about.
const (
	// AnnotationUUID is the SMBIOS UUID of the VM that is this Machine's. It is
	// what proves that a VM is ours: VMIDs get reused.
	AnnotationUUID = "proxmox.vitistack.io/uuid"

	// AnnotationAllocated is the VMID that this provider has chosen, and may
	// choose again if somebody else was faster. A VMID that the user named is
	// never exchanged.
	AnnotationAllocated = "proxmox.vitistack.io/allocated-vmid"

	// AnnotationNode is the node that the VM is created on.
	AnnotationNode = "proxmox.vitistack.io/node"

	// AnnotationSource is the VMID of the template that the VM is cloned from.
	AnnotationSource = "proxmox.vitistack.io/source-vmid"

	// AnnotationTarget is the node that placement has chosen for a VM that has to
	// be made on another one first. It is empty once the VM has been there.
	AnnotationTarget = "proxmox.vitistack.io/target-node"

	// AnnotationPlacement is why the VM is created on its node, as JSON.
	AnnotationPlacement = "proxmox.vitistack.io/placement"

	// AnnotationDevices says which device of PVE each disk and network is.
	AnnotationDevices = "proxmox.vitistack.io/devices"

	// AnnotationPassword is the version of the Secret whose password was sent
	// last.
	AnnotationPassword = "proxmox.vitistack.io/password-version" //nolint:gosec // It is no password.

	// AnnotationSeeds are the NoCloud images that were made for the VM, and on
	// which node they were put onto a storage.
	AnnotationSeeds = "proxmox.vitistack.io/cloud-init-images"
)

// An identity is what makes a VM this resource's: the VMID says where to look,
// the UUID proves that the VM there is the one.
type identity struct {
	VMID int
	UUID string
}

// A proof is the answer to whether a VM is ours.
type proof int

const (
	// foreign VMs are somebody else's. They are never written to.
	foreign proof = iota
	// unproven VMs are being created, so that they do not show their identity
	// yet. They are left alone until they do.
	unproven
	// ours was created or adopted by this resource.
	ours
)

// A clone gets a random UUID from PVE. Until it has its own, this comment in its
// description proves whose it is; PVE shows comments nowhere.
const (
	markerStart = "<!-- provider-proxmox: uuid="
	markerEnd   = " -->"
)

// marker is what proves a clone ours before it has its UUID.
func (id identity) marker() string { return markerStart + id.UUID + markerEnd }

// longestDescription that PVE takes, in bytes.
const longestDescription = 8192

// mark adds the marker to a description, in place of any that it has, and of all
// of one that leaves no room.
func (id identity) mark(description string) string {
	description = strings.TrimRight(unmark(description), "\n")
	if description == "" || len(description)+len(id.marker()) >= longestDescription {
		return id.marker()
	}
	return description + "\n" + id.marker()
}

// unmark removes all markers from a description.
func unmark(description string) string {
	before, rest, ok := strings.Cut(description, markerStart)
	if !ok {
		return description
	}
	_, after, _ := strings.Cut(rest, markerEnd)
	return unmark(strings.TrimRight(before, "\n") + strings.TrimRight(after, "\n"))
}

// prove says whether a VM with this configuration is ours.
func (id identity) prove(config map[string]string) proof {
	switch has := smbiosUUID(config); {
	case id.UUID == "":
		return foreign
	case strings.EqualFold(has, id.UUID), strings.Contains(config["description"], id.marker()):
		return ours
	case has == "" && (config["lock"] == "create" || config["lock"] == "clone"):
		return unproven
	}
	return foreign
}

// smbiosUUID is the UUID that the guest of a configuration sees.
func smbiosUUID(config map[string]string) string {
	p, err := proxmox.ParseProperties(config["smbios1"], "uuid")
	if err != nil {
		return ""
	}
	return p.Get("uuid")
}

// options that carry the identity: the UUID, and the description without the
// marker, unless the spec declares one.
func (id identity) options(description *string, smbios *v1alpha1.MachineSMBIOS) []option {
	return []option{
		smbiosOption(id.UUID, smbios),
		{name: "description", same: sameText, want: func(now string) (string, bool) {
			if description != nil {
				return *description, true
			}
			return unmark(now), unmark(now) != now
		}},
	}
}

// sameText ignores what PVE does not keep of a text: white space at its end, and
// the sort of line ends.
func sameText(a, b string) bool {
	kept := func(s string) string {
		return strings.TrimRightFunc(strings.ReplaceAll(s, "\r\n", "\n"), unicode.IsSpace)
	}
	return kept(a) == kept(b)
}

func newUUID() string { return uuid.NewString() }
