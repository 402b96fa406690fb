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

// Package poll decides how soon a Machine is reconciled again.
package poll

import (
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/poweraction"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/restore"
)

// Intervals between the reconciles of a Machine whose state is about to change. The end of our own tasks also wakes it.
const (
	unready = 5 * time.Second

	// Addresses is the interval for a Machine whose guest is to report addresses.
	Addresses = 5 * time.Second

	// AddressesWithin is how long after its start a guest may be expected to report addresses.
	AddressesWithin = 10 * time.Minute
)

// Intervals returns the hook that determines how soon a Machine is reconciled again.
func Intervals(now func() time.Time) managed.PollIntervalHook {
	return func(mg resource.Managed, configured time.Duration) time.Duration {
		if m, ok := mg.(object.Machine); ok {
			return Interval(m, configured, now())
		}
		return configured
	}
}

// Interval returns the interval after which a Machine is reconciled again.
func Interval(m object.Machine, configured time.Duration, now time.Time) time.Duration {
	started := m.Observation().StartedAt
	waitsForAddress := m.GetCondition(conditions.TypeNetworkConfigured).Reason == conditions.ReasonWaitingForAddress &&
		started != nil && now.Sub(started.Time) < AddressesWithin
	switch {
	case m.GetCondition(conditions.TypeVMCreated).Reason == conditions.ReasonWaitingForImage, restore.WaitsForBackup(m):
		return configured // The Image or the Backup wakes it.
	case m.GetCondition(xpv2.TypeReady).Status != corev1.ConditionTrue:
		return min(configured, unready)
	case waitsForAddress, poweraction.Due(m) != nil:
		return min(configured, Addresses)
	}
	return configured
}
