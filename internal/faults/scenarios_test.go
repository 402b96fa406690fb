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

package faults

import (
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/simulator"
)

// A scenario is a Machine's life, from its creation to its removal.
type scenario struct {
	reason string

	// pve changes the cluster before.
	pve  func(*simulator.State)
	spec v1alpha1.MachineParameters

	// adopts is the VMID of a VM that is there before.
	adopts      int
	annotations map[string]string

	// changes of the spec, one after the other.
	changes []func(*v1alpha1.MachineParameters)

	// holds checks the VM when all changes are made.
	holds func(*testing.T, simulator.Guest)

	// leaves are volumes that stay when the VM is removed.
	leaves []string
}

func (s scenario) machine() *namespaced.Machine {
	m := &namespaced.Machine{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: "victim", UID: "5a7a5f2c-0000-4000-8000-000000000001", Generation: 1, Annotations: s.annotations,
		},
		Spec: namespaced.MachineSpec{ForProvider: *s.spec.DeepCopy()},
	}
	m.Spec.ForProvider.ShutdownTimeoutSeconds = new(int32(5))
	m.SetManagementPolicies(xpv2.ManagementPolicies{xpv2.ManagementActionAll})
	m.SetProviderConfigReference(&xpv2.ProviderConfigReference{Kind: "ProviderConfig", Name: "pve"})
	return m
}

func scenarios() map[string]scenario {
	return map[string]scenario{
		"Empty": {
			reason: "A VM is created from nothing.",
			spec: v1alpha1.MachineParameters{
				Node: new("pve2"), Memory: new(resource.MustParse("1Gi")), OSType: new("linux"),
				Disks:    []v1alpha1.MachineDisk{{Name: "root", Size: new("3G")}, {Name: "data", Size: new("1G"), Storage: new("ceph")}},
				Networks: []v1alpha1.MachineNetwork{{Name: "lan"}},
			},
		},
		"LinkedClone": {
			reason: "A VM is a linked clone with other hardware and a disk that grows.",
			spec: v1alpha1.MachineParameters{
				Template: new(intstr.FromString("ubuntu-24.04")), CPU: &v1alpha1.MachineCPU{Cores: new(int32(4))},
				Disks: []v1alpha1.MachineDisk{{Name: "root", Size: new("20G")}},
			},
		},
	}
}
