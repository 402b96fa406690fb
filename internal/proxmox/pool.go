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
	"net/http"
	"net/url"
	"strconv"
)

// PoolVMs are the VMIDs of the guests in a pool, which PVE tells anybody, whatever else of
// the pool may be seen. It says too whether the pool exists.
func (c *Client) PoolVMs(ctx context.Context, pool string) (vmids []int, exists bool, err error) {
	r := request{
		op: "read pool " + strconv.Quote(pool), method: http.MethodGet,
		path: "/pools", query: url.Values{"poolid": {pool}},
	}
	var data list[struct {
		Members list[struct {
			VMID integer `json:"vmid"`
		}] `json:"members"`
	}]
	err = c.do(ctx, r, &data)
	if IsUnknownReference(err) {
		return nil, false, nil
	}
	for _, d := range data {
		for _, m := range d.Members {
			if m.VMID != 0 {
				vmids = append(vmids, int(m.VMID))
			}
		}
	}
	return vmids, err == nil, err
}

// JoinPool makes a VM a member of a pool and takes it out of the one that it is
// in. Other members stay. It needs Pool.Allocate on both pools.
func (c *Client) JoinPool(ctx context.Context, pool string, vmid int) error {
	return c.updatePool(ctx, "add VM to", pool, vmid, "allow-move")
}

// LeavePool takes a VM out of a pool. Other members stay.
func (c *Client) LeavePool(ctx context.Context, pool string, vmid int) error {
	return c.updatePool(ctx, "take VM out of", pool, vmid, "delete")
}

// updatePool uses the form of the call that knows nested pools.
func (c *Client) updatePool(ctx context.Context, op, pool string, vmid int, option string) error {
	r := request{
		op: op + " pool " + strconv.Quote(pool), method: http.MethodPut, path: "/pools",
		form: map[string]string{"poolid": pool, "vms": strconv.Itoa(vmid), option: "1"},
	}
	if why := validVMID(vmid); why != "" {
		return r.refuse(why)
	}
	return c.do(ctx, r, nil)
}
