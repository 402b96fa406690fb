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

package vmstate

import (
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// retainedDevices returns the devices of a VM that are no longer managed since their entries were removed from the lists.
func retainedDevices(d qemu.Devices) []v1alpha1.MachineRetainedDevice {
	var all []v1alpha1.MachineRetainedDevice
	for _, r := range d.Retained() {
		all = append(all, v1alpha1.MachineRetainedDevice{Device: r.Device, List: r.List, Name: r.Name, Reason: r.Reason})
	}
	return all
}
