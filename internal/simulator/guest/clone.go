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

package guest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/random"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
	"github.com/vitistack/provider-proxmox/internal/simulator/volume"
)

// A CloneRequest is a request to clone a VM.
type CloneRequest struct {
	Node, Target      string
	VMID, NewID       int
	Name, Description string
	Pool, Snapshot    string
	Storage, Format   string
	Full              *bool
	Running           bool
	// Limit is the maximum copy rate, in KiB per second. 0 means no limit.
	Limit int
}

// A ClonePlan is a checked clone: the options of the new VM and its drives that still have to be copied.
type ClonePlan struct {
	Config map[string]string
	Drives map[string]Drive
	Full   map[string]bool
}

// Cloneable performs the checks of a clone, which the task repeats. Like PVE, it looks for the new VMID only on the node of the source. A VMID in use on
// another node is noticed when the configuration is written.
func Cloneable(o *engine.Op, cl *CloneRequest) (*ClonePlan, error) {
	if cl.Pool != "" && o.State.Pools[cl.Pool] == nil {
		return nil, apierr.Forbidden(fmt.Sprintf("pool '%s' does not exist", cl.Pool))
	}
	if cl.Target != "" && o.State.Nodes[cl.Target] == nil {
		return nil, apierr.Errorf("no such cluster node '%s'", cl.Target)
	}
	if err := cloneStorage(o, cl); err != nil {
		return nil, err
	}
	g, err := o.State.Guest(cl.Node, cl.VMID)
	if err != nil {
		return nil, err
	}
	if err := g.Lock(); err != nil {
		return nil, err
	}
	source := g.Config
	if cl.Snapshot != "" {
		s := g.Snapshots[cl.Snapshot]
		if s == nil {
			return nil, apierr.Errorf("snapshot '%s' does not exist", cl.Snapshot)
		}
		source = restored(s)
	}
	full := !g.Template()
	if cl.Full != nil {
		full = *cl.Full
	}
	switch {
	case cl.Storage != "" && !full:
		return nil, apierr.Errorf("parameter 'storage' not allowed for linked clones")
	case cl.Format != "" && !full:
		return nil, apierr.Errorf("parameter 'format' not allowed for linked clones")
	}
	if err := cloneAccess(o, cl, source); err != nil {
		return nil, err
	}
	if taken := o.State.Guests[cl.NewID]; taken != nil && taken.Node == cl.Node {
		return nil, apierr.Errorf("unable to create VM %d: config file already exists", cl.NewID)
	}
	return planClone(o, cl, source, full)
}

func cloneStorage(o *engine.Op, cl *CloneRequest) error {
	if cl.Storage == "" {
		return nil
	}
	s, err := o.State.ImageStorage(cl.Storage, o.Node)
	if err != nil || cl.Target == "" {
		return err
	}
	if _, err := o.State.EnabledStorage(cl.Storage, cl.Target); err != nil {
		return err
	}
	if !s.Shared {
		return apierr.Errorf("can't clone to non-shared storage '%s'", cl.Storage)
	}
	return nil
}

// cloneAccess checks the privileges on storages and bridges, and that the target node has access to the disks.
func cloneAccess(o *engine.Op, cl *CloneRequest, source map[string]string) error {
	sharedVM := true
	for _, key := range slices.Sorted(maps.Keys(source)) {
		if !IsDrive(key) {
			continue
		}
		d := ParseDrive(o.Engine, key, source[key])
		id, _, ok := state.SplitVolume(d.File())
		if !ok {
			continue
		}
		s, err := o.State.Storage(id)
		if err != nil {
			return err
		}
		sharedVM = sharedVM && s.Shared
		if d.CDROM() {
			continue
		}
		if cl.Storage != "" {
			id = cl.Storage
		}
		if err := o.State.Check(o.Who, "/storage/"+id, "Datastore.AllocateSpace"); err != nil {
			return err
		}
	}
	a := &Access{Op: o, VMID: cl.NewID}
	if err := a.mappings(source); err != nil {
		return err
	}
	if err := a.Bridges(source); err != nil {
		return err
	}
	if cl.Target != "" && !sharedVM {
		return apierr.Errorf("can't clone VM to node '%s' (VM uses local storage)", cl.Target)
	}
	return nil
}

// notCloned reports whether an option belongs to the source's history.
func notCloned(key string) bool {
	switch key {
	case "parent", "snaptime", "vmstate", "snapstate", "runningcpu", "runningmachine", "running-nets-host-mtu", "template", "lock":
		return true
	}
	return IsUnused(key)
}

func planClone(o *engine.Op, cl *CloneRequest, source map[string]string, full bool) (*ClonePlan, error) {
	p := &ClonePlan{Config: map[string]string{}, Drives: map[string]Drive{}, Full: map[string]bool{}}
	for _, key := range slices.Sorted(maps.Keys(source)) {
		value := source[key]
		switch {
		case notCloned(key):
		case IsNIC(key):
			nic := o.Engine.Parse(key, value)
			nic["macaddr"] = random.MAC()
			p.Config[key] = o.Engine.Print(key, nic)
		case IsDrive(key):
			if err := planDrive(o, p, cl, key, value, full); err != nil {
				return nil, err
			}
		default:
			p.Config[key] = value
		}
	}
	return p, nil
}

func planDrive(o *engine.Op, p *ClonePlan, cl *CloneRequest, key, value string, full bool) error {
	d := ParseDrive(o.Engine, key, value)
	if d.CDROM() && !d.CloudInit() {
		p.Config[key] = value
		return nil
	}
	p.Drives[key], p.Full[key] = d, full || d.CloudInit() || key == "tpmstate0"
	if full && cl.Running && cl.Snapshot == "" && key == "tpmstate0" {
		return apierr.Errorf("cannot clone TPM state while VM is running")
	}
	what := ""
	if cl.Snapshot != "" {
		what = " a snapshot of"
	}
	if !p.Full[key] && (cl.Snapshot != "" || !isBase(d.File())) {
		return apierr.Errorf("Linked clone feature is not supported for%s '%s' (%s)", what, d.File(), key)
	}
	return nil
}

// isBase reports whether a volume belongs to a template.
func isBase(id string) bool {
	_, name, _ := state.SplitVolume(id)
	return strings.HasPrefix(state.BaseName(name), "base-")
}

// CopyDrive creates the new VM's copy of a drive.
func CopyDrive(o *engine.Op, cl *CloneRequest, key string, d Drive, full bool) (Drive, error) {
	source := o.State.Volume(o.Node, d.File())
	if source == nil {
		return nil, apierr.Errorf("volume '%s' does not exist", d.File())
	}
	out := maps.Clone(d)
	if !full {
		out["file"] = linkVolume(o, cl.NewID, d.File(), source)
		return out, nil
	}
	storage := StorageOf(d.File())
	if cl.Storage != "" {
		storage = cl.Storage
	}
	s, err := o.State.EnabledStorage(storage, o.Node)
	if err != nil {
		return nil, err
	}
	base := freeDisk(o, s, cl.NewID)
	if d.CloudInit() {
		base = "vm-" + strconv.Itoa(cl.NewID) + "-cloudinit"
	}
	o.Logf("create full clone of drive %s (%s)", key, d.File())
	if out["file"], err = volume.Allocate(o, s, cl.NewID, base, copyFormat(o, s, cl, d, source), source.Size); err != nil {
		return nil, err
	}
	if o.State.Version != "8.4" {
		o.Logf("allocated target volume '%s'", out["file"])
	}
	mirror(o, cl, key, source.Size)
	if err := volume.Write(o, out["file"], source, o.State.Path(d.File())); err != nil {
		volume.Free(o, out["file"])
		return nil, err
	}
	o.State.Volume(o.Node, out["file"]).System = source.System
	out["size"] = volume.SizeOption(source.Size)
	return out, nil
}

// mirror writes the log lines of QEMU's copy of a running VM's disk.
func mirror(o *engine.Op, cl *CloneRequest, key string, size int64) {
	g := o.State.Guests[cl.VMID]
	if !cl.Running || cl.Snapshot != "" || g == nil || g.Power == state.Stopped {
		return
	}
	job := "mirror-" + key
	if o.State.Version == "8.4" {
		job = "drive-" + key
	}
	gigabytes := float64(size) / (1 << 30)
	lines := []string{
		"drive mirror is starting for drive-" + key,
		fmt.Sprintf("%s: transferred %.1f GiB of %.1f GiB (100.00%%) in 0s, ready", job, gigabytes, gigabytes),
		"all 'mirror' jobs are ready",
	}
	agent := AgentRuns(o, g) == nil
	switch {
	case agent:
		lines = append(lines, "issuing guest agent 'guest-fsfreeze-freeze' command")
	case o.State.Version != "8.4":
		lines = append(lines, "skipping guest filesystem freeze - disabled in VM options")
	}
	if !agent {
		lines = append(lines, "suspend vm")
		g.Power = state.Running // The guest is resumed after that, whatever its state was before.
	}
	lines = append(lines, job+": Cancelling block job", job+": Done.")
	if agent {
		lines = append(lines, "issuing guest agent 'guest-fsfreeze-thaw' command")
	} else {
		lines = append(lines, "resume vm")
	}
	for _, line := range lines {
		o.Logf("%s", line)
	}
}

func copyFormat(_ *engine.Op, s *state.Storage, cl *CloneRequest, d Drive, source *state.Volume) string {
	if cl.Format != "" && !d.CloudInit() {
		return cl.Format
	}
	if slices.Contains(s.Formats(), source.Format) {
		return source.Format
	}
	return s.Formats()[0]
}

// linkVolume creates a volume that is based on another one.
func linkVolume(o *engine.Op, vmid int, base string, source *state.Volume) string {
	o.Logf("create linked clone of drive (%s)", base)
	id, baseFile, _ := state.SplitVolume(base)
	s := o.State.Storages[id]
	name := freeDisk(o, s, vmid)
	switch parts := strings.Split(baseFile, "/"); { // The base of the base is not part of the name.
	case s.FileBased():
		name = strings.Join(parts[max(len(parts)-2, 0):], "/") + "/" + s.ImageName(vmid, name, "qcow2")
	case s.Type != "lvmthin":
		name = parts[len(parts)-1] + "/" + name
	}
	format := source.Format
	if s.FileBased() {
		format = "qcow2"
	}
	o.State.Volumes[s.Key(o.Node, name)] = &state.Volume{
		VMID: vmid, Format: format, Content: "images", Size: source.Size, Used: min(source.Size, 4096), Base: baseFile,
		System: source.System, Created: o.Engine.Clock.Now(),
	}
	return id + ":" + name
}

// Identify gives the new VM its own identity.
func Identify(o *engine.Op, cl *CloneRequest, p *ClonePlan) {
	smbios := o.Engine.Parse("smbios1", p.Config["smbios1"])
	smbios["uuid"] = random.UUID()
	p.Config["smbios1"] = o.Engine.Print("smbios1", smbios)
	if p.Config["vmgenid"] != "" {
		p.Config["vmgenid"] = random.UUID()
	}
	name := p.Config["name"]
	if name == "" {
		name = strconv.Itoa(cl.VMID)
	}
	p.Config["name"] = "Copy-of-VM-" + name
	if cl.Name != "" {
		p.Config["name"] = cl.Name
	}
	if cl.Description != "" {
		p.Config["description"] = cl.Description
	}
}

// FinishClone unlocks the new VM.
func FinishClone(o *engine.Op, cl *CloneRequest, p *ClonePlan) error {
	g, err := o.State.Written(cl.Node, cl.NewID)
	if err != nil {
		return err
	}
	g.Config = p.Config
	if source := o.State.Guests[cl.VMID]; source != nil && source.Agent != nil {
		agent := *source.Agent
		g.Agent = &agent
	}
	if cl.Target != "" {
		g.Node = cl.Target
	}
	if pool := o.State.Pools[cl.Pool]; pool != nil {
		pool.VMs[cl.NewID] = true
	}
	return nil
}
