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
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/volume"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/volumeref"
)

// startVolume is the scenario of runs with Volumes.
const startVolume = "Volume"

// volumesOfRuns returns Volumes on shared and on local storage.
func volumesOfRuns() map[string]v1alpha1.VolumeParameters {
	return map[string]v1alpha1.VolumeParameters{
		"data":    {Size: new("2G"), Storage: new("ceph")},
		"scratch": {Size: new("1G"), Storage: new("local-lvm")},
	}
}

// volumeEdits returns the edits that users make to Volumes, and to the Machines that list them.
func volumeEdits() map[string]step {
	return map[string]step{
		"list":   edit(func(p *v1alpha1.MachineParameters, r *rand.Rand) { listVolume(p, anyVolume(r), r) }),
		"unlist": edit(func(p *v1alpha1.MachineParameters, r *rand.Rand) { unlistVolume(p, anyVolume(r)) }),
		"handover": func(k *randomRun, l *subject, r *rand.Rand) string {
			name := anyVolume(r)
			taken := edit(func(p *v1alpha1.MachineParameters, _ *rand.Rand) { unlistVolume(p, name) })(k, l, r)
			to := k.subjects[0]
			if l == to {
				to = k.subjects[1]
			}
			if k.m = to.m; to.gone {
				return taken + " and the other Machine is not there"
			}
			return taken + " " + edit(func(p *v1alpha1.MachineParameters, r *rand.Rand) { listVolume(p, name, r) })(k, to, r)
		},
		"enlarge": volumeEdit(func(p *v1alpha1.VolumeParameters, r *rand.Rand) {
			var gib int
			_, _ = fmt.Sscanf(*p.Size, "%dG", &gib)
			p.Size = new(fmt.Sprintf("%dG", gib+1+r.IntN(2)))
		}),
		"relocate": volumeEdit(func(p *v1alpha1.VolumeParameters, r *rand.Rand) {
			p.Storage = new(oneOf(r, "ceph", "local-lvm", "nfs"))
		}),
	}
}

// stepsWithVolumes returns the steps of runs with Volumes, by how often each list is drawn from. It leaves out steps that destroy a disk of a Volume,
// or leave it in a VM that no Machine manages: such a disk stays where users have put it.
func stepsWithVolumes() [][]string {
	without := func(all map[string]step, names ...string) []string {
		return slices.DeleteFunc(sorted(all), func(name string) bool { return slices.Contains(names, name) })
	}
	return [][]string{
		sorted(volumeEdits()), sorted(volumeEdits()), sorted(volumeEdits()), without(edits(), "policies"), sorted(troubles()),
		without(manualEdits(), "destroy", "reuse", "identify", "shift", "snapshot", "rollback", "forget"),
	}
}

func anyVolume(r *rand.Rand) string { return oneOf(r, slices.Sorted(maps.Keys(volumesOfRuns()))...) }

// volumeEdit returns a step that changes the spec of a Volume.
func volumeEdit(change func(*v1alpha1.VolumeParameters, *rand.Rand)) step {
	return func(k *randomRun, _ *subject, r *rand.Rand) string {
		name := anyVolume(r)
		if k.volumes[name] == nil {
			return "no Volume"
		}
		k.changeVolume(k.t, name, func(p *v1alpha1.VolumeParameters) { change(p, r) })
		p := k.volumes[name].Parameters()
		return fmt.Sprintf("%s: %s on %s", name, *p.Size, *p.Storage)
	}
}

// listVolume lists a Volume in a Machine, with a device or without.
func listVolume(p *v1alpha1.MachineParameters, name string, r *rand.Rand) {
	taken := func(d v1alpha1.MachineDisk) bool { return d.Name == name }
	if volumeref.Listed(p, name) || slices.ContainsFunc(p.Disks, taken) {
		return
	}
	d := v1alpha1.MachineDisk{Name: name, VolumeRef: &v1alpha1.VolumeReference{Name: name}}
	if oneOf(r, true, false) {
		d.Device = new(map[string]string{"data": "scsi5", "scratch": "scsi6"}[name])
	}
	if len(p.Disks) == 0 {
		p.Disks = []v1alpha1.MachineDisk{{Name: "root", Device: new("scsi0")}}
	}
	p.Disks = append(p.Disks, d)
}

func unlistVolume(p *v1alpha1.MachineParameters, name string) {
	p.Disks = slices.DeleteFunc(slices.Clone(p.Disks), func(d v1alpha1.MachineDisk) bool { return d.VolumeRef != nil && d.VolumeRef.Name == name })
}

// lookAtVolumes reconciles each Volume once. It returns the time until the next reconcile.
func (k *randomRun) lookAtVolumes() time.Duration {
	k.t.Helper()
	next := time.Hour
	for _, name := range slices.Sorted(maps.Keys(k.volumes)) {
		if !k.readVolume(k.t, name) {
			continue
		}
		result, err := k.reconcileVolume(k.t, name)
		if k.volumeFailures[name]++; err == nil || errors.Is(err, errDied) {
			k.volumeFailures[name] = 0
		}
		next = min(next, k.pause(result, k.volumeFailures[name]))
		k.mark(name)
	}
	k.followData(false)
	return next
}

// mark writes to the disk of a Volume once it exists, to recognize it later.
func (k *randomRun) mark(name string) {
	k.t.Helper()
	v := k.volumes[name]
	if !k.readVolume(k.t, name) || v.GetAnnotations()[annotationWritten] != "" || v.Observation().Volume == "" {
		return
	}
	written := false
	k.pve.Edit(func(s *simulator.State) {
		if d := s.Volume(v.Observation().Node, v.Observation().Volume); d != nil {
			d.Data, written = dataOf(name), true
		}
	})
	if !written {
		return
	}
	meta.AddAnnotations(v, map[string]string{annotationWritten: "yes"})
	if err := k.kube.Update(k.t.Context(), v); err != nil {
		k.t.Fatal(err)
	}
}

// isVolume reports whether a disk with these data is that of a Volume, which Machines may remove from their lists.
func isVolume(data []byte) bool { return bytes.HasPrefix(data, dataOf("")) }

// followData checks that the data of each Volume are on a disk. At rest, they must be only where the Volume shows the disk. Copies that were made
// manually do not count.
func (k *randomRun) followData(rest bool) {
	k.t.Helper()
	for name, v := range k.volumes {
		if !k.readVolume(k.t, name) || meta.WasDeleted(v) || v.GetAnnotations()[annotationWritten] == "" {
			continue
		}
		var found []string
		for key, d := range k.holdings().Volumes {
			if bytes.Equal(d.Data, dataOf(name)) && d.VMID < firstTheirs {
				found = append(found, key.Storage+":"+key.Name)
			}
		}
		if len(found) == 0 || rest && (len(found) != 1 || found[0] != v.Observation().Volume) {
			k.t.Fatalf("Volume %s has %s, and its data are in %v\n%s", name, v.Observation().Volume, found, k)
		}
	}
}

// listers returns the Machines that list a Volume.
func (k *randomRun) listers(name string) []*namespaced.Machine {
	var all []*namespaced.Machine
	for _, l := range k.subjects {
		if !l.gone && volumeref.Listed(l.m.Parameters(), name) {
			all = append(all, l.m)
		}
	}
	return all
}

// volumesRest reports whether each Volume matches its spec and is in its place, or, if it is late, correctly reports why not.
func (k *randomRun) volumesRest(late bool) bool {
	for name, v := range k.volumes {
		if !k.readVolume(k.t, name) || k.volumeRests(v) || late && k.volumeExcused(v) {
			continue
		}
		return false
	}
	return true
}

// volumeRests reports whether a Volume matches its spec, and a Machine has it if any lists it.
func (k *randomRun) volumeRests(v *namespaced.Volume) bool {
	for _, c := range []xpv2.ConditionType{xpv2.TypeReady, xpv2.TypeSynced, kind.TypeUpToDate} {
		if is := v.GetCondition(c); is.Status != corev1.ConditionTrue || is.ObservedGeneration != v.GetGeneration() {
			return false
		}
	}
	bound := v.GetCondition(volume.TypeBound).Status == corev1.ConditionTrue
	p, o := v.Parameters(), v.Observation()
	return bound == (len(k.listers(v.GetName())) > 0) && strings.HasPrefix(o.Volume, *p.Storage+":") && (o.Size == *p.Size || k.isLarger(v))
}

// isLarger reports whether the disk of a Volume is larger than in its spec, such as after a manual edit.
func (k *randomRun) isLarger(v *namespaced.Volume) bool {
	size, larger := qemu.SizeOf(v1alpha1.MachineDisk{Size: v.Parameters().Size}), false
	k.pve.Edit(func(s *simulator.State) {
		d := s.Volume(v.Observation().Node, v.Observation().Volume)
		larger = d != nil && d.Size > int64(size)
	})
	return larger
}

// volumeExcused reports whether a Volume reports why it does not match its spec. It may be larger. A Machine that lists or has it may not match its own
// spec either, or may request that its VM is suspended. Its VM may have been moved manually.
func (k *randomRun) volumeExcused(v *namespaced.Volume) bool {
	says := v.GetCondition(xpv2.TypeReady).Message + v.GetCondition(kind.TypeUpToDate).Message + v.GetCondition(volume.TypeBound).Message
	if strings.Contains(says, "cannot shrink to") {
		return k.isLarger(v)
	}
	renamed := strings.Contains(says, "since a migration gives local disks other names")
	waits := false
	for _, l := range k.subjects {
		if k.m = l.m; !l.gone && (k.isHeldUp() || k.keepsSuspended() || renamed && l.migrated) && (volumeref.Listed(l.m.Parameters(), v.GetName()) || k.holds(v)) {
			waits = true
		}
	}
	return says != "" && waits
}

// keepsSuspended reports whether the VM is suspended as the Machine requests: its lock prevents changes of disks.
func (k *randomRun) keepsSuspended() bool {
	g, _ := k.pve.Guest(k.vmid())
	return g.Config["lock"] == "suspended" && ptr.Deref(k.m.Parameters().PowerState, "") == v1alpha1.PowerStateSuspended
}

// isHeldUp reports whether the Machine does not match its spec, or a change waits for a restart of its VM.
func (k *randomRun) isHeldUp() bool {
	return !k.tidy() || k.m.GetCondition(conditions.TypeRestartRequired).Status == corev1.ConditionTrue
}

// waitsForOther reports whether another Machine lists a Volume that the Machine lists too.
func (k *randomRun) waitsForOther() bool {
	for name := range k.volumes {
		if volumeref.Listed(k.m.Parameters(), name) && len(k.listers(name)) > 1 {
			return true
		}
	}
	return false
}

// waitsForLock reports whether a Volume that the Machine lists is in the stub VM, and reports that the VM that will get it is locked.
func (k *randomRun) waitsForLock() bool {
	for name, v := range k.volumes {
		o := v.Observation()
		locked := strings.Contains(v.GetCondition(xpv2.TypeReady).Message, fmt.Sprintf("VM %d is locked (suspended)", k.vmid()))
		if volumeref.Listed(k.m.Parameters(), name) && locked && ptr.Deref(o.VMID, 0) == ptr.Deref(o.StubVMID, -1) {
			return true
		}
	}
	return false
}

// isPinned reports whether a Volume that the Machine lists is on local storage of a node other than that of its VM, present or future.
func (k *randomRun) isPinned() bool {
	g, there := k.pve.Guest(k.vmid())
	for name, v := range k.volumes {
		o := v.Observation()
		if !volumeref.Listed(k.m.Parameters(), name) || !strings.HasPrefix(o.Volume, "local") {
			continue
		}
		if wanted := ptr.Deref(k.m.Parameters().Node, ""); there && g.Node != o.Node || wanted != "" && wanted != o.Node {
			return true
		}
	}
	return false
}

// holds reports whether the VM of the Machine has the disk of a Volume.
func (k *randomRun) holds(v *namespaced.Volume) bool {
	return ptr.Deref(v.Observation().VMID, 0) == ptr.Deref(k.m.Observation().VMID, -1)
}

// waitsForHolder reports whether a Volume that the Machine lists cannot be attached: its storage is local, its VM is suspended, or it is in the VM of a
// Machine that cannot match its own spec either.
func (k *randomRun) waitsForHolder() bool {
	mine, held := k.m, k.isPinned() || k.isSuspended()
	for _, l := range k.subjects {
		if k.m = l.m; l.m == mine || l.gone || !k.isHeldUp() {
			continue
		}
		for name, v := range k.volumes {
			held = held || volumeref.Listed(mine.Parameters(), name) && k.holds(v)
		}
	}
	k.m = mine
	return held
}

// stubs returns the stub VMs.
func (k *randomRun) stubs() []simulator.Guest {
	var all []simulator.Guest
	guests := k.holdings().Guests
	for name, v := range k.volumes {
		if k.readVolume(k.t, name) {
			all = append(all, guests[int(ptr.Deref(v.Observation().StubVMID, 0))])
		}
	}
	return all
}

// consent confirms what Volumes ask for, without which neither they nor their Machines can be deleted.
func (k *randomRun) consent() {
	k.t.Helper()
	for name, v := range k.volumes {
		if !k.readVolume(k.t, name) {
			continue
		}
		found, given := v.Observation().Found, ptr.Deref(v.Parameters().RecoverLost, "")
		if found == nil || given == found.Checksum {
			continue
		}
		v.Parameters().RecoverLost = new(found.Checksum)
		if err := k.kube.Update(k.t.Context(), v); err != nil {
			k.t.Fatal(err)
		}
	}
}

// discard deletes the Volumes. It reports whether they no longer exist.
func (k *randomRun) discard() bool {
	k.t.Helper()
	left := false
	for name, v := range k.volumes {
		if !k.readVolume(k.t, name) {
			continue
		}
		left = true
		if err := k.kube.Delete(k.t.Context(), v); client.IgnoreNotFound(err) != nil {
			k.t.Fatal(err)
		}
	}
	return !left
}
