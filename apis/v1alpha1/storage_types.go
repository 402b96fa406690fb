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

// A Storage is a storage of a Proxmox VE cluster, as its nodes access it.
//
// +proxmox:kind=Storage,shortName=pvestorage
// +kubebuilder:printcolumn:name="STORAGE",type="string",JSONPath=".status.atProvider.name"
// +kubebuilder:printcolumn:name="TYPE",type="string",JSONPath=".status.atProvider.type"
// +kubebuilder:printcolumn:name="AVAILABLE",type="string",JSONPath=".status.conditions[?(@.type=='Available')].status"

// StorageParameters describe a storage: its type, by one of the blocks that are named
// after PVE's types, and the content that it may hold. Only the fields that are set
// are managed.
//
// +kubebuilder:validation:XValidation:rule="[has(self.dir), has(self.nfs), has(self.cifs), has(self.lvm), has(self.lvmthin), has(self.zfspool), has(self.btrfs), has(self.rbd), has(self.cephfs), has(self.iscsi), has(self.pbs), has(self.esxi)].filter(t, t).size() == 1",message="a Storage is of one type: set exactly one of dir, nfs, cifs, lvm, lvmthin, zfspool, btrfs, rbd, cephfs, iscsi, pbs and esxi"
// +kubebuilder:validation:XValidation:rule="[has(self.dir), has(self.nfs), has(self.cifs), has(self.lvm), has(self.lvmthin), has(self.zfspool), has(self.btrfs), has(self.rbd), has(self.cephfs), has(self.iscsi), has(self.pbs), has(self.esxi)] == [has(oldSelf.dir), has(oldSelf.nfs), has(oldSelf.cifs), has(oldSelf.lvm), has(oldSelf.lvmthin), has(oldSelf.zfspool), has(oldSelf.btrfs), has(oldSelf.rbd), has(oldSelf.cephfs), has(oldSelf.iscsi), has(oldSelf.pbs), has(oldSelf.esxi)]",message="the type of a Storage cannot change: delete it and create it again"
// +kubebuilder:validation:XValidation:rule="[has(self.name), has(oldSelf.name)].filter(h, h).size() != 2 || self.name == oldSelf.name",message="name cannot change: a storage cannot be renamed"
// +kubebuilder:validation:XValidation:rule="!has(self.shared) || has(self.dir) || has(self.lvm) || has(self.btrfs) || has(self.esxi)",message="shared is for dir, lvm, btrfs and esxi: Proxmox VE knows it of the others"
// +kubebuilder:validation:XValidation:rule="!has(self.preallocation) || has(self.dir) || has(self.nfs) || has(self.cifs) || has(self.btrfs)",message="preallocation is for dir, nfs, cifs and btrfs"
// +kubebuilder:validation:XValidation:rule="!(has(self.pruneBackups) || has(self.maxProtectedBackups)) || has(self.dir) || has(self.nfs) || has(self.cifs) || has(self.btrfs) || has(self.cephfs) || has(self.pbs)",message="pruneBackups and maxProtectedBackups are for storages that can hold backups: dir, nfs, cifs, btrfs, cephfs and pbs"
// +kubebuilder:validation:XValidation:rule="!has(self.bandwidth) || !(has(self.btrfs) || has(self.pbs) || has(self.esxi))",message="bandwidth is not for btrfs, pbs and esxi"
type StorageParameters struct {
	// Name of the storage: letters, digits, hyphens, underscores and dots, 2 to
	// 100 characters, the first a letter and the last a letter or a digit.
	// Default: the name of this resource. Cannot change (PVE: storage).
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^[a-zA-Z][a-zA-Z0-9._-]*[a-zA-Z0-9]$`
	Name *string `json:"name,omitempty"`

	// Nodes that have the storage. An empty list, which is the default of Proxmox VE,
	// means all nodes (PVE: nodes).
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	Nodes []string `json:"nodes,omitzero"`

	// Content that the storage may hold, as far as its type supports it; none alone for
	// nothing. An empty list resets it to the default of the type (PVE: content).
	// +optional
	// +listType=set
	// +kubebuilder:validation:items:Enum=images;rootdir;vztmpl;iso;backup;snippets;import;none
	Content []string `json:"content,omitzero"`

	// Disabled makes Proxmox VE stop using the storage. Default of Proxmox VE: false
	// (PVE: disable).
	// +optional
	Disabled *bool `json:"disabled,omitempty"`

	// Shared declares that all nodes have the same content there, for types for which
	// Proxmox VE cannot know that. It does not make anything shared. Default of Proxmox
	// VE: false (PVE: shared).
	// +optional
	Shared *bool `json:"shared,omitempty"`

	// Preallocation of raw and qcow2 images. Default of Proxmox VE: metadata (PVE:
	// preallocation).
	// +optional
	// +kubebuilder:validation:Enum=off;metadata;falloc;full
	Preallocation *string `json:"preallocation,omitempty"`

	// MaxProtectedBackups of each guest; -1 for any number. Default of Proxmox VE: 5, or
	// any number for users with Datastore.Allocate (PVE: max-protected-backups).
	// +optional
	// +kubebuilder:validation:Minimum=-1
	MaxProtectedBackups *int32 `json:"maxProtectedBackups,omitempty"`

	// PruneBackups determines which backups of each guest are kept when others are pruned
	// (PVE: prune-backups).
	// +optional
	PruneBackups *StoragePruneBackups `json:"pruneBackups,omitempty"`

	// Bandwidth limits for this storage (PVE: bwlimit).
	// +optional
	Bandwidth *BandwidthLimits `json:"bandwidth,omitempty"`

	// Dir is a directory on each node.
	// +optional
	Dir *StorageDir `json:"dir,omitempty"`

	// NFS is an export of an NFS server.
	// +optional
	NFS *StorageNFS `json:"nfs,omitempty"`

	// CIFS is a share of an SMB server.
	// +optional
	CIFS *StorageCIFS `json:"cifs,omitempty"`

	// LVM is a volume group.
	// +optional
	LVM *StorageLVM `json:"lvm,omitempty"`

	// LVMThin is a thin pool of a volume group.
	// +optional
	LVMThin *StorageLVMThin `json:"lvmthin,omitempty"`

	// ZFSPool is a ZFS pool or a dataset of one.
	// +optional
	ZFSPool *StorageZFSPool `json:"zfspool,omitempty"`

	// BTRFS is a directory on a BTRFS file system.
	// +optional
	BTRFS *StorageBTRFS `json:"btrfs,omitempty"`

	// RBD is a pool of RADOS block devices in a Ceph cluster.
	// +optional
	RBD *StorageRBD `json:"rbd,omitempty"`

	// CephFS is a CephFS file system.
	// +optional
	CephFS *StorageCephFS `json:"cephfs,omitempty"`

	// ISCSI is a target of an iSCSI portal.
	// +optional
	ISCSI *StorageISCSI `json:"iscsi,omitempty"`

	// PBS is a datastore of a Proxmox Backup Server.
	// +optional
	PBS *StoragePBS `json:"pbs,omitempty"`

	// ESXi is an ESXi host or a vCenter, from which VMs are imported.
	// +optional
	ESXi *StorageESXi `json:"esxi,omitempty"`
}

// StorageDir is a directory on each node.
type StorageDir struct {
	// Path of the directory: absolute. Cannot change (PVE: path).
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:Pattern=`^/[^;()]+$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="path cannot change: delete the Storage and create it again"
	Path string `json:"path"`

	// Mountpoint declares that something else mounts the file system of the directory:
	// yes, no, or the path where it is mounted. The storage is not available while
	// nothing is mounted there. Empty resets it. Default of Proxmox VE: no (PVE:
	// is_mountpoint).
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Mountpoint *string `json:"mountpoint,omitempty"`

	// CreateBasePath creates the directory if it is missing. Default of Proxmox
	// VE: true (PVE: create-base-path).
	// +optional
	CreateBasePath *bool `json:"createBasePath,omitempty"`

	// CreateSubdirs creates the directories for each content type below it. Default of
	// Proxmox VE: true (PVE: create-subdirs).
	// +optional
	CreateSubdirs *bool `json:"createSubdirs,omitempty"`
}

// StorageNFS is an export of an NFS server.
type StorageNFS struct {
	// Server by its name or IP address (PVE: server).
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="server cannot change: delete the Storage and create it again"
	Server string `json:"server"`

	// Export is the path on the server. Cannot change (PVE: export).
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:Pattern=`^/[^;()]+$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="export cannot change: delete the Storage and create it again"
	Export string `json:"export"`

	// Options of the mount, separated by commas, such as vers=4.2. Empty removes
	// them (PVE: options).
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Options *string `json:"options,omitempty"`
}

// StorageCIFS is a share of an SMB server.
type StorageCIFS struct {
	// Server by its name or IP address (PVE: server).
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="server cannot change: delete the Storage and create it again"
	Server string `json:"server"`

	// Share on the server. Cannot change (PVE: share).
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="share cannot change: delete the Storage and create it again"
	Share string `json:"share"`

	// Subdir of the share to mount: an absolute path. Empty removes it (PVE:
	// subdir).
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Subdir *string `json:"subdir,omitempty"`

	// Username on the server. Empty resets it. Default of Proxmox VE: guest (PVE:
	// username).
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Username *string `json:"username,omitempty"`

	// Domain of the user. Empty removes it (PVE: domain).
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Domain *string `json:"domain,omitempty"`

	// PasswordSecretRef is the key of a Secret with the password of the user (PVE:
	// password).
	// +optional
	PasswordSecretRef *SecretKeyReference `json:"passwordSecretRef,omitempty"`

	// SMBVersion of the protocol. Default of Proxmox VE: default (PVE:
	// smbversion).
	// +optional
	// +kubebuilder:validation:Enum=default;"2.0";"2.1";"3";"3.0";"3.11"
	SMBVersion *string `json:"smbVersion,omitempty"`

	// Options of the mount, separated by commas. Empty removes them (PVE:
	// options).
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Options *string `json:"options,omitempty"`
}

// StorageLVM is a volume group.
type StorageLVM struct {
	// VolumeGroup by its name, which must exist unless base is set. Cannot change (PVE:
	// vgname).
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="volumeGroup cannot change: delete the Storage and create it again"
	VolumeGroup string `json:"volumeGroup"`

	// Base is a volume of another storage, such as an iSCSI LUN, on which the
	// volume group is created. Cannot change (PVE: base).
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="base cannot change: delete the Storage and create it again"
	Base *string `json:"base,omitempty"`

	// SafeRemove overwrites volumes with zeros when they are removed. Default of
	// Proxmox VE: false (PVE: saferemove).
	// +optional
	SafeRemove *bool `json:"safeRemove,omitempty"`

	// SafeRemoveThroughput is the maximum speed of overwriting, in bytes per second, such
	// as "-10485760" for 10 MiB/s. Empty resets it (PVE: saferemove_throughput).
	// +optional
	// +kubebuilder:validation:MaxLength=32
	SafeRemoveThroughput *string `json:"safeRemoveThroughput,omitempty"`

	// TaggedOnly lists only logical volumes that are tagged with pve-vm-ID.
	// Default of Proxmox VE: false (PVE: tagged_only).
	// +optional
	TaggedOnly *bool `json:"taggedOnly,omitempty"`
}

// StorageLVMThin is a thin pool of a volume group.
type StorageLVMThin struct {
	// VolumeGroup by its name. Cannot change (PVE: vgname).
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="volumeGroup cannot change: delete the Storage and create it again"
	VolumeGroup string `json:"volumeGroup"`

	// ThinPool by its name. Cannot change (PVE: thinpool).
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="thinPool cannot change: delete the Storage and create it again"
	ThinPool string `json:"thinPool"`
}

// StorageZFSPool is a ZFS pool or a dataset of one.
type StorageZFSPool struct {
	// Pool or dataset, such as rpool/data. Cannot change (PVE: pool).
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="pool cannot change: delete the Storage and create it again"
	Pool string `json:"pool"`

	// BlockSize of new volumes, a power of two such as 16k. Empty resets it (PVE:
	// blocksize).
	// +optional
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^([0-9]+[kKmM]?)?$`
	BlockSize *string `json:"blockSize,omitempty"`

	// Sparse allocates space as it is written. Default of Proxmox VE: false (PVE:
	// sparse).
	// +optional
	Sparse *bool `json:"sparse,omitempty"`

	// Mountpoint of the dataset, if it is not the default one. Empty resets it
	// (PVE: mountpoint).
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Mountpoint *string `json:"mountpoint,omitempty"`
}

// StorageBTRFS is a directory on a BTRFS file system.
type StorageBTRFS struct {
	// Path of the directory: absolute. Cannot change (PVE: path).
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:Pattern=`^/[^;()]+$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="path cannot change: delete the Storage and create it again"
	Path string `json:"path"`

	// Mountpoint works like mountpoint of dir (PVE: is_mountpoint).
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Mountpoint *string `json:"mountpoint,omitempty"`

	// NoCOW turns off copy-on-write, and with it checksums, for raw images. Default of
	// Proxmox VE: false (PVE: nocow).
	// +optional
	NoCOW *bool `json:"noCOW,omitempty"`
}

// StorageRBD is a pool of RADOS block devices in a Ceph cluster.
type StorageRBD struct {
	// Pool by its name. Default of Proxmox VE: rbd (PVE: pool).
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Pool *string `json:"pool,omitempty"`

	// DataPool for the data, if it is not the same pool, as with erasure coding. Empty
	// removes it (PVE: data-pool).
	// +optional
	// +kubebuilder:validation:MaxLength=256
	DataPool *string `json:"dataPool,omitempty"`

	// Namespace in the pool. Empty removes it (PVE: namespace).
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Namespace *string `json:"namespace,omitempty"`

	// Monitors are the addresses of the monitors of an external Ceph cluster. Do not set
	// them for the Ceph cluster of the nodes themselves (PVE: monhost).
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	Monitors []string `json:"monitors,omitzero"`

	// Username without the prefix "client.". Empty resets it. Default of Proxmox VE:
	// admin (PVE: username).
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Username *string `json:"username,omitempty"`

	// KeyringSecretRef is the key of a Secret with the keyring of the user, for an
	// external Ceph cluster (PVE: keyring).
	// +optional
	KeyringSecretRef *SecretKeyReference `json:"keyringSecretRef,omitempty"`

	// KRBD uses the kernel module instead of librbd. Containers need it. Default of
	// Proxmox VE: false (PVE: krbd).
	// +optional
	KRBD *bool `json:"krbd,omitempty"`
}

// StorageCephFS is a CephFS file system.
type StorageCephFS struct {
	// FSName is the name of the file system. Empty resets it (PVE: fs-name).
	// +optional
	// +kubebuilder:validation:MaxLength=256
	FSName *string `json:"fsName,omitempty"`

	// Subdir of the file system to mount: an absolute path. Empty removes it (PVE:
	// subdir).
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Subdir *string `json:"subdir,omitempty"`

	// Monitors are like monitors of rbd (PVE: monhost).
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	Monitors []string `json:"monitors,omitzero"`

	// Username without the prefix "client.". Empty resets it. Default of Proxmox VE:
	// admin (PVE: username).
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Username *string `json:"username,omitempty"`

	// KeyringSecretRef is the key of a Secret with the secret key of the user, for an
	// external Ceph cluster (PVE: keyring).
	// +optional
	KeyringSecretRef *SecretKeyReference `json:"keyringSecretRef,omitempty"`

	// FUSE mounts with FUSE instead of the kernel client. Default of Proxmox VE: false
	// (PVE: fuse).
	// +optional
	FUSE *bool `json:"fuse,omitempty"`

	// Options of the mount, separated by commas. Empty removes them (PVE:
	// options).
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Options *string `json:"options,omitempty"`
}

// StorageISCSI is a target of an iSCSI portal.
type StorageISCSI struct {
	// Portal by its name or IP address, with a port if it is not the default port. Cannot
	// change (PVE: portal).
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="portal cannot change: delete the Storage and create it again"
	Portal string `json:"portal"`

	// Target by its IQN. Cannot change (PVE: target).
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="target cannot change: delete the Storage and create it again"
	Target string `json:"target"`
}

// StoragePBS is a datastore of a Proxmox Backup Server.
type StoragePBS struct {
	// Server by its name or IP address (PVE: server).
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="server cannot change: delete the Storage and create it again"
	Server string `json:"server"`

	// Datastore by its name. Cannot change (PVE: datastore).
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="datastore cannot change: delete the Storage and create it again"
	Datastore string `json:"datastore"`

	// Namespace in the datastore, such as a/b. Empty removes it (PVE: namespace).
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Namespace *string `json:"namespace,omitempty"`

	// Port of the server, 1 to 65535. Default of Proxmox VE: 8007 (PVE: port).
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port *int32 `json:"port,omitempty"`

	// Username with its realm, or an API token: backup@pbs!pve (PVE: username).
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Username *string `json:"username,omitempty"`

	// PasswordSecretRef is the key of a Secret with the password, or with the secret of
	// the API token (PVE: password).
	// +optional
	PasswordSecretRef *SecretKeyReference `json:"passwordSecretRef,omitempty"`

	// Fingerprint of the server's certificate: its SHA-256, 32 bytes in
	// hexadecimal with colons. Empty removes it (PVE: fingerprint).
	// +optional
	// +kubebuilder:validation:Pattern=`^(([A-Fa-f0-9]{2}:){31}[A-Fa-f0-9]{2})?$`
	Fingerprint *string `json:"fingerprint,omitempty"`

	// EncryptionKeySecretRef is the key of a Secret with the key that encrypts backups:
	// the JSON file of proxmox-backup-client. Keep a copy: without it, no backup can be
	// restored (PVE: encryption-key).
	// +optional
	EncryptionKeySecretRef *SecretKeyReference `json:"encryptionKeySecretRef,omitempty"`
}

// StorageESXi is an ESXi host or a vCenter, from which VMs are imported.
type StorageESXi struct {
	// Server by its name or IP address (PVE: server).
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:MinLength=1
	Server string `json:"server"`

	// Username on the host (PVE: username).
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:MinLength=1
	Username string `json:"username"`

	// PasswordSecretRef is the key of a Secret with the password of the user (PVE:
	// password).
	PasswordSecretRef SecretKeyReference `json:"passwordSecretRef"`

	// Port of the host, 1 to 65535. Default of Proxmox VE: 443 (PVE: port).
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port *int32 `json:"port,omitempty"`

	// SkipCertVerification accepts any certificate of the host. Default of Proxmox
	// VE: false (PVE: skip-cert-verification).
	// +optional
	SkipCertVerification *bool `json:"skipCertVerification,omitempty"`
}

// StoragePruneBackups determines which backups of a guest are kept. 0 means that the
// rule keeps none.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule="!has(self.keepAll) || !self.keepAll || !(has(self.keepLast) || has(self.keepHourly) || has(self.keepDaily) || has(self.keepWeekly) || has(self.keepMonthly) || has(self.keepYearly))",message="keepAll leaves nothing to the other rules"
type StoragePruneBackups struct {
	// KeepAll keeps all backups (PVE: keep-all).
	// +optional
	KeepAll *bool `json:"keepAll,omitempty"`

	// KeepLast is the number of latest backups to keep (PVE: keep-last).
	// +optional
	// +kubebuilder:validation:Minimum=0
	KeepLast *int32 `json:"keepLast,omitempty"`

	// KeepHourly is the number of hours for which one backup each is kept (PVE:
	// keep-hourly).
	// +optional
	// +kubebuilder:validation:Minimum=0
	KeepHourly *int32 `json:"keepHourly,omitempty"`

	// KeepDaily is the number of days for which one backup each is kept (PVE:
	// keep-daily).
	// +optional
	// +kubebuilder:validation:Minimum=0
	KeepDaily *int32 `json:"keepDaily,omitempty"`

	// KeepWeekly is the number of weeks for which one backup each is kept (PVE:
	// keep-weekly).
	// +optional
	// +kubebuilder:validation:Minimum=0
	KeepWeekly *int32 `json:"keepWeekly,omitempty"`

	// KeepMonthly is the number of months for which one backup each is kept (PVE:
	// keep-monthly).
	// +optional
	// +kubebuilder:validation:Minimum=0
	KeepMonthly *int32 `json:"keepMonthly,omitempty"`

	// KeepYearly is the number of years for which one backup each is kept (PVE:
	// keep-yearly).
	// +optional
	// +kubebuilder:validation:Minimum=0
	KeepYearly *int32 `json:"keepYearly,omitempty"`
}

// StorageObservation is the observed state of a storage. Usage is updated about once a
// minute, everything else when it changes.
type StorageObservation struct {
	ObjectObservation `json:",inline"`

	// Type of the storage in Proxmox VE.
	// +optional
	Type string `json:"type,omitempty"`

	// Nodes that have the storage.
	// +optional
	// +listType=map
	// +listMapKey=name
	Nodes []ProxmoxClusterStorageNode `json:"nodes,omitempty"`
}
