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

package kind

import (
	"encoding/json"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
)

// AnnotationImagePin has which revision of which Image a Machine is made from. It is
// written before the VM is created and stays: a newer revision changes no Machine.
const AnnotationImagePin = "proxmox.vitistack.io/image-pin"

// An ImagePin is a revision of an Image.
type ImagePin struct {
	// Name of the Image, of the Machine's own scope and namespace, and its UID.
	Name string `json:"name"`
	UID  string `json:"uid"`

	// Revision of the Image.
	Revision int32 `json:"revision"`

	// File of the revision, without the storage and the folder.
	File string `json:"file,omitempty"`

	// Template is true for a clone of the revision's template.
	Template bool `json:"template,omitempty"`
}

// String returns the pin as it is kept.
func (p ImagePin) String() string {
	text, err := json.Marshal(p)
	if err != nil {
		return "" // Such values can always be written.
	}
	return string(text)
}

// ImagePinOf returns the pin of a Machine, and reports whether it has one.
func ImagePinOf(mg resource.Managed) (ImagePin, bool) {
	p := ImagePin{}
	text, ok := mg.GetAnnotations()[AnnotationImagePin]
	return p, ok && json.Unmarshal([]byte(text), &p) == nil
}
