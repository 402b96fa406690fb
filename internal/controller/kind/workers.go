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

package kind

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/vitistack/provider-proxmox/internal/connect"
)

const (
	// busyPause is the minimum time that a resource waits for a worker that its cluster may use. busyStep is added for each further resource of the
	// cluster, so that a long queue is not processed over and over.
	busyPause = 100 * time.Millisecond
	busyStep  = 10 * time.Millisecond

	// clusterSeenFor is how long a cluster counts after a reconcile of one of its resources. It is longer than the longest backoff.
	clusterSeenFor = 15 * time.Minute
)

// workers are the workers of one controller, which the resources of all clusters share. The last free worker is reserved for a cluster that has none,
// because a cluster that does not answer would otherwise block all of them. The provider configurations of a namespace count as one cluster, and get
// at most half of the workers: users who may create one may create many, for clusters that do not exist.
type workers struct {
	all int
	now func() time.Time

	mu   sync.Mutex
	busy int
	held map[connect.Sharer]int       // by cluster
	seen map[connect.Sharer]time.Time // time of the last reconcile of a resource of the cluster
	next map[connect.Sharer]time.Time // time at which the last waiting resource is tried again, by cluster
}

func newWorkers(all int, now func() time.Time) *workers {
	return &workers{
		all: max(all, 1), now: now, held: map[connect.Sharer]int{}, seen: map[connect.Sharer]time.Time{}, next: map[connect.Sharer]time.Time{},
	}
}

// take takes a worker for a resource of a cluster, or returns how long the resource has to wait. Resources of unknown clusters do not wait.
func (w *workers) take(cluster connect.Sharer) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.now()
	if cluster != (connect.Sharer{}) {
		w.seen[cluster] = now
		maps.DeleteFunc(w.seen, func(_ connect.Sharer, at time.Time) bool { return now.Sub(at) > clusterSeenFor })
		held := w.held[cluster]
		if held > 0 && len(w.seen) > 1 && (w.busy >= w.all-1 || cluster.Namespace != "" && held >= w.all/2) {
			return w.wait(cluster, now)
		}
	}
	w.busy++
	w.held[cluster]++
	return 0
}

// wait returns how long one more resource of a cluster waits. The caller must hold the lock.
func (w *workers) wait(cluster connect.Sharer, now time.Time) time.Duration {
	next := w.next[cluster].Add(busyStep)
	if first := now.Add(busyPause); next.Before(first) {
		next = first
	}
	w.next[cluster] = next
	return next.Sub(now)
}

// release releases a worker that was taken.
func (w *workers) release(cluster connect.Sharer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.busy--
	if w.held[cluster]--; w.held[cluster] == 0 {
		delete(w.held, cluster)
		delete(w.next, cluster)
	}
}

// reconciler returns a reconciler that reconciles a request if a worker is available. Otherwise the request waits and keeps its backoff.
func (w *workers) reconciler(cluster namesCluster, postpone func(reconcile.Request), next reconcile.Reconciler) reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
		to := cluster(ctx, r)
		if d := w.take(to); d > 0 {
			postpone(r)
			return reconcile.Result{RequeueAfter: d}, nil
		}
		defer w.release(to)
		return next.Reconcile(ctx, r)
	})
}

// ByNamespace reconciles the provider configurations of namespaces. Each namespace gets at most half of the workers, because a configuration whose
// cluster does not answer takes long.
func ByNamespace(all int, now func() time.Time, next reconcile.Reconciler) reconcile.Reconciler {
	of := func(_ context.Context, r reconcile.Request) connect.Sharer {
		return connect.Sharer{Namespace: r.Namespace}
	}
	return newWorkers(all, now).reconciler(of, func(reconcile.Request) {}, next)
}

// A namesCluster function names the cluster of a resource.
type namesCluster func(context.Context, reconcile.Request) connect.Sharer

// clusterOf returns the function for the resources of a kind.
func clusterOf(kube client.Reader, to *connect.Connector, empty client.Object) namesCluster {
	return func(ctx context.Context, r reconcile.Request) (none connect.Sharer) {
		mg, ok := empty.DeepCopyObject().(resource.Managed)
		if !ok || to == nil {
			return none
		}
		// The object is only read, so it need not be a copy.
		if err := kube.Get(ctx, r.NamespacedName, mg, client.UnsafeDisableDeepCopy); err != nil {
			return none
		}
		return to.SharerOf(ctx, mg)
	}
}
