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

// Package integration tests the built provider with a real Proxmox VE cluster, as docs/TESTING.md describes. This file reads the settings from the
// environment. The tests have the build tag integration.
package integration

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Variables that define where the tests may create VMs.
const (
	VMIDs    = "PROXMOX_TEST_VMIDS"
	Pool     = "PROXMOX_TEST_POOL"
	Storage  = "PROXMOX_TEST_STORAGE"
	Bridge   = "PROXMOX_TEST_BRIDGE"
	Template = "PROXMOX_TEST_TEMPLATE"
	Node     = "PROXMOX_TEST_NODE"
	Timeout  = "PROXMOX_TEST_TIMEOUT"
)

// fewest is the minimum number of VMIDs in the range: so many VMs exist at the same time.
const fewest = 4

// Settings define where the tests may create VMs, and from what.
type Settings struct {
	// First and Last VMID of the range, both included.
	First, Last int64
	// Pool that each VM is a member of. It exists before the tests.
	Pool string
	// Storage for the disks of VMs that are not clones.
	Storage string
	// Bridge of the VMs. Empty for VMs without a network interface.
	Bridge string
	// Template to clone, by its name or VMID. Empty for no clones.
	Template string
	// Node to create VMs on. Empty for the one that placement chooses.
	Node string
	// Timeout of one wait, such as for the creation of a VM.
	Timeout time.Duration
}

// FromEnvironment reads settings by getenv. Errors name the variable that is missing or malformed.
func FromEnvironment(getenv func(string) string) (Settings, error) {
	s := Settings{
		Pool: getenv(Pool), Storage: getenv(Storage), Bridge: getenv(Bridge), Template: getenv(Template), Node: getenv(Node), Timeout: 10 * time.Minute,
	}
	for _, name := range []string{VMIDs, Pool, Storage} {
		if getenv(name) == "" {
			return s, fmt.Errorf("%s is not set: docs/TESTING.md says what the tests need", name)
		}
	}
	var err error
	if s.First, s.Last, err = vmids(getenv(VMIDs)); err != nil {
		return s, fmt.Errorf("%s %q: %w", VMIDs, getenv(VMIDs), err)
	}
	if text := getenv(Timeout); text != "" {
		if s.Timeout, err = time.ParseDuration(text); err != nil || s.Timeout <= 0 {
			return s, fmt.Errorf("%s %q must be a duration such as 10m", Timeout, text)
		}
	}
	return s, nil
}

func vmids(text string) (first, last int64, err error) {
	from, to, _ := strings.Cut(text, "-")
	if first, err = strconv.ParseInt(from, 10, 32); err == nil {
		last, err = strconv.ParseInt(to, 10, 32)
	}
	switch {
	case err != nil:
		return 0, 0, errors.New("want the first and the last VMID, such as 9900-9949")
	case first < 100 || last > 999999999:
		return 0, 0, errors.New("VMIDs are 100 to 999999999")
	case last-first < fewest-1:
		return 0, 0, fmt.Errorf("the range must have %d VMIDs at least", fewest)
	default:
		return first, last, nil
	}
}

// Holds reports whether a VMID is in the range.
func (s Settings) Holds(vmid int64) bool { return s.First <= vmid && vmid <= s.Last }

// Unused returns an error if one of the existing VMIDs is in the range: the tests could not distinguish it from what they have created.
func (s Settings) Unused(existing []int64) error {
	i := slices.IndexFunc(existing, s.Holds)
	if i < 0 {
		return nil
	}
	return fmt.Errorf("guest %d is in the range %d-%d, which must be empty: choose another %s, or remove what is left of an earlier run",
		existing[i], s.First, s.Last, VMIDs)
}
