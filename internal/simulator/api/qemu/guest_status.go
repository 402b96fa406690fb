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
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/guest"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

func guestStatus(c *engine.Call) (any, error) {
	g, err := c.Guest()
	if err != nil {
		return nil, err
	}
	out := guest.Vmstatus(c.Op(), g, true)
	out["ha"] = guest.HAStatus(c.State, g.VMID)
	if c.Engine.Parse("agent", g.Config["agent"])["enabled"] == "1" {
		out["agent"] = 1
	}
	if g.Config["vga"] != "" {
		out["clipboard"] = nil
	}
	return out, nil
}

// listing is how long a node takes to list its guests. It first finds the guests, and then reads the configuration of each.
const listing = 20 * time.Millisecond

// vanished returns an error if a guest was removed or has left while the node lists its guests. In that case the whole list fails
// (PVE::QemuServer::vmstatus).
func vanished(c *engine.Call) error {
	if c.Engine.Instant() {
		return nil
	}
	for _, t := range slices.Backward(c.State.Tasks) {
		vmid, _ := strconv.Atoi(t.ID)
		leaves := t.Type == "qmdestroy" || t.Type == "qmigrate"
		if t.Node != c.Node || !leaves || t.Running() || t.Exit != "OK" || c.Engine.Clock.Now().Sub(t.Ended) >= c.Engine.Scale(listing) {
			continue
		}
		if _, err := c.State.Guest(c.Node, vmid); err != nil {
			return err
		}
	}
	return nil
}

func listGuests(c *engine.Call) (any, error) {
	if err := vanished(c); err != nil {
		return nil, err
	}
	out, view := []map[string]any{}, c.State.View(c.Who)
	for _, vmid := range slices.Sorted(maps.Keys(c.State.Guests)) {
		g := c.State.Guests[vmid]
		if g.Node == c.Node && view.May(state.VMPath(vmid), "VM.Audit") {
			out = append(out, guest.Vmstatus(c.Op(), g, c.Flag("full")))
		}
	}
	return out, nil
}
