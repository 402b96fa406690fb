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

package snapshot_test

import (
	"testing"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/config/configtest"
)

// TestQuotaWarned checks that a snapshot is taken even if there is no room for it in a quota that is not enforced.
func TestQuotaWarned(t *testing.T) {
	for name, tc := range configtest.QuotaWarnings() {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, configtest.Way{Scope: configtest.Scopes()["Cluster"], Version: "9.2"})
			limit := func(n int32) {
				team := configtest.Team("a", vmid, vmid, "local-lvm")
				team.Quota = &v1alpha1.TenantQuota{Snapshots: &n}
				configtest.SetTenants(t, l.Kube, v1alpha1.TenantWarn, team)
			}
			limit(tc.Limit)
			spec := ofVMID
			if !tc.Refused {
				l.Machine(uuid)
				spec = ofMachine
			}
			s := l.snapshot("s1", spec)
			l.Until(s, "it is taken", configtest.Settled(s))
			if _, taken := l.snapshots()["s1"]; !taken {
				t.Errorf("%s\nwant a snapshot", tc.Reason)
			}
			tc.Check(t, s, "snapshots: 1 more, of 0 0 are used by 0 resources", func() bool { return l.Reconcile(s) }, limit)
		})
	}
}
