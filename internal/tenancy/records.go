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

// Records tells what the provider itself has recorded in the status of resources, which Crossplane's own
// roles let users write, from what was made up: by a signature with a key that users do not know. It holds
// for one resource, as the API server numbers them, one provider configuration and one VM, so that
// it is of no use anywhere else.
type Records struct {
	// Key of the signatures. Without one nothing is signed, and no record holds.
	Key []byte

	// Config is the provider configuration by which a VM was seen.
	Config string

	// Tenant of the resource by now; empty if it has none.
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

// Sign what the status of a resource says of its VM, which has to be proven to be the resource's and
// to be its tenant's. Of one that has lost its tenant it stays signed which it had.
func (r Records) Sign(mg resource.Managed) {
	if kept := signatureOf(mg); kept != nil {
		*kept = r.signature(mg, cmp.Or(r.Tenant, r.TenantOf(mg)))
	}
}

// TenantOf is the tenant that a resource had when its VM was seen last; empty if that is not signed.
func (r Records) TenantOf(mg resource.Managed) string {
	tenant, _ := r.signed(mg)
	return tenant
}

// signed is whether the status of a resource is signed, and with which tenant: signatures of earlier versions have none.
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

// tenantEnds is what is between the name of a tenant and the signature, of which neither has it.
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

// sign a text for a resource.
func (r Records) sign(mg resource.Managed, text string) string {
	if len(r.Key) == 0 {
		return ""
	}
	h := hmac.New(sha256.New, r.Key)
	_, _ = fmt.Fprintf(h, "%s\n%s\n%s", mg.GetUID(), r.Config, text) // A hash takes everything.
	return base64.StdEncoding.EncodeToString(h.Sum(nil))
}

// SignCreation returns what proves that the provider has begun to make a VM for a resource on a node, where no other VM had its VMID; empty if nothing is
// signed.
func (r Records) SignCreation(mg resource.Managed, vmid int, uuid, node string) string {
	return r.sign(mg, fmt.Sprintf("creation\n%d\n%s\n%s", vmid, strings.ToLower(uuid), node))
}

// VerifyCreation reports whether a signature proves the creation of a VM for a resource on a node.
func (r Records) VerifyCreation(mg resource.Managed, vmid int, uuid, node, signature string) bool {
	return signature != "" && hmac.Equal([]byte(signature), []byte(r.SignCreation(mg, vmid, uuid, node)))
}

// The annotations of a Machine that have the UUID of its VM, and what proves that the provider has begun to make that.
const (
	AnnotationUUID     = "proxmox.vitistack.io/uuid"
	AnnotationCreation = "proxmox.vitistack.io/creation-signature"
)

// AnnotationDevices says which device of PVE each disk and network of a Machine is.
const AnnotationDevices = "proxmox.vitistack.io/devices"

// IsCreating reports whether the annotations of a Machine prove that the provider is making a VM for it, which is in no pool yet.
func (r Records) IsCreating(mg resource.Managed, g proxmox.Guest) bool {
	a := mg.GetAnnotations()
	return g.Pool == "" && r.VerifyCreation(mg, g.VMID, a[AnnotationUUID], g.Node, a[AnnotationCreation])
}

// The annotations of a Backup that have its record and the signature of that. The record names tasks and a volume, of which none may be
// looked at that the provider has not begun itself.
const (
	AnnotationBackup          = "proxmox.vitistack.io/backup-record"
	AnnotationBackupSignature = "proxmox.vitistack.io/backup-record-signature"
)

// A BackupRecord is what the record of a Backup has of what it is about.
type BackupRecord struct {
	VMID   int    `json:"vmid"`
	UUID   string `json:"uuid"`
	Volume string `json:"volume"`
	Done   bool   `json:"done"`

	// Tenant whose VM it is, as was checked when the backup was made, or was proven to be the Backup's.
	Tenant string `json:"tenant"`
}

// The annotations of a Volume that have its record and the signature of that.
const (
	AnnotationVolume          = "proxmox.vitistack.io/volume-record"
	AnnotationVolumeSignature = "proxmox.vitistack.io/volume-record-signature"
)

// A VolumeRecord is what the record of a Volume has of what it is about.
type VolumeRecord struct {
	// VMID and UUID of the stub VM.
	VMID int    `json:"vmid"`
	UUID string `json:"uuid"`

	// Volume that is the disk.
	Volume string `json:"volume"`
}

// SignBackup returns the signature of the record of a Backup; empty if nothing is signed.
func (r Records) SignBackup(mg resource.Managed, record string) string {
	return r.sign(mg, AnnotationBackup+"\n"+record)
}

// SignVolume returns the signature of the record of a Volume; empty if nothing is signed.
func (r Records) SignVolume(mg resource.Managed, record string) string {
	return r.sign(mg, AnnotationVolume+"\n"+record)
}

// Volume returns what the record of a Volume is about, if the provider has written it with this provider configuration.
func (r Records) Volume(mg resource.Managed) (v VolumeRecord, signed bool) {
	if _, is := mg.(volume); !is || !r.read(mg, AnnotationVolume, AnnotationVolumeSignature, &v) {
		return VolumeRecord{}, false
	}
	return v, true
}

// read a record, if its signature holds.
func (r Records) read(mg resource.Managed, annotation, signature string, into any) bool {
	record, kept := mg.GetAnnotations()[annotation], mg.GetAnnotations()[signature]
	return kept != "" && hmac.Equal([]byte(kept), []byte(r.sign(mg, annotation+"\n"+record))) && json.Unmarshal([]byte(record), into) == nil
}

// Backup returns what the record of a Backup is about, if the provider has written it with this provider configuration.
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

// signatureOf is where the status of a resource has its signature; nil if it has none.
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
