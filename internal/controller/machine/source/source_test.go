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

package source

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/preflight"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// guests of a cluster, with when they were created, if that was noted.
type guests struct {
	all     []proxmox.Guest
	created map[int]int64
	read    []int
}

func (g *guests) Guests(context.Context, time.Duration) ([]proxmox.Guest, error) { return g.all, nil }

func (g *guests) Config(_ context.Context, ref proxmox.Ref) (proxmox.VMConfig, error) {
	g.read = append(g.read, ref.VMID)
	c := proxmox.VMConfig{Values: map[string]string{}}
	if at := g.created[ref.VMID]; at != 0 {
		c.Values["meta"] = fmt.Sprintf("creation-qemu=9.2.0,ctime=%d", at)
	}
	return c, nil
}

func (*guests) Storages(context.Context) ([]proxmox.Storage, error) { return nil, nil }

func TestNamedTemplate(t *testing.T) {
	template := func(vmid int, node, name string, tags ...string) proxmox.Guest {
		return proxmox.Guest{VMID: vmid, Node: node, Name: name, Type: "qemu", Template: true, Status: "stopped", Tags: tags}
	}
	offline := template(9009, "pve4", "arch")
	offline.Status = "unknown"
	all := []proxmox.Guest{
		{VMID: 100, Node: "pve1", Name: "web", Type: "qemu"},
		{VMID: 200, Node: "pve1", Name: "container", Type: "lxc", Template: true},
		template(9000, "pve1", "debian"),
		template(9001, "pve1", "ubuntu"), template(9002, "pve2", "ubuntu", "lts"), template(9003, "pve2", "web", "lts", "hardened"),
		template(9004, "pve1", "fedora"), template(9005, "pve1", "fedora", "hardened"), template(9006, "pve2", "fedora"),
		template(9007, "pve1", "suse"), template(9008, "pve1", "suse"), template(9010, "pve3", "arch"), offline,
	}
	created := map[int]int64{9001: 1760000000, 9002: 1750000000, 9003: 1740000000, 9004: 1770000000, 9005: 1760000000, 9006: 1780000000, 9009: 1790000000}
	cases := map[string]struct {
		reason   string
		template string
		tags     []string
		node     string
		want     int
		err      string
	}{
		"Name":         {reason: "A name that is unique among templates will do, whatever VMs are called.", template: "web", want: 9003},
		"VMID":         {reason: "A number is a VMID.", template: "9001", want: 9001},
		"Missing":      {reason: "A template must be there.", template: "void", err: "template 'void' not found; the templates are "},
		"MissingVMID":  {reason: "So must a VMID.", template: "9999", err: "template '9999' not found"},
		"Container":    {reason: "Templates of containers are no templates of VMs.", template: "container", err: "not found"},
		"VM":           {reason: "A VM is not a template.", template: "100", err: "is a VM, not a template"},
		"SameNode":     {reason: "Of two templates of one node it is the newest, whatever their VMIDs.", template: "fedora", node: "pve1", want: 9004},
		"SameSecond":   {reason: "If nobody knows which is newer, it is the one with the highest VMID.", template: "suse", node: "pve1", want: 9008},
		"OnNode":       {reason: "The one on the VM's node is taken.", template: "ubuntu", node: "pve2", want: 9002},
		"OtherOfTwo":   {reason: "So it is where it has the lower VMID.", template: "ubuntu", node: "pve1", want: 9001},
		"Elsewhere":    {reason: "For a node that has none of them, it is the newest.", template: "ubuntu", node: "pve3", want: 9001},
		"AnyNode":      {reason: "So it is where no node was chosen.", template: "fedora", want: 9006},
		"OtherNode":    {reason: "A template elsewhere is found too.", template: "debian", node: "pve2", want: 9000},
		"Offline":      {reason: "One on a node that is offline cannot be cloned now.", template: "arch", want: 9010},
		"Tag":          {reason: "A tag alone finds the newest that has it.", tags: []string{"lts"}, want: 9002},
		"TagOnNode":    {reason: "And on the VM's node first.", tags: []string{"hardened"}, node: "pve2", want: 9003},
		"Tags":         {reason: "All tags are needed.", tags: []string{"lts", "hardened"}, want: 9003},
		"NameAndTag":   {reason: "A tag chooses among those of the name.", template: "fedora", tags: []string{"hardened"}, want: 9005},
		"NoSuchTag":    {reason: "What is missing is named.", template: "debian", tags: []string{"a", "b"}, err: "template 'debian' with tags a, b not found"},
		"NoTemplate":   {reason: "Without a name too.", tags: []string{"void"}, err: "template with tags void not found"},
		"VMIDAndTag":   {reason: "A VMID has to have the tag too.", template: "9000", tags: []string{"lts"}, err: "template '9000' with tags lts not found"},
		"VMIDWithTag":  {reason: "If it has it, it is that one.", template: "9002", tags: []string{"lts"}, want: 9002},
		"NotOfTheNode": {reason: "A node that has none leaves it to the newest.", tags: []string{"hardened"}, node: "pve3", want: 9005},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := &v1alpha1.MachineParameters{TemplateTags: tc.tags}
			if tc.template != "" {
				p.Template = new(intstr.FromString(tc.template))
			}
			inventory := &guests{all: all, created: created}
			s, err := Finder{Inventory: inventory, Checks: &preflight.Checks{Superuser: true}}.namedTemplate(t.Context(), p, tc.node)
			if tc.err != "" {
				var r conditions.ValidationError
				if !errors.As(err, &r) || r.Aspect != conditions.Creating || !strings.Contains(err.Error(), tc.err) || len(inventory.read) > 0 {
					t.Errorf("\n%s\nwant a refusal with %q before anything is read, got %v", tc.reason, tc.err, err)
				}
				return
			}
			if err != nil || s.VMID != tc.want {
				t.Fatalf("\n%s\nwant VMID %d, got %+v, %v", tc.reason, tc.want, s, err)
			}
			if !s.On(s.Node) {
				t.Errorf("\n%s\nit does not stand in for itself: %+v", tc.reason, s.Instead)
			}
		})
	}
}
