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
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestNeedless(t *testing.T) {
	conflict := kerrors.NewConflict(
		schema.GroupResource{Resource: "machines"}, "web",
		errors.New("the object has been modified; please apply your changes to the latest version and try again"),
	)
	cases := map[string]struct {
		reason string
		tells  bool
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
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := needless(tc.tells)(nil, tc.event); got != tc.want {
				t.Errorf("%s needless(): want %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}
