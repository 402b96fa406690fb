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

package node

import (
	"context"
	"strconv"
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
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// An external looks after one node during one reconcile.
type external struct {
	client    Client // Nil if nothing will be asked.
	inventory Inventory
	peers     kind.Conflicts
	record    event.Recorder
	now       func() time.Time

	// plan is what Observe found to be done.
	plan plan
}

// Observe looks at the node. One that does not exist is an error: nodes are not
// created here. One that is offline is not asked anything.
func (e *external) Observe(ctx context.Context, n Node) (managed.ExternalObservation, error) {
	if meta.WasDeleted(n) {
		return managed.ExternalObservation{}, nil
	}
	s, err := e.readNode(ctx, meta.GetExternalName(n))
	if err != nil {
		e.setReady(n, unready(err), nil)
		return managed.ExternalObservation{}, err
	}
	if err := s.stays(n.Observation().ClusterName); err != nil {
		e.setReady(n, kind.Ready(kind.Problem{Reason: ReasonConflict, Message: err.Error()}), nil)
		return managed.ExternalObservation{}, err
	}
	conflict, err := e.conflict(ctx, n, s)
	if err != nil {
		return managed.ExternalObservation{}, err
	}
	var problems []kind.Problem
	if !s.node.Online() {
		problems = append(problems, kind.Problem{Reason: ReasonOffline, Message: "node " + strconv.Quote(s.node.Name) + " is " + s.node.Status})
	}
	if conflict != nil {
		problems = append(problems, *conflict)
	}
	if s.node.Online() {
		err = e.makePlan(ctx, n, s.node.Name, proxmox.Version{Version: s.status.Version})
	}
	settle(n.Observation(), s.observation(*n.Observation(), e.plan.differences), e.now())
	e.setReady(n, kind.Ready(problems...), err)
	return managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: e.plan.empty() || conflict != nil}, err
}

// conflict is the problem that an older ProxmoxNode stands for the same node: one of
// the same namespace, or one that manages settings as this one does. Others may
// have rules of their own for their VMs.
func (e *external) conflict(ctx context.Context, n Node, s *view) (*kind.Problem, error) {
	if s.fingerprint == "" || !kind.Manages(n) {
		return nil, nil
	}
	name, err := e.peers.Older(ctx, n, func(other resource.Managed) bool {
		o, ok := other.(Node)
		return ok && o.Observation().NodeName == s.node.Name && o.Observation().Fingerprint == s.fingerprint &&
			(o.GetNamespace() == n.GetNamespace() || hasSettings(o.Parameters()) && hasSettings(n.Parameters()))
	})
	if name == "" || err != nil {
		return nil, err
	}
	return &kind.Problem{
		Reason:  ReasonConflict,
		Message: "ProxmoxNode " + strings.TrimPrefix(name, "/") + " stands for this node already, so this one changes nothing",
	}, nil
}

// Create is for nothing: a node that does not exist is an error of Observe.
func (e *external) Create(context.Context, Node) (managed.ExternalCreation, error) {
	return managed.ExternalCreation{}, errors.New("a ProxmoxNode stands for a node that exists: it cannot be created")
}

// Update changes the settings that Observe found to be different.
func (e *external) Update(ctx context.Context, n Node) (managed.ExternalUpdate, error) {
	if err := e.carryOut(ctx, meta.GetExternalName(n)); err != nil {
		return managed.ExternalUpdate{}, err
	}
	n.Observation().Difference = nil
	e.record.Event(n, event.Normal("ChangedSettings", "settings changed in Proxmox VE: "+strings.Join(e.plan.options(), ", ")))
	return managed.ExternalUpdate{}, nil
}

// Delete is for nothing: nobody deletes a node.
func (e *external) Delete(context.Context, Node) (managed.ExternalDelete, error) {
	return managed.ExternalDelete{}, nil
}

// Disconnect does nothing: connections are shared.
func (e *external) Disconnect(context.Context) error { return nil }

// absentError says that there is no such node.
type absentError struct{ error }

// unready is the condition Ready for a node that cannot be looked at.
func unready(err error) xpv2.Condition {
	if errors.As(err, &absentError{}) {
		return kind.Ready(kind.Problem{Reason: ReasonNotFound, Message: err.Error()})
	}
	return xpv2.Unavailable().WithMessage(err.Error())
}

// setReady shows whether the node is ready, with an event if that is new, and up to date: not
// while it differs from the spec, or cannot be changed for an error.
func (e *external) setReady(n Node, ready xpv2.Condition, err error) {
	before := n.GetCondition(xpv2.TypeReady)
	n.Observation().Ready = ready.Status == corev1.ConditionTrue
	upToDate := kind.UpToDateIf(ready, n.Observation().Difference, err)
	n.SetConditions(ready.WithObservedGeneration(n.GetGeneration()), upToDate.WithObservedGeneration(n.GetGeneration()))
	kind.Announce(e.record, n, before, ready, "the node is online")
}
