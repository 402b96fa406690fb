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
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
)

func TestDeletionToldOnce(t *testing.T) {
	drops := reportOnce("DeletedExternalResource")
	of := func(uid types.UID) client.Object {
		pool := &cluster.Pool{}
		pool.SetUID(uid)
		return pool
	}
	deleted := event.Normal("DeletedExternalResource", "Successfully requested deletion of external resource")
	for _, step := range []struct {
		reason string
		obj    client.Object
		event  event.Event
		want   bool
	}{
		{reason: "The first step of a deletion is told.", obj: of("a"), event: deleted},
		{reason: "A deletion of several steps is told once.", obj: of("a"), event: deleted, want: true},
		{reason: "The deletion of another resource is told.", obj: of("b"), event: deleted},
		{reason: "Another message about the same resource is told.", obj: of("a"), event: event.Normal("DeletedExternalResource", "other")},
		{reason: "Other events of a resource whose deletion was told are told.", obj: of("a"), event: event.Normal("TaskEnded", "shutdown")},
	} {
		if got := drops(step.obj, step.event); got != step.want {
			t.Errorf("%s\nwant dropped %t, got %t", step.reason, step.want, got)
		}
	}
}

func TestNeedless(t *testing.T) {
	conflict := kerrors.NewConflict(
		schema.GroupResource{Resource: "machines"}, "web",
		errors.New("the object has been modified; please apply your changes to the latest version and try again"),
	)
	cases := map[string]struct {
		reason string
		tells  bool
		before xpv2.Condition
		event  event.Event
		want   bool
	}{
		"Requested": {
			reason: "An update that was requested is no change.", tells: true,
			event: event.Normal(reasonUpdated, "Successfully requested update of external resource"), want: true,
		},
		"RequestedAlone": {
			reason: "A kind without events of its own keeps that one.",
			event:  event.Normal(reasonUpdated, "Successfully requested update of external resource"),
		},
		"Conflict": {
			reason: "A conflict is read again and is no fault.",
			event:  event.Warning("CannotUpdateExternalResource", errors.Wrap(conflict, "cannot write annotations")), want: true,
		},
		"Fault": {reason: "An event about a fault is emitted.", tells: true, event: event.Warning("CannotUpdateExternalResource", errors.New("boom"))},
		"Again": {
			reason: "An event about the same fault is emitted once.", before: xpv2.ReconcileError(errors.New("update failed: boom")),
			event: event.Warning("CannotUpdateExternalResource", errors.New("boom")), want: true,
		},
		"Another": {
			reason: "Another one is told.", before: xpv2.ReconcileError(errors.New("update failed: boom")),
			event: event.Warning("CannotUpdateExternalResource", errors.New("bang")),
		},
		"Later": {
			reason: "An event that comes back after a success is told.", before: xpv2.ReconcileSuccess(),
			event: event.Warning("CannotUpdateExternalResource", errors.New("boom")),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pool := &namespaced.Pool{}
			pool.SetConditions(tc.before)
			if got := newReportedErrors(time.Now).needless(tc.tells)(pool, tc.event); got != tc.want {
				t.Errorf("%s needless(): want %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}

// TestFilteringRecorder checks the filters although the managed reconciler annotates its events with the external name of each object.
func TestFilteringRecorder(t *testing.T) {
	kube := record.NewFakeRecorder(4)
	filters := []event.FilterFn{newReportedErrors(time.Now).needless(true)}
	r := filteringRecorder{next: event.NewAPIRecorder(kube), filters: filters}.WithAnnotations("external-name", "10000")
	r.Event(&namespaced.Machine{}, event.Normal(reasonUpdated, "Successfully requested update of external resource"))
	r.Event(&namespaced.Machine{}, event.Normal("Changed", "cores 2 → 4"))
	close(kube.Events)
	var told []string
	for e := range kube.Events {
		told = append(told, e)
	}
	if len(told) != 1 || !strings.Contains(told[0], "cores 2 → 4") {
		t.Errorf("want what has changed told alone, got %q", told)
	}
}

// TestFaultToldOnce loses updates of the status, after which the reconciler reads the value of Synced from before the fault.
func TestFaultToldOnce(t *testing.T) {
	now := time.Now()
	const web, db = "web", "db"
	boom := event.Warning("CannotUpdateExternalResource", errors.New("boom"))
	bang := event.Warning("CannotUpdateExternalResource", errors.New("bang"))
	success, failure := xpv2.ReconcileSuccess(), xpv2.ReconcileError(errors.New("update failed: boom"))
	type step struct {
		uid   types.UID
		read  xpv2.Condition // Synced as it was read
		event *event.Event
		after time.Duration
		ends  bool // a reconcile without a fault
		told  bool
	}
	cases := map[string]struct {
		reason string
		steps  []step
	}{
		"Conflict": {
			reason: "A status that could not be written has no fault told again.",
			steps: []step{
				{read: success, event: &boom, told: true}, {read: success, event: &boom}, {read: failure, event: &boom}, {read: success, event: &boom},
			},
		},
		"Restart": {
			reason: "After a start of the provider what is shown counts.",
			steps:  []step{{read: failure, event: &boom}, {read: success, event: &boom}},
		},
		"Ended": {
			reason: "A fault that has ended and comes back is told, even if the end was lost.",
			steps:  []step{{read: success, event: &boom, told: true}, {ends: true}, {read: success, event: &boom, told: true}},
		},
		"Another": {
			reason: "Another fault is told, also where the status shows it from before.",
			steps: []step{
				{read: success, event: &boom, told: true}, {read: success, event: &bang, told: true}, {read: failure, event: &boom, told: true},
			},
		},
		"Others": {
			reason: "A fault is that of one resource.",
			steps: []step{
				{uid: web, read: success, event: &boom, told: true},
				{uid: db, read: success, event: &boom, told: true},
				{uid: db, ends: true},
				{uid: web, read: success, event: &boom},
			},
		},
		"Forgotten": {
			reason: "What is not seen again is forgotten, also of resources that are gone.",
			steps:  []step{{read: success, event: &boom, told: true}, {after: 2 * rememberFault, read: success, event: &boom, told: true}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			faults := newReportedErrors(func() time.Time { return now })
			for i, s := range tc.steps {
				now = now.Add(s.after)
				pool := &namespaced.Pool{ObjectMeta: metav1.ObjectMeta{Name: "pool", UID: s.uid}}
				if s.ends {
					pool.SetConditions(success)
					lost := errors.New("lost")
					kube := fake.NewClientBuilder().WithScheme(scheme(t)).WithInterceptorFuncs(interceptor.Funcs{
						SubResourceUpdate: func(context.Context, client.Client, string, client.Object, ...client.SubResourceUpdateOption) error {
							return lost
						},
					}).Build()
					if err := (statusClient{Client: kube, faults: faults}).Status().Update(t.Context(), pool); !errors.Is(err, lost) {
						t.Fatalf("want the update lost, got %v", err)
					}
					continue
				}
				pool.SetConditions(s.read)
				if got := !faults.needless(true)(pool, *s.event); got != s.told {
					t.Errorf("%s step %d: want told %t, got %t", tc.reason, i, s.told, got)
				}
			}
		})
	}
}

// recordingManager is a manager that stores its events.
type recordingManager struct {
	ctrl.Manager

	events *record.FakeRecorder
}

func (m recordingManager) GetEventRecorderFor(string) record.EventRecorder { return m.events }

// failing is an external client whose Observe fails.
type failing struct{ external }

func (failing) Observe(context.Context, *cluster.Machine) (managed.ExternalObservation, error) {
	return managed.ExternalObservation{}, errors.New("boom")
}

func TestFaultToldOnceInConflict(t *testing.T) {
	m := &cluster.Machine{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "web"}}
	conflict := kerrors.NewConflict(schema.GroupResource{Resource: "machines"}, "web", errors.New("the object has been modified"))
	conflicts := 2
	kube := fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(m).WithStatusSubresource(m).WithInterceptorFuncs(interceptor.Funcs{
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object, opts ...client.SubResourceUpdateOption) error {
			if conflicts--; conflicts >= 0 {
				return conflict
			}
			return c.SubResource(sub).Update(ctx, o, opts...)
		},
	}).Build()
	mgr, _ := newManager(t, kube)
	events := record.NewFakeRecorder(16)
	r := newReconciler(recordingManager{Manager: mgr, events: events}, options(), Kind[*cluster.Machine]{
		Identity: machineIdentity(),
		External: managed.TypedExternalConnectorFn[*cluster.Machine](
			func(context.Context, *cluster.Machine) (managed.TypedExternalClient[*cluster.Machine], error) {
				return failing{}, nil
			},
		),
	})
	for range 4 {
		if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(m)}); err != nil {
			t.Fatal(err)
		}
	}
	close(events.Events)
	told := 0
	for e := range events.Events {
		if !strings.Contains(e, "boom") {
			t.Errorf("want the fault told, got %q", e)
		}
		told++
	}
	if told != 1 || conflicts >= 0 {
		t.Errorf("want one event of the fault over two conflicts, got %d, %d conflicts left", told, conflicts)
	}
}

// TestFaultOfStandalone checks a kind with a separate reconciler, which writes that it was reconciled before it fails.
func TestFaultOfStandalone(t *testing.T) {
	kube := record.NewFakeRecorder(8)
	tell := newReportedErrors(time.Now).reporter(event.NewAPIRecorder(kube))
	policy := &namespaced.SnapshotPolicy{ObjectMeta: metav1.ObjectMeta{Name: "nightly", UID: "nightly"}}
	policy.SetConditions(xpv2.ReconcileSuccess())
	for _, err := range []error{errors.New("boom"), errors.New("boom"), nil, errors.New("boom"), nil, nil} {
		tell(policy, err)
	}
	if n := len(kube.Events); n != 2 {
		t.Errorf("want the fault told when it comes and when it comes back, got %d events", n)
	}
}
