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

// +kubebuilder:object:root=true

// A ProviderConfig says how one Proxmox VE cluster is reached, for the
// cluster-scoped kinds of this API group.
//
// +kubebuilder:validation:XValidation:rule="!has(self.spec.credentials.secretRef) || has(self.spec.credentials.secretRef.__namespace__)",message="spec.credentials.secretRef.namespace is required"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.credentials.password) || has(self.spec.credentials.password.secretRef.__namespace__)",message="spec.credentials.password.secretRef.namespace is required"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.credentials.tokenSecret) || has(self.spec.credentials.tokenSecret.secretRef.__namespace__)",message="spec.credentials.tokenSecret.secretRef.namespace is required"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.tls) || !has(self.spec.tls.caCertificateSecretRef) || has(self.spec.tls.caCertificateSecretRef.__namespace__)",message="spec.tls.caCertificateSecretRef.namespace is required"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.tls) || !has(self.spec.tls.caCertificateConfigMapRef) || has(self.spec.tls.caCertificateConfigMapRef.__namespace__)",message="spec.tls.caCertificateConfigMapRef.namespace is required"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.tls) || !has(self.spec.tls.clientCertificateSecretRef) || has(self.spec.tls.clientCertificateSecretRef.__namespace__)",message="spec.tls.clientCertificateSecretRef.namespace is required"
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,categories={crossplane,provider,proxmox}
// +kubebuilder:printcolumn:name="READY",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status"
// +kubebuilder:printcolumn:name="VERSION",type="string",JSONPath=".status.version"
// +kubebuilder:printcolumn:name="ENDPOINT",type="string",JSONPath=".status.endpoint"
// +kubebuilder:printcolumn:name="USERS",type="integer",JSONPath=".status.users"
// +kubebuilder:printcolumn:name="REASON",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].reason",priority=1
// +kubebuilder:printcolumn:name="MESSAGE",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].message",priority=1
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
type ProviderConfig struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec v1alpha1.ProviderConfigSpec `json:"spec"`

	// +default={"observedGeneration":-1,"conditions":[{"type":"Ready","status":"Unknown","reason":"NotReconciled","message":"The provider has not reconciled this yet. If that lasts, check that it runs and watches this resource","lastTransitionTime":"1970-01-01T00:00:00Z"}]}
	Status v1alpha1.ProviderConfigStatus `json:"status,omitempty"`
}

// Settings returns the spec.
func (c *ProviderConfig) Settings() *v1alpha1.ProviderConfigSpec { return &c.Spec }

// Observation returns the status.
func (c *ProviderConfig) Observation() *v1alpha1.ProviderConfigStatus { return &c.Status }

// +kubebuilder:object:root=true

// ProviderConfigList is a list of ProviderConfigs.
type ProviderConfigList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ProviderConfig `json:"items"`
}

// +kubebuilder:object:root=true

// A ProviderConfigUsage records that a resource uses a provider configuration,
// which is therefore kept until it no longer does.
//
// +kubebuilder:resource:scope=Cluster,categories={crossplane,provider,proxmox}
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="CONFIG-NAME",type="string",JSONPath=".providerConfigRef.name"
// +kubebuilder:printcolumn:name="RESOURCE-KIND",type="string",JSONPath=".resourceRef.kind"
// +kubebuilder:printcolumn:name="RESOURCE-NAME",type="string",JSONPath=".resourceRef.name"
type ProviderConfigUsage struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	xpv2.ProviderConfigUsage `json:",inline"`
}

// +kubebuilder:object:root=true

// ProviderConfigUsageList is a list of ProviderConfigUsages.
type ProviderConfigUsageList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ProviderConfigUsage `json:"items"`
}

// Names of the kinds of provider configuration.
var (
	ProviderConfigKind             = reflect.TypeFor[ProviderConfig]().Name()
	ProviderConfigGroupVersionKind = SchemeGroupVersion.WithKind(ProviderConfigKind)

	ProviderConfigUsageKind                 = reflect.TypeFor[ProviderConfigUsage]().Name()
	ProviderConfigUsageGroupVersionKind     = SchemeGroupVersion.WithKind(ProviderConfigUsageKind)
	ProviderConfigUsageListGroupVersionKind = SchemeGroupVersion.WithKind(ProviderConfigUsageKind + "List")
)

func init() {
	SchemeBuilder.Register(&ProviderConfig{}, &ProviderConfigList{})
	SchemeBuilder.Register(&ProviderConfigUsage{}, &ProviderConfigUsageList{})
}
