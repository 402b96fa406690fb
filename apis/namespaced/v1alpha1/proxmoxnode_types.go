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

// ProxmoxNodeSpec is the desired state of a ProxmoxNode.
type ProxmoxNodeSpec struct {
	xpv2.ManagedResourceSpec `json:",inline"`

	// ForProvider is what is asked of Proxmox VE.
	// +optional
	ForProvider v1alpha1.ProxmoxNodeParameters `json:"forProvider,omitempty"`
}

// ProxmoxNodeStatus is the observed state of a ProxmoxNode.
type ProxmoxNodeStatus struct {
	xpv2.ManagedResourceStatus `json:",inline"`

	// AtProvider is what is seen in Proxmox VE.
	// +optional
	AtProvider v1alpha1.ProxmoxNodeObservation `json:"atProvider,omitempty"`
}

// +kubebuilder:object:root=true

// A ProxmoxNode is a node of a Proxmox VE cluster.
//
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories={crossplane,managed,proxmox},shortName=pvenode
// +kubebuilder:printcolumn:name="READY",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status"
// +kubebuilder:printcolumn:name="SYNCED",type="string",JSONPath=".status.conditions[?(@.type=='Synced')].status"
// +kubebuilder:printcolumn:name="NODE",type="string",JSONPath=".status.atProvider.nodeName"
// +kubebuilder:printcolumn:name="VERSION",type="string",JSONPath=".status.atProvider.version"
// +kubebuilder:printcolumn:name="VMS",type="integer",JSONPath=".status.atProvider.vmCount"
// +kubebuilder:printcolumn:name="CLUSTER",type="string",JSONPath=".status.atProvider.clusterName",priority=1
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
type ProxmoxNode struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ProxmoxNodeSpec   `json:"spec"`
	Status ProxmoxNodeStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// ProxmoxNodeList is a list of ProxmoxNodes.
type ProxmoxNodeList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ProxmoxNode `json:"items"`
}

// Parameters of the ProxmoxNode.
func (mg *ProxmoxNode) Parameters() *v1alpha1.ProxmoxNodeParameters { return &mg.Spec.ForProvider }

// Observation of the ProxmoxNode.
func (mg *ProxmoxNode) Observation() *v1alpha1.ProxmoxNodeObservation { return &mg.Status.AtProvider }

// Names of the kind ProxmoxNode.
var (
	ProxmoxNodeKind             = reflect.TypeFor[ProxmoxNode]().Name()
	ProxmoxNodeGroupVersionKind = SchemeGroupVersion.WithKind(ProxmoxNodeKind)
)

func init() {
	SchemeBuilder.Register(&ProxmoxNode{}, &ProxmoxNodeList{})
}
