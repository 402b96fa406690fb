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

package volume_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	xpmeta "github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/vitistack/provider-proxmox/internal/controller/config/configtest"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/images"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/restore"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/scheduler"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/volumes"
	"github.com/vitistack/provider-proxmox/internal/controller/volume"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/simulator"
)

// A side is the provider of one kind, which is killed and started again.
type side struct {
	setup    configtest.Setup
	provider *configtest.Provider
	fatal    int // The side effect at which the next provider is killed.
	deaths   int
}

// restart restarts the provider, which is killed at a side effect.
func (s *side) restart(fatal int) {
	if s.provider != nil {
		s.provider.Stop()
	}
	s.provider, s.fatal = nil, fatal
}

// lab is a simulated cluster and a Kubernetes API with Volumes and Machines, whose providers are killed and started again.
type lab struct {
	*testing.T

	scope    kind.Scope
	pve      *simulator.Server
	root     *proxmox.Client
	kube     client.WithWatch
	clock    *configtest.Clock
	now      func() time.Time // as the provider of Volumes sees it
	volumes  side
	machines side
	all      []resource.Managed
	last     error
}

// everywhere runs a test in its ways.
func everywhere(t *testing.T, run func(*lab)) {
	t.Helper()
	configtest.EachWay(t, func(t *testing.T, w configtest.Way) {
		t.Helper()
		run(newLab(t, w.Scope, w.Version))
	})
}

// here runs a test in one scope and on one version.
func here(t *testing.T) *lab {
	t.Helper()
	configtest.Once(t)
	return newLab(t, configtest.Scopes()["Namespaced"], "9.2")
}

func newLab(t *testing.T, s kind.Scope, version string) *lab {
	t.Helper()
	pve := configtest.Simulate(t, version)
	l := &lab{T: t, scope: s, clock: configtest.NewClock(), pve: pve.Server, root: pve.Client, kube: configtest.Serve(pve)}
	l.now = l.clock.Now
	l.volumes.setup = func(mgr ctrl.Manager, o kind.Options, s kind.Scope) error {
		o.Now = l.now
		return volume.Setup(mgr, o, volume.Kinds{Identity: s.Identity("Volume"), Lists: s.Lists("Volume"), Machine: s.Identity("Machine")})
	}
	l.machines.setup = func(mgr ctrl.Manager, o kind.Options, s kind.Scope) error {
		o.Now = l.clock.Now
		r := volumes.Reader{Kube: mgr.GetClient(), Direct: mgr.GetAPIReader(), Object: s.Identity("Volume").Object, Lists: s.Lists("Volume")}
		from := machine.Dependencies{
			Image: s.Identity("Image").Object, Networks: s.Identity("NodeNetwork").List, Volumes: r, Images: images.NewNotifier(), Backups: restore.NewNotifier(),
		}
		return machine.Setup(mgr, o, s.Identity("Machine"), scheduler.New(), from)
	}
	return l
}

func (l *lab) must(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

// ended waits for the end of a task of someone else, which must succeed.
func (l *lab) ended(u proxmox.UPID, err error) {
	l.Helper()
	l.must(err)
	for u != "" {
		t, err := l.root.Task(l.Context(), u)
		l.must(err)
		if !t.Running && !t.OK() {
			l.Fatal(t.ExitStatus)
		}
		if !t.Running {
			return
		}
		<-time.After(time.Millisecond)
	}
}

// object creates a resource of a kind of the scope, older than those of higher numbers.
func (l *lab) object(kindName, name string, number int, spec string, annotations map[string]string) resource.Managed {
	l.Helper()
	mg := configtest.NewResource(l.T, l.scope, kindName, name, number, spec, annotations)
	l.must(l.kube.Create(l.Context(), mg))
	l.all = append(l.all, mg)
	return mg
}

// volume creates a Volume.
func (l *lab) volume(name, spec string) volume.Volume {
	l.Helper()
	return l.adopting(name, spec, "")
}

// adopting creates a Volume that adopts a disk.
func (l *lab) adopting(name, spec, volumeID string) volume.Volume {
	l.Helper()
	var a map[string]string
	if volumeID != "" {
		a = map[string]string{xpmeta.AnnotationKeyExternalName: volumeID}
	}
	v, ok := l.object("Volume", name, len(l.all), spec, a).(volume.Volume)
	if !ok {
		l.Fatal("it is no Volume")
	}
	return v
}

const (
	system = "disks:\n- name: system\n  size: 1G\n  storage: local-lvm\n"
	data   = "- name: data\n  device: scsi5\n  volumeRef:\n    name: %s\n"
)

// with returns the spec of a Machine with Volumes.
func with(names ...string) string {
	spec := []string{"powerState: Running\nnode: pve1\n" + system}
	for _, name := range names {
		spec = append(spec, fmt.Sprintf(data, name))
	}
	return strings.Join(spec, "")
}

// machine creates a Machine with a disk that is not a Volume's, and Volumes.
func (l *lab) machine(name string, names ...string) object.Machine {
	l.Helper()
	m, ok := l.object("Machine", name, len(l.all), with(names...), nil).(object.Machine)
	if !ok {
		l.Fatal("it is no Machine")
	}
	return m
}

// lists makes a Machine list these Volumes and no others.
func (l *lab) lists(m object.Machine, names ...string) {
	l.Helper()
	l.change(m, func() {
		l.must(yaml.Unmarshal([]byte(with(names...)), m.Parameters()))
	})
}

// reconcile reconciles a resource once, by a provider that is alive, and reads it again. It reports whether the resource still exists.
func (l *lab) reconcile(mg resource.Managed) bool {
	l.Helper()
	s := &l.volumes
	if _, ok := mg.(object.Machine); ok {
		s = &l.machines
	}
	if s.provider == nil {
		p := configtest.Start(l.T, l.kube, s.setup, l.scope, s.fatal)
		s.provider = &p
	}
	if err := s.provider.Reconcile(client.ObjectKeyFromObject(mg)); err != nil {
		l.last = err
	}
	if s.provider.Dead() {
		s.provider.Stop()
		s.provider, s.fatal = nil, 0
		s.deaths++
	}
	return l.read(mg)
}

func (l *lab) read(mg resource.Managed) bool {
	l.Helper()
	err := l.kube.Get(context.Background(), client.ObjectKeyFromObject(mg), mg)
	if err != nil && !kerrors.IsNotFound(err) {
		l.Fatal(err)
	}
	return err == nil
}

// longest is how long something may take on a busy machine.
const longest = 4 * time.Minute

// until makes the providers reconcile all resources until holds returns true.
func (l *lab) until(what string, holds func() bool) {
	l.Helper()
	for end := time.Now().Add(longest); time.Now().Before(end); <-time.After(2 * time.Millisecond) {
		var left []resource.Managed
		for _, mg := range l.all {
			if l.reconcile(mg) {
				l.age(mg)
				left = append(left, mg)
			}
		}
		l.all = left
		if holds() {
			return
		}
		l.clock.Pass(2 * time.Second)
	}
	var raw []byte
	for _, mg := range l.all {
		one, _ := yaml.Marshal(mg)
		raw = append(raw, one...)
	}
	l.Fatalf("never happened: %s\nlast error: %v\n%s\n%s", what, l.last, raw, strings.Join(l.writes(), "\n"))
}

// age makes a resource whose object was created older, so that it is not considered too young to be seen.
func (l *lab) age(mg resource.Managed) {
	created := xpmeta.GetExternalCreateSucceeded(mg)
	if created.IsZero() || time.Since(created) > time.Minute || !l.read(mg) {
		return
	}
	xpmeta.SetExternalCreateSucceeded(mg, created.Add(-time.Hour))
	xpmeta.SetExternalCreatePending(mg, created.Add(-2*time.Hour))
	if err := l.kube.Update(context.Background(), mg); err != nil && !kerrors.IsConflict(err) {
		l.Fatal(err)
	}
}

// change changes a resource in the API.
func (l *lab) change(mg resource.Managed, change func()) {
	l.Helper()
	l.read(mg)
	change()
	mg.SetGeneration(mg.GetGeneration() + 1)
	l.must(l.kube.Update(l.Context(), mg))
}

// delete deletes a resource.
func (l *lab) delete(mg resource.Managed) {
	l.Helper()
	l.must(l.kube.Delete(l.Context(), mg))
}

// gone returns a function that reports whether a resource no longer exists.
func (l *lab) gone(mg resource.Managed) func() bool {
	return func() bool { return !l.read(mg) }
}

// config returns the configuration of a VM; nil if there is none.
func (l *lab) config(vmid int) map[string]string {
	l.Helper()
	c, err := l.root.Config(l.Context(), proxmox.Ref{Node: "pve1", VMID: vmid})
	if proxmox.IsNotFound(err) {
		return nil
	}
	l.must(err)
	return c.Values
}

// ref returns the location of the VM of a Machine.
func ref(m object.Machine) proxmox.Ref {
	return proxmox.Ref{Node: m.Observation().Node, VMID: int(*m.Observation().VMID)}
}

// disks returns the disks of all VMs on the storages, by their volume IDs.
func (l *lab) disks() map[string]int64 {
	l.Helper()
	all, err := l.root.Volumes(l.Context(), "pve1", "local-lvm", "images")
	l.must(err)
	found := map[string]int64{}
	for _, v := range all {
		if v.VMID != 100 { // VM 100 is a template that exists from the beginning.
			found[v.ID] = v.Size
		}
	}
	return found
}

// writes returns the writes to Proxmox VE by the provider so far.
func (l *lab) writes() []string {
	var all []string
	for _, r := range l.pve.Requests() {
		if r.Method != http.MethodGet && strings.HasPrefix(r.User, "crossplane@pve") {
			all = append(all, fmt.Sprintf("%s %s %v", r.Method, r.Path, r.Params))
		}
	}
	return all
}
