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
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/simulator"
)

// An op is one operation of a random run. Its number determines its random choices.
type op struct {
	step   string
	number uint64
}

func (s op) String() string { return fmt.Sprintf("%s/%d", s.step, s.number) }

// A route describes a run: how it begins, and each of its steps. A step does not depend on earlier ones, so that others can be left out.
type route struct {
	version string // Of PVE.
	start   string // The scenario that the first Machine begins with.
	ops     []op
}

func (r route) String() string {
	words := []string{r.version, r.start}
	for _, s := range r.ops {
		words = append(words, s.String())
	}
	return strings.Join(words, " ")
}

func parseRoute(t *testing.T, text string) route {
	t.Helper()
	words := strings.Fields(text)
	if len(words) < 2 {
		t.Fatalf("a random run is the version of PVE, the scenario that it begins as, and operations, each with a number: %q", text)
	}
	r := route{version: words[0], start: words[1]}
	for _, word := range words[2:] {
		step, number, _ := strings.Cut(word, "/")
		n, err := strconv.ParseUint(number, 10, 64)
		if err != nil || steps()[step] == nil {
			t.Fatalf("not a step with its number: %q", word)
		}
		r.ops = append(r.ops, op{step: step, number: n})
	}
	return r
}

// starts returns the scenarios that a random run may begin with.
func starts() []string {
	return []string{"Adoption", "Empty", "Firmware", "FullClone", "Image", "LinkedClone", "LocalClone", "Password", startVolume, startVolume}
}

// Lengths of a random run, in operations.
const (
	minOps = 5
	maxOps = 15
)

// randomRoute returns the route of a seed.
func randomRoute(seed uint64) route {
	r := rand.New(rand.NewPCG(seed, seed))
	all := route{version: oneOf(r, "9.2", "9.2", "8.4"), start: oneOf(r, starts()...)}
	for range minOps + r.IntN(maxOps-minOps+1) {
		kinds := [][]string{sorted(edits()), sorted(edits()), sorted(deviceEdits()), sorted(manualEdits()), sorted(troubles())}
		if all.start == startVolume {
			kinds = stepsWithVolumes()
		}
		all.ops = append(all.ops, op{step: oneOf(r, oneOf(r, kinds...)...), number: uint64(r.Uint32())})
	}
	return all
}

func oneOf[T any](r *rand.Rand, all ...T) T { return all[r.IntN(len(all))] }

// A subject has the state of a random run for one Machine, and for its successors with the same name.
type subject struct {
	m         *namespaced.Machine
	start     scenario
	creations int
	gone      bool
	failures  int
	err       error

	// disks counts the disks with data that the VM has had, and mayGo those of them that may be deleted: their removal was requested, or they are edited
	// manually.
	disks, mayGo int

	// volumes has the last volumes of the disks, by name.
	volumes map[string]string

	// macs has the last MAC addresses of the networks, by name, and the creation time of their VM.
	macs    map[string]string
	created string

	// Entries that were removed from their lists.
	disksOff    []v1alpha1.MachineDisk
	networksOff []v1alpha1.MachineNetwork

	edited bool

	// rewired, reordered and migrated are true once a manual edit has changed a network, removed the boot order, or moved the VM with its local disks.
	rewired, reordered, migrated bool
}

// A randomRun runs some Machines, and the VMs of others, through a route.
type randomRun struct {
	*env

	t        *testing.T
	subjects []*subject

	// foreign has VMIDs that were a Machine's and now belong to others.
	foreign map[int]bool

	// volumeFailures is how often in succession Volumes could not be reconciled.
	volumeFailures map[string]int

	// seen is the number of requests that have been checked.
	seen  int
	trace []string
}

func newRandomRun(t *testing.T, r route) *randomRun {
	t.Helper()
	first := scenarios()[r.start]
	first.version = r.version
	if r.start == startVolume {
		first.volumes = volumesOfRuns()
	}
	first.grants = append(first.grants, scenarios()["HA"].grants...)
	first.grants = append(first.grants, simulator.ScenarioGrant{Path: "/pool", User: "crossplane@pve", Roles: []string{"PVEPoolAdmin"}},
		simulator.ScenarioGrant{Path: "/mapping", User: "crossplane@pve", Roles: []string{"PVEMappingUser"}})
	first.before = withMappings(first.before)
	first.objects = slices.Concat(scenarios()["Password"].objects, []client.Object{userData()})
	w := newEnv(t, first, 0)
	w.journal = &journal{}
	w.enlist()
	k := &randomRun{env: w, t: t, foreign: map[int]bool{}, volumeFailures: map[string]int{}, subjects: []*subject{{m: w.m, start: first}}}
	if first.adopts != 0 {
		w.before = w.before.without(first.adopts)
	}
	second := scenario{spec: v1alpha1.MachineParameters{Template: new(intstr.FromString("debian-13"))}}
	k.subjects = append(k.subjects, &subject{start: second, gone: true, m: second.machine()})
	k.subjects[1].m.Name = "second"
	k.create(k.subjects[1])
	return k
}

// create creates a Machine with an unused name.
func (k *randomRun) create(l *subject) {
	k.t.Helper()
	name := l.m.GetName()
	m := l.start.machine()
	m.Name, l.creations = name, l.creations+1
	m.UID = types.UID(fmt.Sprintf("5a7a5f2c-0000-4000-8000-%06x%06d", []byte(name[:3]), l.creations))
	m.CreationTimestamp = metav1.NewTime(k.clock.Now())
	l.m, l.gone, l.failures, l.disks, l.edited, l.volumes = m, false, 0, 0, false, nil
	l.rewired, l.reordered = false, false
	l.disksOff, l.networksOff, l.macs = nil, nil, nil
	if err := k.kube.Create(k.t.Context(), m); err != nil {
		k.t.Fatal(err)
	}
}

// along runs the route, and checks the results in the end.
func (k *randomRun) along(r route) {
	k.t.Helper()
	for _, s := range r.ops {
		k.take(s)
	}
	k.calm()
	k.rest()
	k.check()
	k.leave()
}

// take runs a step, and lets some time pass.
func (k *randomRun) take(s op) {
	k.t.Helper()
	r := rand.New(rand.NewPCG(s.number, 0))
	l := k.subjects[min(1, r.IntN(4)/3)]
	k.m = l.m
	what := "nothing to do"
	if !l.gone || s.step == "anew" {
		what = steps()[s.step](k, l, r)
	}
	k.trace = append(k.trace, fmt.Sprintf("%s %s %s: %s", k.clock.Now().Format("15:04:05"), s, l.m.GetName(), what))
	looks := oneOf(r, 0, 1, 2, 3, 5, 8, 40, 40, 40, 40)
	for range looks {
		k.round()
		if looks == 40 && k.all(k.settled) {
			return
		}
	}
}

// all reports whether a condition holds for all existing Machines.
func (k *randomRun) all(holds func() bool) bool {
	for _, l := range k.subjects {
		if k.m = l.m; !l.gone && !holds() {
			return false
		}
	}
	return true
}

// round reconciles each Machine once, and lets time pass.
func (k *randomRun) round() {
	k.t.Helper()
	next := time.Hour
	for _, l := range k.subjects {
		if k.m = l.m; !l.gone {
			next = min(next, k.look(l))
		}
	}
	next = min(next, k.lookAtVolumes())
	k.watch()
	k.clock.advance(next)
}

// look reconciles a Machine once. It returns the time until the next reconcile.
func (k *randomRun) look(l *subject) time.Duration {
	k.t.Helper()
	stays := !slices.ContainsFunc(l.m.GetManagementPolicies(), func(a xpv2.ManagementAction) bool {
		return a == xpv2.ManagementActionAll || a == xpv2.ManagementActionDelete
	})
	vmid := k.vmid()
	result, err := k.reconcile(k.t)
	if !errors.Is(err, errDied) {
		l.err = err
	}
	if !k.exists(k.t) {
		l.gone = true
		if stays {
			k.drainOf(vmid)
			k.theirs(vmid)
			k.keep(vmid)
		}
		return time.Second
	}
	k.listen()
	k.heed()
	k.age(k.t, k.m)
	if l.failures++; err == nil {
		l.failures = 0
	}
	k.count(l)
	return k.pause(result, l.failures)
}

// vmid returns the VMID of the Machine's VM, or 0 if it has none yet.
func (k *randomRun) vmid() int {
	id, _ := strconv.Atoi(k.m.GetAnnotations()["crossplane.io/external-name"])
	return id
}

// theirs records that a VM belongs to others from now on.
func (k *randomRun) theirs(vmid int) {
	now := k.holdings()
	g, ok := now.Guests[vmid]
	if !ok {
		return
	}
	k.foreign[vmid] = true
	k.before.Guests[vmid] = g
	for name, p := range now.Pools {
		if p.VMs[vmid] {
			k.before.Pools[name].VMs[vmid] = true
		}
	}
	if r, ok := now.HA[fmt.Sprintf("vm:%d", vmid)]; ok {
		k.before.HA[fmt.Sprintf("vm:%d", vmid)] = r
	}
	for key, v := range now.Volumes {
		if v.VMID == vmid || vmid < firstTheirs && mentions(g, key) { // An image of a Machine is deleted with the Machine, even if its VM was copied.
			k.before.Volumes[key] = v
		}
	}
}

// keep keeps the images of a VM that stays although its Machine is deleted. One may not be in its drive yet.
func (k *randomRun) keep(vmid int) {
	for key, v := range k.holdings().Volumes {
		if strings.HasPrefix(key.Name, fmt.Sprintf("iso/cidata-%d-", vmid)) {
			k.before.Volumes[key] = v
		}
	}
}

// String returns the steps so far.
func (k *randomRun) String() string {
	var b strings.Builder
	for _, l := range k.subjects {
		k.m, k.last = l.m, l.err
		fmt.Fprintf(&b, "%s: gone=%t failures=%d\n", l.m.GetName(), l.gone, l.failures)
		if !l.gone {
			b.WriteString(k.env.String())
		}
	}
	return strings.Join(k.trace, "\n") + "\n" + b.String()
}

// randomRuns returns the seeds to run: the first ones, or RANDOM_RUNS random ones.
func randomRuns(t *testing.T) []uint64 {
	t.Helper()
	n := 3
	switch {
	case all:
		n = 200
	case many:
		n = 8
	}
	asked := os.Getenv("RANDOM_RUNS")
	first := uint64(1)
	if asked != "" {
		var err error
		if n, err = strconv.Atoi(asked); err != nil {
			t.Fatal(err)
		}
		first = rand.Uint64() >> 24
	}
	var seeds []uint64
	for i := range n {
		seeds = append(seeds, first+uint64(i))
	}
	return seeds
}

// TestRandomRuns runs Machines through random changes of their specs, manual edits of their VMs, and troubles of all sorts. When all that has ended,
// the result matches the specs, or there is a clear reason why not.
func TestRandomRuns(t *testing.T) {
	t.Parallel()
	if text := os.Getenv("RANDOM_RUN"); text != "" {
		r := parseRoute(t, text)
		if os.Getenv("SHORTEN") != "" {
			shorten(t, r)
			return
		}
		newRandomRun(t, r).along(r)
		return
	}
	for _, seed := range randomRuns(t) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := randomRoute(seed)
			t.Logf("make test-faults RANDOM_RUN='%s'", r)
			newRandomRun(t, r).along(r)
		})
	}
}

// shorten removes the steps of a run that are not needed for its failure.
func shorten(t *testing.T, r route) {
	t.Helper()
	for i := range slices.Backward(r.ops) {
		shorter := r
		shorter.ops = slices.Delete(slices.Clone(r.ops), i, i+1)
		fails := !t.Run(fmt.Sprintf("without-%s", r.ops[i]), func(t *testing.T) {
			newRandomRun(t, shorter).along(shorter)
		})
		if fails {
			r = shorter
		}
	}
	t.Logf("make test-faults RANDOM_RUN='%s'", r)
}

// update changes the Machine like its users.
func (k *randomRun) update(change func(*namespaced.Machine)) {
	k.t.Helper()
	if !k.exists(k.t) {
		return
	}
	change(k.m)
	if err := k.kube.Update(k.t.Context(), k.m); client.IgnoreNotFound(err) != nil {
		k.t.Fatal(err)
	}
}

// guest returns the Machine's VM, if it exists and no task works on it.
func (k *randomRun) guest() (simulator.Guest, bool) {
	id := k.vmid()
	g, ok := k.pve.Guest(id)
	return g, ok && !k.foreign[id] && strings.Contains(g.Config["smbios1"], k.uuid())
}

func (k *randomRun) uuid() string {
	if id := k.m.GetAnnotations()["proxmox.vitistack.io/uuid"]; id != "" {
		return id
	}
	return "none"
}
