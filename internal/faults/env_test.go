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
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/vitistack/provider-proxmox/apis"
	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
)

// An env has one Machine, one PVE cluster, and a provider that is killed and started again.
type env struct {
	clock *clock
	kube  client.WithWatch
	pve   *simulator.Server
	m     *namespaced.Machine

	// second is the second Machine; nil in most scenarios, which also have no Volumes.
	second  *namespaced.Machine
	volumes map[string]*namespaced.Volume

	process *process
	outage  *outage // None if nil.
	fatal   int
	deaths  int
	last    error
	again   int // How often failed operations were requested again.

	// paced waits for the background reads after each step, so that each run sends the same calls.
	paced     bool
	meanwhile func(*testing.T, *env)
	told      []string // What the Machine has reported about failures.
	journal   *journal

	// before are the guests and volumes that existed first. All belong to others, until one is adopted.
	before holdings
}

// holdings are the objects of a PVE cluster.
type holdings struct {
	Guests  map[int]simulator.Guest
	Volumes map[simulator.VolumeKey]simulator.Volume
	Pools   map[string]simulator.Pool
	HA      map[string]simulator.HAResource

	// Jobs are replication jobs, by their guest and target.
	Jobs map[string]string
}

const namespace = "default"

func newScheme() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, apis.AddToScheme} {
		if err := add(s); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// durations returns how long tasks of PVE take, by the clock of the run.
func durations() map[string]string {
	return map[string]string{
		"boot": "1s", "resources": "2s", "qmshutdown": "1s", "copydisk": "3s", "qmclone": "3s", "qmcreate": "2s",
		"qmstart": "1s", "qmstop": "1s", "qmdestroy": "2s", "qmconfig": "1s", "resize": "1s", "imgcopy": "1s", "imgdel": "1s", "qmigrate": "3s", "qmmove": "3s",
		"replication": "3s",
	}
}

func newEnv(t *testing.T, s scenario, fatal int) *env {
	t.Helper()
	quickstart, err := simulator.Quickstart()
	if err != nil {
		t.Fatal(err)
	}
	if s.version != "" {
		quickstart.Version = s.version
	}
	quickstart.Durations = durations()
	quickstart.Guests = append(quickstart.Guests, s.guests...)
	quickstart.Storages = append(quickstart.Storages, s.storages...)
	quickstart.ACL = append(quickstart.ACL, s.grants...)
	w := &env{clock: newClock(), fatal: fatal, meanwhile: s.meanwhile, journal: &journal{eventsOnly: true}}
	w.pve = simulatortest.NewTest(t, simulator.Options{Scenario: quickstart, Speed: 1, Clock: w.clock, Certificates: certificates})
	w.kube = fake.NewClientBuilder().WithScheme(scheme).WithObjectTracker(tracker()).
		WithStatusSubresource(&namespaced.Machine{}, &cluster.Machine{}, &namespaced.Volume{}).
		WithIndex(&namespaced.Machine{}, object.ClaimIndex, object.Claims).WithIndex(&cluster.Machine{}, object.ClaimIndex, object.Claims).Build()
	if s.before != nil {
		w.pve.Edit(s.before)
	}
	for _, f := range s.faults {
		w.pve.Inject(f)
	}
	w.before = w.holdings()
	w.m = s.machine()
	for _, o := range slices.Concat(w.configuration(), s.copies(), w.addVolumes(s), []client.Object{w.m}) {
		if err := w.kube.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	living := w
	t.Cleanup(func() {
		if living.process != nil {
			living.process.end()
		}
		living = nil // A test keeps what it has called until its parents end.
	})
	return w
}

// tracker returns a tracker of objects that does not track who manages their fields, which takes longer than everything else that the client does.
func tracker() clienttesting.ObjectTracker {
	return clienttesting.NewObjectTracker(scheme, serializer.NewCodecFactory(scheme).UniversalDecoder())
}

func (w *env) configuration() []client.Object {
	return []client.Object{
		&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "pve"},
			Data:       map[string][]byte{"tokenID": []byte(simulatortest.TestToken), "tokenSecret": []byte(simulatortest.TestSecret)},
		},
		&namespaced.ProviderConfig{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "pve"},
			Spec:       w.settings(),
		},
	}
}

// settings returns a configuration for a provider that may use the whole cluster.
func (w *env) settings() v1alpha1.ProviderConfigSpec {
	return v1alpha1.ProviderConfigSpec{
		Endpoints: []string{w.pve.URL()},
		TLS:       &v1alpha1.ProviderTLS{CACertificate: new(string(w.pve.CA()))},
		Credentials: v1alpha1.ProviderCredentials{SecretRef: &v1alpha1.SecretOptionalKeyReference{
			SecretReference: v1alpha1.SecretReference{Name: "pve"},
		}},
		DefaultStorage: new("local-lvm"), DefaultBridge: new("vmbr0"), DefaultNode: new("pve1"),
		Limits: &v1alpha1.ProviderLimits{RequestsPerSecond: new(int32(1000))}, RequestTimeoutSeconds: new(int32(1)),
	}
}

// redirect redirects the provider to the gate of the outage.
func (w *env) redirect(t *testing.T) {
	t.Helper()
	pc := &namespaced.ProviderConfig{}
	if err := w.kube.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "pve"}, pc); err != nil {
		t.Fatal(err)
	}
	pc.Spec.Endpoints = []string{"https://" + w.outage.door.at}
	if err := w.kube.Update(t.Context(), pc); err != nil {
		t.Fatal(err)
	}
}

// alive returns the provider process. It starts a new one if the last one was killed.
func (w *env) alive(t *testing.T) *process {
	t.Helper()
	if w.process == nil {
		w.process = w.start(t, w.fatal)
	}
	return w.process
}

// reconcile reconciles the Machine once, with a provider that is alive.
func (w *env) reconcile(t *testing.T) (reconcile.Result, error) {
	t.Helper()
	return w.reconcileOne(t, ofMachines, w.m)
}

// reconcileOne reconciles an object once by one of the reconcilers.
func (w *env) reconcileOne(t *testing.T, by int, o client.Object) (reconcile.Result, error) {
	t.Helper()
	p := w.alive(t)
	p.paced = w.paced
	result, err := p.reconcile(w.clock, by, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)})
	if errors.Is(err, errDied) {
		w.deaths++
		w.fatal = 0
		if n := len(w.process.lateWrites); n > 0 {
			t.Errorf("a provider that was killed has written to PVE: %v", w.process.lateWrites)
		}
		w.process = nil
	}
	return result, err
}

// Limits of a run: by the clock of the run, and in reconciles.
const (
	maxRun    = 6 * time.Hour
	maxRounds = 1500
)

// until reconciles and lets time pass until a condition holds.
func (w *env) until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	end := w.clock.Now().Add(maxRun)
	failures := 0
	for range maxRounds {
		result, err := w.reconcileAll(t)
		if !errors.Is(err, errDied) {
			w.last = err
		}
		w.exists(t)
		w.listen()
		w.asSecond(w.listen)
		w.keepsVolumes(t, false)
		if w.meanwhile != nil {
			w.meanwhile(t, w)
		}
		if holds() {
			return
		}
		w.heed()
		w.age(t, w.m)
		w.backUp(t)
		failures++
		if err == nil {
			failures = 0
		}
		w.clock.advance(w.pause(result, failures))
		if w.paced {
			w.awaitReads()
		}
		if w.outage != nil {
			w.outage.pass(t)
		}
		if w.clock.Now().After(end) {
			break
		}
	}
	t.Fatalf("never happened: %s\n%s", what, w)
}

// backUp completes the Backups that the provider has created, like their controller. Their VM must be off and not restored yet.
func (w *env) backUp(t *testing.T) {
	t.Helper()
	all := &namespaced.BackupList{}
	if err := w.kube.List(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	for _, b := range all.Items {
		if b.Status.AtProvider.State != "" {
			continue
		}
		restores := slices.ContainsFunc(w.pve.Tasks(), func(k simulator.Task) bool { return k.Type == "qmrestore" })
		if g := w.mine(); g.Power != simulator.Stopped || restores {
			t.Errorf("Backup %s is made of a VM that is %s; it was put back before: %t", b.Name, g.Power, restores)
		}
		b.Status.AtProvider.State = v1alpha1.BackupComplete
		if err := w.kube.Update(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
	}
}

// creationGrace is how long crossplane-runtime waits, by the wall clock, for a new object to be observed.
const creationGrace = 10 * time.Second

// age adjusts a Machine whose VM was created so that it is as old by the wall clock, which crossplane-runtime uses, as by the clock of the environment.
func (w *env) age(t *testing.T, o resource.Managed) {
	t.Helper()
	created := meta.GetExternalCreateSucceeded(o)
	if created.IsZero() || meta.ExternalCreateIncomplete(o) || time.Since(created) > creationGrace || w.clock.Now().Sub(created) <= creationGrace {
		return
	}
	meta.SetExternalCreatePending(o, meta.GetExternalCreatePending(o).Add(-creationGrace))
	meta.SetExternalCreateSucceeded(o, created.Add(-creationGrace))
	if err := w.kube.Update(t.Context(), o); err != nil && !kerrors.IsNotFound(err) {
		t.Fatal(err)
	}
}

// pause lets time pass until the next reconcile. Changes in PVE end it earlier.
func (w *env) pause(result reconcile.Result, failures int) time.Duration {
	if len(w.running()) > 0 {
		return time.Second
	}
	if failures > 0 {
		return min(time.Second<<min(failures-1, 9), 5*time.Minute)
	}
	return max(result.RequeueAfter, time.Second)
}

// running returns the running tasks, without those that PVE still lists as running although they have ended with their node.
func (w *env) running() []simulator.Task {
	return slices.DeleteFunc(w.pve.Tasks(), func(t simulator.Task) bool { return !t.Running() || t.Lost })
}

// exists reads the Machine.
func (w *env) exists(t *testing.T) bool {
	t.Helper()
	err := w.kube.Get(context.Background(), client.ObjectKeyFromObject(w.m), w.m)
	if err != nil && !kerrors.IsNotFound(err) {
		t.Fatal(err)
	}
	return err == nil
}

// settled reports whether the Machine matches its spec, and nothing is in progress.
func (w *env) settled() bool {
	r, s := w.m.GetCondition(xpv2.TypeReady), w.m.GetCondition(xpv2.TypeSynced)
	o := w.m.Observation()
	return r.Status == corev1.ConditionTrue && s.Status == corev1.ConditionTrue && s.ObservedGeneration == w.m.GetGeneration() &&
		o.VMID != nil && len(o.Difference) == 0 && len(w.running()) == 0 && w.acted()
}

// acted reports whether one-time actions have been done.
func (w *env) acted() bool {
	want, got := w.m.Parameters().PowerAction, w.m.Observation().PowerAction
	done := want == nil || got != nil && got.Token == want.Token && got.Result != ""
	asked, back := w.m.Parameters().Rollback, w.m.Observation().Rollback
	done = done && (asked == nil || back != nil && back.Token == asked.Token && back.State.Final())
	restore, put := w.m.Parameters().RestoreInPlace, w.m.Observation().RestoreInPlace
	done = done && (restore == nil || put != nil && put.Token == restore.Token && put.State.Final())
	again, made := w.m.Parameters().Recreation, w.m.Observation().Recreation
	return done && (again == nil || made != nil && made.Token == again.Token && made.State.Final())
}

// tidy reports whether the Machine is settled and not about to be restarted, and none of its former images is left.
func (w *env) tidy() bool {
	reason := w.m.GetCondition(conditions.TypeRestartRequired).Reason
	restarts := reason == conditions.ReasonRestarting || reason == conditions.ReasonWaitingForGuest || reason == conditions.ReasonRestartFailed
	return w.settled() && !restarts && w.imagesLeft() <= 1
}

// imagesLeft counts the images of cloud-init data, without those in a snapshot of the VM, which are kept as long as the snapshot.
func (w *env) imagesLeft() int {
	vmid, _ := strconv.Atoi(w.m.GetAnnotations()["crossplane.io/external-name"])
	g, _ := w.pve.Guest(vmid)
	left := 0
	for image := range strings.FieldsSeq(w.m.GetAnnotations()[object.AnnotationImages]) {
		_, volume, _ := strings.Cut(image, "=")
		volume, _, _ = strings.Cut(volume, "@")
		if left++; inSnapshot(g, volume) {
			left--
		}
	}
	return left
}

// inSnapshot reports whether a drive of a snapshot has a volume.
func inSnapshot(g simulator.Guest, volume string) bool {
	for _, s := range g.Snapshots {
		for _, value := range s.Config {
			if strings.HasPrefix(value, volume+",") {
				return true
			}
		}
	}
	return false
}

// change changes the spec like a user.
func (w *env) change(t *testing.T, change func(*v1alpha1.MachineParameters)) {
	t.Helper()
	w.exists(t)
	change(w.m.Parameters())
	w.m.Generation++
	if err := w.kube.Update(t.Context(), w.m); err != nil {
		t.Fatal(err)
	}
}

// askAgain requests a failed restore in place again, with another token, if it has left the VM without its configuration. Otherwise nothing would retry
// it.
func (w *env) askAgain(t *testing.T) bool {
	t.Helper()
	asked, o := w.m.Parameters().RestoreInPlace, w.m.Observation().RestoreInPlace
	lost := w.m.GetCondition(xpv2.TypeReady).Reason == conditions.ReasonRestoreFailed
	if asked == nil || o == nil || !lost || o.Token != asked.Token || o.State != v1alpha1.ActFailed {
		return false
	}
	w.again++
	w.change(t, func(p *v1alpha1.MachineParameters) {
		p.RestoreInPlace.Token, p.RestoreInPlace.SafetyBackup = "again-"+o.Token, nil
	})
	return true
}

func (w *env) delete(t *testing.T) {
	t.Helper()
	if err := w.kube.Delete(t.Context(), w.m); err != nil {
		t.Fatal(err)
	}
}

// quiet checks that an unchanged Machine causes no write.
func (w *env) quiet(t *testing.T) {
	t.Helper()
	w.until(t, "the Machine is tidy", w.tidy)
	p := w.alive(t)
	p.immortal(true)
	if p.isDead() { // A background read has killed it after its last reconcile.
		w.until(t, "the Machine is tidy once more", w.tidy)
		p = w.alive(t)
		p.immortal(true)
	}
	defer p.immortal(false)
	n := len(w.writes())
	for range 2 {
		w.clock.advance(time.Minute)
		if _, err := w.reconcileAll(t); err != nil {
			t.Errorf("a Machine that is ready: %v\n%s", err, w)
		}
	}
	if now := w.writes(); len(now) > n {
		t.Errorf("a Machine that is ready costs writes:\n%s", w)
	}
}

// writes returns the writes to the cluster so far, except those that arrived long after the provider gave them up.
func (w *env) writes() []simulator.Request {
	return slices.DeleteFunc(w.pve.Requests(), func(r simulator.Request) bool {
		return r.Method == http.MethodGet || r.Duration > time.Minute
	})
}

func (w *env) holdings() holdings {
	h := holdings{
		Guests: map[int]simulator.Guest{}, Volumes: map[simulator.VolumeKey]simulator.Volume{},
		Pools: map[string]simulator.Pool{}, HA: map[string]simulator.HAResource{}, Jobs: map[string]string{},
	}
	w.pve.Edit(func(s *simulator.State) {
		for id, g := range s.Guests {
			c := *g
			c.Config, c.Pending, c.Delete = maps.Clone(g.Config), maps.Clone(g.Pending), maps.Clone(g.Delete)
			c.Report, c.Sizes = nil, nil // What the API reports about the guest changes by itself.
			h.Guests[id] = c
		}
		for k, v := range s.Volumes {
			h.Volumes[k] = *v
		}
		for name, p := range s.Pools {
			h.Pools[name] = simulator.Pool{Comment: p.Comment, VMs: maps.Clone(p.VMs), Storages: maps.Clone(p.Storages)}
		}
		for id, r := range s.HA {
			h.HA[id] = *r
		}
		for id, j := range s.Replications {
			h.Jobs[id] = fmt.Sprintf("%s to %s %s", j["source"], j["target"], j["remove_job"])
		}
	})
	return h
}

// mine returns the VM of the Machine.
func (w *env) mine() simulator.Guest {
	return w.holdings().Guests[int(*w.m.Observation().VMID)]
}

// identity checks that the VM is the one that the Machine names.
func (w *env) identity(t *testing.T, g simulator.Guest) {
	t.Helper()
	a := w.m.GetAnnotations()
	if got := meta.GetExternalName(w.m); got != fmt.Sprint(g.VMID) {
		t.Errorf("VM %d is named %q", g.VMID, got)
	}
	if uuid := a[object.AnnotationUUID]; uuid == "" || !strings.Contains(g.Config["smbios1"], uuid) {
		t.Errorf("VM %d has %q, want UUID %q", g.VMID, g.Config["smbios1"], uuid)
	}
	if strings.Contains(g.Config["description"], "provider-proxmox") {
		t.Errorf("VM %d still has its mark: %q", g.VMID, g.Config["description"])
	}
}

// untouched checks that objects of others are unchanged, and that the only new objects belong to the VMs of Machines.
func (w *env) untouched(t *testing.T, s scenario, mine ...simulator.Guest) {
	t.Helper()
	now := w.holdings()
	before := w.before
	if s.adopts != 0 {
		before = before.without(s.adopts)
		now = now.without(s.adopts)
	}
	for id, g := range before.Guests {
		if _, managed := now.HA[fmt.Sprintf("vm:%d", id)]; managed {
			g.Power = now.Guests[id].Power // High availability starts and stops it.
		}
		if diff := cmp.Diff(g, now.Guests[id], simulatortest.IgnoreRuntime()); diff != "" {
			t.Errorf("somebody else's VM %d was changed: -before, +after:\n%s\n%s", id, diff, w)
		}
	}
	for k, v := range before.Volumes {
		if diff := cmp.Diff(v, now.Volumes[k]); diff != "" {
			t.Errorf("somebody else's volume %v was changed: -before, +after:\n%s\n%s", k, diff, w)
		}
	}
	for k, v := range now.Volumes {
		has := func(g simulator.Guest) bool { return mentions(g, k) || v.Replica == jobOf(g.VMID) }
		if _, old := before.Volumes[k]; !old && !slices.ContainsFunc(mine, has) {
			t.Errorf("volume %v is an orphan\n%s", k, w)
		}
	}
	for id := range now.Guests {
		if _, old := before.Guests[id]; !old && !slices.ContainsFunc(mine, func(g simulator.Guest) bool { return g.VMID == id }) {
			t.Errorf("VM %d is left\n%s", id, w)
		}
	}
	if len(mine) > 0 {
		return
	}
	if diff := cmp.Diff(before.Pools, now.Pools, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("pools: -before, +after:\n%s", diff)
	}
	if diff := cmp.Diff(before.HA, now.HA, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("HA resources: -before, +after:\n%s", diff)
	}
	if diff := cmp.Diff(before.Jobs, now.Jobs, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("replication jobs: -before, +after:\n%s", diff)
	}
}

// without returns the holdings without a guest and its volumes.
func (h holdings) without(vmid int) holdings {
	out := h
	out.Guests, out.Volumes = maps.Clone(h.Guests), maps.Clone(h.Volumes)
	delete(out.Guests, vmid)
	maps.DeleteFunc(out.Volumes, func(_ simulator.VolumeKey, v simulator.Volume) bool { return v.VMID == vmid })
	return out
}

// mentions reports whether a guest's configuration names a volume. For a local volume, it must be on the guest's node.
func mentions(g simulator.Guest, k simulator.VolumeKey) bool {
	if k.Node != "" && k.Node != g.Node {
		return false
	}
	for _, config := range []map[string]string{g.Config, g.Pending} {
		for _, v := range config {
			if volume, _, _ := strings.Cut(v, ","); volume == k.Storage+":"+k.Name {
				return true
			}
		}
	}
	return inSnapshot(g, k.Storage+":"+k.Name)
}

// String returns the Machine and the requests for it.
func (w *env) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "deaths %d, last error %v\nannotations %v\nobserved %+v\n", w.deaths, w.last, w.m.GetAnnotations(), w.m.Observation())
	for _, c := range w.m.Status.Conditions {
		fmt.Fprintf(&b, "%s %s %s: %s\n", c.Type, c.Status, c.Reason, c.Message)
	}
	b.WriteString(w.showVolumes())
	requests := w.pve.Requests()
	for i, r := range requests[max(0, len(requests)-2000):] {
		if r.Method == http.MethodGet && (i < len(requests)-30 && r.Status == http.StatusOK || strings.HasPrefix(r.Path, "/cluster/")) {
			continue
		}
		fmt.Fprintf(&b, "%s %s %s %v: %d %s %t\n", r.Time.Format("15:04:05.000"), r.Method, r.Path, r.Params, r.Status, r.Message, r.Cut)
	}
	for _, task := range w.pve.Tasks() {
		fmt.Fprintf(&b, "task %s %s running=%t %s\n", task.Type, task.ID, task.Running(), task.Exit)
	}
	return b.String()
}
