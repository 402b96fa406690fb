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

// ProxmoxClusterSpec is the desired state of a ProxmoxCluster.
type ProxmoxClusterSpec struct {
	xpv2.ManagedResourceSpec `json:",inline"`

	// ForProvider is what is asked of Proxmox VE.
	// +optional
	ForProvider v1alpha1.ProxmoxClusterParameters `json:"forProvider,omitempty"`
}

// ProxmoxClusterStatus is the observed state of a ProxmoxCluster.
type ProxmoxClusterStatus struct {
	xpv2.ManagedResourceStatus `json:",inline"`

	// AtProvider is what is seen in Proxmox VE.
	// +optional
	AtProvider v1alpha1.ProxmoxClusterObservation `json:"atProvider,omitempty"`
}

// +kubebuilder:object:root=true

// A ProxmoxCluster is a Proxmox VE cluster.
//
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories={crossplane,managed,proxmox},shortName=pvecluster
// +kubebuilder:printcolumn:name="READY",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status"
// +kubebuilder:printcolumn:name="SYNCED",type="string",JSONPath=".status.conditions[?(@.type=='Synced')].status"
// +kubebuilder:printcolumn:name="VERSION",type="string",JSONPath=".status.atProvider.version"
// +kubebuilder:printcolumn:name="NODES",type="string",JSONPath=".status.atProvider.nodesOnline"
// +kubebuilder:printcolumn:name="QUORATE",type="boolean",JSONPath=".status.atProvider.quorate"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
type ProxmoxCluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ProxmoxClusterSpec   `json:"spec"`
	Status ProxmoxClusterStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// ProxmoxClusterList is a list of ProxmoxClusters.
type ProxmoxClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ProxmoxCluster `json:"items"`
}

// Parameters of the ProxmoxCluster.
func (mg *ProxmoxCluster) Parameters() *v1alpha1.ProxmoxClusterParameters {
	return &mg.Spec.ForProvider
}

// Observation of the ProxmoxCluster.
func (mg *ProxmoxCluster) Observation() *v1alpha1.ProxmoxClusterObservation {
	return &mg.Status.AtProvider
}

// Names of the kind ProxmoxCluster.
var (
	ProxmoxClusterKind             = reflect.TypeFor[ProxmoxCluster]().Name()
	ProxmoxClusterGroupVersionKind = SchemeGroupVersion.WithKind(ProxmoxClusterKind)
)

func init() {
	SchemeBuilder.Register(&ProxmoxCluster{}, &ProxmoxClusterList{})
}
