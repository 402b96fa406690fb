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

package controller_test

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"time"

	xpcontroller "github.com/crossplane/crossplane-runtime/v2/pkg/controller"
	"github.com/crossplane/crossplane-runtime/v2/pkg/feature"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/ratelimiter"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/vitistack/provider-proxmox/apis"
	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/connect"
	"github.com/vitistack/provider-proxmox/internal/controller"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/kind/transform"
	"github.com/vitistack/provider-proxmox/internal/controller/machine"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
)

// slowest is how long a slow computer may need for anything.
const slowest = 5 * time.Minute

// The API server that all scenarios share, because starting one takes seconds.
var (
	apiServer *rest.Config    //nolint:gochecknoglobals // Set once by TestMain.
	scheme    *runtime.Scheme //nolint:gochecknoglobals // Set once by TestMain.
)

func TestMain(m *testing.M) {
	ctrllog.SetLogger(logr.Discard())
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		return 1, fmt.Errorf("cannot start an API server: KUBEBUILDER_ASSETS is not set; run \"make test\", which builds one and sets it")
	}
	flag.Parse()
	// Scenarios wait much more than they compute.
	at := "32"
	if raced {
		at = "16"
	}
	if err := flag.Set("test.parallel", at); err != nil {
		return 1, err
	}
	scheme = runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apis.AddToScheme, v1beta2.AddToScheme} {
		if err := add(scheme); err != nil {
			return 1, fmt.Errorf("cannot build the scheme: %w", err)
		}
	}
	var stop func() error
	var err error
	if apiServer, stop, err = startServer(); err != nil {
		return 1, err
	}
	code := m.Run()
	return code, stop()
}

// startServer starts an API server with the definitions.
func startServer() (to *rest.Config, stop func() error, err error) {
	server := &envtest.Environment{
		CRDDirectoryPaths:        []string{filepath.Join("..", "..", "package", "crds")},
		CRDInstallOptions:        envtest.CRDInstallOptions{MaxTime: slowest},
		ErrorIfCRDPathMissing:    true,
		ControlPlaneStartTimeout: slowest,
		ControlPlaneStopTimeout:  slowest,
	}
	if to, err = server.Start(); err != nil {
		return nil, nil, fmt.Errorf("cannot start an API server with the CRDs of package/crds: %w", err)
	}
	to.QPS, to.Burst = -1, -1
	return to, func() error {
		if err := server.Stop(); err != nil {
			return fmt.Errorf("cannot stop the API server: %w", err)
		}
		return nil
	}, nil
}

// A scope is one of the two scopes of Machines.
type scope struct {
	machine func(o metav1.ObjectMeta, spec v1alpha1.MachineParameters) machine.Machine
	config  func(o metav1.ObjectMeta, spec v1alpha1.ProviderConfigSpec) client.Object
}

const namespace = "default"

func scopes() map[string]scope {
	return map[string]scope{
		"Cluster": {
			machine: func(o metav1.ObjectMeta, spec v1alpha1.MachineParameters) machine.Machine {
				m := &cluster.Machine{ObjectMeta: o, Spec: cluster.MachineSpec{ForProvider: spec}}
				m.SetProviderConfigReference(&xpv2.Reference{Name: o.Name})
				m.SetWriteConnectionSecretToReference(&xpv2.SecretReference{Namespace: namespace, Name: "connection-" + o.Name})
				return m
			},
			config: func(o metav1.ObjectMeta, spec v1alpha1.ProviderConfigSpec) client.Object {
				return &cluster.ProviderConfig{ObjectMeta: o, Spec: spec}
			},
		},
		"Namespaced": {
			machine: func(o metav1.ObjectMeta, spec v1alpha1.MachineParameters) machine.Machine {
				o.Namespace = namespace
				m := &namespaced.Machine{ObjectMeta: o, Spec: namespaced.MachineSpec{ForProvider: spec}}
				m.SetProviderConfigReference(&xpv2.ProviderConfigReference{Kind: "ProviderConfig", Name: o.Name})
				m.SetWriteConnectionSecretToReference(&xpv2.LocalSecretReference{Name: "connection-" + o.Name})
				return m
			},
			config: func(o metav1.ObjectMeta, spec v1alpha1.ProviderConfigSpec) client.Object {
				o.Namespace = namespace
				spec.Credentials.SecretRef.Namespace = nil // A ProviderConfig uses its own namespace.
				return &namespaced.ProviderConfig{ObjectMeta: o, Spec: spec}
			},
		},
	}
}

// A world has one Machine, a separate PVE cluster, and a provider that sees no other Machine.
type world struct {
	*testing.T

	scope scope
	name  string
	kube  client.WithWatch
	pve   *simulator.Server
	admin *proxmox.Client
	m     machine.Machine
	stop  func()

	// server is how the provider reaches the API server, if that differs from the default.
	server *rest.Config

	// poll is the poll interval of Machines; a second if not set.
	poll time.Duration

	// endpoints of the configuration in addition to the first node's.
	endpoints []string

	// options of the provider, if they differ from kindOptions.
	options func(ctrl.Manager) kind.Options
}

const label = "example.org/world"

// newWorld returns a world with the quickstart cluster. Its tasks have the given durations, and its version of PVE is the given one, if any.
func newWorld(t *testing.T, s scope, name string, durations map[string]string, version string) *world {
	t.Helper()
	w := emptyWorld(t, s, name, durations, version)
	w.begin()
	return w
}

// begin starts a provider, until the test ends.
func (w *world) begin() {
	w.Helper()
	w.configure()
	w.start()
	w.Cleanup(func() { w.stop() })
}

// emptyWorld returns a world without a provider.
func emptyWorld(t *testing.T, s scope, name string, durations map[string]string, version string) *world {
	t.Helper()
	scenario, err := simulator.Quickstart()
	if err != nil {
		t.Fatal(err)
	}
	return worldOf(t, s, name, scenario, durations, version)
}

// worldOf returns a world of a scenario without a provider.
func worldOf(t *testing.T, s scope, name string, scenario *simulator.Scenario, durations map[string]string, version string) *world {
	t.Helper()
	scenario.Version = cmp.Or(version, scenario.Version)
	scenario.Durations = brief()
	maps.Copy(scenario.Durations, durations)
	w := &world{T: t, scope: s, name: name, pve: simulatortest.NewTest(t, simulator.Options{
		Scenario: scenario, Speed: 1, NodeAddresses: map[string]string{"pve2": "127.0.0.1:0"},
	})}
	var err error
	if w.kube, err = client.NewWithWatch(apiServer, client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	w.admin, err = proxmox.New(proxmox.Config{
		Endpoints: []string{w.pve.URL()}, TLS: proxmox.TLS{CA: w.pve.CA()},
		Credentials: proxmox.Credentials{Username: "root@pam", Password: simulatortest.RootPassword},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.admin.Close)
	return w
}

// brief returns durations of events in PVE that are long enough to be seen.
func brief() map[string]string {
	all := map[string]string{"boot": "200ms", "resources": "200ms", "qmshutdown": "100ms", "copydisk": "100ms", "ha": "500ms", "cleanup": "10ms"}
	for _, task := range []string{"qmclone", "qmcreate", "qmdestroy", "qmstart", "qmstop"} {
		all[task] = "400ms"
	}
	for _, task := range []string{"qmigrate", "qmmove", "qmreboot", "qmrestore", "qmsuspend", "vzdump"} {
		all[task] = "1s"
	}
	return all
}

func (w *world) meta() metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: w.name, Labels: map[string]string{label: w.name}}
}

// configure makes the provider use the cluster with a token of few privileges, which may read the log.
func (w *world) configure() {
	w.Helper()
	w.pve.Edit(func(s *simulator.State) {
		s.Roles["LogReader"] = &simulator.Role{Privileges: map[string]bool{"Sys.Syslog": true}}
	})
	w.grant("/", "LogReader")
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: w.name},
		StringData: map[string]string{"tokenID": simulatortest.TestToken, "tokenSecret": simulatortest.TestSecret},
	}
	pc := w.scope.config(w.meta(), v1alpha1.ProviderConfigSpec{
		Endpoints: append([]string{w.pve.URL()}, w.endpoints...),
		TLS:       &v1alpha1.ProviderTLS{CACertificate: new(string(w.pve.CA()))},
		Credentials: v1alpha1.ProviderCredentials{SecretRef: &v1alpha1.SecretOptionalKeyReference{
			SecretReference: v1alpha1.SecretReference{Namespace: new(namespace), Name: w.name},
		}},
		DefaultStorage: new("local-lvm"), DefaultBridge: new("vmbr0"),
	})
	for _, o := range []client.Object{secret, pc} {
		if err := w.kube.Create(w.Context(), o); err != nil {
			w.Fatal(err)
		}
	}
}

// start starts a provider, which runs until it is stopped.
func (w *world) start() {
	w.Helper()
	mgr, err := ctrl.NewManager(cmp.Or(w.server, apiServer), ctrl.Options{
		Scheme:     scheme,
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)}, // All worlds have the same controllers.
		// On a busy machine, the race detector takes longer than the default of half a minute.
		GracefulShutdownTimeout: new(2 * time.Minute),
		NewClient:               kind.NewClient,
		Client:                  client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}, &corev1.ConfigMap{}}}},
		Cache:                   cache.Options{ByObject: w.owned(), DefaultTransform: transform.Cached},
	})
	if err != nil {
		w.Fatal(err)
	}
	options := w.options
	if options == nil {
		options = kindOptions
	}
	o := options(mgr)
	o.PollInterval = cmp.Or(w.poll, o.PollInterval)
	if err := controller.Setup(mgr, o); err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	w.stop = func() {
		cancel()
		if err := <-ended; err != nil {
			var still strings.Builder
			_ = pprof.Lookup("goroutine").WriteTo(&still, 1)
			w.Errorf("%v; what still runs:\n%s", err, still.String())
		}
		w.stop = func() {}
	}
}

// owned limits a provider to the objects of its world, for all kinds of ours.
func (w *world) owned() map[client.Object]cache.ByObject {
	w.Helper()
	mine := map[client.Object]cache.ByObject{}
	for _, version := range []schema.GroupVersion{cluster.SchemeGroupVersion, namespaced.SchemeGroupVersion} {
		for kind := range scheme.KnownTypes(version) {
			o, err := scheme.New(version.WithKind(kind))
			if err != nil {
				w.Fatal(err)
			}
			if o, ok := o.(client.Object); ok && !strings.HasSuffix(kind, "Usage") {
				mine[o] = cache.ByObject{Label: labels.SelectorFromSet(labels.Set{label: w.name})}
			}
		}
	}
	return mine
}

func kindOptions(mgr ctrl.Manager) kind.Options {
	features := &feature.Flags{}
	features.Enable(feature.EnableBetaManagementPolicies)
	return kind.Options{
		Options: xpcontroller.Options{
			Logger: logging.NewNopLogger(), GlobalRateLimiter: ratelimiter.NewGlobal(1000),
			PollInterval: time.Second, MaxConcurrentReconciles: 2, Features: features,
		},
		Connections: connect.New(mgr.GetClient(), connect.WithRecordsIn("default"), connect.WithInventory(quick()...)),
	}
}

// quick returns options of an inventory that sees changes immediately.
func quick() []inventory.Option {
	return []inventory.Option{
		inventory.WithPollInterval(pace), inventory.WithEventPollInterval(2 * pace),
		inventory.WithMaxAge(4 * pace), inventory.WithLag(2 * time.Second),
	}
}

// eventually waits for a condition, and shows the Machine if that never holds.
func (w *world) eventually(what string, holds func() bool) {
	w.Helper()
	again, late := time.NewTicker(pace), time.After(slowest)
	defer again.Stop()
	for !holds() {
		select {
		case <-again.C:
		case <-late:
			w.Fatalf("never happened: %s\n%s", what, w)
		}
	}
}

// String shows the Machine and its events.
func (w *world) String() string {
	var b strings.Builder
	if w.m != nil {
		fmt.Fprintf(&b, "annotations %v\nobserved %+v\n", w.m.GetAnnotations(), w.m.Observation())
		for _, t := range []xpv2.ConditionType{xpv2.TypeReady, xpv2.TypeSynced, kind.TypeUpToDate, conditions.TypeVMCreated} {
			c := w.m.GetCondition(t)
			fmt.Fprintf(&b, "%s %s %s: %s\n", t, c.Status, c.Reason, c.Message)
		}
	}
	for _, r := range w.writes() {
		fmt.Fprintf(&b, "%s %s %v: %d %s\n", r.Method, r.Path, r.Params, r.Status, r.Message)
	}
	for _, t := range w.pve.Tasks() {
		if t.Running() || t.Exit != "OK" {
			fmt.Fprintf(&b, "task %s: %q\n", t.UPID, t.Exit)
		}
	}
	return b.String()
}

// writes returns the writes to the cluster so far, apart from logins.
func (w *world) writes() []simulator.Request {
	return slices.DeleteFunc(w.pve.Requests(), func(r simulator.Request) bool {
		return r.Method == http.MethodGet || strings.HasPrefix(r.User, "root@pam") || strings.HasPrefix(r.Path, "/access")
	})
}

// create creates the Machine.
func (w *world) create(spec v1alpha1.MachineParameters, change ...func(machine.Machine)) {
	w.Helper()
	if spec.ShutdownTimeoutSeconds == nil {
		spec.ShutdownTimeoutSeconds = new(int32(1)) // A guest ignores a shutdown while it boots.
	}
	w.m = w.scope.machine(w.meta(), spec)
	for _, c := range change {
		c(w.m)
	}
	meta.AddAnnotations(w.m, map[string]string{corev1.LastAppliedConfigAnnotation: "{}", unknownAnnotation: "theirs"})
	if err := w.kube.Create(w.Context(), w.m); err != nil {
		w.Fatal(err)
	}
}

// unknownAnnotation belongs to someone else, as that of kubectl apply does, which the cache of the provider does not hold.
const unknownAnnotation = "example.org/unknown"

// annotated checks that the annotations of others still exist, unless others have removed all of them.
func (w *world) annotated() {
	w.Helper()
	all := w.m.GetAnnotations()
	if (all[corev1.LastAppliedConfigAnnotation] == "{}") != (all[unknownAnnotation] == "theirs") {
		w.Errorf("the provider has taken away what others have noted: %v", all)
	}
}

// exists reads the Machine, and reports whether it exists.
func (w *world) exists() bool {
	w.Helper()
	err := w.kube.Get(w.Context(), client.ObjectKeyFromObject(w.m), w.m)
	if err != nil && !kerrors.IsNotFound(err) {
		w.Fatal(err)
	}
	return err == nil
}

// change changes the spec of the Machine.
func (w *world) change(change func(*v1alpha1.MachineParameters)) {
	w.Helper()
	w.eventually("the change is taken", func() bool {
		w.exists()
		change(w.m.Parameters())
		err := w.kube.Update(w.Context(), w.m)
		if err != nil && !kerrors.IsConflict(err) {
			w.Fatal(err)
		}
		return err == nil
	})
}

func (w *world) delete() {
	w.Helper()
	if err := w.kube.Delete(w.Context(), w.m); err != nil {
		w.Fatal(err)
	}
}

func (w *world) gone() {
	w.Helper()
	w.eventually("the Machine is gone", func() bool { return !w.exists() })
}

// ready waits until the Machine is ready and matches its spec.
func (w *world) ready() {
	w.Helper()
	w.eventually("the Machine is ready", func() bool {
		w.exists()
		r, s := w.m.GetCondition(xpv2.TypeReady), w.m.GetCondition(xpv2.TypeSynced)
		return r.Status == corev1.ConditionTrue && s.Status == corev1.ConditionTrue &&
			s.ObservedGeneration == w.m.GetGeneration() && w.m.Observation().VMID != nil && len(w.m.Observation().Difference) == 0
	})
	w.annotated()
}

func (w *world) vmid() int { return int(*w.m.Observation().VMID) }

// vm returns the Machine's VM, or an empty one if there is none.
func (w *world) vm() simulator.Guest {
	g, _ := w.pve.Guest(w.vmid())
	return g
}

func (w *world) ref() proxmox.Ref { return proxmox.Ref{Node: w.vm().Node, VMID: w.vmid()} }

// ours returns the VMIDs of all VMs that were created.
func (w *world) ours() []int {
	var ids []int
	w.pve.Edit(func(s *simulator.State) {
		for id := range s.Guests {
			if id >= 10000 {
				ids = append(ids, id)
			}
		}
	})
	return ids
}

// tasks returns the number of tasks of a kind that have run.
func (w *world) tasks(kind string) int {
	n := 0
	for _, t := range w.pve.Tasks() {
		if t.Type == kind {
			n++
		}
	}
	return n
}

// finish deletes the Machine and waits until nothing is left of it.
func (w *world) finish() {
	w.Helper()
	w.delete()
	w.gone()
	if ours := w.ours(); len(ours) > 0 {
		w.Errorf("VMs %v are left", ours)
	}
}
