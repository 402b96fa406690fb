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

package machine

import (
	"testing"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/poll"
)

func TestPollInterval(t *testing.T) {
	waiting := conditions.New(conditions.TypeNetworkConfigured, corev1.ConditionFalse, conditions.ReasonWaitingForAddress, "")
	cases := map[string]struct {
		reason     string
		conditions []xpv2.Condition
		uptime     time.Duration
		configured time.Duration
		want       time.Duration
	}{
		"New": {reason: "A Machine that is not ready is looked at often.", configured: time.Minute, want: 5 * time.Second},
		"Unready": {
			reason: "A Machine that is not ready any more is looked at often.", conditions: []xpv2.Condition{xpv2.Unavailable()}, configured: time.Minute,
			want: 5 * time.Second,
		},
		"Ready": {
			reason: "A Machine that is ready is looked at as configured.", conditions: []xpv2.Condition{xpv2.Available()}, configured: time.Minute,
			want: time.Minute,
		},
		"Fast": {reason: "A shorter interval that was configured stands.", configured: time.Second, want: time.Second},
		"Addresses": {
			reason: "A guest that booted lately is about to report addresses.", conditions: []xpv2.Condition{xpv2.Available(), waiting},
			uptime: 30 * time.Second, configured: time.Minute, want: 5 * time.Second,
		},
		"NeverWill": {
			reason: "One that booted long ago is not.", conditions: []xpv2.Condition{xpv2.Available(), waiting}, uptime: time.Hour,
			configured: time.Minute, want: time.Minute,
		},
		"NotRunning": {
			reason: "One that does not run is not either.", conditions: []xpv2.Condition{xpv2.Available(), waiting}, configured: time.Minute,
			want: time.Minute,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m := &namespaced.Machine{}
			m.SetConditions(tc.conditions...)
			now := time.Unix(1_800_000_000, 0)
			if tc.uptime > 0 {
				m.Observation().StartedAt = &metav1.Time{Time: now.Add(-tc.uptime)}
			}
			if got := poll.Intervals(func() time.Time { return now })(m, tc.configured); got != tc.want {
				t.Errorf("\n%s\nwant %v, got %v", tc.reason, tc.want, got)
			}
		})
	}
}

func TestVMIDRange(t *testing.T) {
	if got := (&v1alpha1.ProviderConfigSpec{}).VMIDs(); got != (v1alpha1.VMIDRange{Min: 10000, Max: 99999}) {
		t.Errorf("The default is %v", got)
	}
	own := v1alpha1.VMIDRange{Min: 500, Max: 600}
	if got := (&v1alpha1.ProviderConfigSpec{VMIDRange: &own}).VMIDs(); got != own {
		t.Errorf("want %v, got %v", own, got)
	}
}
