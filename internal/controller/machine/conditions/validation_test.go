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

package conditions

import (
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
)

func TestRefusalCondition(t *testing.T) {
	type want struct {
		Type   xpv2.ConditionType
		Reason xpv2.ConditionReason
	}
	cases := map[string]struct {
		reason string
		err    error
		want   want
	}{
		"Other":    {reason: "An error that is no refusal is one of creation.", err: errors.New("boom"), want: want{TypeVMCreated, ReasonCreationFailed}},
		"Creating": {reason: "A template that is missing is one of creation.", err: Reject(Creating, "boom"), want: want{TypeVMCreated, ReasonCreationFailed}},
		"Allocating": {
			reason: "A storage that is missing is one of resources.", err: errors.Wrap(Reject(Allocating, "boom"), "x"),
			want: want{TypeResourcesAllocated, ReasonAllocationFailed},
		},
		"Overcommit": {
			reason: "A node that is too small has too few of them.", err: Reject(Overcommitting, "boom"),
			want: want{TypeResourcesAllocated, ReasonInsufficientResources},
		},
		"Networking": {
			reason: "A bridge that is missing is one of the network.", err: Reject(Networking, "boom"),
			want: want{TypeNetworkConfigured, ReasonNetworkError},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := ofRejection(tc.err)
			if diff := cmp.Diff(tc.want, want{c.Type, c.Reason}); diff != "" || c.Message != tc.err.Error() {
				t.Errorf("\n%s\nrefusalCondition: %q, -want, +got:\n%s", tc.reason, c.Message, diff)
			}
		})
	}
}

func TestShowRefusal(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		before []error
		err    error
		want   map[xpv2.ConditionType]xpv2.ConditionReason
	}{
		"First": {
			reason: "Nothing is said of what has not been looked at.",
			err:    Reject(Allocating, "boom"),
			want:   map[xpv2.ConditionType]xpv2.ConditionReason{TypeResourcesAllocated: ReasonAllocationFailed},
		},
		"Other": {
			reason: "What was wrong before is not said beside what is wrong now.",
			before: []error{errors.New("no answer"), Reject(Networking, "no bridge")},
			err:    Reject(Allocating, "boom"),
			want: map[xpv2.ConditionType]xpv2.ConditionReason{
				TypeResourcesAllocated: ReasonAllocationFailed, TypeVMCreated: ReasonCreating, TypeNetworkConfigured: ReasonCreating,
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &namespaced.Machine{}
			for _, err := range append(tc.before, tc.err) {
				SetRejection(m, err)
			}
			got := map[xpv2.ConditionType]xpv2.ConditionReason{}
			for _, c := range []xpv2.ConditionType{TypeVMCreated, TypeResourcesAllocated, TypeNetworkConfigured} {
				if seen := m.GetCondition(c); seen.Reason != "" {
					got[c] = seen.Reason
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\nshowRefusal: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
