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

package preflight

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
	"github.com/vitistack/provider-proxmox/internal/vmcache"
)

func TestMustTake(t *testing.T) {
	nodes := []proxmox.Node{{Name: "a", Status: "online"}, {Name: "b", Status: "offline"}}
	cases := map[string]struct {
		reason  string
		node    string
		fails   bool
		refused bool
	}{
		"Online":  {reason: "A node that is on can take a VM.", node: "a"},
		"Missing": {reason: "A node must exist.", node: "z", fails: true, refused: true},
		"Offline": {reason: "A node that is offline may come back: that is no refusal.", node: "b", fails: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := CheckNode(nodes, tc.node)
			var r conditions.ValidationError
			if (err != nil) != tc.fails || errors.As(err, &r) != tc.refused {
				t.Errorf("\n%s\nwant an error %t, a refusal %t, got %v", tc.reason, tc.fails, tc.refused, err)
			}
		})
	}
}

// there has one node with what all tenants have.
type there struct{ Inventory }

func (there) Storages(context.Context) ([]proxmox.Storage, error) {
	return []proxmox.Storage{{Name: "local", Node: "a", Content: []string{"iso"}}}, nil
}

func (there) Volumes(context.Context, string, string, string, time.Duration) ([]proxmox.Volume, error) {
	return []proxmox.Volume{
		{ID: "local:iso/debian-13.iso"}, {ID: "local:iso/cidata-300-b0b0b0b0-0000-4000-8000-000000030001-0123456789abcdef.iso"},
	}, nil
}

func (there) Privileges(context.Context, string) (proxmox.Privileges, error) {
	return proxmox.Privileges{"SDN.Use": true}, nil
}

// TestInstead checks that messages name nothing of other tenants: the name of an image for cloud-init contains the UUID of its VM.
func TestInstead(t *testing.T) {
	of, err := tenancy.Of([]v1alpha1.ProviderTenant{{
		Name: "a", Namespaces: []string{"a"}, Pools: []string{"a"}, Images: []string{"local:iso/*"}, Bridges: []v1alpha1.TenantBridge{{Name: "vmbr1"}},
	}}, tenancy.Subject{Namespace: "a"})
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		tenant *tenancy.Tenant
		sees   bool
	}{"Tenant": {tenant: of}, "Everybody": {sees: true}} {
		t.Run(name, func(t *testing.T) {
			e := &Checks{Inventory: there{}, Tenant: tc.tenant}
			no, err := e.MissingMedium(t.Context(), []Medium{{what: "iso", Content: ContentISO, volume: "local:iso/debian-9.iso"}}, "a")
			if err != nil || no == nil {
				t.Fatalf("want a refusal, got %v, %v", no, err)
			}
			text := no.Error() + e.BridgeNotFound(t.Context(), "vmbr1", "a", []proxmox.Bridge{{Name: "vmbr7"}})
			if !strings.Contains(text, "debian-13") || strings.Contains(text, "b0b0b0b0") != tc.sees || strings.Contains(text, "vmbr7") != tc.sees {
				t.Errorf("want others shown %t, got %s", tc.sees, text)
			}
		})
	}
}

// aged has an ISO image that was created a moment ago: an older list does not have it.
type aged struct {
	there

	now   bool
	lists map[time.Duration]int
}

func (a aged) Volumes(ctx context.Context, node, storage, content string, maxAge time.Duration) ([]proxmox.Volume, error) {
	a.lists[maxAge]++
	all, err := a.there.Volumes(ctx, node, storage, content, maxAge)
	if a.now && maxAge == inventory.Fresh {
		all = append(all, proxmox.Volume{ID: "local:iso/new.iso"})
	}
	return all, err
}

// TestMediumMadeJustNow checks that only a current list proves that a medium is missing. As long as an older list has the medium, no current list is read.
func TestMediumMadeJustNow(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, volume string
		now, missing   bool
		fresh          int
	}{
		"Known":   {reason: "An old list has it.", volume: "local:iso/debian-13.iso"},
		"New":     {reason: "The image was made a moment ago.", volume: "local:iso/new.iso", now: true, fresh: 1},
		"Missing": {reason: "The image is in no list.", volume: "local:iso/new.iso", missing: true, fresh: 1},
	} {
		t.Run(name, func(t *testing.T) {
			in := aged{now: tc.now, lists: map[time.Duration]int{}}
			e := &Checks{Inventory: in}
			no, err := e.MissingMedium(t.Context(), []Medium{{what: "iso", Content: ContentISO, volume: tc.volume}}, "a")
			if err != nil || (no != nil) != tc.missing || in.lists[inventory.Fresh] != tc.fresh {
				t.Errorf("%s Got %v, %v, with lists by age: %v", tc.reason, no, err, in.lists)
			}
		})
	}
}

// unseen is a cluster in which a VM of others is on a node that is off.
type unseen struct{ Inventory }

func (unseen) Storages(context.Context) ([]proxmox.Storage, error) {
	return []proxmox.Storage{{Name: "ceph", Node: "a", Shared: true}}, nil
}

func (unseen) Guests(context.Context, time.Duration) ([]proxmox.Guest, error) {
	return []proxmox.Guest{{VMID: 100, Node: "a", Type: "qemu", Pool: "a"}, {VMID: 200, Node: "b", Type: "qemu", Pool: "b"}}, nil
}

func (unseen) Nodes(context.Context) ([]proxmox.Node, error) {
	return []proxmox.Node{{Name: "a", Status: "online"}, {Name: "b", Status: "offline"}}, nil
}

func (unseen) ClusterStatus(context.Context, time.Duration) (proxmox.ClusterStatus, error) {
	return proxmox.ClusterStatus{}, nil
}

func (unseen) Pending(context.Context, proxmox.Ref) ([]proxmox.PendingValue, error) { return nil, nil }

func (unseen) VMIDTaken(context.Context, int) (bool, error) { return true, nil }

// TestVolumesUnseen checks that neither a VM of others that may use a volume, nor its node, is named.
func TestVolumesUnseen(t *testing.T) {
	of, err := tenancy.Of([]v1alpha1.ProviderTenant{
		{Name: "a", Namespaces: []string{"a"}, Pools: []string{"a"}, Nodes: []string{"a"}},
	}, tenancy.Subject{Namespace: "a"})
	if err != nil {
		t.Fatal(err)
	}
	for want, tenant := range map[string]*tenancy.Tenant{
		"nothing is attached: cannot see whether another VM uses the volume: a node cannot be asked": of,
		`nothing is attached: cannot see whether VM 200 uses the volume: node "b" is offline`:        nil,
	} {
		e := &Checks{Inventory: unseen{}, Reader: vmcache.NewReader(unseen{}, unseen{}), Tenant: tenant}
		err := e.CheckVolumesUnused(t.Context(), proxmox.Ref{Node: "a", VMID: 100}, []string{"ceph:vm-100-disk-1"})
		if err == nil || err.Error() != want {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}
