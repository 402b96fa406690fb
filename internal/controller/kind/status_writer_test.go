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

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind/transform"
)

func TestQuiet(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		change func(*cluster.Machine)
		behind func(*cluster.Machine) // what someone else has changed meanwhile
		opts   []client.SubResourceUpdateOption
		want   int
	}{
		"same": {
			reason: "A status that is known is not written.",
			change: func(m *cluster.Machine) { m.SetConditions(xpv2.Available(), xpv2.ReconcileSuccess()) },
		},
		"twice": {
			reason: "A condition that differs by its time alone, since it was shown otherwise for a moment, is not written.",
			change: func(m *cluster.Machine) {
				m.Status.Conditions[0].LastTransitionTime = metav1.NewTime(time.Now().Add(time.Hour))
			},
		},
		"spec": {
			reason: "The update of a status does not write what else was changed.",
			change: func(m *cluster.Machine) { m.Spec.ForProvider.Description = new("x") },
		},
		"condition": {
			reason: "A condition that changes is written.",
			change: func(m *cluster.Machine) { m.SetConditions(xpv2.Unavailable()) },
			want:   1,
		},
		"generation": {
			reason: "A condition that was concluded from a later spec is written.",
			change: func(m *cluster.Machine) { m.SetConditions(xpv2.Available().WithObservedGeneration(2)) },
			want:   1,
		},
		"value": {
			reason: "Anything else that changes is written.",
			change: func(m *cluster.Machine) { m.Observation().Node = "pve2" },
			want:   1,
		},
		"behind": {
			reason: "What somebody else has changed behind our back is for the API server to judge.",
			change: func(*cluster.Machine) {},
			behind: func(m *cluster.Machine) { m.Observation().Node = "nowhere" },
			want:   1,
		},
		"options": {
			reason: "Who asks for something particular gets it.",
			change: func(*cluster.Machine) {},
			opts:   []client.SubResourceUpdateOption{client.DryRunAll},
			want:   1,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			writes := 0
			count := func(context.Context, client.Client, string, client.Object, ...client.SubResourceUpdateOption) error {
				writes++
				return nil
			}
			kube := fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(known()).WithStatusSubresource(known()).
				WithInterceptorFuncs(interceptor.Funcs{SubResourceUpdate: count}).Build()
			m := &cluster.Machine{}
			if err := kube.Get(t.Context(), client.ObjectKeyFromObject(known()), m); err != nil {
				t.Fatal(err)
			}
			if tc.behind != nil {
				other := m.DeepCopy()
				tc.behind(other)
				if err := kube.Status().Patch(t.Context(), other, client.MergeFrom(m)); err != nil {
					t.Fatal(err)
				}
			}
			tc.change(m)
			if err := (statusClient{Client: kube}).Status().Update(t.Context(), m, tc.opts...); err != nil {
				t.Fatal(err)
			}
			if writes != tc.want {
				t.Errorf("%s\nwant %d writes, got %d", tc.reason, tc.want, writes)
			}
		})
	}
}

// known returns a Machine with a status.
func known() *cluster.Machine {
	m := &cluster.Machine{ObjectMeta: metav1.ObjectMeta{Name: "known"}}
	m.SetConditions(xpv2.Available().WithObservedGeneration(1), xpv2.ReconcileSuccess())
	m.Observation().Node = "pve1"
	return m
}

func TestObservedGeneration(t *testing.T) {
	t.Parallel()
	refused := xpv2.ReconcileError(errors.New("refused")).WithObservedGeneration(2)
	cases := map[string]struct {
		reason     string
		conditions []xpv2.Condition
		want       xpv2.Condition
	}{
		"Evaluated": {
			reason:     "Ready of the spec that was reconciled stays as it is.",
			conditions: []xpv2.Condition{xpv2.Available().WithObservedGeneration(2), refused},
			want:       xpv2.Available().WithObservedGeneration(2),
		},
		"Failed": {
			reason:     "A reconcile that failed does not leave Ready=True of the spec before.",
			conditions: []xpv2.Condition{xpv2.Available().WithObservedGeneration(1), refused},
			want: xpv2.Condition{
				Type: xpv2.TypeReady, Status: corev1.ConditionUnknown, Reason: ReasonNotObserved, ObservedGeneration: 2,
				Message: "The spec has changed, and the reconcile failed before this could be evaluated: see the condition Synced",
			},
		},
		"NotReady": {
			reason:     "What is not ready keeps its reason.",
			conditions: []xpv2.Condition{xpv2.Unavailable().WithMessage("off").WithObservedGeneration(1), refused},
			want:       xpv2.Unavailable().WithMessage("off").WithObservedGeneration(1),
		},
		"UpToDate": {
			reason:     "UpToDate=True does not stand after a change of the spec that could not be evaluated.",
			conditions: []xpv2.Condition{UpToDate(nil).WithObservedGeneration(1), refused},
			want: xpv2.Condition{
				Type: TypeUpToDate, Status: corev1.ConditionUnknown, Reason: ReasonNotObserved, ObservedGeneration: 2,
				Message: "The spec has changed, and the reconcile failed before this could be evaluated: see the condition Synced",
			},
		},
		"Reconciled": {
			reason:     "A resource that is paused keeps what was seen of it.",
			conditions: []xpv2.Condition{xpv2.Available().WithObservedGeneration(1), xpv2.ReconcileSuccess()},
			want:       xpv2.Available().WithObservedGeneration(1),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kube := fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(known()).WithStatusSubresource(known()).Build()
			m := &cluster.Machine{}
			if err := kube.Get(t.Context(), client.ObjectKeyFromObject(known()), m); err != nil {
				t.Fatal(err)
			}
			m.Generation = 2
			m.SetConditions(tc.conditions...)
			if err := (statusClient{Client: kube}).Status().Update(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			if got := m.Status.GetObservedGeneration(); got != 2 {
				t.Errorf("want the generation 2 observed, got %d", got)
			}
			if got := m.GetCondition(tc.want.Type); !got.Equal(tc.want) || got.ObservedGeneration != tc.want.ObservedGeneration {
				t.Errorf("%s\nwant %v, got %v", tc.reason, tc.want, got)
			}
		})
	}
}

// TestBlanksExplained checks that a failed reconcile reports what is wrong, and that no condition is blank after it, or for a paused resource.
func TestBlanksExplained(t *testing.T) {
	t.Parallel()
	notObserved := func(t xpv2.ConditionType) xpv2.Condition {
		return xpv2.Condition{
			Type: t, Status: corev1.ConditionUnknown, Reason: ReasonNotObserved,
			Message: "The reconcile failed before this could be evaluated: see the condition Synced",
		}
	}
	paused := func(t xpv2.ConditionType) xpv2.Condition {
		return xpv2.Condition{
			Type: t, Status: corev1.ConditionUnknown, Reason: ReasonPaused,
			Message: "The resource is paused and was not looked at before: see the condition Synced",
		}
	}
	notReconciled := func(t xpv2.ConditionType) xpv2.Condition {
		return xpv2.Condition{Type: t, Status: corev1.ConditionUnknown, Reason: v1alpha1.ReasonNotReconciled, LastTransitionTime: metav1.Unix(0, 0)}
	}
	cases := map[string]struct {
		reason     string
		conditions []xpv2.Condition
		phase      v1alpha1.MachinePhase
		want       []xpv2.Condition
		wantPhase  v1alpha1.MachinePhase
	}{
		"Blank": {
			reason:     "What was never evaluated is unknown, and not blank.",
			conditions: []xpv2.Condition{xpv2.ReconcileError(errors.New("cannot adopt VM 100: there is none"))},
			want: []xpv2.Condition{
				xpv2.ReconcileError(errors.New("cannot adopt VM 100: there is none")), notObserved(xpv2.TypeReady), notObserved(TypeUpToDate),
			},
			wantPhase: v1alpha1.MachineError,
		},
		"Default": {
			reason: "What the definition says before the first reconcile was not evaluated either.",
			conditions: []xpv2.Condition{
				xpv2.ReconcileError(errors.New("boom")), notReconciled(xpv2.TypeReady), notReconciled(TypeUpToDate),
			},
			phase:     v1alpha1.MachinePending,
			want:      []xpv2.Condition{xpv2.ReconcileError(errors.New("boom")), notObserved(xpv2.TypeReady), notObserved(TypeUpToDate)},
			wantPhase: v1alpha1.MachineError,
		},
		"Observe": {
			reason:     "Not every error of an Observe is a failure to observe; what was evaluated stays.",
			conditions: []xpv2.Condition{xpv2.ReconcileError(errors.New("observe failed: storage 'fast' not found")), xpv2.Creating(), UpToDate(nil)},
			phase:      v1alpha1.MachinePending,
			want:       []xpv2.Condition{xpv2.ReconcileError(errors.New("storage 'fast' not found")), xpv2.Creating(), UpToDate(nil)},
			wantPhase:  v1alpha1.MachinePending,
		},
		"Paused": {
			reason:     "A resource that is paused from the start has not failed, and says why nothing is known of it.",
			conditions: []xpv2.Condition{xpv2.ReconcilePaused()},
			want:       []xpv2.Condition{xpv2.ReconcilePaused(), paused(xpv2.TypeReady), paused(TypeUpToDate)},
			wantPhase:  v1alpha1.MachinePending,
		},
		"PausedLater": {
			reason:     "A resource that is paused keeps what was seen of it.",
			conditions: []xpv2.Condition{xpv2.ReconcilePaused(), xpv2.Available(), UpToDate(nil)},
			phase:      v1alpha1.MachineRunning,
			want:       []xpv2.Condition{xpv2.ReconcilePaused(), xpv2.Available(), UpToDate(nil)},
			wantPhase:  v1alpha1.MachineRunning,
		},
		"Resumed": {
			reason:     "What was paused and fails at once does not seem to be paused still.",
			conditions: []xpv2.Condition{xpv2.ReconcileError(errors.New("boom")), paused(xpv2.TypeReady), paused(TypeUpToDate)},
			phase:      v1alpha1.MachinePending,
			want:       []xpv2.Condition{xpv2.ReconcileError(errors.New("boom")), notObserved(xpv2.TypeReady), notObserved(TypeUpToDate)},
			wantPhase:  v1alpha1.MachineError,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kube := fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(known()).WithStatusSubresource(known()).Build()
			m := &cluster.Machine{}
			if err := kube.Get(t.Context(), client.ObjectKeyFromObject(known()), m); err != nil {
				t.Fatal(err)
			}
			m.Status.Conditions, m.Observation().Phase = nil, tc.phase
			m.SetConditions(tc.conditions...)
			if err := (statusClient{Client: kube}).Status().Update(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			for _, want := range tc.want {
				if got := m.GetCondition(want.Type); !got.Equal(want) {
					t.Errorf("%s\nwant %v, got %v", tc.reason, want, got)
				}
			}
			if got := m.Observation().Phase; got != tc.wantPhase {
				t.Errorf("%s\nwant phase %q, got %q", tc.reason, tc.wantPhase, got)
			}
		})
	}
}

// TestQuietAnew checks that the status of an object that the cache does not have is written.
func TestQuietAnew(t *testing.T) {
	t.Parallel()
	kube := fake.NewClientBuilder().WithScheme(scheme(t)).Build()
	if err := (statusClient{Client: kube}).Status().Update(t.Context(), known()); err == nil {
		t.Error("want what the API server says of a status of nothing")
	}
}

// A behind client has a cache that leaves out parts, and that may be late.
type behind struct {
	client.Client

	cache client.Reader
}

func (b behind) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if err := b.cache.Get(ctx, key, o, opts...); err != nil {
		return err
	}
	_, err := transform.Cached(o)
	return err
}

// TestUpdate checks writes of whole objects that were read from a cache that does not hold all of their parts.
func TestUpdate(t *testing.T) {
	t.Parallel()
	applied := func() *cluster.Machine {
		return &cluster.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m", UID: "1", ResourceVersion: "1", Annotations: map[string]string{
			corev1.LastAppliedConfigAnnotation: "{}", "theirs": "1", "ours": "1",
		}}}
	}
	cases := map[string]struct {
		reason string
		change func(t *testing.T, kube client.Client, m *cluster.Machine)
		late   bool // whether the cache holds the state before the change
		want   map[string]string
		err    func(error) bool
	}{
		"Finalizer": {
			reason: "What others have noted is kept.", want: map[string]string{corev1.LastAppliedConfigAnnotation: "{}", "theirs": "1", "ours": "1"},
			change: func(*testing.T, client.Client, *cluster.Machine) {},
		},
		"Annotation": {
			reason: "What is changed and taken away is.", want: map[string]string{corev1.LastAppliedConfigAnnotation: "{}", "theirs": "1", "more": "1"},
			change: func(_ *testing.T, _ client.Client, m *cluster.Machine) {
				delete(m.Annotations, "ours")
				m.Annotations["more"] = "1"
			},
		},
		"Stale": {
			reason: "What was applied last is not written, since it may be an old one.",
			want:   map[string]string{corev1.LastAppliedConfigAnnotation: "{}", "theirs": "1", "ours": "1"},
			change: func(_ *testing.T, _ client.Client, m *cluster.Machine) {
				m.Annotations[corev1.LastAppliedConfigAnnotation] = "old"
			},
		},
		"Late": {
			reason: "A change of ours that the cache does not hold yet is kept.", late: true,
			want: map[string]string{corev1.LastAppliedConfigAnnotation: "{}", "theirs": "1", "ours": "2"},
			change: func(t *testing.T, kube client.Client, m *cluster.Machine) {
				t.Helper()
				if err := Annotate(t.Context(), kube, m, map[string]string{"ours": "2"}); err != nil {
					t.Fatal(err)
				}
			},
		},
		"Answered": {
			reason: "Who has the whole object from the API server's answer writes the same.", late: true,
			want: map[string]string{corev1.LastAppliedConfigAnnotation: "{}", "theirs": "1"},
			change: func(t *testing.T, kube client.Client, m *cluster.Machine) {
				t.Helper()
				before := m.DeepCopy()
				delete(m.Annotations, "ours")
				if err := kube.Patch(t.Context(), m, client.MergeFrom(before)); err != nil {
					t.Fatal(err)
				}
			},
		},
		"Conflict": {
			reason: "What others have changed since is not overwritten.", err: kerrors.IsConflict,
			want: map[string]string{corev1.LastAppliedConfigAnnotation: "{}", "theirs": "2", "ours": "1"},
			change: func(t *testing.T, kube client.Client, m *cluster.Machine) {
				t.Helper()
				other := m.DeepCopy()
				if err := Annotate(t.Context(), kube, other, map[string]string{"theirs": "2"}); err != nil {
					t.Fatal(err)
				}
			},
		},
		"Another": {
			reason: "An object that has replaced it is left alone.", err: kerrors.IsConflict,
			want:   map[string]string{corev1.LastAppliedConfigAnnotation: "{}", "theirs": "1", "ours": "1"},
			change: func(_ *testing.T, _ client.Client, m *cluster.Machine) { m.UID = "2" },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			updates := 0
			server := fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(applied()).WithStatusSubresource(applied()).WithInterceptorFuncs(interceptor.Funcs{
				Update: func(context.Context, client.WithWatch, client.Object, ...client.UpdateOption) error {
					updates++
					return nil
				},
			}).Build()
			kube := behind{Client: server, cache: server}
			if tc.late {
				kube.cache = fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(applied()).Build()
			}
			m := &cluster.Machine{}
			if err := kube.Get(t.Context(), client.ObjectKey{Name: "m"}, m); err != nil {
				t.Fatal(err)
			}
			tc.change(t, kube, m)
			m.SetFinalizers([]string{"ours"})
			m.SetConditions(xpv2.Available())
			err := statusClient{Client: kube}.Update(t.Context(), m)
			if failed := tc.err != nil; failed != (err != nil) || failed && !tc.err(err) {
				t.Errorf("%s\nerror: %v", tc.reason, err)
			}
			after := &cluster.Machine{}
			if err := server.Get(t.Context(), client.ObjectKey{Name: "m"}, after); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, after.GetAnnotations()); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
			if done := len(after.GetFinalizers()) == 1; done != (tc.err == nil) || updates > 0 {
				t.Errorf("%s\nfinalizers %v, %d updates", tc.reason, after.GetFinalizers(), updates)
			}
			if ready := m.GetCondition(xpv2.TypeReady); ready.Reason != xpv2.ReasonAvailable {
				t.Errorf("%s\nwhat was observed must stay in memory until it is written, got %v", tc.reason, ready)
			}
			if known := m.GetResourceVersion() == after.GetResourceVersion(); known != (tc.err == nil) && name != "Another" {
				t.Errorf("%s\nversion %s is known, want %s", tc.reason, m.GetResourceVersion(), after.GetResourceVersion())
			}
		})
	}
}
