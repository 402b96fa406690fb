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

package proxmox

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Params are options and their values, in the form that PVE accepts.
type Params map[string]string

// Create starts to create a VM. This call claims the VMID, not a list of free VMIDs: IsAlreadyExists if it is taken. While the task runs, the
// configuration contains little more than its lock. PVE adds MAC addresses, a boot order and an SMBIOS UUID to the parameters.
func (c GuestAPI) Create(ctx context.Context, ref Ref, p Params) (UPID, error) {
	return c.start(ctx, ref, creation(ref, p))
}

// ReserveCreate reserves a turn for Create for ten seconds, if the client's limits permit another task now. Otherwise Waiting returns from the error when
// to ask again.
func (c GuestAPI) ReserveCreate(ref Ref) error { return c.reserve(creation(ref, nil)) }

func creation(ref Ref, p Params) request {
	r := request{
		op: "create " + ref.String(), method: http.MethodPost,
		path: "/nodes/{node}/qemu", args: []string{ref.Node}, form: maps.Clone(p),
	}
	if r.form == nil {
		r.form = make(map[string]string, 1)
	}
	r.form["vmid"] = strconv.Itoa(ref.VMID)
	return r
}

// start makes a request that starts a task of a VM.
func (c *conn) start(ctx context.Context, ref Ref, r request) (UPID, error) {
	if why := ref.validate(r.method); why != "" {
		return "", r.refuse(why)
	}
	return c.begin(ctx, r)
}

// begin makes a request that starts a task. PVE does some things at once and returns no UPID, which is empty then.
func (c *conn) begin(ctx context.Context, r request) (UPID, error) {
	answer, err := c.beginAnswer(ctx, r)
	if err == nil && answer != "" && !UPID(answer).Valid() {
		return "", newCall(r, nil).unexpected()
	}
	return UPID(answer), err
}

// beginAnswer makes a request that starts a task, and returns the answer of PVE: a UPID, nothing, or the text of a method that has nothing to do.
func (c *conn) beginAnswer(ctx context.Context, r request) (string, error) {
	turn, refused := c.limiter.Enter(r.limited())
	if err := r.waits(refused); err != nil {
		return "", err
	}
	var answer text
	var started UPID
	c.ownCalls.ExpectTask(r.own()) // Until its task is known.
	defer func() {
		c.ownCalls.Started(started)
		c.ownCalls.Release(r.own())
		c.limiter.Leave(turn, started)
	}()
	if err := c.do(ctx, r, &answer); err != nil {
		return "", err
	}
	if u := UPID(answer); u.Valid() {
		started = u
		c.traced.Started(ctx, string(u), c.clock())
	}
	return string(answer), nil
}

// CloneOptions describes a new clone.
type CloneOptions struct {
	// NewID is the VMID of the clone.
	NewID int

	// Name of the clone. PVE's default is Copy-of-VM- and the source's name.
	Name string

	// Description of the clone.
	Description string

	// Pool of the clone.
	Pool string

	// Snapshot of the source to clone. The default is its current state.
	Snapshot string

	// Storage for the disks of a full clone. The default is that of the source's disks.
	Storage string

	// Format of the disks of a full clone on a file storage: raw, qcow2 or vmdk.
	Format string

	// TargetNode of the clone, if all disks are on shared storage.
	TargetNode string

	// Full requests a copy of all disks. PVE's default is a linked clone of a template and a full one of any other VM.
	Full *bool
}

func (o CloneOptions) form() map[string]string {
	f := map[string]string{"newid": strconv.Itoa(o.NewID)}
	for k, v := range map[string]string{
		"name": o.Name, "description": o.Description, "pool": o.Pool, "snapname": o.Snapshot,
		"storage": o.Storage, "format": o.Format, "target": o.TargetNode,
	} {
		if v != "" {
			f[k] = v
		}
	}
	if o.Full != nil {
		f["full"] = formBool(*o.Full)
	}
	return f
}

func formBool(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

// Clone starts to clone a VM. This call claims the new VMID: IsAlreadyExists if it is taken. The clone gets a new SMBIOS UUID and new MAC addresses. It
// keeps the tags, protection and onboot of the source. Until the task ends, the clone has the lock clone on the source's node. Do not start several clones
// of one source at the same time, because PVE waits only one second for the lock.
func (c GuestAPI) Clone(ctx context.Context, source Ref, o CloneOptions) (UPID, error) {
	r := cloning(source, o)
	if why := validVMID(o.NewID); why != "" {
		return "", r.refuse(why)
	}
	return c.start(ctx, source, r)
}

// ReserveClone reserves a turn for Clone for ten seconds, if the client's limits permit another task now. Otherwise Waiting returns from the error when to
// ask again.
func (c GuestAPI) ReserveClone(source Ref, newID int) error {
	return c.reserve(cloning(source, CloneOptions{NewID: newID}))
}

func cloning(source Ref, o CloneOptions) request {
	r := machine("clone", http.MethodPost, source, "/clone")
	r.op += " to VM " + strconv.Itoa(o.NewID)
	r.form = o.form()
	return r
}

// A Change is a change of a VM's configuration.
type Change struct {
	// Set contains the options to set. A NIC without its MAC address gets a new one.
	Set Params

	// Delete contains the options to remove, which resets them to PVE's defaults. A removed disk becomes unused, and a removed unused disk is destroyed.
	Delete []string

	// Destroy deletes the volumes of the disks in Delete that belong to this VM, instead of keeping them as unused disks.
	Destroy bool

	// Digest of the configuration for which the change was made. If the configuration has another digest, PVE rejects the change: IsDigestMismatch.
	Digest string
}

// Empty reports whether the change contains nothing.
func (c Change) Empty() bool { return len(c.Set) == 0 && len(c.Delete) == 0 }

func (c Change) form() map[string]string {
	f := make(map[string]string, len(c.Set)+2)
	maps.Copy(f, c.Set)
	if len(c.Delete) > 0 {
		f["delete"] = strings.Join(c.Delete, ",")
	}
	if c.Destroy {
		f["force"] = "1"
	}
	return withDigest(f, c.Digest)
}

func withDigest(f map[string]string, d string) map[string]string {
	if d != "" {
		f[digest] = d
	}
	return f
}

// Configure changes a VM's configuration and returns when that is done. Use it for options that take no time, and ConfigureAsync for those of disks, which
// may. A running VM applies at once what it can, and the rest is pending. A change that the guest rejects is pending too, and is returned as an error for
// which IsHotplugRefused holds. An empty change is not sent.
func (c GuestAPI) Configure(ctx context.Context, ref Ref, change Change) error {
	if change.Empty() {
		return nil
	}
	r := machine("configure", http.MethodPut, ref, "/config")
	r.form = change.form()
	return c.vm(ctx, ref, r, nil)
}

// ConfigureAsync is Configure in a task, for changes that allocate, import or remove disks. The UPID is empty if PVE needed no task, or if there was
// nothing to do.
func (c GuestAPI) ConfigureAsync(ctx context.Context, ref Ref, change Change) (UPID, error) {
	if change.Empty() {
		return "", nil
	}
	r := machine("configure", http.MethodPost, ref, "/config")
	r.form = change.form()
	return c.start(ctx, ref, r)
}

// RenewCloudInit writes the VM's cloud-init drive again from the current configuration, and makes it visible to a running guest. It returns when that is
// done. Without such a drive it does nothing.
func (c GuestAPI) RenewCloudInit(ctx context.Context, ref Ref) error {
	return c.vm(ctx, ref, machine("renew the cloud-init drive of", http.MethodPut, ref, "/cloudinit"), nil)
}

// Resize starts to resize a disk, such as scsi0, to a size, such as 32G: a number of bytes, or of K, M, G or T. Repeating it is harmless. A smaller size
// fails in the task. A relative one (+1G) is rejected here, because a repetition would add to it again.
func (c GuestAPI) Resize(ctx context.Context, ref Ref, disk, size, digest string) (UPID, error) {
	r := machine("resize disk "+strconv.Quote(disk)+" of", http.MethodPut, ref, "/resize")
	if _, err := ParseSize(size); err != nil {
		return "", r.refuse("size is not an absolute number of bytes, K, M, G or T")
	}
	r.form = withDigest(map[string]string{"disk": disk, "size": size}, digest)
	return c.start(ctx, ref, r)
}

// MoveOptions describes the target of a disk.
type MoveOptions struct {
	// Disk to move, such as scsi0.
	Disk string

	// Storage to move it to.
	Storage string

	// Format of the disk there: raw, qcow2 or vmdk. The default is the current one.
	Format string

	// Delete the source after the move. Otherwise it becomes an unused disk.
	Delete bool

	// Digest as in Change.
	Digest string
}

// MoveDisk starts to move a disk to another storage.
func (c GuestAPI) MoveDisk(ctx context.Context, ref Ref, o MoveOptions) (UPID, error) {
	r := machine("move disk "+strconv.Quote(o.Disk)+" of", http.MethodPost, ref, "/move_disk")
	r.form = withDigest(map[string]string{"disk": o.Disk, "storage": o.Storage, "delete": formBool(o.Delete)}, o.Digest)
	if o.Format != "" {
		r.form["format"] = o.Format
	}
	return c.start(ctx, ref, r)
}

// ReassignOptions describes which VM gets a disk, and as which device.
type ReassignOptions struct {
	// Disk to give away, such as unused0. An attached disk can only leave a VM that is stopped.
	Disk string

	// Target is the VMID of a VM on the same node. TargetDisk is the device there, which must be free, such as unused0.
	Target     int
	TargetDisk string

	// Digest of the VM's configuration, and TargetDigest of the target's configuration, as in Change.
	Digest, TargetDigest string
}

// ReassignDisk starts to give a disk to another VM. The disk gets another name there, which PVE chooses. No data is copied.
func (c GuestAPI) ReassignDisk(ctx context.Context, ref Ref, o ReassignOptions) (UPID, error) {
	r := machine("reassign disk "+strconv.Quote(o.Disk)+" of", http.MethodPost, ref, "/move_disk")
	r.form = withDigest(map[string]string{"disk": o.Disk, "target-vmid": strconv.Itoa(o.Target), "target-disk": o.TargetDisk}, o.Digest)
	if o.TargetDigest != "" {
		r.form["target-digest"] = o.TargetDigest
	}
	return c.start(ctx, ref, r)
}

// MigrateOptions describes the target of a VM.
type MigrateOptions struct {
	// Target node.
	Target string

	// Online migrates a running VM without stopping it.
	Online bool

	// WithLocalDisks also copies disks on local storage.
	WithLocalDisks bool

	// TargetStorage for copied disks: one for all, or pairs such as local:fast. The default is the storage of the same name.
	TargetStorage string
}

// Migrate starts to migrate a VM to another node.
func (c GuestAPI) Migrate(ctx context.Context, ref Ref, o MigrateOptions) (UPID, error) {
	r := machine("migrate", http.MethodPost, ref, "/migrate")
	if !validNode(o.Target) {
		return "", r.refuse("target node name is not valid")
	}
	r.form = map[string]string{"target": o.Target}
	if o.Online {
		r.form["online"] = "1"
	}
	if o.WithLocalDisks {
		r.form["with-local-disks"] = "1"
	}
	if o.TargetStorage != "" {
		r.form["targetstorage"] = o.TargetStorage
	}
	return c.start(ctx, ref, r)
}

// ConvertToTemplate starts to convert a stopped VM without snapshots to a template.
func (c GuestAPI) ConvertToTemplate(ctx context.Context, ref Ref) (UPID, error) {
	return c.start(ctx, ref, machine("convert to a template", http.MethodPost, ref, "/template"))
}

// DeleteOptions describes what is deleted with a VM.
type DeleteOptions struct {
	// Purge also removes the VM from HA, backup and replication jobs. Without it, a VM in one of those is not deleted. Replicas stay on other nodes: see
	// RemoveReplication.
	Purge bool
}

// Delete starts to destroy a VM and the disks in its configuration. The VM must be stopped and not protected: IsProtected. Disks that no configuration
// mentions are never deleted, because they may belong to others.
func (c GuestAPI) Delete(ctx context.Context, ref Ref, o DeleteOptions) (UPID, error) {
	r := machine("delete", http.MethodDelete, ref, "")
	if o.Purge {
		r.query = url.Values{"purge": {"1"}}
	}
	return c.start(ctx, ref, r)
}

// Names returns the names of the options that the change sets or deletes, sorted.
func (c Change) Names() []string {
	return slices.Sorted(slices.Values(slices.Concat(slices.Collect(maps.Keys(c.Set)), c.Delete)))
}
