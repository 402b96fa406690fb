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

package machine

import (
	"net/netip"
	"testing"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/restart"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

func addrs(ss ...string) []netip.Addr {
	out := make([]netip.Addr, 0, len(ss))
	for _, s := range ss {
		out = append(out, netip.MustParseAddr(s))
	}
	return out
}

func TestReport(t *testing.T) {
	var o v1alpha1.MachineObservation
	d := qemu.Difference{Set: proxmox.Params{"args": "-device x", "cores": "2", "cipassword": "geheim"}, Delete: []string{"tags"}}
	plan{change: d}.recordPlan(&o, map[string]string{"args": "-object secret,data=geheim", "cores": "1", "tags": "a"})
	want := []v1alpha1.MachinePendingChange{
		{
			Option: "args", Current: "**********", Desired: "**********",
		}, {Option: "cipassword", Desired: "**********"}, {Option: "cores", Current: "1", Desired: "2"}, {Option: "tags", Current: "a"},
	}
	if diff := cmp.Diff(want, o.Difference); diff != "" {
		t.Errorf("The difference is shown in order and without secrets: -want, +got:\n%s", diff)
	}
	plan{}.recordPlan(&o, nil)
	if o.Difference != nil {
		t.Errorf("No difference is none: %v", o.Difference)
	}
}

func TestConditions(t *testing.T) {
	type short struct {
		Status corev1.ConditionStatus
		Reason xpv2.ConditionReason
	}
	created, allocated := short{corev1.ConditionTrue, conditions.ReasonCreationSucceeded}, short{corev1.ConditionTrue, conditions.ReasonAllocationSucceeded}
	connected, waiting := short{corev1.ConditionTrue, conditions.ReasonNetworkReady}, short{corev1.ConditionFalse, conditions.ReasonWaitingForAddress}
	settled, pending := short{corev1.ConditionFalse, conditions.ReasonUpToDate}, short{corev1.ConditionTrue, conditions.ReasonPendingChanges}
	ips := []string{"192.0.2.1"}
	cases := map[string]struct {
		reason           string
		change           func(*vmstate.VM)
		ips              []string
		network, restart short
	}{
		"Pending":   {reason: "A running VM with pending changes asks for a restart.", ips: ips, network: connected, restart: pending},
		"NoAddress": {reason: "A guest whose agent has reported no address is waited for.", network: waiting, restart: pending},
		"NoAgent": {
			reason: "Without an agent nothing can be waited for.", change: func(v *vmstate.VM) { delete(v.Active, "agent") }, network: connected,
			restart: pending,
		},
		"NoNIC": {
			reason: "Without a network there is nothing to wait for.", change: func(v *vmstate.VM) { delete(v.Active, "net0") },
			network: connected, restart: pending,
		},
		"Stopped": {
			reason: "A stopped VM takes up its changes when it starts, and has no addresses.",
			change: func(v *vmstate.VM) { v.Status.Status = "stopped" }, network: connected, restart: settled,
		},
		"Settled": {
			reason: "Without pending changes no restart is required.", ips: ips, change: func(v *vmstate.VM) { v.Pending = nil },
			network: connected, restart: settled,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			v := observedVM()
			if tc.change != nil {
				tc.change(v)
			}
			got := map[xpv2.ConditionType]short{}
			for _, c := range append(
				conditions.OfVM(v, &v1alpha1.MachineObservation{IPAddresses: tc.ips}),
				restart.Decision{Reason: conditions.ReasonPendingChanges}.Condition(v),
			) {
				got[c.Type] = short{c.Status, c.Reason}
			}
			want := map[xpv2.ConditionType]short{
				conditions.TypeVMCreated: created, conditions.TypeResourcesAllocated: allocated, conditions.TypeNetworkConfigured: tc.network,
				conditions.TypeRestartRequired: tc.restart,
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("\n%s\nconditions: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// observedVM returns a running VM with an agent.
func observedVM() *vmstate.VM {
	v := &vmstate.VM{
		Ref:    proxmox.Ref{Node: "pve1", VMID: 100},
		Status: proxmox.Status{Status: "running", QMPStatus: "running", Uptime: time.Minute},
		Interfaces: []proxmox.Interface{
			{Name: "lo", Addresses: addrs("127.0.0.1")},
			{Name: "eth0", MAC: "bc:24:11:00:00:01", Addresses: addrs("fe80::1", "192.0.2.1", "2001:db8::1")},
		},
	}
	values := []proxmox.PendingValue{{Key: "cores", Value: new("2"), Pending: new("4")}, {Key: "digest", Value: new("d1")}}
	for k, s := range map[string]string{
		"name": "web", "memory": "current=2048", "sockets": "2", "agent": "1", "ciuser": "admin", "smbios1": "uuid=" + ourUUID,
		"scsi0": "local-lvm:vm-100-disk-0,size=20G", "ide2": "local-lvm:vm-100-cloudinit,media=cdrom",
		"ide0": "local:iso/d.iso,media=cdrom,size=1M", "ide1": "none,media=cdrom",
		"net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0,tag=7", "boot": "order=scsi0", "efidisk0": "local-lvm:vm-100-disk-1,efitype=4m,size=528K",
		"description": "long", "sshkeys": "key", "cipassword": "**********", "args": "-secret",
	} {
		values = append(values, proxmox.PendingValue{Key: k, Value: &s})
	}
	v.Read(values)
	return v
}
