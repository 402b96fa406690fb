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

package backupjob

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/config"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/proxmox/backuplog"
)

// TypeFresh is the condition that is True while each guest has a backup that is younger than
// maxAgeHours.
const TypeFresh xpv2.ConditionType = "Fresh"

// Reasons of the condition Fresh.
const (
	ReasonFresh              xpv2.ConditionReason = "Fresh"
	ReasonStale              xpv2.ConditionReason = "Stale"
	ReasonStorageUnavailable xpv2.ConditionReason = "StorageUnavailable"
	ReasonNotDeclared        xpv2.ConditionReason = "NotDeclared"
)

// judge shows the guests with their newest backups and their last runs, and sets the condition Fresh if the spec asks for it. One list of the storage
// serves all jobs.
func (i inspector) judge(ctx context.Context, v view, t *target) error {
	vms, err := v.MachineVMs(ctx)
	if err != nil {
		return err
	}
	found, err := i.newest(ctx, v, t, vms)
	o := v.Resource.Observation()
	before := o.Guests
	if err == nil && found.readable {
		o.Guests = found.guests
	}
	i.showRuns(ctx, v, t, vms, before)
	measure(o.Guests, found.backups)
	switch hours := v.Resource.Parameters().MaxAgeHours; {
	case hours == nil && v.Resource.GetCondition(TypeFresh).Reason != "":
		set(v, corev1.ConditionUnknown, ReasonNotDeclared, "maxAgeHours is not set")
	case hours == nil: // The job matches its spec, whether or not its backups can be listed now.
	case err != nil:
		return err
	case !found.readable:
		set(v, corev1.ConditionUnknown, ReasonStorageUnavailable, fmt.Sprintf(
			"storage %q is available on no node: see on its nodes what is wrong with it (pvesm status)", t.storage))
	default:
		i.judgeAge(v, *hours)
	}
	return nil
}

// A listing holds the contents of a job's storage.
type listing struct {
	backups  map[int][]proxmox.Volume  // by VMID
	guests   []v1alpha1.BackupJobGuest // with their newest backups
	readable bool                      // on any node
}

// newest finds the newest backups of the guests. If a cached list shows that a guest has no backup of the required age, the list is read again:
// Fresh, or Relaxed if the condition already reports it.
func (i inspector) newest(ctx context.Context, v view, t *target, vms map[int]config.MachineVM) (listing, error) {
	l, err := list(ctx, v, t, vms, inventory.Stable)
	hours := v.Resource.Parameters().MaxAgeHours
	if err != nil || !l.readable || hours == nil || len(i.stale(l.guests, *hours)) == 0 {
		return l, err
	}
	if v.Resource.GetCondition(TypeFresh).Reason == ReasonStale {
		return list(ctx, v, t, vms, inventory.Relaxed)
	}
	return list(ctx, v, t, vms, inventory.Fresh)
}

// clockTolerance is how far the clock of a node may lag behind that of the provider.
const clockTolerance = 5 * time.Minute

// guestsOf returns the guests of a job, with the newest of their backups.
func guestsOf(t *target, vms map[int]config.MachineVM, all map[int][]proxmox.Volume) []v1alpha1.BackupJobGuest {
	guests := make([]v1alpha1.BackupJobGuest, 0, len(t.guests))
	for _, id := range t.guests {
		g := v1alpha1.BackupJobGuest{VMID: int32(id), Machine: vms[id].Machine} //nolint:gosec // A VMID.
		created := vms[id].Created.Add(-clockTolerance)
		for _, b := range all[id] {
			at := time.Unix(b.Changed, 0)
			if at.After(created) && (g.LastBackup == nil || at.After(g.LastBackup.Time)) {
				g.LastBackup = new(metav1.NewTime(at))
			}
		}
		guests = append(guests, g)
	}
	return guests
}

// stale returns the VMIDs of the guests without a backup in the last hours.
func (i inspector) stale(guests []v1alpha1.BackupJobGuest, hours int32) []string {
	limit := i.now().Add(-time.Duration(hours) * time.Hour)
	var stale []string
	for _, g := range guests {
		if g.LastBackup == nil || g.LastBackup.Time.Before(limit) {
			stale = append(stale, fmt.Sprint(g.VMID))
		}
	}
	return stale
}

// judgeAge judges the age of the newest backups.
func (i inspector) judgeAge(v view, hours int32) {
	stale := i.stale(v.Resource.Observation().Guests, hours)
	if len(stale) == 0 {
		set(v, corev1.ConditionTrue, ReasonFresh, "")
		return
	}
	set(v, corev1.ConditionFalse, ReasonStale, fmt.Sprintf("no backup of the last %d hours: %s", hours, few(stale)))
}

// few joins a limited number of items for a sentence.
func few(all []string) string {
	const most = 20
	if n := len(all); n > most {
		all = append(all[:most:most], fmt.Sprintf("and %d more", n-most))
	}
	return strings.Join(all, ", ")
}

func set(v view, status corev1.ConditionStatus, reason xpv2.ConditionReason, message string) {
	c := xpv2.Condition{Type: TypeFresh, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.Now()}
	v.Resource.SetConditions(c.WithObservedGeneration(v.Resource.GetGeneration()))
}

// list finds the backups on the storage of a job, by lists that are at most maxAge old. A shared storage is listed once. Backups that a backup server
// has found to be damaged are left out.
func list(ctx context.Context, v view, t *target, vms map[int]config.MachineVM, maxAge time.Duration) (listing, error) {
	all, err := v.Inventory.Storages(ctx)
	if err != nil {
		return listing{}, err
	}
	all = slices.DeleteFunc(slices.Clone(all), func(s proxmox.Storage) bool { return s.Name != t.storage || s.Status != "available" })
	slices.SortFunc(all, func(a, b proxmox.Storage) int { return strings.Compare(a.Node, b.Node) })
	l := listing{backups: map[int][]proxmox.Volume{}, readable: len(all) > 0}
	for _, s := range all {
		volumes, err := v.Inventory.Volumes(ctx, s.Node, t.storage, "backup", maxAge)
		if err != nil {
			return listing{}, err
		}
		for _, b := range volumes {
			if !backuplog.Damaged(b) {
				l.backups[b.VMID] = append(l.backups[b.VMID], b)
			}
		}
		if s.Shared {
			break
		}
	}
	l.guests = guestsOf(t, vms, l.backups)
	return l, nil
}
