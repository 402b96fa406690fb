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
	"slices"
	"strings"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/volumes"
	"github.com/vitistack/provider-proxmox/internal/controller/volume"
	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/volumeref"
)

// The reconcilers of a process, by the kinds that they reconcile in the namespaced scope.
const (
	ofMachines = 0
	ofVolumes  = 2
)

// volumesOf returns a reader of Volumes for Machines of the same scope.
func volumesOf(mgr ctrl.Manager, empty client.Object) volumes.Reader {
	return volumes.Reader{
		Kube: mgr.GetClient(), Direct: mgr.GetAPIReader(), Object: empty, Lists: []resource.ManagedList{&namespaced.VolumeList{}, &cluster.VolumeList{}},
	}
}

// setUpVolumes sets up the controller of Volumes of the namespaced scope.
func setUpVolumes(mgr ctrl.Manager, o kind.Options) error {
	return volume.Setup(mgr, o, volume.Kinds{
		Identity: kind.Identity{GroupVersionKind: namespaced.VolumeGroupVersionKind, Object: &namespaced.Volume{}, List: &namespaced.VolumeList{}},
		Lists:    []resource.ManagedList{&namespaced.VolumeList{}, &cluster.VolumeList{}},
		Machine:  kind.Identity{GroupVersionKind: namespaced.MachineGroupVersionKind, Object: &namespaced.Machine{}, List: &namespaced.MachineList{}},
	})
}

// An act is an action of users on Machines and Volumes.
type act struct {
	what string
	do   func(*testing.T, *env)
}

// volumeScenarios returns the scenarios of disks that outlive their VMs.
func volumeScenarios() map[string]scenario {
	grants := []simulator.ScenarioGrant{{Path: "/vms", User: "crossplane@pve", Roles: []string{"PVEVMAdmin"}}}
	return map[string]scenario{
		"Volume": {
			reason:  "A Volume is made, attached, grown, moved and detached, and is handed back by a VM that is removed.",
			grants:  grants,
			spec:    listing("pve1", "data"),
			volumes: map[string]v1alpha1.VolumeParameters{"data": {Size: new("2G"), Storage: new("local-lvm")}},
			acts: []act{
				{"grow it in a VM that runs", resize("data", "3G")},
				{"move it to another storage", moveTo("data", "ceph")},
				{"take it off the list", lists("victim")},
				{"grow and move it where no Machine has it", together(resize("data", "4G"), moveTo("data", "local-lvm"))},
				{"list it again", lists("victim", "data")},
			},
			holds: has(map[string]string{"scsi5": "local-lvm:vm-"}),
		},
		"VolumeHandover": {
			reason:  "Two VMs that run have a Volume on shared storage in turn, on two nodes.",
			grants:  grants,
			spec:    listing("pve1", "data"),
			second:  new(listing("pve2")),
			volumes: map[string]v1alpha1.VolumeParameters{"data": {Size: new("2G"), Storage: new("ceph")}},
			acts: []act{
				{"hand it over", together(lists("second", "data"), lists("victim"))},
				{"delete the VM which has it, which another one waits for", together(lists("victim", "data"), deleteSecond)},
			},
			holds: has(map[string]string{"scsi5": "ceph:vm-"}),
		},
	}
}

// listing returns the spec of a Machine on a node that lists these Volumes.
func listing(node string, names ...string) v1alpha1.MachineParameters {
	p := v1alpha1.MachineParameters{Template: new(intstr.FromString("ubuntu-24.04")), Node: &node, Disks: []v1alpha1.MachineDisk{{Name: "root"}}}
	for i, name := range names {
		p.Disks = append(p.Disks, v1alpha1.MachineDisk{
			Name: name, Device: new(fmt.Sprintf("scsi%d", 5+i)), VolumeRef: &v1alpha1.VolumeReference{Name: name},
		})
	}
	return p
}

// together returns a function that calls both.
func together(first, second func(*testing.T, *env)) func(*testing.T, *env) {
	return func(t *testing.T, w *env) {
		t.Helper()
		first(t, w)
		second(t, w)
	}
}

// lists returns an act after which a Machine lists only these Volumes.
func lists(machine string, names ...string) func(*testing.T, *env) {
	return func(t *testing.T, w *env) {
		t.Helper()
		do := func(p *v1alpha1.MachineParameters) { p.Disks = listing("", names...).Disks }
		if machine == "second" {
			w.asSecond(func() { w.change(t, do) })
			return
		}
		w.change(t, do)
	}
}

func resize(name, size string) func(*testing.T, *env) {
	return func(t *testing.T, w *env) {
		t.Helper()
		w.changeVolume(t, name, func(p *v1alpha1.VolumeParameters) { p.Size = &size })
	}
}

func moveTo(name, storage string) func(*testing.T, *env) {
	return func(t *testing.T, w *env) {
		t.Helper()
		w.changeVolume(t, name, func(p *v1alpha1.VolumeParameters) { p.Storage = &storage })
	}
}

func deleteSecond(t *testing.T, w *env) {
	t.Helper()
	w.asSecond(func() { w.delete(t) })
}

// addVolumes adds and returns the Volumes and the second Machine of a scenario.
func (w *env) addVolumes(s scenario) []client.Object {
	w.volumes = map[string]*namespaced.Volume{}
	var all []client.Object
	for i, name := range slices.Sorted(maps.Keys(s.volumes)) {
		v := &namespaced.Volume{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: namespace, Name: name, UID: types.UID(fmt.Sprintf("5a7a5f2c-0000-4000-8000-0000000001%02d", i)), Generation: 1,
			},
			Spec: namespaced.VolumeSpec{ForProvider: s.volumes[name]},
		}
		v.SetManagementPolicies(xpv2.ManagementPolicies{xpv2.ManagementActionAll})
		v.SetProviderConfigReference(&xpv2.ProviderConfigReference{Kind: "ProviderConfig", Name: "pve"})
		w.volumes[name] = v
		all = append(all, v)
	}
	if s.second != nil {
		s.spec, s.annotations = *s.second, nil
		w.second = s.machine()
		w.second.Name, w.second.UID = "second", "5a7a5f2c-0000-4000-8000-000000000009"
		all = append(all, w.second)
	}
	return all
}

// asSecond calls a function for the second Machine, if there is one.
func (w *env) asSecond(do func()) {
	if w.second == nil {
		return
	}
	first := w.m
	w.m = w.second
	do()
	w.m = first
}

// reconcileAll reconciles the Machine, the second one, and the Volumes, once each.
func (w *env) reconcileAll(t *testing.T) (reconcile.Result, error) {
	t.Helper()
	result, err := w.reconcile(t)
	note := func(r reconcile.Result, also error) {
		if also != nil {
			err = also
		}
		if result.RequeueAfter == 0 || r.RequeueAfter > 0 && r.RequeueAfter < result.RequeueAfter {
			result.RequeueAfter = r.RequeueAfter
		}
	}
	w.asSecond(func() {
		if w.exists(t) {
			note(w.reconcile(t))
			w.exists(t)
			w.age(t, w.m)
		}
	})
	for _, name := range slices.Sorted(maps.Keys(w.volumes)) {
		note(w.reconcileVolume(t, name))
	}
	return result, err
}

// reconcileVolume reconciles a Volume once, if it exists, and reads it again.
func (w *env) reconcileVolume(t *testing.T, name string) (reconcile.Result, error) {
	t.Helper()
	if !w.readVolume(t, name) {
		return reconcile.Result{}, nil
	}
	result, err := w.reconcileOne(t, ofVolumes, w.volumes[name])
	if w.readVolume(t, name) {
		w.age(t, w.volumes[name])
	}
	return result, err
}

// readVolume reads a Volume. It reports whether the Volume exists.
func (w *env) readVolume(t *testing.T, name string) bool {
	t.Helper()
	err := w.kube.Get(t.Context(), client.ObjectKeyFromObject(w.volumes[name]), w.volumes[name])
	if err != nil && !kerrors.IsNotFound(err) {
		t.Fatal(err)
	}
	return err == nil
}

// changeVolume changes the spec of a Volume like a user.
func (w *env) changeVolume(t *testing.T, name string, change func(*v1alpha1.VolumeParameters)) {
	t.Helper()
	w.readVolume(t, name)
	v := w.volumes[name]
	change(v.Parameters())
	v.Generation++
	if err := w.kube.Update(t.Context(), v); err != nil {
		t.Fatal(err)
	}
}

// allSettled reports whether the Machines and the Volumes match their specs, and nothing is in progress.
func (w *env) allSettled(t *testing.T) bool {
	t.Helper()
	all := w.settled()
	w.asSecond(func() { all = all && (!w.exists(t) || w.settled()) })
	for name := range w.volumes {
		all = all && (!w.readVolume(t, name) || w.volumeSettled(name))
	}
	return all
}

// volumeSettled reports whether a Volume matches its spec, and the Machine that lists it has it.
func (w *env) volumeSettled(name string) bool {
	v := w.volumes[name]
	for _, c := range []xpv2.ConditionType{xpv2.TypeReady, xpv2.TypeSynced, kind.TypeUpToDate} {
		if is := v.GetCondition(c); is.Status != corev1.ConditionTrue || is.ObservedGeneration != v.GetGeneration() {
			return false
		}
	}
	listed := false
	for _, m := range []*namespaced.Machine{w.m, w.second} {
		listed = listed || m != nil && volumeref.Listed(m.Parameters(), name)
	}
	p, o := v.Parameters(), v.Observation()
	return listed == (v.GetCondition(volume.TypeBound).Status == corev1.ConditionTrue) && (o.Size == *p.Size || listed && o.Size == "") &&
		strings.HasPrefix(o.Volume, *p.Storage+":")
}

// dataOf returns the data that are written to the disk of a Volume, to recognize it later.
func dataOf(name string) []byte { return []byte("data of " + name) }

// writeData writes to the disks of the Volumes.
func (w *env) writeData(t *testing.T) {
	t.Helper()
	for name, v := range w.volumes {
		w.pve.Edit(func(s *simulator.State) {
			d := s.Volume(v.Observation().Node, v.Observation().Volume)
			if d == nil {
				t.Fatalf("%s is not there", v.Observation().Volume)
			}
			d.Data = dataOf(name)
		})
		meta.AddAnnotations(v, map[string]string{annotationWritten: "yes"})
		if err := w.kube.Update(t.Context(), v); err != nil {
			t.Fatal(err)
		}
	}
}

// annotationWritten is on Volumes whose disks have data.
const annotationWritten = "written"

// keepsVolumes checks that the disk of each Volume that is not being deleted has its data. Once nothing is in progress, they must be only where the
// Volume shows the disk.
func (w *env) keepsVolumes(t *testing.T, rest bool) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(w.volumes)) {
		if v := w.volumes[name]; !w.readVolume(t, name) || meta.WasDeleted(v) || v.GetAnnotations()[annotationWritten] == "" {
			continue
		}
		var found []string
		for key, v := range w.holdings().Volumes {
			if bytes.Equal(v.Data, dataOf(name)) {
				found = append(found, key.Storage+":"+key.Name)
			}
		}
		if v := w.volumes[name]; len(found) == 0 || rest && (len(found) != 1 || found[0] != v.Observation().Volume) {
			t.Errorf("Volume %s has %s, and its data are in %v\n%s", name, v.Observation().Volume, found, w)
		}
	}
}

// ours returns the VMs of the Machines and the stub VMs.
func (w *env) ours(t *testing.T) []simulator.Guest {
	t.Helper()
	all := []simulator.Guest{w.victim()}
	w.asSecond(func() {
		if w.exists(t) {
			all = append(all, w.victim())
		}
	})
	guests := w.holdings().Guests
	for name, v := range w.volumes {
		if w.readVolume(t, name) {
			record, err := volumeref.RecordOf(v)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, guests[record.VMID])
		}
	}
	return all
}

// startDeleteRest starts deleting the second Machine and the Volumes.
func (w *env) startDeleteRest(t *testing.T) {
	t.Helper()
	var all []client.Object
	if w.second != nil {
		all = append(all, w.second)
	}
	for _, v := range w.volumes {
		all = append(all, v)
	}
	for _, o := range all {
		if err := w.kube.Delete(t.Context(), o); client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
	}
}

// restExists reports whether the second Machine or a Volume exists.
func (w *env) restExists(t *testing.T) bool {
	t.Helper()
	left := false
	w.asSecond(func() { left = w.exists(t) })
	for name := range w.volumes {
		left = left || w.readVolume(t, name)
	}
	return left
}

// deleteRest deletes the second Machine and the Volumes.
func (w *env) deleteRest(t *testing.T) {
	t.Helper()
	w.startDeleteRest(t)
	w.until(t, "the second Machine and the Volumes are gone", func() bool { return !w.restExists(t) })
}

// showVolumes returns what the second Machine and the Volumes report.
func (w *env) showVolumes() string {
	var b strings.Builder
	show := func(mg resource.Managed, conditions []xpv2.Condition) {
		fmt.Fprintf(&b, "%s: annotations %v\n", mg.GetName(), mg.GetAnnotations())
		for _, c := range conditions {
			fmt.Fprintf(&b, "%s %s %s: %s\n", c.Type, c.Status, c.Reason, c.Message)
		}
	}
	if w.second != nil {
		show(w.second, w.second.Status.Conditions)
	}
	for _, v := range w.volumes {
		show(v, v.Status.Conditions)
		fmt.Fprintf(&b, "%+v\n", v.Status.AtProvider)
	}
	return b.String()
}

// tellsOfVolumes returns what the Volumes report about failures.
func (w *env) tellsOfVolumes() []string {
	var all []string
	for _, v := range w.volumes {
		for _, c := range []xpv2.ConditionType{xpv2.TypeReady, xpv2.TypeSynced} {
			if is := v.GetCondition(c); is.Status == corev1.ConditionFalse {
				all = append(all, is.Message)
			}
		}
	}
	return all
}
