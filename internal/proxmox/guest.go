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

package proxmox

import (
	"context"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"time"

	telmate "github.com/Telmate/proxmox-api-go/proxmox"
)

// A Ref identifies a VM or a container and its node.
type Ref struct {
	// Node on which the guest is now.
	Node string

	// VMID of the guest, from 100 to 999999999.
	VMID int

	// Container reports whether the guest is a container, which can be read but not changed.
	Container bool
}

// String returns the guest and its node.
func (r Ref) String() string { return r.Words() + " on node " + strconv.Quote(r.Node) }

// Words returns the guest without its node: VM 100, or container 101.
func (r Ref) Words() string {
	return map[bool]string{false: "VM ", true: "container "}[r.Container] + strconv.Itoa(r.VMID)
}

func (r Ref) args() []string { return []string{r.Node, strconv.Itoa(r.VMID)} }

// validate rejects values that cannot be part of a path, and changes of a container.
func (r Ref) validate(method string) string {
	switch {
	case !validNode(r.Node):
		return "node name is not valid"
	case r.Container && method != http.MethodGet:
		return "containers are not changed"
	}
	return validVMID(r.VMID)
}

func validVMID(id int) string {
	if id < 0 || id > math.MaxUint32 || telmate.GuestID(id).Validate() != nil {
		return "vmid " + strconv.Itoa(id) + " is not within 100 and 999999999"
	}
	return ""
}

// refuse returns the error of a request that is not sent.
func (r request) refuse(why string) *Error {
	return &Error{Op: r.op, Method: r.method, Path: r.path, Message: why, local: true}
}

// machine returns a request about one guest.
func machine(op, method string, ref Ref, path string) request {
	of := map[bool]string{false: "qemu", true: "lxc"}[ref.Container]
	return request{op: op + " " + ref.String(), method: method, path: "/nodes/{node}/" + of + "/{vmid}" + path, args: ref.args()}
}

// A Guest is a VM or container in a list.
type Guest struct {
	// VMID of the guest.
	VMID int

	// Node on which the guest is.
	Node string

	// Name of the guest. It is empty for a guest that was just created.
	Name string

	// Type is qemu or lxc.
	Type string

	// Status is running, stopped, or unknown if the guest was just created or its node is offline.
	Status string

	// Template reports whether the guest is a template.
	Template bool

	// Tags of the guest.
	Tags []string

	// Pool that the guest is a member of. Only the cluster's list contains it.
	Pool string

	// Lock of the guest's configuration, such as clone or backup.
	Lock string

	// HAState is the state that HA requests, if HA manages the guest. Only the cluster's list contains it.
	HAState string

	// Uptime since the guest's start, to the second.
	Uptime time.Duration

	// CPU usage, from 0 to 1 of MaxCPU, the number of virtual CPUs.
	CPU    float64
	MaxCPU int

	// Memory used and MaxMemory assigned, in bytes.
	Memory, MaxMemory int64

	// MaxDisk is the size of the boot disk. DiskRead and DiskWritten are the bytes that were read from disks and written to them since the guest's start. All
	// are in bytes.
	MaxDisk, DiskRead, DiskWritten int64
}

// Ref returns the reference of the guest as a VM.
func (g Guest) Ref() Ref { return Ref{Node: g.Node, VMID: g.VMID} }

// RefByType returns the reference of the guest as a VM or as a container.
func (g Guest) RefByType() Ref { return Ref{Node: g.Node, VMID: g.VMID, Container: g.Type == "lxc"} }

// VMIDTaken reports whether a guest has the VMID, even if the user may not see that guest. Any user may ask.
func (c ClusterAPI) VMIDTaken(ctx context.Context, vmid int) (bool, error) {
	r := request{
		op: "ask whether VMID " + strconv.Itoa(vmid) + " is free", method: http.MethodGet, path: "/cluster/nextid",
		query: url.Values{"vmid": {strconv.Itoa(vmid)}},
	}
	var free text
	err := c.do(ctx, r, &free)
	if IsAlreadyExists(err) {
		return true, nil
	}
	return false, err
}

func (d resource) guest() Guest {
	return Guest{
		VMID: int(d.VMID), Node: string(d.Node), Name: string(d.Name), Type: string(d.Type), Status: string(d.Status),
		Template: bool(d.Template), Tags: splitList(string(d.Tags)), Pool: string(d.Pool), Lock: string(d.Lock),
		HAState: string(d.HAState), Uptime: seconds(d.Uptime), CPU: float64(d.CPU),
		MaxCPU: max(int(d.MaxCPU), int(d.CPUs)),
		Memory: int64(d.Memory), MaxMemory: int64(d.MaxMemory), MaxDisk: int64(d.MaxDisk), DiskRead: int64(d.DiskRead), DiskWritten: int64(d.DiskWritten),
	}
}

// Guests returns the VMs and containers of the cluster. The list is up to 10 seconds old and contains only guests that the user may see. A guest that is
// missing in it may exist.
func (c ClusterAPI) Guests(ctx context.Context) ([]Guest, error) {
	all, err := c.resources(ctx, "list guests", "vm")
	if err != nil {
		return nil, err
	}
	guests := make([]Guest, 0, len(all))
	for _, d := range all {
		guests = append(guests, d.guest())
	}
	return guests, nil
}

// NodeOf returns the node with the name, if it is listed.
func NodeOf(nodes []Node, name string) (Node, bool) {
	for _, n := range nodes {
		if n.Name == name {
			return n, true
		}
	}
	return Node{}, false
}

// GuestOf returns the guest that has the VMID, if one is listed.
func GuestOf(guests []Guest, vmid int) (Guest, bool) {
	for i := range guests { // Not by value, because there may be thousands.
		if guests[i].VMID == vmid {
			return guests[i], true
		}
	}
	return Guest{}, false
}
