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

// Package config is an engine for kinds whose resources each stand for a configuration object of Proxmox VE: an object with a name and options in a
// collection, such as a pool or a storage. A Table describes a kind. The engine lists the collection once for all resources, and creates, changes and
// removes objects. It enforces the rules that hold for every kind: an object belongs to one resource, only declared options are managed, an object in
// use is not removed, and one object remains if the provider is killed at any point.
//
// The files follow a reconcile. setup.go connects, observe.go finds the object and its owner, plan.go compares it with the spec, and change.go
// creates, changes and removes it. secrets.go handles the options that Proxmox VE never shows.
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

// An Observation is the observed state of an object, a part of which all kinds share.
type Observation interface {
	Common() *v1alpha1.ObjectObservation
}

// A Resource of a kind, of either scope.
type Resource[P any, O Observation] interface {
	resource.Managed

	Parameters() *P
	Observation() O
}

// A Verb is an operation on an object.
type Verb string

// Verbs.
const (
	See    Verb = "see"
	Create Verb = "create"
	Update Verb = "change"
	Delete Verb = "delete"
)

// A Table describes a kind. Optional fields may be nil.
type Table[P any, O Observation] struct {
	// Kind of the resources, such as Pool.
	Kind string

	// Collection that contains the objects.
	Collection proxmox.Collection

	// In returns the collection of a resource, for a kind whose objects are in a collection of each node. Only the noun of Collection is then used.
	// Optional.
	In func(*P) proxmox.Collection

	// Name returns the name that a spec gives the object. If it is nil, the object has the name of the resource.
	Name func(*P) *string

	// Declare returns the options that a spec declares. One entry serves to write and to compare each option.
	Declare func(*P) settings.Declared

	// Resolve returns declared options whose values come from other resources, such as VMIDs of Machines. Optional.
	Resolve func(context.Context, View[P, O]) (settings.Declared, error)

	// Computed are values that Proxmox VE reports in addition to the options, such as the next run of a job. They are not shown among the options.
	// Optional.
	Computed []string

	// Fixed returns the options that cannot change once the object exists. Optional.
	Fixed func(*P) []string

	// Implied are options that Proxmox VE adds to an object when it creates it. Optional.
	Implied []string

	// Secrets are the options that Proxmox VE never shows. Optional.
	Secrets []Secret[P]

	// Complete returns a change with what Proxmox VE requires in addition to the differences. Optional.
	Complete func(View[P, O], proxmox.Change) proxmox.Change

	// Staged is set for a kind whose changes wait until they are applied. Optional.
	Staged *Staged[P, O]

	// Kept reports whether the object stays when the resource is deleted. Optional.
	Kept func(*P) bool

	// Privileges returns the privileges that a verb needs.
	Privileges func(v Verb, name string, p *P) []proxmox.Privilege

	// Inspect checks what the options do not show, when the object exists and before it is created. Optional.
	Inspect func(context.Context, View[P, O]) (Findings, error)

	// Users returns the users of the object, each as words for a sentence. An object in use is not removed. Optional.
	Users func(context.Context, View[P, O]) ([]string, error)

	// UsersKnown is true if Users makes few requests while nothing changes. It is then called again soon, without backoff.
	UsersKnown bool
}

// Staged describes how changes are staged that wait until they are applied. For an existing object, Findings contain the function that applies them.
type Staged[P any, O Observation] struct {
	// Write makes a change by calling the given function.
	Write func(context.Context, View[P, O], Verb, proxmox.Change, func(context.Context) error) error

	// Removing reports whether the removal of the object is only staged.
	Removing func(context.Context, View[P, O]) (bool, error)

	// Apply applies the staged changes.
	Apply func(context.Context, View[P, O]) error
}

// Access to a cluster.
type Access struct {
	// Fresh requires current data, because something is about to be changed.
	Fresh bool

	// Client of the cluster, its Inventory, and Kube, the Kubernetes API.
	Client    *proxmox.Client
	Inventory *inventory.Cluster
	Kube      client.Client

	// Scope of the resource.
	Scope kind.Scope

	// Metrics of the provider.
	Metrics *metrics.Metrics

	// Now returns the time.
	Now func() time.Time
}

// A View is the input of the functions of a Table.
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

// MaxAge returns how old data may be: the given age, or zero if current data is required.
func (a Access) MaxAge(age time.Duration) time.Duration {
	if a.Fresh {
		return inventory.Fresh
	}
	return age
}

// Findings hold what a kind observes in addition to the options of an object.
type Findings struct {
	// Difference in addition to that of the options. Without Apply it is only shown.
	Difference []v1alpha1.OptionDifference

	// Problems that keep the resource from being ready.
	Problems []kind.Problem

	// Unsure means that the data may be too old. It is read again, and inspected with Fresh set.
	Unsure bool

	// Rejected is why the spec cannot be put into effect. Nothing is then written.
	Rejected error

	// Privileges that Apply needs.
	Privileges []proxmox.Privilege

	// Apply resolves the difference, after the options were changed. Optional.
	Apply func(context.Context) error

	// BeforeDelete removes what this resource has added to the object. Optional.
	BeforeDelete func(context.Context) error
}
