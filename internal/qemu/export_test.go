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
	"math/rand/v2"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// Functions that the tests of importing packages share with those of the package itself.
//
//nolint:gochecknoglobals // Functions.
var (
	DesiredOf       = desiredOf
	FoundConfigs    = foundConfigs
	Our             = our
	ParametersOf    = parameters
	QuantityOf      = quantity
	RecordedConfigs = recordedConfigs
	Stored          = stored
)

// A RandomSpec generates specs and configurations.
type RandomSpec struct{ randomSpec }

// NewRandomSpec returns a RandomSpec that generates the same for the same seed.
func NewRandomSpec(seed uint64) RandomSpec {
	return RandomSpec{randomSpec{rand.New(rand.NewPCG(seed, 2))}}
}

// Spec returns a generated spec.
func (g RandomSpec) Spec() v1alpha1.MachineParameters { return g.spec() }

// Config returns a generated configuration.
func (g RandomSpec) Config() Config { return g.config() }

// Described returns the options that a spec declares, and the devices that it names.
func (d Desired) Described(config Config) map[string]bool {
	described := map[string]bool{
		"boot": d.BootOrder != nil, "smbios1": true, config.CloudInitDrive(): d.CloudInit != nil, EFIDevice: d.EFIDisk != nil, TPMDevice: d.TPM != nil,
	}
	for _, o := range d.options() {
		if _, declared := o.Want(config[o.Name]); declared {
			described[o.Name] = true
		}
	}
	for _, taken := range d.Devices.all() {
		for _, device := range taken {
			described[device] = true
		}
	}
	return described
}
