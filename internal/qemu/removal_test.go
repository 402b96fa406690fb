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

package qemu

import (
	"testing"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// A removal that is due stays so, however often the spec changes before it can
// be made.
func TestRemovalStaysDue(t *testing.T) {
	d := Devices{Disks: map[string]string{"data": "scsi1"}}
	config := map[string]string{"scsi1": "s:vm-1-disk-1"}
	listed := &v1alpha1.MachineParameters{Disks: []v1alpha1.MachineDisk{{Name: "data", RemovalPolicy: new("Destroy")}}}
	gone := &v1alpha1.MachineParameters{}
	d = d.remember(listed, config, 4).remember(gone, config, 5).remember(gone, config, 9)
	if got := d.Destroyed(gone, config); len(got) != 1 {
		t.Errorf("want scsi1 destroyed, got %q", got)
	}
	d = d.remember(listed, config, 10).remember(gone, config, 12)
	if got := d.Destroyed(gone, config); len(got) != 0 {
		t.Errorf("want nothing destroyed that was listed again since, got %q", got)
	}
}
