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
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// TypeFresh is the condition that is True while each guest has a backup that is younger than
// maxAgeHours.
const TypeFresh xpv2.ConditionType = "Fresh"

// Reasons of the condition Fresh.
const (
	ReasonFresh       xpv2.ConditionReason = "Fresh"
	ReasonStale       xpv2.ConditionReason = "Stale"
	ReasonUnavailable xpv2.ConditionReason = "StorageUnavailable"
	ReasonNotDeclared xpv2.ConditionReason = "NotDeclared"
)

// judge sets the condition Fresh, if the spec asks for it. One list of the storage serves all
// jobs.
func (i inspector) judge(ctx context.Context, v view, t *target) error {
	mg, hours := v.Resource, v.Resource.Parameters().MaxAgeHours
	o := mg.Observation()
	if hours == nil {
		o.Guests = nil
		if mg.GetCondition(TypeFresh).Reason != "" {
			set(v, corev1.ConditionUnknown, ReasonNotDeclared, "maxAgeHours is not set")
		}
		return nil
	}
	newest, readable, err := backups(ctx, v, t.storage)
	if err != nil {
		return err
	}
	if !readable {
		set(v, corev1.ConditionUnknown, ReasonUnavailable, fmt.Sprintf(
			"storage %q is available on no node: see on its nodes what is wrong with it (pvesm status)", t.storage))
		return nil
	}
	limit := i.now().Add(-time.Duration(*hours) * time.Hour)
	var stale []string
	o.Guests = nil
	for _, id := range t.guests {
		g := v1alpha1.BackupJobGuest{VMID: int32(id)} //nolint:gosec // A VMID.
		if at, ok := newest[id]; ok {
			g.LastBackup = new(metav1.Unix(at, 0))
		}
		if g.LastBackup == nil || g.LastBackup.Time.Before(limit) {
			stale = append(stale, fmt.Sprint(id))
		}
		o.Guests = append(o.Guests, g)
	}
	if len(stale) == 0 {
		set(v, corev1.ConditionTrue, ReasonFresh, "")
		return nil
	}
	set(v, corev1.ConditionFalse, ReasonStale, fmt.Sprintf("no backup of the last %d hours: %s", *hours, few(stale)))
	return nil
}

// few of many words, for a sentence.
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

// backups returns when the newest backup of each guest on a storage was made, by VMID, and
// whether the storage can be read anywhere. A shared storage is listed once.
func backups(ctx context.Context, v view, storage string) (newest map[int]int64, readable bool, err error) {
	all, err := v.Inventory.Storages(ctx)
	if err != nil {
		return nil, false, err
	}
	all = slices.DeleteFunc(slices.Clone(all), func(s proxmox.Storage) bool { return s.Name != storage || s.Status != "available" })
	slices.SortFunc(all, func(a, b proxmox.Storage) int { return strings.Compare(a.Node, b.Node) })
	newest = map[int]int64{}
	for _, s := range all {
		volumes, err := v.Inventory.Volumes(ctx, s.Node, storage, "backup", inventory.Stable)
		if err != nil {
			return nil, false, err
		}
		for _, b := range volumes {
			newest[b.VMID] = max(newest[b.VMID], b.Changed)
		}
		if s.Shared {
			break
		}
	}
	return newest, len(all) > 0, nil
}
