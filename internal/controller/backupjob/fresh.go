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

// judge shows the guests with their newest backups and the last runs for them, and sets the condition Fresh if the spec asks for it. One list of
// the storage serves all jobs.
func (i inspector) judge(ctx context.Context, v view, t *target) error {
	vms, err := v.MachineVMs(ctx)
	if err != nil {
		return err
	}
	all, readable, err := backups(ctx, v, t.storage)
	o := v.Resource.Observation()
	before := o.Guests
	if err == nil && readable {
		o.Guests = guestsOf(t, vms, all)
	}
	i.showRuns(ctx, v, t, vms, before)
	measure(o.Guests, all)
	switch hours := v.Resource.Parameters().MaxAgeHours; {
	case hours == nil && v.Resource.GetCondition(TypeFresh).Reason != "":
		set(v, corev1.ConditionUnknown, ReasonNotDeclared, "maxAgeHours is not set")
	case hours == nil: // The job is as its spec asks, whether its backups can be listed now or not.
	case err != nil:
		return err
	case !readable:
		set(v, corev1.ConditionUnknown, ReasonStorageUnavailable, fmt.Sprintf(
			"storage %q is available on no node: see on its nodes what is wrong with it (pvesm status)", t.storage))
	default:
		i.judgeAge(v, *hours)
	}
	return nil
}

// clockTolerance is how far the clock of a node may be behind that of the provider.
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

// judgeAge judges the age of the newest backups.
func (i inspector) judgeAge(v view, hours int32) {
	limit := i.now().Add(-time.Duration(hours) * time.Hour)
	var stale []string
	for _, g := range v.Resource.Observation().Guests {
		if g.LastBackup == nil || g.LastBackup.Time.Before(limit) {
			stale = append(stale, fmt.Sprint(g.VMID))
		}
	}
	if len(stale) == 0 {
		set(v, corev1.ConditionTrue, ReasonFresh, "")
		return
	}
	set(v, corev1.ConditionFalse, ReasonStale, fmt.Sprintf("no backup of the last %d hours: %s", hours, few(stale)))
}

// few returns a few of many words, for a sentence.
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

// backups returns the backups of each guest on a storage, by VMID, and whether the storage can be read anywhere. A shared
// storage is listed once. What a backup server has found to be damaged is left out.
func backups(ctx context.Context, v view, storage string) (found map[int][]proxmox.Volume, readable bool, err error) {
	all, err := v.Inventory.Storages(ctx)
	if err != nil {
		return nil, false, err
	}
	all = slices.DeleteFunc(slices.Clone(all), func(s proxmox.Storage) bool { return s.Name != storage || s.Status != "available" })
	slices.SortFunc(all, func(a, b proxmox.Storage) int { return strings.Compare(a.Node, b.Node) })
	found = map[int][]proxmox.Volume{}
	for _, s := range all {
		volumes, err := v.Inventory.Volumes(ctx, s.Node, storage, "backup", inventory.Stable)
		if err != nil {
			return nil, false, err
		}
		for _, b := range volumes {
			if !backuplog.Damaged(b) {
				found[b.VMID] = append(found[b.VMID], b)
			}
		}
		if s.Shared {
			break
		}
	}
	return found, len(all) > 0, nil
}
