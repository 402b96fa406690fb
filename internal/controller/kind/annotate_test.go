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
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/vitistack/provider-proxmox/apis"
	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	if err := apis.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	return s
}

func kube(t *testing.T, objects ...client.Object) client.WithWatch {
	t.Helper()
	return fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(objects...).WithStatusSubresource(objects...).Build()
}

// machine returns the Machine as read from the API.
func machine(t *testing.T, kube client.Client) *cluster.Machine {
	t.Helper()
	m := &cluster.Machine{}
	if err := kube.Get(t.Context(), client.ObjectKey{Name: "m"}, m); err != nil {
		t.Fatal(err)
	}
	return m
}

func newMachine() *cluster.Machine {
	return &cluster.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m", Annotations: map[string]string{"mine": "1"}}}
}

func TestAnnotate(t *testing.T) {
	c := kube(t, newMachine())
	m := machine(t, c)
	m.Status.AtProvider.Phase = v1alpha1.MachineCreating
	if err := Annotate(t.Context(), c, m, map[string]string{"theirs": "2"}); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"mine": "1", "theirs": "2"}
	if diff := cmp.Diff(want, m.GetAnnotations()); diff != "" {
		t.Errorf("Annotate(): in memory: -want, +got:\n%s", diff)
	}
	if diff := cmp.Diff(want, machine(t, c).GetAnnotations()); diff != "" {
		t.Errorf("Annotate(): in the API: -want, +got:\n%s", diff)
	}
	if m.Status.AtProvider.Phase != v1alpha1.MachineCreating {
		t.Error("Annotate(): the status in memory must stay as it is")
	}
	if err := c.Status().Update(t.Context(), m); err != nil {
		t.Errorf("Annotate(): the object must be good for the next write, got: %v", err)
	}
}

func TestAnnotateConflict(t *testing.T) {
	c := kube(t, newMachine())
	stale, fresh := machine(t, c), machine(t, c)
	fresh.Spec.ForProvider.Name = new("changed")
	if err := c.Update(t.Context(), fresh); err != nil {
		t.Fatal(err)
	}
	if err := Annotate(t.Context(), c, stale, map[string]string{"theirs": "2"}); !kerrors.IsConflict(err) {
		t.Errorf("Annotate(): want a conflict for an object that has changed, got: %v", err)
	}
	if diff := cmp.Diff(map[string]string{"mine": "1"}, stale.GetAnnotations()); diff != "" {
		t.Errorf("Annotate(): what was not written must not be in memory: -want, +got:\n%s", diff)
	}
}

func TestAnnotateUnchanged(t *testing.T) {
	c := interceptor.NewClient(kube(t, newMachine()), interceptor.Funcs{
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			t.Error("Annotate(): nothing must be sent")
			return nil
		},
	})
	if err := Annotate(t.Context(), c, machine(t, c), map[string]string{"mine": "1"}); err != nil {
		t.Error(err)
	}
}

// TestAfterCall checks that the outcome of a call is written even if the reconcile is over.
func TestAfterCall(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	end()
	failed := errors.New("no")
	err := AfterCall(ctx, func(ctx context.Context) error {
		if _, ends := ctx.Deadline(); !ends || ctx.Err() != nil {
			t.Errorf("want a context that ends by itself, got one that ends %t: %v", ends, ctx.Err())
		}
		return failed
	})
	if !errors.Is(err, failed) {
		t.Errorf("want the error, got %v", err)
	}
}
