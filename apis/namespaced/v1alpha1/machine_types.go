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

package v1alpha1

import (
	"reflect"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// MachineSpec is the desired state of a Machine.
type MachineSpec struct {
	xpv2.ManagedResourceSpec `json:",inline"`

	// ForProvider is what is asked of Proxmox VE.
	// +optional
	// +kubebuilder:default={}
	ForProvider v1alpha1.MachineParameters `json:"forProvider"`
}

// MachineStatus is the observed state of a Machine.
type MachineStatus struct {
	xpv2.ManagedResourceStatus `json:",inline"`

	// AtProvider is what is seen in Proxmox VE.
	// +optional
	AtProvider v1alpha1.MachineObservation `json:"atProvider,omitempty"`
}

// +kubebuilder:object:root=true

// A Machine is a QEMU virtual machine of Proxmox VE.
//
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories={crossplane,managed,proxmox},shortName=pvm
// +kubebuilder:printcolumn:name="READY",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status"
// +kubebuilder:printcolumn:name="SYNCED",type="string",JSONPath=".status.conditions[?(@.type=='Synced')].status"
// +kubebuilder:printcolumn:name="PHASE",type="string",JSONPath=".status.atProvider.phase"
// +kubebuilder:printcolumn:name="VMID",type="integer",JSONPath=".status.atProvider.vmid"
// +kubebuilder:printcolumn:name="NODE",type="string",JSONPath=".status.atProvider.node"
// +kubebuilder:printcolumn:name="IP",type="string",JSONPath=".status.atProvider.ipAddresses[0]"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
type Machine struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   MachineSpec   `json:"spec"`
	Status MachineStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// MachineList is a list of Machines.
type MachineList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Machine `json:"items"`
}

// Parameters of the Machine.
func (mg *Machine) Parameters() *v1alpha1.MachineParameters { return &mg.Spec.ForProvider }

// Observation of the Machine.
func (mg *Machine) Observation() *v1alpha1.MachineObservation { return &mg.Status.AtProvider }

// Names of the kind Machine.
var (
	MachineKind             = reflect.TypeFor[Machine]().Name()
	MachineGroupVersionKind = SchemeGroupVersion.WithKind(MachineKind)
)

func init() {
	SchemeBuilder.Register(&Machine{}, &MachineList{})
}
