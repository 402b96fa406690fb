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

package nodenetwork_test

import (
	"testing"
	"time"

	"github.com/vitistack/provider-proxmox/internal/controller/config"
	"github.com/vitistack/provider-proxmox/internal/controller/config/configtest"
	"github.com/vitistack/provider-proxmox/internal/controller/nodenetwork"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/simulator"
)

// reload applies the staged changes of a node as another user.
func reload(s configtest.Simulator) {
	upid, err := s.Client.ReloadNetwork(s.Context(), "pve1")
	s.Must(err)
	for {
		t, err := s.Client.Task(s.Context(), upid)
		s.Must(err)
		if !t.Running {
			return
		}
		<-time.After(time.Millisecond)
	}
}

// nic gives a VM of the node a NIC.
func nic(value string) func(configtest.Simulator) {
	return func(s configtest.Simulator) {
		s.Edit(func(st *simulator.State) {
			st.Guests[100].Config["net7"] = value
		})
	}
}

func TestNodeNetwork(t *testing.T) {
	configtest.Run(t, configtest.Kind{
		Setup: config.Setup(nodenetwork.Table()), Kind: "NodeNetwork", Collection: proxmox.NetworkCollection("pve1"), Name: "pve1/vmbr9",
		Spec:        "{node: pve1, interface: vmbr9, type: bridge, cidr: 10.77.0.1/24, comments: Ours, confirmUnmappedAddresses: true}",
		Want:        map[string]string{"type": "bridge", "cidr": "10.77.0.1/24", "comments": "Ours", "autostart": "1"},
		Changed:     `{node: pve1, interface: vmbr9, type: bridge, cidr: 10.77.0.2/24, comments: "", confirmUnmappedAddresses: true}`,
		WantChanged: map[string]string{"cidr": "10.77.0.2/24", "comments": ""},
		Foreign:     proxmox.Params{"type": "bridge", "autostart": "1", "comments": "Others"},
		Same:        proxmox.Params{"type": "bridge", "autostart": "1", "comments": "Ours", "cidr": "10.77.0.1/24"},
		Settle:      reload,
		Drift:       proxmox.Change{Set: proxmox.Params{"type": "bridge", "cidr": "10.77.0.9/24"}},
		Use:         nic("virtio=BC:24:11:00:00:07,bridge=vmbr9"), Release: nic("virtio=BC:24:11:00:00:07,bridge=vmbr0"),
		User:   "VM ",
		Denied: proxmox.Privilege{Path: "/nodes/pve1", Names: []string{"Sys.Modify"}},
	})
}
