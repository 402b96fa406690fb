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

package imageref

import (
	"encoding/json"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// AnnotationPin has the Image and the revision that a Machine is created from. It is written before the VM is created and stays: a newer revision
// changes no Machine.
const AnnotationPin = "proxmox.vitistack.io/image-pin"

// A Pin identifies a revision of an Image.
type Pin struct {
	// Name of the Image, which has the Machine's scope and namespace, and its UID.
	Name string `json:"name"`
	UID  string `json:"uid"`

	// Revision of the Image.
	Revision int32 `json:"revision"`

	// Digest of the revision's file, and the File name without the storage and the folder.
	Digest string `json:"digest,omitempty"`
	File   string `json:"file,omitempty"`

	// Volume that a disk is filled with.
	Volume string `json:"volume,omitempty"`

	// Template is true for a clone of the revision's template with the VMID.
	Template bool `json:"template,omitempty"`
	VMID     int  `json:"vmid,omitempty"`
}

// String returns the pin as the annotation has it.
func (p Pin) String() string {
	text, err := json.Marshal(p)
	if err != nil {
		return "" // Such values can always be encoded.
	}
	return string(text)
}

// Observation returns the pin as the status shows it.
func (p Pin) Observation() *v1alpha1.MachineImageObservation {
	o := &v1alpha1.MachineImageObservation{Name: p.Name, Revision: p.Revision, Digest: p.Digest, Volume: p.Volume}
	if p.VMID != 0 {
		o.TemplateVMID = ptr.To(int32(p.VMID)) //nolint:gosec // No VMID is that large.
	}
	return o
}

// PinOf returns the pin of a Machine, and reports whether it has one.
func PinOf(mg resource.Managed) (Pin, bool) {
	p := Pin{}
	text, ok := mg.GetAnnotations()[AnnotationPin]
	return p, ok && json.Unmarshal([]byte(text), &p) == nil
}
