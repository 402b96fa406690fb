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
// downloaded, or a template VM made from one.
//
// +proxmox:kind=Image,shortName=pimage
// +kubebuilder:printcolumn:name="REVISION",type="integer",JSONPath=".status.atProvider.revision"
// +kubebuilder:printcolumn:name="PROGRESS",type="integer",JSONPath=".status.atProvider.progress"
// +kubebuilder:printcolumn:name="VERIFIED",type="string",JSONPath=".status.conditions[?(@.type=='Verified')].status"
// +kubebuilder:printcolumn:name="FILE",type="string",JSONPath=".status.atProvider.file",priority=1

// ImageParameters describe an image from which Machines are made: a file that Proxmox
// VE downloads to storages, a template VM made from it, or both.
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

	// Content is the type of the file in Proxmox VE: import (a disk image), iso, or
	// vztmpl (a container template). Default: import. Cannot change. PVE: content.
	// +optional
	// +kubebuilder:validation:Enum=import;iso;vztmpl
	Content *ImageContent `json:"content,omitempty"`

	// FileName of the downloaded file without its extension, 1 to 100 letters, digits,
	// dots, hyphens and underscores. If the checksum is known, the provider adds its
	// first twelve digits, so that each revision has its own file. A file that already
	// has the name and was not made for this Image is never used or replaced. To adopt
	// such a file, set the annotation crossplane.io/external-name to its full name, such
	// as debian-13.qcow2. Default: the name of this resource, after its namespace and a
	// dot for a namespaced Image, or after the prefix of the tenant's files for a
	// cluster-scoped Image of a tenant. Cannot change. PVE: filename.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9][a-zA-Z0-9._-]*$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="fileName cannot change"
	FileName *string `json:"fileName,omitempty"`

	// Storages that the file is downloaded to, 1 to 16. They must be file storages (dir,
	// nfs, cifs, btrfs, cephfs) with the content type. A shared storage gets one file, a
	// local storage one file on each node.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=2
	// +kubebuilder:validation:items:MaxLength=100
	// +kubebuilder:validation:items:Pattern=`^[a-zA-Z][a-zA-Z0-9._-]*[a-zA-Z0-9]$`
	Storages []string `json:"storages,omitempty"`

	// StorageSelector chooses the storages by their properties instead of their names:
	// all storages that match and have the content type.
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

	// Template makes template VMs from the image, which Machines clone by templateRef. A
	// shared storage for disks gets one template, a local storage one template on each
	// node that has the image. These options apply when a template is created: a change
	// does not create another template.
	// +optional
	Template *ImageTemplate `json:"template,omitempty"`

	// Refresh checks for a newer image at the same URL. A new checksum makes a new
	// revision. Existing Machines keep the revision from which they were made.
	// +optional
	Refresh *ImageRefresh `json:"refresh,omitempty"`

	// Keep is the number of older revisions to keep in addition to the current one, 0 to
	// 100. A revision that is in use by a linked clone, or by a Machine that is being
	// made from it, is kept as well until it is no longer in use. Default: 1.
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

// ImageSource is the source of an image: url, oci, volume, or a Machine.
//
// +kubebuilder:validation:XValidation:rule="[has(self.url), has(self.oci), has(self.volume), has(self.machine) || has(self.machineRef) || has(self.machineSelector)].filter(s, s).size() == 1",message="an image has one source: set one of url, oci, volume and machine (or machineRef, machineSelector)"
// +kubebuilder:validation:XValidation:rule="has(self.url) || !has(self.checksum) && !has(self.checksumURL) && !has(self.decompression) && !has(self.format) && !has(self.insecureSkipTLSVerify)",message="checksum, checksumURL, decompression, format and insecureSkipTLSVerify need url"
// +kubebuilder:validation:XValidation:rule="!has(self.checksum) || !has(self.checksumURL)",message="set one of checksum and checksumURL"
// +kubebuilder:validation:XValidation:rule="has(self.url) == has(oldSelf.url) && has(self.oci) == has(oldSelf.oci) && has(self.volume) == has(oldSelf.volume)",message="the kind of source cannot change"
// +kubebuilder:validation:XValidation:rule="!has(self.url) || !has(oldSelf.url) || self.url == oldSelf.url || has(self.checksum) || has(self.checksumURL)",message="another url makes a new revision, which needs a checksum or checksumURL"
type ImageSource struct {
	// URL from which Proxmox VE downloads the file, http or https, up to 2048 characters.
	// Each node must be able to reach it, through the HTTP proxy in the cluster's options
	// if one is set. Redirects are followed. Anybody who can read this resource or PVE's
	// tasks can read credentials in the URL. PVE: download-url.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^https?://[^\s/?#]+(/\S*)?$`
	URL *string `json:"url,omitempty"`

	// Checksum of the downloaded file, before decompression, as algorithm and hexadecimal
	// digits: sha256:9f86d0…. Algorithms are md5, sha1, sha224, sha256, sha384 and
	// sha512. A file with another checksum is not kept. PVE: checksum-algorithm,
	// checksum.
	// +optional
	// +kubebuilder:validation:MaxLength=140
	// +kubebuilder:validation:Pattern=`^(md5:[0-9a-fA-F]{32}|sha1:[0-9a-fA-F]{40}|sha224:[0-9a-fA-F]{56}|sha256:[0-9a-fA-F]{64}|sha384:[0-9a-fA-F]{96}|sha512:[0-9a-fA-F]{128})$`
	Checksum *string `json:"checksum,omitempty"`

	// ChecksumURL is the URL of the list of checksums that a distribution publishes with
	// its images, such as SHA256SUMS or CHECKSUM, in the format of sha256sum and similar
	// tools, or in BSD format. The entry is found by the file name in url. A list with a
	// single digest without a name, such as a file disk.qcow2.sha256, applies to the file
	// of url, whatever its name. The provider reads the list by https, or by http, where
	// anybody on the network path can change it; up to 2048 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^https?://[^\s/?#@]+(/\S*)?$`
	ChecksumURL *string `json:"checksumURL,omitempty"`

	// Decompression of the file after its download: gz, lzo, zst or bz2; for
	// content iso only. PVE: compression.
	// +optional
	// +kubebuilder:validation:Enum=gz;lzo;zst;bz2
	Decompression *string `json:"decompression,omitempty"`

	// Format of the file, which is its extension in PVE: qcow2, raw, vmdk or ova for
	// content import, iso or img for iso, tar.gz, tar.xz or tar.zst for vztmpl. Default:
	// the extension in url; for import, qcow2 if the extension is .img, because
	// distributions use it for qcow2 images.
	// +optional
	// +kubebuilder:validation:Enum=qcow2;raw;vmdk;ova;iso;img;tar.gz;tar.xz;tar.zst
	Format *string `json:"format,omitempty"`

	// InsecureSkipTLSVerify makes PVE, and the provider for checksumURL, accept any
	// certificate. Default: false. PVE: verify-certificates.
	// +optional
	InsecureSkipTLSVerify *bool `json:"insecureSkipTLSVerify,omitempty"`

	// OCI is the reference of a container image in a registry with its tag, such as
	// docker.io/library/debian:trixie-slim; up to 512 characters. Each node pulls the
	// image, with the logins and certificates of that node, and stores it as a container
	// template with the extension tar: content must be vztmpl. It has no checksum and no
	// refresh. Cannot change: use another Image for another tag. PVE 9.1 and later:
	// oci-registry-pull reference.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^(([a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])(\.([a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9]))*(:[0-9]+)?/)?[a-z0-9]+(([._]|__|-*)[a-z0-9]+)*(/[a-z0-9]+(([._]|__|-*)[a-z0-9]+)*)*:[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127}$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="source.oci cannot change: create another Image for another tag"
	OCI *string `json:"oci,omitempty"`

	// Volume ID of a file that exists already, such as local:import/debian-13.qcow2; up
	// to 255 characters. The provider only checks that it exists, on every node that has
	// the storage, and never changes or deletes it.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^[a-zA-Z][a-zA-Z0-9._-]*[a-zA-Z0-9]:(import/[^/,]+\.(qcow2|raw|vmdk|ova)|iso/[^/,]+|vztmpl/[^/,]+)$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="source.volume cannot change"
	Volume *string `json:"volume,omitempty"`

	// Machine is the name of a Machine whose VM is copied to a template, in the same
	// namespace if this resource has one. The VM does not change. Its disks are copied in
	// their current state: stop the VM first to get a consistent copy.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Machine *string `json:"machine,omitempty"`

	// MachineRef references the Machine; the provider sets machine to its name.
	// +optional
	MachineRef *Reference `json:"machineRef,omitempty"`

	// MachineSelector selects the Machine by its labels. The provider sets machine to its
	// name, which then stays.
	// +optional
	MachineSelector *Selector `json:"machineSelector,omitempty"`
}

// ImageStorageSelector chooses storages. Fields that are not set do not limit the
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

// ImageTemplate describes the template VMs of an image. Options that are not set have
// the values of a new Machine.
type ImageTemplate struct {
	// Name of the template in Proxmox VE: a DNS name, 1 to 90 characters. The templates
	// on all nodes have this name. Default: the name of this resource, without the
	// characters that a DNS name cannot have. PVE: name.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=90
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?(\.[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?)*$`
	Name *string `json:"name,omitempty"`

	// Storage of the template's disks. Default: the provider config's default storage.
	// Linked clones stay on this storage; LVM without thin provisioning cannot hold
	// linked clones.
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

	// DiskFormat on file storage: raw, qcow2 or vmdk. Default: the default format of the
	// storage. Linked clones on file storage need qcow2 or vmdk.
	// +optional
	// +kubebuilder:validation:Enum=raw;qcow2;vmdk
	DiskFormat *string `json:"diskFormat,omitempty"`

	// Agent tells PVE that the QEMU guest agent runs in the guest. PVE: agent.
	// +optional
	Agent *bool `json:"agent,omitempty"`

	// CloudInit adds the drive with which PVE configures the guest at its first boot.
	// Default: true.
	// +optional
	CloudInit *bool `json:"cloudInit,omitempty"`

	// OSType lets PVE tune the VM for its guest system: linux, windows,
	// solaris, other, or one of PVE's own values. Default: linux. PVE: ostype.
	// +optional
	// +kubebuilder:validation:Enum=linux;windows;solaris;other;wxp;w2k;w2k3;w2k8;wvista;win7;win8;win10;win11;l24;l26
	OSType *string `json:"osType,omitempty"`

	// BIOS is the firmware: seabios or ovmf (UEFI), for which the template gets a disk
	// for the UEFI variables. PVE: bios, default seabios.
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

	// SerialConsole adds a serial port that is also the VM's display, as many cloud
	// images require. Default: false. PVE: serial0=socket, vga=serial0.
	// +optional
	SerialConsole *bool `json:"serialConsole,omitempty"`

	// Bridge of a network interface of the template. Default: no network interface.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9][a-zA-Z0-9_.-]*$`
	Bridge *string `json:"bridge,omitempty"`

	// Tags of the template, up to 32, each of lower-case letters, digits, _, -, + and
	// dots, up to 124 characters. Clones get these tags at creation. PVE: tags.
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

// ImageRefresh determines when the provider checks for a newer image.
type ImageRefresh struct {
	// Schedule in UTC: minute (0-59), hour (0-23), day of the month (1-31), month (1-12)
	// and day of the week (0-6, 0 is Sunday), each *, a number, a range, a list or steps
	// such as */2. If both days are restricted, a match of either is enough, as in cron.
	// "0 3 * * 1" is Monday at 3:00. A missed check is made up for.
	// +kubebuilder:validation:MinLength=9
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^[0-9*,/-]+( [0-9*,/-]+){4}$`
	Schedule string `json:"schedule"`
}

// ImageObservation is the observed state of an image.
type ImageObservation struct {
	// Revision from which new Machines are made: 1 for the first revision, one more for
	// each later revision. 0 while no revision is complete.
	// +optional
	Revision int32 `json:"revision,omitempty"`

	// Digest of that revision's file as it was downloaded, such as sha256:9f86d0…. It is
	// empty if no checksum is known.
	// +optional
	Digest string `json:"digest,omitempty"`

	// Size of the file in bytes.
	// +optional
	Size *int64 `json:"size,omitempty"`

	// File is the name of the file in PVE.
	// +optional
	File string `json:"file,omitempty"`

	// Progress of the running downloads, in percent: the lowest of them; 100 when all
	// have ended.
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

	// Revisions that exist, newest first, including the current one and one that is being
	// made.
	// +optional
	// +listType=map
	// +listMapKey=revision
	Revisions []ImageRevision `json:"revisions,omitempty"`

	// Annotations of this resource that the provider relies on, as it last found them. If
	// somebody removes one, the provider restores it from here.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`

	// LastRefresh is when the list of checksums was last read.
	// +optional
	LastRefresh *metav1.Time `json:"lastRefresh,omitempty"`

	// NextRefresh is when the list of checksums is read next.
	// +optional
	NextRefresh *metav1.Time `json:"nextRefresh,omitempty"`

	// Difference between the spec and Proxmox VE: what the next update changes, or would
	// change with managementPolicies ["Observe"].
	// +optional
	// +listType=map
	// +listMapKey=option
	Difference []OptionDifference `json:"difference,omitempty"`
}

// ImageReplica is a file of an image on a storage.
type ImageReplica struct {
	// Node that has the file; for a shared storage, the node that downloads it.
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

	// Ready is true if the file exists and is complete.
	Ready bool `json:"ready"`

	// Message is the reason why the file is not ready.
	// +optional
	Message string `json:"message,omitempty"`
}

// ImageTemplateObservation is a template VM of an image.
type ImageTemplateObservation struct {
	// Node that the template is on.
	Node string `json:"node"`

	// Storage of its disks.
	Storage string `json:"storage"`

	// Shared is true if every node can clone the template.
	// +optional
	Shared bool `json:"shared,omitempty"`

	// VMID of the template.
	// +optional
	VMID *int32 `json:"vmid,omitempty"`

	// Name of the template.
	// +optional
	Name string `json:"name,omitempty"`

	// Ready is true if the template can be cloned.
	Ready bool `json:"ready"`

	// Message is the reason why the template is not ready.
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

	// Created is when the provider began to make the revision.
	// +optional
	Created *metav1.Time `json:"created,omitempty"`

	// Ready is true if all of its files and templates exist.
	Ready bool `json:"ready"`

	// Replicas are its files on their storages. For the current revision, see replicas of
	// the status.
	// +optional
	// +listType=atomic
	Replicas []ImageReplica `json:"replicas,omitempty"`

	// Templates are its template VMs. For the current revision, see templates of the
	// status.
	// +optional
	// +listType=atomic
	Templates []ImageTemplateObservation `json:"templates,omitempty"`

	// UsedBy names the users of the revision, such as linked clones: up to 10.
	// +optional
	// +listType=atomic
	UsedBy []string `json:"usedBy,omitempty"`
}
