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

package connect

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// A watcher creates watches as the test needs them.
type watcher struct {
	client.WithWatch

	mu   sync.Mutex
	err  error
	made []*made
}

// answer sets the result of all further watches, and forgets the existing ones.
func (w *watcher) answer(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err, w.made = err, nil
}

func (w *watcher) all() []*made {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.made)
}

// made is a watch of one name.
type made struct {
	*watch.FakeWatcher

	list      string
	namespace string
	fields    string
}

func (w *watcher) Watch(ctx context.Context, l client.ObjectList, opts ...client.ListOption) (watch.Interface, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		w.made = append(w.made, nil)
		return nil, w.err
	}
	o := (&client.ListOptions{}).ApplyOptions(opts)
	m := &made{
		FakeWatcher: watch.NewFake(), list: l.GetObjectKind().GroupVersionKind().Kind,
		namespace: o.Namespace, fields: o.FieldSelector.String(),
	}
	w.made = append(w.made, m)
	context.AfterFunc(ctx, m.Stop)
	return m, nil
}

func versioned(name, version string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: name, ResourceVersion: version}}
}

// watched has the watched names and the changes that were reported.
type watched struct {
	*watches

	kube *watcher
	told []reference
}

func newWatched(t *testing.T) *watched {
	t.Helper()
	w := &watched{kube: &watcher{}}
	w.watches = newWatches(newObjects(nil), func(r reference) { w.told = append(w.told, r) })
	w.watches.kube = w.kube
	return w
}

var (
	siteA  = reference{kind: schema.GroupKind{Kind: "ProviderConfig"}, name: "a"}          //nolint:gochecknoglobals // A constant.
	siteB  = reference{kind: schema.GroupKind{Kind: "ProviderConfig"}, name: "b"}          //nolint:gochecknoglobals // A constant.
	thePVE = object{kind: secret, key: client.ObjectKey{Namespace: "system", Name: "pve"}} //nolint:gochecknoglobals // A constant.
)

func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatched(t)
		defer w.close()
		w.watch(siteA, []object{thePVE})
		w.watch(siteB, []object{thePVE})
		synctest.Wait()
		if len(w.kube.all()) != 1 {
			t.Fatalf("one object is watched once, not %d times", len(w.kube.all()))
		}
		m := w.kube.all()[0]
		if got := []string{m.list, m.namespace, m.fields}; !cmp.Equal(got, []string{"Secret", "system", "metadata.name=pve"}) {
			t.Errorf("watched is %q: want nothing but the one Secret", got)
		}
		w.objects.note(thePVE, "1")
		m.Add(versioned("pve", "1"))
		m.Modify(versioned("other", "7"))
		synctest.Wait()
		if len(w.told) != 0 {
			t.Errorf("nothing has changed since it was read: %v", w.told)
		}
		m.Modify(versioned("pve", "2"))
		synctest.Wait()
		if len(w.told) != 2 {
			t.Errorf("told are %v, want both that refer to it", w.told)
		}
		m.Delete(versioned("pve", "3"))
		synctest.Wait()
		if len(w.told) != 4 {
			t.Errorf("told are %v, want both once more, for it is gone", w.told)
		}
	})
}

func TestWatchIsMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatched(t)
		defer w.close()
		w.kube.answer(errors.New("forbidden"))
		w.watch(siteA, []object{thePVE})
		<-time.After(time.Hour)
		synctest.Wait()
		if n := len(w.kube.all()); n < 12 || n > 24 {
			t.Errorf("who may not watch asked %d times in an hour, want about once in five minutes", n)
		}
		w.kube.answer(nil)
		<-time.After(lastRewatch)
		synctest.Wait()
		if len(w.kube.all()) != 1 {
			t.Fatalf("%d watches were made, want one", len(w.kube.all()))
		}
		w.kube.all()[0].Stop()
		<-time.After(firstRewatch)
		synctest.Wait()
		if len(w.kube.all()) != 2 {
			t.Error("a watch that has ended is made again at once: API servers end them")
		}
		w.kube.all()[1].Add(versioned("pve", "9"))
		synctest.Wait()
		if len(w.told) != 1 {
			t.Error("what changed between two watches is seen by the next")
		}
	})
}

func TestWatchEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatched(t)
		w.watch(siteA, []object{thePVE})
		w.watch(siteB, []object{thePVE})
		synctest.Wait()
		w.watch(siteA, nil)
		synctest.Wait()
		if w.kube.all()[0].IsStopped() {
			t.Error("another configuration still refers to it")
		}
		w.watch(siteB, nil)
		synctest.Wait()
		if len(w.running) != 0 || len(w.wanted) != 0 {
			t.Errorf("nobody refers to it any more: %v, %v", w.running, w.wanted)
		}
		w.watch(siteA, []object{thePVE})
		synctest.Wait()
		w.close()
		synctest.Wait()
		if len(w.running) != 0 {
			t.Error("at the end nothing is watched")
		}
		w.watch(siteB, []object{thePVE})
		if len(w.running) != 0 {
			t.Error("after the end nothing is watched")
		}
	})
}

// TestReadWhileItChanges checks that content that was read before a change is not used after it.
func TestReadWhileItChanges(t *testing.T) {
	var o *objects
	c := kube(t, tokenSecretOf("system", "pve"))
	changing := changingReader{Reader: c, fn: func() { o.note(thePVE, "newer") }}
	o = newObjects(&changing)
	for range 2 {
		if _, err := o.data(t.Context(), thePVE); err != nil {
			t.Fatal(err)
		}
		changing.fn = nil
	}
	if changing.reads != 2 {
		t.Errorf("read %d times, want 2: the first was out of date", changing.reads)
	}
}

// A changingReader calls a function between a read and its result.
type changingReader struct {
	client.Reader

	fn    func()
	reads int
}

func (r *changingReader) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	err := r.Reader.Get(ctx, key, o, opts...)
	r.reads++
	if r.fn != nil {
		r.fn()
	}
	return err
}

func keyOf(name string) Key {
	return Key{Kind: cluster.SchemeGroupVersion.WithKind("ProviderConfig").GroupKind(), ObjectKey: client.ObjectKey{Name: name}}
}

func TestOnRecovered(t *testing.T) {
	c := New(kube(t), WithDefault("main"))
	var used func(resource.Managed) bool
	calls := 0
	for range 2 {
		c.OnRecovered(func(fn func(resource.Managed) bool) { used, calls = fn, calls+1 })
	}
	c.Recovered(keyOf("main"))
	if calls != 2 {
		t.Fatalf("%d were told, want all", calls)
	}
	cases := map[string]struct {
		reason string
		mg     resource.Managed
		want   bool
	}{
		"Named":     {reason: "The resource names the configuration.", mg: clusterMachine("main"), want: true},
		"StandsIn":  {reason: "The resource names none, and the configuration stands in for that.", mg: clusterMachine(""), want: true},
		"Other":     {reason: "The resource names another configuration.", mg: clusterMachine("other")},
		"OtherKind": {reason: "The resource names a configuration of the same name, of another kind.", mg: namespacedMachine("team", "ProviderConfig", "main")},
	}
	for name, tc := range cases {
		if got := used(tc.mg); got != tc.want {
			t.Errorf("%s: %s used is %t", name, tc.reason, got)
		}
	}
}

// TestReplacedCredentials checks that a call that waits for a slot is informed when its credentials are replaced.
func TestReplacedCredentials(t *testing.T) {
	p := newPool()
	defer p.close()
	cfg := proxmox.Config{
		Endpoints: []string{"https://192.0.2.1"}, Credentials: proxmox.Credentials{TokenID: "u@pve!t", TokenSecret: "1" + hidden},
		Limits: proxmox.Limits{Tasks: 1},
	}
	s, err := p.get(siteA, cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.client.ReserveCreate(proxmox.Ref{Node: "pve1", VMID: 100}); err != nil {
		t.Fatal(err)
	}
	turn, ok := proxmox.Waiting(s.client.ReserveCreate(proxmox.Ref{Node: "pve1", VMID: 101}))
	if !ok {
		t.Fatal("there is one turn only")
	}
	cfg.Credentials.TokenSecret = "2" + hidden
	if _, err := p.get(siteA, cfg, nil); err != nil {
		t.Fatal(err)
	}
	came := false
	turn.Then(func() { came = true })
	if !came {
		t.Error("what waits has to ask the client that takes the place of this one")
	}
}
