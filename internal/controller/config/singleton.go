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
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/settings"
)

// A Singular resource stands for an object of which there is exactly one.
type Singular[O any] interface {
	resource.Managed

	Observation() *O
}

// A Singleton describes a kind whose resources each stand for an object that Proxmox VE itself provides, such as a node. Nothing is ever created or
// removed: the object is observed, and the settings that a spec declares are maintained. R is the type of the resources, S the type of the observed
// state, and O the type of what the status shows. Optional fields may be nil.
type Singleton[R Singular[O], S, O any] struct {
	// Kind of the resources, such as ProxmoxNode.
	Kind string

	// Initialize records in the Kubernetes API what a resource stands for. Optional.
	Initialize func(context.Context, Access, R) error

	// Via returns the resource whose provider configuration leads to the cluster. Optional:
	// the resource itself by default.
	Via func(context.Context, Access, R) (resource.Managed, error)

	// Look reads the object. If the object does not exist, it returns a Rejection that explains why. Any other error means that the object cannot be
	// reached.
	Look func(context.Context, Access, R) (S, error)

	// Identify checks that this is the object that the resource has stood for so far. If not, it returns a Rejection.
	Identify func(context.Context, Access, R, S) error

	// StillThere is Identify with a request sent now, for an object that is about to be changed. Optional.
	StillThere func(context.Context, Access, R) error

	// Observe returns what the status shows, given what it showed before.
	Observe func(seen S, before O) O

	// Status returns the fields that every kind has in its status.
	Status func(*O) Status

	// WithoutUsage returns a copy without the parts that change all the time.
	WithoutUsage func(*O) O

	// Problems returns the problems that keep the resource from being ready, after the status was set.
	Problems func(R, S) []kind.Problem

	// Hold reports whether Proxmox VE could not change anything now. Optional.
	Hold func(S) bool

	// Settings that a spec may declare, in groups that are read and written together.
	Settings []Settings[R, S]

	// Overlaps reports whether a resource and an older one must not both make changes.
	Overlaps func(one, older R) bool

	// Words used in messages.
	Words Words

	// Unreachable is called for a resource that cannot be observed, and Gone for one that is no longer observed. Optional.
	Unreachable, Gone func(Access, R)
}

// Settings is a group of settings that are read and written together.
type Settings[R, S any] struct {
	// Declare returns the settings that a spec declares. If there are none, Proxmox VE is
	// not asked.
	Declare func(context.Context, Access, R, S) (settings.Declared, error)

	// Undeclare returns the settings to reset before the resource is deleted. Optional.
	Undeclare func(R) settings.Declared

	// Read reads the settings: their current values if Access.Fresh is set, and recent ones otherwise.
	Read func(context.Context, Access, R) (proxmox.Settings, error)

	// Write applies a change to the settings that were read.
	Write func(context.Context, Access, R, proxmox.Settings, proxmox.Change) error
}

// Status has the fields that the status of every Singleton has.
type Status struct {
	Ready      *bool
	Difference *[]v1alpha1.OptionDifference

	// At is the time of the last observation.
	At **metav1.Time
}

// Words are the texts of a Singleton.
type Words struct {
	// Well is the message of the event that reports that the resource has become ready.
	Well string

	// Claims describes what an older resource does, because of which this one changes nothing.
	Claims string

	// Changed is the reason of events for changes. Set and Reset are the beginnings of their messages.
	Changed    event.Reason
	Set, Reset string
}

// ReasonConflict means that an older resource manages the same object, or that the connection leads to another one than before.
const ReasonConflict xpv2.ConditionReason = "Conflict"

// SetupSingleton returns a function that adds a controller of the kind in one scope to the manager.
func SetupSingleton[R Singular[O], S, O any](t Singleton[R, S, O]) func(ctrl.Manager, kind.Options, kind.Scope) error {
	return func(mgr ctrl.Manager, o kind.Options, s kind.Scope) error {
		id := s.Identity(t.Kind)
		c := &singletonConnector[R, S, O]{table: t, env: newEnv(mgr, o, s, id)}
		k := kind.Kind[R]{Identity: id, External: c}
		if t.Initialize != nil {
			k.Initializers = []managed.Initializer{managed.InitializerFn(c.initialize)}
		}
		return kind.Setup(mgr, o, k)
	}
}

// A singletonConnector creates the external client of each reconcile.
type singletonConnector[R Singular[O], S, O any] struct {
	env

	table Singleton[R, S, O]
}

func (c *singletonConnector[R, S, O]) initialize(ctx context.Context, mg resource.Managed) error {
	r, ok := mg.(R)
	if !ok || meta.WasDeleted(mg) {
		return nil
	}
	return c.table.Initialize(ctx, c.access(nil, false), r)
}

// Connect connects to the cluster. A resource whose deletion changes nothing needs no connection.
func (c *singletonConnector[R, S, O]) Connect(ctx context.Context, r R) (managed.TypedExternalClient[R], error) {
	e := &singleton[R, S, O]{env: c.env, table: c.table, to: c.access(nil, false)}
	if meta.WasDeleted(r) && !slices.ContainsFunc(e.undeclared(r), func(d settings.Declared) bool { return len(d) > 0 }) {
		return e, nil
	}
	if err := e.connect(ctx, r); err != nil {
		e.unreachable(r, err)
		return nil, err
	}
	return e, nil
}

// Conflict returns the problem that an older resource of another scope, namespace or name manages the same object.
func (t Singleton[R, S, O]) Conflict(ctx context.Context, all kind.Conflicts, r R) (*kind.Problem, error) {
	if !kind.Manages(r) {
		return nil, nil
	}
	name, err := all.Older(ctx, r, func(mg resource.Managed) bool {
		older, ok := mg.(R)
		return ok && t.Overlaps(r, older)
	})
	if name == "" || err != nil {
		return nil, err
	}
	return &kind.Problem{
		Reason:  ReasonConflict,
		Message: t.Kind + " " + strings.TrimPrefix(name, "/") + " " + t.Words.Claims + " already, so this one changes nothing: delete one of the two",
	}, nil
}
