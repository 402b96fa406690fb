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

package snapshotpolicy

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/vitistack/provider-proxmox/apis"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/connect"
	"github.com/vitistack/provider-proxmox/internal/controller/config/configtest"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/kind/target"
)

const (
	team        = "team"
	snapshotter = "example.org/snapshotter" // the finalizer of the tests' controller of Snapshots
)

// A lab is a Kubernetes API with a policy and its Machines, and a provider that is started and killed.
type lab struct {
	*testing.T

	scope    kind.Scope
	kube     client.WithWatch
	policy   Policy
	provider *reconciler
	now      time.Time

	// stale makes the cache of the provider lag behind: it has the Snapshots of its last sync.
	stale  bool
	cached client.ObjectList

	writes, fatal int            // writes of the provider, and the one at which it is killed
	created       map[string]int // number of creations of Snapshots, by name
	most          int            // maximum number of Snapshots that were busy at the same time
	refused       error          // error of deletions
	faults        []error        // as reported, with nil for a reconcile without an error
	withCRD       error
}

func everywhere(t *testing.T, run func(*lab)) {
	t.Helper()
	for name, s := range configtest.Scopes() {
		t.Run(name, func(t *testing.T) { run(newLab(t, s, 3)) })
	}
}

func newLab(t *testing.T, s kind.Scope, machines int) *lab {
	t.Helper()
	configtest.Once(t)
	scheme := runtime.NewScheme()
	l := &lab{T: t, scope: s, created: map[string]int{}, now: night(1)}
	l.must(apis.AddToScheme(scheme))
	b := fake.NewClientBuilder().WithScheme(scheme)
	for name := range s.Kinds {
		b = b.WithStatusSubresource(s.Identity(name).Object)
	}
	l.kube = b.Build()
	for i := range machines {
		m, ok := l.object("Machine", fmt.Sprintf("m%03d", i)).(Machine)
		if !ok {
			t.Fatal("it is no Machine")
		}
		m.SetLabels(map[string]string{"tier": "web"})
		m.Observation().VMID, m.Observation().Phase = ptr.To(int32(100+i)), v1alpha1.MachineRunning
		l.must(l.kube.Create(t.Context(), m))
	}
	policy, ok := l.object("SnapshotPolicy", "nightly").(Policy)
	if !ok {
		t.Fatal("it is no policy")
	}
	*policy.Parameters() = nightly()
	policy.Parameters().MachineSelector.MatchLabels = map[string]string{"tier": "web"}
	policy.Parameters().Retention = &v1alpha1.SnapshotRetention{Last: ptr.To(int32(2))}
	policy.SetManagementPolicies(xpv2.ManagementPolicies{xpv2.ManagementActionAll})
	l.must(l.kube.Create(t.Context(), policy))
	l.policy = policy
	l.restart()
	return l
}

// object returns an object of a kind of the scope, which is older than all runs.
func (l *lab) object(kind, name string) client.Object {
	l.Helper()
	o, ok := l.scope.Identity(kind).Object.DeepCopyObject().(client.Object)
	if !ok {
		l.Fatalf("%s is no object", kind)
	}
	o.SetName(name)
	o.SetUID(types.UID(kind + name))
	o.SetGeneration(1)
	o.SetCreationTimestamp(metav1.NewTime(night(1).Add(-time.Hour)))
	if l.scope.GroupVersion == namespaced.SchemeGroupVersion {
		o.SetNamespace(team)
	}
	return o
}

func (l *lab) must(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

var errDead = errors.New("the provider is dead")

// write counts a write of the provider, which is killed before or after it.
func (l *lab) write(do func() error) error {
	l.writes++
	if l.fatal > 0 && l.writes*2-1 >= l.fatal {
		if l.writes*2-1 == l.fatal {
			return errDead
		}
		if l.writes*2 == l.fatal {
			_ = do()
		}
		return errDead
	}
	return do()
}

// restart restarts the provider, which loses its memory.
func (l *lab) restart() {
	funcs := interceptor.Funcs{
		List: l.list,
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return l.write(func() error { return l.create(ctx, c, o, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			if l.refused != nil {
				return l.refused
			}
			return l.write(func() error { return c.Delete(ctx, o, opts...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			return l.write(func() error { return c.Update(ctx, o, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
			return l.write(func() error { return c.Patch(ctx, o, patch, opts...) })
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, name string, o client.Object, opts ...client.SubResourceUpdateOption) error {
			return l.write(func() error { return c.SubResource(name).Update(ctx, o, opts...) })
		},
	}
	c := interceptor.NewClient(l.kube, funcs)
	l.writes, l.fatal = 0, 0
	l.sync()
	l.provider = &reconciler{
		Parts: kind.Parts{
			Client: c, Direct: l.kube, Recorder: event.NewNopRecorder(), Failed: func(error) {},
			Fault:          func(_ resource.Managed, err error) { l.faults = append(l.faults, err) },
			Paused:         func(mg resource.Managed) bool { return meta.IsPaused(mg) },
			Interval:       func(resource.Managed) time.Duration { return time.Minute },
			DeletedWithCRD: func(context.Context, resource.Managed) error { return l.withCRD },
		},
		kinds: Kinds{
			Identity: l.scope.Identity("SnapshotPolicy"), Snapshot: l.scope.Identity("Snapshot"), Machine: l.scope.Identity("Machine"),
		},
		now: func() time.Time { return l.now }, labels: kind.Shard{}.Labels, finalizer: resource.NewAPIFinalizer(c, finalizer), issued: &issued{},
	}
}

// create creates an object as the API server does.
func (l *lab) create(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
	o.SetCreationTimestamp(metav1.NewTime(l.now))
	o.SetUID(types.UID("made-" + o.GetName()))
	err := c.Create(ctx, o, opts...)
	if err == nil {
		l.created[o.GetName()]++
	}
	return err
}

// list lists from the cache.
func (l *lab) list(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
	if !l.stale || fmt.Sprintf("%T", list) != fmt.Sprintf("%T", l.cached) {
		return c.List(ctx, list, opts...)
	}
	switch to := list.(type) {
	case *namespaced.SnapshotList:
		if from, ok := l.cached.DeepCopyObject().(*namespaced.SnapshotList); ok {
			*to = *from
		}
	default:
		l.Errorf("no cache of a %T", list)
	}
	return nil
}

// sync updates the cache.
func (l *lab) sync() {
	list, ok := l.scope.Identity("Snapshot").List.DeepCopyObject().(client.ObjectList)
	if !ok {
		l.Fatal("it is no list")
	}
	l.must(l.kube.List(context.Background(), list))
	l.cached = list
}

// reconcile reconciles the policy once, and reads it again.
func (l *lab) reconcile() error {
	l.Helper()
	_, err := l.provider.Reconcile(l.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(l.policy)})
	got := l.kube.Get(l.Context(), client.ObjectKeyFromObject(l.policy), l.policy)
	if client.IgnoreNotFound(got) != nil {
		l.Fatal(got)
	}
	if got != nil {
		l.policy.SetFinalizers(nil) // It was deleted.
	}
	return err
}

// snapshots returns the existing Snapshots.
func (l *lab) snapshots() []Snapshot {
	l.Helper()
	list, ok := l.scope.Identity("Snapshot").List.DeepCopyObject().(resource.ManagedList)
	if !ok {
		l.Fatal("it is no list")
	}
	l.must(l.kube.List(l.Context(), list))
	var all []Snapshot
	for _, mg := range list.GetItems() {
		if s, ok := mg.(Snapshot); ok {
			all = append(all, s)
		}
	}
	return all
}

// work does a step of what the controller of Snapshots does.
func (l *lab) work() {
	l.Helper()
	busy := 0
	for _, s := range l.snapshots() {
		if stateOf(s) != taken {
			busy++
		}
		switch {
		case target.WaitsForNode(s):
		case meta.WasDeleted(s):
			meta.RemoveFinalizer(s, snapshotter)
			l.must(l.kube.Update(l.Context(), s))
		case !meta.FinalizerExists(s, snapshotter):
			meta.AddFinalizer(s, snapshotter)
			l.must(l.kube.Update(l.Context(), s))
		case s.GetCondition(xpv2.TypeReady).Reason == "":
			s.SetConditions(xpv2.Creating())
			l.must(l.kube.Status().Update(l.Context(), s))
		case !s.Observation().ReadyToUse:
			s.Observation().ReadyToUse, s.Observation().Time = true, ptr.To(metav1.NewTime(l.now))
			s.SetConditions(xpv2.Available())
			l.must(l.kube.Status().Update(l.Context(), s))
		}
	}
	l.most = max(l.most, busy)
}

// rest reconciles and works for a number of steps, until nothing is left to do.
func (l *lab) rest(steps int) {
	l.Helper()
	for range steps {
		if err := l.reconcile(); err != nil && !errors.Is(err, errDead) {
			l.Fatal(err)
		}
		if l.fatal > 0 && l.writes*2 >= l.fatal {
			l.restart()
		}
		l.work()
		l.now = l.now.Add(time.Second)
	}
}

func (l *lab) isUpToDate() bool {
	return l.policy.GetCondition(xpv2.TypeUpToDate).Status == corev1.ConditionTrue &&
		l.policy.GetCondition(xpv2.TypeReady).Status == corev1.ConditionTrue
}

func (l *lab) makes(names ...string) {
	l.Helper()
	got := map[string]bool{}
	for _, s := range l.snapshots() {
		got[s.GetName()] = true
	}
	for _, name := range names {
		if !got[name] {
			l.Errorf("there is no Snapshot %s", name)
		}
		delete(got, name)
	}
	for name := range got {
		l.Errorf("there is Snapshot %s", name)
	}
}

// TestNights takes snapshots of three Machines on three nights, two of which are kept.
func TestNights(t *testing.T) {
	everywhere(t, func(l *lab) {
		var want []string
		for n := 1; n <= 3; n++ {
			l.now = night(n)
			l.rest(20)
			if !l.isUpToDate() {
				l.Errorf("night %d: %v", n, l.policy.GetCondition(xpv2.TypeUpToDate))
			}
			for _, m := range []string{"m000", "m001", "m002"} {
				if n > 1 {
					want = append(want, objectName("nightly", m, night(n)))
				}
			}
		}
		l.makes(want...)
		if o := l.policy.Observation(); o.Snapshots != 6 || o.Machines != 3 || len(o.Active) != 0 || o.MachineStatuses[0].Newest != want[3] {
			l.Errorf("got %+v", o)
		}
		s := l.snapshots()[0]
		if *s.Parameters().Name != "nightly-20260102-0130" || *s.Parameters().Machine != "m000" || !metav1.IsControlledBy(s, l.policy) {
			l.Errorf("got %+v", s)
		}
		if l.most > 2 {
			l.Errorf("%d were busy at a time", l.most)
		}
	})
}

// TestMachinesOfOthers checks that a policy does not select Machines of other tenants, whatever their labels.
func TestMachinesOfOthers(t *testing.T) {
	l := newLab(t, configtest.Scopes()["Cluster"], 3)
	l.provider.sameTenant = func(context.Context) connect.SameTenantFunc {
		return func(p, m resource.Managed) (own, operators bool) {
			return p.GetName() == "nightly" && m.GetName() != "m001", false
		}
	}
	l.now = night(2)
	l.rest(20)
	l.makes(objectName("nightly", "m000", night(2)), objectName("nightly", "m002", night(2)))
	if o := l.policy.Observation(); o.Machines != 2 || len(o.MachineStatuses) != 2 {
		t.Errorf("want two Machines, got %+v", o)
	}
}

// TestPolicyKilled checks that a provider that is killed at any write takes each snapshot once.
func TestPolicyKilled(t *testing.T) {
	for fatal := 1; ; fatal++ {
		l := newLab(t, configtest.Scopes()["Namespaced"], 2)
		l.policy.Parameters().Retention.Last, l.policy.Parameters().MaxConcurrent = ptr.To(int32(1)), ptr.To(int32(1))
		l.must(l.kube.Update(t.Context(), l.policy))
		l.fatal = fatal
		for n := 1; n <= 2; n++ {
			l.now = night(n)
			l.rest(20)
		}
		for name, times := range l.created {
			if times != 1 {
				t.Errorf("death %d: %s was made %d times", fatal, name, times)
			}
		}
		if len(l.created) != 4 || len(l.snapshots()) != 2 || l.most > 1 || !l.isUpToDate() {
			t.Errorf("death %d: %d were made, %d are left, %d at a time, %v", fatal, len(l.created), len(l.snapshots()), l.most,
				l.policy.GetCondition(xpv2.TypeUpToDate))
		}
		if l.fatal != 0 {
			if fatal < 20 {
				t.Errorf("the provider had only %d chances to die", fatal)
			}
			return
		}
	}
}

// TestPolicyBehind checks that an outdated cache does not lead to more tasks than allowed.
func TestPolicyBehind(t *testing.T) {
	l := newLab(t, configtest.Scopes()["Namespaced"], 40)
	l.stale = true
	for n := 1; n <= 2; n++ {
		l.now = night(n)
		for range 60 {
			l.rest(4)
			l.sync()
		}
	}
	for name, times := range l.created {
		if times != 1 {
			t.Errorf("%s was made %d times", name, times)
		}
	}
	if len(l.created) != 80 || l.most != 2 {
		t.Errorf("want 80 snapshots, 2 at a time, got %d, %d", len(l.created), l.most)
	}
}

// TestByHand checks that a manually removed Snapshot is not created again, and that one that the policy would not have created in that form is left
// alone.
func TestByHand(t *testing.T) {
	everywhere(t, func(l *lab) {
		l.rest(20)
		all := l.snapshots()
		l.must(l.kube.Delete(l.Context(), all[0]))
		all[1].Parameters().RemovalPolicy = ptr.To(v1alpha1.SnapshotRetain)
		l.must(l.kube.Update(l.Context(), all[1]))
		all[2].SetOwnerReferences(nil)
		l.must(l.kube.Update(l.Context(), all[2]))
		l.rest(20)
		if n := len(l.snapshots()); n != 2 {
			l.Fatalf("want 2 Snapshots after one was removed, got %d", n)
		}
		for n := 2; n <= 4; n++ {
			l.now = night(n)
			l.rest(20)
		}
		want := []string{all[1].GetName(), all[2].GetName()}
		for n := 3; n <= 4; n++ {
			for _, m := range []string{"m000", "m001", "m002"} {
				want = append(want, objectName("nightly", m, night(n)))
			}
		}
		l.makes(want...)
	})
}

// TestNameTaken checks that a Snapshot that a user has created with the name that the policy would use is reported, and left alone by the retention
// and by the end of the policy. The other Machines get theirs.
func TestNameTaken(t *testing.T) {
	everywhere(t, func(l *lab) {
		theirs, ok := l.object("Snapshot", objectName("nightly", "m000", night(1))).(Snapshot)
		if !ok {
			t.Fatal("it is no Snapshot")
		}
		theirs.SetLabels(map[string]string{labelPolicy: "nightly"})
		theirs.SetAnnotations(map[string]string{annotationRun: night(1).UTC().Format(time.RFC3339)})
		theirs.Parameters().Machine = ptr.To("m000")
		l.must(l.kube.Create(l.Context(), theirs))
		told := 0
		for n := 1; n <= 4; n++ {
			l.now = night(n)
			for range 20 {
				if err := l.reconcile(); err != nil && strings.Contains(err.Error(), "that this policy has not made") {
					told++
				}
				l.work()
				l.now = l.now.Add(time.Second)
			}
		}
		if told == 0 {
			l.Error("the policy does not tell of the Snapshot that has the name")
		}
		want := []string{theirs.GetName()}
		for _, m := range []string{"m000", "m001", "m002"} {
			want = append(want, objectName("nightly", m, night(3)), objectName("nightly", m, night(4)))
		}
		l.makes(want...)
		l.must(l.kube.Delete(l.Context(), l.policy))
		l.rest(20)
		l.makes(theirs.GetName())
	})
}

// TestEnd checks that a deleted policy removes the Snapshots that it has created, unless they are to stay.
func TestEnd(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(*lab)
		left   int
	}{
		"Removed":  {reason: "All Snapshots of the policy go.", change: func(*lab) {}},
		"Retained": {reason: "Snapshots that are retained stay.", change: func(l *lab) { l.retain() }, left: 1},
		"Orphaned": {
			reason: "kubectl delete --cascade=orphan keeps them.", left: 3,
			change: func(l *lab) { meta.AddFinalizer(l.policy, metav1.FinalizerOrphanDependents) },
		},
		"Kept": {
			reason: "The management policies keep them.", left: 3,
			change: func(l *lab) {
				l.policy.SetManagementPolicies(xpv2.ManagementPolicies{xpv2.ManagementActionObserve, xpv2.ManagementActionCreate})
			},
		},
		"Definition": {reason: "A definition that is deleted asks for nothing.", left: 3, change: func(l *lab) { l.withCRD = errors.New("it goes") }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			everywhere(t, func(l *lab) {
				l.rest(20)
				tc.change(l)
				l.must(l.kube.Update(l.Context(), l.policy))
				l.must(l.kube.Delete(l.Context(), l.policy))
				l.rest(20)
				left := l.snapshots()
				for _, s := range left {
					if len(s.GetOwnerReferences()) > 0 {
						l.Errorf("%s %s would go with its owner", tc.reason, s.GetName())
					}
				}
				if len(left) != tc.left || meta.FinalizerExists(l.policy, finalizer) {
					l.Errorf("%s want %d left, got %d; finalizers %v", tc.reason, tc.left, len(left), l.policy.GetFinalizers())
				}
			})
		})
	}
}

// TestEndOffline checks that a deleted policy removes what it can while a node is offline.
func TestEndOffline(t *testing.T) {
	const held = "example.org/offline"
	everywhere(t, func(l *lab) {
		l.policy.Parameters().MaxConcurrent = ptr.To(int32(1))
		l.must(l.kube.Update(l.Context(), l.policy))
		l.rest(40)
		l.offline("m000")
		s := l.snapshots()[0]
		meta.AddFinalizer(s, held)
		l.must(l.kube.Update(l.Context(), s))
		l.must(l.kube.Delete(l.Context(), s))
		l.must(l.kube.Delete(l.Context(), l.policy))
		l.rest(20)
		l.makes(s.GetName())
		if c := l.policy.GetCondition(xpv2.TypeReady); !strings.Contains(c.Message, "1 Snapshots are to be removed, 1 of them when their VMs can be reached") {
			l.Errorf("want to be told what the deletion waits for, got %q", c.Message)
		}
		s = l.snapshots()[0]
		meta.RemoveFinalizer(s, held)
		l.must(l.kube.Update(l.Context(), s))
		l.rest(20)
		if len(l.snapshots()) > 0 || meta.FinalizerExists(l.policy, finalizer) {
			l.Errorf("want the policy to be gone, got %v", l.policy.GetFinalizers())
		}
	})
}

// TestTaskOffline takes a node offline with the task of a Snapshot while its VM is on another one, and checks that neither the Snapshot nor its
// removal, which waits for the node, holds up other Machines.
func TestTaskOffline(t *testing.T) {
	everywhere(t, func(l *lab) {
		l.policy.Parameters().MaxConcurrent = ptr.To(int32(1))
		l.must(l.kube.Update(l.Context(), l.policy))
		l.must(l.reconcile())
		l.work()
		all := l.snapshots()
		if len(all) != 1 || *all[0].Parameters().Machine != "m000" {
			l.Fatalf("want one Snapshot of m000, got %v", all)
		}
		l.waits(all[0], kind.Ready(kind.Problem{Reason: target.ReasonNodeOffline, Message: "pve2"}))
		l.rest(20)
		l.makes(objectName("nightly", "m000", night(1)), objectName("nightly", "m001", night(1)), objectName("nightly", "m002", night(1)))
		l.now = l.now.Add(beginTimeout)
		l.rest(2)
		s := l.snapshots()[0]
		if !meta.WasDeleted(s) {
			l.Fatalf("want the Snapshot that does not begin removed, got %v", s)
		}
		l.waits(s, xpv2.Deleting(), kind.UpToDate(nil, kind.Problem{Reason: target.ReasonNodeOffline, Message: "pve2"}))
		l.now = night(2)
		l.rest(20)
		l.makes(objectName("nightly", "m000", night(1)), objectName("nightly", "m001", night(1)), objectName("nightly", "m002", night(1)),
			objectName("nightly", "m001", night(2)), objectName("nightly", "m002", night(2)))
		l.must(l.kube.Delete(l.Context(), l.policy))
		l.rest(20)
		l.makes(s.GetName())
		if c := l.policy.GetCondition(xpv2.TypeReady); !strings.Contains(c.Message, "1 of them when") {
			l.Errorf("want to be told what the deletion waits for, got %q", c.Message)
		}
		l.waits(l.snapshots()[0], kind.UpToDate(nil))
		l.rest(20)
		if len(l.snapshots()) > 0 || meta.FinalizerExists(l.policy, finalizer) {
			l.Errorf("want the policy to be gone, got %v", l.policy.GetFinalizers())
		}
	})
}

// waits makes the conditions of a Snapshot report what it waits for.
func (l *lab) waits(s Snapshot, conditions ...xpv2.Condition) {
	l.Helper()
	s.SetConditions(conditions...)
	l.must(l.kube.Status().Update(l.Context(), s))
}

// offline takes the node of a Machine offline.
func (l *lab) offline(name string) {
	l.Helper()
	m, ok := l.object("Machine", name).(Machine)
	if !ok {
		l.Fatal("it is no Machine")
	}
	l.must(l.kube.Get(l.Context(), client.ObjectKeyFromObject(m), m))
	m.SetConditions(xpv2.Condition{Type: xpv2.TypeReady, Status: corev1.ConditionFalse, Reason: "NodeOffline", LastTransitionTime: metav1.Now()})
	l.must(l.kube.Status().Update(l.Context(), m))
}

// retain retains one of the Snapshots.
func (l *lab) retain() {
	l.Helper()
	s := l.snapshots()[1]
	s.Parameters().RemovalPolicy = ptr.To(v1alpha1.SnapshotRetain)
	l.must(l.kube.Update(l.Context(), s))
}

// TestTold checks that what cannot be done is reported.
func TestTold(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(*lab)
		synced string
		ready  xpv2.ConditionReason
	}{
		"Zone": {
			reason: "Europe/Nowhere is no time zone.", synced: "unknown timeZone", ready: reasonInvalidSchedule,
			change: func(l *lab) { l.policy.Parameters().TimeZone = ptr.To("Europe/Nowhere") },
		},
		"Never": {
			reason: "A schedule that no date matches is invalid.", synced: "no date matches it", ready: reasonInvalidSchedule,
			change: func(l *lab) { l.policy.Parameters().Schedule = "0 0 31 2 *" },
		},
		"Selector": {
			reason: "There is no such operator.", synced: "cannot use machineSelector",
			change: func(l *lab) {
				l.policy.Parameters().MachineSelector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "tier", Operator: "Like"}}
			},
		},
		"Forbidden": {
			reason: "Crossplane grants no deletion.", synced: "examples/crossplane/policies.yaml", ready: xpv2.ReasonAvailable,
			change: func(l *lab) {
				l.refused = kerrors.NewForbidden(schema.GroupResource{Resource: "snapshots"}, "x", errors.New("no"))
			},
		},
		"Paused": {
			reason: "Nothing is done while a policy is paused.", ready: "", synced: "",
			change: func(l *lab) {
				meta.AddAnnotations(l.policy, map[string]string{meta.AnnotationKeyReconciliationPaused: "true"})
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			everywhere(t, func(l *lab) {
				tc.change(l)
				l.must(l.kube.Update(l.Context(), l.policy))
				for n := 1; n <= 3; n++ {
					l.now = night(n)
					for range 12 {
						_ = l.reconcile()
						l.work()
					}
				}
				synced, ready := l.policy.GetCondition(xpv2.TypeSynced), l.policy.GetCondition(xpv2.TypeReady)
				if synced.Status == corev1.ConditionTrue || !strings.Contains(synced.Message, tc.synced) || ready.Reason != tc.ready {
					l.Errorf("%s got %v, %v", tc.reason, synced, ready)
				}
				told := func(err error) bool { return err != nil && strings.Contains(err.Error(), tc.synced) }
				if tc.synced != "" && !slices.ContainsFunc(l.faults, told) {
					l.Errorf("%s want the fault told, got %v", tc.reason, l.faults)
				}
			})
		})
	}
}

// TestUpToDateAfterError checks that UpToDate is no longer True after an error.
func TestUpToDateAfterError(t *testing.T) {
	everywhere(t, func(l *lab) {
		for range 12 {
			_ = l.reconcile()
			l.work()
		}
		if !l.isUpToDate() {
			t.Fatalf("before: %v", l.policy.GetCondition(xpv2.TypeUpToDate))
		}
		l.policy.Parameters().MachineSelector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "tier", Operator: "Like"}}
		l.must(l.kube.Update(l.Context(), l.policy))
		_ = l.reconcile()
		if c := l.policy.GetCondition(xpv2.TypeUpToDate); c.Status != corev1.ConditionFalse || !strings.Contains(c.Message, "machineSelector") {
			t.Errorf("after: %v", c)
		}
	})
}
