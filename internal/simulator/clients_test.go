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

package simulator_test

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	telmate "github.com/Telmate/proxmox-api-go/proxmox"
	luthermonson "github.com/luthermonson/go-proxmox"

	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
)

// httpClient trusts the server.
func httpClient(t *testing.T, s *simulator.Server) *http.Client {
	t.Helper()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(s.CA())
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// TestTelmateClient makes the calls that scripts and Packer use: one for each request of the API.
func TestTelmateClient(t *testing.T) {
	for _, version := range []string{"8.4", "9.2"} {
		t.Run(version, func(t *testing.T) {
			s := simulatortest.NewTest(t, simulator.Options{Version: version})
			d := &telmateDriver{t: t, server: s, client: telmateClient(t, s)}
			d.lifecycle()
			d.disks()
			d.snapshots()
			d.refusals()
			d.remove()
		})
	}
}

func telmateClient(t *testing.T, s *simulator.Server) *telmate.Client {
	t.Helper()
	c, err := telmate.NewClient(s.URL()+"/api2/json", httpClient(t, s), "", nil, "", 30, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Login(t.Context(), "crossplane@pve", "crossplane", ""); err != nil {
		t.Fatal(err)
	}
	return c
}

type telmateDriver struct {
	t      *testing.T
	server *simulator.Server
	client *telmate.Client
	vm     *telmate.VmRef
}

// ok checks the results of a call that waits for its task. Some calls report success by an empty status.
func (d *telmateDriver) ok(what string) func(exit any, err error) {
	return func(exit any, err error) {
		d.t.Helper()
		if err != nil || !slices.Contains([]any{"OK", "", nil}, exit) {
			d.t.Errorf("%s: exit status %v, error %v", what, exit, err)
		}
	}
}

// fails checks the results of a call that must fail with a message.
func (d *telmateDriver) fails(what, message string) func(exit any, err error) {
	return func(exit any, err error) {
		d.t.Helper()
		if text := fmt.Sprint(exit, err); !strings.Contains(text, message) {
			d.t.Errorf("%s: exit status %v, error %v, want %q", what, exit, err, message)
		}
	}
}

func status(exit string, err error) (any, error) { return exit, err }

func (d *telmateDriver) lifecycle() {
	d.t.Helper()
	ctx, c := d.t.Context(), d.client
	template := telmate.NewVmRef(9000)
	if err := c.CheckVmRef(ctx, template); err != nil {
		d.t.Fatal(err)
	}
	if v, err := c.GetVersion(ctx); err != nil || v.String() == "" {
		d.t.Errorf("version: %v, error %v", v, err)
	}
	d.ok("linked clone")(status(c.CloneQemuVm(ctx, template, map[string]any{"newid": 300, "name": "telmate", "full": false})))
	d.ok("full clone")(status(c.CloneQemuVm(ctx, template, map[string]any{"newid": 302, "name": "whole", "full": true, "storage": "local-lvm"})))
	d.ok("create")(status(c.CreateQemuVm(ctx, "pve2", map[string]any{
		"vmid": 301, "name": "fresh", "memory": 512, "net0": "virtio,bridge=vmbr0", "scsi0": "local-lvm:4", "scsihw": "virtio-scsi-single",
	})))
	d.vm = telmate.NewVmRef(300)
	if err := c.CheckVmRef(ctx, d.vm); err != nil {
		d.t.Fatal(err)
	}
	d.ok("config")(c.SetVmConfig(d.vm, map[string]any{"cores": 4, "description": "two\nlines"}))
	config, err := c.GetVmConfig(ctx, d.vm)
	if err != nil || config["cores"] != 4.0 || config["description"] != "two\nlines" {
		d.t.Errorf("config: %v, error %v", config, err)
	}
	d.ok("start")(status(c.StartVm(ctx, d.vm)))
	if interfaces, err := c.GetVmAgentNetworkInterfaces(ctx, d.vm); err != nil || len(interfaces) != 2 {
		d.t.Errorf("agent: %v, error %v", interfaces, err)
	}
	d.fails("delete of a running VM", "VM 300 is running - destroy failed")(status(c.DeleteVm(ctx, d.vm)))
	d.ok("suspend")(status(c.PauseVm(ctx, d.vm)))
	d.ok("resume")(status(c.ResumeVm(ctx, d.vm)))
	d.ok("reset")(status(c.ResetVm(ctx, d.vm)))
	d.ok("reboot")(status(c.RebootVm(ctx, d.vm)))
	d.ok("shutdown")(status(c.ShutdownVm(ctx, d.vm)))
	if state, err := c.GetVmState(ctx, d.vm); err != nil || state["status"] != "stopped" {
		d.t.Errorf("state: %v, error %v", state, err)
	}
	if refs, err := c.GetVmRefsByName(ctx, "whole"); err != nil || len(refs) != 1 || refs[0].VmId() != 302 {
		d.t.Errorf("VMs of a name: %v, error %v", refs, err)
	}
}

func (d *telmateDriver) disks() {
	d.t.Helper()
	ctx, c := d.t.Context(), d.client
	d.ok("resize")(c.ResizeQemuDisk(ctx, d.vm, "scsi0", 2))
	d.ok("move")(c.MoveQemuDisk(d.vm, "scsi0", "local-lvm"))
	guest, _ := d.server.Guest(300)
	if disk := guest.Config["scsi0"]; !strings.HasPrefix(disk, "local-lvm:") || !strings.Contains(disk, "size=") {
		d.t.Errorf("the disk is %q", disk)
	}
	fresh := telmate.NewVmRef(301)
	if err := c.CheckVmRef(ctx, fresh); err != nil {
		d.t.Fatal(err)
	}
	d.ok("add a disk")(c.SetVmConfig(fresh, map[string]any{"scsi1": "local-lvm:1"}))
	d.ok("unlink")(status(c.Unlink(ctx, "pve2", 301, "scsi1", true)))
	if guest, _ := d.server.Guest(301); guest.Config["scsi1"] != "" || guest.Config["unused0"] != "" {
		d.t.Errorf("after the unlink: %v", guest.Config)
	}
	d.fails("shrink", "shrinking disks is not supported")(c.ResizeQemuDiskRaw(ctx, d.vm, "scsi0", "1G"))
	d.ok("offline migration")(c.MigrateNode(ctx, d.vm, "pve3", false))
	if guest, _ := d.server.Guest(300); guest.Node != "pve3" {
		d.t.Errorf("after the migration the VM is on %q", guest.Node)
	}
	d.vm = telmate.NewVmRef(300) // A reference stores the node.
	if err := c.CheckVmRef(ctx, d.vm); err != nil {
		d.t.Fatal(err)
	}
}

func (d *telmateDriver) snapshots() {
	d.t.Helper()
	ctx, c := d.t.Context(), d.client
	d.ok("snapshot")(status(c.CreateQemuSnapshot(d.vm, "before")))
	d.fails("the same again", "snapshot name 'before' already used")(status(c.CreateQemuSnapshot(d.vm, "before")))
	d.ok("config")(c.SetVmConfig(d.vm, map[string]any{"cores": 2}))
	list, err := c.New().Snapshot.List(ctx, *d.vm)
	if err != nil || list.Len() != 2 {
		d.t.Errorf("snapshots: %v, error %v", list, err)
	}
	d.ok("rollback")(status(c.RollbackQemuVm(d.vm, "before")))
	if config, err := c.GetVmConfig(ctx, d.vm); err != nil || config["cores"] != 4.0 {
		d.t.Errorf("after the rollback: %v, error %v", config, err)
	}
	d.ok("delete a snapshot")(status(c.DeleteQemuSnapshot(d.vm, "before")))
}

func (d *telmateDriver) refusals() {
	d.t.Helper()
	ctx, c := d.t.Context(), d.client
	d.fails("a VMID that is taken", "already exists")(status(c.CreateQemuVm(ctx, "pve1", map[string]any{"vmid": 300})))
	d.fails("an unknown storage", "storage 'nosuch' does not exist")(status(c.CreateQemuVm(ctx, "pve1", map[string]any{"vmid": 310, "scsi0": "nosuch:1"})))
	d.fails("an option out of range", "Parameter verification failed")(c.SetVmConfig(d.vm, map[string]any{"cores": 0}))
	if err := c.CheckVmRef(ctx, telmate.NewVmRef(999)); err == nil {
		d.t.Error("a missing VM is found")
	}
	if _, err := c.GetVmInfo(ctx, telmate.NewVmRef(999)); err == nil {
		d.t.Error("a missing VM has information")
	}
	d.server.Inject(simulator.Fault{Task: "qmsnapshot", TaskExit: "out of space", Count: 1})
	d.fails("a task that fails", "out of space")(status(c.CreateQemuSnapshot(d.vm, "after")))
}

func (d *telmateDriver) remove() {
	d.t.Helper()
	for _, vmid := range []telmate.GuestID{300, 301, 302} {
		vm := telmate.NewVmRef(vmid)
		if err := d.client.CheckVmRef(d.t.Context(), vm); err != nil {
			d.t.Fatal(err)
		}
		d.ok("delete")(status(d.client.DeleteVm(d.t.Context(), vm)))
		if _, there := d.server.Guest(int(vmid)); there {
			d.t.Errorf("VM %d is still there", vmid)
		}
	}
}

// TestTelmateConfig makes the calls on which its Terraform provider is based: whole configurations in types.
func TestTelmateConfig(t *testing.T) {
	for _, version := range []string{"8.4", "9.2"} {
		t.Run(version, func(t *testing.T) {
			s := simulatortest.NewTest(t, simulator.Options{Version: version})
			driveTelmateConfig(t, s, telmateClient(t, s))
		})
	}
}

func ptr[T any](v T) *T { return &v }

func telmateConfig() telmate.ConfigQemu {
	return telmate.ConfigQemu{
		ID: ptr(telmate.GuestID(300)), Node: ptr(telmate.NodeName("pve1")), Name: ptr(telmate.GuestName("typed")),
		CPU:    &telmate.QemuCPU{Cores: ptr(telmate.QemuCpuCores(2)), Sockets: ptr(telmate.QemuCpuSockets(1))},
		Memory: &telmate.QemuMemory{CapacityMiB: ptr(telmate.QemuMemoryCapacity(1024))},
		Scsihw: "virtio-scsi-pci",
		Tags:   &telmate.Tags{"blue", "green"},
		Disks: &telmate.QemuStorages{Scsi: &telmate.QemuScsiDisks{Disk_0: &telmate.QemuScsiStorage{Disk: &telmate.QemuScsiDisk{
			Storage: "local-lvm", SizeInKibibytes: 4 << 20, Format: telmate.QemuDiskFormat_Raw, Backup: true,
		}}}},
		Networks: telmate.QemuNetworkInterfaces{0: {
			Bridge: ptr("vmbr0"), Model: ptr(telmate.QemuNetworkModelVirtIO), NativeVlan: ptr(telmate.Vlan(7)),
		}},
	}
}

func driveTelmateConfig(t *testing.T, s *simulator.Server, c *telmate.Client) {
	t.Helper()
	ctx := t.Context()
	vm, err := telmateConfig().Create(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	read, err := telmate.NewConfigQemuFromApi(ctx, vm, c)
	if err != nil {
		t.Fatal(err)
	}
	disk := read.Disks.Scsi.Disk_0.Disk
	if *read.Name != "typed" || *read.CPU.Cores != 2 || disk.SizeInKibibytes != 4<<20 || *read.Networks[0].NativeVlan != 7 {
		t.Errorf("read: %s", read)
	}
	change := telmateConfig()
	change.CPU.Cores = ptr(telmate.QemuCpuCores(4))
	change.Disks.Scsi.Disk_0.Disk.SizeInKibibytes = 6 << 20
	if _, err := change.Update(ctx, true, vm, c); err != nil {
		t.Fatal(err)
	}
	if guest, _ := s.Guest(300); guest.Config["cores"] != "4" || !strings.Contains(guest.Config["scsi0"], "size=6G") {
		t.Errorf("after the change: %v", guest.Config)
	}
	snapshots := c.New().Snapshot
	if err := snapshots.CreateQemu(ctx, *vm, "one", "the first", false); err != nil {
		t.Error(err)
	}
	if err := snapshots.Rollback(ctx, *vm, "one", false); err != nil {
		t.Error(err)
	}
	if existed, err := snapshots.Delete(ctx, *vm, "one"); err != nil || !existed {
		t.Errorf("delete a snapshot: %t, error %v", existed, err)
	}
	full := &telmate.CloneQemuFull{Node: "pve1", ID: ptr(telmate.GuestID(301)), Name: ptr(telmate.GuestName("copy")), Storage: ptr("local-lvm")}
	clone, err := vm.CloneQemu(ctx, telmate.CloneQemuTarget{Full: full}, c)
	if err != nil {
		t.Fatal(err)
	}
	if guest, there := s.Guest(301); !there || guest.Config["name"] != "copy" {
		t.Errorf("the clone: %v", guest.Config)
	}
	if err := telmate.GuestStart(ctx, clone, c); err != nil {
		t.Error(err)
	}
	if err := clone.Stop(ctx, c); err != nil {
		t.Error(err)
	}
	if _, err := telmateConfig().Create(ctx, c); err == nil || !strings.Contains(err.Error(), "already exists") {
		t.Errorf("the same again: %v", err)
	}
	for _, ref := range []*telmate.VmRef{vm, clone} {
		if exit, err := c.DeleteVm(ctx, ref); err != nil || exit != "OK" {
			t.Errorf("delete: exit status %q, error %v", exit, err)
		}
	}
	if list, err := telmate.ListGuests(ctx, c); err != nil || len(list) == 0 {
		t.Errorf("guests: %v, error %v", list, err)
	}
}

func TestGoProxmoxClient(t *testing.T) {
	for _, version := range []string{"8.4", "9.2"} {
		for name, login := range map[string]luthermonson.Option{
			"Token":  luthermonson.WithAPIToken(simulatortest.TestToken, simulatortest.TestSecret),
			"Ticket": luthermonson.WithCredentials(&luthermonson.Credentials{Username: "crossplane@pve", Password: "crossplane"}),
		} {
			t.Run(version+name, func(t *testing.T) {
				s := simulatortest.NewTest(t, simulator.Options{Version: version})
				c := luthermonson.NewClient(s.URL()+"/api2/json", luthermonson.WithHTTPClient(httpClient(t, s)), login)
				node, err := c.Node(t.Context(), "pve1")
				if err != nil {
					t.Fatal(err)
				}
				d := &goProxmoxDriver{t: t, server: s, client: c, node: node}
				d.create()
				d.clone()
				d.disks()
				d.snapshots()
				d.power()
				d.refusals()
				d.remove()
			})
		}
	}
}

type goProxmoxDriver struct {
	t      *testing.T
	server *simulator.Server
	client *luthermonson.Client
	node   *luthermonson.Node
	vm     *luthermonson.VirtualMachine
}

// wait waits for a task and checks its result: "OK" or its error.
func (d *goProxmoxDriver) wait(what, exit string) func(task *luthermonson.Task, err error) {
	return func(task *luthermonson.Task, err error) {
		d.t.Helper()
		if err != nil {
			d.t.Fatalf("%s: %v", what, err)
		}
		if err := task.Wait(d.t.Context(), time.Millisecond, time.Minute); err != nil || !strings.Contains(task.ExitStatus, exit) {
			d.t.Errorf("%s: exit status %q, error %v, want %q", what, task.ExitStatus, err, exit)
		}
	}
}

func (d *goProxmoxDriver) create() {
	d.t.Helper()
	ctx := d.t.Context()
	option := func(name string, value any) luthermonson.VirtualMachineOption {
		return luthermonson.VirtualMachineOption{Name: name, Value: value}
	}
	d.wait("create", "OK")(d.node.NewVirtualMachine(ctx, 300, option("name", "fresh"), option("memory", 512), option("cores", 2),
		option("scsi0", "local-lvm:4"), option("net0", "virtio,bridge=vmbr0"), option("tags", "blue")))
	vm, err := d.node.VirtualMachine(ctx, 300)
	if err != nil {
		d.t.Fatal(err)
	}
	if vm.Name != "fresh" || vm.VirtualMachineConfig.Cores != 2 || vm.VirtualMachineConfig.SCSI0 == "" || !vm.HasTag("blue") {
		d.t.Errorf("the new VM: %+v", vm.VirtualMachineConfig)
	}
	d.wait("tag", "OK")(vm.AddTag(ctx, "green"))
	d.wait("delete", "OK")(vm.Delete(ctx))
}

func (d *goProxmoxDriver) clone() {
	d.t.Helper()
	ctx := d.t.Context()
	template, err := d.node.VirtualMachine(ctx, 9000)
	if err != nil {
		d.t.Fatal(err)
	}
	id, task, err := template.Clone(ctx, &luthermonson.VirtualMachineCloneOptions{Name: "luthermonson", Full: 1})
	d.wait("clone", "OK")(task, err)
	if d.vm, err = d.node.VirtualMachine(ctx, id); err != nil {
		d.t.Fatal(err)
	}
	d.wait("config", "OK")(d.vm.Config(ctx, luthermonson.VirtualMachineOption{Name: "memory", Value: 4096}))
	if err := d.vm.Ping(ctx); err != nil || d.vm.MaxMem != 4096<<20 {
		d.t.Errorf("after the change: memory %d, error %v", d.vm.MaxMem, err)
	}
}

func (d *goProxmoxDriver) disks() {
	d.t.Helper()
	ctx := d.t.Context()
	d.wait("resize", "OK")(d.vm.ResizeDisk(ctx, "scsi0", "+2G"))
	d.wait("shrink", "shrinking disks is not supported")(d.vm.ResizeDisk(ctx, "scsi0", "1G"))
	d.wait("move", "OK")(d.vm.MoveDisk(ctx, "scsi0", &luthermonson.VirtualMachineMoveDiskOptions{Storage: "local-lvm", Delete: 1}))
	storage, err := d.node.Storage(ctx, "local-lvm")
	if err != nil {
		d.t.Fatal(err)
	}
	content, err := storage.GetContent(ctx)
	if err != nil || !slices.ContainsFunc(content, func(v *luthermonson.StorageContent) bool { return int(v.VMID) == int(d.vm.VMID) }) {
		d.t.Errorf("the storage has %v, error %v", content, err)
	}
}

func (d *goProxmoxDriver) snapshots() {
	d.t.Helper()
	ctx := d.t.Context()
	d.wait("snapshot", "OK")(d.vm.NewSnapshot(ctx, "before"))
	d.wait("the same again", "snapshot name 'before' already used")(d.vm.NewSnapshot(ctx, "before"))
	snapshots, err := d.vm.Snapshots(ctx)
	if err != nil || len(snapshots) != 2 || snapshots[0].Name != "before" || snapshots[1].Parent != "before" {
		d.t.Errorf("snapshots: %v, error %v", snapshots, err)
	}
	d.wait("rollback", "OK")(d.vm.SnapshotRollback(ctx, "before"))
}

func (d *goProxmoxDriver) power() {
	d.t.Helper()
	ctx := d.t.Context()
	d.wait("start", "OK")(d.vm.Start(ctx))
	if err := d.vm.WaitForAgent(ctx, 10); err != nil {
		d.t.Errorf("agent: %v", err)
	}
	if interfaces, err := d.vm.AgentGetNetworkIFaces(ctx); err != nil || len(interfaces) != 1 {
		d.t.Errorf("agent: %v, error %v", interfaces, err)
	}
	d.wait("reboot", "OK")(d.vm.Reboot(ctx))
	d.wait("shutdown", "OK")(d.vm.Shutdown(ctx))
	d.wait("start", "OK")(d.vm.Start(ctx))
	d.wait("stop", "OK")(d.vm.Stop(ctx))
	if err := d.vm.Ping(ctx); err != nil || !d.vm.IsStopped() {
		d.t.Errorf("the VM is %q, error %v", d.vm.Status, err)
	}
}

func (d *goProxmoxDriver) refusals() {
	d.t.Helper()
	ctx := d.t.Context()
	if _, err := d.node.VirtualMachine(ctx, 999); err == nil {
		d.t.Error("no error for a missing VM")
	}
	if _, err := d.client.Node(ctx, "nosuch"); err == nil {
		d.t.Error("no error for a missing node")
	}
	if _, err := d.node.NewVirtualMachine(ctx, int(d.vm.VMID)); err == nil || !strings.Contains(err.Error(), "already exists") {
		d.t.Errorf("a VMID that is taken: %v", err)
	}
	wrong := luthermonson.NewClient(d.server.URL()+"/api2/json", luthermonson.WithHTTPClient(httpClient(d.t, d.server)),
		luthermonson.WithAPIToken(simulatortest.TestToken, "wrong"))
	if _, err := wrong.Version(ctx); !luthermonson.IsNotAuthorized(err) {
		d.t.Errorf("a wrong token: %v", err)
	}
	remove := d.server.Inject(simulator.Fault{Task: "qmstart", TaskExit: "out of memory"})
	defer remove()
	d.wait("a task that fails", "out of memory")(d.vm.Start(ctx))
}

func (d *goProxmoxDriver) remove() {
	d.t.Helper()
	ctx := d.t.Context()
	cluster, err := d.client.Cluster(ctx)
	if err != nil {
		d.t.Fatal(err)
	}
	if resources, err := cluster.Resources(ctx, "vm"); err != nil || len(resources) == 0 {
		d.t.Errorf("resources: %v, error %v", resources, err)
	}
	if tasks, err := cluster.Tasks(ctx); err != nil || len(tasks) == 0 {
		d.t.Errorf("tasks: %v, error %v", tasks, err)
	}
	d.wait("delete", "OK")(d.vm.Delete(ctx))
	if _, there := d.server.Guest(int(d.vm.VMID)); there {
		d.t.Error("the VM is still there")
	}
}
