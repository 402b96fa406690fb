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

package vmcache

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/vitistack/provider-proxmox/internal/objectstate"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// vmBudget is the maximum memory of a cached VM, in bytes. 10,000 of them need 20 MiB at most of the 256 MiB that the chart allows.
const vmBudget = 2000

// TestCachedMemory limits the memory for a running VM with one disk, one network, cloud-init and an agent.
func TestCachedMemory(t *testing.T) {
	const n = 2000
	s := New(time.Now, DefaultFullResyncInterval)
	before := inUse()
	for i := range n {
		uid := objectstate.UID(fmt.Sprintf("11111111-2222-4333-8444-%012x", i))
		g := s.BeginRead(uid, qemu.Identity{VMID: 10_000 + i, UUID: fmt.Sprintf("21111111-2222-4333-8444-%012x", i)}, nil, true)
		s.Keep(uid, vmAsRead(t, i), g)
		Watcher{Cache: s, UID: uid}.Used(&proxmox.Guest{VMID: 10_000 + i, Node: strings.Clone("pve2"), Status: "running", MaxCPU: 2, CPU: 0.5})
	}
	got := (inUse() - before) / n
	if runtime.KeepAlive(s); s.Len() != n {
		t.Fatalf("want %d VMs, got %d", n, s.Len())
	}
	if got > vmBudget {
		t.Errorf("want at most %d bytes for each, got %d", vmBudget, got)
	}
	t.Logf("%d bytes for each", got)
}

// inUse returns the memory in use.
func inUse() uint64 {
	var m runtime.MemStats
	for range 2 { // The second run frees what the first has found to be unreferenced.
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// vmAsRead returns a VM with options and a status as PVE reports them, whose texts are not shared.
func vmAsRead(t *testing.T, i int) *vmstate.VM {
	t.Helper()
	number := strings.NewReplacer("NUMBER", fmt.Sprint(10_000+i), "HEX", fmt.Sprintf("%012x", i))
	var values []proxmox.PendingValue
	if err := json.Unmarshal([]byte(number.Replace(optionsText)), &values); err != nil {
		t.Fatal(err)
	}
	v := &vmstate.VM{
		Ref: proxmox.Ref{Node: strings.Clone("pve2"), VMID: 10_000 + i},
		Status: proxmox.Status{
			Status: strings.Clone("running"), QMPStatus: strings.Clone("running"), Uptime: time.Hour, Agent: true, PID: 1000 + i,
			Name: number.Replace("vm-NUMBER"), CPUs: 2, Memory: 1 << 30, MaxMemory: 2 << 30,
		},
	}
	v.Read(values)
	return v
}

const optionsText = `[
{"k": "agent", "v": "1"}, {"k": "boot", "v": "order=scsi0"}, {"k": "cicustom", "v": "user=local:snippets/vm-NUMBER.yaml"}, {"k": "cores", "v": "2"},
{"k": "cpu", "v": "x86-64-v2-AES"}, {"k": "description", "v": "Machine default/vm-NUMBER of provider-proxmox"},
{"k": "digest", "v": "0123456789abcdef0123456789abHEX"}, {"k": "ide2", "v": "ceph:vm-NUMBER-cloudinit,media=cdrom,size=4M"},
{"k": "ipconfig0", "v": "ip=dhcp"}, {"k": "memory", "v": "2048"}, {"k": "meta", "v": "creation-qemu=10.1.2,ctime=1795600000"},
{"k": "name", "v": "vm-NUMBER"}, {"k": "nameserver", "v": "192.0.2.53"}, {"k": "net0", "v": "virtio=BC:24:11:0N:UM:BE,bridge=vmbr0,firewall=1,tag=100"},
{"k": "numa", "v": "0"}, {"k": "onboot", "v": "1"}, {"k": "ostype", "v": "l26"},
{"k": "scsi0", "v": "ceph:vm-NUMBER-disk-0,discard=on,iothread=1,size=8G,ssd=1"}, {"k": "scsihw", "v": "virtio-scsi-single"},
{"k": "serial0", "v": "socket"}, {"k": "smbios1", "v": "uuid=21111111-2222-4333-8444-HEX"}, {"k": "sockets", "v": "1"}, {"k": "tags", "v": "crossplane"},
{"k": "vga", "v": "serial0"}, {"k": "vmgenid", "v": "31111111-2222-4333-8444-HEX"}
]`
