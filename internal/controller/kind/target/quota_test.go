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

package target

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	kresource "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/vitistack/provider-proxmox/apis"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/connect"
	"github.com/vitistack/provider-proxmox/internal/controller/kind/quotas"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
	"github.com/vitistack/provider-proxmox/internal/tenancy/quota"
)

// listed are the VMs of a cluster.
type listed []proxmox.Guest

func (l listed) Guests(context.Context, time.Duration) ([]proxmox.Guest, error) { return l, nil }

func (listed) Volumes(context.Context, string, string, string, time.Duration) ([]proxmox.Volume, error) {
	return nil, nil
}

// TestQuotaOfLeft checks that the disks of a VM that a Machine has left still count when a Volume requests a stub VM that has the same VMID in its
// record.
func TestQuotaOfLeft(t *testing.T) {
	s := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(s), apis.AddToScheme(s)); err != nil {
		t.Fatal(err)
	}
	kube := fake.NewClientBuilder().WithScheme(s).Build()
	k := quotas.New()
	k.Use(kube, connect.New(kube, connect.WithRecordsIn("system")))
	tenants := []v1alpha1.ProviderTenant{{
		Name: "a", VMIDRange: &v1alpha1.VMIDRange{Min: 100, Max: 199},
		Quota: &v1alpha1.TenantQuota{Disks: []v1alpha1.TenantStorageQuota{{Storage: "ceph", Size: *kresource.NewQuantity(10, kresource.BinarySI)}}},
	}}
	by := quotas.Application{Config: "ClusterProviderConfig/shared", Tenants: tenants, Tenant: tenancy.TenantNamed(tenants, "a"), Inventory: listed{}}
	m, v := &namespaced.Machine{}, &namespaced.Volume{}
	m.SetUID("machine")
	v.SetUID("volume")
	made := by
	made.Resource, made.Kind, made.Wants, made.Whole, made.Beside, made.VMID = m, "Machine", quota.Amounts{quota.Disks("ceph"): 8}, true, true, 100
	if _, err := k.Admit(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	made.VMID, made.Inventory = 0, listed{{VMID: 100, Type: "qemu"}}
	if _, err := k.Admit(t.Context(), made); !quota.IsExceeded(err) {
		t.Fatalf("want no room beside the VM that was left, got %v", err)
	}
	by.Resource, by.Kind, by.Inventory = v, "Volume", made.Inventory
	asks := Amounts{Wants: quota.Amounts{quota.Disks("ceph"): 4}, Whole: true, VMID: 100}
	if _, err := k.Admit(t.Context(), asks.application(by)); err == nil || !strings.Contains(err.Error(), "disks/ceph: 4 more, of 10 8 are used") {
		t.Errorf("want the disks counted that were left, got %v", err)
	}
}
