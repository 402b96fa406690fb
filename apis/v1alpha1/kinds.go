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

// Package v1alpha1 holds what a user may ask of Proxmox VE and what they get to
// see of it: parameters, observations and provider configuration. The kinds
// that wrap them live in the packages of the two API groups, one cluster
// scoped and one namespaced, so that both scopes share every field.
//
// +kubebuilder:object:generate=true
package v1alpha1

import (
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
)

// ReasonNotReconciled is the reason of the conditions Ready and UpToDate of an object that no reconcile of a provider has written a status
// of. It is in the default of the status in the definitions, beside observedGeneration -1.
const ReasonNotReconciled xpv2.ConditionReason = "NotReconciled"

// A Kind of managed resources in one API group: an empty object and an empty list of
// them. That they are managed resources cannot be known where their methods are yet
// to be generated.
//
// +kubebuilder:object:generate=false
type Kind struct {
	// Object of the kind.
	Object any

	// List of such objects.
	List any
}

// Kinds are those of one API group, by their names.
//
// +kubebuilder:object:generate=false
type Kinds map[string]Kind

// NamesConfiguration reports whether a resource names its provider configuration.
func NamesConfiguration(mg resource.Managed) bool {
	switch mg := mg.(type) {
	case resource.ModernManaged:
		return mg.GetProviderConfigReference() != nil
	case resource.LegacyManaged:
		return mg.GetProviderConfigReference() != nil
	}
	return false
}

// CopyConfiguration gives a resource the provider configuration of another one of the same scope.
func CopyConfiguration(to, from resource.Managed) {
	switch from := from.(type) {
	case resource.ModernManaged:
		if to, ok := to.(resource.ModernManaged); ok {
			to.SetProviderConfigReference(from.GetProviderConfigReference().DeepCopy())
		}
	case resource.LegacyManaged:
		if to, ok := to.(resource.LegacyManaged); ok {
			to.SetProviderConfigReference(from.GetProviderConfigReference().DeepCopy())
		}
	}
}

// The VMIDs that are chosen from without a vmidRange.
const (
	lowestVMID  = 10000
	highestVMID = 99999
)

// VMIDs returns the VMIDs that are chosen from.
func (s *ProviderConfigSpec) VMIDs() VMIDRange {
	if s.VMIDRange == nil {
		return VMIDRange{Min: lowestVMID, Max: highestVMID}
	}
	return *s.VMIDRange
}

// TemplateVMIDs returns the VMIDs that are chosen from for templates of Images.
func (s *ProviderConfigSpec) TemplateVMIDs() VMIDRange {
	if s.TemplateVMIDRange == nil {
		return s.VMIDs()
	}
	return *s.TemplateVMIDRange
}

// ObjectObservation is what is seen of a configuration object of Proxmox VE, of
// whatever kind.
type ObjectObservation struct {
	// Name of the object in Proxmox VE.
	// +optional
	Name string `json:"name,omitempty"`

	// Cluster in which the object is, by its name in Proxmox VE; empty for a node
	// that is in none, and without Sys.Audit on /.
	// +optional
	Cluster string `json:"cluster,omitempty"`

	// Observed are the options of the object that are set in Proxmox VE, by their
	// names there. Secrets are never among them.
	// +optional
	Observed map[string]string `json:"observed,omitempty"`

	// Difference between the spec and Proxmox VE, by PVE option: what the next
	// update changes, or would change if the management policies allowed it.
	// +optional
	// +listType=atomic
	Difference []OptionDifference `json:"difference,omitempty"`
}

// Common returns what is seen of any configuration object.
func (o *ObjectObservation) Common() *ObjectObservation { return o }
