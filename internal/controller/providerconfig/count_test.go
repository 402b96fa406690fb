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
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	ctrlevent "sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
)

// TestCountedOnce has a hundred resources come to a configuration, and go, within a moment.
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

// TestCountedAfter sees after which changes of a configuration its usages are counted.
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
