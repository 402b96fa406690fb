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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A BackupJob is a backup job of Proxmox VE, which backs guests up on a schedule and removes
// older backups. Proxmox VE runs it, also while this provider does not.
//
// +proxmox:kind=BackupJob,shortName=pbackupjob
// +kubebuilder:printcolumn:name="SCHEDULE",type="string",JSONPath=".spec.forProvider.schedule"
// +kubebuilder:printcolumn:name="GUESTS",type="integer",JSONPath=".status.atProvider.guestCount"
// +kubebuilder:printcolumn:name="STORAGE",type="string",JSONPath=".status.atProvider.storage"
// +kubebuilder:printcolumn:name="NEXT",type="string",JSONPath=".status.atProvider.nextRun"
// +kubebuilder:printcolumn:name="FRESH",type="string",JSONPath=".status.conditions[?(@.type=='Fresh')].status"
// +kubebuilder:printcolumn:name="JOB",type="string",JSONPath=".status.atProvider.name",priority=1

// BackupJobParameters describe a backup job. Only what is set is managed. What Proxmox VE
// leaves to the nodes, such as mode and compression, has the default of each node's
// /etc/vzdump.conf.
//
// +kubebuilder:validation:XValidation:rule="[has(self.all) && self.all, has(self.vmids) || has(self.machineRefs) || has(self.machineSelector), has(self.pool) || has(self.poolRef) || has(self.poolSelector)].filter(x, x).size() == 1",message="say in one way which guests are backed up: all, or vmids, machineRefs and machineSelector, or pool, poolRef or poolSelector"
// +kubebuilder:validation:XValidation:rule="[has(self.pool), has(self.poolRef), has(self.poolSelector)].filter(x, x).size() < 2",message="set one of pool, poolRef and poolSelector"
// +kubebuilder:validation:XValidation:rule="[has(self.storage), has(self.storageRef), has(self.storageSelector)].filter(x, x).size() == 1",message="set one of storage, storageRef and storageSelector"
// +kubebuilder:validation:XValidation:rule="(has(self.all) && self.all) || !(has(self.excludeVMIDs) || has(self.excludeMachineRefs) || has(self.excludeMachineSelector))",message="exclusions are for all: set all to true"
// +kubebuilder:validation:XValidation:rule="(has(self.allowPruningOthers) && self.allowPruningOthers) || (has(self.prune) ? !self.prune : !has(self.pruneBackups) || (has(self.pruneBackups.keepAll) && self.pruneBackups.keepAll))",message="Proxmox VE prunes the backups of these guests that others have made too: consent with allowPruningOthers: true, or set keepAll"
// +kubebuilder:validation:XValidation:rule="[has(self.name), has(oldSelf.name)].filter(h, h).size() != 2 || self.name == oldSelf.name",message="name cannot change: a backup job cannot be renamed"
type BackupJobParameters struct {
	// Name of the job: 2 to 50 letters, digits, hyphens and underscores, the first a
	// letter. Default: the name of this resource. Cannot change (PVE: id).
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=50
	// +kubebuilder:validation:Pattern=`^[A-Za-z][A-Za-z0-9_-]+$`
	Name *string `json:"name,omitempty"`

	// Schedule of the job, as a calendar event of Proxmox VE: weekdays, a date and a
	// time, each of which may be left out but one, such as 02:30, mon..fri 22:00,
	// *-*-1 03:00, */30 for the minutes of each hour, or a word such as daily. It is in
	// the time zone of the nodes, or in UTC with that word at its end; 1 to 128
	// characters (PVE: schedule).
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^(minutely|hourly|daily|weekly|monthly|yearly|annually|quarterly|semi-?annually|((?i:mon(day)?|tue(sday)?|wed(nesday)?|thu(rsday)?|fri(day)?|sat(urday)?|sun(day)?)(([.][.]|,)(?i:mon(day)?|tue(sday)?|wed(nesday)?|thu(rsday)?|fri(day)?|sat(urday)?|sun(day)?))*( |$))?((([*]|[0-9]{1,4}([.][.][0-9]{1,4})?)(/[1-9][0-9]*)?(,([*]|[0-9]{1,4}([.][.][0-9]{1,4})?)(/[1-9][0-9]*)?)*-){1,2}([*]|[0-9]{1,4}([.][.][0-9]{1,4})?)(/[1-9][0-9]*)?(,([*]|[0-9]{1,4}([.][.][0-9]{1,4})?)(/[1-9][0-9]*)?)*( |$))?((([*]|([01]?[0-9]|2[0-3])([.][.]([01]?[0-9]|2[0-3]))?)(/[1-9][0-9]*)?(,([*]|([01]?[0-9]|2[0-3])([.][.]([01]?[0-9]|2[0-3]))?)(/[1-9][0-9]*)?)*:([*]|[0-5]?[0-9]([.][.][0-5]?[0-9])?)(/[1-9][0-9]*)?(,([*]|[0-5]?[0-9]([.][.][0-5]?[0-9])?)(/[1-9][0-9]*)?)*(:([*]|[0-5]?[0-9]([.][.][0-5]?[0-9])?)(/[1-9][0-9]*)?(,([*]|[0-5]?[0-9]([.][.][0-5]?[0-9])?)(/[1-9][0-9]*)?)*)?|([*]|[0-5]?[0-9]([.][.][0-5]?[0-9])?)(/[1-9][0-9]*)?(,([*]|[0-5]?[0-9]([.][.][0-5]?[0-9])?)(/[1-9][0-9]*)?)*))?( ?UTC)?)$')",message="schedule is a calendar event of Proxmox VE, such as 02:30, mon..fri 22:00, *-*-1 03:00 or daily"
	Schedule string `json:"schedule"`

	// RepeatMissed makes up for a run that was missed, as soon as the scheduler runs
	// again. Default of Proxmox VE: false (PVE: repeat-missed).
	// +optional
	RepeatMissed *bool `json:"repeatMissed,omitempty"`

	// Enabled is false for a job that stays and does not run. Default of Proxmox VE:
	// true (PVE: enabled).
	// +optional
	Enabled *bool `json:"enabled,omitempty"`

	// Comment on the job, up to 512 characters. Empty removes it (PVE: comment).
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Comment *string `json:"comment,omitempty"`

	// All guests of the cluster, VMs and containers, those that are created later too
	// (PVE: all).
	// +optional
	All *bool `json:"all,omitempty"`

	// ExcludeVMIDs are those of guests that all leaves out, 100 to 999999999 each. An
	// empty list leaves none out (PVE: exclude).
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:Minimum=100
	// +kubebuilder:validation:items:Maximum=999999999
	ExcludeVMIDs []int32 `json:"excludeVMIDs,omitzero"`

	// ExcludeMachineRefs reference Machines that all leaves out.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=1000
	ExcludeMachineRefs []Reference `json:"excludeMachineRefs,omitempty"`

	// ExcludeMachineSelector selects Machines that all leaves out, those that are
	// created later too.
	// +optional
	ExcludeMachineSelector *Selector `json:"excludeMachineSelector,omitempty"`

	// VMIDs of the VMs and containers that are backed up, 100 to 999999999 each (PVE:
	// vmid).
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:Minimum=100
	// +kubebuilder:validation:items:Maximum=999999999
	VMIDs []int32 `json:"vmids,omitempty"`

	// MachineRefs reference Machines whose VMs are backed up.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1000
	MachineRefs []Reference `json:"machineRefs,omitempty"`

	// MachineSelector selects Machines whose VMs are backed up, those that are created
	// later too. The job is kept in step with them.
	// +optional
	MachineSelector *Selector `json:"machineSelector,omitempty"`

	// Pool whose guests are backed up, those that join it later too (PVE: pool).
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Pool *string `json:"pool,omitempty"`

	// PoolRef references the Pool whose guests are backed up.
	// +optional
	PoolRef *Reference `json:"poolRef,omitempty"`

	// PoolSelector selects the Pool whose guests are backed up; it must match one.
	// +optional
	PoolSelector *Selector `json:"poolSelector,omitempty"`

	// Node on which alone the job runs. Empty, the default of Proxmox VE, stands for
	// the node of each guest (PVE: node).
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Node *string `json:"node,omitempty"`

	// Storage that the backups go to, 2 to 100 characters. It has backup among its
	// content types (PVE: storage).
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^[a-zA-Z][a-zA-Z0-9._-]*[a-zA-Z0-9]$`
	Storage *string `json:"storage,omitempty"`

	// StorageRef references the Storage that the backups go to.
	// +optional
	StorageRef *Reference `json:"storageRef,omitempty"`

	// StorageSelector selects the Storage that the backups go to; it must match one.
	// +optional
	StorageSelector *Selector `json:"storageSelector,omitempty"`

	// Mode of the backup of a guest that runs: snapshot copies while it works, suspend
	// suspends it first, stop shuts it down and starts it again while the copy goes on.
	// Default of Proxmox VE: snapshot (PVE: mode).
	// +optional
	// +kubebuilder:validation:Enum=snapshot;suspend;stop
	Mode *string `json:"mode,omitempty"`

	// Compression of the files: zstd, gzip, lzo or none. A backup server compresses by
	// itself. Default of Proxmox VE: none (PVE: compress).
	// +optional
	// +kubebuilder:validation:Enum=zstd;gzip;lzo;none
	Compression *string `json:"compression,omitempty"`

	// ZstdThreads is how many threads compress with zstd, 0 to 1024; 0 stands for half
	// of the cores. Default of Proxmox VE: 1 (PVE: zstd).
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1024
	ZstdThreads *int32 `json:"zstdThreads,omitempty"`

	// PigzThreads compresses with pigz in place of gzip, 0 to 1024: 0 does not, 1 uses
	// half of the cores, more is the number of threads. Default of Proxmox VE: 0 (PVE:
	// pigz).
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1024
	PigzThreads *int32 `json:"pigzThreads,omitempty"`

	// PruneBackups says which backups of each guest are kept when a backup was made. The
	// others on the storage are removed, whoever has made them, unless they are
	// protected: anything but keepAll needs allowPruningOthers. Default: keepAll, and
	// with allowPruningOthers what the job has already, or else the rules of the
	// storage (PVE: prune-backups).
	// +optional
	PruneBackups *StoragePruneBackups `json:"pruneBackups,omitempty"`

	// AllowPruningOthers is the consent that after each backup Proxmox VE removes the
	// unprotected backups of the guest on the storage that others have made too: it
	// does not tell them from those of this job. Without it nothing is removed; to a
	// job that is there and removes backups, nothing is written until this,
	// pruneBackups or prune is set. Default: false.
	// +optional
	AllowPruningOthers *bool `json:"allowPruningOthers,omitempty"`

	// Prune is false to remove no backups, whatever the rules; a run fails when there are
	// as many as they keep. True needs allowPruningOthers. Default of Proxmox VE: true
	// (PVE: remove).
	// +optional
	Prune *bool `json:"prune,omitempty"`

	// NotesTemplate is what the notes of each backup say, in one line of up to 1024
	// characters. {{cluster}}, {{guestname}}, {{node}} and {{vmid}} stand for what they
	// name, \n for the end of a line and \\ for a backslash. Empty removes it (PVE: notes-
	// template).
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="!self.contains('\\n')",message="notesTemplate is one line: write \\n for the end of a line"
	NotesTemplate *string `json:"notesTemplate,omitempty"`

	// Protected marks the backups as protected: nothing removes them until that is taken
	// back, and PruneBackups leaves them out. Default of Proxmox VE: false (PVE:
	// protected).
	// +optional
	Protected *bool `json:"protected,omitempty"`

	// Notification says who is told of a run.
	// +optional
	Notification *BackupJobNotification `json:"notification,omitempty"`

	// BandwidthLimit in KiB/s, 0 to 1073741824; 0 stands for none. Default of Proxmox
	// VE: 0 (PVE: bwlimit).
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1073741824
	BandwidthLimit *int64 `json:"bandwidthLimit,omitempty"`

	// IOPriority of the backup in the BFQ scheduler, 0 to 7 from the highest, or 8 to
	// work only while nobody else does. Default of Proxmox VE: 7 (PVE: ionice).
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=8
	IOPriority *int32 `json:"ioPriority,omitempty"`

	// Performance settings (PVE: performance).
	// +optional
	Performance *BackupJobPerformance `json:"performance,omitempty"`

	// Fleecing keeps the blocks that a VM overwrites meanwhile on another storage, so
	// that a slow target does not slow the VM down (PVE: fleecing).
	// +optional
	Fleecing *BackupJobFleecing `json:"fleecing,omitempty"`

	// LockWaitMinutes is how long a run waits for another one on the node, 0 to 525600
	// minutes. Default of Proxmox VE: 180 (PVE: lockwait).
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=525600
	LockWaitMinutes *int32 `json:"lockWaitMinutes,omitempty"`

	// StopWaitMinutes is how long a guest may take to shut down in the mode stop, 0 to
	// 525600 minutes. Default of Proxmox VE: 10 (PVE: stopwait).
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=525600
	StopWaitMinutes *int32 `json:"stopWaitMinutes,omitempty"`

	// PBSChangeDetectionMode is how a backup server finds what has changed in the files
	// of a container. Default of Proxmox VE: legacy (PVE: pbs-change-detection-mode).
	// +optional
	// +kubebuilder:validation:Enum=legacy;data;metadata
	PBSChangeDetectionMode *string `json:"pbsChangeDetectionMode,omitempty"`

	// MaxAgeHours is how old the newest backup of each guest on the storage may be, 1 to
	// 8784 hours, whoever has made it. The condition Fresh is True if each has one.
	// Default: none, and no condition.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=8784
	MaxAgeHours *int32 `json:"maxAgeHours,omitempty"`
}

// BackupJobNotification says who is told of a run.
//
// +kubebuilder:validation:MinProperties=1
type BackupJobNotification struct {
	// Mode is notification-system for the targets and matchers of the cluster,
	// legacy-sendmail for mails to mailTo, auto for mails if mailTo is set and the
	// notification system otherwise. Default of Proxmox VE: auto (PVE: notification-
	// mode).
	// +optional
	// +kubebuilder:validation:Enum=auto;legacy-sendmail;notification-system
	Mode *string `json:"mode,omitempty"`

	// MailTo are mail addresses, or users of Proxmox VE, up to 20. An empty list stands
	// for none (PVE: mailto).
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=254
	// +kubebuilder:validation:items:Pattern=`^[^\s,;]+$`
	MailTo []string `json:"mailTo,omitzero"`

	// MailOn is always for a mail of each run, or failure. Default of Proxmox VE: always
	// (PVE: mailnotification).
	// +optional
	// +kubebuilder:validation:Enum=always;failure
	MailOn *string `json:"mailOn,omitempty"`
}

// BackupJobPerformance has settings of the speed.
//
// +kubebuilder:validation:MinProperties=1
type BackupJobPerformance struct {
	// MaxWorkers is how many parallel requests a VM's backup makes, 1 to 256. Default of
	// Proxmox VE: 16 (PVE: max-workers).
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=256
	MaxWorkers *int32 `json:"maxWorkers,omitempty"`

	// PBSEntriesMax is how many entries of a container's directories are kept in memory,
	// at least 1. Default of Proxmox VE: 1048576 (PVE: pbs-entries-max).
	// +optional
	// +kubebuilder:validation:Minimum=1
	PBSEntriesMax *int32 `json:"pbsEntriesMax,omitempty"`
}

// BackupJobFleecing is where overwritten blocks are kept while a VM is backed up.
//
// +kubebuilder:validation:XValidation:rule="!self.enabled || has(self.storage) || has(self.storageRef)",message="fleecing needs a storage"
// +kubebuilder:validation:XValidation:rule="!has(self.storage) || !has(self.storageRef)",message="set one of storage and storageRef"
type BackupJobFleecing struct {
	// Enabled keeps overwritten blocks (PVE: enabled).
	Enabled bool `json:"enabled"`

	// Storage that has them meanwhile, 2 to 100 characters: one for disk images, best a
	// fast local one (PVE: storage).
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^[a-zA-Z][a-zA-Z0-9._-]*[a-zA-Z0-9]$`
	Storage *string `json:"storage,omitempty"`

	// StorageRef references the Storage that has them meanwhile.
	// +optional
	StorageRef *Reference `json:"storageRef,omitempty"`
}

// BackupJobObservation is what is seen of a backup job.
type BackupJobObservation struct {
	ObjectObservation `json:",inline"`

	// Storage that the backups go to.
	// +optional
	Storage string `json:"storage,omitempty"`

	// NextRun is when the schedule is next due; empty for a job that is not enabled.
	// +optional
	NextRun *metav1.Time `json:"nextRun,omitempty"`

	// LastScheduleTime is when the schedule was last due while the resource existed, as far as it
	// was seen.
	// +optional
	LastScheduleTime *metav1.Time `json:"lastScheduleTime,omitempty"`

	// HiddenRuns is why the last runs of the job on some nodes are not known, such as that
	// the user may not see the tasks of others there. Empty: they are known.
	// +optional
	HiddenRuns string `json:"hiddenRuns,omitempty"`

	// GuestCount is how many guests the job backs up, as far as the user may see them.
	// +optional
	GuestCount *int32 `json:"guestCount,omitempty"`

	// Guests that the job backs up, with their newest backup on the storage.
	// +optional
	// +listType=map
	// +listMapKey=vmid
	Guests []BackupJobGuest `json:"guests,omitempty"`
}

// A BackupJobGuest is a guest that a job backs up.
type BackupJobGuest struct {
	// VMID of the guest.
	VMID int32 `json:"vmid"`

	// Machine that the guest is the VM of, among those of the namespace of the job, or of
	// the cluster-scoped group. Empty: there is none.
	// +optional
	Machine string `json:"machine,omitempty"`

	// LastBackup is the time of the newest backup on the storage, whoever has made it.
	// Backups do not count whose latest verification by a backup server has failed, nor
	// those from before the VM of the Machine was created, which are of a former VM with
	// its VMID. Empty: there is none.
	// +optional
	LastBackup *metav1.Time `json:"lastBackup,omitempty"`

	// LastRun is what the last run of the job has come to for the guest, by its task in
	// Proxmox VE. Empty: none was seen.
	// +optional
	LastRun *BackupJobRun `json:"lastRun,omitempty"`
}

// A BackupJobRun is what a run of a job has come to for a guest. Proxmox VE runs a job on each
// node for the guests there.
type BackupJobRun struct {
	// Time at which the run began on the node of the guest.
	Time metav1.Time `json:"time"`

	// Result is OK for a backup that was made, Failed for one that could not be, also
	// because the run as a whole has failed, and Skipped for a guest that the run has left out.
	Result string `json:"result"`

	// Reason of a failure in a word: NotSupported, LimitReached, StorageFull,
	// StorageUnavailable, VMNotFound, Locked, Stopped or BackupFailed.
	// +optional
	Reason string `json:"reason,omitempty"`

	// Message is a sentence about a failure.
	// +optional
	Message string `json:"message,omitempty"`

	// Volume of the backup, such as nfs:backup/vzdump-qemu-100-2026_11_22-02_30_01.vma.zst.
	// +optional
	Volume string `json:"volume,omitempty"`

	// Size of the backup in bytes, once it was listed.
	// +optional
	Size *int64 `json:"size,omitempty"`

	// Task of the run in Proxmox VE (UPID), which has its log.
	Task string `json:"task"`
}
