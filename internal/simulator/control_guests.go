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

package simulator

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/guest"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// guestList holds the first of the matching guests, and the numbers of all.
type guestList struct {
	Total    int            `json:"total"`
	Running  int            `json:"running"`
	Matching int            `json:"matching"`
	Rows     []guestSummary `json:"rows"`
}

type guestSummary struct {
	VMID     int    `json:"vmid"`
	Name     string `json:"name"`
	Node     string `json:"node"`
	Status   string `json:"status"`
	Lock     string `json:"lock"`
	Tags     string `json:"tags"`
	Template bool   `json:"template"`

	Disks []diskSummary `json:"disks"`
	NICs  []nicSummary  `json:"nics"`
}

// diskSummary is a configured drive of a guest, including CD-ROM drives and changes that wait for a restart.
type diskSummary struct {
	Device string `json:"device"`
	Volume string `json:"volume"`
	// Size as Proxmox VE writes it, such as 8G, or nothing.
	Size string `json:"size"`
}

// nicSummary is a configured network interface of a guest.
type nicSummary struct {
	Device string `json:"device"`
	Model  string `json:"model"`
	MAC    string `json:"mac"`
	Bridge string `json:"bridge"`
	// VLAN tag, or nothing.
	VLAN string `json:"vlan"`
}

func listGuests(o *engine.Op, words []string, limit int) guestList {
	out := guestList{Total: len(o.State.Guests), Rows: []guestSummary{}}
	for _, g := range o.State.Guests {
		if g.Power == state.Running {
			out.Running++
		}
		if row := summarize(g); row.matches(words) {
			out.Rows = append(out.Rows, row)
		}
	}
	out.Matching = len(out.Rows)
	slices.SortFunc(out.Rows, func(a, b guestSummary) int { return cmp.Compare(a.VMID, b.VMID) })
	out.Rows = out.Rows[:min(limit, len(out.Rows))]
	for i := range out.Rows {
		out.Rows[i].devices(o) // Not for thousands of guests that are not shown.
	}
	return out
}

func summarize(g *state.Guest) guestSummary {
	return guestSummary{
		VMID: g.VMID, Name: g.Name(), Node: g.Node, Status: string(g.Power), Lock: g.Config["lock"],
		Tags: strings.TrimSpace(g.Config["tags"]), Template: g.Template(), Disks: []diskSummary{}, NICs: []nicSummary{},
	}
}

// devices adds the drives and network interfaces, by bus and number.
func (g *guestSummary) devices(o *engine.Op) {
	config := o.State.Guests[g.VMID].Effective()
	byNumber := func(a, b string) int {
		return cmp.Or(cmp.Compare(strings.TrimRight(a, "0123456789"), strings.TrimRight(b, "0123456789")), cmp.Compare(guest.Index(a), guest.Index(b)))
	}
	for _, key := range slices.SortedFunc(maps.Keys(config), byNumber) {
		switch {
		case guest.IsDrive(key):
			d := guest.ParseDrive(o.Engine, key, config[key])
			g.Disks = append(g.Disks, diskSummary{Device: key, Volume: d.File(), Size: d["size"]})
		case guest.IsNIC(key):
			n := o.Engine.Read(key, config[key])
			g.NICs = append(g.NICs, nicSummary{Device: key, Model: n["model"], MAC: n["macaddr"], Bridge: n["bridge"], VLAN: n["tag"]})
		}
	}
}

// matches reports whether each word is part of the row.
func (g *guestSummary) matches(words []string) bool {
	if len(words) == 0 {
		return true
	}
	kind := ""
	if g.Template {
		kind = "template"
	}
	text := strings.ToLower(strings.Join([]string{strconv.Itoa(g.VMID), g.Name, g.Node, g.Status, g.Lock, g.Tags, kind}, " "))
	return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
}
