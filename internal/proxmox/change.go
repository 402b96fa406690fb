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

// Params are options and their values, as PVE takes them in a form.
type Params map[string]string

// Create starts to create a VM. This call, not a list of free VMIDs, is what
// claims the VMID: IsAlreadyExists if it is taken. While the task runs the
// configuration is hardly more than its lock. PVE completes the parameters with
// MAC addresses, a boot order and an SMBIOS UUID.
func (c GuestAPI) Create(ctx context.Context, ref Ref, p Params) (UPID, error) {
	return c.start(ctx, ref, creation(ref, p))
}

// ReserveCreate keeps a turn for Create for ten seconds, if the client's limits
// permit another task now. If not, Waiting tells from the error when to ask again.
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

// begin makes a request that starts a task. PVE does some things at once and
// answers no UPID; then it is empty.
func (c *conn) begin(ctx context.Context, r request) (UPID, error) {
	answer, err := c.beginAnswer(ctx, r)
	if err == nil && answer != "" && !UPID(answer).Valid() {
		return "", newCall(r, nil).unexpected()
	}
	return UPID(answer), err
}

// beginAnswer makes a request that starts a task, and returns what PVE answers: a UPID,
// nothing, or the word of a method that has nothing to do.
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

// CloneOptions say what a clone is to be.
type CloneOptions struct {
	// NewID is the VMID of the clone.
	NewID int

	// Name of the clone. PVE's default is Copy-of-VM- and the source's name.
	Name string

	// Description of the clone.
	Description string

	// Pool to make the clone a member of.
	Pool string

	// Snapshot of the source to clone. The default is its current state.
	Snapshot string

	// Storage for the disks of a full clone. The default is where they are.
	Storage string

	// Format of the disks of a full clone on a file storage: raw, qcow2 or vmdk.
	Format string

	// TargetNode of the clone, if all disks are on shared storage.
	TargetNode string

	// Full asks for a copy of all disks. PVE's default is a linked clone of a
	// template and a full one of anything else.
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

// Clone starts to clone a VM. This call claims the new VMID: IsAlreadyExists if
// it is taken. The clone gets a new SMBIOS UUID and new MAC addresses; tags,
// protection and onboot are those of the source. Until the task ends the clone
// has the lock clone on the source's node. Clones of one source must not be
// started at the same time, for PVE waits one second only for the lock.
func (c GuestAPI) Clone(ctx context.Context, source Ref, o CloneOptions) (UPID, error) {
	r := cloning(source, o)
	if why := validVMID(o.NewID); why != "" {
		return "", r.refuse(why)
	}
	return c.start(ctx, source, r)
}

// ReserveClone keeps a turn for Clone for ten seconds, if the client's limits permit
// another task now. If not, Waiting tells from the error when to ask again.
func (c GuestAPI) ReserveClone(source Ref, newID int) error {
	return c.reserve(cloning(source, CloneOptions{NewID: newID}))
}

func cloning(source Ref, o CloneOptions) request {
	r := machine("clone", http.MethodPost, source, "/clone")
	r.op += " to VM " + strconv.Itoa(o.NewID)
	r.form = o.form()
	return r
}

// A Change of a VM's configuration.
type Change struct {
	// Set has the options to set. A NIC must have its MAC address, or it gets a
	// new one.
	Set Params

	// Delete has the options to remove, which puts them to PVE's defaults. A disk
	// becomes unused, and an unused disk is destroyed.
	Delete []string

	// Destroy deletes the volumes of the disks in Delete that are this VM's own,
	// instead of keeping them as unused disks.
	Destroy bool

	// Digest of the configuration that the change was made for. If it is another
	// one by now, the change is refused: IsDigestMismatch.
	Digest string
}

// Empty reports whether nothing is to be changed.
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

// Configure changes a VM's configuration and returns when that is done. It is
// for options that take no time; those of disks may: see ConfigureAsync. A
// running VM takes up at once what it can, the rest is pending; what the guest
// refuses is an error, for which IsHotplugRefused holds, and is pending too. An
// empty change is not sent.
func (c GuestAPI) Configure(ctx context.Context, ref Ref, change Change) error {
	if change.Empty() {
		return nil
	}
	r := machine("configure", http.MethodPut, ref, "/config")
	r.form = change.form()
	return c.vm(ctx, ref, r, nil)
}

// ConfigureAsync does what Configure does in a task, for changes that allocate, import or
// remove disks. The UPID is empty if PVE needed no task, or nothing was to do.
func (c GuestAPI) ConfigureAsync(ctx context.Context, ref Ref, change Change) (UPID, error) {
	if change.Empty() {
		return "", nil
	}
	r := machine("configure", http.MethodPost, ref, "/config")
	r.form = change.form()
	return c.start(ctx, ref, r)
}

// RenewCloudInit writes the VM's cloud-init drive again with what is configured now, and
// has the guest of a running VM see that. It returns when that is done; without such
// a drive nothing is.
func (c GuestAPI) RenewCloudInit(ctx context.Context, ref Ref) error {
	return c.vm(ctx, ref, machine("renew the cloud-init drive of", http.MethodPut, ref, "/cloudinit"), nil)
}

// Resize starts to bring a disk, such as scsi0, to a size, such as 32G: a number
// of bytes, or of K, M, G or T. Repeating it is harmless. A smaller size fails in
// the task; a relative one (+1G) is refused here, for a repetition would add.
func (c GuestAPI) Resize(ctx context.Context, ref Ref, disk, size, digest string) (UPID, error) {
	r := machine("resize disk "+strconv.Quote(disk)+" of", http.MethodPut, ref, "/resize")
	if _, err := ParseSize(size); err != nil {
		return "", r.refuse("size is not an absolute number of bytes, K, M, G or T")
	}
	r.form = withDigest(map[string]string{"disk": disk, "size": size}, digest)
	return c.start(ctx, ref, r)
}

// MoveOptions say where a disk is to go.
type MoveOptions struct {
	// Disk to move, such as scsi0.
	Disk string

	// Storage to move it to.
	Storage string

	// Format of the disk there: raw, qcow2 or vmdk. The default is as it is.
	Format string

	// Delete the source afterwards. Otherwise it becomes an unused disk.
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

// ReassignOptions say which VM gets a disk, and as what.
type ReassignOptions struct {
	// Disk to give away, such as unused0. One that is attached leaves a VM that is off only.
	Disk string

	// Target is the VMID of a VM on the same node, and TargetDisk what the disk is there, which
	// must be free, such as unused0.
	Target     int
	TargetDisk string

	// Digest of the VM's configuration, and TargetDigest of that of the target, as in Change.
	Digest, TargetDigest string
}

// ReassignDisk starts to give a disk to another VM. It gets another name there, which PVE
// chooses. No data is copied.
func (c GuestAPI) ReassignDisk(ctx context.Context, ref Ref, o ReassignOptions) (UPID, error) {
	r := machine("reassign disk "+strconv.Quote(o.Disk)+" of", http.MethodPost, ref, "/move_disk")
	r.form = withDigest(map[string]string{"disk": o.Disk, "target-vmid": strconv.Itoa(o.Target), "target-disk": o.TargetDisk}, o.Digest)
	if o.TargetDigest != "" {
		r.form["target-digest"] = o.TargetDigest
	}
	return c.start(ctx, ref, r)
}

// MigrateOptions say where a VM is to go.
type MigrateOptions struct {
	// Target node.
	Target string

	// Online migrates a running VM without stopping it.
	Online bool

	// WithLocalDisks copies disks on local storage too.
	WithLocalDisks bool

	// TargetStorage for copied disks: one for all, or pairs as in local:fast. The
	// default is the storage of the same name.
	TargetStorage string
}

// Migrate starts to move a VM to another node.
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

// ConvertToTemplate starts to make a template of a VM that is stopped and has no
// snapshots.
func (c GuestAPI) ConvertToTemplate(ctx context.Context, ref Ref) (UPID, error) {
	return c.start(ctx, ref, machine("convert to a template", http.MethodPost, ref, "/template"))
}

// DeleteOptions say what goes with a VM.
type DeleteOptions struct {
	// Purge removes the VM from HA, backup and replication jobs too. A VM in one
	// of those is not deleted otherwise. What was replicated stays on other nodes:
	// see RemoveReplication.
	Purge bool
}

// Delete starts to destroy a VM and the disks in its configuration. The VM must
// be stopped and not protected: IsProtected. Disks that no
// configuration mentions are never touched, for they may be somebody else's.
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
