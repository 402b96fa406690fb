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

// A BackupJob is a backup job of Proxmox VE, which backs up guests on a schedule and
// removes older backups. Proxmox VE runs it, even while this provider does not run.
//
// +proxmox:kind=BackupJob,shortName=pbackupjob
// +kubebuilder:printcolumn:name="SCHEDULE",type="string",JSONPath=".spec.forProvider.schedule"
// +kubebuilder:printcolumn:name="GUESTS",type="integer",JSONPath=".status.atProvider.guestCount"
// +kubebuilder:printcolumn:name="STORAGE",type="string",JSONPath=".status.atProvider.storage"
// +kubebuilder:printcolumn:name="NEXT",type="string",JSONPath=".status.atProvider.nextRun"
// +kubebuilder:printcolumn:name="FRESH",type="string",JSONPath=".status.conditions[?(@.type=='Fresh')].status"
// +kubebuilder:printcolumn:name="JOB",type="string",JSONPath=".status.atProvider.name",priority=1

// BackupJobParameters describe a backup job. Only the fields that are set are managed.
// For settings that Proxmox VE leaves to the nodes, such as mode and compression, the
// default is in each node's /etc/vzdump.conf.
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
	// time, of which at least one is required, such as 02:30, mon..fri 22:00, *-*-1
	// 03:00, */30 for the minutes of each hour, or a word such as daily. It is in the
	// time zone of the nodes, or in UTC if it ends with UTC; 1 to 128 characters (PVE:
	// schedule).
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^(minutely|hourly|daily|weekly|monthly|yearly|annually|quarterly|semi-?annually|((?i:mon(day)?|tue(sday)?|wed(nesday)?|thu(rsday)?|fri(day)?|sat(urday)?|sun(day)?)(([.][.]|,)(?i:mon(day)?|tue(sday)?|wed(nesday)?|thu(rsday)?|fri(day)?|sat(urday)?|sun(day)?))*( |$))?((([*]|[0-9]{1,4}([.][.][0-9]{1,4})?)(/[1-9][0-9]*)?(,([*]|[0-9]{1,4}([.][.][0-9]{1,4})?)(/[1-9][0-9]*)?)*-){1,2}([*]|[0-9]{1,4}([.][.][0-9]{1,4})?)(/[1-9][0-9]*)?(,([*]|[0-9]{1,4}([.][.][0-9]{1,4})?)(/[1-9][0-9]*)?)*( |$))?((([*]|([01]?[0-9]|2[0-3])([.][.]([01]?[0-9]|2[0-3]))?)(/[1-9][0-9]*)?(,([*]|([01]?[0-9]|2[0-3])([.][.]([01]?[0-9]|2[0-3]))?)(/[1-9][0-9]*)?)*:([*]|[0-5]?[0-9]([.][.][0-5]?[0-9])?)(/[1-9][0-9]*)?(,([*]|[0-5]?[0-9]([.][.][0-5]?[0-9])?)(/[1-9][0-9]*)?)*(:([*]|[0-5]?[0-9]([.][.][0-5]?[0-9])?)(/[1-9][0-9]*)?(,([*]|[0-5]?[0-9]([.][.][0-5]?[0-9])?)(/[1-9][0-9]*)?)*)?|([*]|[0-5]?[0-9]([.][.][0-5]?[0-9])?)(/[1-9][0-9]*)?(,([*]|[0-5]?[0-9]([.][.][0-5]?[0-9])?)(/[1-9][0-9]*)?)*))?( ?UTC)?)$')",message="schedule is a calendar event of Proxmox VE, such as 02:30, mon..fri 22:00, *-*-1 03:00 or daily"
	Schedule string `json:"schedule"`

	// RepeatMissed runs a missed backup as soon as the scheduler runs again. Default of
	// Proxmox VE: false (PVE: repeat-missed).
	// +optional
	RepeatMissed *bool `json:"repeatMissed,omitempty"`

	// Enabled false keeps the job but does not run it. Default of Proxmox VE: true (PVE:
	// enabled).
	// +optional
	Enabled *bool `json:"enabled,omitempty"`

	// Comment on the job, up to 512 characters. Empty removes it (PVE: comment).
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Comment *string `json:"comment,omitempty"`

	// All selects all guests of the cluster, VMs and containers, including those that are
	// created later (PVE: all).
	// +optional
	All *bool `json:"all,omitempty"`

	// ExcludeVMIDs are the VMIDs of guests to exclude from all, 100 to 999999999 each. An
	// empty list excludes none (PVE: exclude).
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:Minimum=100
	// +kubebuilder:validation:items:Maximum=999999999
	ExcludeVMIDs []int32 `json:"excludeVMIDs,omitzero"`

	// ExcludeMachineRefs reference Machines to exclude from all.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=1000
	ExcludeMachineRefs []Reference `json:"excludeMachineRefs,omitempty"`

	// ExcludeMachineSelector selects Machines to exclude from all, including those that
	// are created later.
	// +optional
	ExcludeMachineSelector *Selector `json:"excludeMachineSelector,omitempty"`

	// VMIDs of the VMs and containers to back up, 100 to 999999999 each (PVE: vmid).
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:Minimum=100
	// +kubebuilder:validation:items:Maximum=999999999
	VMIDs []int32 `json:"vmids,omitempty"`

	// MachineRefs reference Machines whose VMs to back up.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1000
	MachineRefs []Reference `json:"machineRefs,omitempty"`

	// MachineSelector selects Machines whose VMs to back up, including those that are
	// created later. The provider updates the job when the selected Machines change.
	// +optional
	MachineSelector *Selector `json:"machineSelector,omitempty"`

	// Pool whose guests to back up, including those that join it later (PVE: pool).
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Pool *string `json:"pool,omitempty"`

	// PoolRef references the Pool whose guests to back up.
	// +optional
	PoolRef *Reference `json:"poolRef,omitempty"`

	// PoolSelector selects the Pool whose guests to back up; it must match exactly one.
	// +optional
	PoolSelector *Selector `json:"poolSelector,omitempty"`

	// Node to which the job is limited. If it is empty, which is the default of Proxmox
	// VE, the job runs on the node of each guest (PVE: node).
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Node *string `json:"node,omitempty"`

	// Storage that the backups go to, 2 to 100 characters. Its content types must include
	// backup (PVE: storage).
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^[a-zA-Z][a-zA-Z0-9._-]*[a-zA-Z0-9]$`
	Storage *string `json:"storage,omitempty"`

	// StorageRef references the Storage that the backups go to.
	// +optional
	StorageRef *Reference `json:"storageRef,omitempty"`

	// StorageSelector selects the Storage that the backups go to; it must match exactly
	// one.
	// +optional
	StorageSelector *Selector `json:"storageSelector,omitempty"`

	// Mode of the backup of a running guest: snapshot copies while the guest works.
	// suspend suspends the guest first. stop shuts the guest down and starts it again
	// while the copy continues. Default of Proxmox VE: snapshot (PVE: mode).
	// +optional
	// +kubebuilder:validation:Enum=snapshot;suspend;stop
	Mode *string `json:"mode,omitempty"`

	// Compression of the files: zstd, gzip, lzo or none. A Proxmox Backup Server always
	// does its own compression. Default of Proxmox VE: none (PVE: compress).
	// +optional
	// +kubebuilder:validation:Enum=zstd;gzip;lzo;none
	Compression *string `json:"compression,omitempty"`

	// ZstdThreads is the number of threads that compress with zstd, 0 to 1024; 0 means
	// half of the cores. Default of Proxmox VE: 1 (PVE: zstd).
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1024
	ZstdThreads *int32 `json:"zstdThreads,omitempty"`

	// PigzThreads makes gzip compression use pigz, 0 to 1024: 0 disables pigz, 1 uses
	// half of the cores, a higher value is the number of threads. Default of Proxmox VE:
	// 0 (PVE: pigz).
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1024
	PigzThreads *int32 `json:"pigzThreads,omitempty"`

	// PruneBackups determines which backups of each guest are kept after a new backup.
	// All others on the storage are removed, no matter who made them, unless they are
	// protected. So any rule other than keepAll needs allowPruningOthers. Default:
	// keepAll, and with allowPruningOthers the rules that the job already has, or
	// otherwise the rules of the storage (PVE: prune-backups).
	// +optional
	PruneBackups *StoragePruneBackups `json:"pruneBackups,omitempty"`

	// AllowPruningOthers allows Proxmox VE to remove, after each backup, unprotected
	// backups of the guest on the storage that this job did not make: Proxmox VE does not
	// distinguish them. Without it, no backup is removed. An existing job that removes
	// backups is not changed until you set this field, pruneBackups or prune. Default:
	// false.
	// +optional
	AllowPruningOthers *bool `json:"allowPruningOthers,omitempty"`

	// Prune false removes no backups, regardless of the rules; a run then fails if there
	// are already as many backups as the rules keep. True needs allowPruningOthers.
	// Default of Proxmox VE: true (PVE: remove).
	// +optional
	Prune *bool `json:"prune,omitempty"`

	// NotesTemplate is the text of the notes of each backup, in one line of up to 1024
	// characters. The variables {{cluster}}, {{guestname}}, {{node}} and {{vmid}} are
	// replaced by their values, \n by a line break and \\ by a backslash. Empty removes
	// it (PVE: notes-template).
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="!self.contains('\\n')",message="notesTemplate is one line: write \\n for the end of a line"
	NotesTemplate *string `json:"notesTemplate,omitempty"`

	// Protected marks the backups as protected: nothing removes them until somebody
	// unsets the mark, and PruneBackups does not count them. Default of Proxmox VE: false
	// (PVE: protected).
	// +optional
	Protected *bool `json:"protected,omitempty"`

	// Notification determines who is notified about a run.
	// +optional
	Notification *BackupJobNotification `json:"notification,omitempty"`

	// BandwidthLimit in KiB/s, 0 to 1073741824; 0 means no limit. Default of Proxmox VE:
	// 0 (PVE: bwlimit).
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1073741824
	BandwidthLimit *int64 `json:"bandwidthLimit,omitempty"`

	// IOPriority of the backup in the BFQ scheduler, from 0 (highest) to 7, or 8 to work
	// only while no other process needs the disk. Default of Proxmox VE: 7 (PVE: ionice).
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=8
	IOPriority *int32 `json:"ioPriority,omitempty"`

	// Performance settings (PVE: performance).
	// +optional
	Performance *BackupJobPerformance `json:"performance,omitempty"`

	// Fleecing saves the blocks that a VM overwrites during the backup to another storage
	// first, so that a slow target does not slow down the VM (PVE: fleecing).
	// +optional
	Fleecing *BackupJobFleecing `json:"fleecing,omitempty"`

	// LockWaitMinutes is how long a run waits for another run on the same node, 0 to
	// 525600 minutes. Default of Proxmox VE: 180 (PVE: lockwait).
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=525600
	LockWaitMinutes *int32 `json:"lockWaitMinutes,omitempty"`

	// StopWaitMinutes is how long a guest may take to shut down in mode stop, 0 to 525600
	// minutes. Default of Proxmox VE: 10 (PVE: stopwait).
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=525600
	StopWaitMinutes *int32 `json:"stopWaitMinutes,omitempty"`

	// PBSChangeDetectionMode is how a Proxmox Backup Server detects changed files of a
	// container. Default of Proxmox VE: legacy (PVE: pbs-change-detection-mode).
	// +optional
	// +kubebuilder:validation:Enum=legacy;data;metadata
	PBSChangeDetectionMode *string `json:"pbsChangeDetectionMode,omitempty"`

	// MaxAgeHours is the maximum age of the newest backup of each guest on the storage, 1
	// to 8784 hours, no matter who made the backup. The condition Fresh is True if each
	// guest has such a backup. Default: none, and no condition.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=8784
	MaxAgeHours *int32 `json:"maxAgeHours,omitempty"`
}

// BackupJobNotification determines who is notified about a run.
//
// +kubebuilder:validation:MinProperties=1
type BackupJobNotification struct {
	// Mode of notification: notification-system uses the targets and matchers of the
	// cluster. legacy-sendmail sends mails to mailTo. auto sends mails if mailTo is set,
	// and uses the notification system otherwise. Default of Proxmox VE: auto (PVE:
	// notification-mode).
	// +optional
	// +kubebuilder:validation:Enum=auto;legacy-sendmail;notification-system
	Mode *string `json:"mode,omitempty"`

	// MailTo are mail addresses, or users of Proxmox VE, up to 20. An empty list means
	// none (PVE: mailto).
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=254
	// +kubebuilder:validation:items:Pattern=`^[^\s,;]+$`
	MailTo []string `json:"mailTo,omitzero"`

	// MailOn is always for a mail about each run, or failure for a mail about failed runs
	// only. Default of Proxmox VE: always (PVE: mailnotification).
	// +optional
	// +kubebuilder:validation:Enum=always;failure
	MailOn *string `json:"mailOn,omitempty"`
}

// BackupJobPerformance has performance settings.
//
// +kubebuilder:validation:MinProperties=1
type BackupJobPerformance struct {
	// MaxWorkers is the number of parallel requests of a VM's backup, 1 to 256. Default
	// of Proxmox VE: 16 (PVE: max-workers).
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=256
	MaxWorkers *int32 `json:"maxWorkers,omitempty"`

	// PBSEntriesMax is the number of directory entries of a container that are kept in
	// memory, at least 1. Default of Proxmox VE: 1048576 (PVE: pbs-entries-max).
	// +optional
	// +kubebuilder:validation:Minimum=1
	PBSEntriesMax *int32 `json:"pbsEntriesMax,omitempty"`
}

// BackupJobFleecing determines where overwritten blocks are kept during the backup of
// a VM.
//
// +kubebuilder:validation:XValidation:rule="!self.enabled || has(self.storage) || has(self.storageRef)",message="fleecing needs a storage"
// +kubebuilder:validation:XValidation:rule="!has(self.storage) || !has(self.storageRef)",message="set one of storage and storageRef"
type BackupJobFleecing struct {
	// Enabled turns fleecing on (PVE: enabled).
	Enabled bool `json:"enabled"`

	// Storage for the overwritten blocks during the backup, 2 to 100 characters: a
	// storage for disk images, preferably fast and local (PVE: storage).
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^[a-zA-Z][a-zA-Z0-9._-]*[a-zA-Z0-9]$`
	Storage *string `json:"storage,omitempty"`

	// StorageRef references the Storage for the overwritten blocks.
	// +optional
	StorageRef *Reference `json:"storageRef,omitempty"`
}

// BackupJobObservation is the observed state of a backup job.
type BackupJobObservation struct {
	ObjectObservation `json:",inline"`

	// Storage that the backups go to.
	// +optional
	Storage string `json:"storage,omitempty"`

	// NextRun is the next time of the schedule; empty for a job that is not enabled.
	// +optional
	NextRun *metav1.Time `json:"nextRun,omitempty"`

	// LastScheduleTime is the last known time of the schedule since this resource was
	// created.
	// +optional
	LastScheduleTime *metav1.Time `json:"lastScheduleTime,omitempty"`

	// HiddenRuns is the reason why the last runs of the job on some nodes are not known,
	// for example that the user has no permission to read the tasks of others there. It
	// is empty if they are known.
	// +optional
	HiddenRuns string `json:"hiddenRuns,omitempty"`

	// GuestCount is the number of guests that the job backs up, as far as the user has
	// permission to see them.
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

	// Machine whose VM the guest is: a Machine in the namespace of the job, or in the
	// cluster-scoped group. It is empty if there is none.
	// +optional
	Machine string `json:"machine,omitempty"`

	// LastBackup is the time of the newest backup on the storage, no matter who made it.
	// Two kinds of backups do not count: those whose latest verification by a Proxmox
	// Backup Server failed, and those from before the VM of the Machine was created,
	// because they belong to a former VM with the same VMID. It is empty if there is no
	// backup.
	// +optional
	LastBackup *metav1.Time `json:"lastBackup,omitempty"`

	// LastRun is the result of the last run of the job for the guest, by its task in
	// Proxmox VE. It is empty if no run was seen.
	// +optional
	LastRun *BackupJobRun `json:"lastRun,omitempty"`
}

// A BackupJobRun is the result of a run of a job for a guest. Proxmox VE runs a job on
// each node for the guests there.
type BackupJobRun struct {
	// Time at which the run began on the node of the guest.
	Time metav1.Time `json:"time"`

	// Result is OK if the backup was made, Failed if it could not be made (also because
	// the run as a whole failed), and Skipped if the run left out the guest.
	Result string `json:"result"`

	// Reason of a failure, as one word: NotSupported, LimitReached, StorageFull,
	// StorageUnavailable, VMNotFound, Locked, Stopped or BackupFailed.
	// +optional
	Reason string `json:"reason,omitempty"`

	// Message describes a failure in one sentence.
	// +optional
	Message string `json:"message,omitempty"`

	// Volume of the backup, such as nfs:backup/vzdump-qemu-100-2026_11_22-02_30_01.vma.zst.
	// +optional
	Volume string `json:"volume,omitempty"`

	// Size of the backup in bytes, once Proxmox VE lists it.
	// +optional
	Size *int64 `json:"size,omitempty"`

	// Task of the run in Proxmox VE (UPID), which has its log.
	Task string `json:"task"`
}
