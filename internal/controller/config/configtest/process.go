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

package configtest

import (
	"context"
	"fmt"
	"net/http"
	goruntime "runtime"
	"slices"
	"sync"
	"testing"
	"time"

	xpcontroller "github.com/crossplane/crossplane-runtime/v2/pkg/controller"
	"github.com/crossplane/crossplane-runtime/v2/pkg/feature"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/crossplane/crossplane-runtime/v2/pkg/ratelimiter"
	xpfake "github.com/crossplane/crossplane-runtime/v2/pkg/resource/fake"
	"github.com/go-logr/logr"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/vitistack/provider-proxmox/internal/connect"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// maxAge of the data of Proxmox VE that a provider caches.
const maxAge = 20 * time.Millisecond

// A process is a run of the provider, from its start to its end. Its memory ends with it.
type process struct {
	ctx        context.Context //nolint:containedctx // It ends with the process.
	cancel     context.CancelFunc
	reconciler reconcile.Reconciler

	mu      sync.Mutex
	effects []string
	fatal   int
	dead    chan struct{}
}

// start starts a process that is killed at a side effect: after the answer to a write to Proxmox VE has arrived, and before and after each write to
// the Kubernetes API. 0 means none.
func start(t *testing.T, kube client.WithWatch, setup Setup, s kind.Scope, fatal int, options ...inventory.Option) *process {
	t.Helper()
	p := &process{fatal: fatal, dead: make(chan struct{})}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	mgr := &fakeManager{Manager: xpfake.Manager{
		Client: p.untilKilled(kube), Cache: &informertest.FakeInformers{Scheme: kube.Scheme()},
		Scheme: kube.Scheme(), RESTMapper: kube.RESTMapper(), Logger: logr.Discard(),
	}}
	features := &feature.Flags{}
	features.Enable(feature.EnableBetaManagementPolicies)
	if len(options) == 0 {
		options = []inventory.Option{inventory.WithPollInterval(maxAge), inventory.WithEventPollInterval(maxAge), inventory.WithMaxAge(maxAge)}
	}
	o := kind.Options{
		Options: xpcontroller.Options{
			Logger: logging.NewNopLogger(), GlobalRateLimiter: ratelimiter.NewGlobal(1e6),
			PollInterval: time.Minute, MaxConcurrentReconciles: 1, Features: features,
		},
		Connections: connect.New(mgr.GetClient(), connect.WithObserver(p.called), connect.WithInventory(options...), connect.WithRecordsIn(namespace)),
	}
	if err := setup(mgr, o, s); err != nil {
		t.Fatal(err)
	}
	p.reconciler = mgr.reconciler
	go func() { _ = o.Connections.Start(p.ctx) }()
	return p
}

func (p *process) isDead() bool {
	select {
	case <-p.dead:
		return true
	default:
		return false
	}
}

// did counts an effect that others can see. If the process is killed at it, the goroutine ends here.
func (p *process) did(effect string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.isDead() {
		goruntime.Goexit()
	}
	p.effects = append(p.effects, effect)
	if len(p.effects) == p.fatal {
		close(p.dead)
		p.cancel()
		goruntime.Goexit()
	}
}

// called counts each request to Proxmox VE when its answer has arrived. Reads are shared and happen at any time, so they do not count.
func (p *process) called(c proxmox.Call) {
	if c.Method != http.MethodGet {
		p.did(fmt.Sprintf("%s %s %d", c.Method, c.Path, c.Status))
	}
}

// untilKilled returns the Kubernetes API of the process, which does nothing once the process was killed.
func (p *process) untilKilled(kube client.WithWatch) client.WithWatch {
	write := func(verb string, o client.Object, do func() error) error {
		effect := fmt.Sprintf("%s %T", verb, o)
		p.did("before " + effect)
		err := do()
		if err == nil {
			p.did("after " + effect)
		}
		return err
	}
	return interceptor.NewClient(kube, interceptor.Funcs{
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			return write("update", o, func() error { return c.Update(ctx, o, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
			return write("patch", o, func() error { return c.Patch(ctx, o, patch, opts...) })
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, name string, o client.Object, opts ...client.SubResourceUpdateOption) error {
			return write("update "+name, o, func() error { return c.SubResource(name).Update(ctx, o, opts...) })
		},
	})
}

// reconcile reconciles once. If the process is killed meanwhile, that is not an error.
func (p *process) reconcile(key client.ObjectKey) error {
	done := make(chan error, 1)
	go func() {
		defer close(done)
		_, err := p.reconciler.Reconcile(p.ctx, reconcile.Request{NamespacedName: key})
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-p.dead:
		<-done
		return nil
	}
}

// A fakeManager accepts a controller, which it does not start.
type fakeManager struct {
	xpfake.Manager

	reconciler reconcile.Reconciler
}

var _ ctrl.Manager = &fakeManager{}

func (m *fakeManager) Add(r manager.Runnable) error {
	if c, ok := r.(reconcile.Reconciler); ok {
		m.reconciler = c
	}
	return nil
}

func (m *fakeManager) GetAPIReader() client.Reader { return m.GetClient() }

func (m *fakeManager) GetFieldIndexer() client.FieldIndexer { return indexed{} }

// indexed does nothing, because the fake client has the indices already.
type indexed struct{}

func (indexed) IndexField(context.Context, client.Object, string, client.IndexerFunc) error {
	return nil
}

func (m *fakeManager) GetControllerOptions() config.Controller {
	return config.Controller{SkipNameValidation: new(true)}
}

func (m *fakeManager) GetEventRecorderFor(string) record.EventRecorder { return &record.FakeRecorder{} }

// effectsOf returns the side effects of the process so far.
func (p *process) effectsOf() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.effects)
}
