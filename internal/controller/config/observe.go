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

package config

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/settings"
)

// A problemError is a problem that ends a reconcile.
type problemError struct{ kind.Problem }

func (p problemError) Error() string { return p.Message }

// Rejection returns a problem, because of which a change is rejected, as an error.
func Rejection(p kind.Problem) error { return problemError{p} }

func isRejection(err error) bool { return errors.As(err, &problemError{}) }

// unready returns the condition Ready of an object that cannot be managed.
func unready(err error) xpv2.Condition {
	if p := (problemError{}); errors.As(err, &p) {
		return kind.Ready(p.Problem)
	}
	return xpv2.Unavailable().WithMessage(err.Error())
}

// Observe finds the object, determines who owns it, and compares it with the spec.
func (e *external[P, O]) Observe(ctx context.Context, mg Resource[P, O]) (managed.ExternalObservation, error) {
	if e.to == nil {
		return managed.ExternalObservation{}, nil
	}
	o, err := e.observe(ctx, mg)
	if err != nil {
		e.showError(mg, err)
	}
	return o, err
}

func (e *external[P, O]) observe(ctx context.Context, mg Resource[P, O]) (managed.ExternalObservation, error) {
	if err := e.setName(mg); err != nil {
		return managed.ExternalObservation{}, err
	}
	if err := e.checkCluster(ctx, mg); err != nil {
		return managed.ExternalObservation{}, err
	}
	if err := e.find(ctx, mg, meta.WasDeleted(mg)); err != nil {
		return managed.ExternalObservation{}, err
	}
	switch {
	case e.nodeGone && !meta.WasDeleted(mg):
		return managed.ExternalObservation{}, errors.Errorf("node %q does not exist: delete this resource, and create one for another node", e.in(mg).Node)
	case e.nodeGone:
		return managed.ExternalObservation{}, nil // It was deleted with its node, staged or not.
	case e.seen == nil:
		return e.absent(ctx, mg)
	}
	problem, err := e.claim(ctx, mg)
	if err != nil {
		return managed.ExternalObservation{}, err
	}
	if meta.WasDeleted(mg) {
		kept := e.table.Kept != nil && e.table.Kept(mg.Parameters())
		return managed.ExternalObservation{ResourceExists: problem == nil && !kept, ResourceUpToDate: true}, nil
	}
	return e.compare(ctx, mg, problem)
}

// setName determines the name of the object: the external name, or the name in the spec, which defaults to the name of the resource.
func (e *external[P, O]) setName(mg Resource[P, O]) error {
	e.name = meta.GetExternalName(mg)
	declared := e.table.Name(mg.Parameters())
	switch {
	case e.name == "" && declared == nil:
		e.name = mg.GetName()
	case e.name == "":
		e.name = *declared
	case declared != nil && *declared != e.name:
		return errors.Errorf(
			"the spec names %s %q, but this resource stands for %q, its external name: a %s cannot be renamed, so set the name back, or create another resource",
			e.table.Collection.Noun, *declared, e.name, e.table.Collection.Noun)
	}
	if was := e.owned(mg); was != "" && was != e.name {
		return errors.Errorf(
			"the external name is that of %s %q, but this resource stands for %q: set the annotation %s back to that, or create another resource for %q",
			e.table.Collection.Noun, e.name, was, meta.AnnotationKeyExternalName, e.name)
	}
	return nil
}

// owned returns the name of the object that belongs to this resource, or an empty name if none is known to. A resource that was managed by an earlier
// version has no annotation for it yet. Its status then has the name, if the cluster was recorded.
func (e *external[P, O]) owned(mg Resource[P, O]) string {
	a := mg.GetAnnotations()
	if a[kind.AnnotationOwned] == "" && a[kind.AnnotationCluster] != "" {
		return mg.Observation().Common().Name
	}
	return a[kind.AnnotationOwned]
}

// checkCluster returns an error if the connection leads to another cluster than the one with the object.
func (e *external[P, O]) checkCluster(ctx context.Context, mg Resource[P, O]) error {
	name, err := e.to.Inventory.ClusterName(ctx)
	if proxmox.IsAuthorization(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if in := mg.GetAnnotations()[kind.AnnotationCluster]; in != "" && in != name {
		return problemError{kind.ClusterMismatch(e.table.Collection.Noun, e.name, in, name)}
	}
	mg.Observation().Common().Cluster = name
	return nil
}

// find finds the object in the list of the collection. Its absence counts only in a list that was just read, and if the user may see the object.
func (e *external[P, O]) find(ctx context.Context, mg Resource[P, O], fresh bool) error {
	if meta.WasDeleted(mg) && mg.GetAnnotations()[kind.AnnotationRemoved] == e.name {
		return nil // The object that has the name now is another one.
	}
	if !fresh {
		if err := e.read(ctx, mg, knownFor); err != nil || e.seen != nil || e.nodeGone {
			return err
		}
	}
	if err := e.read(ctx, mg, inventory.Fresh); err != nil || e.seen != nil || e.nodeGone {
		return err
	}
	return e.permit(ctx, mg, See)
}

// knownFor is how old the list of a collection may be for an observation.
const knownFor = time.Minute

// read reads the object from a list that is at most maxAge old.
func (e *external[P, O]) read(ctx context.Context, mg Resource[P, O], maxAge time.Duration) error {
	e.seen = nil
	all, err := e.to.Inventory.Objects(ctx, e.in(mg), maxAge)
	if err != nil && e.lacksNode(ctx, mg) {
		e.nodeGone = true
		return nil
	}
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(all, func(o proxmox.Object) bool { return o.Name == e.name }); i >= 0 {
		e.seen = &all[i]
	}
	return nil
}

// lacksNode reports whether the node of the collection is not a member of its cluster, according to a current status that counts: see
// inventory.QuorateStatus. An object that was never seen in a cluster no longer exists either if a standalone node does not have its node.
func (e *external[P, O]) lacksNode(ctx context.Context, mg Resource[P, O]) bool {
	node := e.in(mg).Node
	if node == "" {
		return false
	}
	s, reason, err := inventory.QuorateStatus(ctx, e.to.Inventory)
	standalone := s.Standalone && mg.GetAnnotations()[kind.AnnotationCluster] == ""
	return err == nil && (reason == "" || standalone) && len(s.Nodes) > 0 && !s.HasNode(node)
}

// absent returns the observation of an object that does not exist. Obstacles to its creation are found here, where conditions can show them.
func (e *external[P, O]) absent(ctx context.Context, mg Resource[P, O]) (managed.ExternalObservation, error) {
	if meta.WasDeleted(mg) {
		removing, err := e.removing(ctx, mg)
		return managed.ExternalObservation{ResourceExists: removing, ResourceUpToDate: true}, err
	}
	common := mg.Observation().Common()
	common.Name, common.Observed = e.name, nil
	owner, err := e.olderClaim(ctx, mg, true)
	if err != nil {
		return managed.ExternalObservation{}, err
	}
	if owner != "" {
		return managed.ExternalObservation{}, problemError{kind.OwnershipConflict(e.table.Collection.Noun, e.name, owner)}
	}
	err = e.makePlan(ctx, mg, true)
	common.Difference = e.plan.difference
	if err != nil {
		return managed.ExternalObservation{}, err
	}
	e.show(mg, xpv2.Creating(), kind.UpToDate(common.Difference))
	return managed.ExternalObservation{}, nil
}

// removing reports whether the removal of the object is only staged.
func (e *external[P, O]) removing(ctx context.Context, mg Resource[P, O]) (bool, error) {
	if e.table.Staged == nil || !kind.MayChange(mg) {
		return false, nil
	}
	return e.table.Staged.Removing(ctx, e.view(mg, true))
}

// claim determines whether the object belongs to this resource. If not, it returns that problem.
func (e *external[P, O]) claim(ctx context.Context, mg Resource[P, O]) (*kind.Problem, error) {
	if !kind.MayChange(mg) {
		return nil, nil // The resource only observes.
	}
	named := meta.GetExternalName(mg) != ""
	if !named && !e.created(mg) {
		p := kind.AlreadyExists(e.table.Collection.Noun, e.name)
		return &p, kind.DropIntent(ctx, e.kube, mg)
	}
	owner, err := e.olderClaim(ctx, mg, false)
	if err != nil {
		return nil, err
	}
	if owner != "" {
		p := kind.OwnershipConflict(e.table.Collection.Noun, e.name, owner)
		return &p, nil
	}
	return nil, e.own(ctx, mg, named)
}

// created reports whether this resource has created the object and lost the answer. The object must be exactly as intended.
func (e *external[P, O]) created(mg resource.Managed) bool {
	i, ok := kind.IntentOf(mg)
	if !ok || i.Name != e.name {
		return false
	}
	for option, value := range i.Options {
		if seen := e.seen.Values[option]; seen != value && !settings.SameList(seen, value) {
			return false
		}
	}
	for option := range e.seen.Values {
		if _, intended := i.Options[option]; !intended && !e.implied(option) {
			return false
		}
	}
	return true
}

// implied reports whether Proxmox VE adds an option to the object when it creates it.
func (e *external[P, O]) implied(option string) bool {
	return slices.Contains(e.table.Implied, option) || slices.Contains(e.table.Computed, option)
}

// own records that the object belongs to this resource, and where it is.
func (e *external[P, O]) own(ctx context.Context, mg Resource[P, O], named bool) error {
	a := mg.GetAnnotations()
	_, intends := a[kind.AnnotationIntent]
	known := a[kind.AnnotationCluster] != "" || mg.Observation().Common().Cluster == ""
	if named && !intends && known && a[kind.AnnotationOwned] != "" {
		return nil
	}
	adopts := named && !intends && !e.managedBefore(mg)
	versions, err := e.secretVersions(ctx, mg, adopts)
	if err != nil {
		return err
	}
	if err := kind.Own(ctx, e.kube, mg, e.name, e.ownAnnotations(mg, versions)); err != nil {
		return err
	}
	if adopts {
		e.record.Event(mg, event.Normal("Adopted", e.table.Collection.Noun+" "+e.name+" is managed by this resource from now on"))
	}
	return nil
}

// managedBefore reports whether the object belonged to this resource before it had all annotations about that. An earlier version recorded nothing
// for a standalone node.
func (e *external[P, O]) managedBefore(mg Resource[P, O]) bool {
	a, common := mg.GetAnnotations(), mg.Observation().Common()
	refused := slices.Contains([]xpv2.ConditionReason{kind.ReasonAlreadyExists, kind.ReasonOwnershipConflict}, mg.GetCondition(xpv2.TypeReady).Reason)
	return a[kind.AnnotationCluster] != "" || a[kind.AnnotationOwned] != "" || common.Cluster == "" && common.Name != "" && !refused
}

// ownAnnotations returns the annotations of a resource to which the object belongs.
func (e *external[P, O]) ownAnnotations(mg Resource[P, O], further map[string]string) map[string]string {
	all := maps.Clone(further)
	if all == nil {
		all = map[string]string{}
	}
	all[kind.AnnotationOwned] = e.name
	if name := mg.Observation().Common().Cluster; name != "" && mg.GetAnnotations()[kind.AnnotationCluster] == "" {
		all[kind.AnnotationCluster] = name
	}
	return all
}

// olderClaim returns the name of an older resource that has the object, or is to create it.
func (e *external[P, O]) olderClaim(ctx context.Context, mg Resource[P, O], creating bool) (string, error) {
	if !kind.MayChange(mg) {
		return "", nil
	}
	same, isolation := e.sameCluster(ctx, mg), e.connections.Isolation(ctx, e.to)
	name, err := e.conflicts.Older(ctx, mg, func(other resource.Managed) bool {
		o, ok := other.(Resource[P, O])
		return ok && e.claims(o, creating) && same(o) && isolation.SpecCounts(mg, o)
	})
	return strings.TrimPrefix(name, "/"), err
}

// claims reports whether another resource has an object of this name or, if it is yet to be created, would create it.
func (e *external[P, O]) claims(other Resource[P, O], creating bool) bool {
	if name := meta.GetExternalName(other); name != "" || !creating {
		return name == e.name
	}
	if declared := e.table.Name(other.Parameters()); declared != nil {
		return *declared == e.name
	}
	return other.GetName() == e.name
}

// compare compares the object with the spec. If cached data shows a difference, or the kind is unsure, the object is read again first.
func (e *external[P, O]) compare(ctx context.Context, mg Resource[P, O], problem *kind.Problem) (managed.ExternalObservation, error) {
	err := e.makePlan(ctx, mg, false)
	if err == nil && (!e.plan.empty() || e.plan.findings.Unsure) {
		if err = e.find(ctx, mg, true); err == nil && e.seen != nil {
			err = e.makePlan(ctx, mg, true)
		}
	}
	if e.seen == nil {
		return managed.ExternalObservation{}, err
	}
	common := mg.Observation().Common()
	common.Name, common.Observed, common.Difference = e.name, e.options(), e.plan.difference
	if err != nil {
		return managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: true}, err
	}
	problems := e.plan.problems
	if problem != nil {
		problems = slices.Insert(slices.Clone(problems), 0, *problem)
	}
	e.show(mg, kind.Ready(problems...), kind.UpToDate(common.Difference, problems...))
	return managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: problem != nil || !e.plan.writes()}, nil
}

// options returns the options that are set on the object.
func (e *external[P, O]) options() map[string]string {
	all := maps.Clone(e.seen.Values)
	for _, name := range e.table.Computed {
		delete(all, name)
	}
	return all
}

// showError shows why the object cannot be managed.
func (e *external[P, O]) showError(mg Resource[P, O], err error) {
	if p := (problemError{}); errors.As(err, &p) {
		e.show(mg, unready(err), kind.UpToDate(nil, p.Problem))
		return
	}
	e.show(mg, unready(err), unknown(err))
}

// unknown returns the condition UpToDate of an object that cannot be observed.
func unknown(err error) xpv2.Condition {
	c := kind.UpToDate(nil)
	c.Status, c.Reason, c.Message = corev1.ConditionUnknown, xpv2.ReasonUnavailable, err.Error()
	return c
}

// show sets the conditions, and records an event if the resource becomes ready or is no longer ready.
func (e *external[P, O]) show(mg Resource[P, O], ready, upToDate xpv2.Condition) {
	before := mg.GetCondition(xpv2.TypeReady)
	mg.SetConditions(ready.WithObservedGeneration(mg.GetGeneration()), upToDate.WithObservedGeneration(mg.GetGeneration()))
	kind.Announce(e.record, mg, before, ready, "the "+e.table.Collection.Noun+" is there")
}
