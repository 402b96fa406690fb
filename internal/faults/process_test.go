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

package faults

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	xpcontroller "github.com/crossplane/crossplane-runtime/v2/pkg/controller"
	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/feature"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/crossplane/crossplane-runtime/v2/pkg/ratelimiter"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpfake "github.com/crossplane/crossplane-runtime/v2/pkg/resource/fake"
	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/connect"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/images"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/restore"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/scheduler"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/volumes"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/metrics"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// A sideEffect is a step after or before which a provider can be killed: the response to a call of PVE's API has arrived, or something is about to be
// written to the API server, or has been.
type sideEffect string

// call reports whether it is a call of PVE's API.
func (d sideEffect) call() bool { return strings.Contains(string(d), " /") }

// reads reports whether it is a call of PVE's API that changes nothing.
func (d sideEffect) reads() bool { return strings.HasPrefix(string(d), http.MethodGet+" ") }

// A process is one process of the provider. Its memory ends with it.
type process struct {
	ctx    context.Context //nolint:containedctx // It is the life of the process.
	cancel context.CancelFunc

	// reconcilers are those of Machines by scope, followed by that of Volumes.
	reconcilers []reconcile.Reconciler

	mu      sync.Mutex
	effects []sideEffect
	fatal   int  // The number of the side effect after which it is killed; 0 if it is not.
	spare   bool // Side effects do not count.
	paced   bool // No time passes while it reconciles.
	dead    chan struct{}
	died    time.Time // By the wall clock.

	outage *outage

	// lateWrites are writes to PVE after the process was killed. There must be none.
	lateWrites []sideEffect
}

// start starts a process that is killed after a number of side effects, or is not killed if that is 0.
func (w *env) start(t *testing.T, fatal int) *process {
	t.Helper()
	p := &process{fatal: fatal, dead: make(chan struct{}), outage: w.outage}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	mgr := &fakeManager{journal: w.journal, Manager: xpfake.Manager{
		Client: p.untilKilled(w.kube), Cache: &informertest.FakeInformers{Scheme: w.kube.Scheme()},
		Scheme: w.kube.Scheme(), RESTMapper: w.kube.RESTMapper(), Logger: logr.Discard(),
	}}
	features := &feature.Flags{}
	features.Enable(feature.EnableBetaManagementPolicies)
	o := kind.Options{
		Options: xpcontroller.Options{
			Logger: logging.NewLogrLogger(w.journal.logger()), GlobalRateLimiter: ratelimiter.NewGlobal(1e6),
			PollInterval: time.Minute, MaxConcurrentReconciles: 1, Features: features,
		},
		Connections: connect.New(mgr.GetClient(), connect.WithObserver(p.called), connect.WithClock(w.clock.Now), connect.WithInventory(
			inventory.WithPollInterval(pollInterval), inventory.WithEventPollInterval(pollInterval), inventory.WithMaxAge(pollInterval),
			inventory.WithClock(w.clock.Now))),
		Metrics: metrics.New(),
		Now:     w.clock.Now,
	}
	scheduler, images, backups := scheduler.New(), images.NewNotifier(), restore.NewNotifier()
	for _, k := range []struct {
		kind.Identity

		image    client.Object
		networks resource.ManagedList
		volumes  volumes.Reader
	}{
		{kind.Identity{
			GroupVersionKind: namespaced.MachineGroupVersionKind, Object: &namespaced.Machine{}, List: &namespaced.MachineList{},
		}, &namespaced.Image{}, &namespaced.NodeNetworkList{}, volumesOf(mgr, &namespaced.Volume{})},
		{
			kind.Identity{GroupVersionKind: cluster.MachineGroupVersionKind, Object: &cluster.Machine{}, List: &cluster.MachineList{}},
			&cluster.Image{}, &cluster.NodeNetworkList{}, volumesOf(mgr, &cluster.Volume{}),
		},
	} {
		from := machine.Dependencies{Image: k.image, Networks: k.networks, Volumes: k.volumes, Images: images, Backups: backups}
		if err := machine.Setup(mgr, o, k.Identity, scheduler, from); err != nil {
			t.Fatal(err)
		}
	}
	if err := setUpVolumes(mgr, o); err != nil {
		t.Fatal(err)
	}
	p.reconcilers = mgr.reconcilers
	go func() { _ = o.Connections.Start(p.ctx) }()
	return p
}

// pollInterval of tasks, by the wall clock.
const pollInterval = 10 * time.Millisecond

// did records a side effect. If the process is killed after this one, the goroutine ends here.
func (p *process) did(d sideEffect) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.isDead() {
		runtime.Goexit()
	}
	if p.spare {
		return
	}
	p.effects = append(p.effects, d)
	if len(p.effects) == p.fatal {
		p.died = time.Now()
		close(p.dead)
		p.cancel()
		runtime.Goexit()
	}
}

// immortal sets whether side effects do not count for now.
func (p *process) immortal(yes bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spare = yes
}

func (p *process) isDead() bool {
	select {
	case <-p.dead:
		return true
	default:
		return false
	}
}

// called is called for each request to PVE when its response has arrived. Reads for all Machines together depend on the wall clock and do not count.
func (p *process) called(c proxmox.Call) {
	d := sideEffect(fmt.Sprintf("%s %s %d", c.Method, c.Path, c.Status))
	if c.Method != http.MethodGet && p.isDead() {
		p.wrote(d, time.Now().Add(-c.Duration))
	}
	if slices.Contains([]string{"/cluster/tasks", "/cluster/resources", "/cluster/log", "/access/permissions"}, c.Path) {
		return
	}
	p.did(d)
	if p.outage != nil && c.Status < 590 {
		p.outage.called()
	}
}

// wrote records a write to PVE that was begun after the process was killed. A write that was in progress is answered afterwards if the process was
// killed at a background read, such as of the state of a task.
func (p *process) wrote(d sideEffect, begun time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if begun.After(p.died) {
		p.lateWrites = append(p.lateWrites, d)
	}
}

// untilKilled returns a client of the process that does nothing once the process has been killed.
func (p *process) untilKilled(kube client.WithWatch) client.WithWatch {
	write := func(verb string, o client.Object, do func() error) error {
		d := sideEffect(fmt.Sprintf("%s %T", verb, o))
		p.did("before " + d)
		err := do()
		if err == nil {
			p.did("after " + d)
		}
		return err
	}
	return interceptor.NewClient(kube, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return write("create", o, func() error { return c.Create(ctx, o, opts...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			return write("update", o, func() error { return c.Update(ctx, o, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
			return write("patch", o, func() error { return c.Patch(ctx, o, patch, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return write("delete", o, func() error { return c.Delete(ctx, o, opts...) })
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, name string, o client.Object, opts ...client.SubResourceUpdateOption) error {
			return write("update "+name+" of", o, func() error { return c.SubResource(name).Update(ctx, o, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, name string, o client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			return write("patch "+name+" of", o, func() error { return c.SubResource(name).Patch(ctx, o, patch, opts...) })
		},
	})
}

// errDied is the error of a reconcile during which its process was killed.
var errDied = errors.New("the provider has died")

// reconcile reconciles once. While the provider waits for PVE, time passes.
func (p *process) reconcile(c *clock, scope int, r reconcile.Request) (reconcile.Result, error) {
	type answer struct {
		result reconcile.Result
		err    error
	}
	done := make(chan answer, 1)
	go func() {
		defer close(done)
		result, err := p.reconcilers[scope].Reconcile(p.ctx, r)
		done <- answer{result, err}
	}()
	slow := time.NewTicker(20 * time.Millisecond)
	defer slow.Stop()
	for {
		select {
		case a, ok := <-done:
			if !ok || p.isDead() {
				return reconcile.Result{}, errDied
			}
			return a.result, a.err
		case <-p.dead:
			return reconcile.Result{}, errDied
		case <-slow.C:
			if !p.paced {
				c.advance(time.Second)
			}
		}
	}
}

// end ends the process like an orderly shutdown.
func (p *process) end() { p.cancel() }

// A fakeManager accepts controllers, but does not start them.
type fakeManager struct {
	xpfake.Manager

	reconcilers []reconcile.Reconciler
	journal     *journal
}

// A journal has everything that providers have logged, including debug messages, and reported in events. Nil discards all.
type journal struct {
	// eventsOnly leaves out the logs.
	eventsOnly bool

	mu    sync.Mutex
	lines []string
}

func (j *journal) add(line string) {
	if j == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, line)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Join(j.lines, "\n")
}

func (j *journal) logger() logr.Logger {
	if j == nil || j.eventsOnly {
		return logr.Discard()
	}
	return funcr.New(func(_, args string) { j.add(args) }, funcr.Options{Verbosity: 10})
}

// Event records an event of a Machine.
func (j *journal) Event(_ k8sruntime.Object, kind, reason, message string) {
	j.add("event " + kind + " " + reason + ": " + message)
}

// Eventf records an event with a format.
func (j *journal) Eventf(o k8sruntime.Object, kind, reason, format string, args ...any) {
	j.Event(o, kind, reason, fmt.Sprintf(format, args...))
}

// AnnotatedEventf records an event with annotations.
func (j *journal) AnnotatedEventf(o k8sruntime.Object, _ map[string]string, kind, reason, format string, args ...any) {
	j.Eventf(o, kind, reason, format, args...)
}

func (m *fakeManager) Add(r manager.Runnable) error {
	if c, ok := r.(reconcile.Reconciler); ok {
		m.reconcilers = append(m.reconcilers, c)
	}
	return nil
}

// GetAPIReader returns a client: there is no cache.
func (m *fakeManager) GetAPIReader() client.Reader { return m.Client }

func (m *fakeManager) GetControllerOptions() config.Controller {
	return config.Controller{SkipNameValidation: new(true)}
}

func (m *fakeManager) GetEventRecorderFor(string) record.EventRecorder { return m.journal }

func (m *fakeManager) GetFieldIndexer() client.FieldIndexer { return indexed{} }

// indexed represents the index of the client.
type indexed struct{}

func (indexed) IndexField(context.Context, client.Object, string, client.IndexerFunc) error {
	return nil
}
