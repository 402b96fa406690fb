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

package nodenetwork

import (
	"context"
	"encoding/json"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/config"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/nodenet"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// A node has a single file of staged changes for all users. Proxmox VE applies all of it or nothing, and the file has no digest. Before a resource
// stages a change, it therefore records the previous state of all interfaces and the desired state of its own interface. The staged changes are ours
// if they match these notes and contain nothing else. That is checked first. The staged changes are then read again in the last call before the one
// that applies them, and must be unchanged. Between these two calls, another user can still stage a change. Proxmox VE offers no way to close that
// gap.

// A note describes what a resource has staged.
type note struct {
	// At is when it was staged, in seconds since 1970.
	At int64 `json:"at"`

	// Before has the checksums of all interfaces before the change.
	Before nodenet.Baseline `json:"before"`

	// Interface is the staged interface; nil if it is removed.
	Interface nodenet.Options `json:"interface"`

	// Former is the interface as it was staged, or in force, before.
	Former nodenet.Options `json:"former"`

	// Taken are addresses that earlier changes, which are not in force either, may have removed from the interface, and addresses that others have
	// removed with consent.
	Taken []netip.Addr `json:"taken,omitempty"`

	// Reload is the task that puts the change into force.
	Reload proxmox.UPID `json:"reload,omitempty"`
}

// takes reports whether the note allows an address to be removed.
func (n note) takes(ip netip.Addr) bool {
	return slices.Contains(n.Taken, ip) || slices.Contains(n.Former.Addresses(), ip)
}

// noteNow returns the note for what a resource stages at a time. former is its previous note.
func noteNow(at time.Time, former note, now pending, name string, next nodenet.Config) note {
	n := note{At: at.Unix(), Before: now.before, Interface: next[name], Former: now.config[name]}
	if now.changes != "" {
		n.Taken = slices.Concat(former.Taken, former.Former.Addresses())
	}
	if now.consented {
		n.Taken = append(n.Taken, nodenet.Gone(now.changes)...)
	}
	return n
}

// A reload of the network of a node.
type reload struct {
	upid proxmox.UPID
	at   int64 // in seconds since 1970
}

// A stager stages and applies changes for all resources of the kind.
type stager struct {
	lookup func(ctx context.Context, host string) ([]netip.Addr, error)

	mu    sync.Mutex
	locks map[string]*sync.Mutex // by node

	// inForce has the interfaces in force when nothing was staged, by endpoints and node.
	inForce map[string]nodenet.Baseline

	// reloads are the last reloads by this provider, by endpoints and node.
	reloads map[string]reload
}

func newStager(lookup func(ctx context.Context, host string) ([]netip.Addr, error)) *stager {
	return &stager{lookup: lookup, locks: map[string]*sync.Mutex{}, inForce: map[string]nodenet.Baseline{}, reloads: map[string]reload{}}
}

// lock locks a node, so that one change is made at a time. Nodes of the same name in several clusters share a lock.
func (s *stager) lock(node string) func() {
	s.mu.Lock()
	l := s.locks[node]
	if l == nil {
		l = &sync.Mutex{}
		s.locks[node] = l
	}
	s.mu.Unlock()
	l.Lock()
	return l.Unlock
}

func keyOf(v view) string {
	return strings.Join(v.Endpoints, " ") + " " + v.Resource.Parameters().Node
}

// keep stores the interfaces in force, unless they are nil, and returns what was stored last.
func (s *stager) keep(v view, now nodenet.Baseline) nodenet.Baseline {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now != nil {
		s.inForce[keyOf(v)] = now
	}
	return s.inForce[keyOf(v)]
}

// A pending state describes the staged changes of a node, and who has staged them.
type pending struct {
	config  nodenet.Config
	changes string // Empty if nothing is staged.

	// before has the checksums that a resource has to record if it stages a change now.
	before nodenet.Baseline

	// foreign is true if others have staged changes without consent. interfaces lists the interfaces concerned, as far as they can be determined.
	foreign    bool
	interfaces []string

	// consented is true if the resource consents to what others have staged.
	consented bool
}

// look reads the staged changes of a node.
func (s *stager) look(ctx context.Context, v view, maxAge time.Duration) (pending, error) {
	node := v.Resource.Parameters().Node
	all, err := v.Inventory.NodeInterfaces(ctx, node, maxAge)
	if err != nil {
		return pending{}, err
	}
	p := pending{config: configOf(all, node), changes: nodenet.Changes(all.Changes)}
	if p.changes == "" {
		p.before = s.keep(v, nodenet.NewBaseline(p.config))
		return p, nil
	}
	notes, err := notesOn(ctx, v)
	if err != nil {
		return pending{}, err
	}
	p.judge(notes, s.keep(v, nil))
	if wanted := v.Resource.Parameters().ApplyStaged; p.foreign && wanted != nil && *wanted == nodenet.Checksum(p.changes) {
		p.foreign, p.consented, p.before = false, true, nodenet.NewBaseline(p.config)
	}
	return p, nil
}

// judge determines from the notes whether all that is staged is ours.
func (p *pending) judge(notes map[string]note, inForce nodenet.Baseline) {
	p.foreign, p.interfaces = true, nil
	var ours, altered []string
	for name, n := range notes {
		ours = append(ours, name)
		// A note may describe a change that was not made.
		if !nodenet.AsStaged(n.Interface, p.config[name]) && !nodenet.AsStaged(n.Former, p.config[name]) {
			altered = append(altered, name)
		}
	}
	for _, n := range notes {
		foreign := append(n.Before.Foreign(p.config, ours), altered...)
		if len(foreign) == 0 {
			p.foreign, p.interfaces, p.before = false, nil, n.Before
			return
		}
		p.interfaces = shorter(p.interfaces, foreign)
	}
	if len(notes) == 0 && inForce != nil {
		p.interfaces = inForce.Foreign(p.config, nil)
	}
	slices.Sort(p.interfaces)
}

func shorter(a, b []string) []string {
	if a == nil || len(b) < len(a) {
		return b
	}
	return a
}

// notesOn returns the notes of all resources for interfaces of the resource's node, by interface.
func notesOn(ctx context.Context, v view) (map[string]note, error) {
	notes := map[string]note{}
	err := each(ctx, v, func(other config.Resource[parameters, *v1alpha1.NodeNetworkObservation]) {
		if n, ok := noteOf(other); ok {
			notes[other.Parameters().Interface] = n
		}
	})
	return notes, err
}

// each calls a function for all resources of the resource's node and cluster. For the resource itself, it uses the object in memory.
func each(ctx context.Context, v view, do func(config.Resource[parameters, *v1alpha1.NodeNetworkObservation])) error {
	specCounts := v.SpecCounts(ctx)
	for _, empty := range v.Scope.Lists("NodeNetwork") {
		all, err := kind.List(ctx, v.Kube, empty)
		if err != nil {
			return err
		}
		for _, item := range all {
			other, ok := item.(config.Resource[parameters, *v1alpha1.NodeNetworkObservation])
			if ok && other.GetUID() == v.Resource.GetUID() {
				other = v.Resource
			}
			if ok && other.Parameters().Node == v.Resource.Parameters().Node && sameCluster(other, v.Resource) && specCounts(other) {
				do(other)
			}
		}
	}
	return nil
}

func sameCluster(a, b resource.Managed) bool {
	x, y := a.GetAnnotations()[kind.AnnotationCluster], b.GetAnnotations()[kind.AnnotationCluster]
	return x == "" || y == "" || x == y
}

func noteOf(mg resource.Managed) (note, bool) {
	n := note{}
	raw, ok := mg.GetAnnotations()[kind.AnnotationStaged]
	return n, ok && json.Unmarshal([]byte(raw), &n) == nil
}

// write records a note and stages a change.
func (s *stager) write(ctx context.Context, v view, verb config.Verb, c proxmox.Change, do func(context.Context) error) error {
	p := v.Resource.Parameters()
	defer s.lock(p.Node)()
	if err := s.checkReloads(ctx, v); err != nil {
		return err
	}
	now, err := s.look(ctx, v, inventory.Fresh)
	if err != nil {
		return err
	}
	if now.foreign {
		return config.Rejection(stagedByOthers(now))
	}
	next := after(now.config, v, verb, c)
	var users map[string][]string
	if verb == config.Delete {
		if users, err = usersOf(ctx, v, nodenet.Config{p.Interface: now.config[p.Interface]}, v.Client.Pending); err != nil {
			return err
		}
	}
	refused, err := s.refusal(ctx, v, nodenet.Request{Before: now.config, After: next, Users: users})
	if err != nil {
		return err
	}
	if refused != nil {
		return config.Rejection(*refused)
	}
	if err := unchanged(ctx, v, now); err != nil {
		return err
	}
	former, noted := noteOf(v.Resource)
	if err := keepNote(ctx, v, noteNow(v.Now(), former, now, p.Interface, next)); err != nil {
		return err
	}
	err = do(ctx)
	switch {
	case err == nil, proxmox.IsOutcomeUnknown(err):
		return err
	case noted:
		return errors.Join(err, keepNote(ctx, v, former))
	}
	return errors.Join(err, dropNote(ctx, v)) // A refused request has staged nothing.
}

// keepNote stores the note in an annotation.
func keepNote(ctx context.Context, v view, n note) error {
	raw, err := json.Marshal(n)
	if err != nil {
		return errors.Wrap(err, "cannot encode what is staged")
	}
	return kind.Annotate(ctx, v.Kube, v.Resource, map[string]string{kind.AnnotationStaged: string(raw)})
}

// dropNote removes the note.
func dropNote(ctx context.Context, v view) error {
	return kind.RemoveAnnotation(ctx, v.Kube, v.Resource, kind.AnnotationStaged)
}

// removing reports whether the removal of an interface that no longer exists waits to be applied.
func (s *stager) removing(ctx context.Context, v view) (bool, error) {
	if _, staged := noteOf(v.Resource); !staged {
		return false, nil
	}
	now, err := s.look(ctx, v, inventory.Fresh)
	if err != nil {
		return false, err
	}
	if now.changes == "" {
		return false, nil
	}
	condition(v.Resource, TypeStaged, corev1.ConditionTrue, kind.Problem{Reason: ReasonStaged, Message: "the removal is staged on the node, and not in force yet"})
	return true, nil
}

// apply applies the staged changes, if they are ours.
func (s *stager) apply(ctx context.Context, v view) error {
	p := v.Resource.Parameters()
	defer s.lock(p.Node)()
	if manual(p) {
		return errors.Errorf("the change of interface %q is staged: apply it on node %q", v.Name, p.Node)
	}
	waits, err := s.waitsFor(ctx, v)
	if err != nil {
		return err
	}
	if waits != "" {
		return errors.Errorf("cannot apply what is staged: %s has not staged its change yet", waits)
	}
	if running, err := s.reloading(ctx, v); err != nil || running {
		return err
	}
	now, err := s.look(ctx, v, inventory.Fresh)
	if err != nil {
		return err
	}
	if now.foreign {
		return config.Rejection(stagedByOthers(now))
	}
	by, err := s.byHand(ctx, v, now.config)
	if err != nil {
		return err
	}
	if by != "" {
		return errors.Errorf("cannot apply what is staged: %s has staged a change for somebody to apply, "+
			"and Proxmox VE applies all that is staged: apply it on node %q", by, p.Node)
	}
	for _, check := range []func() (*kind.Problem, error){
		func() (*kind.Problem, error) { return removalInUse(ctx, v, now.config) },
		func() (*kind.Problem, error) {
			return s.refusal(ctx, v, nodenet.Request{After: now.config, Gone: nodenet.Gone(now.changes)})
		},
		func() (*kind.Problem, error) { return unasked(ctx, v, now) },
	} {
		if refused, err := check(); err != nil {
			return err
		} else if refused != nil {
			return config.Rejection(*refused)
		}
	}
	if err := unchanged(ctx, v, now); err != nil {
		return err
	}
	return s.start(ctx, v)
}

// unchanged returns an error unless the interfaces and the staged changes are still as they were checked. The checks take several calls.
func unchanged(ctx context.Context, v view, judged pending) error {
	node := v.Resource.Parameters().Node
	all, err := v.Inventory.NodeInterfaces(ctx, node, inventory.Fresh)
	if err != nil {
		return err
	}
	now := nodenet.NewBaseline(configOf(all, node))
	if nodenet.Changes(all.Changes) == judged.changes && maps.Equal(now, nodenet.NewBaseline(judged.config)) {
		return nil
	}
	return errors.Errorf("what is staged on node %q has changed while it was checked: nothing is done before it is checked again", node)
}

// start starts a reload. The caller must make no call between reading the staged changes and this one. What is read while the reload runs is not in
// force, and is discarded when it has ended.
func (s *stager) start(ctx context.Context, v view) error {
	in, of := v.Inventory, proxmox.NetworkCollection(v.Resource.Parameters().Node)
	upid, err := v.Client.ReloadNetwork(ctx, of.Node)
	in.InvalidateObjects(of)
	if err != nil {
		return err
	}
	in.Follow(upid, func(proxmox.Task) { in.InvalidateObjects(of) })
	s.mu.Lock()
	s.reloads[keyOf(v)] = reload{upid: upid, at: v.Now().Unix()}
	s.mu.Unlock()
	v.Resource.Observation().Reload = &v1alpha1.NodeNetworkReload{UPID: string(upid)}
	n, noted := noteOf(v.Resource)
	if !noted {
		return nil
	}
	n.Reload = upid
	return keepNote(ctx, v, n)
}

// reloadOf returns the reload that puts the change of a note into force: its own, or one for several resources. It is empty if none is known.
func (s *stager) reloadOf(v view, n note) proxmox.UPID {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last := s.reloads[keyOf(v)]; last.at >= n.At {
		return last.upid
	}
	return n.Reload
}

// reloading reports whether a reload for the resource runs.
func (s *stager) reloading(ctx context.Context, v view) (bool, error) {
	n, noted := noteOf(v.Resource)
	upid := s.reloadOf(v, n)
	if !noted || upid == "" {
		return false, nil
	}
	return runs(ctx, v, upid)
}

// runs reports whether a reload runs.
func runs(ctx context.Context, v view, upid proxmox.UPID) (bool, error) {
	t, err := v.Client.Task(ctx, upid)
	if proxmox.IsNoSuchTask(err) {
		return false, nil
	}
	return t.Running, err
}

// checkReloads returns an error while a reload of the node runs, regardless of who has started it. The reload might or might not apply a change that
// is staged meanwhile, and the notes on the previous state would contain what it removes.
func (s *stager) checkReloads(ctx context.Context, v view) error {
	s.mu.Lock()
	last := s.reloads[keyOf(v)].upid // The list of tasks may not contain it yet.
	s.mu.Unlock()
	running := false
	if last != "" {
		var err error
		if running, err = runs(ctx, v, last); err != nil {
			return err
		}
	}
	all, err := v.Inventory.Tasks(ctx, inventory.Fresh)
	if err != nil {
		return err
	}
	node := v.Resource.Parameters().Node
	reloads := func(t proxmox.Task) bool { return t.Type == "srvreload" && t.Node == node && t.Running }
	if running || slices.ContainsFunc(all, reloads) {
		return kind.Wait(errors.Errorf("node %q reloads its network: the change is staged after that", node))
	}
	return nil
}

func manual(p *parameters) bool { return p.Apply != nil && *p.Apply == "Manual" }

// longestWait is how long one resource waits for others of its node before it applies its change alone.
const longestWait = 30 * time.Second

// waitsFor returns the name of another resource of the node that is to stage a change first, so that one reload applies both. Such a resource has not
// been reconciled with its present spec yet.
func (s *stager) waitsFor(ctx context.Context, v view) (string, error) {
	n, staged := noteOf(v.Resource)
	if !staged || v.Now().Sub(time.Unix(n.At, 0)) > longestWait {
		return "", nil
	}
	name := ""
	err := each(ctx, v, func(other config.Resource[parameters, *v1alpha1.NodeNetworkObservation]) {
		c := other.GetCondition(kind.TypeUpToDate)
		looked := c.Status != corev1.ConditionUnknown && c.ObservedGeneration == other.GetGeneration()
		if looked || meta.WasDeleted(other) || meta.IsPaused(other) || !kind.MayChange(other) ||
			other.Parameters().Interface == v.Resource.Parameters().Interface {
			return
		}
		name = "NodeNetwork " + other.GetName()
	})
	return name, err
}

// byHand returns the name of another resource of the node that has staged a change which a user has to review and apply. If its interface is as it
// was last in force, the change has already been applied.
func (s *stager) byHand(ctx context.Context, v view, now nodenet.Config) (string, error) {
	name, last := "", s.keep(v, nil)
	err := each(ctx, v, func(other config.Resource[parameters, *v1alpha1.NodeNetworkObservation]) {
		_, staged := noteOf(other)
		inForce := last != nil && last.Keep(now, other.Parameters().Interface)
		if staged && !inForce && manual(other.Parameters()) && other.GetUID() != v.Resource.GetUID() {
			name = "NodeNetwork " + other.GetName()
		}
	})
	return name, err
}

// stagedByOthers returns the problem that others have staged changes.
func stagedByOthers(p pending) kind.Problem {
	of := ""
	if len(p.interfaces) > 0 {
		of = " of " + strings.Join(p.interfaces, ", ")
	}
	return kind.Problem{Reason: ReasonStagedByOthers, Message: "others have staged changes" + of +
		", and Proxmox VE applies all that is staged or nothing: apply or revert them, or consent by applyStaged: " + nodenet.Checksum(p.changes)}
}

// Conditions of a NodeNetwork.
const (
	// TypeApplied is True while the interface is active and matches the spec.
	TypeApplied xpv2.ConditionType = "Applied"

	// TypeStaged is True while a change of the interface that matches the spec is staged and waits to be applied.
	TypeStaged xpv2.ConditionType = "Staged"
)
