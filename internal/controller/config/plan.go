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

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/settings"
)

// ReasonImmutable means that the spec requires a change that is not possible.
const ReasonImmutable xpv2.ConditionReason = "Immutable"

// A plan lists the changes that an object needs.
type plan struct {
	change     proxmox.Change
	secrets    []secretValue // to be written
	findings   Findings
	difference []v1alpha1.OptionDifference
	problems   []kind.Problem

	// fixed are the options that differ and cannot change.
	fixed []string
}

// empty reports whether nothing differs.
func (p plan) empty() bool { return len(p.difference) == 0 }

// split splits the difference into the options that are written and those that stay as they are.
func (p plan) split() (written, stays []v1alpha1.OptionDifference) {
	for _, d := range p.difference {
		if slices.Contains(p.fixed, d.Option) {
			stays = append(stays, d)
		} else {
			written = append(written, d)
		}
	}
	return written, stays
}

// writes reports whether the plan writes anything.
func (p plan) writes() bool {
	return !p.change.Empty() || len(p.secrets) > 0 || p.findings.Apply != nil
}

// tellChanges records an event for each change that was made, with the old and the new value.
func tellChanges(r event.Recorder, mg resource.Managed, reason event.Reason, done string, all []v1alpha1.OptionDifference) {
	for _, d := range all {
		for _, line := range kind.Changes(d.Option, d.Current, d.Desired) {
			r.Event(mg, event.Normal(reason, done+line))
		}
	}
}

// makePlan compares the object, or its absence, with the spec.
func (e *external[P, O]) makePlan(ctx context.Context, mg Resource[P, O], fresh bool) error {
	e.plan = plan{}
	seen := proxmox.Settings{}
	if e.seen != nil {
		seen = e.seen.Settings
	}
	declared, err := e.declare(ctx, mg, fresh)
	if err != nil {
		return err
	}
	change, err := declared.Change(seen)
	if err != nil {
		return err
	}
	e.plan.difference = declared.Differences(change, seen)
	e.plan.change = e.withoutFixed(mg, change, declared)
	if err := e.planSecrets(ctx, mg); err != nil {
		return err
	}
	return e.planFindings(ctx, mg, fresh)
}

// declare returns the options that the spec declares, including those that come from other resources.
func (e *external[P, O]) declare(ctx context.Context, mg Resource[P, O], fresh bool) (settings.Declared, error) {
	declared := e.table.Declare(mg.Parameters())
	if e.table.Resolve == nil {
		return declared, nil
	}
	resolved, err := e.table.Resolve(ctx, e.view(mg, fresh))
	maps.Copy(declared, resolved)
	return declared, err
}

// planSecrets adds the secrets that are to be written.
func (e *external[P, O]) planSecrets(ctx context.Context, mg Resource[P, O]) error {
	var err error
	if e.plan.secrets, err = e.newSecrets(ctx, mg); err != nil {
		return err
	}
	for _, s := range e.plan.secrets {
		e.plan.difference = append(e.plan.difference, s.difference())
	}
	return nil
}

// planFindings adds what the kind observes in addition to the options.
func (e *external[P, O]) planFindings(ctx context.Context, mg Resource[P, O], fresh bool) error {
	if e.table.Inspect == nil {
		return nil
	}
	f, err := e.table.Inspect(ctx, e.view(mg, fresh))
	if err != nil {
		return err
	}
	e.plan.findings = f
	e.plan.difference = append(e.plan.difference, f.Difference...)
	e.plan.problems = append(e.plan.problems, f.Problems...)
	return f.Rejected
}

// withoutFixed returns the change without the options that cannot change. It records those with a problem that names them.
func (e *external[P, O]) withoutFixed(mg Resource[P, O], c proxmox.Change, d settings.Declared) proxmox.Change {
	if e.seen == nil || e.table.Fixed == nil {
		return c
	}
	var fixed []string
	for _, name := range c.Names() {
		if slices.Contains(e.table.Fixed(mg.Parameters()), name) {
			fixed = append(fixed, name)
			delete(c.Set, name)
		}
	}
	c.Delete = slices.DeleteFunc(c.Delete, func(name string) bool { return slices.Contains(fixed, name) })
	if len(fixed) == 0 {
		return c
	}
	is := make([]string, 0, len(fixed))
	for _, shown := range d.Differences(proxmox.Change{Delete: fixed}, e.seen.Settings) {
		is = append(is, shown.Option+" is "+shown.Current)
	}
	e.plan.fixed = fixed
	e.plan.problems = []kind.Problem{{Reason: ReasonImmutable, Message: "options differ that cannot change: " +
		"set the spec to what Proxmox VE has, or create another resource; in Proxmox VE " + strings.Join(is, ", ")}}
	return c
}

// permit returns an error that names the privileges that are missing for a verb.
func (e *external[P, O]) permit(ctx context.Context, mg Resource[P, O], v Verb, more ...proxmox.Privilege) error {
	needed := append(e.table.Privileges(v, e.name, mg.Parameters()), more...)
	return kind.CheckPrivileges(ctx, e.to.Client, string(v)+" "+e.table.Collection.Noun+" "+e.name, needed...)
}

// stillThere returns an error unless a request sent now confirms that the connection leads to the cluster with the object.
func (e *external[P, O]) stillThere(ctx context.Context, mg Resource[P, O]) error {
	in := mg.GetAnnotations()[kind.AnnotationCluster]
	if in == "" {
		return nil
	}
	s, err := e.to.Inventory.ClusterStatus(ctx, inventory.Fresh)
	if proxmox.IsAuthorization(err) {
		return nil
	}
	if err != nil {
		return errors.Wrap(err, "cannot tell which cluster this is")
	}
	if s.Name == in {
		return nil
	}
	return problemError{kind.ClusterMismatch(e.table.Collection.Noun, e.name, in, s.Name)}
}
