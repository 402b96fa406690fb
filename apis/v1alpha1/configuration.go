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
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
)

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

// VMIDs that are chosen from.
func (s *ProviderConfigSpec) VMIDs() VMIDRange {
	if s.VMIDRange == nil {
		return VMIDRange{Min: lowestVMID, Max: highestVMID}
	}
	return *s.VMIDRange
}
