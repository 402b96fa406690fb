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

package cluster

import (
	"context"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/metrics"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/settings"
)

// An external looks after one cluster during one reconcile.
type external struct {
	client    Client // Nil if nothing will be asked.
	inventory Inventory
	kube      client.Client
	peers     kind.Conflicts
	metrics   *metrics.Metrics
	record    event.Recorder
	now       func() time.Time

	// change is what Observe found to be done.
	change proxmox.Change
}

// Observe looks at the cluster. It exists as soon as it answers: nothing is ever
// created.
func (e *external) Observe(ctx context.Context, m Cluster) (managed.ExternalObservation, error) {
	if meta.WasDeleted(m) {
		return e.leaving(ctx, m)
	}
	s, err := e.readCluster(ctx, m.Parameters().Networks)
	if err != nil {
		e.unreachable(m, err)
		return managed.ExternalObservation{}, err
	}
	if err := e.adopt(ctx, m, s); err != nil {
		return managed.ExternalObservation{}, err
	}
	e.metrics.ClusterReached(nameOf(m), s.online())
	return e.findProblems(ctx, m, s)
}

// findProblems what is seen of the cluster by what is expected of it.
func (e *external) findProblems(ctx context.Context, m Cluster, s *view) (managed.ExternalObservation, error) {
	seen := s.observation()
	problems := append(s.problems(), s.missing(m.Parameters(), seen)...)
	conflict, err := e.conflict(ctx, m, seen.Nodes)
	if err != nil {
		return managed.ExternalObservation{}, err
	}
	if conflict != nil {
		problems = append(problems, *conflict)
	}
	err = e.compare(ctx, m, s, &seen)
	settle(m.Observation(), seen, e.now())
	e.setReady(m, kind.Ready(problems...), err)
	return managed.ExternalObservation{
		ResourceExists:   true,
		ResourceUpToDate: e.change.Empty() || conflict != nil || !s.status.Quorate,
	}, err
}

// adopt gives the resource the cluster's name as its external name. Another one
// means that the connection leads somewhere else than before.
func (e *external) adopt(ctx context.Context, m Cluster, s *view) error {
	switch name := meta.GetExternalName(m); name {
	case s.name():
		return nil
	case "":
		return kind.Annotate(ctx, e.kube, m, map[string]string{meta.AnnotationKeyExternalName: s.name()})
	default:
		err := clusterMismatch(m, s.name())
		e.metrics.ClusterUnreachable(nameOf(m))
		e.setReady(m, kind.Ready(kind.Problem{Reason: ReasonConflict, Message: err.Error()}), nil)
		return err
	}
}

// clusterMismatch says that the connection leads to another cluster than the resource's.
func clusterMismatch(m Cluster, name string) error {
	return errors.Errorf("the provider configuration leads to cluster %q, not to %q, which is the external name", name, meta.GetExternalName(m))
}

// conflict is the problem that an older ProxmoxCluster manages the options of the
// same PVE cluster.
func (e *external) conflict(ctx context.Context, m Cluster, nodes []v1alpha1.ProxmoxClusterNode) (*kind.Problem, error) {
	if m.Parameters().Options == nil || !kind.Manages(m) {
		return nil, nil
	}
	name, err := e.peers.Older(ctx, m, func(other resource.Managed) bool {
		o, ok := other.(Cluster)
		return ok && o.Parameters().Options != nil && sameCluster(o.Observation().Nodes, nodes)
	})
	if name == "" || err != nil {
		return nil, err
	}
	return &kind.Problem{
		Reason:  ReasonConflict,
		Message: "ProxmoxCluster " + strings.TrimPrefix(name, "/") + " manages the options of this cluster already, so this one changes nothing",
	}, nil
}

// sameCluster reports whether two lists have a node in common: the same certificate
// under the same name.
func sameCluster(a, b []v1alpha1.ProxmoxClusterNode) bool {
	known := map[v1alpha1.ProxmoxClusterNode]bool{}
	for _, n := range a {
		known[v1alpha1.ProxmoxClusterNode{Name: n.Name, Fingerprint: n.Fingerprint}] = true
	}
	for _, n := range b {
		if known[v1alpha1.ProxmoxClusterNode{Name: n.Name, Fingerprint: n.Fingerprint}] {
			return true
		}
	}
	return false
}

// compare the options with those declared, and keep what is to be done. What may be
// out of date is read again before it is found to differ.
func (e *external) compare(ctx context.Context, m Cluster, s *view, seen *v1alpha1.ProxmoxClusterObservation) error {
	d, err := e.declared(ctx, m)
	if err != nil || len(d) == 0 {
		return err
	}
	if err := known(d, s.version); err != nil {
		return err
	}
	for _, read := range []func(context.Context) (proxmox.Settings, error){e.inventory.ClusterOptions, e.client.ClusterOptions} {
		current, err := read(ctx)
		if err != nil {
			return err
		}
		if e.change, err = d.Change(current); err != nil {
			return err
		}
		seen.Difference = d.Differences(e.change, current)
		if e.change.Empty() {
			break
		}
	}
	return nil
}

// declared are the options of the spec, with what it says in a Secret.
func (e *external) declared(ctx context.Context, m Cluster) (settings.Declared, error) {
	o := m.Parameters().Options
	if o == nil || o.HTTPProxySecretRef == nil {
		return declared(o, nil), nil
	}
	proxy, err := e.secret(ctx, m, *o.HTTPProxySecretRef)
	if err != nil {
		return nil, errors.Wrap(err, "cannot use options.httpProxySecretRef")
	}
	return declared(o, &proxy), nil
}

func (e *external) secret(ctx context.Context, m Cluster, ref v1alpha1.SecretKeyReference) (string, error) {
	key := client.ObjectKey{Namespace: m.GetNamespace(), Name: ref.Name}
	if key.Namespace == "" {
		if ref.Namespace == nil {
			return "", errors.New("the namespace of the Secret is missing")
		}
		key.Namespace = *ref.Namespace
	}
	s := &corev1.Secret{}
	if err := e.kube.Get(ctx, key, s); err != nil {
		return "", errors.Wrapf(err, "cannot read secret %q", key)
	}
	value := strings.TrimSpace(string(s.Data[ref.Key]))
	if !strings.HasPrefix(value, "http://") {
		return "", errors.Errorf("key %q of secret %q does not begin with http://", ref.Key, key)
	}
	return value, nil
}

// Create is for nothing: a cluster that does not answer is an error of Observe.
func (e *external) Create(context.Context, Cluster) (managed.ExternalCreation, error) {
	return managed.ExternalCreation{}, errors.New("a ProxmoxCluster stands for a cluster that exists: it cannot be created")
}

// Update sets the options that Observe found to be different, if the connection still
// leads to the same cluster.
func (e *external) Update(ctx context.Context, m Cluster) (managed.ExternalUpdate, error) {
	s, err := e.client.ClusterStatus(ctx)
	if err != nil {
		return managed.ExternalUpdate{}, err
	}
	if name := clusterName(s); name != meta.GetExternalName(m) {
		return managed.ExternalUpdate{}, clusterMismatch(m, name)
	}
	err = e.set(ctx, m, "options set in Proxmox VE: ")
	if err == nil {
		m.Observation().Difference = nil
	}
	return managed.ExternalUpdate{}, err
}

func (e *external) set(ctx context.Context, m Cluster, done string) error {
	names := e.change.Names()
	defer e.inventory.InvalidateOptions()
	if err := e.client.SetClusterOptions(ctx, e.change); err != nil {
		return err
	}
	e.record.Event(m, event.Normal("ChangedOptions", done+strings.Join(names, ", ")))
	return nil
}

// leaving reports whether something is left to reset before the resource goes.
func (e *external) leaving(ctx context.Context, m Cluster) (managed.ExternalObservation, error) {
	gone := managed.ExternalObservation{}
	if e.client != nil {
		if err := e.findReset(ctx, m); err != nil {
			return gone, err
		}
	}
	if e.change.Empty() {
		e.metrics.ClusterGone(nameOf(m))
		return gone, nil
	}
	return managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: true}, nil
}

// findReset finds what there is to reset. What an older ProxmoxCluster manages
// stays, and so does another cluster than the one that was adopted.
func (e *external) findReset(ctx context.Context, m Cluster) error {
	conflict, err := e.conflict(ctx, m, m.Observation().Nodes)
	if conflict != nil || err != nil {
		return err
	}
	s, err := e.client.ClusterStatus(ctx)
	if err != nil || clusterName(s) != meta.GetExternalName(m) {
		return err
	}
	current, err := e.client.ClusterOptions(ctx)
	if err != nil {
		return err
	}
	e.change, err = e.resettable(m).Reset(current)
	return err
}

// resettable are the options of the spec. No Secret is needed to take one away.
func (*external) resettable(m Cluster) settings.Declared {
	o := m.Parameters().Options
	if o.HTTPProxySecretRef == nil {
		return declared(o, nil)
	}
	return declared(o, new(string))
}

// Delete resets the options. The cluster stays.
func (e *external) Delete(ctx context.Context, m Cluster) (managed.ExternalDelete, error) {
	m.SetConditions(xpv2.Deleting())
	return managed.ExternalDelete{}, e.set(ctx, m, "options reset in Proxmox VE: ")
}

// Disconnect does nothing: connections are shared.
func (e *external) Disconnect(context.Context) error { return nil }

// unreachable is what there is to say of a cluster that cannot be looked at.
func (e *external) unreachable(m Cluster, err error) {
	e.metrics.ClusterUnreachable(nameOf(m))
	m.Observation().Ready = false
	e.setReady(m, xpv2.Unavailable().WithMessage(err.Error()), nil)
}

// setReady shows whether the cluster is ready, with an event if that is new, and up to date: not
// while it differs from the spec, or cannot be changed for an error.
func (e *external) setReady(m Cluster, ready xpv2.Condition, err error) {
	before := m.GetCondition(xpv2.TypeReady)
	m.Observation().Ready = ready.Status == corev1.ConditionTrue
	upToDate := kind.UpToDateIf(ready, m.Observation().Difference, err)
	m.SetConditions(ready.WithObservedGeneration(m.GetGeneration()), upToDate.WithObservedGeneration(m.GetGeneration()))
	kind.Announce(e.record, m, before, ready, "the cluster is healthy")
}
