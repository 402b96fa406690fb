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

package scheduler

import (
	"encoding/json"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/placement"
)

// DecisionAnnotation returns a decision as it is saved for the status.
func DecisionAnnotation(d placement.Decision) string {
	o := v1alpha1.MachinePlacementObservation{Node: d.Node, Reason: d.Reason}
	for _, r := range d.Others {
		o.Others = append(o.Others, v1alpha1.MachinePlacementRejection{Node: r.Node, Reason: r.Reason})
	}
	b, err := json.Marshal(o)
	if err != nil {
		return "" // Strings can always be written.
	}
	return string(b)
}

// DecisionOf returns the saved decision about a Machine, or nil.
func DecisionOf(m object.Machine) *v1alpha1.MachinePlacementObservation {
	o := &v1alpha1.MachinePlacementObservation{}
	if err := json.Unmarshal([]byte(m.GetAnnotations()[object.AnnotationPlacement]), o); err != nil || o.Node == "" {
		return nil
	}
	return o
}
