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

package machine

import (
	"github.com/vitistack/provider-proxmox/internal/controller/machine/password"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/power"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// A desired VM: its configuration, and what else decides how the spec is carried
// out.
type desired struct {
	power.Policy

	// name of the resource.
	name string

	// placedNode is the node that placement has chosen, if the VM is made elsewhere.
	placedNode string

	// image is the NoCloud image that the VM is to have, if any.
	image *noCloudImage

	// password of cloud-init's user, if it is to be sent; resealed is the version
	// of the one that was sent, if only its Secret has changed since.
	password          *password.Password
	unchangedPassword string

	// haRules is what becomes of HA's rules of the VM.
	haRules haRules
}

// defaults of the provider config.
type defaults struct {
	qemu.Defaults

	// Node of VMs whose spec leaves that open.
	Node string
}
