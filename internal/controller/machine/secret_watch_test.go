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

package machine

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/connect"
)

// TestGoneIsForgotten deletes a Machine that is never reconciled again, such as one whose VM stays: nothing of it is kept, and the resources that it
// referred to are no longer watched.
func TestGoneIsForgotten(t *testing.T) {
	b := newBench(t, spec(func(p *v1alpha1.MachineParameters) {
		p.CloudInit = &v1alpha1.MachineCloudInit{UserData: &v1alpha1.CloudInitData{SecretRef: &v1alpha1.SecretKeyReference{Name: "data", Key: "k"}}}
	}))
	b.vms[10000] = ourVM("running")
	watched := make(chan context.Context, 1)
	kube := interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
		Watch: func(ctx context.Context, to client.WithWatch, list client.ObjectList, opts ...client.ListOption) (watch.Interface, error) {
			watched <- ctx
			return to.Watch(ctx, list, opts...)
		},
	})
	c := &connector{shared: b.external().shared}
	c.follow, c.leave = c.followWith(connect.New(kube, connect.WithWatcher(kube)), schema.GroupKind{Kind: "Machine"})
	informers := &informertest.FakeInformers{Scheme: b.kube.Scheme()}
	if err := c.forgetGone(informers, c.object); err != nil {
		t.Fatal(err)
	}
	c.follow(b.m)
	b.reconcile(t.Context())
	b.tasks.Refused(b.m, errors.New("a task was refused")) // Nothing is remembered of a Machine without tasks.
	ctx := <-watched
	if ctx.Err() != nil || b.tasks.Len() != 1 || b.cache.Len() != 1 {
		t.Fatalf("nothing is known of the Machine: %v", ctx.Err())
	}
	informer, err := informers.FakeInformerFor(t.Context(), c.object)
	if err != nil {
		t.Fatal(err)
	}
	informer.Delete(b.m)
	if b.tasks.Len() != 0 || b.cache.Len() != 0 {
		t.Error("Something of the Machine is kept.")
	}
	if ctx.Err() == nil {
		t.Error("The Secret that it referred to is watched still.")
	}
}

// TestWakeBySecret checks that a Machine is woken when a Secret changes that it refers to.
func TestWakeBySecret(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "data"}}
	kube := fake.NewClientBuilder().WithScheme(scheme).WithObjects(secret).Build()
	to := connect.New(kube, connect.WithWatcher(kube))
	defer func() { // It ends the watches.
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = to.Start(ctx)
	}()
	woken := make(chan Machine)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := &connector{shared: &shared{object: &namespaced.Machine{}, wake: func(m Machine) {
		select {
		case woken <- m:
		case <-ctx.Done():
		}
	}}}
	m := &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web"}}
	m.Spec.ForProvider.CloudInit = &v1alpha1.MachineCloudInit{PasswordSecretRef: &v1alpha1.SecretKeyReference{Name: "data", Key: "k"}}
	follow, _ := c.followWith(to, schema.GroupKind{Kind: "Machine"})
	follow(m)

	tick, late := time.NewTicker(10*time.Millisecond), time.After(30*time.Second)
	defer tick.Stop()
	for i := 0; ; i++ { // The watch is created in the background.
		secret.Data = map[string][]byte{"k": []byte(strconv.Itoa(i))}
		if err := kube.Update(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
		select {
		case got := <-woken:
			if client.ObjectKeyFromObject(got) != client.ObjectKeyFromObject(m) {
				t.Errorf("%s is woken", client.ObjectKeyFromObject(got))
			}
			return
		case <-tick.C:
		case <-late:
			t.Fatal("nobody is woken")
		}
	}
}
