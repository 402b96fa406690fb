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

// Package object describes a Machine as an object of Kubernetes: the interface that both scopes satisfy, the annotations that the provider saves on
// it, which VM they name, and what it claims. It does not use Proxmox VE's API.
package object

import (
	"slices"
	"strconv"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// A Machine of either scope.
type Machine interface {
	resource.Managed

	Parameters() *v1alpha1.MachineParameters
	Observation() *v1alpha1.MachineObservation
}

// QualifiedName returns the namespace and the name of a Machine, or its name if it has no namespace.
func QualifiedName(m Machine) string {
	return strings.TrimPrefix(m.GetNamespace()+"/"+m.GetName(), "/")
}

// IdentityOf reads the identity that is saved on a Machine.
func IdentityOf(m Machine) (qemu.Identity, error) {
	name := meta.GetExternalName(m)
	id, err := strconv.Atoi(name)
	if err != nil || id < 100 || id > 999999999 {
		return qemu.Identity{}, errors.Errorf("annotation %s is %q: it must be a VMID, 100 to 999999999", meta.AnnotationKeyExternalName, name)
	}
	if wanted := m.Parameters().VMID; wanted != nil && int(*wanted) != id && !meta.WasDeleted(m) {
		return qemu.Identity{}, errors.Errorf("vmid is %d, but this Machine is VM %d: a VMID cannot change", *wanted, id)
	}
	return qemu.Identity{VMID: id, UUID: m.GetAnnotations()[AnnotationUUID]}, nil
}

// MayCreate reports whether the management policies allow a VM to be created.
func MayCreate(m Machine) bool {
	p := m.GetManagementPolicies()
	return len(p) == 0 || slices.Contains(p, xpv2.ManagementActionAll) || slices.Contains(p, xpv2.ManagementActionCreate)
}

// MayReplaceVMID reports whether the VMID of a Machine was chosen by us, and no VM was seen to be ours, as shown by the status or by the images that
// were created for it. A started creation proves nothing: PVE finds only in the task that another node has the VMID.
func MayReplaceVMID(m Machine) bool {
	a := m.GetAnnotations()
	return a[AnnotationAllocated] == meta.GetExternalName(m) && m.Observation().UUID == "" && a[AnnotationImages] == ""
}

// ConnectionSecret returns the key of the Secret for the connection details of a Machine. It has no name if there is none.
func ConnectionSecret(m Machine) client.ObjectKey {
	switch o := m.(type) {
	case interface {
		GetWriteConnectionSecretToReference() *xpv2.LocalSecretReference
	}:
		if r := o.GetWriteConnectionSecretToReference(); r != nil {
			return client.ObjectKey{Namespace: m.GetNamespace(), Name: r.Name}
		}
	case interface {
		GetWriteConnectionSecretToReference() *xpv2.SecretReference
	}:
		if r := o.GetWriteConnectionSecretToReference(); r != nil {
			return client.ObjectKey{Namespace: r.Namespace, Name: r.Name}
		}
	}
	return client.ObjectKey{}
}
