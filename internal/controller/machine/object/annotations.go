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

// annotationPrefix is that of all annotations of this provider.
const annotationPrefix = "proxmox.vitistack.io/"

// FormerAnnotations returns the present names of annotations by those that releases before
// have written, to metadata and to the copy in the status.
func FormerAnnotations() map[string]string {
	former := kind.FormerAnnotations()
	former[annotationPrefix+"ran-since"] = AnnotationRunningSince
	former[annotationPrefix+"restarted-for"] = AnnotationLastRestart
	former[annotationPrefix+"last-restart-hash"] = AnnotationLastRestart
	return former
}

// Annotations that this provider keeps with a Machine. All are written before
// the call to PVE that they are about.
const (
	// AnnotationUUID is the SMBIOS UUID of the VM that is this Machine's. It is
	// what proves that a VM is ours: VMIDs get reused.
	AnnotationUUID = tenancy.AnnotationUUID

	// AnnotationAllocated is the VMID that this provider has chosen, and may
	// choose again if somebody else was faster. A VMID that the user named is
	// never exchanged.
	AnnotationAllocated = annotationPrefix + "allocated-vmid"

	// AnnotationNode is the node that the VM is created on.
	AnnotationNode = annotationPrefix + "node"

	// AnnotationSource is the VMID of the template that the VM is cloned from.
	AnnotationSource = annotationPrefix + "source-vmid"

	// AnnotationTarget is the node that placement has chosen for a VM that has to
	// be made on another one first. It is empty once the VM has been there.
	AnnotationTarget = annotationPrefix + "target-node"

	// AnnotationCluster is set by users only: the name of the cluster that a Machine
	// goes on in whose VM is in another one.
	AnnotationCluster = annotationPrefix + "cluster"

	// AnnotationCreation proves that the provider has begun to make the VM of a tenant, where it did. It tells that VM from
	// those of others while it is in no pool yet.
	AnnotationCreation = tenancy.AnnotationCreation

	// AnnotationPlacement is why the VM is created on its node, as JSON.
	AnnotationPlacement = annotationPrefix + "placement"

	// AnnotationDevices says which device of PVE each disk and network is.
	AnnotationDevices = tenancy.AnnotationDevices

	// AnnotationPassword is the version of the Secret whose password was sent
	// last.
	AnnotationPassword = annotationPrefix + "password-version"

	// AnnotationImages are the NoCloud images that were made for the VM, on which node
	// they were put onto a storage, and until when one may arrive that nothing was
	// heard of (in seconds since 1970).
	AnnotationImages = annotationPrefix + "cloud-init-images"

	// AnnotationPowerAction has the token of the power action that was done last and those before, as JSON. It
	// is written before the call, so that no action is ever done twice.
	AnnotationPowerAction = annotationPrefix + "power-action"

	// AnnotationRollback has the rollback that was asked for last, as JSON. It is written
	// before each call, so that no rollback is ever done twice.
	AnnotationRollback = annotationPrefix + "rollback"

	// AnnotationRestore has the call that restores the VM from a backup, as JSON. Until the VM
	// has its UUID, the task of that call proves whose it is.
	AnnotationRestore = kind.AnnotationRestore

	// AnnotationRestoreInPlace has the restore in place that was asked for last, as JSON. It is written
	// before each call, so that none is ever done twice. While the VM has no UUID, the task of that call
	// proves whose it is.
	AnnotationRestoreInPlace = annotationPrefix + "restore-in-place"

	// AnnotationRecreation has the recreation that was asked for last, and the VMs whose creation was lost,
	// as JSON. It is written together with the new identity, so that a token gives a Machine at most one.
	AnnotationRecreation = annotationPrefix + "recreation"

	// AnnotationRunningSince is since when the VM was seen to run: what a VM that stopped by
	// itself did before decides whether it is started again.
	AnnotationRunningSince = annotationPrefix + "running-since"

	// AnnotationLastRestart has the last request to restart the VM, as JSON. It is written before
	// the call: a restart that was made is not repeated for the same changes.
	AnnotationLastRestart = annotationPrefix + "last-restart"

	// AnnotationHARules is the VMID of a VM that is proven to be this Machine's and
	// that HA may have rules of. It is written before the first of them, stays, and
	// is where others learn that they may put the VM into rules with theirs.
	AnnotationHARules = annotationPrefix + "ha-rules"
)
