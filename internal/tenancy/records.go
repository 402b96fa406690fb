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

package tenancy

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// Records distinguishes what the provider itself has recorded in the status of resources from what users have written there, as Crossplane's own roles
// allow. It signs records with a key that users do not know. A signature is valid for one resource, by its UID, one provider configuration and one VM,
// so that it cannot be used elsewhere.
type Records struct {
	// Key of the signatures. Without one, nothing is signed and no record is valid.
	Key []byte

	// Config is the provider configuration that a VM was observed with.
	Config string

	// Tenant is the current tenant of the resource; empty if it has none.
	Tenant string
}

// VMOf returns the VMID and the UUID of the VM that a resource is about, if the provider has recorded
// them with this provider configuration.
func (r Records) VMOf(mg resource.Managed) (vmid int, uuid string) {
	if b, signed := r.Backup(mg); signed {
		return b.VMID, b.UUID
	}
	if v, signed := r.Volume(mg); signed {
		return v.VMID, v.UUID
	}
	if _, signed := r.signed(mg); !signed {
		return 0, ""
	}
	return RecordedVM(mg)
}

// Sign signs the VM in the status of a resource. The VM must be proven to be the resource's and its tenant's. For a resource that has lost its tenant,
// the signature keeps the former tenant.
func (r Records) Sign(mg resource.Managed) {
	if kept := signatureOf(mg); kept != nil {
		*kept = r.signature(mg, cmp.Or(r.Tenant, r.TenantOf(mg)))
	}
}

// TenantOf returns the tenant that a resource had when its VM was last observed. It is empty if that is not signed.
func (r Records) TenantOf(mg resource.Managed) string {
	tenant, _ := r.signed(mg)
	return tenant
}

// signed reports whether the status of a resource is signed, and with which tenant. Signatures of earlier versions have none.
func (r Records) signed(mg resource.Managed) (tenant string, is bool) {
	kept := signatureOf(mg)
	if kept == nil || *kept == "" {
		return "", false
	}
	if before, _, has := strings.Cut(*kept, tenantEnds); has {
		name, err := base64.StdEncoding.DecodeString(before)
		if err != nil {
			return "", false
		}
		tenant = string(name)
	}
	if !hmac.Equal([]byte(*kept), []byte(r.signature(mg, tenant))) {
		return "", false
	}
	return tenant, true
}

// tenantEnds separates the name of a tenant from the signature. Neither contains it.
const tenantEnds = "."

func (r Records) signature(mg resource.Managed, tenant string) string {
	vmid, uuid := RecordedVM(mg)
	if vmid == 0 || len(r.Key) == 0 {
		return ""
	}
	text := fmt.Sprintf("%d\n%s", vmid, strings.ToLower(uuid))
	if tenant == "" {
		return r.sign(mg, text)
	}
	return base64.StdEncoding.EncodeToString([]byte(tenant)) + tenantEnds + r.sign(mg, fmt.Sprintf("tenant %q\n%s", tenant, text))
}

// sign returns the signature of a text for a resource.
func (r Records) sign(mg resource.Managed, text string) string {
	if len(r.Key) == 0 {
		return ""
	}
	h := hmac.New(sha256.New, r.Key)
	_, _ = fmt.Fprintf(h, "%s\n%s\n%s", mg.GetUID(), r.Config, text) // Writing to a hash does not fail.
	return base64.StdEncoding.EncodeToString(h.Sum(nil))
}

// SignCreation returns the proof that the provider has begun to create a VM for a resource on a node, where no other VM had its VMID. It is empty if
// nothing is signed.
func (r Records) SignCreation(mg resource.Managed, vmid int, uuid, node string) string {
	return r.sign(mg, fmt.Sprintf("creation\n%d\n%s\n%s", vmid, strings.ToLower(uuid), node))
}

// VerifyCreation reports whether a signature proves the creation of a VM for a resource on a node.
func (r Records) VerifyCreation(mg resource.Managed, vmid int, uuid, node, signature string) bool {
	return signature != "" && hmac.Equal([]byte(signature), []byte(r.SignCreation(mg, vmid, uuid, node)))
}

// The annotations of a Machine with the UUID of its VM, and with the proof that the provider has begun to create that VM.
const (
	AnnotationUUID     = "proxmox.vitistack.io/uuid"
	AnnotationCreation = "proxmox.vitistack.io/creation-signature"
)

// AnnotationDevices is the annotation with the PVE device of each disk and network of a Machine.
const AnnotationDevices = "proxmox.vitistack.io/devices"

// IsCreating reports whether the annotations of a Machine prove that the provider is creating a VM for it. Such a VM is in no pool yet.
func (r Records) IsCreating(mg resource.Managed, g proxmox.Guest) bool {
	a := mg.GetAnnotations()
	return g.Pool == "" && r.VerifyCreation(mg, g.VMID, a[AnnotationUUID], g.Node, a[AnnotationCreation])
}

// The annotations of a Backup with its record and the record's signature. The record names tasks and a volume, of which only those that the provider
// itself has started may be read.
const (
	AnnotationBackup          = "proxmox.vitistack.io/backup-record"
	AnnotationBackupSignature = "proxmox.vitistack.io/backup-record-signature"
)

// A BackupRecord has the parts of a Backup's record that identify the backup.
type BackupRecord struct {
	VMID   int    `json:"vmid"`
	UUID   string `json:"uuid"`
	Volume string `json:"volume"`
	Done   bool   `json:"done"`

	// Tenant of the VM, as it was checked when the backup was created or proven to be the Backup's.
	Tenant string `json:"tenant"`
}

// The annotations of a Volume with its record and the record's signature.
const (
	AnnotationVolume          = "proxmox.vitistack.io/volume-record"
	AnnotationVolumeSignature = "proxmox.vitistack.io/volume-record-signature"
)

// A VolumeRecord has the parts of a Volume's record that identify the disk.
type VolumeRecord struct {
	// VMID and UUID of the stub VM.
	VMID int    `json:"vmid"`
	UUID string `json:"uuid"`

	// Volume is the volume ID of the disk.
	Volume string `json:"volume"`
}

// SignBackup returns the signature of the record of a Backup, or an empty string if nothing is signed.
func (r Records) SignBackup(mg resource.Managed, record string) string {
	return r.sign(mg, AnnotationBackup+"\n"+record)
}

// SignVolume returns the signature of the record of a Volume, or an empty string if nothing is signed.
func (r Records) SignVolume(mg resource.Managed, record string) string {
	return r.sign(mg, AnnotationVolume+"\n"+record)
}

// Volume returns the record of a Volume if the provider has written it with this provider configuration.
func (r Records) Volume(mg resource.Managed) (v VolumeRecord, signed bool) {
	if _, is := mg.(volume); !is || !r.read(mg, AnnotationVolume, AnnotationVolumeSignature, &v) {
		return VolumeRecord{}, false
	}
	return v, true
}

// read reads a record if its signature is valid.
func (r Records) read(mg resource.Managed, annotation, signature string, into any) bool {
	record, kept := mg.GetAnnotations()[annotation], mg.GetAnnotations()[signature]
	return kept != "" && hmac.Equal([]byte(kept), []byte(r.sign(mg, annotation+"\n"+record))) && json.Unmarshal([]byte(record), into) == nil
}

// Backup returns the record of a Backup if the provider has written it with this provider configuration.
func (r Records) Backup(mg resource.Managed) (BackupRecord, bool) {
	b := BackupRecord{}
	if !IsBackup(mg) || !r.read(mg, AnnotationBackup, AnnotationBackupSignature, &b) {
		return BackupRecord{}, false
	}
	return b, true
}

// IsBackup reports whether a resource is a Backup.
func IsBackup(mg resource.Managed) bool {
	_, is := mg.(backup)
	return is
}

// signatureOf returns the field for the signature in the status of a resource, or nil if there is none.
func signatureOf(mg resource.Managed) *string {
	switch m := mg.(type) {
	case interface {
		Observation() *v1alpha1.MachineObservation
	}:
		return &m.Observation().RecordSignature
	case interface {
		Observation() *v1alpha1.SnapshotObservation
	}:
		return &m.Observation().RecordSignature
	}
	return nil
}
