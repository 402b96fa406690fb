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

package snapshot_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	xpmeta "github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/config/configtest"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/kind/target"
	"github.com/vitistack/provider-proxmox/internal/controller/snapshot"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/simulator"
)

const (
	vmid = 500
	uuid = "11111111-2222-4333-8444-555555555555"
	gone = "the resource is gone"
)

var ref = proxmox.Ref{Node: "pve1", VMID: vmid} //nolint:gochecknoglobals // It is a constant.

// clock is one that goes on with each reconcile.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// lab is a simulated cluster with a VM, a Kubernetes API, and a provider that lives and dies.
type lab struct {
	*testing.T

	scope    kind.Scope
	pve      *simulator.Server
	root     *proxmox.Client
	kube     client.WithWatch
	clock    *clock
	provider *configtest.Provider
	fatal    int // The side effect that the next provider dies of.
	deaths   int
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
	return newLab(t, configtest.Scopes()["Namespaced"], "9.2")
}

func newLab(t *testing.T, s kind.Scope, version string) *lab {
	t.Helper()
	pve := configtest.Simulate(t, version)
	l := &lab{T: t, scope: s, clock: &clock{at: time.Now()}, pve: pve.Server, root: pve.Client, kube: configtest.Serve(pve)}
	l.vm("local-lvm:1", uuid)
	return l
}

func (l *lab) must(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

func (l *lab) create(o client.Object) {
	l.Helper()
	l.must(l.kube.Create(l.Context(), o))
}

// ended waits for the end of a task of somebody else.
func (l *lab) ended(u proxmox.UPID, err error) proxmox.Task {
	l.Helper()
	l.must(err)
	for {
		t, err := l.root.Task(l.Context(), u)
		l.must(err)
		if !t.Running {
			return t
		}
		<-time.After(time.Millisecond)
	}
}

// vm makes the VM with a disk and a UUID.
func (l *lab) vm(disk, uuid string) {
	l.Helper()
	if t := l.ended(l.root.Create(l.Context(), ref, proxmox.Params{"name": "web", "memory": "64", "scsi0": disk, "smbios1": "uuid=" + uuid})); !t.OK() {
		l.Fatal(t.ExitStatus)
	}
}

// replace the VM by another one of the VMID.
func (l *lab) replace(disk, uuid string) {
	l.Helper()
	l.ended(l.root.Delete(l.Context(), ref, proxmox.DeleteOptions{}))
	l.vm(disk, uuid)
}

// taken has somebody else take a snapshot.
func (l *lab) taken(name, description string) {
	l.Helper()
	if t := l.ended(l.root.TakeSnapshot(l.Context(), ref, proxmox.SnapshotOptions{Name: name, Description: description})); !t.OK() {
		l.Fatal(t.ExitStatus)
	}
}

// snapshots of the VM, by their names.
func (l *lab) snapshots() map[string]proxmox.Snapshot {
	l.Helper()
	tree, err := l.root.SnapshotTree(l.Context(), ref)
	l.must(err)
	all := map[string]proxmox.Snapshot{}
	for _, s := range tree.Snapshots {
		all[s.Name] = s
	}
	return all
}

// object makes a resource of a kind of the scope, older than those of higher numbers.
func (l *lab) object(kindName, name string, number int, spec string, annotations map[string]string) resource.Managed {
	l.Helper()
	mg := configtest.NewResource(l.T, l.scope, kindName, name, number, spec, annotations)
	l.create(mg)
	return mg
}

// snapshot makes a Snapshot.
func (l *lab) snapshot(name, spec string) snapshot.Snapshot {
	l.Helper()
	s, ok := l.object("Snapshot", name, len(name), spec, nil).(snapshot.Snapshot)
	if !ok {
		l.Fatal("it is no Snapshot")
	}
	return s
}

// machine makes a Machine that has the VM with the UUID, or none yet.
func (l *lab) machine(uuid string) target.Machine {
	l.Helper()
	m, ok := l.object("Machine", "web", 0, "{}", nil).(target.Machine)
	if !ok {
		l.Fatal("it is no Machine")
	}
	if uuid != "" {
		l.hasVM(m, uuid)
	}
	return m
}

// hasVM has a Machine report its VM.
func (l *lab) hasVM(m target.Machine, uuid string) {
	l.Helper()
	o := m.Observation()
	o.VMID, o.UUID, o.Phase = new(int32(vmid)), uuid, v1alpha1.MachineRunning
	l.must(l.kube.Status().Update(l.Context(), m))
}

// reconcile a resource once, by a provider that is alive, and read it again. It reports
// whether the resource is still there.
func (l *lab) reconcile(mg resource.Managed) bool {
	l.Helper()
	if l.provider == nil {
		setup := func(mgr ctrl.Manager, o kind.Options, s kind.Scope) error {
			o.Now = l.clock.now
			return snapshot.Setup(mgr, o, snapshot.Kinds{
				Identity: s.Identity("Snapshot"), Lists: s.Lists("Snapshot"), Machines: s.Lists("Machine"), Machine: s.Identity("Machine").Object,
			})
		}
		p := configtest.Start(l.T, l.kube, setup, l.scope, l.fatal)
		l.provider = &p
	}
	if err := l.provider.Reconcile(client.ObjectKeyFromObject(mg)); err != nil {
		l.last = err
	}
	if l.provider.Dead() {
		l.provider, l.fatal = nil, 0
		l.deaths++
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

// longest is how long something may take on a machine that is busy.
const longest = 2 * time.Minute

// until something holds, the provider reconciles the resource.
func (l *lab) until(mg resource.Managed, what string, holds func() bool) {
	l.Helper()
	for end := time.Now().Add(longest); time.Now().Before(end); <-time.After(2 * time.Millisecond) {
		there := l.reconcile(mg)
		if there && holds() || !there && what == gone {
			return
		}
		l.clock.pass(time.Second)
		l.age(mg)
	}
	raw, _ := yaml.Marshal(mg)
	l.Fatalf("never happened: %s\nlast error: %v\n%s\n%s", what, l.last, raw, strings.Join(l.writes(), "\n"))
}

// age a resource whose object was created, so that it is not taken for too young to be seen.
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

// settled reports whether the snapshot is as the spec asks.
func settled(mg resource.Managed) func() bool { return configtest.Settled(mg) }

// says reports whether a condition is False for a reason, with words in its message.
func says(mg resource.Managed, c xpv2.ConditionType, reason xpv2.ConditionReason, words ...string) func() bool {
	return configtest.Says(mg, c, reason, words...)
}

// change a resource in the API.
func (l *lab) change(mg resource.Managed, change func()) {
	l.Helper()
	l.read(mg)
	change()
	mg.SetGeneration(mg.GetGeneration() + 1)
	l.must(l.kube.Update(l.Context(), mg))
}

// delete a resource, and wait until it is gone.
func (l *lab) delete(mg resource.Managed) {
	l.Helper()
	l.must(l.kube.Delete(l.Context(), mg))
	l.until(mg, gone, func() bool { return false })
}

// writes to Proxmox VE by the provider so far.
func (l *lab) writes() []string {
	var all []string
	for _, r := range l.pve.Requests() {
		if r.Method != http.MethodGet && strings.HasPrefix(r.User, "crossplane@pve") {
			all = append(all, fmt.Sprintf("%s %s", r.Method, r.Path))
		}
	}
	return all
}
