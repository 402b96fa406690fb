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
