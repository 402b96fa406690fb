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

package quotas

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
	"github.com/vitistack/provider-proxmox/internal/tenancy/quota"
)

// unlisted is a cluster whose VMs cannot be listed.
type unlisted struct{}

func (unlisted) Guests(context.Context, time.Duration) ([]proxmox.Guest, error) {
	return nil, errors.New("no answer")
}

// sized returns a Machine with a number of cores.
func sized(name string, came int64, cores int32) *namespaced.Machine {
	m := machine(name)
	m.CreationTimestamp, m.Spec.ForProvider.CPU = metav1.Unix(came, 0), &v1alpha1.MachineCPU{Cores: &cores}
	m.SetManagementPolicies(xpv2.ManagementPolicies{xpv2.ManagementActionAll})
	return m
}

// warns shows with a Keeper whether a Machine would wait, and returns the condition. There is room for four cores.
func warns(t *testing.T, k *Keeper, m *namespaced.Machine, change func(*Warned)) xpv2.Condition {
	t.Helper()
	by := ask(m, &v1alpha1.TenantQuota{Cores: new(int32(4))}, 0)
	w := Warned{Resource: m, Config: by.Config, Tenants: by.Tenants, Tenant: by.Tenant, Inventory: guests{}}
	change(&w)
	k.ShowAllowed(t.Context(), w)
	return m.GetCondition(v1alpha1.TypeTenantAllowed)
}

func TestWarned(t *testing.T) {
	waited := &quota.ExceededError{Tenant: "team-a", Short: []quota.Shortage{{Name: quota.Cores, More: 3}}}
	unchanged := func(*Warned) {}
	fails := func(w *Warned) { w.Inventory = unlisted{} }
	cases := map[string]struct {
		reason string
		cores  int32
		shown  error
		change func(*Warned)
		want   xpv2.ConditionReason
		says   string
	}{
		"Fits": {reason: "What fits beside what came before is allowed.", cores: 2, change: unchanged, want: "Allowed"},
		"Short": {
			reason: "What does not fit would wait.", cores: 3, change: unchanged, want: v1alpha1.ReasonQuotaExceeded,
			says: "would wait: the quota of tenant \"team-a\" has no room: cores: 3 more, of 4 2 are used by 1 resource (first: 2)",
		},
		"Again": {reason: "What fits by now is allowed.", cores: 2, shown: waited, change: unchanged, want: "Allowed"},
		"NoQuota": {reason: "Nothing waits without a quota.", cores: 9, shown: waited, want: "Allowed", change: func(w *Warned) {
			w.Tenant = tenancy.TenantNamed([]v1alpha1.ProviderTenant{{Name: "team-a"}}, "team-a")
		}},
		"NoTenant": {reason: "Nothing is told of a resource that may do everything.", cores: 9, change: func(w *Warned) { w.Tenant = nil }},
		"Deleted": {reason: "Nothing is told again of what is being deleted.", cores: 9, change: func(w *Warned) {
			w.Resource.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(1, 0)})
		}},
		"Unknown":      {reason: "Nothing is warned of that cannot be told.", cores: 9, change: fails, want: "Allowed"},
		"UnknownAgain": {reason: "What was told stays while it cannot be told again.", cores: 9, shown: waited, change: fails, want: v1alpha1.ReasonQuotaExceeded},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			first, m := sized("first", 1, 2), sized("second", 2, tc.cores)
			if tc.shown != nil {
				tenancy.ShowAllowed(m, tc.shown)
			}
			a := newAPI(t, first, m.DeepCopy())
			is := warns(t, provider(a, "system"), m, tc.change)
			if is.Reason != tc.want || !strings.Contains(is.Message, tc.says) {
				t.Errorf("%s\nwant %q with %q, got %+v", tc.reason, tc.want, tc.says, is)
			}
			if n := a.calls.Load(); n > 0 {
				t.Errorf("%s\nwant no call about a ConfigMap, got %d", tc.reason, n)
			}
		})
	}
}

// TestWarnedMade checks that a resource that was created without room is reported until there is room, even if a refusal was shown meanwhile, and
// woken when a counted resource is deleted.
func TestWarnedMade(t *testing.T) {
	first, m := sized("first", 1, 2), sized("second", 2, 3)
	a := newAPI(t, first, m.DeepCopy())
	k, woken := provider(a, "system"), 0
	wake := func(w *Warned) { w.Wake = func() { woken++ } }
	if is := warns(t, k, m, wake); is.Status != corev1.ConditionFalse {
		t.Fatalf("want it told that there is no room, got %+v", is)
	}
	if err := k.Reason(m); err != nil {
		t.Errorf("want that it does not wait, got %v", err)
	}
	tenancy.ShowAllowed(m, errors.New("the VM is in no pool yet"))
	m.Status.AtProvider.UUID, m.Status.AtProvider.CPU = "x", &v1alpha1.MachineCPUObservation{Cores: 3, Sockets: 1}
	if is := warns(t, k, m, wake); is.Reason != v1alpha1.ReasonQuotaExceeded || !strings.Contains(is.Message, "cores: 3 more, of 4 2 are used by 1 resource") {
		t.Errorf("want it told as before, got %+v", is)
	}
	if k.gone("other"); woken != 0 {
		t.Errorf("want it left alone when others go, got woken %d times", woken)
	}
	if err := a.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	if k.gone("first"); woken != 1 {
		t.Errorf("want it woken once, got %d", woken)
	}
	if is := warns(t, k, m, wake); is.Status != corev1.ConditionTrue {
		t.Errorf("want it allowed once there is room, got %+v", is)
	}
	if is := warns(t, k, m, wake); is.Status != corev1.ConditionTrue {
		t.Errorf("want what is there allowed, got %+v", is)
	}
}
