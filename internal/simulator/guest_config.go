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
	"strings"
	"time"

	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
)

// change is what a request asks to change of a configuration.
type change struct {
	vmid     int
	set      map[string]string
	remove   []string
	revert   []string
	force    bool
	skipLock bool
	digest   string
	// line is what the log says.
	line string
}

func (c *call) putConfig() (any, error) {
	ch, err := c.change()
	if err != nil {
		return nil, err
	}
	if err := c.op().changeable(ch); err != nil {
		return nil, err
	}
	return &locked{vmid: ch.vmid, wait: configLockWait, then: func(c *call) (any, error) { return nil, c.op().change(ch) }}, nil
}

func (c *call) postConfig() (any, error) {
	ch, err := c.change()
	if err != nil {
		return nil, err
	}
	if err := c.op().changeable(ch); err != nil {
		return nil, err
	}
	return c.spawnWaiting(ch.vmid, "qmconfig", func(w *worker) error {
		return w.locked(ch.vmid, exclusive, configLockWait, func() error {
			if err := w.pauseFor("qmconfig"); err != nil {
				return err
			}
			return w.do(func(st *State) error { return w.op(st).change(ch) })
		})
	})
}

// spawnWaiting starts a task and waits for its end as long as the call asks for; a task that ended well in time is not told.
func (c *call) spawnWaiting(vmid int, kind string, w work) (any, error) {
	result, err := c.spawnFor(vmid, kind, w)
	sp, ok := result.(*spawned)
	wait := time.Duration(c.num("background_delay")) * time.Second
	if err != nil || !ok || wait <= 0 {
		return result, err
	}
	sp.ended = make(chan struct{})
	return outside(func() (any, error) {
		c.s.run(sp)
		if !c.s.waitFor(sp.ended, wait) {
			return sp.task.UPID, nil
		}
		exit := ""
		c.s.update(func(*State) { exit = sp.task.Exit })
		if exit != "OK" && !strings.HasPrefix(exit, "WARNINGS: ") {
			return nil, die("failed to update VM %d: %s", vmid, exit)
		}
		return nil, nil //nolint:nilnil // The answer is null.
	}), nil
}

// waitFor reports whether a channel is closed within a simulated duration.
func (s *engine) waitFor(ended <-chan struct{}, d time.Duration) bool {
	if !s.instant() {
		select {
		case <-ended:
		case <-s.clock.After(s.scale(d)):
		case <-s.ctx.Done():
		}
	}
	select {
	case <-ended:
		return true
	default:
		return false
	}
}

// change reads the request and makes the checks that need no configuration.
func (c *call) change() (*change, error) {
	ch := &change{
		vmid: c.vmid(), set: map[string]string{}, force: c.flag("force"), skipLock: c.flag("skiplock"), digest: c.str("digest"),
		line: c.changeLine(),
	}
	if err := c.rootOnly("skiplock"); err != nil {
		return nil, err
	}
	for name, value := range c.Values {
		if name == "cdrom" || c.s.configOption(name) {
			ch.set[name] = value
		}
	}
	if keys, ok := ch.set["sshkeys"]; ok {
		if err := checkSSHKeys(keys); err != nil {
			return nil, err
		}
	}
	if len(ch.set)+len(c.Undefined) == 0 && c.str("delete") == "" && c.str("revert") == "" {
		return nil, die("no options specified")
	}
	resolveCDROM(ch.set)
	for _, step := range []func(*call, *change) error{readLists, checkChange, tidyChange} {
		if err := step(c, ch); err != nil {
			return nil, err
		}
	}
	return ch, nil
}

func (c *call) changeLine() string {
	parts := []string{}
	for _, name := range slices.Sorted(maps.Keys(c.Values)) {
		switch name {
		case "node", "vmid", "digest", "background_delay":
		case "cipassword":
			parts = append(parts, "-cipassword <hidden>")
		default:
			parts = append(parts, "-"+name+" "+c.Values[name])
		}
	}
	return fmt.Sprintf("update VM %d: %s", c.vmid(), strings.Join(parts, " "))
}

// readLists reads what to delete and to revert.
func readLists(c *call, ch *change) error {
	for _, key := range schema.SplitList(c.str("revert")) {
		if !c.s.configOption(key) {
			return paramError("revert", "unknown option '%s'", key)
		}
		if _, both := ch.set[key]; both {
			return paramError("delete", "you can't use '-%s' and -revert %s' at the same time", key, key)
		}
		ch.revert = append(ch.revert, key)
	}
	for _, key := range schema.SplitList(c.str("delete")) {
		if key == "cdrom" {
			key = "ide2"
		}
		if _, both := ch.set[key]; both {
			return paramError("delete", "you can't use '-%s' and -delete %s' at the same time", key, key)
		}
		if slices.Contains(ch.revert, key) {
			return paramError("revert", "you can't use '-delete %s' and -revert %s' at the same time", key, key)
		}
		if !c.s.configOption(key) {
			return paramError("delete", "unknown option '%s'", key)
		}
		ch.remove = append(ch.remove, key)
	}
	return nil
}

func checkChange(c *call, ch *change) error {
	a := &guestAccess{op: c.op(), vmid: ch.vmid}
	for _, check := range []func() error{
		func() error { return a.checkDrives(ch.set) },
		func() error { return a.options(slices.Clone(ch.remove)) },
		func() error { return a.options(slices.Sorted(maps.Keys(ch.set))) },
		func() error { return a.storages(ch.set, "") },
		func() error { return a.devices(ch.set) },
		func() error { return a.bridges(ch.set) },
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// tidyChange brings values into the form in which they are stored.
func tidyChange(c *call, ch *change) error {
	for _, key := range c.Undefined {
		return die("unable to parse value of '%s' - got undefined value", key)
	}
	for key, value := range ch.set {
		switch {
		case isNIC(key):
			ch.set[key] = c.s.withMAC(key, value)
		case key == "vmgenid" && value == "1":
			ch.set[key] = newUUID()
		case key == "tags":
			ch.set[key] = uniqueTags(value)
		case key == "cipassword":
			hashed, err := hashedPassword(value)
			if err != nil {
				return err
			}
			ch.set[key] = hashed
		case key == "cpuunits":
			ch.set[key] = clampedUnits(value)
		}
	}
	return c.s.checkValues(ch.set)
}

// changeable makes the checks against the configuration as it is.
func (o *op) changeable(ch *change) error {
	g, err := o.st.guest(o.node, ch.vmid)
	if err != nil {
		return err
	}
	if err := o.staysReplicable(ch); err != nil {
		return err
	}
	if ch.digest != "" && ch.digest != g.digest() {
		return die("checksum mismatch (file change by other user?)")
	}
	if !ch.skipLock {
		if err := g.lock(); err != nil {
			return err
		}
	}
	if err := (&guestAccess{op: o, vmid: ch.vmid}).processor(ch.set["cpu"], g.Config["cpu"]); err != nil {
		return err
	}
	if err := clipboardFits(o.s, ch.set); err != nil {
		return err
	}
	return o.balloonFits(g, ch)
}

func (o *op) balloonFits(g *Guest, ch *change) error {
	_, resized := ch.set["memory"]
	_, ballooned := ch.set["balloon"]
	if !resized && !ballooned {
		return nil
	}
	after := g.effective()
	maps.Copy(after, ch.set)
	if b := atoi(after["balloon"]); b > 0 && int64(b) > o.s.memory(after)>>20 {
		return die("balloon value too large (must be smaller than assigned memory)")
	}
	return nil
}

// memory is the size of a VM's memory in bytes.
func (s *engine) memory(config map[string]string) int64 {
	mib := atoi(s.read("memory", config["memory"])["current"])
	if mib == 0 {
		mib = 512
	}
	return int64(mib) << 20
}

// change makes a change: first everything becomes pending, then what can be is applied.
func (o *op) change(ch *change) error {
	if err := o.changeable(ch); err != nil {
		return err
	}
	g := o.st.Guests[ch.vmid]
	o.logf("%s", ch.line)
	o.st.logLine(logEntry{time: o.s.clock.Now(), node: o.node, user: string(o.who), pri: 6, msg: ch.line})
	u := &update{op: o, g: g, force: ch.force, modified: map[string]bool{}, order: bootOrder(g.Config["boot"])}
	ch = u.reverted(ch)
	for _, key := range ch.remove {
		if err := u.remove(key); err != nil {
			return err
		}
	}
	for _, key := range slices.Sorted(maps.Keys(ch.set)) {
		if err := u.set(key, ch.set[key], ch); err != nil {
			return err
		}
	}
	g.dropNoops()
	o.dropUsed(g)
	if g.Power == Stopped {
		o.applyPending(g)
		if g.template() {
			o.makeTemplate(g, "")
		}
		return nil
	}
	return o.hotplug(g, u.modified)
}

// update makes one change to a guest.
type update struct {
	*op
	g        *Guest
	force    bool
	modified map[string]bool
	// order are the devices of the boot order in force as the change leaves them, whatever is pending.
	order []string
}

// reverted turns what is to be reverted into values to set and options to remove.
func (u *update) reverted(ch *change) *change {
	out := *ch
	out.set = maps.Clone(ch.set)
	for _, key := range ch.revert {
		if value, ok := u.g.Config[key]; ok {
			out.set[key] = value
		} else if _, ok := u.g.Pending[key]; ok {
			out.remove = append(slices.Clone(out.remove), key)
		}
	}
	return &out
}

func (u *update) remove(key string) error {
	u.modified[key] = true
	value, current := u.g.Config[key]
	pending, waiting := u.g.Pending[key]
	if waiting {
		delete(u.g.Pending, key)
	}
	if !current && !waiting {
		u.modified[key] = false
		return nil
	}
	if err := u.mayRemove(key, firstOf(value, pending)); err != nil {
		return err
	}
	u.leaveBootOrder(key)
	switch {
	case isUnused(key):
		return u.dropUnused(key)
	case key == "tags":
		if err := u.mayTag(u.g.VMID, "", firstOf(value, pending), ""); err != nil {
			return err
		}
		delete(u.g.Config, key)
	default:
		if waiting && isDrive(key) {
			u.keepUnused(u.g, u.s.parseDrive(key, pending))
		}
		u.g.Delete[key] = u.force
	}
	return nil
}

func (u *update) mayRemove(key, value string) error {
	a := &guestAccess{op: u.op, vmid: u.g.VMID}
	switch {
	case isUnused(key):
		if u.g.Config["protection"] == "1" {
			return die("can't remove unused disk '%s' - protection mode enabled", value)
		}
		return a.may("VM.Config.Disk")
	case isDrive(key):
		if u.g.Config["protection"] == "1" {
			return die("can't remove drive '%s' - protection mode enabled", key)
		}
		return a.mayDrive(u.s.parseDrive(key, value))
	}
	return a.leaves(key, u.g.Config[key], value)
}

// leaves checks what an option has, or is to have, that goes: the bridges and the devices of the host that are in force count
// as those do that come.
func (a *guestAccess) leaves(key, now, value string) error {
	if isNIC(key) && now != "" {
		return a.bridges(map[string]string{key: now})
	}
	return a.devices(map[string]string{key: value})
}

// mayDrive checks the privilege for the kind of drive.
func (a *guestAccess) mayDrive(d drive) error {
	switch {
	case d.cloudInit():
		if err := a.may("VM.Config.Cloudinit"); err != nil {
			return err
		}
		return a.may("VM.Config.CDROM")
	case d.cdrom():
		return a.may("VM.Config.CDROM")
	}
	return a.may("VM.Config.Disk")
}

// bootOrder returns the devices of a boot order, nil for those of the old form.
func bootOrder(boot string) []string {
	list, ok := strings.CutPrefix(boot, "order=")
	if !ok {
		return nil
	}
	return schema.SplitList(list)
}

func (u *update) leaveBootOrder(key string) {
	if !slices.Contains(u.order, key) {
		return
	}
	u.setBootOrder(slices.DeleteFunc(u.order, func(d string) bool { return d == key }))
}

func (u *update) setBootOrder(order []string) {
	u.order = order
	u.g.Pending["boot"] = printBootOrder(order)
	u.modified["boot"] = true
}

// dropUnused destroys the volume of an unused disk.
func (u *update) dropUnused(key string) error {
	id := u.s.parse(key, u.g.Config[key])["file"]
	if err := u.mayFree(id); err != nil {
		return err
	}
	if u.g.inSnapshot(id) {
		return die("unable to delete '%s' - volume is still in use (snapshot?)", id)
	}
	u.free(id)
	delete(u.g.Config, key)
	return nil
}

// mayFree checks the privilege to destroy a volume that is the guest's own.
func (u *update) mayFree(id string) error {
	storage, name, _ := splitVolume(id)
	s := u.st.Storages[storage]
	if s == nil {
		return nil
	}
	if _, owner, err := s.kindOf(name); err != nil || owner != u.g.VMID {
		return nil //nolint:nilerr // What is not the guest's is not destroyed.
	}
	return u.st.check(u.who, "/storage/"+storage, "Datastore.AllocateSpace")
}

func (g *Guest) inSnapshot(volume string) bool {
	for _, s := range g.Snapshots {
		for key, value := range s.Config {
			if isDrive(key) && strings.HasPrefix(value+",", volume+",") {
				return true
			}
		}
	}
	return false
}

func (u *update) set(key, value string, ch *change) error {
	u.modified[key] = true
	if old, ok := u.g.Pending[key]; ok && old == value {
		return nil
	}
	if old, ok := u.g.Config[key]; ok && !isDrive(key) {
		if err := (&guestAccess{op: u.op, vmid: u.g.VMID}).leaves(key, old, old); err != nil {
			return err
		}
	}
	delete(u.g.Delete, key)
	switch {
	case isDrive(key):
		return u.setDrive(key, value)
	case key == "cipassword":
		u.g.Config[key] = value
	case key == "boot":
		return u.setBoot(value, ch)
	case key == "tags":
		u.g.Pending[key] = value
		return u.mayTag(u.g.VMID, "", u.g.Config[key], value)
	case key == "description" && value == "":
		delete(u.g.Pending, key)
		u.g.Delete[key] = false
	case key == "ostype":
		u.g.Pending[key] = value
		if _, given := ch.set["machine"]; !given && u.g.Pending["machine"] == "" && !slices.Contains(ch.remove, "machine") {
			u.pinMachine(map[string]string{"ostype": value, "machine": u.g.Config["machine"]}, u.g.Pending)
		}
	default:
		u.g.Pending[key] = value
	}
	return nil
}

func (u *update) setDrive(key, value string) error {
	a := &guestAccess{op: u.op, vmid: u.g.VMID}
	if old, ok := u.g.Config[key]; ok {
		if err := a.mayDrive(u.s.parseDrive(key, old)); err != nil {
			return err
		}
	}
	if err := a.mayDrive(u.s.parseDrive(key, value)); err != nil {
		return err
	}
	made, err := u.makeDrives(u.g.VMID, map[string]string{key: value}, u.g.effective(), "")
	if err != nil {
		return err
	}
	if old, ok := u.g.Pending[key]; ok {
		u.keepUnused(u.g, u.s.parseDrive(key, old))
	}
	u.g.Pending[key] = made[key]
	if d := u.s.parseDrive(key, made[key]); len(u.order) > 0 && d.cdrom() && !d.cloudInit() && !slices.Contains(u.order, key) {
		u.setBootOrder(append(u.order, key))
	}
	return nil
}

func (u *update) setBoot(value string, ch *change) error {
	list, ok := u.s.parse("boot", value)["order"]
	if !ok {
		u.g.Pending["boot"] = value
		return nil
	}
	after := u.g.effective()
	maps.Copy(after, ch.set)
	for _, device := range schema.SplitList(list) {
		if after[device] == "" || slices.Contains(ch.remove, device) {
			return die("invalid bootorder: device '%s' does not exist'", device)
		}
	}
	u.g.Pending["boot"] = printBootOrder(schema.SplitList(list))
	if u.g.Config["bootdisk"] != "" {
		u.g.Delete["bootdisk"] = false
	}
	return nil
}
