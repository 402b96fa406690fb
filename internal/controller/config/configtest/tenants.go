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
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
)

// Team returns a tenant that all cluster-scoped resources belong to, with the VMs of a range.
func Team(name string, lowest, highest int32, storages ...string) v1alpha1.ProviderTenant {
	return v1alpha1.ProviderTenant{
		Name: name, ResourceSelector: &metav1.LabelSelector{}, VMIDRange: &v1alpha1.VMIDRange{Min: lowest, Max: highest}, Storages: storages,
	}
}

// Labelled returns a tenant to which those cluster-scoped resources belong that have its name as the label team.
func Labelled(t v1alpha1.ProviderTenant) v1alpha1.ProviderTenant {
	t.ResourceSelector.MatchLabels = map[string]string{"team": t.Name}
	return t
}

// SetTenants sets the tenants in the provider config of cluster-scoped resources. Their rules are enforced or only warned of.
func SetTenants(t *testing.T, kube client.Client, enforcement v1alpha1.TenantEnforcement, teams ...v1alpha1.ProviderTenant) {
	t.Helper()
	c := &cluster.ProviderConfig{}
	err := kube.Get(context.Background(), client.ObjectKey{Name: pveConfig}, c)
	if err == nil {
		c.Spec.Tenants, c.Spec.TenantEnforcement = teams, &enforcement
		err = kube.Update(context.Background(), c)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Records determines which records the provider has signed with the provider config of cluster-scoped resources.
func Records(t *testing.T, kube client.Client) tenancy.Records {
	t.Helper()
	s := &corev1.Secret{}
	if err := kube.Get(context.Background(), client.ObjectKey{Namespace: namespace, Name: "provider-proxmox-records"}, s); err != nil {
		t.Fatal(err)
	}
	return tenancy.Records{Key: s.Data["key"], Config: "ProviderConfig/" + pveConfig}
}
