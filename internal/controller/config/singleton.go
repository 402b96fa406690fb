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

// A Singular resource stands for something of which there is exactly one.
type Singular[O any] interface {
	resource.Managed

	Observation() *O
}

// A Singleton describes a kind whose resources each stand for something that Proxmox VE has
// by itself, such as a node. Nothing is ever created or removed: it is looked at, and the
// settings that a spec declares are kept. R are the resources, S is what is seen of one, and
// O what its status shows. What is optional may be nil.
type Singleton[R Singular[O], S, O any] struct {
	// Kind of the resources, such as ProxmoxNode.
	Kind string

	// Initialize writes down in the Kubernetes API what a resource stands for. Optional.
	Initialize func(context.Context, Access, R) error

	// Via returns the resource whose provider configuration leads to the cluster. Optional:
	// the resource itself by default.
	Via func(context.Context, Access, R) (resource.Managed, error)

	// Look at it. Without it there is nothing: a Rejection says why, and any other error is
	// that it cannot be reached.
	Look func(context.Context, Access, R) (S, error)

	// Identify makes sure that this is what the resource has stood for so far: if not, it
	// returns a Rejection.
	Identify func(context.Context, Access, R, S) error

	// StillThere is Identify for what is about to be changed, which is asked now. Optional.
	StillThere func(context.Context, Access, R) error

	// Observe returns what the status shows, given what it showed before.
	Observe func(seen S, before O) O

	// Status returns what every kind has in its status.
	Status func(*O) Status

	// WithoutUsage returns a copy without what changes all the time.
	WithoutUsage func(*O) O

	// Problems that keep the resource from being ready, once the status shows what is seen.
	Problems func(R, S) []kind.Problem

	// Hold reports whether Proxmox VE could not change anything now. Optional.
	Hold func(S) bool

	// Settings that a spec may declare, each with those that are read and written with them.
	Settings []Settings[R, S]

	// Overlaps reports whether a resource and an older one must not both change things.
	Overlaps func(one, older R) bool

	// Words of messages.
	Words Words

	// Unreachable is told of a resource that cannot be looked at, and Gone of one that is not
	// looked at any more. Optional.
	Unreachable, Gone func(Access, R)
}

// Settings are read and written together.
type Settings[R, S any] struct {
	// Declare returns the settings that a spec declares. If there are none, Proxmox VE is
	// not asked.
	Declare func(context.Context, Access, R, S) (settings.Declared, error)

	// Undeclare returns those to reset before the resource goes. Optional.
	Undeclare func(R) settings.Declared

	// Read the settings: as they are now for a fresh look, and else as they were not long ago.
	Read func(context.Context, Access, R) (proxmox.Settings, error)

	// Write a change to the settings that were read.
	Write func(context.Context, Access, R, proxmox.Settings, proxmox.Change) error
}

// Status is what the status of every Singleton has.
type Status struct {
	Ready      *bool
	Difference *[]v1alpha1.OptionDifference

	// At is when it was last looked at.
	At **metav1.Time
}

// Words of a Singleton.
type Words struct {
	// Well is what an event says when the resource becomes ready.
	Well string

	// Claims is what an older resource does, so that this one changes nothing.
	Claims string

	// Changed is the reason of events of changes, of which Set and Reset are the beginnings.
	Changed    event.Reason
	Set, Reset string
}

// ReasonConflict means that an older resource manages the same, or that the connection leads
// somewhere else than before.
const ReasonConflict xpv2.ConditionReason = "Conflict"

// SetupSingleton returns what adds a controller of the kind in one scope to the manager.
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

// A singletonConnector makes the external of each reconcile.
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

// Conflict returns the problem that an older resource of another scope, namespace or name
// manages the same.
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
