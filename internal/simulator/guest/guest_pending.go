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
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
	"github.com/vitistack/provider-proxmox/internal/simulator/volume"
)

// dropNoops removes pending values that are already in force, and deletions of absent options.
func dropNoops(g *state.Guest) {
	maps.DeleteFunc(g.Pending, func(key, value string) bool {
		old, ok := g.Config[key]
		return ok && old == value
	})
	maps.DeleteFunc(g.Delete, func(key string, _ bool) bool {
		_, ok := g.Config[key]
		return !ok
	})
}

// applyPending applies all pending changes of a stopped VM.
func applyPending(o *engine.Op, g *state.Guest) {
	for _, key := range slices.Sorted(maps.Keys(g.Delete)) {
		putAway(o, g, key)
		delete(g.Config, key)
	}
	g.Delete = map[string]bool{}
	for _, key := range slices.Sorted(maps.Keys(g.Pending)) {
		inForce(o, g, key)
	}
}

// putAway detaches the volume of a removed drive.
func putAway(o *engine.Op, g *state.Guest, key string) {
	if value, ok := g.Config[key]; ok && IsDrive(key) {
		d := ParseDrive(o.Engine, key, value)
		if g.Delete[key] {
			volume.Free(o, d.File())
			return
		}
		keepUnused(o, g, d)
	}
}

// inForce makes one pending value the current one.
func inForce(o *engine.Op, g *state.Guest, key string) {
	value := g.Pending[key]
	if old, ok := g.Config[key]; ok && IsDrive(key) {
		was, is := ParseDrive(o.Engine, key, old), ParseDrive(o.Engine, key, value)
		if was.File() != is.File() {
			keepUnused(o, g, was)
		}
		if key == "efidisk0" && enroll(was, is) {
			value = o.Engine.Print(key, is)
		}
	}
	if IsDrive(key) {
		reattached(o, g, ParseDrive(o.Engine, key, value).File())
	}
	g.Config[key] = value
	delete(g.Pending, key)
}

// enroll changes the marker of an EFI disk like PVE::QemuServer::OVMF::drive_change, and reports whether it has: if the marker of 2023 is new, the
// certificates are added if the disk has keys.
func enroll(was, is Drive) bool {
	if was.File() != is.File() || was["ms-cert"] == is["ms-cert"] || !strings.HasPrefix(is["ms-cert"], "2023") {
		return false
	}
	delete(is, "ms-cert")
	if is["pre-enrolled-keys"] == "1" {
		is["ms-cert"] = "2023k"
	}
	return true
}

// reattached removes the entry of an unused disk that is in use again.
func reattached(o *engine.Op, g *state.Guest, volume string) {
	maps.DeleteFunc(g.Config, func(key, value string) bool {
		return IsUnused(key) && o.Engine.Parse(key, value)["file"] == volume
	})
}

// keepUnused records the volume of a detached disk as unused, and returns the option. Cloud-init drives are removed, because they are created again.
func keepUnused(o *engine.Op, g *state.Guest, d Drive) string {
	if d.CloudInit() {
		volume.Free(o, d.File())
		return ""
	}
	if d.CDROM() || !ownsByName(o, g, d.File()) {
		return ""
	}
	free := ""
	for i := range 256 {
		key := "unused" + strconv.Itoa(i)
		switch g.Config[key] {
		case d.File():
			return ""
		case "":
			free = cmp.Or(free, key)
		}
	}
	if free != "" {
		g.Config[free] = d.File()
	}
	return free
}

// ownsByName reports whether a volume has the VMID of the guest in its name. PVE::QemuServer::vm_is_volid_owner does not check whether it exists.
func ownsByName(o *engine.Op, g *state.Guest, id string) bool {
	storage, name, ok := state.SplitVolume(id)
	s := o.State.Storages[storage]
	if !ok || s == nil {
		return false
	}
	_, vmid, err := s.KindOf(name)
	return err == nil && vmid == g.VMID
}

// dropUsed removes the entries of unused disks that are in use, or will be.
func dropUsed(o *engine.Op, g *state.Guest) {
	for _, config := range []map[string]string{g.Config, g.Pending} {
		for key, value := range config {
			if IsDrive(key) {
				reattached(o, g, ParseDrive(o.Engine, key, value).File())
			}
		}
	}
}

// fastOptions returns the options that can be applied to a running VM without affecting it.
func fastOptions() *regexp.Regexp {
	return regexp.MustCompile(`^(description|hookscript|lock|migrate_downtime|migrate_speed|name|onboot|protection|shares|startup|tags|` +
		`vmstatestorage|cicustom|cipassword|citype|ciuser|ciupgrade|nameserver|searchdomain|sshkeys|ipconfig\d+)$`)
}

// hotplug applies what a running VM allows. The rest stays pending.
func hotplug(o *engine.Op, g *state.Guest, selected map[string]bool) error {
	h := &hotplugger{Op: o, g: g, features: hotplugFeatures(g.Config["hotplug"])}
	fast := fastOptions()
	for _, key := range slices.Sorted(maps.Keys(g.Pending)) {
		if fast.MatchString(key) {
			h.recordCloudInit(key)
			g.Config[key] = g.Pending[key]
			delete(g.Pending, key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(g.Delete)) {
		if selected[key] && (fast.MatchString(key) || h.unplugs(key)) {
			h.recordCloudInit(key)
			putAway(o, g, key)
			delete(g.Config, key)
			delete(g.Delete, key)
		}
	}
	wrong := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(g.Pending)) {
		if !selected[key] {
			continue
		}
		ok, problem := h.plugs(key, g.Pending[key])
		if problem != "" {
			wrong[key] = fmt.Sprintf("hotplug problem - %s\n", problem)
		}
		if ok {
			h.recordCloudInit(key)
			inForce(o, g, key)
		}
	}
	if len(wrong) > 0 {
		return apierr.Params(wrong)
	}
	return nil
}

func hotplugFeatures(value string) map[string]bool {
	switch value {
	case "", "1":
		value = "network,disk,usb"
	case "0":
		value = ""
	}
	out := map[string]bool{}
	for _, f := range strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ';' || r == ' ' }) {
		out[f] = true
	}
	return out
}

// hotplugger decides which changes a running VM accepts.
type hotplugger struct {
	*engine.Op
	g        *state.Guest
	features map[string]bool
}

// unplugs reports whether an option can be removed while the VM runs.
func (h *hotplugger) unplugs(key string) bool {
	switch {
	case key == "hotplug":
		return !strings.Contains(h.g.Config[key], "cpu") && !strings.Contains(h.g.Config[key], "memory")
	case key == "tablet" || Indexed(key, "usb"):
		return h.features["usb"]
	case key == "vcpus":
		return h.features["cpu"]
	case key == "balloon":
		return h.g.Config[key] != "0"
	case key == "cpuunits" || key == "cpulimit":
		return true
	case key == "memory":
		return h.features["memory"]
	case IsNIC(key):
		return h.features["network"]
	case IsDrive(key):
		return h.features["disk"] && (strings.HasPrefix(key, "scsi") || strings.HasPrefix(key, "virtio"))
	}
	return false
}

// plugs reports whether a value can be applied while the VM runs, and the problem of an attempt.
func (h *hotplugger) plugs(key, value string) (bool, string) {
	old, exists := h.g.Config[key]
	switch {
	case key == "hotplug":
		return !strings.Contains(value+old, "cpu") && !strings.Contains(value+old, "memory"), ""
	case key == "tablet" || Indexed(key, "usb"):
		return h.features["usb"], ""
	case key == "vcpus":
		return h.features["cpu"], ""
	case key == "balloon":
		return (exists && old == "0") == (value == "0"), ""
	case key == "cpuunits" || key == "cpulimit":
		return true, ""
	case key == "memory":
		return h.features["memory"], ""
	case key == "agent":
		return exists && h.sameBut(key, old, value, "fstrim_cloned_disks"), ""
	case IsNIC(key):
		return h.plugsNIC(key, old, value), ""
	case IsDrive(key):
		return h.plugsDrive(key, old, value)
	}
	return false, ""
}

// sameBut reports whether two property strings differ in the given keys only.
func (h *hotplugger) sameBut(key, a, b string, but ...string) bool {
	x, y := h.Engine.Parse(key, a), h.Engine.Parse(key, b)
	for _, k := range but {
		delete(x, k)
		delete(y, k)
	}
	return maps.Equal(x, y)
}

// plugsNIC reports whether a change of a NIC takes effect at once. The link and the bridge side can always change, the device itself only by unplugging
// it.
func (h *hotplugger) plugsNIC(key, old, value string) bool {
	if old == "" {
		return h.features["network"]
	}
	if h.Engine.Parse(key, value)["bridge"] == "" || h.Engine.Parse(key, old)["bridge"] == "" {
		return h.features["network"]
	}
	return h.features["network"] || h.sameBut(key, old, value, "bridge", "tag", "trunks", "firewall", "rate", "link_down")
}

func (h *hotplugger) plugsDrive(key, old, value string) (bool, string) {
	if key == "efidisk0" || key == "tpmstate0" {
		return false, ""
	}
	pluggable := h.features["disk"] && (strings.HasPrefix(key, "scsi") || strings.HasPrefix(key, "virtio"))
	was, is := ParseDrive(h.Engine, key, old), ParseDrive(h.Engine, key, value)
	if old == "" {
		return h.plugsNewDrive(is, pluggable)
	}
	switch {
	case was.CDROM() != is.CDROM():
		return false, "unable to change media type"
	case was.CDROM():
		return true, ""
	case was.File() != is.File():
		return pluggable, ""
	}
	waits := func(k string) bool { return was[k] != is[k] }
	return !slices.ContainsFunc(unpluggable(), waits), ""
}

// plugsNewDrive reports whether a new drive is plugged, and the problem. Before PVE plugs a drive it looks for its volume, and an empty drive has no name
// of one.
func (h *hotplugger) plugsNewDrive(d Drive, pluggable bool) (bool, string) {
	if file := d.File(); pluggable && (file == "none" || file == "cdrom") {
		return false, fmt.Sprintf("unable to parse volume ID '%s'", file)
	}
	return pluggable, ""
}

// unpluggable returns the drive options that wait for the next start. PVE applies the others to the configuration at once: QEMU changes limits on the fly,
// and reads the rest at its next start (vmconfig_update_disk).
func unpluggable() []string {
	return []string{"aio", "cache", "discard", "iothread", "product", "queues", "ro", "ssd", "vendor"}
}

// recordCloudInit records the content of the cloud-init drive when an option that it contains changes.
func (h *hotplugger) recordCloudInit(key string) {
	part := regexp.MustCompile(`^(cicustom|cipassword|citype|ciuser|nameserver|searchdomain|sshkeys|ipconfig\d+|name|net\d+)$`)
	if !part.MatchString(key) {
		return
	}
	if h.g.CloudInit == nil {
		h.g.CloudInit = map[string]string{}
	}
	if _, ok := h.g.CloudInit[key]; !ok {
		h.g.CloudInit[key] = h.g.Config[key]
	}
}
