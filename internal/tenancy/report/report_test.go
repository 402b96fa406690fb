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

package report

import (
	"context"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
)

// A lab has VMs by their VMIDs.
type lab map[int]map[string]string

func (l lab) Guests(context.Context, time.Duration) ([]proxmox.Guest, error) {
	var all []proxmox.Guest
	for id, config := range l {
		all = append(all, proxmox.Guest{VMID: id, Node: config["node"], Pool: config["pool"], Tags: strings.Fields(config["tags"])})
	}
	return all, nil
}

func (l lab) Config(_ context.Context, ref proxmox.Ref) (proxmox.VMConfig, error) {
	if l[ref.VMID]["lost"] != "" {
		return proxmox.VMConfig{}, errors.New("no answer")
	}
	values := maps.Clone(l[ref.VMID])
	delete(values, "node")
	delete(values, "pool")
	return proxmox.VMConfig{Values: values}, nil
}

func machine(name string, vmid int32, spec v1alpha1.MachineParameters) resource.Managed {
	m := &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name}, Spec: namespaced.MachineSpec{ForProvider: spec}}
	if vmid != 0 {
		m.Status.AtProvider.VMID, m.Status.AtProvider.UUID = &vmid, "x"
	}
	return m
}

func snapshot(name string, vmid int32) resource.Managed {
	s := &namespaced.Snapshot{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name}}
	s.Status.AtProvider.VMID, s.Status.AtProvider.VMUUID = &vmid, "x"
	return s
}

func TestOf(t *testing.T) {
	const disk = "ceph:vm-200-disk-0"
	rules := []v1alpha1.ProviderTenant{{
		Name: "a", Namespaces: []string{"a"}, Pools: []string{"a"}, Nodes: []string{"pve1"}, Storages: []string{"ceph"},
		Bridges: []v1alpha1.TenantBridge{{Name: "vmbr1"}},
	}}
	permitted := []v1alpha1.ProviderTenant{*rules[0].DeepCopy()}
	permitted[0].ImageHosts, permitted[0].Allow = []string{"images.example.org"}, &v1alpha1.TenantPermissions{AdoptTags: []string{"to-a"}}
	cases := map[string]struct {
		reason  string
		tenants []v1alpha1.ProviderTenant
		machine resource.Managed
		vm      map[string]string
		want    []string
		not     string
		err     string
	}{
		"None": {
			reason: "Without tenants there are no rules.", machine: machine("m", 200, v1alpha1.MachineParameters{}),
			vm: map[string]string{"pool": "b"},
		},
		"Fine": {
			reason: "What keeps the rules stays.", tenants: rules, machine: machine("m", 200, v1alpha1.MachineParameters{}),
			vm: map[string]string{"pool": "a", "node": "pve1", "scsi0": disk, "net0": "virtio,bridge=vmbr1"},
		},
		"Spec": {
			reason: "A spec is checked without a VM.", tenants: rules,
			machine: machine("m", 0, v1alpha1.MachineParameters{Node: new("pve2")}),
			want:    []string{"(nodes): no VM on node pve2"},
		},
		"Pool": {
			reason: "A VM in the pool of another is reported.", tenants: rules, machine: machine("m", 200, v1alpha1.MachineParameters{}),
			vm:   map[string]string{"pool": "b", "node": "pve1"},
			want: []string{"VM 200, which is not the tenant's"},
		},
		"Node": {
			reason: "The node of a VM has to be the tenant's.", tenants: rules, machine: machine("m", 200, v1alpha1.MachineParameters{}),
			vm:   map[string]string{"pool": "a", "node": "pve2"},
			want: []string{"no VM on node pve2"},
		},
		"Config": {
			reason: "The networks and disks that the VM has are reported.", tenants: rules, machine: machine("m", 200, v1alpha1.MachineParameters{}),
			vm: map[string]string{
				"pool": "a", "node": "pve1", "net0": "virtio,bridge=vmbr0", "scsi0": "nfs:vm-200-disk-0", "args": "-device vfio-pci",
			},
			want: []string{"net0 on bridge vmbr0", "scsi0 on storage nfs", "option args"},
		},
		"NoTenant": {
			reason:  "Who has no tenant is told.",
			tenants: []v1alpha1.ProviderTenant{{Name: "b", Namespaces: []string{"b"}, Pools: []string{"b"}}},
			machine: machine("m", 200, v1alpha1.MachineParameters{}),
			vm:      map[string]string{"pool": "a"},
			want:    []string{"belongs to no tenant"},
		},
		"Snapshot": {
			reason: "A Snapshot counts by whose its VM is, and not by what the VM has.", tenants: rules, machine: snapshot("s", 200),
			vm: map[string]string{"pool": "b", "node": "pve2", "lost": "1"}, want: []string{"VM 200, which is not the tenant's"}, not: "node",
		},
		"Kind": {
			reason: "A kind that tenants may not have is refused.", tenants: rules,
			machine: &namespaced.Image{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "v"}}, want: []string{"(kinds): to have a resource of kind Image"},
		},
		"Image": {
			reason: "An Image of a host that is not listed is reported.", tenants: permitted,
			machine: &namespaced.Image{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "v"}, Spec: namespaced.ImageSpec{ForProvider: v1alpha1.ImageParameters{
				Source: v1alpha1.ImageSource{URL: new("https://example.org/x.qcow2")}, Storages: []string{"ceph"},
			}}},
			want: []string{"(imageHosts): source.url of a host but images.example.org"},
		},
		"RootOption": {
			reason: "An option of root alone is reported.", tenants: rules, machine: machine("m", 0, v1alpha1.MachineParameters{Hookscript: new("local:snippets/x")}),
			want: []string{"(allow.rootOptions): hookscript"},
		},
		"AdoptedByTag": {
			reason: "A VM that was adopted by its tag is the tenant's.", tenants: permitted, machine: machine("m", 200, v1alpha1.MachineParameters{}),
			vm: map[string]string{"node": "pve1", "tags": "to-a"},
		},
		"Untagged": {
			reason: "A VM that has lost the tag by which it was adopted is reported.", tenants: permitted, machine: machine("m", 200, v1alpha1.MachineParameters{}),
			vm: map[string]string{"node": "pve1", "tags": "to-b"}, want: []string{"VM 200, which is not the tenant's"},
		},
		"Lost": {
			reason: "What cannot be read is not passed over.", tenants: rules,
			machine: machine("m", 200, v1alpha1.MachineParameters{}),
			vm:      map[string]string{"pool": "a", "node": "pve1", "lost": "1"}, err: "cannot read VM 200",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Of(t.Context(), lab{200: tc.vm}, []resource.Managed{tc.machine}, func(_ context.Context, mg resource.Managed) (*tenancy.Tenant, error) {
				return tenancy.Of(tc.tenants, tenancy.Subject{Namespace: mg.GetNamespace()})
			})
			if tc.err != "" || err != nil {
				if err == nil || tc.err == "" || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("\n%s\nwant error %q, got %v", tc.reason, tc.err, err)
				}
				return
			}
			text := strings.Join(got[0].Breaks, "; ")
			for _, want := range tc.want {
				if !strings.Contains(text, want) {
					t.Errorf("\n%s\nwant %q, got %q", tc.reason, want, text)
				}
			}
			if tc.not != "" && strings.Contains(text, tc.not) {
				t.Errorf("\n%s\nwant nothing of %q, got %q", tc.reason, tc.not, text)
			}
			if len(tc.want) == 0 && text != "" {
				t.Errorf("\n%s\nwant nothing, got %q", tc.reason, text)
			}
		})
	}
}
