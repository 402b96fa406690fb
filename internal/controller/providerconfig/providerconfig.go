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

// Package providerconfig keeps provider configurations as long as resources use them, and shows whether they work.
package providerconfig

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/ratelimiter"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/providerconfig"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"k8s.io/apimachinery/pkg/api/equality"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlevent "sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/kind/quotas"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// Kinds are a kind of provider configurations and the kind of its usages.
type Kinds struct {
	resource.ProviderConfigKinds

	// Object and UsageObject of the kinds, both empty.
	Object, UsageObject client.Object

	// Quotas of the tenants of configurations.
	Quotas *quotas.Keeper
}

// Setup adds the controllers of the kind of provider configurations to the
// manager.
func Setup(mgr ctrl.Manager, o kind.Options, k Kinds) error {
	if err := setupUsers(mgr, o, k); err != nil {
		return err
	}
	return setupCheck(mgr, o, k)
}

// setupUsers adds the reconciler that counts the users of configurations and keeps those that have any.
func setupUsers(mgr ctrl.Manager, o kind.Options, k Kinds) error {
	gvk := k.Config
	name := providerconfig.ControllerName(gvk.GroupKind().String())
	events := mgr.GetEventRecorderFor(name)
	r := providerconfig.NewReconciler(counting{Manager: mgr}, k.ProviderConfigKinds,
		providerconfig.WithLogger(o.Logger.WithValues("controller", name)),
		providerconfig.WithRecorder(event.NewAPIRecorder(events, o.EventFilterFunctions...)))
	err := ctrl.NewControllerManagedBy(mgr).
		Named(name).
		WithOptions(o.ForControllerRuntime()).
		For(k.Object, builder.WithPredicates(countedPredicate(), o.Shard.ConfigurationPredicate())).
		Watches(k.UsageObject, usageHandler{&resource.EnqueueRequestForProviderConfig{Kind: gvk.Kind}}).
		Complete(ratelimiter.NewReconciler(name, errors.WithSilentRequeueOnConflict(soonAfterConflict(r)), o.GlobalRateLimiter))
	return errors.Wrapf(err, "cannot add controller %q", name)
}

// countAfter is the delay from the creation or deletion of a usage to the count of all. The count writes the configuration twice, and many usages may
// change at once.
const countAfter = time.Second

// A usageHandler queues one count for all usages of a configuration that are created or deleted within a moment.
type usageHandler struct {
	*resource.EnqueueRequestForProviderConfig
}

// Create queues a count for the configuration of a new usage.
func (h usageHandler) Create(ctx context.Context, e ctrlevent.CreateEvent, q resource.RateLimitingInterface) {
	h.EnqueueRequestForProviderConfig.Create(ctx, e, delayed{q})
}

// Update queues a count for the configurations that a changed usage refers to and referred to before.
func (h usageHandler) Update(ctx context.Context, e ctrlevent.UpdateEvent, q resource.RateLimitingInterface) {
	h.EnqueueRequestForProviderConfig.Update(ctx, e, delayed{q})
}

// Delete queues a count for the configuration of a deleted usage.
func (h usageHandler) Delete(ctx context.Context, e ctrlevent.DeleteEvent, q resource.RateLimitingInterface) {
	h.EnqueueRequestForProviderConfig.Delete(ctx, e, delayed{q})
}

// delayed is a queue that delays its requests. Requests for one configuration are merged.
type delayed struct {
	resource.RateLimitingInterface
}

// Add adds a request with a delay.
func (d delayed) Add(r reconcile.Request) { d.AddAfter(r, countAfter) }

// countedPredicate passes the changes of a configuration after which its usages are counted. Changes of the rest of its status are not among them.
func countedPredicate() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e ctrlevent.UpdateEvent) bool {
		before, ok := e.ObjectOld.(resource.ProviderConfig)
		after, is := e.ObjectNew.(resource.ProviderConfig)
		return !ok || !is || before.GetGeneration() != after.GetGeneration() || before.GetUsers() != after.GetUsers() ||
			!slices.Equal(before.GetFinalizers(), after.GetFinalizers()) || !before.GetDeletionTimestamp().Equal(after.GetDeletionTimestamp())
	}}
}

// counting is a manager for a reconciler that only counts what it lists. It lists as many usages as there are resources, when each of them is first
// reconciled, so nothing is copied.
type counting struct{ ctrl.Manager }

// GetClient returns the manager's client, whose lists are not copied from the cache.
func (c counting) GetClient() client.Client {
	return usersClient{kind.Shard{}.Client(c.Manager.GetClient())}
}

// conflictOf is the key of the context value that points to the conflict of a reconcile.
type conflictOf struct{}

// A usersClient is the client of the reconciler that counts users. It skips updates that change nothing, because the API server evaluates the rules of
// the configuration for each update, and it records in the context that an update had a conflict.
type usersClient struct{ client.Client }

// Update updates the object, unless it equals the one in the cache.
func (c usersClient) Update(ctx context.Context, o client.Object, opts ...client.UpdateOption) error {
	if c.holds(ctx, o) {
		return nil
	}
	err := c.Client.Update(ctx, o, opts...)
	if conflict, ok := ctx.Value(conflictOf{}).(*error); ok && kerrors.IsConflict(err) {
		*conflict = err
	}
	return err
}

// Status returns a writer that updates the status of an object, unless it equals the one in the cache.
func (c usersClient) Status() client.SubResourceWriter {
	return usersWriter{SubResourceWriter: c.Client.Status(), client: c}
}

// holds reports whether the cache has an equal object.
func (c usersClient) holds(ctx context.Context, o client.Object) bool {
	held, ok := reflect.New(reflect.TypeOf(o).Elem()).Interface().(client.Object)
	if !ok || c.Get(ctx, client.ObjectKeyFromObject(o), held) != nil {
		return false
	}
	held.GetObjectKind().SetGroupVersionKind(o.GetObjectKind().GroupVersionKind())
	return equality.Semantic.DeepEqual(held, o)
}

type usersWriter struct {
	client.SubResourceWriter

	client usersClient
}

// Update updates the status of the object.
func (w usersWriter) Update(ctx context.Context, o client.Object, opts ...client.SubResourceUpdateOption) error {
	if w.client.holds(ctx, o) {
		return nil
	}
	return w.SubResourceWriter.Update(ctx, o, opts...)
}

// soonAfterConflict returns an error if the reconciler's client had a conflict. The reconciler itself would wait half a minute, and a deleted
// configuration would stay that long.
func soonAfterConflict(r reconcile.Reconciler) reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, q reconcile.Request) (reconcile.Result, error) {
		var conflict error
		result, err := r.Reconcile(context.WithValue(ctx, conflictOf{}, &conflict), q)
		if err == nil && conflict != nil {
			return reconcile.Result{}, conflict
		}
		return result, err
	})
}

// checksAtOnce is how many configurations are checked at once. A check takes long if the cluster cannot be reached.
const checksAtOnce = 10

// setupCheck adds the reconciler that checks configurations.
func setupCheck(mgr ctrl.Manager, o kind.Options, k Kinds) error {
	k.Quotas.Use(mgr.GetClient(), o.Connections)
	group := k.Config.GroupKind()
	name := "check/" + strings.ToLower(group.String())
	c := &checker{
		kube:        mgr.GetClient(),
		live:        mgr.GetAPIReader(),
		kinds:       k,
		connections: o.Connections,
		metrics:     o.Metrics,
		log:         o.Logger.WithValues("controller", name),
		record:      event.NewAPIRecorder(mgr.GetEventRecorderFor(name), o.EventFilterFunctions...),
		failures:    map[client.ObjectKey]int{},
		working:     map[client.ObjectKey]*proxmox.Client{},
	}
	options := o.ForControllerRuntime()
	options.MaxConcurrentReconciles = checksAtOnce
	changes := source.Func(func(_ context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		o.Connections.OnChange(group, func(key client.ObjectKey) { q.Add(reconcile.Request{NamespacedName: key}) })
		return nil
	})
	err := ctrl.NewControllerManagedBy(mgr).
		Named(name).
		WithOptions(options).
		For(k.Object, builder.WithPredicates(predicate.GenerationChangedPredicate{}, o.Shard.ConfigurationPredicate())).
		WatchesRawSource(changes).
		Complete(kind.ByNamespace(checksAtOnce, o.Clock(), ratelimiter.NewReconciler(name, errors.WithSilentRequeueOnConflict(c), o.GlobalRateLimiter)))
	return errors.Wrapf(err, "cannot add controller %q", name)
}
