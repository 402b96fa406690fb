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

// A SnapshotPolicy takes snapshots of Machines on a schedule, and removes those that
// its retention does not keep.
//
// +proxmox:kind=SnapshotPolicy,shortName=psnappol
// +kubebuilder:printcolumn:name="SCHEDULE",type="string",JSONPath=".spec.forProvider.schedule"
// +kubebuilder:printcolumn:name="SUSPEND",type="boolean",JSONPath=".spec.forProvider.suspend"
// +kubebuilder:printcolumn:name="MACHINES",type="integer",JSONPath=".status.atProvider.machines"
// +kubebuilder:printcolumn:name="SNAPSHOTS",type="integer",JSONPath=".status.atProvider.snapshots"
// +kubebuilder:printcolumn:name="LAST",type="date",JSONPath=".status.atProvider.lastScheduleTime"
// +kubebuilder:printcolumn:name="NEXT",type="string",JSONPath=".status.atProvider.nextScheduleTime",priority=1

// SnapshotPolicyParameters describe when snapshots are taken, of which Machines, and
// which are kept. The provider configuration of the policy only selects the provider
// that manages it: each Snapshot has the provider configuration of its Machine.
//
// +kubebuilder:validation:XValidation:rule="has(self.retention) != (has(self.snapshotTemplate) && has(self.snapshotTemplate.removalPolicy) && self.snapshotTemplate.removalPolicy == 'Retain')",message="set retention, or snapshotTemplate.removalPolicy to Retain, with which nothing is ever removed"
type SnapshotPolicyParameters struct {
	// Schedule of the runs: minute (0-59), hour (0-23), day of the month (1-31), month
	// (1-12) and day of the week (0-6, 0 is Sunday), each *, a number, a range, a list or
	// steps such as */2. If both days are restricted, a match of either is enough, as in
	// cron. "0 3 * * 1" is Monday at 3:00.
	// +kubebuilder:validation:MinLength=9
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^(\*|[0-5]?[0-9](-[0-5]?[0-9])?)(/[1-9][0-9]?)?(,(\*|[0-5]?[0-9](-[0-5]?[0-9])?)(/[1-9][0-9]?)?)* (\*|([01]?[0-9]|2[0-3])(-([01]?[0-9]|2[0-3]))?)(/[1-9][0-9]?)?(,(\*|([01]?[0-9]|2[0-3])(-([01]?[0-9]|2[0-3]))?)(/[1-9][0-9]?)?)* (\*|(0?[1-9]|[12][0-9]|3[01])(-(0?[1-9]|[12][0-9]|3[01]))?)(/[1-9][0-9]?)?(,(\*|(0?[1-9]|[12][0-9]|3[01])(-(0?[1-9]|[12][0-9]|3[01]))?)(/[1-9][0-9]?)?)* (\*|(0?[1-9]|1[0-2])(-(0?[1-9]|1[0-2]))?)(/[1-9][0-9]?)?(,(\*|(0?[1-9]|1[0-2])(-(0?[1-9]|1[0-2]))?)(/[1-9][0-9]?)?)* (\*|[0-6](-[0-6])?)(/[1-9][0-9]?)?(,(\*|[0-6](-[0-6])?)(/[1-9][0-9]?)?)*$`
	Schedule string `json:"schedule"`

	// TimeZone of the schedule and of the days, weeks and months of the retention: a name
	// of the IANA time zone database such as Europe/Oslo. If a change of clocks skips the
	// time of a run, the run begins at the moment of the change. If the clock shows the
	// time twice, the run begins the first time. An hourly schedule continues through
	// both changes. Default: UTC.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$`
	// +kubebuilder:validation:XValidation:rule="self != 'Local' && timestamp('2000-01-01T00:00:00Z').getHours(self) >= 0",message="unknown time zone"
	TimeZone *string `json:"timeZone,omitempty"`

	// MachineSelector selects the Machines by their labels, in the namespace of the
	// policy, or in the cluster-scoped group. An empty one selects all.
	MachineSelector metav1.LabelSelector `json:"machineSelector"`

	// SnapshotTemplate is the template for the Snapshots.
	// +optional
	SnapshotTemplate *SnapshotPolicyTemplate `json:"snapshotTemplate,omitempty"`

	// Retention of the snapshots of each Machine. Only Snapshots that this policy has
	// made are removed. A Snapshot whose removalPolicy was set to Retain is neither
	// removed nor counted.
	// +optional
	Retention *SnapshotRetention `json:"retention,omitempty"`

	// MaxConcurrent is the maximum number of snapshots that are taken or removed at the
	// same time, 1 to 100. Default: 4.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	MaxConcurrent *int32 `json:"maxConcurrent,omitempty"`

	// StartingDeadlineMinutes is how long after its scheduled time a snapshot can begin,
	// in minutes, 1 to 44640. A snapshot that could not begin by then is missed. Default:
	// until the next run.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=44640
	StartingDeadlineMinutes *int32 `json:"startingDeadlineMinutes,omitempty"`

	// Suspend stops the policy: no snapshot is taken or removed. Operations that have
	// begun are finished. Runs during that time are not made up for. Default: false.
	// +optional
	Suspend *bool `json:"suspend,omitempty"`
}

// SnapshotPolicyTemplate is the template for the Snapshots of a policy.
type SnapshotPolicyTemplate struct {
	// Description of the snapshots, up to 4000 characters. PVE: description.
	// +optional
	// +kubebuilder:validation:MaxLength=4000
	Description *string `json:"description,omitempty"`

	// IncludeMemory saves the memory of the VMs that run. Default: false. PVE: vmstate.
	// +optional
	IncludeMemory *bool `json:"includeMemory,omitempty"`

	// RemovalPolicy of the Snapshots: Delete removes the snapshot together with its
	// Snapshot. Retain keeps it, makes the Snapshot block the deletion of its Machine,
	// and excludes retention. Default: Delete.
	// +optional
	// +kubebuilder:validation:Enum=Delete;Retain
	RemovalPolicy *SnapshotRemovalPolicy `json:"removalPolicy,omitempty"`
}

// SnapshotRetention determines which snapshots of a Machine are kept, with the rules
// by which Proxmox VE prunes backups: the rules apply one after another, and a rule
// does not count the snapshots that an earlier rule keeps. Snapshots that no rule
// keeps are removed.
//
// +kubebuilder:validation:MinProperties=1
type SnapshotRetention struct {
	// Last keeps this number of the newest snapshots, 1 to 1000. PVE: keep-last.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	Last *int32 `json:"last,omitempty"`

	// Hourly keeps the last snapshot of each of this number of hours, 1 to 1000. PVE:
	// keep-hourly.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	Hourly *int32 `json:"hourly,omitempty"`

	// Daily keeps the last snapshot of each of this number of days, 1 to 1000. PVE:
	// keep-daily.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	Daily *int32 `json:"daily,omitempty"`

	// Weekly keeps the last snapshot of each of this number of weeks, which begin on
	// Monday, 1 to 1000. PVE: keep-weekly.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	Weekly *int32 `json:"weekly,omitempty"`

	// Monthly keeps the last snapshot of each of this number of months, 1 to 1000. PVE:
	// keep-monthly.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	Monthly *int32 `json:"monthly,omitempty"`
}

// SnapshotPolicyObservation is the observed state of a policy.
type SnapshotPolicyObservation struct {
	// LastScheduleTime is the time of the last run that began.
	// +optional
	LastScheduleTime *metav1.Time `json:"lastScheduleTime,omitempty"`

	// NextScheduleTime is the time of the next run; not set while the policy is
	// suspended. It is also set if the management policies allow no run.
	// +optional
	NextScheduleTime *metav1.Time `json:"nextScheduleTime,omitempty"`

	// ScheduledUntil is the time up to which the schedule was processed: runs until then
	// began, were missed, or were skipped while the policy was suspended.
	// +optional
	ScheduledUntil *metav1.Time `json:"scheduledUntil,omitempty"`

	// ObservedSchedule is the schedule and its time zone as they were last seen: times
	// before a change are not runs of the new schedule.
	// +optional
	ObservedSchedule string `json:"observedSchedule,omitempty"`

	// LastMissedTime is the time of the last run that was missed as a whole.
	// +optional
	LastMissedTime *metav1.Time `json:"lastMissedTime,omitempty"`

	// ActiveRun is the time of the current run; not set if there is none.
	// +optional
	ActiveRun *metav1.Time `json:"activeRun,omitempty"`

	// Active are the Snapshots that are being taken or removed.
	// +optional
	// +listType=atomic
	Active []string `json:"active,omitempty"`

	// Pending is the number of Machines that wait for their snapshot of the current run.
	// +optional
	Pending int32 `json:"pending,omitempty"`

	// Machines is the number of selected Machines.
	// +optional
	Machines int32 `json:"machines,omitempty"`

	// Snapshots is the number of existing Snapshots that this policy has taken.
	// +optional
	Snapshots int32 `json:"snapshots,omitempty"`

	// MachineStatuses are the states of the Machines that are selected or have snapshots
	// of this policy.
	// +optional
	// +listType=map
	// +listMapKey=name
	MachineStatuses []SnapshotPolicyMachineStatus `json:"machineStatuses,omitempty"`

	// Difference between the retention and the existing Snapshots: those that the
	// retention removes next, or would remove if the management policies allowed it, the
	// oldest of each Machine first. The option is the name of a Snapshot, its current
	// value the Machine and the time of the run. Up to 50; the condition UpToDate has
	// their number.
	// +optional
	// +listType=atomic
	Difference []OptionDifference `json:"difference,omitempty"`
}

// SnapshotPolicyMachineStatus is the state of a Machine in a policy.
type SnapshotPolicyMachineStatus struct {
	// Name of the Machine.
	Name string `json:"name"`

	// LastScheduleTime is the time of the last run that began a snapshot.
	// +optional
	LastScheduleTime *metav1.Time `json:"lastScheduleTime,omitempty"`

	// NewestTime is when the newest snapshot was taken.
	// +optional
	NewestTime *metav1.Time `json:"newestTime,omitempty"`

	// Newest is the name of the newest Snapshot.
	// +optional
	Newest string `json:"newest,omitempty"`

	// Snapshots is the number of existing Snapshots that this policy has taken.
	// +optional
	Snapshots int32 `json:"snapshots,omitempty"`

	// AttemptTime is when the last Snapshot of the Machine was made.
	// +optional
	AttemptTime *metav1.Time `json:"attemptTime,omitempty"`

	// Attempts is the number of failed attempts in the current run.
	// +optional
	Attempts int32 `json:"attempts,omitempty"`

	// RetryTime is when the next attempt begins.
	// +optional
	RetryTime *metav1.Time `json:"retryTime,omitempty"`

	// Message is the reason why there is no snapshot of the last run.
	// +optional
	Message string `json:"message,omitempty"`
}
