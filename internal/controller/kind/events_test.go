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

package kind

import (
	"strings"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/record"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
)

func TestNeedless(t *testing.T) {
	conflict := kerrors.NewConflict(
		schema.GroupResource{Resource: "machines"}, "web",
		errors.New("the object has been modified; please apply your changes to the latest version and try again"),
	)
	cases := map[string]struct {
		reason string
		tells  bool
		before xpv2.Condition
		event  event.Event
		want   bool
	}{
		"Requested": {
			reason: "An update that was requested is no change.", tells: true,
			event: event.Normal(reasonUpdated, "Successfully requested update of external resource"), want: true,
		},
		"RequestedAlone": {
			reason: "A kind without events of its own keeps that one.",
			event:  event.Normal(reasonUpdated, "Successfully requested update of external resource"),
		},
		"Conflict": {
			reason: "A conflict is read again and is no fault.",
			event:  event.Warning("CannotUpdateExternalResource", errors.Wrap(conflict, "cannot write annotations")), want: true,
		},
		"Fault": {reason: "Faults are told.", tells: true, event: event.Warning("CannotUpdateExternalResource", errors.New("boom"))},
		"Again": {
			reason: "Each once.", before: xpv2.ReconcileError(errors.New("update failed: boom")),
			event: event.Warning("CannotUpdateExternalResource", errors.New("boom")), want: true,
		},
		"Another": {
			reason: "Another one is told.", before: xpv2.ReconcileError(errors.New("update failed: boom")),
			event: event.Warning("CannotUpdateExternalResource", errors.New("bang")),
		},
		"Later": {
			reason: "So is one that comes back.", before: xpv2.ReconcileSuccess(),
			event: event.Warning("CannotUpdateExternalResource", errors.New("boom")),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pool := &namespaced.Pool{}
			pool.SetConditions(tc.before)
			if got := needless(tc.tells)(pool, tc.event); got != tc.want {
				t.Errorf("%s needless(): want %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}

// The managed reconciler annotates its events with the external name of each object.
func TestFilteringRecorder(t *testing.T) {
	kube := record.NewFakeRecorder(4)
	filters := []event.FilterFn{needless(true)}
	r := filteringRecorder{next: event.NewAPIRecorder(kube), filters: filters}.WithAnnotations("external-name", "10000")
	r.Event(&namespaced.Machine{}, event.Normal(reasonUpdated, "Successfully requested update of external resource"))
	r.Event(&namespaced.Machine{}, event.Normal("Changed", "cores 2 → 4"))
	close(kube.Events)
	var told []string
	for e := range kube.Events {
		told = append(told, e)
	}
	if len(told) != 1 || !strings.Contains(told[0], "cores 2 → 4") {
		t.Errorf("want what has changed told alone, got %q", told)
	}
}
