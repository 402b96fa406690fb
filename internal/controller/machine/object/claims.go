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

package object

import (
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ClaimIndex is the name of the index that finds the Machines that claim a VM. Its values are claims.
const ClaimIndex = "proxmox.vitistack.io/claim"

// Claims returns the claims of a Machine: the VM's UUID, which proves that the VM is this Machine's, and its VMID. A Machine that may only observe
// claims nothing.
func Claims(o client.Object) []string {
	m, ok := o.(Machine)
	if !ok || !MayClaim(m) {
		return nil
	}
	var all []string
	if uuid := m.GetAnnotations()[AnnotationUUID]; uuid != "" {
		all = append(all, ClaimOfUUID(uuid))
	}
	if vmid := meta.GetExternalName(m); vmid != "" {
		all = append(all, ClaimOfVMID(vmid))
	}
	return all
}

// MayClaim reports whether a Machine may do anything to a VM, even if it may only delete it.
func MayClaim(m Machine) bool {
	p := m.GetManagementPolicies()
	return len(p) == 0 || slices.ContainsFunc(p, func(a xpv2.ManagementAction) bool {
		return a != xpv2.ManagementActionObserve && a != xpv2.ManagementActionLateInitialize
	})
}

// ClaimOfUUID returns the claim of a VM by its UUID.
func ClaimOfUUID(uuid string) string { return "uuid/" + strings.ToLower(uuid) }

// ClaimOfVMID returns the claim of a VM by its VMID.
func ClaimOfVMID(vmid string) string { return "vmid/" + vmid }
