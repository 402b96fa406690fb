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

package configtest

import (
	"strings"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// A QuotaWarning is a case of a resource that was created although its tenant has a quota, which is not enforced.
type QuotaWarning struct {
	// Reason of the case.
	Reason string

	// Limit is how many of the resources there is room for.
	Limit int32

	// Refused is true if a rule would refuse it.
	Refused bool

	want xpv2.ConditionReason
}

// allowed is the reason of the condition TenantAllowed if there is no warning.
const allowed xpv2.ConditionReason = "Allowed"

// QuotaWarnings are the cases for each kind that counts.
func QuotaWarnings() map[string]QuotaWarning {
	return map[string]QuotaWarning{
		"Room":    {Reason: "What there is room for is allowed.", Limit: 1, want: allowed},
		"NoRoom":  {Reason: "What there is no room for is made, and would wait.", want: v1alpha1.ReasonQuotaExceeded},
		"Refused": {Reason: "A rule is told before a quota.", Refused: true, want: v1alpha1.ReasonTenantRefused},
	}
}

// Check checks what the condition of a resource reports, which does not change while nothing changes. A resource for which there was no room is
// allowed once there is some.
func (w QuotaWarning) Check(t *testing.T, mg resource.Managed, words string, reconcile func() bool, limit func(int32)) {
	t.Helper()
	is := mg.GetCondition(v1alpha1.TypeTenantAllowed)
	waits := strings.HasPrefix(is.Message, "would wait: ") && strings.Contains(is.Message, words)
	if is.Reason != w.want || waits != (w.want == v1alpha1.ReasonQuotaExceeded) {
		t.Errorf("%s\nwant %s with %q, got %+v", w.Reason, w.want, words, is)
	}
	version := mg.GetResourceVersion()
	for range 3 {
		reconcile()
	}
	if got := mg.GetResourceVersion(); got != version {
		t.Errorf("%s\nwant nothing written while nothing changes, got version %s instead of %s: %+v", w.Reason, got, version, mg)
	}
	if w.Refused {
		return
	}
	limit(1)
	reconcile()
	if is = mg.GetCondition(v1alpha1.TypeTenantAllowed); is.Reason != allowed {
		t.Errorf("%s\nwant it allowed once there is room, got %+v", w.Reason, is)
	}
}
