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

package providerconfig

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/connect"
	"github.com/vitistack/provider-proxmox/internal/metrics"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// The delays before a configuration is checked again. It is checked immediately when it, or an object that it refers to, changes.
const (
	// checkEvery applies to a configuration that works, or lacks a privilege that PVE can grant.
	checkEvery = time.Minute

	// firstRecheck and lastRecheck apply to a configuration that cannot be reached: 2, 4, 8 seconds … one minute.
	firstRecheck = 2 * time.Second
	lastRecheck  = time.Minute

	// refusedEvery applies to a configuration whose credentials are refused. PVE logs each attempt, and a program that watches the log may lock the
	// provider out.
	refusedEvery = 5 * time.Minute

	// checkTimeout limits a check, which consists of several calls.
	checkTimeout = 2 * time.Minute
)

// Reasons of events.
const (
	reasonReady    event.Reason = "Ready"
	reasonNotReady event.Reason = "NotReady"
	reasonInsecure event.Reason = "InsecureSkipTLSVerify"
)

// A Config is a provider configuration of any kind.
type Config interface {
	client.Object
	GetCondition(t xpv2.ConditionType) xpv2.Condition
	SetConditions(c ...xpv2.Condition)
	Settings() *v1alpha1.ProviderConfigSpec
	Observation() *v1alpha1.ProviderConfigStatus
}

// A checker checks the provider configurations of a kind, and shows the results.
type checker struct {
	kube        client.Client
	live        client.Reader // of the API server, not of the cache
	kinds       Kinds
	connections *connect.Connector
	metrics     *metrics.Metrics
	log         logging.Logger
	record      event.Recorder

	mu       sync.Mutex
	failures map[client.ObjectKey]int
	working  map[client.ObjectKey]*proxmox.Client // that passed their last check
}

// Reconcile checks one configuration.
func (c *checker) Reconcile(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	pc, ok := c.kinds.Object.DeepCopyObject().(Config)
	if !ok {
		return reconcile.Result{}, errors.Errorf("cannot check a %T", c.kinds.Object)
	}
	key := c.key(r.NamespacedName)
	if err := c.kube.Get(ctx, r.NamespacedName, pc); err != nil {
		if kerrors.IsNotFound(err) {
			c.forget(key)
		}
		return reconcile.Result{}, errors.Wrap(client.IgnoreNotFound(err), "cannot get the configuration")
	}
	before, _ := pc.DeepCopyObject().(Config)
	conn, h, found := c.check(ctx, key, pc)
	show(pc, h, found)
	c.count(ctx, key, conn, pc)
	c.measure(key, h, pc)
	err := c.save(ctx, before, pc)
	if kerrors.IsConflict(err) {
		err = c.saveInNewest(ctx, pc, h, found)
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	c.tell(before, pc)
	c.wake(key, conn, before, pc)
	return reconcile.Result{RequeueAfter: c.next(r.NamespacedName, pc)}, nil
}

// check checks the configuration itself and then the cluster.
func (c *checker) check(ctx context.Context, key connect.Key, pc Config) (*connect.Connection, proxmox.Health, []checkResult) {
	conn, err := c.connections.ConnectTo(ctx, key, pc.Settings())
	if err != nil {
		return nil, proxmox.Health{}, notChecked(err, subject{}, nil)
	}
	h, found := check(ctx, conn)
	return conn, h, found
}

func (c *checker) key(name client.ObjectKey) connect.Key {
	return connect.Key{ObjectKey: name, Kind: c.kinds.Config.GroupKind()}
}

// stillUsed explains why a deleted configuration still exists.
const stillUsed = "the configuration is being deleted, and stays until no resource uses it: status.users counts those that do, which it serves until then"

// show writes the results into the status.
func show(pc Config, h proxmox.Health, found []checkResult) {
	conditions := append(conclude(found...), verification(pc.Settings()).condition())
	if len(pc.Settings().Tenants) > 0 || pc.GetCondition(v1alpha1.TypeTenantsDistinct).Reason != "" {
		conditions = append(conditions, distinct(pc.Settings()).condition())
	}
	if pc.GetDeletionTimestamp() != nil {
		conditions = append(conditions, failed(xpv2.TypeReady, xpv2.ReasonDeleting, stillUsed).condition()) // This replaces the condition that was set above.
	}
	o := pc.Observation()
	if pc.GetCondition(xpv2.TypeReady).ObservedGeneration != pc.GetGeneration() {
		o.Cluster = "" // The cluster may be another one, and it distinguishes tenants.
	}
	o.ObservedGeneration = pc.GetGeneration()
	for _, c := range conditions {
		pc.SetConditions(c.WithObservedGeneration(pc.GetGeneration()))
	}
	o.Endpoint, o.UnavailableEndpoints = h.Endpoint, nil
	if h.Endpoint == "" {
		return // The last known state of the cluster is useful while it cannot be reached.
	}
	o.UnavailableEndpoints = append(downEndpoints(h), h.CutOff...)
	slices.Sort(o.UnavailableEndpoints)
	o.Version, o.Cluster, o.NodesOnline, o.NodesTotal = h.Version.Version, h.Status.Name, nil, nil
	if len(h.Status.Nodes) > 0 {
		o.NodesOnline, o.NodesTotal = ptr.To(int32(online(h))), ptr.To(int32(len(h.Status.Nodes))) //nolint:gosec // A cluster has tens of nodes.
	}
}

// count computes how much of their quotas the tenants use. If that fails, the previous values stay.
func (c *checker) count(ctx context.Context, key connect.Key, conn *connect.Connection, pc Config) {
	limited := func(t v1alpha1.ProviderTenant) bool { return t.Quota != nil }
	if conn == nil || !slices.ContainsFunc(pc.Settings().Tenants, limited) {
		pc.Observation().Tenants = nil
	} else if all, err := c.kinds.Quotas.Usage(ctx, key.String(), pc.Settings().Tenants, conn.Inventory); err == nil {
		pc.Observation().Tenants = all
	} else {
		c.log.Info("Cannot count what tenants have of their quotas", "configuration", key.String(), "error", err)
	}
	if c.metrics != nil {
		c.metrics.Tenants(key.String(), pc.Observation().Tenants)
	}
}

func online(h proxmox.Health) int {
	n := 0
	for _, node := range h.Status.Nodes {
		if node.Online {
			n++
		}
	}
	return n
}

// save saves the status if it has changed. The patch replaces the whole list of conditions, including the condition of the reconciler that counts
// users, so it applies only to the version that was read.
func (c *checker) save(ctx context.Context, before, pc Config) error {
	data, err := client.MergeFrom(before).Data(pc)
	if err != nil || string(data) == "{}" {
		return errors.Wrap(err, "cannot compare the status")
	}
	err = c.kube.Status().Patch(ctx, pc, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	return errors.Wrap(client.IgnoreNotFound(err), "cannot show what was found")
}

// saveInNewest saves what was found in the newest version of the configuration, which the cache may not have yet. A version with another spec is
// skipped, because its change triggers a separate check.
func (c *checker) saveInNewest(ctx context.Context, pc Config, h proxmox.Health, found []checkResult) error {
	newest, ok := c.kinds.Object.DeepCopyObject().(Config)
	if !ok {
		return errors.Errorf("cannot check a %T", c.kinds.Object)
	}
	if err := c.live.Get(ctx, client.ObjectKeyFromObject(pc), newest); err != nil {
		return errors.Wrap(client.IgnoreNotFound(err), "cannot get the configuration")
	}
	if newest.GetUID() != pc.GetUID() || newest.GetGeneration() != pc.GetGeneration() {
		return nil
	}
	before, _ := newest.DeepCopyObject().(Config)
	show(newest, h, found)
	newest.Observation().Tenants = pc.Observation().Tenants
	return c.save(ctx, before, newest)
}

// tell records an event for each difference from before.
func (c *checker) tell(before, pc Config) {
	insecure := pc.GetCondition(v1alpha1.TypeCertificateVerified)
	if insecure.Status == corev1.ConditionFalse && before.GetCondition(insecure.Type).Status != insecure.Status {
		c.record.Event(pc, event.Warning(reasonInsecure, errors.New(insecure.Message)))
	}
	was, is := before.GetCondition(xpv2.TypeReady), pc.GetCondition(xpv2.TypeReady)
	if was.Status == is.Status && was.Reason == is.Reason && was.Message == is.Message {
		return
	}
	c.log.Info("Checked the connection", "kind", c.kinds.Config.Kind, "namespace", pc.GetNamespace(), "name", pc.GetName(),
		"ready", is.Status, "reason", is.Reason, "message", is.Message)
	if pc.GetCondition(v1alpha1.TypeAuthenticated).Status == corev1.ConditionFalse {
		c.log.Info("Authentication failed", "kind", c.kinds.Config.Kind, "namespace", pc.GetNamespace(), "name", pc.GetName(), "error", is.Message)
	}
	if is.Status == corev1.ConditionTrue {
		c.record.Event(pc, event.Normal(reasonReady, fmt.Sprintf("Proxmox VE %s answers at %s", pc.Observation().Version, pc.Observation().Endpoint)))
		return
	}
	c.record.Event(pc, event.Warning(reasonNotReady, errors.New(is.Message)))
}

// wake wakes resources that failed, when the cluster can be used again or the configuration has changed.
func (c *checker) wake(key connect.Key, conn *connect.Connection, before, pc Config) {
	var now *proxmox.Client
	if conn != nil && pc.GetCondition(v1alpha1.TypeAuthenticated).Status == corev1.ConditionTrue {
		now = conn.Client
	}
	c.mu.Lock()
	was := c.working[key.ObjectKey]
	c.working[key.ObjectKey] = now
	c.mu.Unlock()
	other := before.GetCondition(xpv2.TypeReady).ObservedGeneration != pc.GetGeneration()
	better := isTrue(pc, v1alpha1.TypePermitted) && !isTrue(before, v1alpha1.TypePermitted) ||
		isTrue(pc, v1alpha1.TypeQuorate) && !isTrue(before, v1alpha1.TypeQuorate)
	if now != nil && (was != now || other || better) {
		c.connections.Recovered(key)
	}
}

func isTrue(pc Config, t xpv2.ConditionType) bool {
	return pc.GetCondition(t).Status == corev1.ConditionTrue
}

// next returns when to check again.
func (c *checker) next(name client.ObjectKey, pc Config) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if isTrue(pc, v1alpha1.TypeConnected) {
		delete(c.failures, name)
		if isTrue(pc, v1alpha1.TypeAuthenticated) {
			return jitter(checkEvery)
		}
		return jitter(refusedEvery)
	}
	n := c.failures[name]
	c.failures[name]++
	return jitter(min(firstRecheck<<min(n, 10), lastRecheck))
}

// jitter subtracts up to a tenth.
func jitter(d time.Duration) time.Duration {
	return d - rand.N(d/10) //nolint:gosec // Nobody gains from guessing a delay.
}

// measure updates the metrics of a cluster.
func (c *checker) measure(key connect.Key, h proxmox.Health, pc Config) {
	if c.metrics == nil {
		return
	}
	if isTrue(pc, v1alpha1.TypeConnected) && isTrue(pc, v1alpha1.TypeAuthenticated) {
		c.metrics.ClusterReached(key.String(), online(h))
		return
	}
	c.metrics.ClusterUnreachable(key.String())
}

// forget removes the state of a configuration that no longer exists.
func (c *checker) forget(key connect.Key) {
	c.mu.Lock()
	delete(c.failures, key.ObjectKey)
	delete(c.working, key.ObjectKey)
	c.mu.Unlock()
	c.connections.Forget(key)
	if c.metrics != nil {
		c.metrics.ClusterGone(key.String())
		c.metrics.Tenants(key.String(), nil)
	}
}
