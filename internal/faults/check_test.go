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

package faults

import (
	stdcmp "cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/qemu/bootorder"
	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
	"github.com/vitistack/provider-proxmox/internal/volumeref"
)

// calm ends all troubles, and releases what was held.
func (k *randomRun) calm() {
	k.t.Helper()
	k.trace = append(k.trace, k.clock.Now().Format("15:04:05")+" all is calm")
	k.fatal = 0
	if p := k.process; p != nil {
		p.mu.Lock()
		p.fatal = 0
		p.mu.Unlock()
	}
	k.pve.Edit(func(s *simulator.State) {
		online(s)
		stored(s)
		s.NoQuorum = false
		for id, g := range s.Guests {
			if _, theirs := k.before.Guests[id]; !theirs {
				g.Agent = nil
				unlock(g)
			}
		}
	})
	k.drain()
	for _, l := range k.subjects {
		k.m = l.m
		k.update(func(m *namespaced.Machine) {
			m.SetManagementPolicies(xpv2.ManagementPolicies{xpv2.ManagementActionAll})
			meta.RemoveAnnotations(m, meta.AnnotationKeyReconciliationPaused)
			m.Generation++
			if p := m.Parameters(); k.isBlank(l) && ptr.Deref(p.RestartPolicy, "") == "WhenRequired" {
				p.RestartTimeoutSeconds = new(int32(1))
			}
		})
	}
}

// isBlank reports whether the VM has no system, or will be created without one, so that nothing in it reacts to a request to restart. An adopted VM has
// none after it was destroyed and created again.
func (k *randomRun) isBlank(l *subject) bool {
	g, there := k.guest()
	if !there {
		return l.start.spec.Template == nil && l.start.spec.Image == nil
	}
	blank := true
	k.pve.Edit(func(s *simulator.State) {
		for _, value := range g.Config {
			file, _, _ := strings.Cut(value, ",")
			v := s.Volume(g.Node, file)
			blank = blank && (v == nil || !v.System)
		}
	})
	return blank
}

// The number of reconciles within which all Machines must settle, and after which one that has not may have a good reason.
const (
	maxLooks          = 400
	looksBeforeExcuse = 30
)

// rest waits until each Machine is settled, or reports why it cannot be, and still is at the next reconcile, which sees what was just done.
func (k *randomRun) rest() {
	k.t.Helper()
	settled := false
	for n := range maxLooks {
		k.round()
		before := settled
		settled = k.all(func() bool { return k.tidy() && k.noticed() || n > looksBeforeExcuse && k.excused() }) && k.volumesRest(n > looksBeforeExcuse)
		if before && settled {
			return
		}
	}
	k.t.Fatalf("not all Machines are settled, or say why not\n%s", k)
}

// noticed reports whether the Machine shows its VM as it is. If not, the provider is about to act. It learns of manual edits from PVE's log, which it
// reads by the wall clock. High availability stops a VM some time after the request.
func (k *randomRun) noticed() bool {
	g, ok := k.pve.Guest(k.vmid())
	return !ok || k.isTheirs() || cmp.Equal(viewOf(g), k.view(), cmpopts.EquateEmpty()) && (!k.stopsSoon(g.VMID) || k.isGivenUp())
}

// excuses returns good reasons why a Machine is not settled: what its conditions contain, and whether that is true.
func excuses() map[string]func(*randomRun) bool {
	return map[string]func(*randomRun) bool{
		`disk "[^"]*" is no longer at`:    (*randomRun).editedByHand,
		`(efiDisk|tpm) is no longer at`:   (*randomRun).editedByHand,
		`can be read in two ways`:         (*randomRun).isUnassigned,
		`comes back with its volume`:      (*randomRun).isUnassigned,
		`cannot shrink from`:              (*randomRun).shrinks,
		`has no disk to boot from`:        (*randomRun).isDiskless,
		`is new and has no size`:          (*randomRun).isPulled,
		`is not this resource's`:          (*randomRun).isTheirs,
		`is protected: set protection to`: (*randomRun).isProtected,
		`volume \S+ is attached as \w+ already`: func(k *randomRun) bool { // That of a clone that was created again.
			g, _ := k.pve.Guest(k.vmid())
			return slices.ContainsFunc(k.m.Parameters().Disks, func(d v1alpha1.MachineDisk) bool {
				return d.Volume != nil && *d.Volume != "" && strings.HasPrefix(effective(g)["scsi0"], *d.Volume+",")
			})
		},
		`volume \S+ is that of disk "[^"]*" too`: (*randomRun).namesVolume,
		`is kept for Machine`:                    (*randomRun).waitsForOther,
		`is not handed over yet`:                 (*randomRun).waitsForHolder,
		`which stays on its node: take it off`:   (*randomRun).isPinned,
		`its Volumes are on local storage of`:    (*randomRun).isPinned,
		`can't move a disk with snapshots`:       (*randomRun).movesSnapshotted,
		`volume \S+ not found on node`:           (*randomRun).lacksVolume,
		`cannot be detached: the VM is prot`: func(k *randomRun) bool {
			g, _ := k.pve.Guest(k.vmid())
			return ptr.Deref(k.m.Parameters().Protection, false) || g.Config["protection"] == "1"
		},
		`is on local storage: take it out`:     (*randomRun).isTied,
		`is on local storage, and in`:          (*randomRun).isTied,
		`\bRestartRequired \(PendingChanges\)`: (*randomRun).waitsForStart,
		`changes wait until the VM is resumed`: (*randomRun).isSuspended,
		`it cannot become \w+, which an entry`: (*randomRun).changesDevice,
		`but its state is paused`: func(k *randomRun) bool {
			p := k.m.Parameters()
			return p.PowerState == nil && (k.subjectOf().start.adopts != 0 || ptr.Deref(p.RunStrategy, "") == "Manual")
		},
		`need a cloud-init drive, and the VM or its template has none`: func(k *randomRun) bool {
			g, _ := k.pve.Guest(k.vmid())
			p := k.m.Parameters()
			return (p.CloudInit == nil || p.CloudInit.Storage == nil) && !strings.Contains(effective(g)["ide2"], "cloudinit")
		},
		`has given the VM up \(state error\)`:      (*randomRun).isGivenUp,
		`no disk of the list can be filled by the`: (*randomRun).lacksImageDisk,
		`the VM is paused, and its guest would not react`: func(k *randomRun) bool {
			g, _ := k.pve.Guest(k.vmid())
			return g.Power == simulator.Paused && ptr.Deref(k.m.Parameters().PowerState, "") == v1alpha1.PowerStatePaused
		},
		`a VM with a PCI device of the host`: func(k *randomRun) bool {
			return ptr.Deref(k.m.Parameters().PowerState, "") == v1alpha1.PowerStateSuspended
		},
		`only a VM that runs can be (suspended|paused)`: func(k *randomRun) bool {
			g, _ := k.pve.Guest(k.vmid())
			return g.Power == simulator.Stopped
		},
	}
}

// says returns all messages in the Machine's conditions.
func (k *randomRun) says() string {
	var all []string
	for _, t := range []xpv2.ConditionType{xpv2.TypeSynced, xpv2.TypeReady, kind.TypeUpToDate} {
		if c := k.m.GetCondition(t); c.Status != corev1.ConditionTrue || c.Message != "" {
			all = append(all, fmt.Sprintf("%s (%s): %s", t, c.Reason, c.Message))
		}
	}
	if c := k.m.GetCondition(conditions.TypeRestartRequired); c.Status == corev1.ConditionTrue {
		all = append(all, fmt.Sprintf("%s (%s): %s", c.Type, c.Reason, c.Message))
	}
	return strings.Join(all, "; ")
}

func (k *randomRun) excused() bool {
	says := k.says()
	if len(k.running()) > 0 || says == "" {
		return false
	}
	for text, applies := range excuses() {
		if regexp.MustCompile(text).MatchString(says) && applies(k) {
			return true
		}
	}
	return false
}

func (k *randomRun) subjectOf() *subject {
	i := slices.IndexFunc(k.subjects, func(l *subject) bool { return l.m == k.m })
	return k.subjects[i]
}

// isGivenUp reports whether high availability has given the VM up.
func (k *randomRun) isGivenUp() bool {
	given := false
	k.pve.Edit(func(s *simulator.State) {
		managed := s.HAManager.Services[fmt.Sprintf("vm:%d", k.vmid())]
		given = managed != nil && managed.State == "error"
	})
	return given
}

// isPulled reports whether the spec names a disk as it was before an administrator removed it. Without a size, no other disk can be created.
func (k *randomRun) isPulled() bool {
	g, _ := k.pve.Guest(k.vmid())
	config := effective(g)
	return g.Config["unused0"] != "" && slices.ContainsFunc(k.m.Parameters().Disks, func(d v1alpha1.MachineDisk) bool {
		return d.Size == nil && d.Volume == nil && d.Device != nil && config[*d.Device] == ""
	})
}

func (k *randomRun) editedByHand() bool { return k.subjectOf().edited }

// cameTooLate reports whether a VM was created by a call that arrived long after the provider gave it up, when the Machine no longer existed. The
// provider could not know of the VM then.
func (k *randomRun) cameTooLate(vmid int) bool {
	if slices.ContainsFunc(k.subjects, func(l *subject) bool { return !l.gone && meta.GetExternalName(l.m) == strconv.Itoa(vmid) }) {
		return false
	}
	creates := map[string]string{"/nodes/{node}/qemu/{vmid}/clone": "newid", "/nodes/{node}/qemu": "vmid"}
	last, made := time.Duration(0), strconv.Itoa(vmid)
	for _, r := range k.pve.Requests() {
		if id := creates[r.Template]; id != "" && r.Method == http.MethodPost && r.Status == http.StatusOK && r.Params[id] == made {
			last = r.Duration
		}
	}
	return last > time.Minute
}

// isDiskless reports whether no attached disk is in the VM's boot order.
func (k *randomRun) isDiskless() bool {
	g, _ := k.pve.Guest(k.vmid())
	config := effective(g)
	return !slices.ContainsFunc(bootorder.Devices(config["boot"]), func(device string) bool {
		return isDrive(device) && config[device] != "" && !strings.Contains(config[device], "media=cdrom")
	})
}

func (k *randomRun) isTheirs() bool { return k.foreign[k.vmid()] }

func (k *randomRun) isProtected() bool {
	g, _ := k.pve.Guest(k.vmid())
	return meta.WasDeleted(k.m) && (ptr.Deref(k.m.Parameters().Protection, false) || g.Config["protection"] == "1")
}

// isTied reports whether the VM should move to another node although it has a medium that only its node has, or a snapshot with such a medium or disk.
func (k *randomRun) isTied() bool {
	g, _ := k.pve.Guest(k.vmid())
	local := func(value string) bool { return strings.HasPrefix(value, "local:iso/") }
	values := slices.AppendSeq(slices.Collect(maps.Values(g.Config)), maps.Values(effective(g)))
	for _, s := range g.Snapshots {
		for option, value := range s.Config {
			if isDrive(option) && strings.HasPrefix(value, "local") {
				values = append(values, "local:iso/")
			}
		}
	}
	return ptr.Deref(k.m.Parameters().Node, g.Node) != g.Node && slices.ContainsFunc(values, local)
}

// waitsForStart reports whether all pending changes are about disks that wait for the next start.
func (k *randomRun) waitsForStart() bool {
	g, _ := k.pve.Guest(k.vmid())
	left := k.m.Observation().Difference
	return len(left) > 0 && !slices.ContainsFunc(left, func(d v1alpha1.MachinePendingChange) bool {
		device, _, _ := strings.Cut(d.Option, " ")
		return g.Pending[device] == ""
	})
}

// isSuspended reports whether the VM is suspended, and its lock prevents a pending change or the attachment of a Volume's disk.
func (k *randomRun) isSuspended() bool {
	g, _ := k.pve.Guest(k.vmid())
	return g.Config["lock"] == "suspended" && (len(k.m.Observation().Difference) > 0 || k.waitsForLock())
}

// changesDevice reports whether an entry names a device other than its own, which it cannot change.
func (k *randomRun) changesDevice() bool {
	return slices.ContainsFunc(k.m.Parameters().Disks, func(d v1alpha1.MachineDisk) bool {
		has := k.device(d.Name)
		return d.Device != nil && has != "" && has != *d.Device
	})
}

// lacksVolume reports whether the spec names a volume that no longer exists, such as after the VM was destroyed: the VM is not created without it.
func (k *randomRun) lacksVolume() bool {
	return slices.ContainsFunc(k.m.Parameters().Disks, func(d v1alpha1.MachineDisk) bool {
		storage, name, _ := strings.Cut(ptr.Deref(d.Volume, ""), ":")
		there := false
		k.pve.Edit(func(s *simulator.State) {
			for key := range s.Volumes {
				there = there || key.Storage == storage && key.Name == name
			}
		})
		return name != "" && !there && strings.Contains(k.says(), "volume "+*d.Volume+" not found on node")
	})
}

// lacksImageDisk reports whether the spec has no entry for the disk of its image, which the VM had before it was destroyed.
func (k *randomRun) lacksImageDisk() bool {
	p := k.m.Parameters()
	return p.Image != nil && !slices.ContainsFunc(p.Disks, func(d v1alpha1.MachineDisk) bool {
		return ptr.Deref(d.Volume, "") == "" && d.VolumeRef == nil
	})
}

// namesVolume reports whether the spec names a volume of the VM that is unused, or that it also lists as a Volume: another entry has been restored with
// it, or lists it as a Volume.
func (k *randomRun) namesVolume() bool {
	g, _ := k.pve.Guest(k.vmid())
	return slices.ContainsFunc(k.m.Parameters().Disks, func(d v1alpha1.MachineDisk) bool {
		volume := ptr.Deref(d.Volume, "")
		for option, value := range g.Config {
			listed := isDrive(option) && strings.HasPrefix(value, volume+",") && volumeref.Lists(k.m.Parameters())
			if volume != "" && d.VolumeRef == nil && (strings.HasPrefix(option, "unused") && value == volume || listed) {
				return true
			}
		}
		return false
	})
}

// movesSnapshotted reports whether a disk in a snapshot should move: Proxmox VE keeps it where it is.
func (k *randomRun) movesSnapshotted() bool {
	g, _ := k.pve.Guest(k.vmid())
	for _, d := range k.m.Parameters().Disks {
		volume, _, _ := strings.Cut(g.Config[k.device(d.Name)], ",")
		moves := d.Storage != nil && volume != "" && !strings.HasPrefix(volume, *d.Storage+":")
		for _, s := range g.Snapshots {
			if has, _, _ := strings.Cut(s.Config[k.device(d.Name)], ","); moves && has == volume {
				return true
			}
		}
	}
	return false
}

// isUnassigned reports whether the spec has an entry without a device.
func (k *randomRun) isUnassigned() bool {
	p := k.m.Parameters()
	return slices.ContainsFunc(p.Disks, func(d v1alpha1.MachineDisk) bool { return k.device(d.Name) == "" }) ||
		slices.ContainsFunc(p.Networks, func(n v1alpha1.MachineNetwork) bool { return k.device(n.Name) == "" })
}

// shrinks reports whether the spec has a disk with a smaller size than it has or will have, such as that of the template.
func (k *randomRun) shrinks() bool {
	g, there := k.pve.Guest(k.vmid())
	if template := k.m.Parameters().Template; !there && template != nil {
		for id, of := range k.before.Guests {
			if template.String() == strconv.Itoa(id) || template.String() == of.Config["name"] {
				g = of
			}
		}
	}
	for _, d := range k.m.Parameters().Disks {
		value := effective(g)[k.deviceOr(d.Name)]
		if !there {
			value = g.Config["scsi0"] // Its device is not assigned yet.
		}
		var has, want float64
		var unit string
		_, size, _ := strings.Cut(value, "size=")
		_, _ = fmt.Sscanf(size, "%g%1s", &has, &unit)
		_, _ = fmt.Sscanf(ptr.Deref(d.Size, "0G"), "%gG", &want)
		if unit == "M" {
			has /= 1024
		}
		if want > 0 && want < has {
			return true
		}
	}
	return false
}

// deviceOr returns the device of a disk, or the one that it would get according to the Machine if the spec could be applied.
func (k *randomRun) deviceOr(name string) string {
	if device := k.device(name); device != "" {
		return device
	}
	m := regexp.MustCompile(fmt.Sprintf(`disk %q \((\w+)\) cannot shrink`, name)).FindStringSubmatch(k.says())
	if m == nil {
		return ""
	}
	return m[1]
}

// device returns the device of a disk, drive or network of the spec according to the Machine.
func (k *randomRun) device(name string) string {
	devices, err := qemu.ParseDevices(k.m.GetAnnotations()[object.AnnotationDevices])
	if err != nil {
		k.t.Fatal(err)
	}
	for _, all := range []map[string]string{devices.Disks, devices.CDROMs, devices.Networks} {
		if all[name] != "" {
			return all[name]
		}
	}
	return ""
}

// effective returns the configuration with the pending changes.
func effective(g simulator.Guest) map[string]string {
	config := maps.Clone(g.Config)
	maps.Copy(config, g.Pending)
	for option := range g.Delete {
		delete(config, option)
	}
	return config
}

var (
	reVM   = regexp.MustCompile(`^/nodes/[^/]+/qemu/(\d+)(/.*)?$`)
	reDisk = regexp.MustCompile(`^[a-z-]+:(\d+/)?(vm|base)-\d+-disk-`)
)

// watch checks what the provider has written since the last time: never to a VM that is not a Machine's.
func (k *randomRun) watch() {
	k.t.Helper()
	requests := k.pve.Requests()
	for _, r := range requests[k.seen:] {
		m := reVM.FindStringSubmatch(r.Path)
		if r.Method == http.MethodGet || r.User != simulatortest.TestToken || m == nil || m[2] == "/clone" {
			continue
		}
		id, _ := strconv.Atoi(m[1])
		if _, old := k.before.Guests[id]; old || k.foreign[id] || id >= firstTheirs {
			k.t.Errorf("somebody else's VM is written to: %s %s %v: %d %s\n%s", r.Method, r.Path, r.Params, r.Status, r.Message, k)
		}
	}
	k.seen = len(requests)
}

// count counts the disks of the VM: none may be lost whose removal was not requested.
func (k *randomRun) count(l *subject) {
	k.t.Helper()
	g, ok := k.guest()
	if !ok || l.edited || meta.WasDeleted(l.m) {
		l.disks = 0
		return
	}
	k.keepsData(l, g)
	k.keepsMACs(l, g)
	n := k.disks(g)
	if lost := l.disks - n; lost > 0 {
		if l.mayGo -= lost; l.mayGo < 0 {
			k.t.Errorf("VM %d has lost a disk: %d are left of %d: %v\n%s", g.VMID, n, l.disks, g.Config, k)
		}
	}
	if l.disks = n; g.Config["lock"] != "" {
		l.disks = 0
	}
}

// disks returns the number of disks that the configuration of a VM names and that exist: high availability leaves local disks behind on the node that
// it takes the VM from.
func (k *randomRun) disks(g simulator.Guest) int {
	found := map[string]bool{}
	for _, config := range []map[string]string{g.Config, g.Pending} {
		for _, value := range config {
			if volume, _, _ := strings.Cut(value, ","); reDisk.MatchString(volume) {
				found[volume] = true
			}
		}
	}
	n := 0
	k.pve.Edit(func(s *simulator.State) {
		for key, v := range s.Volumes {
			if found[key.Storage+":"+key.Name] && !isVolume(v.Data) && (key.Node == "" || key.Node == g.Node || v.VMID == g.VMID) {
				n++
			}
		}
	})
	return n
}

// check checks the result when all is at rest.
func (k *randomRun) check() {
	k.t.Helper()
	k.restsQuietly()
	mine := []simulator.Guest{}
	for _, l := range k.subjects {
		k.m = l.m
		if l.gone {
			continue
		}
		if k.isTheirs() {
			mine = append(mine, k.images())
			continue
		}
		g, ok := k.guest()
		if !ok && (k.lacksVolume() || k.lacksImageDisk() || k.shrinks() || k.waitsForOther() || k.isPinned() || k.isUnassigned()) {
			mine = append(mine, k.images())
			if made, there := k.pve.Guest(k.vmid()); there && !k.isTheirs() {
				mine = append(mine, made) // It gets its UUID when the spec can be applied.
			}
			continue
		}
		if !ok {
			k.t.Errorf("%s has no VM\n%s", k.m.GetName(), k)
			continue
		}
		mine = append(mine, k.holdings().Guests[g.VMID])
		k.leftBehind(g)
		k.identity(k.t, g)
		k.describes(g)
		if !k.tidy() {
			mine = append(mine, k.images()) // An image may exist that is inserted into its drive when the spec can be applied.
			continue
		}
		k.fulfils(g)
		k.likeNew(l, g)
	}
	k.followData(true)
	k.allowResets()
	k.ends(append(mine, k.stubs()...)...)
}

// allowResets allows the VMs of others to be off if their node has reset itself, as a node does that HA uses and that has no quorum.
func (k *randomRun) allowResets() {
	k.pve.Edit(func(s *simulator.State) {
		for id, g := range k.before.Guests {
			node, now := s.Nodes[g.Node], s.Guests[id]
			if now != nil && node != nil && !node.Reset.IsZero() && now.Power == simulator.Stopped {
				g.Power = now.Power
				k.before.Guests[id] = g
			}
		}
	})
}

// images returns a guest with the images of a Machine whose VM does not have all of them. They are deleted with the Machine.
func (k *randomRun) images() simulator.Guest {
	g := simulator.Guest{Config: map[string]string{}}
	for i, image := range strings.Fields(k.m.GetAnnotations()[object.AnnotationImages]) {
		node, rest, _ := strings.Cut(image, "=")
		volume, _, _ := strings.Cut(rest, "@")
		g.Node, g.Config[fmt.Sprint(i)] = node, volume
	}
	return g
}

// ends checks that the guests of others are unchanged, that nothing is left, and that no secret was disclosed.
func (k *randomRun) ends(mine ...simulator.Guest) {
	k.t.Helper()
	for id := range k.holdings().Guests {
		if id >= firstTheirs || k.cameTooLate(id) {
			k.theirs(id)
		}
	}
	k.untouched(k.t, scenario{}, mine...)
	var b strings.Builder
	b.WriteString(k.journal.String())
	for _, l := range k.subjects {
		if err := json.NewEncoder(&b).Encode(l.m); err != nil {
			k.t.Fatal(err)
		}
	}
	text := b.String()
	for _, secret := range []string{simulatortest.TestSecret, "correct horse", "battery staple", "rosebud"} {
		if i := strings.Index(text, secret); i >= 0 {
			k.t.Errorf("a secret is told: …%s…", text[max(0, i-300):min(len(text), i+100)])
		}
	}
}

// restsQuietly checks that nothing more is written.
func (k *randomRun) restsQuietly() {
	k.t.Helper()
	before := len(k.writes())
	for range 3 {
		k.clock.advance(time.Minute)
		k.round()
	}
	if now := k.writes(); len(now) > before {
		k.t.Errorf("Machines that rest cost writes: %v\n%s", now[before:], k)
	}
}

// A view is what the status shows of a VM.
type view struct {
	Node  string
	On    bool
	Disks map[string]string
	NICs  map[string]bool
}

// viewOf returns what the status should show of a VM.
func viewOf(g simulator.Guest) view {
	v := view{Node: g.Node, On: g.Power != simulator.Stopped, Disks: map[string]string{}, NICs: map[string]bool{}}
	for option, value := range g.Config {
		volume, _, _ := strings.Cut(value, ",")
		switch {
		case strings.HasPrefix(option, "net"):
			v.NICs[option] = true
		case strings.Contains(value, "media=cdrom"), !reDisk.MatchString(volume) && !isDrive(option):
		default:
			v.Disks[option] = volume
		}
	}
	return v
}

// view returns what the status of the Machine shows.
func (k *randomRun) view() view {
	o := k.m.Observation()
	v := view{Node: o.Node, On: o.Phase == v1alpha1.MachineRunning, Disks: map[string]string{}, NICs: map[string]bool{}}
	for _, d := range o.Disks {
		v.Disks[d.Device] = d.Volume
	}
	for _, n := range o.Networks {
		v.NICs[n.Device] = true
	}
	return v
}

// describes checks that the status matches the VM.
func (k *randomRun) describes(g simulator.Guest) {
	k.t.Helper()
	if diff := cmp.Diff(viewOf(g), k.view(), cmpopts.EquateEmpty()); diff != "" {
		k.t.Errorf("the status of %s is not that of VM %d: -VM, +status:\n%s\n%s", k.m.GetName(), g.VMID, diff, k)
	}
}

// fulfils checks that the VM matches the spec.
func (k *randomRun) fulfils(g simulator.Guest) {
	k.t.Helper()
	p, config := k.m.Parameters(), effective(g)
	want, got := optionsOf(p, config)
	for _, d := range p.Disks {
		want["disk "+d.Name], got["disk "+d.Name] = true, config[k.device(d.Name)] != ""
		if storage, _, _ := strings.Cut(config[k.device(d.Name)], ":"); d.Storage != nil {
			want["storage of disk "+d.Name], got["storage of disk "+d.Name] = *d.Storage, storage
		}
	}
	for _, n := range p.Networks {
		if n.Bridge != nil {
			what := "network " + n.Name + " at bridge " + *n.Bridge
			want[what], got[what] = true, strings.Contains(config[k.device(n.Name)]+",", "bridge="+*n.Bridge+",")
		}
	}
	if ptr.Deref(p.Pool, "") != "" {
		want["pool"], got["pool"] = true, k.holdings().Pools[*p.Pool].VMs[g.VMID]
	}
	if p.PowerState != nil && p.RunStrategy == nil {
		want["power"], got["power"] = *p.PowerState == v1alpha1.PowerStateRunning, g.Power == simulator.Running
	}
	if diff := cmp.Diff(want, got); diff != "" {
		k.t.Errorf("VM %d is not what %s asks for: -want, +got:\n%s\n%s", g.VMID, k.m.GetName(), diff, k)
	}
}

// optionsOf returns the options that a spec requests for a VM, and their values.
func optionsOf(p *v1alpha1.MachineParameters, config map[string]string) (want, got map[string]any) {
	want, got = map[string]any{}, map[string]any{}
	if p.CPU != nil {
		want["cores"], got["cores"] = fmt.Sprint(*p.CPU.Cores), stdcmp.Or(config["cores"], "1")
	}
	if p.Memory != nil {
		want["memory"], got["memory"] = fmt.Sprint(p.Memory.Value()>>20), stdcmp.Or(config["memory"], "512")
	}
	if p.Description != nil {
		want["description"], got["description"] = strings.TrimSpace(*p.Description), strings.TrimSpace(config["description"])
	}
	if p.Tags != nil {
		want["tags"], got["tags"] = strings.Join(slices.Sorted(slices.Values(p.Tags)), ";"), strings.TrimSpace(config["tags"])
	}
	if p.Protection != nil {
		want["protection"], got["protection"] = *p.Protection, config["protection"] == "1"
	}
	if p.OnBoot != nil {
		want["onboot"], got["onboot"] = *p.OnBoot, config["onboot"] == "1"
	}
	return want, got
}

// leave ends the run: it deletes all Machines, and checks that nothing is left of them.
func (k *randomRun) leave() {
	k.t.Helper()
	k.trace = append(k.trace, k.clock.Now().Format("15:04:05")+" all Machines are deleted")
	for _, l := range k.subjects {
		if k.m = l.m; l.gone {
			continue
		}
		if !meta.WasDeleted(k.m) {
			k.delete(k.t)
		}
		if k.exists(k.t) {
			k.change(k.t, func(p *v1alpha1.MachineParameters) { p.Protection = new(false) })
		}
	}
	for range maxLooks {
		k.consent()
		k.round()
		if k.all(func() bool { return false }) && k.discard() {
			k.ends()
			return
		}
	}
	k.t.Fatalf("Machines never go\n%s", k)
}

// leftBehind allows disks of the VM to remain on the storage of a node that high availability has taken the VM from. Proxmox VE destroys the VM on its
// present node, and does not reach those disks.
func (k *randomRun) leftBehind(g simulator.Guest) {
	all, node := k.holdings().Volumes, g.Node
	for key, v := range all {
		_, there := all[simulator.VolumeKey{Storage: key.Storage, Node: node, Name: key.Name}]
		if g.Node = key.Node; v.VMID == g.VMID && key.Node != "" && !there && mentions(g, key) {
			k.before.Volumes[key] = v
		}
	}
}
