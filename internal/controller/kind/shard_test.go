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
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/controller"
	"github.com/crossplane/crossplane-runtime/v2/pkg/statemetrics"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

func selecting(t *testing.T, selector string) Shard {
	t.Helper()
	s, err := labels.Parse(selector)
	if err != nil {
		t.Fatal(err)
	}
	return Shard{Selector: s}
}

// labelled returns a Machine with the label shard, and a configuration name.
func labelled(name, shard, config string) *cluster.Machine {
	m := &cluster.Machine{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if shard != "" {
		m.Labels = map[string]string{"shard": shard}
	}
	if config != "" {
		m.SetProviderConfigReference(&xpv2.Reference{Name: config})
	}
	return m
}

func TestShare(t *testing.T) {
	modern := &namespaced.Machine{}
	modern.SetProviderConfigReference(&xpv2.ProviderConfigReference{Kind: "ProviderConfig", Name: "site"})
	site := Shard{Configurations: []string{"other", "site"}}
	both := selecting(t, "shard=a")
	both.Configurations = []string{"site"}
	cases := map[string]struct {
		reason string
		share  Shard
		object client.Object
		want   bool
	}{
		"Whole":         {reason: "Without a share all is ours.", object: labelled("m", "", ""), want: true},
		"Label":         {reason: "A label makes it ours.", share: selecting(t, "shard=a"), object: labelled("m", "a", ""), want: true},
		"OtherLabel":    {reason: "Another label makes it another's.", share: selecting(t, "shard=a"), object: labelled("m", "b", "")},
		"NoLabel":       {reason: "A resource without the label is another share's.", share: selecting(t, "shard=a"), object: labelled("m", "", "")},
		"TheRest":       {reason: "One provider can take the rest.", share: selecting(t, "shard notin (a, b)"), object: labelled("m", "", ""), want: true},
		"Configuration": {reason: "The configuration makes it ours.", share: site, object: labelled("m", "", "site"), want: true},
		"OtherConfig":   {reason: "Another configuration makes it another's.", share: site, object: labelled("m", "", "elsewhere")},
		"NoConfig":      {reason: "What names none uses the one called default.", share: site, object: labelled("m", "", "")},
		"Default":       {reason: "Which may be ours.", share: Shard{Configurations: []string{"default"}}, object: labelled("m", "", ""), want: true},
		"Namespaced":    {reason: "A namespaced resource names its provider configuration with its kind.", share: site, object: modern, want: true},
		"Both":          {reason: "The label and the configuration both have to match.", share: both, object: labelled("m", "a", "site"), want: true},
		"HalfOfBoth":    {reason: "One alone does not do.", share: both, object: labelled("m", "b", "site")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.share.Has(tc.object); got != tc.want {
				t.Errorf("\n%s\nHas(): want %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}

func TestShareReconciler(t *testing.T) {
	c := kube(t, labelled("ours", "a", ""), labelled("others", "b", ""))
	var got []string
	r := selecting(t, "shard=a").Reconciler(c, &cluster.Machine{}, reconcile.Func(func(_ context.Context, r reconcile.Request) (reconcile.Result, error) {
		got = append(got, r.Name)
		return reconcile.Result{}, nil
	}))
	for _, name := range []string{"ours", "others", "gone"} {
		result, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKey{Name: name}})
		if err != nil || !result.IsZero() {
			t.Errorf("%s: got %v, %v", name, result, err)
		}
	}
	if diff := cmp.Diff([]string{"ours"}, got); diff != "" {
		t.Errorf("only what is ours is reconciled: -want, +got:\n%s", diff)
	}
}

// TestShardOfMachine checks that the provider that manages a Machine also manages a Snapshot that names no provider configuration.
func TestShardOfMachine(t *testing.T) {
	of := func(machine string) *cluster.Snapshot {
		s := &cluster.Snapshot{ObjectMeta: metav1.ObjectMeta{Name: machine}}
		s.Spec.ForProvider.MachineRef = &v1alpha1.Reference{Name: machine}
		return s
	}
	named := of("site")
	named.Name = "named"
	named.SetProviderConfigReference(&xpv2.Reference{Name: "elsewhere"})
	c := kube(t, labelled("site", "", "site"), labelled("elsewhere", "", "elsewhere"), of("site"), of("elsewhere"), of("none"), named)
	site := Shard{Configurations: []string{"site"}}
	var got []string
	r := site.Reconciler(c, &cluster.Snapshot{}, reconcile.Func(func(_ context.Context, r reconcile.Request) (reconcile.Result, error) {
		got = append(got, r.Name)
		return reconcile.Result{}, nil
	}))
	for _, o := range []client.Object{of("site"), of("elsewhere"), of("none"), named} {
		if seen := site.Predicate().Generic(event.GenericEvent{Object: o}); seen != (o != client.Object(named)) {
			t.Errorf("%s: an event is seen: %t", o.GetName(), seen)
		}
		if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)}); err != nil {
			t.Errorf("%s: %v", o.GetName(), err)
		}
	}
	if diff := cmp.Diff([]string{"site"}, got); diff != "" {
		t.Errorf("only what is of our Machines is reconciled: -want, +got:\n%s", diff)
	}
}

func TestShareClient(t *testing.T) {
	c := selecting(t, "shard=a").Client(kube(t, labelled("a", "a", ""), labelled("b", "b", ""), labelled("c", "a", "")))
	var list cluster.MachineList
	if err := c.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range list.Items {
		got = append(got, m.Name)
	}
	if diff := cmp.Diff([]string{"a", "c"}, got); diff != "" {
		t.Errorf("lists have what is ours: -want, +got:\n%s", diff)
	}
}

func TestShareConfigurationPredicate(t *testing.T) {
	p := Shard{Configurations: []string{"site"}}.ConfigurationPredicate()
	for name, want := range map[string]bool{"site": true, "elsewhere": false} {
		o := &cluster.ProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if got := p.Create(event.CreateEvent{Object: o}); got != want {
			t.Errorf("%s: want %t, got %t", name, want, got)
		}
	}
}

// TestSetupShard runs a controller that manages one of two resources.
func TestSetupShard(t *testing.T) {
	ours, others := labelled("ours", "a", ""), labelled("others", "b", "")
	c := kube(t, ours, others)
	mgr, informers := newManager(t, c)
	o := options()
	o.Shard = selecting(t, "shard=a")
	identity := machineIdentity()
	o.MetricOptions = &controller.MetricOptions{PollStateMetricInterval: time.Millisecond, MRStateMetrics: statemetrics.NewMRStateMetrics()}
	seen, wake := make(chan string, 10), make(chan event.GenericEvent)
	err := Setup(mgr, o, Kind[*cluster.Machine]{Identity: identity, External: connecting(observer{seen: seen}, nil), Wake: wake})
	if err != nil {
		t.Fatal(err)
	}
	start(t, mgr)
	for _, m := range []*cluster.Machine{others, ours} {
		wake <- event.GenericEvent{Object: m}
	}
	if name := await(t, seen); name != "ours" {
		t.Errorf("Wake: want only what is ours to be reconciled, got %q", name)
	}
	informer, err := informers.FakeInformerFor(t.Context(), &cluster.Machine{})
	if err != nil {
		t.Fatal(err)
	}
	informer.Add(others)
	informer.Add(ours)
	if name := await(t, seen); name != "ours" {
		t.Errorf("Object: want only what is ours to be reconciled, got %q", name)
	}
	eventually(t, "what is ours is counted", func() bool {
		gauge := o.MetricOptions.MRStateMetrics.Exists.WithLabelValues(cluster.MachineGroupVersionKind.String())
		return testutil.ToFloat64(gauge) == 1
	})
	if n := len(identity.List.GetItems()); n != 0 {
		t.Errorf("the list of the kind, which others copy, has %d items: want none", n)
	}
}
