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

package nodenetwork

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/config"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/nodenet"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// answers returns the answers of a cluster with VMs and containers, by the paths below /api2/json.
func answers() map[string]string {
	return map[string]string{
		"/cluster/resources": `[{"type":"qemu","vmid":100,"node":"pve1","status":"running"},{"type":"lxc","vmid":101,"node":"pve1","status":"stopped"},
			{"type":"lxc","vmid":102,"node":"pve1","status":"running"},{"type":"qemu","vmid":103,"node":"pve2","status":"running"},
			{"type":"qemu","vmid":104,"node":"pve1","status":"running"}]`,
		"/nodes/pve1/qemu/100/pending": `[{"key":"net0","value":"virtio=BC:24:11:00:00:07,bridge=vmbr0"},
			{"key":"net1","pending":"virtio=BC:24:11:00:00:08,bridge=vmbr9"}]`,
		"/nodes/pve1/lxc/101/pending": `[{"key":"hostname","value":"a"},
			{"key":"net0","value":"name=eth0,bridge=vmbr9,hwaddr=BC:24:11:00:00:09,type=veth"}]`,
		"/nodes/pve1/lxc/102/pending": `[{"key":"net0","value":"name=eth0,bridge=vmbr90,type=veth"},
			{"key":"description","value":"net0: bridge=vmbr9"}]`,
		"/nodes/pve1/qemu/104/pending": `[{"key":"net0","value":"virtio=BC:24:11:00:00:0A,bridge=vmbr9","pending":"virtio=BC:24:11:00:00:0A,bridge=vmbr0"},
			{"key":"description","value":"bridge=vmbr9"}]`,
		"/cluster/sdn/zones": `[{"type":"vlan","zone":"z1","bridge":"vmbr9"},{"type":"vlan","zone":"z2","bridge":"vmbr9","nodes":"pve2"}]`,
	}
}

// serving returns a client of a cluster that gives these answers. Other requests fail.
func serving(t *testing.T, answers map[string]string) *proxmox.Client {
	t.Helper()
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, ok := answers[strings.TrimPrefix(r.URL.Path, "/api2/json")]
		if !ok {
			http.Error(w, "got timeout", http.StatusInternalServerError)
			return
		}
		_, _ = fmt.Fprintf(w, `{"data":%s}`, data)
	}))
	t.Cleanup(s.Close)
	c, err := proxmox.New(proxmox.Config{
		Endpoints: []string{s.URL}, TLS: proxmox.TLS{InsecureSkipVerify: true},
		Credentials: proxmox.Credentials{TokenID: "u@pve!t", TokenSecret: "s"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func viewOf(t *testing.T, answers map[string]string) view {
	t.Helper()
	mg, c := &v1alpha1.NodeNetwork{}, serving(t, answers)
	mg.Parameters().Node = "pve1"
	seen := inventory.New(c)
	t.Cleanup(seen.Close)
	return view{Access: config.Access{Client: c, Inventory: seen}, Resource: mg}
}

// TestUsersOf checks the guests of the node with NICs on a bridge, and the zones that use it.
func TestUsersOf(t *testing.T) {
	v := viewOf(t, answers())
	got, err := usersOf(t.Context(), v, nodenet.Config{"vmbr9": {"type": "bridge"}, "vmbr5": {"type": "bridge"}}, v.Client.Pending)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{"vmbr9": {"SDN zone z1", "VM 100", "container 101", "VM 104"}, "vmbr5": nil}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("a NIC counts that is only pending, and one that goes at the next start: -want, +got:\n%s", diff)
	}
}

// TestUsersUnknown checks that an interface is not considered unused if an answer fails.
func TestUsersUnknown(t *testing.T) {
	for path := range answers() {
		t.Run(path, func(t *testing.T) {
			some := answers()
			delete(some, path)
			v := viewOf(t, some)
			if got, err := usersOf(t.Context(), v, nodenet.Config{"vmbr9": {"type": "bridge"}}, v.Client.Pending); err == nil {
				t.Errorf("without %s, want an error, got %v", path, got)
			}
		})
	}
}
