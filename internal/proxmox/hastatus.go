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
)

// HAStatus is the state of the cluster's high availability.
type HAStatus struct {
	// Quorum is what is said of the quorum, such as OK.
	Quorum string

	// Armed is armed, standby, disarming or disarmed. Empty before PVE 9.2.
	Armed string

	// Manager is the node that manages now, or empty.
	Manager string

	// Resources that are managed.
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
func (c *Client) HAStatus(ctx context.Context) (HAStatus, error) {
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
