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
