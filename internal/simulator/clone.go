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

package simulator

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// cloning is what a request to clone a VM asks for.
type cloning struct {
	node, target      string
	vmid, newID       int
	name, description string
	pool, snapshot    string
	storage, format   string
	full              *bool
	running           bool
}

func (c *call) cloneGuest() (any, error) {
	cl := &cloning{
		node: c.node, target: c.str("target"), vmid: c.vmid(), newID: c.num("newid"), name: c.str("name"),
		description: c.str("description"), pool: c.str("pool"), snapshot: c.str("snapname"), storage: c.str("storage"), format: c.str("format"),
	}
	if c.has("full") {
		full := c.flag("full")
		cl.full = &full
	}
	if cl.target == c.node || cl.target == "localhost" {
		cl.target = ""
	}
	g, err := c.state.process(c.node, cl.vmid)
	if err != nil {
		return nil, err
	}
	cl.running = g.Power != Stopped
	if _, err := c.op().cloneable(cl); err != nil {
		return nil, err
	}
	mode := shared
	if cl.running {
		mode = exclusive
	}
	return c.spawnFor(cl.vmid, "qmclone", func(w *worker) error {
		return w.locked(cl.vmid, mode, briefLockWait, func() error {
			return w.locked(cl.newID, exclusive, briefLockWait, func() error { return w.clone(cl) })
		})
	})
}

// plan is a checked clone: the options of the new VM and its drives still to be copied.
type plan struct {
	config map[string]string
	drives map[string]drive
	full   map[string]bool
}

// cloneable makes the checks of a clone; the task makes them again. They look for the new VMID on the node of the source
// only, as PVE does: that another node has it is noticed when the configuration is written.
func (o *op) cloneable(cl *cloning) (*plan, error) {
	if cl.pool != "" && o.st.Pools[cl.pool] == nil {
		return nil, forbidden(fmt.Sprintf("pool '%s' does not exist", cl.pool))
	}
	if cl.target != "" && o.st.Nodes[cl.target] == nil {
		return nil, die("no such cluster node '%s'", cl.target)
	}
	if err := o.cloneStorage(cl); err != nil {
		return nil, err
	}
	g, err := o.st.guest(cl.node, cl.vmid)
	if err != nil {
		return nil, err
	}
	if err := g.lock(); err != nil {
		return nil, err
	}
	source := g.Config
	if cl.snapshot != "" {
		s := g.Snapshots[cl.snapshot]
		if s == nil {
			return nil, die("snapshot '%s' does not exist", cl.snapshot)
		}
		source = s.restored()
	}
	full := !g.template()
	if cl.full != nil {
		full = *cl.full
	}
	switch {
	case cl.storage != "" && !full:
		return nil, die("parameter 'storage' not allowed for linked clones")
	case cl.format != "" && !full:
		return nil, die("parameter 'format' not allowed for linked clones")
	}
	if err := o.cloneAccess(cl, source); err != nil {
		return nil, err
	}
	if taken := o.st.Guests[cl.newID]; taken != nil && taken.Node == cl.node {
		return nil, die("unable to create VM %d: config file already exists", cl.newID)
	}
	return o.planClone(cl, source, full)
}

func (o *op) cloneStorage(cl *cloning) error {
	if cl.storage == "" {
		return nil
	}
	s, err := o.st.imageStorage(cl.storage, o.node)
	if err != nil || cl.target == "" {
		return err
	}
	if _, err := o.st.enabledStorage(cl.storage, cl.target); err != nil {
		return err
	}
	if !s.Shared {
		return die("can't clone to non-shared storage '%s'", cl.storage)
	}
	return nil
}

// cloneAccess checks the privileges on storages and bridges, and that the other node sees the disks.
func (o *op) cloneAccess(cl *cloning, source map[string]string) error {
	sharedVM := true
	for _, key := range slices.Sorted(maps.Keys(source)) {
		if !isDrive(key) {
			continue
		}
		d := o.s.parseDrive(key, source[key])
		id, _, ok := splitVolume(d.file())
		if !ok {
			continue
		}
		s, err := o.st.storage(id)
		if err != nil {
			return err
		}
		sharedVM = sharedVM && s.Shared
		if d.cdrom() {
			continue
		}
		if cl.storage != "" {
			id = cl.storage
		}
		if err := o.st.check(o.who, "/storage/"+id, "Datastore.AllocateSpace"); err != nil {
			return err
		}
	}
	a := &guestAccess{op: o, vmid: cl.newID}
	if err := a.mappings(source); err != nil {
		return err
	}
	if err := a.bridges(source); err != nil {
		return err
	}
	if cl.target != "" && !sharedVM {
		return die("can't clone VM to node '%s' (VM uses local storage)", cl.target)
	}
	return nil
}

// notCloned are the options that belong to the source's history.
func notCloned(key string) bool {
	switch key {
	case "parent", "snaptime", "vmstate", "snapstate", "runningcpu", "runningmachine", "running-nets-host-mtu", "template", "lock":
		return true
	}
	return isUnused(key)
}

func (o *op) planClone(cl *cloning, source map[string]string, full bool) (*plan, error) {
	p := &plan{config: map[string]string{}, drives: map[string]drive{}, full: map[string]bool{}}
	for _, key := range slices.Sorted(maps.Keys(source)) {
		value := source[key]
		switch {
		case notCloned(key):
		case isNIC(key):
			nic := o.s.parse(key, value)
			nic["macaddr"] = newMAC()
			p.config[key] = o.s.print(key, nic)
		case isDrive(key):
			if err := o.planDrive(p, cl, key, value, full); err != nil {
				return nil, err
			}
		default:
			p.config[key] = value
		}
	}
	return p, nil
}

func (o *op) planDrive(p *plan, cl *cloning, key, value string, full bool) error {
	d := o.s.parseDrive(key, value)
	if d.cdrom() && !d.cloudInit() {
		p.config[key] = value
		return nil
	}
	p.drives[key], p.full[key] = d, full || d.cloudInit() || key == "tpmstate0"
	if full && cl.running && cl.snapshot == "" && key == "tpmstate0" {
		return die("cannot clone TPM state while VM is running")
	}
	what := ""
	if cl.snapshot != "" {
		what = " a snapshot of"
	}
	if !p.full[key] && (cl.snapshot != "" || !isBase(d.file())) {
		return die("Linked clone feature is not supported for%s '%s' (%s)", what, d.file(), key)
	}
	return nil
}

// isBase reports whether a volume belongs to a template.
func isBase(id string) bool {
	_, name, _ := splitVolume(id)
	return strings.HasPrefix(baseName(name), "base-")
}

// clone is the task that copies a VM.
func (w *worker) clone(cl *cloning) error {
	var p *plan
	err := w.do(func(st *State) error {
		var err error
		if p, err = w.op(st).cloneable(cl); err != nil {
			return err
		}
		if st.Guests[cl.newID] != nil {
			return die("close (rename) atomic file '/etc/pve/nodes/%s/qemu-server/%d.conf' failed: File exists", cl.node, cl.newID)
		}
		w.op(st).identify(cl, p)
		st.Guests[cl.newID] = &Guest{
			VMID: cl.newID, Node: cl.node, Config: map[string]string{"lock": "clone"}, Pending: map[string]string{},
			Delete: map[string]bool{}, Snapshots: map[string]*Snapshot{}, Power: Stopped,
		}
		return nil
	})
	if err != nil {
		return err
	}
	if w.s.facts.Version != "8.4" {
		w.logf("creating a clone of VM %d with ID %d", cl.vmid, cl.newID)
	}
	made := []string{}
	err = w.copyDrives(cl, p, &made)
	return w.do(func(st *State) error {
		o := w.op(st)
		if err == nil {
			o.finishClone(cl, p)
			return nil
		}
		for _, id := range made {
			o.free(id)
		}
		delete(st.Guests, cl.newID)
		return die("clone failed: %s", err)
	})
}

func (w *worker) copyDrives(cl *cloning, p *plan, made *[]string) error {
	if err := w.pauseFor("qmclone"); err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(p.drives)) {
		d := p.drives[key]
		if p.full[key] && !d.cloudInit() {
			if err := w.pauseFor("copydisk"); err != nil {
				return err
			}
		}
		copied := func() error { return w.copyOne(cl, p, key, made) }
		var err error
		if p.full[key] {
			err = copied()
		} else {
			err = w.link(d, copied)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// link makes a linked copy of a drive, for which its storage is locked.
func (w *worker) link(d drive, fn func() error) error {
	return w.withStorage(storageOf(d.file()), func() error {
		if err := w.pauseFor("link"); err != nil {
			return err
		}
		return fn()
	})
}

func (w *worker) copyOne(cl *cloning, p *plan, key string, made *[]string) error {
	return w.do(func(st *State) error {
		value, err := w.op(st).copyDrive(cl, key, p.drives[key], p.full[key])
		if err != nil {
			return err
		}
		*made = append(*made, value.file())
		p.config[key] = w.s.print(key, value)
		st.Guests[cl.newID].Config = maps.Clone(p.config)
		st.Guests[cl.newID].Config["lock"] = "clone"
		return nil
	})
}

// copyDrive makes the new VM's copy of a drive.
func (o *op) copyDrive(cl *cloning, key string, d drive, full bool) (drive, error) {
	source := o.st.volume(o.node, d.file())
	if source == nil {
		return nil, die("volume '%s' does not exist", d.file())
	}
	out := maps.Clone(d)
	if !full {
		out["file"] = o.linkVolume(cl.newID, d.file(), source)
		return out, nil
	}
	storage := storageOf(d.file())
	if cl.storage != "" {
		storage = cl.storage
	}
	s, err := o.st.enabledStorage(storage, o.node)
	if err != nil {
		return nil, err
	}
	base := o.freeDisk(s, cl.newID)
	if d.cloudInit() {
		base = "vm-" + strconv.Itoa(cl.newID) + "-cloudinit"
	}
	o.logf("create full clone of drive %s (%s)", key, d.file())
	if out["file"], err = o.allocate(s, cl.newID, base, o.copyFormat(s, cl, d, source), source.Size); err != nil {
		return nil, err
	}
	if o.st.Version != "8.4" {
		o.logf("allocated target volume '%s'", out["file"])
	}
	o.mirror(cl, key, source.Size)
	if err := o.write(out["file"], source, o.st.path(d.file())); err != nil {
		o.free(out["file"])
		return nil, err
	}
	o.st.volume(o.node, out["file"]).System = source.System
	out["size"] = sizeOption(source.Size)
	return out, nil
}

// mirror logs how QEMU copies the disk of a running VM.
func (o *op) mirror(cl *cloning, key string, size int64) {
	g := o.st.Guests[cl.vmid]
	if !cl.running || cl.snapshot != "" || g == nil || g.Power == Stopped {
		return
	}
	job := "mirror-" + key
	if o.st.Version == "8.4" {
		job = "drive-" + key
	}
	gigabytes := float64(size) / (1 << 30)
	lines := []string{
		"drive mirror is starting for drive-" + key,
		fmt.Sprintf("%s: transferred %.1f GiB of %.1f GiB (100.00%%) in 0s, ready", job, gigabytes, gigabytes),
		"all 'mirror' jobs are ready",
	}
	agent := o.agentRuns(g) == nil
	switch {
	case agent:
		lines = append(lines, "issuing guest agent 'guest-fsfreeze-freeze' command")
	case o.st.Version != "8.4":
		lines = append(lines, "skipping guest filesystem freeze - disabled in VM options")
	}
	if !agent {
		lines = append(lines, "suspend vm")
	}
	lines = append(lines, job+": Cancelling block job", job+": Done.")
	if agent {
		lines = append(lines, "issuing guest agent 'guest-fsfreeze-thaw' command")
	} else {
		lines = append(lines, "resume vm")
	}
	for _, line := range lines {
		o.logf("%s", line)
	}
}

func (o *op) copyFormat(s *Storage, cl *cloning, d drive, source *Volume) string {
	if cl.format != "" && !d.cloudInit() {
		return cl.format
	}
	if slices.Contains(s.formats(), source.Format) {
		return source.Format
	}
	return s.formats()[0]
}

// linkVolume makes a volume that stands on another one.
func (o *op) linkVolume(vmid int, base string, source *Volume) string {
	o.logf("create linked clone of drive (%s)", base)
	id, baseFile, _ := splitVolume(base)
	s := o.st.Storages[id]
	name := o.freeDisk(s, vmid)
	switch {
	case s.fileBased():
		name = baseFile + "/" + s.imageName(vmid, name, "qcow2")
	case s.Type != "lvmthin":
		name = baseFile + "/" + name
	}
	format := source.Format
	if s.fileBased() {
		format = "qcow2"
	}
	o.st.Volumes[s.key(o.node, name)] = &Volume{
		VMID: vmid, Format: format, Content: "images", Size: source.Size, Used: min(source.Size, 4096), Base: baseFile,
		System: source.System, Created: o.s.clock.Now(),
	}
	return id + ":" + name
}

// identify gives the new VM an identity of its own.
func (o *op) identify(cl *cloning, p *plan) {
	smbios := o.s.parse("smbios1", p.config["smbios1"])
	smbios["uuid"] = newUUID()
	p.config["smbios1"] = o.s.print("smbios1", smbios)
	if p.config["vmgenid"] != "" {
		p.config["vmgenid"] = newUUID()
	}
	name := p.config["name"]
	if name == "" {
		name = strconv.Itoa(cl.vmid)
	}
	p.config["name"] = "Copy-of-VM-" + name
	if cl.name != "" {
		p.config["name"] = cl.name
	}
	if cl.description != "" {
		p.config["description"] = cl.description
	}
}

// finishClone lets go of the new VM.
func (o *op) finishClone(cl *cloning, p *plan) {
	g := o.st.Guests[cl.newID]
	g.Config = p.config
	if source := o.st.Guests[cl.vmid]; source != nil && source.Agent != nil {
		agent := *source.Agent
		g.Agent = &agent
	}
	if cl.target != "" {
		g.Node = cl.target
	}
	if pool := o.st.Pools[cl.pool]; pool != nil {
		pool.VMs[cl.newID] = true
	}
}
