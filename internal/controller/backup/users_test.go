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

package backup

import (
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/vitistack/provider-proxmox/apis"
	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
)

// TestUseBy checks that no Machine is named to a tenant that may belong to another one.
func TestUseBy(t *testing.T) {
	const others = "restore of a Machine of others"
	cases := map[string]struct {
		reason           string
		tenant           *tenancy.Tenant
		backups, machine string // The namespaces of their claims.
		want             string
	}{
		"NoTenants": {reason: "Without tenants nothing is hidden.", machine: "b", want: "restore of Machine web"},
		"Same":      {reason: "A Machine of the same namespace is named.", tenant: &tenancy.Tenant{}, backups: "a", machine: "a", want: "restore of Machine web"},
		"Another":   {reason: "A Machine of another namespace is not named.", tenant: &tenancy.Tenant{}, backups: "a", machine: "b", want: others},
		"None":      {reason: "A Machine without a namespace may be another tenant's, by its labels.", tenant: &tenancy.Tenant{}, want: others},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			of := func(namespace string) metav1.ObjectMeta {
				return metav1.ObjectMeta{Name: "web", Labels: map[string]string{tenancy.LabelClaimNamespace: namespace}}
			}
			e := &external{tenant: tc.tenant}
			got := e.useBy(&cluster.Backup{ObjectMeta: of(tc.backups)}, &cluster.Machine{ObjectMeta: of(tc.machine)}, "restore")
			if diff := cmp.Diff([]string{tc.want}, got); diff != "" {
				t.Errorf("\n%s\n%s", tc.reason, diff)
			}
		})
	}
}

// TestUsersNow checks that a Machine is found that has just requested the backup, and that the cache does not have yet.
func TestUsersNow(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := apis.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	build := func(all ...client.Object) client.WithWatch {
		return fake.NewClientBuilder().WithScheme(scheme).WithObjects(all...).Build()
	}
	asks := &cluster.Machine{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	asks.Spec.ForProvider.RestoreInPlace = &v1alpha1.MachineRestoreInPlace{Token: "1", Volume: new("nas:backup/a")}
	e := &external{view: &view{record: &record{Volume: "nas:backup/a"}}, machines: []resource.ManagedList{&cluster.MachineList{}}}
	e.Kube, e.Direct = build(), build(asks)
	got, err := e.users(t.Context(), &cluster.Backup{})
	if diff := cmp.Diff([]string{"restoreInPlace of Machine web"}, got); diff != "" || err != nil {
		t.Errorf("want the Machine that the API server has: %v, -want, +got:\n%s", err, diff)
	}
}
