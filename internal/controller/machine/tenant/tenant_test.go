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

package tenant

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/act"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/imageref"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// checks of a tenant that may use some images.
func checks() Checks {
	return Checks{Tenant: tenancy.TenantNamed([]v1alpha1.ProviderTenant{{Name: "a", Images: []string{"nas:import/debian-*.qcow2"}}}, "a")}
}

// guests of a cluster.
type guests []proxmox.Guest

func (g guests) Guests(context.Context, time.Duration) ([]proxmox.Guest, error) { return g, nil }

func (g guests) Volumes(context.Context, string, string, string, time.Duration) ([]proxmox.Volume, error) {
	return nil, nil
}

// TestTold checks that nothing is disclosed of a VM that does not belong to the tenant: its users may not know where it is, or what is done to it.
func TestTold(t *testing.T) {
	cases := map[string]struct {
		reason string
		guests guests
		want   bool
		hidden bool // Including what prevents reading it.
		adopts bool
	}{
		"Own":       {reason: "The VM is the tenant's.", guests: guests{{VMID: 150, Type: "qemu", Pool: "a"}}, want: true},
		"Adoptable": {reason: "The VM may be taken over.", guests: guests{{VMID: 150, Type: "qemu", Pool: "free"}}, want: true, adopts: true},
		"Foreign":   {reason: "The VM is somebody else's.", guests: guests{{VMID: 150, Type: "qemu", Pool: "b"}}, hidden: true},
		"Locked":    {reason: "The VM is being made for somebody else.", guests: guests{{VMID: 150, Type: "qemu", Pool: "b", Lock: "create"}}, hidden: true},
		"Making":    {reason: "A VM comes to a pool when it is made.", guests: guests{{VMID: 150, Type: "qemu", Lock: "create"}}, want: true},
		"Cloning":   {reason: "A clone comes to a pool when it is made.", guests: guests{{VMID: 150, Type: "qemu", Lock: "clone"}}, want: true},
		"Nobody's":  {reason: "The VM is in no pool, and nobody makes it.", guests: guests{{VMID: 150, Type: "qemu"}}, hidden: true},
		"Missing":   {reason: "What is not there is in no way.", adopts: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := Checks{Inventory: tc.guests, Tenant: tenancy.TenantNamed([]v1alpha1.ProviderTenant{{
				Name: "a", Pools: []string{"a"}, VMIDRange: &v1alpha1.VMIDRange{Min: 100, Max: 199}, Allow: &v1alpha1.TenantPermissions{Adopt: []string{"free"}},
			}}, "a")}
			m := &namespaced.Machine{}
			if got := c.MayName(t.Context(), m, 150); got != tc.want {
				t.Errorf("MayName(): %s Want %v, got %v", tc.reason, tc.want, got)
			}
			if err := c.Hidden(t.Context(), m, 150); (err != nil) != tc.hidden {
				t.Errorf("Hidden(): %s Want %v, got %v", tc.reason, tc.hidden, err)
			}
			if err := c.Adoptable(t.Context(), m, 150); (err == nil) != tc.adopts {
				t.Errorf("Adoptable(): %s Want %v, got %v", tc.reason, tc.adopts, err)
			}
		})
	}
	if free := (Checks{}); !free.MayName(t.Context(), &namespaced.Machine{}, 150) || free.Hidden(t.Context(), &namespaced.Machine{}, 150) != nil {
		t.Error("want all told where there are no tenants")
	}
}

// TestCreations covers a tenant that is defined only by its pools. It is informed of a VM that is in no pool yet if the VM is proven to be created
// for its Machine.
func TestCreations(t *testing.T) {
	const uuid = "11111111-2222-4333-8444-555555555555"
	making := proxmox.Guest{VMID: 150, Type: "qemu", Node: "pve1", Lock: "create"}
	records := tenancy.Records{Key: []byte("a key"), Config: "ClusterProviderConfig/shared"}
	cases := map[string]struct {
		reason string
		change func(m *namespaced.Machine)
		guest  func(g *proxmox.Guest)
		want   bool
		left   bool // If it is the remains of a lost creation.
		seen   bool // Whether it was seen to be the Machine's.
	}{
		"Own":      {reason: "The VM is made for this Machine.", want: true, left: true},
		"Clone":    {reason: "The VM is made as a clone for this Machine.", guest: func(g *proxmox.Guest) { g.Lock = "clone" }, want: true, left: true},
		"Unsigned": {reason: "Nothing proves whose the VM is.", change: func(m *namespaced.Machine) { delete(m.Annotations, object.AnnotationCreation) }},
		"OtherMachine": {
			reason: "A signature is of one Machine, whoever copies it.", change: func(m *namespaced.Machine) { m.UID = "2" },
		},
		"OtherUUID": {
			reason: "A signature is of one UUID.", change: func(m *namespaced.Machine) {
				m.Annotations[object.AnnotationUUID] = "99999999-2222-4333-8444-555555555555"
			},
		},
		"OtherVMID": {reason: "A signature is of one VMID.", guest: func(g *proxmox.Guest) { g.VMID = 151 }},
		"Elsewhere": {reason: "A signature is of one node.", guest: func(g *proxmox.Guest) { g.Node = "pve2" }},
		"Complete":  {reason: "One that is complete is in a pool of its tenant.", guest: func(g *proxmox.Guest) { g.Lock = "" }, left: true},
		"Theirs":    {reason: "The VM is in a pool of others.", guest: func(g *proxmox.Guest) { g.Pool = "b" }},
		"Completed": {
			reason: "A VM that was seen to be complete is no creation any more.", change: func(m *namespaced.Machine) {
				m.Status.AtProvider.VMID, m.Status.AtProvider.UUID = new(int32(150)), strings.ToUpper(uuid)
				records.Sign(m)
			}, seen: true,
		},
		"Forged": {
			reason: "A status that nobody has signed ends no creation.", change: func(m *namespaced.Machine) {
				m.Status.AtProvider.VMID, m.Status.AtProvider.UUID = new(int32(150)), uuid
			}, want: true, left: true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := making
			if tc.guest != nil {
				tc.guest(&g)
			}
			c := Checks{
				Inventory: guests{g}, Records: records,
				Tenant: tenancy.TenantNamed([]v1alpha1.ProviderTenant{{Name: "a", Pools: []string{"a"}}}, "a"),
			}
			m := &namespaced.Machine{}
			m.UID, m.Annotations = "1", map[string]string{object.AnnotationUUID: uuid}
			c.Creates(m, qemu.Identity{VMID: making.VMID, UUID: uuid}, making.Node)
			if tc.change != nil {
				tc.change(m)
			}
			if got := c.MayName(t.Context(), m, g.VMID); got != tc.want {
				t.Errorf("MayName(): %s Want %v, got %v", tc.reason, tc.want, got)
			}
			if err := c.Hidden(t.Context(), m, g.VMID); (err == nil) != (tc.want || tc.seen) {
				t.Errorf("Hidden(): %s Want it told: %v, got %v", tc.reason, tc.want, err)
			}
			left := act.Remains{VMID: g.VMID, UUID: m.Annotations[object.AnnotationUUID], Node: g.Node, Signature: m.Annotations[object.AnnotationCreation]}
			if got := c.MayReportRemains(t.Context(), m, left); got != tc.left {
				t.Errorf("MayReportRemains(): %s Want %v, got %v", tc.reason, tc.left, got)
			}
			err := c.Removable(t.Context(), g.VMID)
			if err == nil || !strings.Contains(err.Error(), `tenant "a" may not (pools and vmidRange)`) || !strings.Contains(err.Error(), "by an operator") {
				t.Errorf("Removable(): want what is in no pool of the tenant left to operators, by its rule, got %v", err)
			}
		})
	}
	m := &namespaced.Machine{}
	(Checks{Records: tenancy.Records{Key: []byte("a key")}}).Creates(m, qemu.Identity{VMID: 150, UUID: uuid}, "pve1")
	if len(m.Annotations) > 0 {
		t.Errorf("want nothing signed for a Machine of no tenant, got %v", m.Annotations)
	}
}

func TestImports(t *testing.T) {
	cases := map[string]struct {
		reason string
		checks Checks
		files  []string
		want   []string
		err    string
	}{
		"All": {reason: "Without a tenant all files may be used.", files: []string{"nas:import/x.qcow2"}, want: []string{"nas:import/x.qcow2"}},
		"Some": {
			reason: "What is for it is left.", checks: checks(), files: []string{"local:import/debian-13.qcow2", "nas:import/debian-13.qcow2"},
			want: []string{"nas:import/debian-13.qcow2"},
		},
		"None": {
			reason: "There is nothing that a tenant without images may make a VM of.", checks: checks(), files: []string{"nas:import/x.qcow2"},
			err: `tenant "a" may not (images): image.ref is nas:import/x.qcow2`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := &imageref.Choice{}
			for _, f := range tc.files {
				c.Replicas = append(c.Replicas, imageref.Replica{Volume: f})
			}
			err := tc.checks.CheckImport(c)
			if (err != nil) != (tc.err != "") || err != nil && err.Error() != tc.err {
				t.Errorf("%s Want error %q, got %v", tc.reason, tc.err, err)
			}
			var got []string
			for _, r := range c.Replicas {
				got = append(got, r.Volume)
			}
			if strings.Join(got, " ") != strings.Join(tc.want, " ") {
				t.Errorf("%s Want %v, got %v", tc.reason, tc.want, got)
			}
		})
	}
}

// TestInheritedOptions checks that no VM is created from a source with options that break its isolation.
func TestInheritedOptions(t *testing.T) {
	for option, value := range map[string]string{
		"args": "-device vfio-pci", "hookscript": "local:snippets/x", "parallel0": "/dev/parport0", "cicustom": "user=local:snippets/x", "affinity": "0-3",
	} {
		source := qemu.Config{option: value, "memory": "512"}
		d := qemu.Desired{MachineParameters: &v1alpha1.MachineParameters{}, Identity: qemu.Identity{VMID: 150}, Created: true}
		err := checks().Creation(d, source, "pve1")
		if err == nil || !strings.Contains(err.Error(), "option "+option) {
			t.Errorf("want %s of a source refused, got %v", option, err)
		}
		delete(source, option)
		if err := checks().Creation(d, source, "pve1"); err != nil {
			t.Errorf("want a source without %s accepted, got %v", option, err)
		}
	}
}

func TestBrief(t *testing.T) {
	waits := &imageref.NotReadyError{Message: "image 'x' is not ready: StorageNotFound: storage 'ssd' not found on nodes pve3"}
	if got := (Checks{}).Brief(waits); !errors.Is(got, waits) {
		t.Errorf("want all told without a tenant, got %v", got)
	}
	if got := checks().Brief(waits).Error(); got != "image 'x' is not ready: StorageNotFound" {
		t.Errorf("want no storages and nodes told to a tenant, got %q", got)
	}
	if other := errors.New("boom: a: b"); !errors.Is(checks().Brief(other), other) {
		t.Error("want other errors as they are")
	}
}

// TestInherited checks that no VM runs in a network of its source that the tenant may not use, even if the VM is not configured afterwards, or the
// spec has changed meanwhile.
func TestInherited(t *testing.T) {
	const own, others = "virtio,bridge=vmbr1", "virtio,bridge=vmbr0"
	cases := map[string]struct {
		reason       string
		source, spec string // Networks.
		onboot       string
		made         bool
		configured   bool
	}{
		"Own":      {reason: "The source's network is the tenant's.", source: own, made: true, configured: true},
		"Kept":     {reason: "The network stays as the source has it.", source: others},
		"Replaced": {reason: "The spec replaces it before the VM is started.", source: others, spec: "vmbr1", made: true, configured: true},
		"Onboot":   {reason: "The node would start it before.", source: others, spec: "vmbr1", onboot: "1", configured: true},
		"OwnBoot":  {reason: "What the node starts is the tenant's.", source: own, onboot: "1", made: true, configured: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := Checks{Tenant: tenancy.TenantNamed([]v1alpha1.ProviderTenant{{Name: "a", Bridges: []v1alpha1.TenantBridge{{Name: "vmbr1"}}}}, "a")}
			source := qemu.Config{"net0": tc.source, "onboot": tc.onboot}
			d := qemu.Desired{MachineParameters: &v1alpha1.MachineParameters{}, Identity: qemu.Identity{VMID: 150}, Created: true}
			if tc.spec != "" {
				d.Networks = []v1alpha1.MachineNetwork{{Name: "lan", Device: new("net0"), Bridge: &tc.spec}}
			}
			var err error
			if d.Devices, err = (qemu.Devices{}).Assign(d.MachineParameters, source); err != nil {
				t.Fatal(err)
			}
			if err := c.Creation(d, source, "pve1"); (err == nil) != tc.made {
				t.Errorf("Creation(): %s Want it made: %v, got %v", tc.reason, tc.made, err)
			}
			clone := &vmstate.VM{State: qemu.State{Config: source, Active: source}, IdentityPending: true}
			if no := c.Change(clone, d.Difference(source)); (len(no) == 0) != tc.configured {
				t.Errorf("Change(): %s Want it configured: %v, got %v", tc.reason, tc.configured, no)
			}
			clone.IdentityPending = false
			if no := c.Change(clone, d.Difference(source)); len(no) > 0 {
				t.Errorf("Change(): what a VM had before is not taken away: got %v", no)
			}
		})
	}
}
