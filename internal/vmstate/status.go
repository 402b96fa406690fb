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

package vmstate

import (
	"maps"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/guestagent"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// Observe writes the state of a VM into the observation.
func (v *VM) Observe(o *v1alpha1.MachineObservation, d qemu.Devices, now time.Time) {
	before := *o
	seen := v1alpha1.MachineObservation{
		Phase:          v.Phase(),
		VMID:           Int32Pointer(v.VMID),
		Cluster:        before.Cluster,
		Node:           v.Node,
		Name:           v.Config["name"],
		UUID:           v.Config.UUID(),
		PowerState:     v.PowerState(),
		Lock:           v.Lock(),
		Pool:           v.Pool,
		HAState:        v.Status.HAState,
		CPU:            &v1alpha1.MachineCPUObservation{Cores: v.Active.Integer("cores", 1), Sockets: v.Active.Integer("sockets", 1)},
		MemoryBytes:    int64Pointer(v.Active.Memory()),
		Disks:          v.disks(d),
		CDROMs:         v.cdroms(d),
		Networks:       v.Networks(d),
		Config:         v.visibleConfig(),
		PendingChanges: v.pendingChanges(),
		Annotations:    before.Annotations,
		Placement:      before.Placement,
		Image:          before.Image,
		LastTask:       before.LastTask,
		PowerAction:    before.PowerAction,
		LastUpdated:    before.LastUpdated,

		RecordSignature: before.RecordSignature,
	}
	if len(d.Left) > 0 {
		seen.RetainedDevices = retainedDevices(d)
	}
	if v.Status.Running() && v.AgentOn() {
		seen.IPAddresses = addresses(v.Interfaces, v.MACs(), before.IPAddresses, true)
	}
	if v.On() {
		seen.StartedAt = startedAt(before.StartedAt, now.Add(-v.Status.Uptime))
	}
	same := equality.Semantic.DeepEqual(lasting(before), seen) && seen.LastUpdated != nil
	if !same {
		seen.LastUpdated = &metav1.Time{Time: now}
	}
	if v.On() {
		seen.UptimeSeconds = uptime(before.UptimeSeconds, int64(v.Status.Uptime/time.Second), same)
		seen.Usage = v.usage(before.Usage, same && ptr.Equal(before.UptimeSeconds, seen.UptimeSeconds))
	}
	*o = seen
}

// jitter is how much two observations of the same start may differ.
const jitter = 10 * time.Second

// startedAt returns when the VM was started. It returns the former time if that is about the same.
func startedAt(before *metav1.Time, at time.Time) *metav1.Time {
	if before != nil && at.Sub(before.Time).Abs() <= jitter {
		return before
	}
	return &metav1.Time{Time: at.Truncate(time.Second)}
}

// uptimeSlack returns by how many seconds a shown uptime may be off: by half of it, but at least by 10 minutes and at most by an hour, or by a tenth if
// that is more.
func uptimeSlack(shown int64) int64 {
	const least, most = 600, 3600
	return max(least, min(shown/2, most), shown/10)
}

// uptime returns the former uptime if nothing else has changed and it is off by little, so that an unchanged VM is not written to the API server at
// each observation.
func uptime(before *int64, seconds int64, same bool) *int64 {
	if same && before != nil && seconds >= *before && seconds-*before < uptimeSlack(*before) {
		return before
	}
	return &seconds
}

// evaluatedWithin is the time after which the whole status is evaluated again, even if there is no sign of a change.
const evaluatedWithin = 10 * time.Minute

// StatusLasts returns how long the observation stays valid while only time passes.
func (v *VM) StatusLasts(o *v1alpha1.MachineObservation) time.Duration {
	if !v.On() || o.UptimeSeconds == nil {
		return evaluatedWithin
	}
	until := time.Duration(*o.UptimeSeconds+uptimeSlack(*o.UptimeSeconds)) * time.Second
	return min(evaluatedWithin, until-v.Status.Uptime)
}

// usage returns the former usage if nothing else has changed: usage changes all the time, and the status is not written only for that.
func (v *VM) usage(before *v1alpha1.MachineUsageObservation, same bool) *v1alpha1.MachineUsageObservation {
	u := v.Usage
	if same || u == nil {
		return before
	}
	return &v1alpha1.MachineUsageObservation{
		CPUPercent: int32(math.Round(100 * u.CPU)), MemoryBytes: u.Memory, DiskReadBytes: u.DiskRead, DiskWrittenBytes: u.DiskWritten,
		ObservedAt: metav1.NewTime(u.At.Truncate(time.Second)),
	}
}

// lasting returns the parts of an observation that do not change by themselves. It leaves out what a plan and its actions add to the observation.
func lasting(o v1alpha1.MachineObservation) v1alpha1.MachineObservation {
	o.UptimeSeconds, o.Usage, o.Difference = nil, nil, nil
	o.PendingDisks, o.Rollback, o.RestoreInPlace, o.Recreation = nil, nil, nil, nil
	return o
}

// Phase returns the phase of the VM.
func (v *VM) Phase() v1alpha1.MachinePhase {
	switch {
	case v.Lock() == "create", v.Lock() == "clone", v.IdentityPending:
		return v1alpha1.MachineCreating
	case v.On():
		return v1alpha1.MachineRunning
	}
	return v1alpha1.MachineStopped
}

// PowerState returns QEMU's own state of a running VM, since it may be paused.
func (v *VM) PowerState() string {
	if v.Lock() == lockSuspended {
		return "suspended"
	}
	if v.Status.Running() && v.Status.QMPStatus != "" {
		return v.Status.QMPStatus
	}
	return v.Status.Status
}

func (v *VM) disks(d qemu.Devices) []v1alpha1.MachineDiskObservation {
	devices := slices.Concat(v.Active.Drives(), v.Active.Firmware(), v.Active.Unused())
	if len(devices) == 0 {
		return nil
	}
	names := reverse(d.Disks)
	var out []v1alpha1.MachineDiskObservation
	for _, device := range devices {
		k, err := proxmox.ParseDisk(v.Active[device])
		if err != nil || k.CDROM() {
			continue
		}
		out = append(out, v1alpha1.MachineDiskObservation{
			Device: device, Name: names[device], Volume: k.Volume, Size: k.Options.Get("size"),
		})
	}
	return out
}

func (v *VM) cdroms(d qemu.Devices) []v1alpha1.MachineCDROMObservation {
	devices := v.Active.CDROMs()
	if len(devices) == 0 {
		return nil
	}
	names := reverse(d.CDROMs)
	var out []v1alpha1.MachineCDROMObservation
	for _, device := range devices {
		out = append(out, v1alpha1.MachineCDROMObservation{Device: device, Name: names[device], Volume: v.Active.Medium(device)})
	}
	return out
}

// visibleConfig returns the configuration in force, without what is long or may be secret. It is nil unless it should be shown.
func (v *VM) visibleConfig() map[string]string {
	if !v.ShowConfig {
		return nil
	}
	config := maps.Clone(v.Active)
	for _, option := range slices.Concat(secretOptions, []string{"description"}) {
		delete(config, option)
	}
	return config
}

// Networks returns the network cards that are plugged in, with the guest's interfaces and addresses on them.
func (v *VM) Networks(d qemu.Devices) []v1alpha1.MachineNetworkObservation {
	devices := v.Active.NICs()
	if len(devices) == 0 {
		return nil
	}
	names := reverse(d.Networks)
	var out []v1alpha1.MachineNetworkObservation
	for _, device := range devices {
		n, err := proxmox.ParseNIC(v.Active[device])
		if err != nil {
			continue
		}
		seen := v1alpha1.MachineNetworkObservation{
			Device: device, Name: names[device], MACAddress: n.MAC, Bridge: n.Bridge(), Model: n.Model,
		}
		if tag, err := strconv.ParseInt(n.Options.Get("tag"), 10, 32); err == nil && tag != 0 {
			seen.VLAN = new(int32(tag))
		}
		seen.Interface, seen.IPAddresses = guestSide(v.Interfaces, n.MAC)
		out = append(out, seen)
	}
	return out
}

// guestSide returns the guest's interface with a MAC address, and all addresses on that MAC address: bridges, bonds and VLANs of a guest have the MAC
// address of their ports.
func guestSide(all []proxmox.Interface, mac string) (name string, ips []string) {
	var found []netip.Addr
	for _, i := range all {
		if mac == "" || !strings.EqualFold(i.MAC, mac) {
			continue
		}
		if name == "" || len(guestagent.Reachable(found)) == 0 && len(guestagent.Reachable(i.Addresses)) > 0 {
			name = i.Name
		}
		found = append(found, i.Addresses...)
	}
	return name, guestagent.Reachable(found)
}

func (v *VM) pendingChanges() []v1alpha1.MachinePendingChange {
	if !v.Status.Running() {
		return nil
	}
	var out []v1alpha1.MachinePendingChange
	for _, p := range v.Pending {
		out = append(out, v1alpha1.MachinePendingChange{
			Option: p.Key, Current: Masked(p.Key, ptr.Deref(p.Value, "")), Desired: Masked(p.Key, ptr.Deref(p.Pending, "")),
		})
	}
	return out
}

// secretOptions have values that are or may be secret.
//
//nolint:gochecknoglobals // A constant.
var secretOptions = []string{"args", "cipassword", "sshkeys"}

// Masked hides secret values, and the :0 of a new disk that has no size or gets it from its source.
func Masked(option, value string) string {
	if slices.Contains(secretOptions, option) && value != "" {
		return "**********"
	}
	volume, rest, filled := strings.Cut(value, ",")
	storage, sizeless := strings.CutSuffix(volume, ":0")
	switch {
	case !sizeless || !qemu.IsDisk(option):
		return value
	case filled:
		return storage + "," + rest
	}
	return strings.TrimSpace(storage + " (no size)")
}

// addresses returns the addresses of the guest. Those in the VM's networks come before those that the guest has created for itself, such as for
// containers, and IPv4 comes first. The former addresses are kept while an expected agent does not answer.
func addresses(interfaces []proxmox.Interface, macs, before []string, agent bool) []string {
	if !agent {
		return nil
	}
	if interfaces == nil {
		return before
	}
	var own, other []netip.Addr
	for _, i := range interfaces {
		if slices.ContainsFunc(macs, func(mac string) bool { return strings.EqualFold(mac, i.MAC) }) {
			own = append(own, i.Addresses...)
		} else {
			other = append(other, i.Addresses...)
		}
	}
	return slices.Concat(guestagent.Reachable(own), guestagent.Reachable(other))
}

func reverse(m map[string]string) map[string]string {
	out := make(map[string]string, len(m))
	for k, v := range m {
		out[v] = k
	}
	return out
}

// Int32Pointer returns a VMID in the type of observations.
func Int32Pointer(i int) *int32 {
	n := int32(i) //nolint:gosec // VMIDs end at 999999999.
	return &n
}

func int64Pointer(i int64) *int64 { return &i }
