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

// Package config is an engine for kinds whose resources each stand for a configuration
// object of Proxmox VE: something with a name and options in a collection, such as a pool
// or a storage. A kind is a Table. The engine lists the collection once for all
// resources, creates, changes and removes objects, and keeps the rules that hold for
// every kind: whose an object is, that only declared options are managed, that nothing in
// use is removed, and that a death of the provider at any point leaves one object.
//
// The files follow a reconcile: setup.go connects, observe.go finds the object and whose
// it is, plan.go compares it with the spec, and change.go creates, changes and removes
// it. secrets.go has the options that Proxmox VE never shows.
package config

import (
	"context"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/metrics"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/settings"
)

// An Observation is what is seen of an object, a part of which all kinds have.
type Observation interface {
	Common() *v1alpha1.ObjectObservation
}

// A Resource of a kind, of either scope.
type Resource[P any, O Observation] interface {
	resource.Managed

	Parameters() *P
	Observation() O
}

// A Verb is something that is done to an object.
type Verb string

// Verbs.
const (
	See    Verb = "see"
	Create Verb = "create"
	Update Verb = "change"
	Delete Verb = "delete"
)

// A Table describes a kind. What is optional may be nil.
type Table[P any, O Observation] struct {
	// Kind of the resources, such as Pool.
	Kind string

	// Collection in which the objects are.
	Collection proxmox.Collection

	// In returns the collection of a resource, for a kind whose objects are in a
	// collection of each node. Of Collection only the noun counts then. Optional.
	In func(*P) proxmox.Collection

	// Name returns the name that a spec gives the object. Nil stands for the name of
	// the resource.
	Name func(*P) *string

	// Declare returns the options that a spec declares: each is written and compared
	// by the same entry.
	Declare func(*P) settings.Declared

	// Resolve returns declared options whose values are those of other resources, such as
	// VMIDs of Machines. Optional.
	Resolve func(context.Context, View[P, O]) (settings.Declared, error)

	// Computed are what Proxmox VE tells beside the options, such as when a job runs next.
	// They are not shown among the options. Optional.
	Computed []string

	// Fixed returns the options that cannot change once the object exists. Optional.
	Fixed func(*P) []string

	// Implied options are those that Proxmox VE adds to what it is asked to create.
	// Optional.
	Implied []string

	// Secrets are the options that Proxmox VE never shows. Optional.
	Secrets []Secret[P]

	// Complete returns a change with what Proxmox VE wants beside what differs. Optional.
	Complete func(View[P, O], proxmox.Change) proxmox.Change

	// Staged is set for a kind whose changes wait until they are applied. Optional.
	Staged *Staged[P, O]

	// Kept reports whether the object stays when the resource is deleted. Optional.
	Kept func(*P) bool

	// Privileges that a verb needs.
	Privileges func(v Verb, name string, p *P) []proxmox.Privilege

	// Inspect looks at what the options do not tell, when the object exists and before
	// it is created. Optional.
	Inspect func(context.Context, View[P, O]) (Findings, error)

	// Users returns who uses the object, each as words for a sentence. An object in
	// use is not removed. Optional.
	Users func(context.Context, View[P, O]) ([]string, error)

	// UsersKnown says that Users asks few questions while nothing changes, so that they are looked for again soon, and not with backoff.
	UsersKnown bool
}

// Staged says how changes are staged that wait until they are applied. What applies those of
// an object that is there is in its Findings.
type Staged[P any, O Observation] struct {
	// Write makes a change by calling the function that is given.
	Write func(context.Context, View[P, O], Verb, proxmox.Change, func(context.Context) error) error

	// Removing reports whether the object is only staged to be removed.
	Removing func(context.Context, View[P, O]) (bool, error)

	// Apply what is staged.
	Apply func(context.Context, View[P, O]) error
}

// Access to a cluster.
type Access struct {
	// Fresh asks for what is read now: something is about to be changed.
	Fresh bool

	// Client of the cluster, its Inventory, and Kube, the Kubernetes API.
	Client    *proxmox.Client
	Inventory *inventory.Cluster
	Kube      client.Client

	// Scope of the resource.
	Scope kind.Scope

	// Metrics of the provider.
	Metrics *metrics.Metrics

	// Now tells the time.
	Now func() time.Time
}

// A View is what the functions of a Table may look at.
type View[P any, O Observation] struct {
	Access

	// Resource that stands for the object.
	Resource Resource[P, O]

	// Name of the object.
	Name string

	// Exists is false for an object that is to be created.
	Exists bool

	// Seen are the options of an object that exists.
	Seen proxmox.Settings

	// Endpoints of the provider configuration.
	Endpoints []string

	// SpecCounts returns a function that reports whether the spec of another resource counts for this one.
	SpecCounts func(context.Context) func(resource.Managed) bool
}

// MaxAge returns how old what is looked at may be: the age that is given, or none at all
// for a fresh look.
func (a Access) MaxAge(age time.Duration) time.Duration {
	if a.Fresh {
		return inventory.Fresh
	}
	return age
}

// Findings are what a kind sees beside the options of an object.
type Findings struct {
	// Difference beside that of the options. Without Apply it is only shown.
	Difference []v1alpha1.OptionDifference

	// Problems that keep the resource from being ready.
	Problems []kind.Problem

	// Unsure means that what was read may be too old to tell: it is read again, and inspected by a fresh look.
	Unsure bool

	// Rejected is why the spec cannot be put into effect. Nothing is written then.
	Rejected error

	// Privileges that Apply needs.
	Privileges []proxmox.Privilege

	// Apply puts the difference right, after the options were changed. Optional.
	Apply func(context.Context) error

	// BeforeDelete takes away what this resource has added to the object. Optional.
	BeforeDelete func(context.Context) error
}
