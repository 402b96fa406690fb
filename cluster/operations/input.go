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

package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/vitistack/provider-proxmox/cluster/functionserver"
)

const (
	inputVersion = "operations.proxmox.vitistack.io/v1alpha1"
	inputKind    = "MachineOperation"
)

// An input selects one of three operations on the Machines.
type input struct {
	functionserver.Header

	Snapshot *snapshot `json:"snapshot,omitempty"`
	Reboot   *reboot   `json:"reboot,omitempty"`
	Drain    *drain    `json:"drain,omitempty"`
}

// Validate refuses contradictory or missing values.
func (in input) Validate() error {
	if err := in.Check(inputVersion, inputKind); err != nil {
		return err
	}
	count := 0
	for _, set := range []bool{in.Snapshot != nil, in.Reboot != nil, in.Drain != nil} {
		if set {
			count++
		}
	}
	switch {
	case count != 1:
		return errors.New("set one of snapshot, reboot and drain")
	case in.Snapshot != nil:
		return in.Snapshot.validate()
	case in.Reboot != nil:
		return in.Reboot.validate()
	default:
		return in.Drain.validate()
	}
}

func (s snapshot) validate() error {
	if s.Name == "" {
		return errors.New("snapshot.name is empty")
	}
	return nil
}

func (r reboot) validate() error {
	const maxToken = 63 // As in a Machine.
	if r.Token == "" || len(r.Token) > maxToken {
		return fmt.Errorf("reboot.token must have 1 to %d characters", maxToken)
	}
	return atLeastOne("reboot.maxUnavailable", r.MaxUnavailable)
}

func (d drain) validate() error {
	switch {
	case d.Node == "":
		return errors.New("drain.node is empty")
	case len(d.To) == 0 || slices.Contains(d.To, "") || slices.Contains(d.To, d.Node):
		return fmt.Errorf("drain.to must name nodes, and not %q itself", d.Node)
	}
	return atLeastOne("drain.maxMigrations", d.MaxMigrations)
}

// atLeastOne accepts a limit of at least 1, or none, which means 1.
func atLeastOne(field string, n *int) error {
	if n != nil && *n < 1 {
		return fmt.Errorf("%s must be 1 or more, not %d", field, *n)
	}
	return nil
}

func orOne(n *int) int {
	if n == nil {
		return 1
	}
	return *n
}
