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

package main

import (
	"context"
	"os"
	"strings"

	xpcontroller "github.com/crossplane/crossplane-runtime/v2/pkg/controller"
	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/feature"
	"github.com/crossplane/crossplane-runtime/v2/pkg/gate"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/crossplane/crossplane-runtime/v2/pkg/ratelimiter"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/customresourcesgate"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/statemetrics"
	"github.com/prometheus/client_golang/prometheus"
	authorizationv1 "k8s.io/api/authorization/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/vitistack/provider-proxmox/internal/checksum"
	"github.com/vitistack/provider-proxmox/internal/connect"
	"github.com/vitistack/provider-proxmox/internal/controller"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/metrics"
	"github.com/vitistack/provider-proxmox/internal/version"
)

// addControllers adds controllers to the manager. If the provider may watch kinds, it adds each controller once the kinds that it needs exist,
// otherwise all at once.
func addControllers(ctx context.Context, mgr ctrl.Manager, l logging.Logger, o options) error {
	ko, err := kindOptions(mgr, l, o, ctrlmetrics.Registry)
	if err != nil {
		return err
	}
	gated, err := mayWatchKinds(ctx, mgr.GetClient())
	if err != nil {
		return err
	}
	if !gated {
		l.Info("Not permitted to watch CustomResourceDefinitions: all kinds must exist now")
		if ko.Discovery, err = discovery.NewDiscoveryClientForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient()); err != nil {
			return errors.Wrap(err, "cannot make a client that sees which kinds there are")
		}
		return controller.Setup(mgr, ko)
	}
	if err := customresourcesgate.Setup(mgr, ko.Options); err != nil {
		return errors.Wrap(err, "cannot watch for kinds")
	}
	ko.Definitions = mgr.GetAPIReader()
	return controller.SetupGated(mgr, ko)
}

// kindOptions returns the options of all controllers, with what the controllers share.
func kindOptions(mgr ctrl.Manager, l logging.Logger, o options, r prometheus.Registerer) (kind.Options, error) {
	var mo []metrics.Option
	if o.EnableMachineMetrics {
		mo = append(mo, metrics.WithMachineUsage())
	}
	m := metrics.New(mo...)
	if err := m.Register(r); err != nil {
		return kind.Options{}, err
	}
	co, err := controllerOptions(l, o, r)
	if err != nil {
		return kind.Options{}, err
	}
	watcher, err := client.NewWithWatch(mgr.GetConfig(), client.Options{Scheme: mgr.GetScheme(), HTTPClient: mgr.GetHTTPClient()})
	if err != nil {
		return kind.Options{}, errors.Wrap(err, "cannot make a client that watches")
	}
	connections := connect.New(mgr.GetClient(),
		connect.WithWatcher(watcher),
		connect.WithDefault(o.DefaultCluster),
		connect.WithUserAgent("provider-proxmox/"+version.String()),
		connect.WithObserver(m.Request),
		connect.WithRecordsIn(podNamespace(o)),
		connect.WithInventory(
			inventory.WithMaxAge(o.InventoryInterval),
			inventory.WithEventPollInterval(o.EventPollInterval)))
	if err := mgr.Add(connections); err != nil {
		return kind.Options{}, errors.Wrap(err, "cannot add connections")
	}
	tracer, err := newTracer(mgr, o)
	if err != nil {
		return kind.Options{}, err
	}
	return kind.Options{
		Options: co, Tracer: tracer, Connections: connections, Metrics: m, Shard: o.shard(), PollScaler: kind.NewPollScaler(co.GlobalRateLimiter),
		Checksums: checksum.Fetcher{Hosts: o.ChecksumHosts, AllowLocal: o.ChecksumLocalAddresses},
	}, nil
}

// controllerOptions returns the options of crossplane-runtime.
func controllerOptions(l logging.Logger, o options, r prometheus.Registerer) (xpcontroller.Options, error) {
	mo := &xpcontroller.MetricOptions{
		PollStateMetricInterval: o.PollStateMetric,
		MRMetrics:               managed.NewMRMetricRecorder(),
		MRStateMetrics:          statemetrics.NewMRStateMetrics(),
	}
	for _, c := range []prometheus.Collector{mo.MRMetrics, mo.MRStateMetrics} {
		if err := r.Register(c); err != nil {
			return xpcontroller.Options{}, errors.Wrap(err, "cannot register metrics")
		}
	}
	features := &feature.Flags{}
	if o.EnableManagementPolicies {
		features.Enable(feature.EnableBetaManagementPolicies)
	}
	changeLogs, err := changeLogOptions(o)
	if err != nil {
		return xpcontroller.Options{}, err
	}
	return xpcontroller.Options{
		Logger:                  l,
		GlobalRateLimiter:       ratelimiter.NewGlobal(o.MaxReconcileRate),
		PollInterval:            o.ReconcileInterval,
		MaxConcurrentReconciles: o.MaxConcurrentReconciles,
		Features:                features,
		MetricOptions:           mo,
		ChangeLogOptions:        changeLogs,
		Gate:                    new(gate.Gate[schema.GroupVersionKind]),
	}, nil
}

// mayWatchKinds reports whether the provider may watch for kinds to appear.
func mayWatchKinds(ctx context.Context, c client.Client) (bool, error) {
	for _, verb := range []string{"get", "list", "watch"} {
		r := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Group:    apiextensionsv1.GroupName,
				Resource: "customresourcedefinitions",
				Verb:     verb,
			},
		}}
		if err := c.Create(ctx, r); err != nil {
			return false, errors.Wrap(err, "cannot ask what we are permitted to do")
		}
		if !r.Status.Allowed {
			return false, nil
		}
	}
	return true, nil
}

// podNamespaceFile has the namespace of the pod.
const podNamespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// podNamespace returns the namespace that the provider runs in. It is empty if the provider does not run in a pod and none is set.
func podNamespace(o options) string {
	if o.LeaderElectionNamespace != "" {
		return o.LeaderElectionNamespace
	}
	text, err := os.ReadFile(podNamespaceFile)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
