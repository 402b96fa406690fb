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

package nocloud

import (
	"fmt"
	"regexp"
	"strings"
)

// reImage matches the volume of a NoCloud image that a provider has created for a VM: its VMID, UUID and the hash of its content.
var reImage = regexp.MustCompile(`:iso/cidata-[0-9]+-([0-9a-f-]{36})-[0-9a-f]{16}\.iso$`)

// IsImage reports whether a volume is a NoCloud image that a provider has created.
func IsImage(volume string) bool { return reImage.MatchString(volume) }

// IsImageOf reports whether a volume is a NoCloud image that a provider has created for the VM with the UUID.
func IsImageOf(uuid, volume string) bool {
	m := reImage.FindStringSubmatch(volume)
	return m != nil && strings.EqualFold(m[1], uuid)
}

// ImageName returns the name of a NoCloud image of a VM, by the checksum of its content.
func ImageName(vmid int, uuid, sum string) string {
	return fmt.Sprintf("cidata-%d-%s-%s.iso", vmid, strings.ToLower(uuid), sum)
}
