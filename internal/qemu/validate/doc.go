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

// Package validate finds obstacles to a change of a VM, or to its start: options that a version of PVE does not know, options that only root may set,
// privileges that the provider's user lacks, and configurations with which PVE would not start the VM. Contradictions with the configuration of the VM
// itself are found by [qemu.Desired.Rejections].
package validate
