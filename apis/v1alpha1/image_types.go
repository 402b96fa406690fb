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

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// An Image is a disk image, an ISO image or a container template that Proxmox VE has
// downloaded, or a template VM made of one.
//
// +proxmox:kind=Image,shortName=pimage
// +kubebuilder:printcolumn:name="REVISION",type="integer",JSONPath=".status.atProvider.revision"
// +kubebuilder:printcolumn:name="PROGRESS",type="integer",JSONPath=".status.atProvider.progress"
// +kubebuilder:printcolumn:name="VERIFIED",type="string",JSONPath=".status.conditions[?(@.type=='Verified')].status"
// +kubebuilder:printcolumn:name="FILE",type="string",JSONPath=".status.atProvider.file",priority=1

// ImageParameters describe an image that Machines are made from: a file that
// Proxmox VE downloads onto storages, a template VM made of it, or both.
//
// +kubebuilder:validation:XValidation:rule="has(self.source.url) || has(self.source.oci) || !has(self.content) || self.content == 'import'",message="content is that of a downloaded file: it needs source.url or source.oci"
// +kubebuilder:validation:XValidation:rule="!has(self.source.oci) || has(self.content) && self.content == 'vztmpl'",message="source.oci needs content vztmpl: Proxmox VE makes container templates of OCI images, and nothing else"
// +kubebuilder:validation:XValidation:rule="!has(self.source.url) && !has(self.source.oci) || has(self.storages) != has(self.storageSelector)",message="a download needs storages or storageSelector, and not both"
// +kubebuilder:validation:XValidation:rule="has(self.source.url) || has(self.source.oci) || !has(self.storages) && !has(self.storageSelector) && !has(self.nodes) && !has(self.fileName)",message="storages, storageSelector, nodes and fileName say where a download goes: they need source.url or source.oci"
// +kubebuilder:validation:XValidation:rule="!has(self.source.decompression) || has(self.content) && self.content == 'iso'",message="source.decompression is for content iso only: Proxmox VE decompresses nothing else"
// +kubebuilder:validation:XValidation:rule="!has(self.template) || !has(self.content) || self.content == 'import'",message="a template is made of a disk image: content must be import"
// +kubebuilder:validation:XValidation:rule="has(self.template) || !has(self.source.machine) && !has(self.source.machineRef) && !has(self.source.machineSelector)",message="an image of a Machine is a template: set template, which may be empty"
// +kubebuilder:validation:XValidation:rule="!has(self.refresh) || has(self.source.checksumURL)",message="refresh needs source.checksumURL: nothing else reports that the file has changed"
// +kubebuilder:validation:XValidation:rule="!has(self.source.format) || (has(self.content) && self.content != 'import' ? (self.content == 'iso' ? self.source.format in ['iso', 'img'] : self.source.format.startsWith('tar')) : self.source.format in ['qcow2', 'raw', 'vmdk', 'ova'])",messageExpression="'source.format %s does not go with content %s'.format([self.source.format, has(self.content) ? self.content : 'import'])"
// +kubebuilder:validation:XValidation:rule="(has(self.content) ? self.content : 'import') == (has(oldSelf.content) ? oldSelf.content : 'import')",message="content cannot change"
// +kubebuilder:validation:XValidation:rule="has(self.fileName) == has(oldSelf.fileName)",message="fileName can be neither added nor removed"
type ImageParameters struct {
	// Source of the image.
	Source ImageSource `json:"source"`

	// Content is what the file is to Proxmox VE: import (a disk image), iso, or
	// vztmpl (a container template). Default: import. Cannot change. PVE: content.
	// +optional
	// +kubebuilder:validation:Enum=import;iso;vztmpl
	Content *ImageContent `json:"content,omitempty"`

	// FileName of the downloaded file without its extension, 1 to 100 letters,
	// digits, dots, hyphens and underscores. Where the checksum is known, its
	// first twelve digits are added, so that each revision has a file of its own.
	// A file that has the name already and was not made for this Image is never
	// used or replaced: to take it over, set the annotation
	// crossplane.io/external-name to its whole name, such as debian-13.qcow2.
	// Default: the name of this resource, with its namespace and a dot before it
	// if it has one, or with what its tenant's files begin with if it is
	// cluster-scoped and has a tenant. Cannot change. PVE: filename.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9][a-zA-Z0-9._-]*$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="fileName cannot change"
	FileName *string `json:"fileName,omitempty"`

	// Storages that the file is downloaded to, 1 to 16, each of files (dir, nfs,
	// cifs, btrfs, cephfs) and with the content type. A shared storage gets one
	// file, a local one a file on each node.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=2
	// +kubebuilder:validation:items:MaxLength=100
	// +kubebuilder:validation:items:Pattern=`^[a-zA-Z][a-zA-Z0-9._-]*[a-zA-Z0-9]$`
	Storages []string `json:"storages,omitempty"`

	// StorageSelector chooses the storages by what they are, in place of their
	// names: all that have the content type and match.
	// +optional
	StorageSelector *ImageStorageSelector `json:"storageSelector,omitempty"`

	// Nodes that get a file on their local storages, 1 to 64. Default: every node
	// that has the storage.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?$`
	Nodes []string `json:"nodes,omitempty"`

	// Template makes template VMs of the image, which Machines clone by
	// templateRef. A shared storage of disks gets one, a local one a template on
	// each node that has the image. What it says counts when a template is made:
	// a change makes no other.
	// +optional
	Template *ImageTemplate `json:"template,omitempty"`

	// Refresh looks for a newer image at the same URL. A new checksum makes a new
	// revision; Machines keep the revision that they were made from.
	// +optional
	Refresh *ImageRefresh `json:"refresh,omitempty"`

	// Keep is how many older revisions are kept beside the present one, 0 to 100.
	// One in use, by a linked clone or by a Machine that is being made from it, is
	// kept besides, until it is not. Default: 1.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	Keep *int32 `json:"keep,omitempty"`
}

// ImageContent is a content type of a storage.
type ImageContent string

// The content types of images.
const (
	// ImageContentImport is a disk image.
	ImageContentImport ImageContent = "import"
	// ImageContentISO is an ISO image.
	ImageContentISO ImageContent = "iso"
	// ImageContentContainer is a container template.
	ImageContentContainer ImageContent = "vztmpl"
)

// ImageSource is where an image comes from: url, oci, volume, or another Machine.
//
// +kubebuilder:validation:XValidation:rule="[has(self.url), has(self.oci), has(self.volume), has(self.machine) || has(self.machineRef) || has(self.machineSelector)].filter(s, s).size() == 1",message="an image has one source: set one of url, oci, volume and machine (or machineRef, machineSelector)"
// +kubebuilder:validation:XValidation:rule="has(self.url) || !has(self.checksum) && !has(self.checksumURL) && !has(self.decompression) && !has(self.format) && !has(self.insecureSkipTLSVerify)",message="checksum, checksumURL, decompression, format and insecureSkipTLSVerify need url"
// +kubebuilder:validation:XValidation:rule="!has(self.checksum) || !has(self.checksumURL)",message="set one of checksum and checksumURL"
// +kubebuilder:validation:XValidation:rule="has(self.url) == has(oldSelf.url) && has(self.oci) == has(oldSelf.oci) && has(self.volume) == has(oldSelf.volume)",message="the kind of source cannot change"
// +kubebuilder:validation:XValidation:rule="!has(self.url) || !has(oldSelf.url) || self.url == oldSelf.url || has(self.checksum) || has(self.checksumURL)",message="another url makes a new revision, which needs a checksum or checksumURL"
type ImageSource struct {
	// URL that Proxmox VE downloads the file from, http or https, up to 2048
	// characters; each node has to reach it, by the HTTP proxy of the
	// cluster's options if one is set there. Redirects are followed. Credentials
	// in it can be read by everybody who reads this resource, or PVE's tasks. PVE:
	// download-url.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^https?://[^\s/?#]+(/\S*)?$`
	URL *string `json:"url,omitempty"`

	// Checksum of the file as it is downloaded, compressed or not, as algorithm
	// and hexadecimal digits: sha256:9f86d0…. Algorithms are md5, sha1, sha224,
	// sha256, sha384 and sha512. A file with another checksum is not kept. PVE:
	// checksum-algorithm, checksum.
	// +optional
	// +kubebuilder:validation:MaxLength=140
	// +kubebuilder:validation:Pattern=`^(md5:[0-9a-fA-F]{32}|sha1:[0-9a-fA-F]{40}|sha224:[0-9a-fA-F]{56}|sha256:[0-9a-fA-F]{64}|sha384:[0-9a-fA-F]{96}|sha512:[0-9a-fA-F]{128})$`
	Checksum *string `json:"checksum,omitempty"`

	// ChecksumURL is the list of checksums that a distribution publishes beside
	// its images, such as SHA256SUMS or CHECKSUM: the lines of sha256sum and its
	// siblings, or of BSD's form. The entry is found by the file name of url. A
	// list of one digest without a name, such as a file disk.qcow2.sha256, is for
	// the file of url, whatever its name. The provider reads the list: https, or
	// http, which anybody on the way can change; up to 2048 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^https?://[^\s/?#@]+(/\S*)?$`
	ChecksumURL *string `json:"checksumURL,omitempty"`

	// Decompression of the file after its download: gz, lzo, zst or bz2; for
	// content iso only. PVE: compression.
	// +optional
	// +kubebuilder:validation:Enum=gz;lzo;zst;bz2
	Decompression *string `json:"decompression,omitempty"`

	// Format of the file, which is its extension in PVE: qcow2, raw, vmdk or ova
	// for content import, iso or img for iso, tar.gz, tar.xz or tar.zst for
	// vztmpl. Default: the extension in url; for import qcow2 where that is .img,
	// as distributions name their qcow2 images.
	// +optional
	// +kubebuilder:validation:Enum=qcow2;raw;vmdk;ova;iso;img;tar.gz;tar.xz;tar.zst
	Format *string `json:"format,omitempty"`

	// InsecureSkipTLSVerify has PVE, and the provider for checksumURL, accept any
	// certificate. Default: false. PVE: verify-certificates.
	// +optional
	InsecureSkipTLSVerify *bool `json:"insecureSkipTLSVerify,omitempty"`

	// OCI is the reference of a container image in a registry with its tag, such as
	// docker.io/library/debian:trixie-slim; up to 512 characters. Each node pulls it,
	// with the logins and certificates that the node itself has, and keeps it as a
	// container template with the extension tar: content must be vztmpl. There is no
	// checksum of it, and no refresh. Cannot change: another tag is another Image. PVE
	// 9.1 and later: oci-registry-pull reference.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^(([a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])(\.([a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9]))*(:[0-9]+)?/)?[a-z0-9]+(([._]|__|-*)[a-z0-9]+)*(/[a-z0-9]+(([._]|__|-*)[a-z0-9]+)*)*:[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127}$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="source.oci cannot change: create another Image for another tag"
	OCI *string `json:"oci,omitempty"`

	// Volume ID of a file that exists already, such as
	// local:import/debian-13.qcow2; up to 255 characters. It is only looked for,
	// on every node that has the storage, and never changed or deleted.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^[a-zA-Z][a-zA-Z0-9._-]*[a-zA-Z0-9]:(import/[^/,]+\.(qcow2|raw|vmdk|ova)|iso/[^/,]+|vztmpl/[^/,]+)$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="source.volume cannot change"
	Volume *string `json:"volume,omitempty"`

	// Machine is the name of a Machine (of the same namespace, where there is
	// one) whose VM is copied to a template. The VM stays as it is; its disks are
	// copied in the state in which they are, so stop it before for one that is
	// consistent.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Machine *string `json:"machine,omitempty"`

	// MachineRef references the Machine; its name is put into machine.
	// +optional
	MachineRef *Reference `json:"machineRef,omitempty"`

	// MachineSelector selects the Machine by its labels; its name is put into
	// machine and stays there.
	// +optional
	MachineSelector *Selector `json:"machineSelector,omitempty"`
}

// ImageStorageSelector chooses storages. What is not set does not limit the
// choice.
//
// +kubebuilder:validation:MinProperties=1
type ImageStorageSelector struct {
	// Shared chooses shared storages (true) or local ones (false).
	// +optional
	Shared *bool `json:"shared,omitempty"`

	// Types of the storages, up to 8. PVE: type.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:Enum=dir;nfs;cifs;btrfs;cephfs;glusterfs
	Types []string `json:"types,omitempty"`
}

// ImageTemplate describes the template VMs of an image. Options that are left out
// are those of a new Machine.
type ImageTemplate struct {
	// Name of the template in Proxmox VE: a DNS name, 1 to 90 characters. The
	// templates of all nodes have it. Default: the name of this resource, without
	// what a DNS name cannot have. PVE: name.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=90
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?(\.[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?)*$`
	Name *string `json:"name,omitempty"`

	// Storage of the template's disks. Default: the provider config's default
	// storage. A linked clone stays on it; LVM without thin provisioning cannot
	// hold linked clones.
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^[a-zA-Z][a-zA-Z0-9._-]*[a-zA-Z0-9]$`
	Storage *string `json:"storage,omitempty"`

	// CPU topology, model and limits.
	// +optional
	CPU *MachineCPU `json:"cpu,omitempty"`

	// Memory in bytes, as a Kubernetes quantity, 64Mi to 16Ti in whole MiB. PVE:
	// memory (MiB), default 512 MiB.
	// +optional
	// +kubebuilder:validation:XValidation:rule="isQuantity(string(self)) && quantity(string(self)).asApproximateFloat() / 1048576.0 >= 64.0 && quantity(string(self)).asApproximateFloat() / 1048576.0 <= 16777216.0 && double(int(quantity(string(self)).asApproximateFloat() / 1048576.0)) == quantity(string(self)).asApproximateFloat() / 1048576.0",messageExpression="'memory %s is not a whole number of MiB in the range 64Mi to 16Ti: write it with Mi, Gi or Ti, such as 4Gi'.format([self])"
	Memory *resource.Quantity `json:"memory,omitempty"`

	// DiskType is the bus of the image's disk: ide, sata, scsi or virtio.
	// Default: scsi.
	// +optional
	// +kubebuilder:validation:Enum=ide;sata;scsi;virtio
	DiskType *string `json:"diskType,omitempty"`

	// DiskFormat on file storage: raw, qcow2 or vmdk. Default: that of the
	// storage; linked clones on file storage need qcow2 or vmdk.
	// +optional
	// +kubebuilder:validation:Enum=raw;qcow2;vmdk
	DiskFormat *string `json:"diskFormat,omitempty"`

	// Agent tells PVE that the QEMU guest agent runs in the guest. PVE: agent.
	// +optional
	Agent *bool `json:"agent,omitempty"`

	// CloudInit adds the drive by which PVE configures the guest at its first
	// boot. Default: true.
	// +optional
	CloudInit *bool `json:"cloudInit,omitempty"`

	// OSType lets PVE tune the VM for its guest system: linux, windows,
	// solaris, other, or one of PVE's own values. Default: linux. PVE: ostype.
	// +optional
	// +kubebuilder:validation:Enum=linux;windows;solaris;other;wxp;w2k;w2k3;w2k8;wvista;win7;win8;win10;win11;l24;l26
	OSType *string `json:"osType,omitempty"`

	// BIOS is the firmware: seabios or ovmf (UEFI), which gets a disk for its
	// variables. PVE: bios, default seabios.
	// +optional
	// +kubebuilder:validation:Enum=seabios;ovmf
	BIOS *string `json:"bios,omitempty"`

	// MachineType is the QEMU machine: pc, q35, virt, or a version of them such
	// as pc-q35-9.0. PVE: machine type=, default pc.
	// +optional
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:Pattern=`^(pc|pc(-i440fx)?-\d+(\.\d+)+(\+pve\d+)?(\.pxe)?|q35|pc-q35-\d+(\.\d+)+(\+pve\d+)?(\.pxe)?|virt(-\d+(\.\d+)+)?(\+pve\d+)?)$`
	MachineType *string `json:"machineType,omitempty"`

	// SCSIController is the model of the controller of scsi disks. Default:
	// virtio-scsi-single. PVE: scsihw.
	// +optional
	// +kubebuilder:validation:Enum=lsi;lsi53c810;virtio-scsi-pci;virtio-scsi-single;megasas;pvscsi
	SCSIController *string `json:"scsiController,omitempty"`

	// SerialConsole adds a serial port that is the VM's display too, as many
	// cloud images need. Default: false. PVE: serial0=socket, vga=serial0.
	// +optional
	SerialConsole *bool `json:"serialConsole,omitempty"`

	// Bridge of a network interface of the template. Default: it has none.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9][a-zA-Z0-9_.-]*$`
	Bridge *string `json:"bridge,omitempty"`

	// Tags of the template, up to 32, each of lower-case letters, digits, _, -, +
	// and dots, up to 124 characters. Clones start with them. PVE: tags.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=124
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9_][a-z0-9_+.-]*$`
	Tags []string `json:"tags,omitempty"`

	// Description is the template's note in PVE, up to 4000 characters of
	// Markdown. PVE: description.
	// +optional
	// +kubebuilder:validation:MaxLength=4000
	Description *string `json:"description,omitempty"`

	// Pool of Proxmox VE that the template is a member of. PVE: pool.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+){0,2}$`
	Pool *string `json:"pool,omitempty"`
}

// ImageRefresh says when a newer image is looked for.
type ImageRefresh struct {
	// Schedule in UTC: minute (0-59), hour (0-23), day of the month (1-31), month
	// (1-12) and day of the week (0-6, 0 is Sunday), each *, a number, a range, a
	// list or steps such as */2. If both days are restricted, either will do, as in
	// cron. "0 3 * * 1" is Monday at 3:00. One that was missed is made up for.
	// +kubebuilder:validation:MinLength=9
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^[0-9*,/-]+( [0-9*,/-]+){4}$`
	Schedule string `json:"schedule"`
}

// ImageObservation is what is seen of an image.
type ImageObservation struct {
	// Revision that new Machines are made from: 1 for the first, one more for each
	// later one. 0 while there is none that is complete.
	// +optional
	Revision int32 `json:"revision,omitempty"`

	// Digest of that revision's file as it was downloaded, such as sha256:9f86d0….
	// Empty if no checksum is known.
	// +optional
	Digest string `json:"digest,omitempty"`

	// Size of the file in bytes.
	// +optional
	Size *int64 `json:"size,omitempty"`

	// File is the name of the file in PVE.
	// +optional
	File string `json:"file,omitempty"`

	// Progress of the downloads that are under way, in percent, the least of them;
	// 100 when all have ended.
	// +optional
	Progress *int32 `json:"progress,omitempty"`

	// Replicas are the files of the revision on their storages.
	// +optional
	// +listType=atomic
	Replicas []ImageReplica `json:"replicas,omitempty"`

	// Templates are the template VMs of the revision.
	// +optional
	// +listType=atomic
	Templates []ImageTemplateObservation `json:"templates,omitempty"`

	// Revisions that exist, newest first, the present one and one that is being
	// made among them.
	// +optional
	// +listType=map
	// +listMapKey=revision
	Revisions []ImageRevision `json:"revisions,omitempty"`

	// Annotations of this resource that the provider relies on, as it found them
	// last. Those that somebody takes away are put back from here.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`

	// LastRefresh is when the list of checksums was read last.
	// +optional
	LastRefresh *metav1.Time `json:"lastRefresh,omitempty"`

	// NextRefresh is when it is read next.
	// +optional
	NextRefresh *metav1.Time `json:"nextRefresh,omitempty"`

	// Difference between the spec and what is in Proxmox VE: what the next update
	// does, or with managementPolicies ["Observe"] what it would do.
	// +optional
	// +listType=map
	// +listMapKey=option
	Difference []OptionDifference `json:"difference,omitempty"`
}

// ImageReplica is a file of an image on a storage.
type ImageReplica struct {
	// Node that has the file; for a shared storage the one that downloads it.
	Node string `json:"node"`

	// Storage that has the file.
	Storage string `json:"storage"`

	// Shared is true if every node of the storage has the file.
	// +optional
	Shared bool `json:"shared,omitempty"`

	// Volume ID of the file, such as local:import/debian-13-0123456789ab.qcow2.
	Volume string `json:"volume"`

	// Progress of the download in percent, while it is known.
	// +optional
	Progress *int32 `json:"progress,omitempty"`

	// Verified is true if PVE has compared the file with the checksum.
	// +optional
	Verified bool `json:"verified,omitempty"`

	// Ready is true if the file is there, whole.
	Ready bool `json:"ready"`

	// Message is why it is not ready.
	// +optional
	Message string `json:"message,omitempty"`
}

// ImageTemplateObservation is a template VM of an image.
type ImageTemplateObservation struct {
	// Node that the template is on.
	Node string `json:"node"`

	// Storage of its disks.
	Storage string `json:"storage"`

	// Shared is true if every node can make clones of it.
	// +optional
	Shared bool `json:"shared,omitempty"`

	// VMID of the template.
	// +optional
	VMID *int32 `json:"vmid,omitempty"`

	// Name of the template.
	// +optional
	Name string `json:"name,omitempty"`

	// Ready is true if clones can be made of it.
	Ready bool `json:"ready"`

	// Message is why it is not ready.
	// +optional
	Message string `json:"message,omitempty"`
}

// ImageRevision is one revision of an image.
type ImageRevision struct {
	// Revision number.
	Revision int32 `json:"revision"`

	// Digest of the file, if its checksum is known.
	// +optional
	Digest string `json:"digest,omitempty"`

	// File is the name of the file in PVE.
	// +optional
	File string `json:"file,omitempty"`

	// Created is when the revision was begun.
	// +optional
	Created *metav1.Time `json:"created,omitempty"`

	// Ready is true if all of its files and templates are there.
	Ready bool `json:"ready"`

	// Replicas are its files on their storages. Those of the present revision are in
	// replicas of the status.
	// +optional
	// +listType=atomic
	Replicas []ImageReplica `json:"replicas,omitempty"`

	// Templates are its template VMs. Those of the present revision are in templates
	// of the status.
	// +optional
	// +listType=atomic
	Templates []ImageTemplateObservation `json:"templates,omitempty"`

	// UsedBy names what needs the revision, such as linked clones: up to 10.
	// +optional
	// +listType=atomic
	UsedBy []string `json:"usedBy,omitempty"`
}
