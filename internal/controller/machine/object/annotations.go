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
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
)

// annotationPrefix is the prefix of all annotations of this provider.
const annotationPrefix = "proxmox.vitistack.io/"

// FormerAnnotations returns the current names of annotations by the names that earlier releases have written to metadata and to the copy in the status.
func FormerAnnotations() map[string]string {
	former := kind.FormerAnnotations()
	former[annotationPrefix+"ran-since"] = AnnotationRunningSince
	former[annotationPrefix+"restarted-for"] = AnnotationLastRestart
	former[annotationPrefix+"last-restart-hash"] = AnnotationLastRestart
	return former
}

// Annotations that this provider saves on a Machine. Each is written before the call to PVE that it describes.
const (
	// AnnotationUUID is the SMBIOS UUID of this Machine's VM. It proves that a VM is ours: VMIDs are reused.
	AnnotationUUID = tenancy.AnnotationUUID

	// AnnotationAllocated is the VMID that this provider has chosen, and may replace if another guest took it first. A VMID that the user named is never
	// replaced.
	AnnotationAllocated = annotationPrefix + "allocated-vmid"

	// AnnotationNode is the node that the VM is created on.
	AnnotationNode = annotationPrefix + "node"

	// AnnotationSource is the VMID of the template that the VM is cloned from.
	AnnotationSource = annotationPrefix + "source-vmid"

	// AnnotationTarget is the node that placement has chosen for a VM that must first be created on another one. It is empty once the VM has been there.
	AnnotationTarget = annotationPrefix + "target-node"

	// AnnotationCluster is set only by users. It is the name of the cluster in which a Machine continues whose VM is in another cluster.
	AnnotationCluster = annotationPrefix + "cluster"

	// AnnotationCreation proves that the provider has begun to create the VM of a tenant on its node. It distinguishes that VM from those of others
	// while it is in no pool yet.
	AnnotationCreation = tenancy.AnnotationCreation

	// AnnotationPlacement is why the VM is created on its node, as JSON.
	AnnotationPlacement = annotationPrefix + "placement"

	// AnnotationDevices contains the PVE device of each disk and network.
	AnnotationDevices = tenancy.AnnotationDevices

	// AnnotationPassword is the version of the Secret whose password was sent last.
	AnnotationPassword = annotationPrefix + "password-version"

	// AnnotationImages are the NoCloud images that were created for the VM, the nodes through which they were put onto a storage, and the time until
	// which an image whose outcome is unknown may still arrive (in seconds since 1970).
	AnnotationImages = annotationPrefix + "cloud-init-images"

	// AnnotationPowerAction contains the token of the last power action and those before, as JSON. It is written before the call, so that no action is
	// ever done twice.
	AnnotationPowerAction = annotationPrefix + "power-action"

	// AnnotationRollback contains the last requested rollback, as JSON. It is written before each call, so that no rollback is ever done twice.
	AnnotationRollback = annotationPrefix + "rollback"

	// AnnotationRestore contains the call that restores the VM from a backup, as JSON. Until the VM has its UUID, the task of that call proves which
	// Machine owns it.
	AnnotationRestore = kind.AnnotationRestore

	// AnnotationRestoreInPlace contains the last requested restore in place, as JSON. It is written before each call, so that none is ever done twice.
	// While the VM has no UUID, the task of that call proves which Machine owns it.
	AnnotationRestoreInPlace = annotationPrefix + "restore-in-place"

	// AnnotationRecreation contains the last requested recreation, and the VMs whose creation was lost, as JSON. It is written together with the new
	// identity, so that a token gives a Machine at most one.
	AnnotationRecreation = annotationPrefix + "recreation"

	// AnnotationRunningSince is the time since which the VM was seen to run. The earlier state of a VM that stopped by itself determines whether it is
	// started again.
	AnnotationRunningSince = annotationPrefix + "running-since"

	// AnnotationLastRestart contains the last request to restart the VM, as JSON. It is written before the call: a restart that was made is not repeated
	// for the same changes.
	AnnotationLastRestart = annotationPrefix + "last-restart"

	// AnnotationHARules is the VMID of a VM that is proven to be this Machine's and that HA may have rules of. It is written before the first of them,
	// and stays. It permits other Machines to put the VM into rules with theirs.
	AnnotationHARules = annotationPrefix + "ha-rules"
)
