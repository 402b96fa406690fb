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
	"strings"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

func TestMatchTemplate(t *testing.T) {
	guests := []proxmox.Guest{
		{VMID: 100, Node: "pve1", Name: "web", Type: "qemu"},
		{VMID: 200, Node: "pve1", Name: "container", Type: "lxc", Template: true},
		{VMID: 9000, Node: "pve1", Name: "debian", Type: "qemu", Template: true},
		{VMID: 9001, Node: "pve1", Name: "ubuntu", Type: "qemu", Template: true},
		{VMID: 9002, Node: "pve2", Name: "ubuntu", Type: "qemu", Template: true},
		{VMID: 9003, Node: "pve2", Name: "web", Type: "qemu", Template: true},
		{VMID: 9004, Node: "pve1", Name: "fedora", Type: "qemu", Template: true},
		{VMID: 9005, Node: "pve1", Name: "fedora", Type: "qemu", Template: true},
	}
	cases := map[string]struct {
		reason         string
		template, node string
		want           int
		err            string
	}{
		"Name":          {reason: "A name that is unique among templates will do, whatever VMs are called.", template: "web", want: 9003},
		"VMID":          {reason: "A number is a VMID.", template: "9001", want: 9001},
		"Missing":       {reason: "A template must be there.", template: "arch", err: "template 'arch' not found"},
		"MissingVMID":   {reason: "So must a VMID.", template: "9999", err: "template '9999' not found"},
		"Container":     {reason: "Templates of containers are no templates of VMs.", template: "container", err: "not found"},
		"VM":            {reason: "A VM is not a template.", template: "100", err: "is a VM, not a template"},
		"SameNode":      {reason: "Of two templates of one node none is guessed.", template: "fedora", err: "2 templates on node pve1 (VMID 9004, 9005)"},
		"AmbiguousNode": {reason: "The one on the VM's node is taken.", template: "ubuntu", node: "pve2", want: 9002},
		"OtherOfTwo":    {reason: "So it is where it is not the newest.", template: "ubuntu", node: "pve1", want: 9001},
		"ElsewhereNode": {reason: "For a node that has none of them, it is the newest.", template: "ubuntu", node: "pve3", want: 9002},
		"OtherNode":     {reason: "A template elsewhere is found too.", template: "debian", node: "pve2", want: 9000},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			found, err := matchTemplates(guests, tc.template)
			if tc.err != "" {
				var r conditions.ValidationError
				if !errors.As(err, &r) || r.Aspect != conditions.Creating || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("\n%s\nwant a refusal with %q, got %v", tc.reason, tc.err, err)
				}
				return
			}
			if got := preferred(found, tc.node); err != nil || got.VMID != tc.want {
				t.Errorf("\n%s\nwant VMID %d, got %d, %v", tc.reason, tc.want, got.VMID, err)
			}
		})
	}
}
