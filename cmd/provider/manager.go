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
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/ratelimiter"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/customresourcesgate"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/vitistack/provider-proxmox/apis"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/kind/transform"
)

const (
	leaseName = "crossplane-leader-election-provider-proxmox"

	// A lease of a minute outlasts an API server that is temporarily slow. The leader releases it when it ends, so that the next one need not wait.
	leaseDuration = 60 * time.Second
	renewDeadline = 50 * time.Second

	// syncCheckTimeout is how long a readiness probe waits for caches.
	syncCheckTimeout = time.Second
)

// newManager creates the manager with its health checks.
func newManager(o options) (ctrl.Manager, error) {
	cfg, err := restConfig(o.Kubeconfig)
	if err != nil {
		return nil, err
	}
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(ratelimiter.LimitRESTConfig(cfg, o.MaxReconcileRate), managerOptions(o, scheme))
	if err != nil {
		return nil, errors.Wrap(err, "cannot create the manager")
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return nil, errors.Wrap(err, "cannot add the liveness check")
	}
	if err := mgr.AddReadyzCheck("caches", synced(mgr.GetCache())); err != nil {
		return nil, errors.Wrap(err, "cannot add the readiness check")
	}
	return mgr, nil
}

// restConfig returns the configuration for the Kubernetes API.
func restConfig(kubeconfig string) (*rest.Config, error) {
	if kubeconfig != "" {
		fs := flag.NewFlagSet("", flag.ContinueOnError)
		config.RegisterFlags(fs)
		if err := fs.Set(config.KubeconfigFlagName, kubeconfig); err != nil {
			return nil, errors.Wrap(err, "cannot use --kubeconfig")
		}
	}
	cfg, err := ctrl.GetConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, errors.New("cannot find out how to reach the Kubernetes API: this is no pod, and there is no kubeconfig")
	}
	return cfg, errors.Wrap(err, "cannot find out how to reach the Kubernetes API")
}

// newScheme returns a scheme with the kinds that the provider reads and writes.
func newScheme() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme,
		apiextensionsv1.AddToScheme,
		apis.AddToScheme,
	} {
		if err := add(s); err != nil {
			return nil, errors.Wrap(err, "cannot register API kinds")
		}
	}
	return s, nil
}

func managerOptions(o options, scheme *runtime.Scheme) ctrl.Options {
	return ctrl.Options{
		Scheme: scheme,
		Cache: cache.Options{
			SyncPeriod:       &o.Sync,
			DefaultTransform: transform.Cached,
			ByObject: map[client.Object]cache.ByObject{
				&apiextensionsv1.CustomResourceDefinition{}: {Transform: customresourcesgate.TransformStripCRDSchema},
			},
		},
		NewClient: kind.NewClient,
		// A cache of these would contain all Secrets of the cluster.
		Client: client.Options{Cache: &client.CacheOptions{
			DisableFor: []client.Object{&corev1.Secret{}, &corev1.ConfigMap{}},
		}},
		Metrics:                       metricsserver.Options{BindAddress: o.MetricsBindAddress},
		HealthProbeBindAddress:        o.HealthProbeBindAddress,
		PprofBindAddress:              o.PprofBindAddress,
		LeaderElection:                o.LeaderElection,
		LeaderElectionID:              lease(o),
		LeaderElectionNamespace:       o.LeaderElectionNamespace,
		LeaderElectionResourceLock:    resourcelock.LeasesResourceLock,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 ptr.To(leaseDuration),
		RenewDeadline:                 ptr.To(renewDeadline),
		EventBroadcaster:              newBroadcaster(), // It is used until the process ends.
	}
}

// How many events an object may have in a burst, the interval for one more, and how many events with the same reason are distinct within ten minutes.
// The defaults are 25, five minutes and 10, with which some edits of a Machine within a day would have no events.
const (
	eventBurst    = 200
	eventInterval = 10 * time.Second
	eventsAlike   = 100
)

// newBroadcaster returns a broadcaster for the events of all controllers.
func newBroadcaster() record.EventBroadcaster {
	return record.NewBroadcasterWithCorrelatorOptions(record.CorrelatorOptions{
		BurstSize: eventBurst, QPS: float32(time.Second) / float32(eventInterval), MaxEvents: eventsAlike,
	})
}

// lease returns the name of the leader's lease. Providers with different shards of the resources have different leaders.
func lease(o options) string {
	if o.shard().Whole() {
		return leaseName
	}
	share := slices.Sorted(slices.Values(o.WatchProviderConfigs))
	if o.WatchLabelSelector.Selector != nil {
		share = append([]string{o.WatchLabelSelector.String()}, share...)
	}
	sum := sha256.Sum256([]byte(strings.Join(share, "\n")))
	return leaseName + "-" + hex.EncodeToString(sum[:4])
}

// A syncer waits for caches to be filled.
type syncer interface {
	WaitForCacheSync(ctx context.Context) bool
}

// synced returns a check that passes once the caches are filled. It does not depend on whether a PVE cluster can be reached: the provider is ready to
// report that it cannot.
func synced(s syncer) healthz.Checker {
	return func(r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), syncCheckTimeout)
		defer cancel()
		if !s.WaitForCacheSync(ctx) {
			return errors.New("caches are not filled yet")
		}
		return nil
	}
}
