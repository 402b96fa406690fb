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

package controller_test

import (
	"fmt"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"

	"github.com/vitistack/provider-proxmox/internal/controller/machine"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
)

// swapped has team-a make Machines name the VM of team-b while they are being made, whatever the provider is about to write by then.
func (w *tenantWorld) swapped() {
	w.Helper()
	n := len(w.writes())
	for i := range 2 {
		m := w.of("a", fmt.Sprintf("swapped%d", i), linux())
		w.make(m)
		w.edit(m, func() {
			meta.AddAnnotations(m, map[string]string{meta.AnnotationKeyExternalName: fmt.Sprint(victim), object.AnnotationUUID: victimUUID})
		})
		w.refused(m, fmt.Sprintf("VMID %d", victim))
		w.remove(m)
	}
	for _, r := range w.writes()[n:] {
		if strings.Contains(r.Path+" ", fmt.Sprintf("/%d", victim)) || strings.Contains(fmt.Sprint(r), victimUUID) {
			w.Errorf("want no write to the VM of team-b, got %v", r)
		}
	}
	if _, there := w.pve.Guest(victim); !there {
		w.Error("the VM of team-b is gone")
	}
}

// leaves has a Machine whose namespace has lost its tenant in the midst of its creation go, with its VM if that was seen to be its own by then.
func (w *tenantWorld) leaves(late machine.Machine) {
	w.Helper()
	w.refused(late, "belongs to no tenant")
	id, signed := late.Observation().VMID, late.Observation().RecordSignature != ""
	w.remove(late)
	if id == nil || !signed {
		return
	}
	if _, there := w.pve.Guest(int(*id)); there {
		w.Errorf("VM %d, which was seen to be the Machine's own, is left", *id)
	}
}
