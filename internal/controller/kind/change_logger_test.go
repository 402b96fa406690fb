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
	"context"
	"testing"

	changelogs "github.com/crossplane/crossplane-runtime/v2/apis/changelogs/proto/v1alpha1"
	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/google/go-cmp/cmp"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// A changeLog stores the details of what was logged.
type changeLog []managed.AdditionalDetails

func (l *changeLog) Log(_ context.Context, _ resource.Managed, _ changelogs.OperationType, _ error, d managed.AdditionalDetails) error {
	*l = append(*l, d)
	return nil
}

func TestChangeLogger(t *testing.T) {
	const update, create = changelogs.OperationType_OPERATION_TYPE_UPDATE, changelogs.OperationType_OPERATION_TYPE_CREATE
	different := []v1alpha1.OptionDifference{{Option: "memory", Current: "4096", Desired: "8192"}}
	boom := errors.New("boom")
	cases := map[string]struct {
		reason     string
		difference []v1alpha1.OptionDifference
		outcome    outcome
		op         changelogs.OperationType
		err        error
		want       changeLog
	}{
		"Different": {
			reason: "An update says what differed.", difference: different, op: update,
			want: changeLog{{"difference": "memory 4096 → 8192", "call": "PUT"}},
		},
		"Failed": {
			reason: "An update that failed says what differed.", difference: different, op: update, outcome: outcome{err: boom}, err: boom,
			want: changeLog{{"difference": "memory 4096 → 8192", "call": "PUT"}},
		},
		"Equal":    {reason: "What differs in nothing has no difference.", op: update, want: changeLog{{"call": "PUT"}}},
		"Creation": {reason: "A creation is made of the whole spec.", difference: different, op: create, want: changeLog{{"call": "PUT"}}},
		"Waits":    {reason: "What waits for its turn has not been done.", difference: different, op: update, outcome: outcome{err: Wait(boom)}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			mg, log := &namespaced.Pool{}, changeLog(nil)
			mg.SetConditions(UpToDate(tc.difference))
			details := managed.AdditionalDetails{"call": "PUT"}
			if err := (changeLogger{next: &log}).Log(withOutcome(t.Context(), &tc.outcome), mg, tc.op, tc.err, details); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, log); diff != "" {
				t.Errorf("%s Log(): -want, +got:\n%s", tc.reason, diff)
			}
			if len(details) != 1 {
				t.Errorf("the details of the caller must stay, got %v", details)
			}
		})
	}
}

func TestChangeLoggerWithoutDetails(t *testing.T) {
	mg, log := &namespaced.Pool{}, changeLog(nil)
	mg.SetConditions(UpToDate([]v1alpha1.OptionDifference{{Option: "comment", Desired: "a"}}))
	if err := (changeLogger{next: &log}).Log(t.Context(), mg, changelogs.OperationType_OPERATION_TYPE_UPDATE, nil, nil); err != nil {
		t.Fatal(err)
	}
	if len(log) != 1 || log[0][detailDifference] == "" {
		t.Errorf("the difference must be told without other details, got %v", log)
	}
}
