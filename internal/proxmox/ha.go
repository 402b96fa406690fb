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
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// HASettings holds the HA settings of a VM, by PVE's names: state, max_restart, max_relocate, group (PVE 8), failback (PVE 9) and comment. Settings that
// are not set have their defaults.
type HASettings map[string]string

func haRequest(op, method string, vmid int, path string) request {
	return request{op: op + " HA resource of VM " + strconv.Itoa(vmid), method: method, path: path, args: []string{"vm:" + strconv.Itoa(vmid)}}
}

const haPath = "/cluster/ha/resources/{sid}"

// HAResource returns the HA resource of a VM that HA manages. It needs Sys.Audit on /.
func (c HighAvailabilityAPI) HAResource(ctx context.Context, vmid int) (HASettings, error) {
	var data map[string]text
	if err := c.do(ctx, haRequest("read", http.MethodGet, vmid, haPath), &data); err != nil {
		return nil, err
	}
	return haSettings(data), nil
}

// haSettings returns the HA settings in an answer.
func haSettings(data map[string]text) HASettings {
	r := HASettings{}
	for k, v := range data {
		switch k {
		case "sid", "type", digest, "errors":
		default:
			r[k] = string(v)
		}
	}
	return r
}

// HAResources returns the VMs that HA manages, by VMID. It needs Sys.Audit on /.
func (c HighAvailabilityAPI) HAResources(ctx context.Context) (map[int]HASettings, error) {
	var data list[map[string]text]
	r := request{op: "list HA resources", method: http.MethodGet, path: "/cluster/ha/resources", query: url.Values{"type": {"vm"}}}
	if err := c.do(ctx, r, &data); err != nil {
		return nil, err
	}
	all := make(map[int]HASettings, len(data))
	for _, d := range data {
		_, id, _ := strings.Cut(string(d["sid"]), ":")
		if vmid, err := strconv.Atoi(id); err == nil {
			all[vmid] = haSettings(d)
		}
	}
	return all, nil
}

// AddHAResource puts a VM under the management of HA. It needs Sys.Console on /.
func (c HighAvailabilityAPI) AddHAResource(ctx context.Context, vmid int, r HASettings) error {
	q := haRequest("add", http.MethodPost, vmid, "/cluster/ha/resources")
	q.form = map[string]string{"sid": q.args[0]}
	q.args = nil
	maps.Copy(q.form, r)
	return c.do(ctx, q, nil)
}

// ChangeHAResource sets the given settings. An empty value stands for the default.
func (c HighAvailabilityAPI) ChangeHAResource(ctx context.Context, vmid int, r HASettings) error {
	change := Change{Set: Params{}}
	for k, v := range r {
		if v == "" {
			change.Delete = append(change.Delete, k)
		} else {
			change.Set[k] = v
		}
	}
	q := haRequest("change", http.MethodPut, vmid, haPath)
	q.form = change.form()
	return c.do(ctx, q, nil)
}

// RemoveHAResource removes a VM from HA. Use it for a VM that is to be deleted: from pve-ha-manager 5.0.7 on, HA also removes the VM from its rules, and a
// rule about only this VM. The VM itself is not changed. It needs Sys.Console on /.
func (c HighAvailabilityAPI) RemoveHAResource(ctx context.Context, vmid int) error {
	return c.do(ctx, haRequest("remove", http.MethodDelete, vmid, haPath), nil)
}

// LeaveHA removes a VM from HA, and leaves all rules unchanged. A PVE that does not know the parameter for that leaves them by itself. This cannot be
// derived from the version, which is that of pve-manager. It needs Sys.Console on /.
func (c HighAvailabilityAPI) LeaveHA(ctx context.Context, vmid int) error {
	r := haRequest("remove", http.MethodDelete, vmid, haPath)
	r.query = url.Values{"purge": {"0"}}
	err := c.do(ctx, r, nil)
	if unknownParameter(err, "purge") {
		return c.RemoveHAResource(ctx, vmid)
	}
	return err
}

// HAStatus is the state of the cluster's high availability.
type HAStatus struct {
	// Quorum is the reported state of the quorum, such as OK.
	Quorum string

	// Armed is armed, standby, disarming or disarmed. It is empty before PVE 9.2.
	Armed string

	// Manager is the node of the current manager, or empty.
	Manager string

	// Resources that HA manages.
	Resources []HAResource
}

// An HAResource is a guest that HA manages.
type HAResource struct {
	// ID such as vm:100.
	ID string

	// Node of the guest.
	Node string

	// State of the guest, such as started, stopped, fence or error.
	State string
}

// HAStatus reads the state of high availability. It needs Sys.Audit on /.
func (c HighAvailabilityAPI) HAStatus(ctx context.Context) (HAStatus, error) {
	var data list[struct {
		Type   text `json:"type"`
		Node   text `json:"node"`
		Status text `json:"status"`
		SID    text `json:"sid"`
		State  text `json:"state"`
		Armed  text `json:"armed-state"`
	}]
	r := request{op: "read the HA status", method: http.MethodGet, path: "/cluster/ha/status/current"}
	if err := c.do(ctx, r, &data); err != nil {
		return HAStatus{}, err
	}
	var s HAStatus
	for _, d := range data {
		switch d.Type {
		case "quorum":
			s.Quorum = string(d.Status)
		case "master":
			s.Manager = string(d.Node)
		case "fencing":
			s.Armed = string(d.Armed)
		case "service":
			s.Resources = append(s.Resources, HAResource{ID: string(d.SID), Node: string(d.Node), State: string(d.State)})
		}
	}
	return s, nil
}
