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
	"testing"
	"testing/synctest"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/providerconfig"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpfake "github.com/crossplane/crossplane-runtime/v2/pkg/resource/fake"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	ctrlevent "sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/simulator"
)

// TestCountedOnce creates and deletes a hundred resources of a configuration within a moment.
func TestCountedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
		defer q.ShutDown()
		h := usageHandler{&resource.EnqueueRequestForProviderConfig{Kind: "ClusterProviderConfig"}}
		for i := range 100 {
			u := &namespaced.ProviderConfigUsage{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: fmt.Sprint(i)}}
			u.SetProviderConfigReference(xpv2.ProviderConfigReference{Kind: "ClusterProviderConfig", Name: "lab"})
			h.Create(t.Context(), ctrlevent.CreateEvent{Object: u}, q)
			h.Update(t.Context(), ctrlevent.UpdateEvent{ObjectOld: u, ObjectNew: u}, q)
			h.Delete(t.Context(), ctrlevent.DeleteEvent{Object: u}, q)
		}
		synctest.Wait()
		if n := q.Len(); n != 0 {
			t.Errorf("more may come within a moment: want no request yet, got %d", n)
		}
		time.Sleep(countAfter + time.Millisecond) //nolint:forbidigo // It takes no time here.
		synctest.Wait()
		if n := q.Len(); n != 1 {
			t.Fatalf("want one request for all of them, got %d", n)
		}
		if r, _ := q.Get(); r.Name != "lab" || r.Namespace != "" {
			t.Errorf("want the configuration counted, got %s", r)
		}
	})
}

// TestCountedAfter checks after which changes of a configuration its usages are counted.
func TestCountedAfter(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(*namespaced.ClusterProviderConfig)
		want   bool
	}{
		"Spec":      {reason: "A new spec has a new generation.", change: func(c *namespaced.ClusterProviderConfig) { c.Generation++ }, want: true},
		"Users":     {reason: "A number that somebody has changed is corrected.", change: func(c *namespaced.ClusterProviderConfig) { c.SetUsers(7) }, want: true},
		"Finalizer": {reason: "What holds up the deletion is put back.", change: func(c *namespaced.ClusterProviderConfig) { c.Finalizers = nil }, want: true},
		"Deleted": {reason: "A configuration that is deleted goes once nothing uses it.", change: func(c *namespaced.ClusterProviderConfig) {
			c.DeletionTimestamp = &metav1.Time{Time: time.Unix(1000, 0)}
		}, want: true},
		"Status": {reason: "The usage of quotas says nothing of the number of users.", change: func(c *namespaced.ClusterProviderConfig) {
			c.SetConditions(xpv2.Available())
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before := &namespaced.ClusterProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: "lab", Generation: 1, Finalizers: []string{"in-use"}}}
			after := before.DeepCopy()
			tc.change(after)
			if got := countedPredicate().Update(ctrlevent.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != tc.want {
				t.Errorf("%s want %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}

// TestConflict counts the users of a configuration that was changed since it was read.
func TestConflict(t *testing.T) {
	conflict := kerrors.NewConflict(schema.GroupResource{Resource: "providerconfigs"}, "default", errors.New("it was changed"))
	b := newBench(t, simulator.Options{})
	_, kube := b.checker()
	watched, ok := kube.(client.WithWatch)
	if !ok {
		t.Fatalf("cannot watch with a %T", kube)
	}
	c := usersClient{interceptor.NewClient(watched, interceptor.Funcs{
		Update: func(context.Context, client.WithWatch, client.Object, ...client.UpdateOption) error { return conflict },
	})}
	r := providerconfig.NewReconciler(&xpfake.Manager{Client: c, Scheme: kube.Scheme()}, resource.ProviderConfigKinds{
		Config: cluster.ProviderConfigGroupVersionKind, Usage: cluster.ProviderConfigUsageGroupVersionKind,
		UsageList: cluster.ProviderConfigUsageListGroupVersionKind,
	})
	result, err := soonAfterConflict(r).Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(b.pc)})
	if !kerrors.IsConflict(err) || result.RequeueAfter != 0 {
		t.Errorf("the users are counted again at once: want the conflict, got %v after %s", err, result.RequeueAfter)
	}
}

// TestCountedWrites counts how often a configuration is written: once for its finalizer, and once for each new number of users.
func TestCountedWrites(t *testing.T) {
	b := newBench(t, simulator.Options{})
	_, kube := b.checker()
	watched, ok := kube.(client.WithWatch)
	if !ok {
		t.Fatalf("cannot watch with a %T", kube)
	}
	updates, statuses := 0, 0
	c := usersClient{interceptor.NewClient(watched, interceptor.Funcs{
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			updates++
			return c.Update(ctx, o, opts...)
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object, opts ...client.SubResourceUpdateOption) error {
			statuses++
			return c.SubResource(sub).Update(ctx, o, opts...)
		},
	})}
	r := providerconfig.NewReconciler(&xpfake.Manager{Client: c, Scheme: kube.Scheme()}, resource.ProviderConfigKinds{
		Config: cluster.ProviderConfigGroupVersionKind, Usage: cluster.ProviderConfigUsageGroupVersionKind,
		UsageList: cluster.ProviderConfigUsageListGroupVersionKind,
	})
	for i, want := range []int64{0, 0, 1, 1} {
		if i == 2 {
			u := &cluster.ProviderConfigUsage{ObjectMeta: metav1.ObjectMeta{Name: "u", Labels: map[string]string{xpv2.LabelKeyProviderName: b.pc.Name}}}
			u.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Machine", Name: "m", UID: "1", Controller: new(true)}}
			if err := kube.Create(t.Context(), u); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(b.pc)}); err != nil {
			t.Fatal(err)
		}
		pc := &cluster.ProviderConfig{}
		if err := kube.Get(t.Context(), client.ObjectKeyFromObject(b.pc), pc); err != nil {
			t.Fatal(err)
		}
		if pc.GetUsers() != want || len(pc.Finalizers) != 1 {
			t.Errorf("want %d users and the finalizer, got %d and %v", want, pc.GetUsers(), pc.Finalizers)
		}
	}
	if updates != 1 || statuses != 1 {
		t.Errorf("want the finalizer and the one user written, got %d updates and %d of the status", updates, statuses)
	}
}
