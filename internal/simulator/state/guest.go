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

package state

import (
	"cmp"
	"crypto/sha1" //nolint:gosec // PVE uses SHA-1.
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
)

func (p *Pool) contains(path string) bool {
	if storage, ok := strings.CutPrefix(path, "/storage/"); ok {
		return p.Storages[storage]
	}
	vmid, ok := strings.CutPrefix(path, "/vms/")
	return ok && p.VMs[schema.Int(vmid)]
}

// Process is a program that has run inside a guest.
type Process struct {
	// Out is the output, Code the exit status.
	Out  string `json:"_out"`
	Code int    `json:"_code"`
}

// Guest returns a guest on a node.
func (st *State) Guest(node string, vmid int) (*Guest, error) {
	if g := st.Guests[vmid]; g != nil && g.Node == node {
		return g, nil
	}
	return nil, apierr.Errorf("Configuration file 'nodes/%s/qemu-server/%d.conf' does not exist", node, vmid)
}

// Container returns a container on a node.
func (st *State) Container(node string, vmid int) (*Guest, error) {
	if g := st.Containers[vmid]; g != nil && g.Node == node {
		return g, nil
	}
	return nil, apierr.Errorf("Configuration file 'nodes/%s/lxc/%d.conf' does not exist", node, vmid)
}

// Taken returns the VM or the container that has a VMID, or nil.
func (st *State) Taken(vmid int) *Guest { return cmp.Or(st.Guests[vmid], st.Containers[vmid]) }

// Written returns the guest whose configuration a task writes without reading it. A missing file is created, unless another node has one with that VMID.
func (st *State) Written(node string, vmid int) (*Guest, error) {
	switch g := st.Guests[vmid]; {
	case g == nil:
		st.Guests[vmid] = &Guest{
			VMID: vmid, Node: node, Config: map[string]string{}, Pending: map[string]string{}, Delete: map[string]bool{},
			Snapshots: map[string]*Snapshot{}, Power: Stopped,
		}
	case g.Node != node:
		return nil, apierr.Errorf("close (rename) atomic file '/etc/pve/nodes/%s/qemu-server/%d.conf' failed: File exists", node, vmid)
	}
	return st.Guests[vmid], nil
}

// Process returns a guest for calls that check its process first and have another error message.
func (st *State) Process(node string, vmid int) (*Guest, error) {
	g, err := st.Guest(node, vmid)
	if err != nil {
		return nil, apierr.Errorf("unable to find configuration file for VM %d on node '%s'", vmid, node)
	}
	return g, nil
}

// HASID returns the resource ID of a call. A bare VMID stands for a VM.
func HASID(sid string) string {
	if !strings.Contains(sid, ":") {
		return "vm:" + sid
	}
	return sid
}

// HAManaged reports whether HA acts on a guest. It does not act on resources that it is to ignore.
func (st *State) HAManaged(vmid int) bool {
	h := st.HA[HAID(vmid)]
	return h != nil && h.State != "ignored"
}

// Wanted returns the target state of a resource.
func (h *HAResource) Wanted() string {
	if h.State == "enabled" || h.State == "" {
		return "started"
	}
	return h.State
}

// LeaveRules removes a resource from all rules. Rules without resources are deleted.
func (st *State) LeaveRules(sid string) {
	for id, r := range st.HARules {
		list := slices.DeleteFunc(schema.SplitList(r["resources"]), func(s string) bool { return s == sid })
		if r["resources"] = strings.Join(list, ","); len(list) == 0 {
			delete(st.HARules, id)
		}
	}
	st.HARules.Renumber()
}

// Renumber numbers rules again in their order, as when they are written to the file.
func (s Sections) Renumber() {
	order := func(id string) int {
		n, _ := strconv.Atoi(s[id]["order"])
		return n
	}
	ids := slices.SortedFunc(maps.Keys(s), func(a, b string) int { return cmp.Or(order(a)-order(b), strings.Compare(a, b)) })
	for i, id := range ids {
		s[id]["order"] = strconv.Itoa(i + 1)
	}
}

// HAID returns the ID of a VM as an HA resource.
func HAID(vmid int) string { return fmt.Sprintf("vm:%d", vmid) }

// Replicated returns the guest of a job, whose ID begins with the VMID.
func Replicated(id string) string {
	guest, _, _ := strings.Cut(id, "-")
	return guest
}

// A Report is what pvestatd reports to the cluster about a guest. Sizes and counts are in bytes, the uptime is in seconds.
type Report struct {
	Name, Status                                 string
	Template                                     bool
	CPUs                                         int
	CPU                                          float64
	Memory, Mem, Memhost, Disk                   int64
	Uptime, Netin, Netout, Diskread, Diskwritten int64
}

// Sizes holds the sizes that lists show of a guest, in bytes, with the options from which they were read.
type Sizes struct {
	Memory, Disk         int64
	MemoryText, BootText string
	DiskKey, DiskText    string
}

// Digest returns the hash of the whole configuration. Equal contents have equal digests.
func (g *Guest) Digest() string {
	h := sha1.New() //nolint:gosec // PVE's digests are SHA-1.
	section(h.Write, "", g.Config)
	section(h.Write, "[PENDING]", g.Pending)
	for _, key := range slices.Sorted(maps.Keys(g.Delete)) {
		fmt.Fprintf(h, "delete: %s %t\n", key, g.Delete[key])
	}
	for _, name := range slices.Sorted(maps.Keys(g.Snapshots)) {
		s := g.Snapshots[name]
		section(h.Write, "["+name+"]"+s.Description+s.Parent+s.State, s.Config)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Effective returns the configuration as GET config shows it: pending values replace those in force.
func (g *Guest) Effective() map[string]string {
	out := maps.Clone(g.Config)
	maps.Copy(out, g.Pending)
	for key := range g.Delete {
		delete(out, key)
	}
	return out
}

// Name returns the name of a guest, or PVE's default if it has none.
func (g *Guest) Name() string {
	if n := g.Config["name"]; n != "" {
		return n
	}
	return fmt.Sprintf("VM %d", g.VMID)
}

// Template reports whether a guest is a template.
func (g *Guest) Template() bool { return g.Config["template"] == "1" }

// Lock returns an error if the guest is locked.
func (g *Guest) Lock() error {
	if l := g.Config["lock"]; l != "" {
		return apierr.Errorf("VM is locked (%s)", l)
	}
	return nil
}
