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

package snapshotpolicy

import (
	"cmp"
	"context"
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/kind/target"
)

// view returns a view with everything that a decision about a policy depends on.
func (r *reconciler) view(ctx context.Context, p Policy) (*view, error) {
	s, err := scheduleOf(p)
	if err != nil {
		return nil, err
	}
	v := &view{
		now: r.now(), created: p.GetCreationTimestamp().Time, spec: p.Parameters(), schedule: s, status: p.Observation(),
		takes: mayTake(p), removes: mayRemove(p),
	}
	if err := r.machines(ctx, p, v); err != nil {
		return nil, err
	}
	all, err := r.snapshots(ctx, p)
	if err != nil {
		return nil, err
	}
	for _, s := range all {
		v.snapshots = append(v.snapshots, r.seen(p, s))
	}
	return v, nil
}

// machines returns the machines that the policy selects, by name, and stores what is known of all Machines in the view.
func (r *reconciler) machines(ctx context.Context, p Policy, v *view) error {
	selector, err := metav1.LabelSelectorAsSelector(&p.Parameters().MachineSelector)
	if err != nil {
		return errors.Wrap(err, "cannot use machineSelector")
	}
	list, err := r.allMachines(ctx, p, v)
	if err != nil {
		return err
	}
	mayKnow := func(resource.Managed) bool { return true }
	if r.sameTenant != nil {
		sameTenant := r.sameTenant(ctx)
		mayKnow = func(m resource.Managed) bool { same, _ := sameTenant(p, m); return same }
	}
	for _, m := range list {
		if !meta.WasDeleted(m) && selector.Matches(labels.Set(m.GetLabels())) && mayKnow(m) {
			o := m.Observation()
			v.machines = append(v.machines, machine{
				name: m.GetName(), created: m.GetCreationTimestamp().Time, hasVM: o.VMID != nil, pending: o.PendingDisks,
			})
		}
	}
	slices.SortFunc(v.machines, func(a, b machine) int { return cmp.Compare(a.name, b.name) })
	return nil
}

// allMachines returns the Machines of the policy's namespace, and records which of them are rolled back, and whose nodes are offline.
func (r *reconciler) allMachines(ctx context.Context, p Policy, v *view) ([]Machine, error) {
	list, err := listed(ctx, r.Client, r.kinds.Machine.List, p, labels.Everything())
	if err != nil {
		return nil, errors.Wrap(err, "cannot list Machines")
	}
	v.goBack, v.offline, v.uuids = map[string]bool{}, map[string]string{}, map[string]string{}
	var all []Machine
	for _, mg := range list {
		m, ok := mg.(Machine)
		if !ok {
			continue
		}
		all = append(all, m)
		if rollsBack(m) {
			v.goBack[m.GetName()] = true
		}
		v.uuids[m.GetName()] = m.Observation().UUID
		if c := m.GetCondition(xpv2.TypeReady); c.Reason == target.ReasonNodeOffline {
			v.offline[m.GetName()] = string(c.Reason) + because(c.Message)
		}
	}
	return all, nil
}

// rollsBack reports whether the VM of a Machine is being put back to a snapshot or a backup, or is to be. Its snapshots must then stay.
func rollsBack(m Machine) bool {
	o, p := m.Observation(), m.Parameters()
	back, restore := p.Rollback, p.RestoreInPlace
	return o.Lock == "rollback" ||
		back != nil && (o.Rollback == nil || o.Rollback.Token != back.Token || !o.Rollback.State.Final()) ||
		restore != nil && (o.RestoreInPlace == nil || o.RestoreInPlace.Token != restore.Token || !o.RestoreInPlace.State.Final())
}

// snapshots returns the Snapshots that the policy has created: those in the cache, and those that are not there yet.
func (r *reconciler) snapshots(ctx context.Context, p Policy) ([]Snapshot, error) {
	made := labels.SelectorFromSet(labels.Set{labelPolicy: labelOf(p.GetName())})
	if r.issued.begin(p) {
		live, err := listed(ctx, r.Direct, r.kinds.Snapshot.List, p, made)
		if err != nil {
			r.issued.forget(p)
			return nil, errors.Wrap(err, "cannot list Snapshots")
		}
		for _, mg := range live {
			r.issued.created(p, mg.GetName())
		}
	}
	list, err := listed(ctx, r.Client, r.kinds.Snapshot.List, p, made)
	if err != nil {
		return nil, errors.Wrap(err, "cannot list Snapshots")
	}
	there := map[string]bool{}
	for _, mg := range list {
		there[mg.GetName()] = true
		r.issued.see(p, mg)
	}
	for _, name := range r.issued.unseen(p, there) {
		s, err := r.live(ctx, p, name)
		if err != nil {
			return nil, err
		}
		if s != nil {
			list = append(list, s)
		}
	}
	return ours(p, list), nil
}

// live reads a Snapshot that the cache does not have. It returns nil if there is none.
func (r *reconciler) live(ctx context.Context, p Policy, name string) (Snapshot, error) {
	s, ok := r.kinds.Snapshot.Object.DeepCopyObject().(Snapshot)
	if !ok {
		return nil, errors.Errorf("%T is no Snapshot", r.kinds.Snapshot.Object)
	}
	err := r.Direct.Get(ctx, client.ObjectKey{Namespace: p.GetNamespace(), Name: name}, s)
	if kerrors.IsNotFound(err) {
		r.issued.lost(p, name)
		return nil, nil //nolint:nilnil // That there is none is no error.
	}
	return s, errors.Wrapf(err, "cannot get Snapshot %q", name)
}

// ours returns the Snapshots that the policy has created.
func ours(p Policy, list []resource.Managed) []Snapshot {
	var all []Snapshot
	for _, mg := range list {
		s, ok := mg.(Snapshot)
		if !ok {
			continue
		}
		if _, made := runOf(p, s); made {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b Snapshot) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return all
}

// listed returns the resources of a kind in the namespace of the policy. They may belong to the cache, and must not be changed.
func listed(ctx context.Context, from client.Reader, empty resource.ManagedList, p Policy, s labels.Selector) ([]resource.Managed, error) {
	return kind.ListCached(ctx, from, empty, client.InNamespace(p.GetNamespace()), client.MatchingLabelsSelector{Selector: s})
}

func isRetained(s Snapshot) bool {
	return ptr.Deref(s.Parameters().RemovalPolicy, v1alpha1.SnapshotDelete) == v1alpha1.SnapshotRetain
}

// seen returns what the policy needs to know of a Snapshot.
func (r *reconciler) seen(p Policy, s Snapshot) *snapshot {
	run, _ := runOf(p, s)
	found := &snapshot{
		name: s.GetName(), machine: ptr.Deref(s.Parameters().Machine, ""), run: run,
		at: timeOf(s.Observation().Time), state: stateOf(s), retained: isRetained(s),
		vm: s.Observation().VMUUID, since: s.GetCreationTimestamp().Time, offline: target.WaitsForNode(s),
	}
	if at := s.GetDeletionTimestamp(); at != nil {
		found.since = at.Time
	}
	if r.issued.isDeleted(p, s.GetName()) {
		found.state = deleting
	}
	for _, c := range []xpv2.ConditionType{xpv2.TypeReady, xpv2.TypeSynced} {
		if c := s.GetCondition(c); c.Status == corev1.ConditionFalse && found.problem == "" {
			found.problem = string(c.Reason) + because(c.Message)
		}
	}
	return found
}

// Reasons for which a Snapshot is not Ready, as its controller sets them.
const (
	reasonGone       xpv2.ConditionReason = "Gone"
	reasonCreating   xpv2.ConditionReason = "Creating"
	reasonIncomplete xpv2.ConditionReason = "Incomplete"
)

// stateOf returns the state of a Snapshot. One that has a time, or a name in PVE, was taken, and no task works on it.
func stateOf(s Snapshot) state {
	reason := s.GetCondition(xpv2.TypeReady).Reason
	timed, hasName := s.Observation().Time != nil, meta.GetExternalName(s) != ""
	switch {
	case meta.WasDeleted(s):
		return deleting
	case reason == reasonGone:
		return gone
	case s.Observation().ReadyToUse:
		return taken
	case reason == reasonIncomplete:
		return stuck
	case reason == reasonCreating:
		return begun
	case timed && reason != target.ReasonNodeOffline && reason != xpv2.ReasonUnavailable:
		return stuck // For example, another snapshot has its name.
	case timed || hasName:
		return unseen
	}
	return waiting
}
