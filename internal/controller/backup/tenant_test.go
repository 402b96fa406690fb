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

package backup_test

import (
	"testing"

	xpmeta "github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/backup"
	"github.com/vitistack/provider-proxmox/internal/controller/config/configtest"
	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
)

// teamOf returns a tenant that has the VM.
func teamOf(name string) v1alpha1.ProviderTenant {
	return configtest.Team(name, vmid-100, vmid+100, "nas")
}

// failed returns a Backup of a tenant whose first attempt has failed, so that its record is signed.
func (l *lab) failed() backup.Backup {
	l.Helper()
	configtest.SetTenants(l.T, l.Kube, v1alpha1.TenantRefuse, teamOf("a"))
	l.Machine(uuid)
	l.Inject(simulator.Fault{Task: "vzdump", TaskExit: "job errors", Count: 1})
	b := l.backup("b1", removed)
	l.Until(b, "it has failed", configtest.Says(b, xpv2.TypeReady, "BackupFailed"))
	if _, signed := l.recorded(b); !signed {
		l.Fatalf("want a record that is signed, got %v", b.GetAnnotations())
	}
	return b
}

// recorded returns what the provider has signed about a Backup.
func (l *lab) recorded(b backup.Backup) (tenancy.BackupRecord, bool) {
	l.Helper()
	return configtest.Records(l.T, l.Kube).Backup(b)
}

// TestTenantUnchecked checks that nothing is signed that is added to a record while no tenant is checked, even if the record was signed before.
func TestTenantUnchecked(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(l *lab, b backup.Backup)
	}{
		"Adopted": {reason: "A name is for users to write.", change: func(l *lab, b backup.Backup) {
			v := l.theirs("of others")
			l.Change(b, func() { xpmeta.SetExternalName(b, v.ID) })
		}},
		"Made": {reason: "The VM may be that of others.", change: func(*lab, backup.Backup) {}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, configtest.Way{Scope: configtest.Scopes()["Cluster"], Version: "9.2"})
			b := l.failed()
			configtest.SetTenants(t, l.Kube, v1alpha1.TenantWarn, teamOf("a"))
			tc.change(l, b)
			l.Until(b, "it is there", configtest.Settled(b))
			if r, signed := l.recorded(b); signed {
				t.Errorf("\n%s\nsigned is %+v", tc.reason, r)
			}
		})
	}
}

// TestTenantOfVM checks that a record contains the tenant that owned the VM when the backup was begun, and not at an earlier attempt.
func TestTenantOfVM(t *testing.T) {
	l := newLab(t, configtest.Way{Scope: configtest.Scopes()["Cluster"], Version: "9.2"})
	b := l.failed()
	configtest.SetTenants(t, l.Kube, v1alpha1.TenantRefuse, teamOf("b"))
	l.Until(b, "it is made", configtest.Settled(b))
	if r, signed := l.recorded(b); !signed || r.Tenant != "b" {
		t.Errorf("want a record of tenant b, got %+v, %t", r, signed)
	}
}

// TestTenantForgetful checks that a Backup of a tenant whose record was removed gets the backup that it has created, and creates no other one.
func TestTenantForgetful(t *testing.T) {
	l := newLab(t, configtest.Way{Scope: configtest.Scopes()["Cluster"], Version: "9.2"})
	configtest.SetTenants(t, l.Kube, v1alpha1.TenantRefuse, teamOf("a"))
	l.Machine(uuid)
	b := l.backup("b1", removed+"notes: of web\n")
	l.Until(b, "it is made", configtest.Settled(b))
	had := l.only()
	*b.Observation() = v1alpha1.BackupObservation{}
	l.Must(l.Kube.Status().Update(l.Context(), b))
	l.ChangeSpec(b, func() { b.SetAnnotations(nil) })
	l.Until(b, "it is known again", configtest.Settled(b))
	if is := l.only(); is.ID != had.ID {
		t.Errorf("want the same backup, got %v", is)
	}
	if r, signed := l.recorded(b); !signed || r.Volume != had.ID || r.Tenant != "a" || r.VMID != vmid || r.UUID != uuid {
		t.Errorf("want its record signed, got %+v, %t", r, signed)
	}
	l.Delete(b)
	if len(l.volumes("nas")) > 0 {
		t.Error("what was made is removed with the resource")
	}
}
