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
	"time"
)

// creation is what a request to create a VM asks for.
type creation struct {
	vmid    int
	node    string
	options map[string]string
	pool    string
	storage string
	start   bool
	// ha adds the VM to the HA resources.
	ha bool
}

// createControls are the parameters of a creation that are no options of the VM.
func createControls() []string {
	return []string{
		"node", "vmid", "archive", "bwlimit", "force", "pool", "start", "ha-managed", "storage", "unique", "live-restore",
		"import-working-storage",
	}
}

func (c *call) createGuest() (any, error) {
	cr := &creation{
		vmid: c.vmid(), node: c.node, options: maps.Clone(c.Values), pool: c.str("pool"), storage: c.str("storage"), start: c.flag("start"),
		ha: c.flag("ha-managed"),
	}
	for _, name := range createControls() {
		delete(cr.options, name)
	}
	if err := c.checkCreate(cr); err != nil {
		return nil, err
	}
	if c.has("archive") {
		return c.restoreGuest(cr)
	}
	for key, value := range cr.options {
		switch {
		case isNIC(key):
			cr.options[key] = c.s.withMAC(key, value)
		case key == "cpuunits":
			cr.options[key] = clampedUnits(value)
		}
	}
	if err := c.claim(cr.vmid, "create"); err != nil {
		return nil, die("unable to create VM %d - %s", cr.vmid, err)
	}
	return c.spawnFor(cr.vmid, "qmcreate", func(w *worker) error { return w.create(cr) })
}

// claim takes a VMID by writing a configuration that holds nothing but a lock.
func (c *call) claim(vmid int, lock string) error {
	if g := c.state.Guests[vmid]; g != nil {
		return die("VM %d already exists on node '%s'", vmid, g.Node)
	}
	c.state.Guests[vmid] = &Guest{
		VMID: vmid, Node: c.node, Config: map[string]string{"lock": lock}, Pending: map[string]string{}, Delete: map[string]bool{},
		Snapshots: map[string]*Snapshot{}, Power: Stopped,
	}
	return nil
}

func (c *call) checkCreate(cr *creation) error {
	if keys, ok := cr.options["sshkeys"]; ok {
		if err := checkSSHKeys(keys); err != nil {
			return err
		}
	}
	if cr.pool != "" && c.state.Pools[cr.pool] == nil {
		return forbidden(fmt.Sprintf("pool '%s' does not exist", cr.pool))
	}
	a := &guestAccess{op: c.op(), vmid: cr.vmid, pool: cr.pool}
	if err := c.mayCreate(a, cr); err != nil {
		return err
	}
	if c.has("archive") {
		if err := c.checkArchive(a, cr); err != nil {
			return err
		}
	}
	resolveCDROM(cr.options)
	for _, check := range []func() error{
		func() error { return a.storages(cr.options, cr.storage) },
		func() error { return a.options(slices.Sorted(maps.Keys(cr.options))) },
		func() error { return a.devices(cr.options) },
		func() error { return a.bridges(cr.options) },
		func() error { return a.processor(cr.options["cpu"], "") },
		func() error { return a.checkDrives(cr.options) },
		func() error { return c.s.checkValues(cr.options) },
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (c *call) mayCreate(a *guestAccess, cr *creation) error {
	if c.has("storage") && c.state.Storages[cr.storage] != nil {
		if err := c.state.check(c.who, "/storage/"+cr.storage, "Datastore.AllocateSpace"); err != nil {
			return err
		}
	}
	if cr.ha {
		if err := c.state.check(c.who, "/", "Sys.Console"); err != nil {
			return err
		}
	}
	if cr.start {
		if err := a.may("VM.PowerMgmt"); err != nil {
			return err
		}
	}
	if c.state.may(c.who, fmt.Sprintf("/vms/%d", cr.vmid), "VM.Allocate") {
		return nil
	}
	if cr.pool != "" && c.state.may(c.who, "/pool/"+cr.pool, "VM.Allocate") {
		return nil
	}
	if c.has("archive") && c.flag("force") && c.state.Guests[cr.vmid] != nil && c.state.may(c.who, vmPath(cr.vmid), "VM.Backup") {
		return nil
	}
	return forbidden("")
}

// resolveCDROM turns the option "cdrom" into the drive that it stands for.
func resolveCDROM(options map[string]string) {
	value, ok := options["cdrom"]
	if !ok {
		return
	}
	if !strings.Contains(value, "media=") {
		value += ",media=cdrom"
	}
	options["ide2"] = value
	delete(options, "cdrom")
}

// checkValues makes the check with which a value is written into a configuration; it is stricter than that of requests.
func (s *engine) checkValues(options map[string]string) error {
	for key, value := range options {
		p := s.option(key)
		if p != nil && p.Type == "integer" && strings.Trim(value, "0123456789") != "" {
			return die("unable to parse value of '%s' - type check ('integer') failed - got '%s'", key, value)
		}
		if p != nil && p.Type == "integer" {
			options[key] = strconv.Itoa(atoi(value))
		}
	}
	return nil
}

// clampedUnits are a CPU weight as a node with cgroup v2 stores it: 10000 at most, although requests may have more.
func clampedUnits(value string) string {
	if atoi(value) > 10000 {
		return "10000"
	}
	return value
}

// withMAC writes a NIC option as PVE stores it; a NIC without an address gets a random one.
func (s *engine) withMAC(key, value string) string {
	nic := s.parse(key, value)
	if nic["macaddr"] == "" {
		nic["macaddr"] = newMAC()
	}
	return s.print(key, nic)
}

// create is the task that makes a VM.
func (w *worker) create(cr *creation) error {
	err := w.locked(cr.vmid, exclusive, briefLockWait, func() error {
		if err := w.pauseFor("qmcreate"); err != nil {
			return err
		}
		return w.do(func(st *State) error { return w.op(st).build(cr) })
	})
	if err != nil {
		w.s.update(func(st *State) { delete(st.Guests, cr.vmid) })
		return die("unable to create VM %d - %s", cr.vmid, err)
	}
	if cr.start {
		w.logf("Execute autostart")
		w.spawnStart(cr.node, cr.vmid)
	}
	return nil
}

// build creates the disks and writes the configuration.
func (o *op) build(cr *creation) error {
	g := o.st.Guests[cr.vmid]
	drives, err := o.makeDrives(cr.vmid, cr.options, cr.options, cr.storage)
	if err != nil {
		return err
	}
	config := maps.Clone(cr.options)
	maps.Copy(config, drives)
	config["meta"] = fmt.Sprintf("creation-qemu=%s,ctime=%d", o.st.qemu(), o.s.clock.Now().Unix())
	if config["boot"] == "" {
		config["boot"] = o.s.bootOrder(config)
	}
	for key, value := range map[string]string{"smbios1": "uuid=" + newUUID(), "vmgenid": newUUID()} {
		if config[key] == "" || config[key] == "1" {
			config[key] = value
		}
	}
	o.pinMachine(config, config)
	// 8.4 stores the tags of a new VM as they are.
	if tags, ok := config["tags"]; ok && o.st.Version != "8.4" {
		if err := o.mayTag(cr.vmid, cr.pool, "", tags); err != nil {
			return err
		}
		config["tags"] = uniqueTags(tags)
	}
	delete(config, "description")
	if d := cr.options["description"]; d != "" {
		config["description"] = strings.TrimRight(d, "\n ")
	}
	g.Config = config
	if p := o.st.Pools[cr.pool]; p != nil {
		p.VMs[cr.vmid] = true
	}
	if cr.ha {
		o.logf("Add as HA resource")
		o.st.HA[haID(cr.vmid)] = &HAResource{State: map[bool]string{true: "started", false: "stopped"}[cr.start]}
	}
	return nil
}

// pinMachine gives Windows the machine as it is now, which a later release does not change.
func (o *op) pinMachine(config, into map[string]string) {
	pinned := o.s.parse("machine", config["machine"])
	kind := map[string]string{"": "pc-i440fx", "pc": "pc-i440fx", "q35": "pc-q35"}[pinned["type"]]
	if kind == "" || !strings.HasPrefix(config["ostype"], "w") {
		return
	}
	version := o.st.machine()
	if revisions := machineRevisions(version); len(revisions) > 0 {
		version += revisions[0][0]
	}
	pinned["type"] = kind + "-" + version
	into["machine"] = o.s.print("machine", pinned)
	o.logf("pinning machine type to '%s' for Windows guest OS", pinned["type"])
}

// qemu is the QEMU version that the release comes with.
func (st *State) qemu() string {
	if st.QEMU != "" {
		return st.QEMU
	}
	if st.Version == "8.4" {
		return "9.2.0"
	}
	return "10.0.13"
}

// bootOrder is the default order: the first disk, the first CD drive, the first NIC.
func (s *engine) bootOrder(config map[string]string) string {
	var disk, cdrom, nic string
	for _, key := range s.bootDevices(config) {
		switch {
		case isNIC(key):
			nic = firstOf(nic, key)
		case s.parseDrive(key, config[key]).cdrom():
			cdrom = firstOf(cdrom, key)
		default:
			disk = firstOf(disk, key)
		}
	}
	return printBootOrder(slices.DeleteFunc([]string{disk, cdrom, nic}, func(d string) bool { return d == "" }))
}

func firstOf(have, candidate string) string {
	if have != "" {
		return have
	}
	return candidate
}

// bootDevices lists what a VM could boot from, in the order in which PVE looks for it.
func (s *engine) bootDevices(config map[string]string) []string {
	out := []string{}
	for _, bus := range []string{"ide", "scsi", "virtio", "sata", "net"} {
		for i := range 32 {
			key := bus + strconv.Itoa(i)
			if config[key] != "" {
				out = append(out, key)
			}
		}
	}
	return out
}

func printBootOrder(devices []string) string {
	if len(devices) == 0 {
		return " "
	}
	return "order=" + strings.Join(devices, ";")
}

// uniqueTags sorts tags, in lower case, and drops doubles.
func uniqueTags(tags string) string {
	list := strings.FieldsFunc(strings.ToLower(tags), func(r rune) bool { return strings.ContainsRune(",; ", r) })
	slices.Sort(list)
	if list = slices.Compact(list); len(list) == 0 {
		return " "
	}
	return strings.Join(list, ";")
}

func (c *call) now() time.Time { return c.s.clock.Now() }
