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
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	quantities "k8s.io/apimachinery/pkg/api/resource"

	"github.com/vitistack/provider-proxmox/internal/harules"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

const (
	ourUUID   = "11111111-2222-4333-8444-55555555555a"
	otherUUID = "99999999-2222-4333-8444-55555555555f"
)

// pve fakes the part of PVE that a Machine uses. It is its Client and its Inventory.
type pve struct {
	vms      map[int]*guest
	nodes    []proxmox.Node
	storages []proxmox.Storage
	bridges  []proxmox.Bridge

	// configured are the storages as they are configured.
	configured []proxmox.Object

	tasks []proxmox.Task

	// volumes on each node that are not disks.
	volumes map[string][]string
	images  map[string][]byte

	// migration is the check of every VM's migration, ha are the settings in HA, rules the rules of HA, and ended the tasks that can be read.
	migration proxmox.MigrationCheck
	ha        proxmox.HASettings
	rules     proxmox.HARules

	// replications are the jobs of all VMs, and failures their last results.
	replications []proxmox.Replication
	failures     map[string]string
	ended        map[proxmox.UPID]proxmox.Task

	// cluster is its name, empty for a standalone node, and cutOff is true if it has no quorum.
	cluster string
	cutOff  bool
	// version of PVE.
	version string
	// privileges of the token in addition to those that the provider needs, and lacks those of these that it does not have.
	privileges proxmox.Privileges
	lacks      []proxmox.Privilege

	// pools have VMs whose pool is not in the list of guests, and poolsChanged are the pools whose members must be read again.
	pools        map[string][]int
	poolsChanged []string
	// hidden VMIDs are not in the list of guests.
	hidden map[int]bool
	// taskLog are the lines of each task's log, if they matter.
	taskLog []string
	// errs are the errors of calls, by their name.
	errs map[string]error
	// on runs when a call of that name arrives, before its error is returned.
	on map[string]func()

	mu       sync.Mutex
	writes   []string
	burned   []int
	changed  []int
	reserved map[string]int

	// backup is the configuration that every backup holds.
	backup map[string]string

	// created are the parameters of the VM that was created last.
	created proxmox.Params

	watchers map[string]inventory.Watcher
	ends     map[proxmox.UPID]func(proxmox.Task)
}

// A guest of the fake. Its type is qemu.
type guest struct {
	node    string
	config  map[string]string
	pending map[string]string
	status  string
	agent   []proxmox.Interface
	files   map[string]string

	snapshots map[string]map[string]string

	// now is what the VM shows in addition to its status, and pool the pool that it is in.
	now  proxmox.Status
	pool string
}

func newPVE() *pve {
	return &pve{
		cluster: "lab",
		vms:     map[int]*guest{},
		nodes: []proxmox.Node{
			{Name: "pve1", Status: "online", Memory: 1 << 30, MaxMemory: 64 << 30},
			{Name: "pve2", Status: "online", Memory: 2 << 30, MaxMemory: 64 << 30},
		},
		storages: []proxmox.Storage{
			{Name: "local-lvm", Node: "pve1", Content: []string{"images"}},
			{Name: "local-lvm", Node: "pve2", Content: []string{"images"}},
			{Name: "iso", Node: "pve1", Content: []string{"iso"}},
			{Name: "files", Node: "pve1", Content: []string{"iso", "import"}},
			{Name: "files", Node: "pve2", Content: []string{"iso", "import"}},
			{Name: "ceph", Node: "pve1", Content: []string{"images"}, Shared: true},
			{Name: "ceph", Node: "pve2", Content: []string{"images"}, Shared: true},
		},
		bridges: []proxmox.Bridge{{Name: "vmbr0"}},
		hidden:  map[int]bool{}, errs: map[string]error{}, on: map[string]func(){},
		ends: map[proxmox.UPID]func(proxmox.Task){}, watchers: map[string]inventory.Watcher{},
	}
}

// refused is an answer of PVE.
func refused(status int, message string) error {
	return &proxmox.Error{Op: "call", Method: http.MethodPost, Status: status, Message: message}
}

func (p *pve) call(name string) error {
	if fn := p.on[name]; fn != nil {
		fn()
	}
	return p.errs[name]
}

// write records a call that changes something.
func (p *pve) write(name, format string, args ...any) error {
	p.mu.Lock()
	p.writes = append(p.writes, name+" "+fmt.Sprintf(format, args...))
	p.mu.Unlock()
	return p.call(name)
}

func (p *pve) at(ref proxmox.Ref) (*guest, error) {
	if g := p.vms[ref.VMID]; g != nil && g.node == ref.Node {
		return g, nil
	}
	return nil, refused(500, fmt.Sprintf("Configuration file 'nodes/%s/qemu-server/%d.conf' does not exist", ref.Node, ref.VMID))
}

func (p *pve) Version(context.Context) (proxmox.Version, error) {
	return proxmox.Version{Version: p.version}, p.call("Version")
}

func (p *pve) Config(_ context.Context, ref proxmox.Ref) (proxmox.VMConfig, error) {
	g, err := p.at(ref)
	if err != nil {
		return proxmox.VMConfig{}, err
	}
	return proxmox.VMConfig{Values: g.config}, p.call("Config")
}

func (p *pve) SnapshotConfig(_ context.Context, ref proxmox.Ref, snapshot string) (proxmox.VMConfig, error) {
	g, err := p.at(ref)
	if err != nil {
		return proxmox.VMConfig{}, err
	}
	if config, ok := g.snapshots[snapshot]; ok {
		return proxmox.VMConfig{Values: config}, p.call("SnapshotConfig")
	}
	return proxmox.VMConfig{}, refused(500, fmt.Sprintf("snapshot '%s' does not exist", snapshot))
}

func (p *pve) Snapshots(_ context.Context, ref proxmox.Ref) ([]string, error) {
	g, err := p.at(ref)
	if err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(g.snapshots)), p.call("Snapshots")
}

func (p *pve) Volumes(_ context.Context, node, storage, content string) ([]proxmox.Volume, error) {
	var found []proxmox.Volume
	for _, id := range p.volumes[node] {
		if strings.HasPrefix(id, storage+":"+content+"/") || content == "images" && strings.HasPrefix(id, storage+":vm-") {
			found = append(found, proxmox.Volume{ID: id, Content: content, Size: int64(len(p.images[id]))})
		}
	}
	return found, p.call("Volumes")
}

func (p *pve) UploadISO(_ context.Context, node, storage, name string, image []byte) (proxmox.UPID, error) {
	if p.images == nil {
		p.volumes, p.images = map[string][]string{}, map[string][]byte{}
	}
	p.volumes[node] = append(p.volumes[node], storage+":iso/"+name)
	p.images[storage+":iso/"+name] = image
	return upid(node, "imgcopy", 0), p.write("UploadISO", "%s/%s", node, storage)
}

func (p *pve) DeleteVolume(_ context.Context, node, volume string) (proxmox.UPID, error) {
	p.volumes[node] = slices.DeleteFunc(p.volumes[node], func(v string) bool { return v == volume })
	return upid(node, "imgdel", 0), p.write("DeleteVolume", "%s", node)
}

func (p *pve) Pending(_ context.Context, ref proxmox.Ref) ([]proxmox.PendingValue, error) {
	if err := p.call("Pending"); err != nil {
		return nil, err
	}
	g, err := p.at(ref)
	if err != nil {
		return nil, err
	}
	values := []proxmox.PendingValue{{Key: "digest", Value: new("d1")}}
	for _, k := range slices.Sorted(maps.Keys(g.config)) {
		v := proxmox.PendingValue{Key: k, Value: new(g.config[k])}
		if to, ok := g.pending[k]; ok && to == "" {
			v.Delete = 1
		} else if ok {
			v.Pending = &to
		}
		values = append(values, v)
	}
	return values, nil
}

func (p *pve) Status(_ context.Context, ref proxmox.Ref) (proxmox.Status, error) {
	g, err := p.at(ref)
	if err != nil {
		return proxmox.Status{}, err
	}
	s := g.now
	s.Status = g.status
	return s, p.call("Status")
}

func (p *pve) Interfaces(_ context.Context, ref proxmox.Ref) ([]proxmox.Interface, error) {
	g, err := p.at(ref)
	if err != nil {
		return nil, err
	}
	return g.agent, p.call("Interfaces")
}

func (p *pve) Permissions(_ context.Context, path string) (map[string]proxmox.Privileges, error) {
	return map[string]proxmox.Privileges{path: p.permitted(path)}, p.call("Permissions")
}

func (p *pve) Privileges(_ context.Context, path string) (proxmox.Privileges, error) {
	return p.permitted(path), nil
}

func (p *pve) PrivilegesOn(_ context.Context, path string) (proxmox.Privileges, error) {
	return p.permitted(path), nil
}

// permitted returns all privileges except those that the guest agent needs and those that are missing.
func (p *pve) permitted(path string) proxmox.Privileges {
	all := proxmox.Privileges{"Sys.Console": true, "Mapping.Use": true}
	for _, names := range proxmox.Needed(proxmox.Version{Version: "9.2"}, proxmox.Features()...) {
		for _, name := range names {
			all[name] = true
		}
	}
	maps.Copy(all, p.privileges)
	for _, missing := range p.lacks {
		if missing.Path == path {
			delete(all, missing.Names[0])
		}
	}
	return all
}

func (p *pve) ReadFile(_ context.Context, ref proxmox.Ref, path string) (string, error) {
	g, err := p.at(ref)
	if err != nil {
		return "", err
	}
	return g.files[path], p.call("ReadFile " + path)
}

func (p *pve) Bridges(context.Context, string, time.Duration) ([]proxmox.Bridge, error) {
	return p.bridges, p.call("Bridges")
}

// A pveInventory is the fake as an Inventory.
type pveInventory struct{ *pve }

func (i pveInventory) Volumes(ctx context.Context, node, storage, content string, _ time.Duration) ([]proxmox.Volume, error) {
	return i.pve.Volumes(ctx, node, storage, content)
}

func (p *pve) Watch(_ context.Context, key string, _ int, w inventory.Watcher) bool {
	_, unbroken := p.watchers[key]
	p.watchers[key] = w
	return unbroken
}

func (p *pve) Watches(key string, _ int) bool { return p.watchers[key] != nil }

func (p *pve) CatchUpEdits(context.Context, time.Duration) bool { return p.call("CatchUpEdits") == nil }

func (p *pve) CatchUp(context.Context, time.Duration) bool { return p.call("CatchUp") == nil }

func (p *pve) InvalidateGuest(vmid int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changed = append(p.changed, vmid)
}

func (p *pve) Unwatch(key string) { delete(p.watchers, key) }

func (p *pve) PCIMappings(context.Context, time.Duration) ([]proxmox.PCIMapping, error) {
	return nil, p.call("PCIMappings")
}

func (p *pve) TaskLog(context.Context, proxmox.UPID, int) ([]string, error) {
	if p.taskLog != nil {
		return p.taskLog, p.call("TaskLog")
	}
	return []string{"line"}, p.call("TaskLog")
}

func upid(node, kind string, id int) proxmox.UPID {
	return proxmox.UPID(fmt.Sprintf("UPID:%s:00000001:00000002:00000003:%s:%d:x@pve:", node, kind, id))
}

func (p *pve) Create(_ context.Context, ref proxmox.Ref, params proxmox.Params) (proxmox.UPID, error) {
	p.created = params
	return upid(ref.Node, "qmcreate", ref.VMID), p.write("Create", "%s/%d", ref.Node, ref.VMID)
}

func (p *pve) Clone(_ context.Context, source proxmox.Ref, o proxmox.CloneOptions) (proxmox.UPID, error) {
	return upid(source.Node, "qmclone", source.VMID), p.write("Clone", "%s/%d to %d", source.Node, source.VMID, o.NewID)
}

func (p *pve) ReserveCreate(proxmox.Ref) error { return p.call("Keep") }

func (p *pve) ReserveClone(proxmox.Ref, int) error { return p.call("Keep") }

func (p *pve) Configure(_ context.Context, ref proxmox.Ref, c proxmox.Change) error {
	return p.write("Configure", "%d set %s delete %s digest %s", ref.VMID, keys(c.Set), strings.Join(c.Delete, ","), c.Digest)
}

func (p *pve) ConfigureAsync(_ context.Context, ref proxmox.Ref, c proxmox.Change) (proxmox.UPID, error) {
	return upid(ref.Node, "qmconfig", ref.VMID), p.write(
		"ConfigureAsync", "%d set %s delete %s digest %s%s", ref.VMID, keys(c.Set), strings.Join(c.Delete, ","), c.Digest, destroying(c),
	)
}

func (p *pve) RenewCloudInit(_ context.Context, ref proxmox.Ref) error {
	return p.write("RenewCloudInit", "%d", ref.VMID)
}

func (p *pve) Resize(_ context.Context, ref proxmox.Ref, disk, size, _ string) (proxmox.UPID, error) {
	return upid(ref.Node, "resize", ref.VMID), p.write("Resize", "%d %s %s", ref.VMID, disk, size)
}

func (p *pve) Start(_ context.Context, ref proxmox.Ref) (proxmox.UPID, error) {
	return upid(ref.Node, "qmstart", ref.VMID), p.write("Start", "%d", ref.VMID)
}

func (p *pve) Shutdown(_ context.Context, ref proxmox.Ref, o proxmox.ShutdownOptions) (proxmox.UPID, error) {
	return upid(ref.Node, "qmshutdown", ref.VMID), p.write("Shutdown", "%d %v force %t", ref.VMID, o.Timeout, o.ForceStop)
}

func (p *pve) Stop(_ context.Context, ref proxmox.Ref, _ proxmox.StopOptions) (proxmox.UPID, error) {
	return upid(ref.Node, "qmstop", ref.VMID), p.write("Stop", "%d", ref.VMID)
}

func (p *pve) Suspend(_ context.Context, ref proxmox.Ref, o proxmox.SuspendOptions) (proxmox.UPID, error) {
	return upid(ref.Node, "qmsuspend", ref.VMID), p.write("Suspend", "%d to disk %t", ref.VMID, o.ToDisk)
}

func (p *pve) Resume(_ context.Context, ref proxmox.Ref) (proxmox.UPID, error) {
	return upid(ref.Node, "qmresume", ref.VMID), p.write("Resume", "%d", ref.VMID)
}

func (p *pve) Reboot(_ context.Context, ref proxmox.Ref, o proxmox.RebootOptions) (proxmox.UPID, error) {
	return upid(ref.Node, "qmreboot", ref.VMID), p.write("Reboot", "%d %v", ref.VMID, o.Timeout)
}

func (p *pve) Reset(_ context.Context, ref proxmox.Ref) (proxmox.UPID, error) {
	return upid(ref.Node, "qmreset", ref.VMID), p.write("Reset", "%d", ref.VMID)
}

func (p *pve) CheckMigration(context.Context, proxmox.Ref) (proxmox.MigrationCheck, error) {
	return p.migration, p.call("CheckMigration")
}

func (p *pve) Migrate(_ context.Context, ref proxmox.Ref, o proxmox.MigrateOptions) (proxmox.UPID, error) {
	return upid(ref.Node, "qmigrate", ref.VMID), p.write(
		"Migrate", "%d to %s online %t disks %t storage %q", ref.VMID, o.Target, o.Online, o.WithLocalDisks, o.TargetStorage,
	)
}

func (p *pve) MoveDisk(_ context.Context, ref proxmox.Ref, o proxmox.MoveOptions) (proxmox.UPID, error) {
	return upid(ref.Node, "qmmove", ref.VMID), p.write("MoveDisk", "%d %s to %q %q delete %t digest %s", ref.VMID, o.Disk, o.Storage, o.Format, o.Delete, o.Digest)
}

func (p *pve) PoolVMs(_ context.Context, pool string) ([]int, bool, error) {
	return p.pools[pool], pool != "nowhere", p.call("PoolVMs")
}

func (p *pve) JoinPool(_ context.Context, pool string, vmid int) error {
	return p.write("JoinPool", "%s %d", pool, vmid)
}

func (p *pve) LeavePool(_ context.Context, pool string, vmid int) error {
	return p.write("LeavePool", "%s %d", pool, vmid)
}

func (p *pve) InvalidatePoolMembers(pool string) { p.poolsChanged = append(p.poolsChanged, pool) }

func (p *pve) HAResources(context.Context, time.Duration) (map[int]proxmox.HASettings, error) {
	all := map[int]proxmox.HASettings{}
	for id, g := range p.vms {
		if p.ha != nil || g.now.HAManaged {
			all[id] = proxmox.HASettings{}
			maps.Copy(all[id], p.ha)
		}
	}
	return all, p.call("HAResources")
}

// ignored is the state that the cluster's list has for VMs that HA is to ignore.
func (p *pve) ignored() string {
	if p.ha["state"] == vmstate.HAIgnored {
		return vmstate.HAIgnored
	}
	return ""
}

func (p *pve) VMIDTaken(_ context.Context, vmid int) (bool, error) {
	_, taken := p.vms[vmid]
	return taken, p.call("VMIDTaken")
}

func (p *pve) InvalidateHA() { _ = p.call("ChangedHA") }

func (p *pve) AddHAResource(_ context.Context, vmid int, r proxmox.HASettings) error {
	return p.write("AddHAResource", "%d %v", vmid, r)
}

func (p *pve) ChangeHAResource(_ context.Context, vmid int, r proxmox.HASettings) error {
	return p.write("ChangeHAResource", "%d %v", vmid, r)
}

func (p *pve) RemoveHAResource(_ context.Context, vmid int) error {
	return p.write("RemoveHAResource", "%d", vmid)
}

func (p *pve) LeaveHA(_ context.Context, vmid int) error { return p.write("LeaveHA", "%d", vmid) }

func (p *pve) HARules(context.Context, time.Duration) (proxmox.HARules, error) {
	return p.rules, p.call("HARules")
}

func (p *pve) Replications(context.Context, time.Duration) ([]proxmox.Replication, error) {
	return p.replications, p.call("Replications")
}

func (p *pve) ReplicationFailures(context.Context, proxmox.Ref) (map[string]string, error) {
	return p.failures, p.call("ReplicationFailures")
}

func (p *pve) RemoveReplication(_ context.Context, id string) error {
	err := p.write("RemoveReplication", "%s", id)
	for i := range p.replications {
		if p.replications[i].ID == id && err == nil {
			p.replications[i].Removal = proxmox.RemovalFull
		}
	}
	return err
}

func (p *pve) AddHARule(_ context.Context, r proxmox.HARule) error {
	p.rules.Rules = append(p.rules.Rules, r)
	return p.write("AddHARule", "%s %s", r.Name, harules.Describe(r))
}

func (p *pve) ChangeHARule(_ context.Context, r proxmox.HARule) error {
	for i := range p.rules.Rules {
		if p.rules.Rules[i].Name == r.Name {
			p.rules.Rules[i] = r
		}
	}
	return p.write("ChangeHARule", "%s %s digest %s", r.Name, harules.Describe(r), r.Digest)
}

func (p *pve) RemoveHARule(_ context.Context, r proxmox.HARule) error {
	p.rules.Rules = slices.DeleteFunc(p.rules.Rules, func(o proxmox.HARule) bool { return o.Name == r.Name })
	return p.write("RemoveHARule", "%s", r.Name)
}

func (p *pve) Task(_ context.Context, u proxmox.UPID) (proxmox.Task, error) {
	return p.ended[u], p.call("Task")
}

func (p *pve) Delete(_ context.Context, ref proxmox.Ref, o proxmox.DeleteOptions) (proxmox.UPID, error) {
	return upid(ref.Node, "qmdestroy", ref.VMID), p.write("Delete", "%d purge %t", ref.VMID, o.Purge)
}

func (p *pve) GuestsSince(ctx context.Context, _ time.Time) ([]proxmox.Guest, error) {
	return p.Guests(ctx, inventory.Fresh)
}

func (p *pve) Guests(_ context.Context, maxAge time.Duration) ([]proxmox.Guest, error) {
	if maxAge == inventory.Fresh {
		if err := p.call("FreshGuests"); err != nil {
			return nil, err
		}
	}
	var all []proxmox.Guest
	for id, g := range p.vms {
		if !p.hidden[id] {
			all = append(all, proxmox.Guest{
				VMID: id, Node: g.node, Name: g.config["name"], Type: "qemu", Template: g.config["template"] == "1", Pool: g.pool,
				HAState: cmp.Or(g.now.HAState, p.ignored()), Status: cmp.Or(g.now.QMPStatus, g.status), Lock: g.config["lock"], Uptime: g.now.Uptime,
				Tags: strings.FieldsFunc(g.config["tags"], func(r rune) bool { return r == ';' }),
			})
		}
	}
	return all, p.call("Guests")
}

func (p *pve) ClusterName(context.Context) (string, error) { return p.cluster, p.call("ClusterName") }

func (p *pve) ClusterStatus(context.Context, time.Duration) (proxmox.ClusterStatus, error) {
	local := []proxmox.ClusterNode{{Name: "pve1", Online: true, Local: true}}
	return proxmox.ClusterStatus{Name: p.cluster, Quorate: !p.cutOff, Nodes: local}, p.call("ClusterStatus")
}

func (p *pve) Nodes(context.Context) ([]proxmox.Node, error) { return p.nodes, p.call("Nodes") }

func (p *pve) Storages(context.Context) ([]proxmox.Storage, error) {
	return p.storages, p.call("Storages")
}

// Objects returns the storages as they are configured.
func (p *pve) Objects(context.Context, proxmox.Collection, time.Duration) ([]proxmox.Object, error) {
	return p.configured, p.call("Objects")
}

func (p *pve) Tasks(_ context.Context, maxAge time.Duration) ([]proxmox.Task, error) {
	if maxAge == inventory.Fresh {
		return p.tasks, p.call("Tasks")
	}
	return p.tasks, p.call("RecentTasks")
}

func (p *pve) Follow(u proxmox.UPID, done func(proxmox.Task)) { p.ends[u] = done }

func (p *pve) ReserveVMID(_ context.Context, _ string, lowest, highest int) (int, error) {
	for id := lowest; id <= highest; id++ {
		if !slices.Contains(p.burned, id) {
			return id, p.call("ReserveVMID")
		}
	}
	return 0, errors.Errorf("no free VMID from %d to %d", lowest, highest)
}

func (p *pve) RenewVMID(id int, owner string) {
	if p.reserved == nil {
		p.reserved = map[string]int{}
	}
	p.reserved[owner] = id
	p.BlockVMID(id)
}

func (p *pve) BlockVMID(id int) { p.burned = append(p.burned, id) }

func destroying(c proxmox.Change) string {
	if c.Destroy {
		return " destroy"
	}
	return ""
}

func keys(p proxmox.Params) string { return strings.Join(slices.Sorted(maps.Keys(p)), ",") }

// noInterfaces is what an agent reports for a guest without interfaces.
var noInterfaces = []proxmox.Interface{} //nolint:gochecknoglobals // A constant.

// ourVM returns a VM that belongs to the bench's Machine.
func ourVM(status string) *guest {
	return &guest{node: "pve1", status: status, config: map[string]string{"name": "web", "smbios1": "uuid=" + ourUUID}}
}

// theirVM returns a VM that belongs to another owner.
func theirVM() *guest {
	return &guest{node: "pve2", status: "running", config: map[string]string{"name": "db", "smbios1": "uuid=" + otherUUID}}
}

func templateVM() *guest {
	c := templateConfig()
	c["name"], c["template"], c["smbios1"] = "debian", "1", "uuid="+otherUUID
	return &guest{node: "pve1", status: "stopped", config: c}
}

// templateConfig returns the configuration of a template whose boot disk is not the first by its number.
func templateConfig() qemu.Config {
	return qemu.Config{
		"scsi0": "local-lvm:base-9000-disk-1,size=8G",
		"scsi1": "local-lvm:base-9000-disk-0,size=2G",
		"ide2":  "local-lvm:vm-9000-cloudinit,media=cdrom",
		"net1":  "virtio=BC:24:11:00:00:02,bridge=vmbr1",
		"net0":  "virtio=BC:24:11:00:00:01,bridge=vmbr0",
		"boot":  "order=scsi1;ide2;net0",
	}
}

// quantity returns a pointer to a quantity.
func quantity(s string) *quantities.Quantity {
	q := quantities.MustParse(s)
	return &q
}
