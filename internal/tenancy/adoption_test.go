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

package tenancy

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/proxmox/guarded"
)

// tagged returns a VM in a pool with tags.
func tagged(vmid int, pool string, tags ...string) proxmox.Guest {
	return proxmox.Guest{VMID: vmid, Pool: pool, Tags: tags}
}

// TestAdoptTags checks that tenant f may adopt a VM by a tag, unless the VM is in another tenant's range and pools.
func TestAdoptTags(t *testing.T) {
	template := tagged(9000, "", "handover")
	template.Name, template.Template = "base-1", true
	cases := map[string]struct {
		reason, of       string
		guest            proxmox.Guest
		adopts, has, see bool
	}{
		"Tagged": {reason: "A VM with the tag may be taken over.", of: "f", guest: tagged(9, "", "web", "handover"), adopts: true, has: true, see: true},
		"InPool": {
			reason: "A VM with the tag in a pool of no tenant may be taken over.", of: "f", guest: tagged(9, "nightly", "handover"), adopts: true, has: true, see: true,
		},
		"Case":        {reason: "Case does not count in tags.", of: "f", guest: tagged(9, "", "Handover"), adopts: true, has: true, see: true},
		"OtherTag":    {reason: "Another tag tells nothing.", of: "f", guest: tagged(9, "", "handovers")},
		"NoTag":       {reason: "No tag tells nothing.", of: "f", guest: tagged(9, "")},
		"OtherTenant": {reason: "The tag is for one tenant.", of: "c", guest: tagged(9, "", "handover")},
		"InTheirPool": {reason: "A tag takes no VM out of the pool of another tenant.", of: "f", guest: tagged(9, "b", "handover")},
		"StaysTheirs": {
			reason: "A VM in the pool of a tenant is its own, whatever tags it has.", of: "b", guest: tagged(9, "b", "handover"), has: true, see: true,
		},
		"InTheirRange": {reason: "A tag takes no VM out of the range of another tenant.", of: "f", guest: tagged(505, "", "handover")},
		"StaysInRange": {
			reason: "A VM in the range of a tenant is its own, whatever tags it has.", of: "d", guest: tagged(505, "", "handover"), has: true, see: true,
		},
		"ForOthers":     {reason: "A tag takes no VM out of a pool that another tenant may adopt from.", of: "f", guest: tagged(9, "old", "handover")},
		"ByPool":        {reason: "The pool tells who may adopt it.", of: "c", guest: tagged(9, "old", "handover"), adopts: true, has: true, see: true},
		"Template":      {reason: "A template with the tag may be taken over.", of: "f", guest: template, adopts: true, has: true, see: true},
		"Planted":       {reason: "What another tenant may take over may be its work, and is no template for all.", of: "a", guest: template},
		"NoTenantTells": {reason: "A resource of no tenant adopts nothing.", of: "x", guest: tagged(9, "", "handover")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			of := tenant(t, tc.of)
			if adopts := of.CheckAdopt(tc.guest) == nil; adopts != tc.adopts {
				t.Errorf("\n%s\nadopts: want %t, got %t", tc.reason, tc.adopts, adopts)
			}
			if has, sees := of.CheckGuest(tc.guest) == nil, of.MaySee(tc.guest); has != tc.has || sees != tc.see {
				t.Errorf("\n%s\nhas: want %t, got %t; sees: want %t, got %t", tc.reason, tc.has, has, tc.see, sees)
			}
		})
	}
}

// TestAdoptTagsReserved checks that only operators may give a VM a tag by which it may be taken over.
func TestAdoptTagsReserved(t *testing.T) {
	tags := []string{"web", "Handover"}
	for of, want := range map[string]string{"a": "(tags): tag handover", "b": "(tags): tag handover", "f": "(allow.adoptTags): tag Handover"} {
		compare(t, "A spec names no tag that hands VMs over.", checkSpecTags(tenant(t, of), tags), want)
	}
	compare(t, "A spec may name other tags.", checkSpecTags(tenant(t, "f"), tags[:1]), "")
}

// TestGuardRetags checks that a VM keeps the tag by which it was taken over, and that no other VM gets it.
func TestGuardRetags(t *testing.T) {
	const config, create = "PUT /nodes/{node}/qemu/{vmid}/config", "POST /nodes/{node}/qemu"
	tags := func(tags string) map[string]string { return map[string]string{"tags": tags} }
	made := map[string]string{"vmid": "805", "pool": "f", "tags": "handover"}
	cases := map[string]struct {
		reason      string
		listed, now proxmox.Guest
		write       string
		args        []string
		form        map[string]string
		want        string
	}{
		"Keeps": {
			reason: "The tag may be written again.", listed: proxmox.Guest{VMID: 9, Tags: []string{"handover"}}, now: proxmox.Guest{VMID: 9, Tags: []string{"handover"}},
			write: config, form: tags("handover;web"),
		},
		"Taken": {
			reason: "A VM that was taken from the tenant a moment ago does not come back.",
			listed: proxmox.Guest{VMID: 9, Tags: []string{"handover"}}, now: proxmox.Guest{VMID: 9}, write: config, form: tags("handover"),
			want: "(allow.adoptTags): tag handover",
		},
		"Own": {
			reason: "A VM of its own does not get it, by which the tenant would hold on to it.",
			listed: proxmox.Guest{VMID: 805, Pool: "f"}, now: proxmox.Guest{VMID: 805, Pool: "f"}, write: config, form: tags("web;Handover"),
			want: "(allow.adoptTags): tag Handover",
		},
		"Made":  {reason: "A new VM does not get the tag.", write: create, args: []string{"pve1"}, form: made, want: "(allow.adoptTags): tag handover"},
		"Other": {reason: "Other tags are free.", listed: proxmox.Guest{VMID: 805, Pool: "f"}, write: config, form: tags("web")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := Guard{Tenant: tenant(t, "f"), Guest: func(_ int, fresh bool) (proxmox.Guest, error) {
				if fresh {
					return tc.now, nil
				}
				return tc.listed, nil
			}}
			args := tc.args
			if args == nil {
				args = []string{"pve1", strconv.Itoa(tc.listed.VMID)}
			}
			method, path, _ := strings.Cut(tc.write, " ")
			compare(t, tc.reason, g.Check(guarded.Write{Op: name, Method: method, Path: path, Args: args, Form: tc.form}), tc.want)
		})
	}
}

// TestWithdrawn checks that a VM that operators have taken back is not removed, whoever had it before.
func TestWithdrawn(t *testing.T) {
	const vmid = 40001
	path, args := "/nodes/{node}/qemu/{vmid}", []string{"pve1", strconv.Itoa(vmid)}
	cases := map[string]struct {
		reason, of  string
		listed, now proxmox.Guest
		want        string
	}{
		"Has":   {reason: "A VM with the tag goes with its resource.", of: "f", listed: tagged(vmid, "", "handover"), now: tagged(vmid, "", "handover")},
		"Taken": {reason: "A VM without it stays.", of: "f", listed: tagged(vmid, ""), now: tagged(vmid, ""), want: "which is not the tenant's"},
		"JustNow": {
			reason: "A list that is read now tells.", of: "f", listed: tagged(vmid, "", "handover"), now: tagged(vmid, ""), want: "which is not the tenant's",
		},
		"Made": {reason: "A VM of a tenant that adopts none by tags goes.", of: "a", listed: tagged(vmid, ""), now: tagged(vmid, "")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			of := tenant(t, tc.of)
			compare(t, tc.reason, of.CheckRemove(tc.now), tc.want)
			g := Guard{Tenant: of, RecordedVMID: vmid, Deleted: true, Guest: func(_ int, fresh bool) (proxmox.Guest, error) {
				if fresh {
					return tc.now, nil
				}
				return tc.listed, nil
			}}
			left, err := g.mayRemove(guarded.Write{Method: "DELETE", Path: path, Args: args})
			if err != nil || left != (tc.want == "") {
				t.Errorf("%s\nwant removed %t, got %t, error %v", tc.reason, tc.want == "", left, err)
			}
		})
	}
}

// TestTaggedStaysInPool checks that a VM that is a tenant's because of its tag stays in its pool.
func TestTaggedStaysInPool(t *testing.T) {
	for pool, want := range map[string]string{"": "(allow.adoptTags): another pool of VM 805", "nightly": "(allow.adoptTags): another pool of VM 805", "f": ""} {
		g := Guard{Tenant: tenant(t, "f"), Guest: func(int, bool) (proxmox.Guest, error) { return tagged(805, pool, "handover"), nil }}
		form := map[string]string{"poolid": "f", "vms": "805", "allow-move": "1"}
		compare(t, "A tag hands over no VM for good: "+pool, g.Check(guarded.Write{Op: "join", Method: "PUT", Path: "/pools", Form: form}), want)
	}
}

func TestTagsToKeep(t *testing.T) {
	cases := map[string]struct {
		reason, of string
		guest      proxmox.Guest
		config     map[string]string
		want       []string
	}{
		"Adopted": {reason: "The tag that tells whose a VM is stays.", of: "f", config: map[string]string{"tags": "handover;web"}, want: []string{"handover"}},
		"InPool": {
			reason: "A VM in the tenant's pool is its own without a tag, and loses one.",
			of:     "f", guest: tagged(805, "f"), config: map[string]string{"tags": "handover"},
		},
		"Own":     {reason: "Who has no such tag does not get it.", of: "f", config: map[string]string{"tags": "web"}},
		"Carried": {reason: "A tenant's own tags are on all of its VMs.", of: "a", config: map[string]string{"tags": "handover"}, want: []string{"a"}},
		"Free":    {reason: "Operators keep no tag of a VM that is adopted.", of: "ops", config: map[string]string{"tags": "handover"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, TagsToKeep(tenant(t, tc.of), tc.guest, tc.config)); diff != "" {
				t.Errorf("\n%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
