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

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

func TestUpToDate(t *testing.T) {
	differs := []v1alpha1.OptionDifference{{Option: "comment"}, {Option: "nodes"}}
	exists := Problem{Reason: ReasonAlreadyExists, Message: "pool exists"}
	cases := map[string]struct {
		reason     string
		difference []v1alpha1.OptionDifference
		problems   []Problem
		want       xpv2.Condition
	}{
		"Equal": {
			reason: "Without a difference or a problem the condition is True.",
			want:   xpv2.Condition{Status: corev1.ConditionTrue, Reason: ReasonUpToDate},
		},
		"Different": {
			reason: "The options that differ are named.", difference: differs,
			want: xpv2.Condition{Status: corev1.ConditionFalse, Reason: ReasonDifferent, Message: "in Proxmox VE differ: comment, nodes"},
		},
		"Problem": {
			reason: "A problem gives the reason, whatever differs.", difference: differs[:1], problems: []Problem{exists},
			want: xpv2.Condition{Status: corev1.ConditionFalse, Reason: ReasonAlreadyExists, Message: "in Proxmox VE differ: comment; pool exists"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.want.Type = TypeUpToDate
			got := UpToDate(tc.difference, tc.problems...)
			if diff := cmp.Diff(tc.want, got, cmpopts.IgnoreFields(xpv2.Condition{}, "LastTransitionTime")); diff != "" {
				t.Errorf("%s UpToDate(): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
