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
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/connect"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/metrics"
	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
)

// The number of operations on Machines that are in progress at the same time while components fail: VMs that are created from a template, started
// with another description, and removed.
const (
	creations  = 80
	changes    = 60
	removals   = 60
	operations = creations + changes + removals
)

// firstOld is the VMID of the first of the existing VMs.
const firstOld = 1000

// Secrets of the test, which must not be found anywhere.
const (
	newToken    = "77777777-5ec2-4e75-8000-000000000001"
	oldPassword = "crossplane"
)

// A shiftedClock is the real clock, some time ahead.
type shiftedClock struct {
	mu    sync.Mutex
	ahead time.Duration
}

func (c *shiftedClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead)
}

func (*shiftedClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

func (c *shiftedClock) shift(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
}

// A front is an endpoint in front of the cluster, whose certificate can be replaced and that can be lost.
type front struct {
	net.Listener

	to    string
	roots *x509.CertPool

	mu    sync.Mutex
	pair  tls.Certificate
	conns map[net.Conn]bool
}

func newFront(t *testing.T, pve *simulator.Server, certs *simulator.Certificates) *front {
	t.Helper()
	f := &front{to: strings.TrimPrefix(pve.URL(), "https://"), roots: x509.NewCertPool(), conns: map[net.Conn]bool{}}
	f.roots.AppendCertsFromPEM(pve.CA())
	f.present(t, certs)
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		return &f.pair, nil
	}}
	l, err := tls.Listen("tcp", "127.0.0.1:0", cfg)
	if err != nil {
		t.Fatal(err)
	}
	f.Listener = l
	t.Cleanup(f.lose)
	go f.serve()
	return f
}

func (f *front) url() string { return "https://" + f.Addr().String() }

// present replaces the certificate, and ends all connections.
func (f *front) present(t *testing.T, certs *simulator.Certificates) {
	t.Helper()
	pair, err := tls.X509KeyPair(certs.Certificate, certs.Key)
	if err != nil {
		t.Fatal(err)
	}
	f.mu.Lock()
	f.pair = pair
	f.mu.Unlock()
	f.hangUp()
}

func (f *front) serve() {
	for {
		in, err := f.Accept()
		if err != nil {
			return
		}
		go f.pass(in)
	}
}

// pass forwards a connection.
func (f *front) pass(in net.Conn) {
	defer in.Close() //nolint:errcheck // It is over.
	out, err := tls.Dial("tcp", f.to, &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: f.roots})
	if err != nil {
		return
	}
	defer out.Close() //nolint:errcheck // It is over.
	f.mu.Lock()
	f.conns[in] = true
	f.mu.Unlock()
	go func() {
		_, _ = io.Copy(out, in)
		_ = out.Close()
	}()
	_, _ = io.Copy(in, out)
	f.mu.Lock()
	delete(f.conns, in)
	f.mu.Unlock()
}

// hangUp ends all connections, whatever they are used for.
func (f *front) hangUp() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for c := range f.conns {
		_ = c.Close()
	}
}

// lose ends the endpoint.
func (f *front) lose() {
	if err := f.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return
	}
	f.hangUp()
}

// A chaos is a world with many Machines and two endpoints.
type chaos struct {
	*world

	clock   *shiftedClock
	metrics *prometheus.Registry
	fronts  []*front
	ca      *corev1.ConfigMap
	secret  *corev1.Secret
	log     *logged
}

// logged is the complete log of the provider, including debugging.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) write(prefix, args string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b.WriteString(prefix + args + "\n")
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func newChaos(t *testing.T, name string, keys map[string]string) *chaos {
	t.Helper()
	scenario, err := simulator.Quickstart()
	if err != nil {
		t.Fatal(err)
	}
	scenario.Durations = map[string]string{"boot": "100ms", "resources": "200ms", "qmclone": "300ms", "qmstart": "200ms", "qmdestroy": "200ms"}
	scenario.Guests = append(scenario.Guests, simulator.ScenarioGuest{
		VMID: firstOld, Count: changes + removals, Node: "pve1", Blank: true, Config: map[string]string{"name": "old", "memory": "64"},
	})
	for i := range scenario.Nodes {
		scenario.Nodes[i].Memory = "1024G"
	}
	c := &chaos{clock: &shiftedClock{}, log: &logged{}, metrics: prometheus.NewRegistry()}
	pve := simulatortest.NewTest(t, simulator.Options{Scenario: scenario, Speed: 1, Clock: c.clock})
	c.world = &world{T: t, scope: scopes()["Cluster"], name: name, pve: pve, options: c.provider}
	if c.kube, err = client.NewWithWatch(apiServer, client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	certs := c.certificates()
	c.fronts = []*front{newFront(t, pve, certs), newFront(t, pve, certs)}
	o := metav1.ObjectMeta{Namespace: namespace, Name: name}
	c.ca = &corev1.ConfigMap{ObjectMeta: *o.DeepCopy(), Data: map[string]string{"ca.crt": string(certs.CA)}}
	c.secret = &corev1.Secret{ObjectMeta: *o.DeepCopy(), StringData: keys}
	pc := c.scope.config(c.meta(), v1alpha1.ProviderConfigSpec{
		Endpoints: []string{c.fronts[0].url(), c.fronts[1].url()},
		TLS:       &v1alpha1.ProviderTLS{CACertificateConfigMapRef: &v1alpha1.SecretKeyReference{Namespace: new(namespace), Name: name, Key: "ca.crt"}},
		Credentials: v1alpha1.ProviderCredentials{SecretRef: &v1alpha1.SecretOptionalKeyReference{
			SecretReference: v1alpha1.SecretReference{Namespace: new(namespace), Name: name},
		}},
		Limits: &v1alpha1.ProviderLimits{RequestsPerSecond: new(int32(1000)), ConcurrentTasks: new(int32(16))},
	})
	for _, o := range []client.Object{c.ca, c.secret, pc} {
		if err := c.kube.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	c.start()
	t.Cleanup(func() { c.stop() })
	return c
}

func (c *chaos) certificates() *simulator.Certificates {
	c.Helper()
	certs, err := simulator.NewCertificates(time.Now())
	if err != nil {
		c.Fatal(err)
	}
	return certs
}

// provider returns options of a provider with high concurrency that logs everything.
func (c *chaos) provider(mgr ctrl.Manager) kind.Options {
	o := kindOptions(mgr)
	o.MaxConcurrentReconciles = 20
	o.Logger = logging.NewLogrLogger(funcr.New(c.log.write, funcr.Options{Verbosity: 10}))
	watcher, err := client.NewWithWatch(apiServer, client.Options{Scheme: scheme})
	if err != nil {
		c.Fatal(err)
	}
	o.Metrics = metrics.New()
	if err := o.Metrics.Register(c.metrics); err != nil {
		c.Fatal(err)
	}
	o.Connections = connect.New(mgr.GetClient(), connect.WithWatcher(watcher), connect.WithMaxAge(time.Hour), connect.WithObserver(o.Metrics.Request),
		connect.WithInventory(inventory.WithPollInterval(100*time.Millisecond), inventory.WithEventPollInterval(100*time.Millisecond),
			inventory.WithMaxAge(200*time.Millisecond), inventory.WithLag(500*time.Millisecond)))
	if err := mgr.Add(o.Connections); err != nil {
		c.Fatal(err)
	}
	return o
}

// machine returns a Machine of the population, by its number.
func (c *chaos) machine(n int, spec v1alpha1.MachineParameters) *cluster.Machine {
	o := c.meta()
	o.Name = fmt.Sprintf("%s-%03d", c.name, n)
	m := &cluster.Machine{ObjectMeta: o, Spec: cluster.MachineSpec{ForProvider: spec}}
	m.Spec.ForProvider.ShutdownTimeoutSeconds = new(int32(1))
	m.SetProviderConfigReference(&xpv2.Reference{Name: c.name})
	return m
}

// adopt adopts the existing VMs without changes.
func (c *chaos) adopt() {
	c.Helper()
	for i := range changes + removals {
		m := c.machine(i, v1alpha1.MachineParameters{PowerState: new(v1alpha1.PowerStateStopped)})
		meta.SetExternalName(m, strconv.Itoa(firstOld+i))
		if err := c.kube.Create(c.Context(), m); err != nil {
			c.Fatal(err)
		}
	}
	c.until("all VMs are adopted", func() bool {
		_, ready := c.machines()
		return ready == changes+removals
	})
}

// operate starts the operations on all Machines at the same time.
func (c *chaos) operate() {
	c.Helper()
	for i := range max(creations, changes, removals) {
		if i < creations {
			c.must(c.kube.Create(c.Context(), c.machine(changes+removals+i, ubuntu())))
		}
		if i < changes {
			patch := `{"spec":{"forProvider":{"powerState":"Running","description":"` + chaotic + `"}}}`
			c.must(c.kube.Patch(c.Context(), c.machine(i, v1alpha1.MachineParameters{}), client.RawPatch(types.MergePatchType, []byte(patch))))
		}
		if i < removals {
			c.must(c.kube.Delete(c.Context(), c.machine(changes+i, v1alpha1.MachineParameters{})))
		}
	}
}

// chaotic is the new description of the VMs that are changed.
const chaotic = "changed in the chaos"

func (c *chaos) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// until waits until holds returns true. If it never does, the state of all Machines is shown.
func (c *chaos) until(what string, holds func() bool) {
	c.Helper()
	again, late := time.NewTicker(100*time.Millisecond), time.After(2*slowest)
	defer again.Stop()
	for !holds() {
		select {
		case <-again.C:
		case <-late:
			c.Fatalf("never happened: %s\n%s", what, c.summary())
		}
	}
}

// summary returns how many Machines are in which state, and the state of the configuration.
func (c *chaos) summary() string {
	all, _ := c.machines()
	states := map[string]int{}
	for i := range all {
		ready, synced := all[i].GetCondition(xpv2.TypeReady), all[i].GetCondition(xpv2.TypeSynced)
		states[fmt.Sprintf("%s %s: %.200s", ready.Reason, synced.Reason, synced.Message)]++
	}
	pc := &cluster.ProviderConfig{}
	if err := c.kube.Get(c.Context(), client.ObjectKey{Name: c.name}, pc); err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%d VMs, Machines %v\n%+v", len(c.ours()), states, pc.Status)
}

// machines returns the Machines that exist, and how many of them are ready.
func (c *chaos) machines() (all []cluster.Machine, ready int) {
	c.Helper()
	l := &cluster.MachineList{}
	if err := c.kube.List(c.Context(), l, client.MatchingLabels{label: c.name}); err != nil {
		c.Fatal(err)
	}
	for i := range l.Items {
		if l.Items[i].GetCondition(xpv2.TypeReady).Status == corev1.ConditionTrue {
			ready++
		}
	}
	return l.Items, ready
}

// progress waits until n operations have had their effect.
func (c *chaos) progress(n int) {
	c.Helper()
	c.until(fmt.Sprintf("%d operations are done", n), func() bool {
		done := 0
		for _, n := range c.done() {
			done += n
		}
		return done >= n
	})
}

// done counts the operations that have had their effect.
func (c *chaos) done() map[string]int {
	all := map[string]int{"removed": changes + removals}
	c.pve.Edit(func(s *simulator.State) {
		for id, g := range s.Guests {
			switch {
			case id >= 10000:
				all["made"]++
			case id >= firstOld && id < firstOld+changes+removals:
				all["removed"]--
			}
			if id < 9000 && strings.TrimSpace(g.Config["description"]) == chaotic {
				all["changed"]++
			}
		}
	})
	return all
}

// update updates an object that the provider reads.
func (c *chaos) update(o client.Object) {
	c.Helper()
	if err := c.kube.Update(c.Context(), o); err != nil {
		c.Fatal(err)
	}
}

// replaceCA makes the endpoints present certificates of another authority, which the provider receives later.
func (c *chaos) replaceCA() {
	c.Helper()
	certs := c.certificates()
	for _, f := range c.fronts {
		f.present(c.T, certs)
	}
	c.ca.Data["ca.crt"] = string(certs.CA)
	c.update(c.ca)
}

// useToken replaces the password by a token.
func (c *chaos) useToken() {
	c.Helper()
	c.secret.Data = map[string][]byte{"tokenID": []byte(simulatortest.TestToken), "tokenSecret": []byte(simulatortest.TestSecret)}
	c.secret.StringData = nil
	c.update(c.secret)
}

// rotate rotates the token: the old one ends, and the provider gets the new one later.
func (c *chaos) rotate() {
	c.Helper()
	c.pve.Edit(func(s *simulator.State) { s.Users["crossplane@pve"].Tokens["demo"].Secret = newToken })
	c.secret.StringData = map[string]string{"tokenSecret": newToken}
	c.update(c.secret)
}

// settle waits until all Machines are ready, and checks that nothing is lost and nothing was done twice.
func (c *chaos) settle() {
	c.Helper()
	c.until("all Machines are ready or gone", func() bool {
		all, ready := c.machines()
		return ready == creations+changes && len(all) == ready
	})
	if diff := cmp.Diff(map[string]int{"made": creations, "changed": changes, "removed": removals}, c.done()); diff != "" {
		c.Errorf("operations that had their effect: -want, +got:\n%s", diff)
	}
	c.until("all tasks have ended", func() bool {
		return !slices.ContainsFunc(c.pve.Tasks(), func(t simulator.Task) bool { return t.Running() })
	})
	ended, failed := map[string]int{}, []string{}
	for _, t := range c.pve.Tasks() {
		if ended[t.Type]++; t.Exit != "OK" {
			failed = append(failed, fmt.Sprintf("%s %s: %s", t.Type, t.ID, t.Exit))
		}
	}
	want := map[string]int{"qmclone": creations, "qmstart": creations + changes, "qmdestroy": removals}
	if diff := cmp.Diff(want, ended); diff != "" || len(failed) > 0 {
		c.Errorf("tasks: -want, +got:\n%s\nfailed: %q", diff, failed)
	}
	c.describedOnce()
	c.keepsSecrets()
}

// describedOnce checks that no change was made a second time.
func (c *chaos) describedOnce() {
	c.Helper()
	times := map[string]int{}
	for _, r := range c.pve.Requests() {
		if r.Params["description"] == chaotic && r.Status == http.StatusOK {
			times[r.Path]++
		}
	}
	for path, n := range times {
		if n > 1 {
			c.Errorf("%s was changed %d times", path, n)
		}
	}
	if len(times) == 0 {
		c.Error("no change was seen")
	}
}

// keepsSecrets checks that nothing that the provider writes contains a secret.
func (c *chaos) keepsSecrets() {
	c.Helper()
	var b strings.Builder
	b.WriteString(c.log.String())
	machines, _ := c.machines()
	fmt.Fprintf(&b, "%+v\n", machines)
	events := &corev1.EventList{}
	configs := &cluster.ProviderConfigList{}
	for _, l := range []client.ObjectList{events, configs} {
		if err := c.kube.List(c.Context(), l); err != nil {
			c.Fatal(err)
		}
		fmt.Fprintf(&b, "%+v\n", l)
	}
	c.measured(&b)
	for _, seen := range []string{"Creating VM", "proxmox_operator_api_requests_total"} {
		if !strings.Contains(b.String(), seen) {
			c.Errorf("there is no %s in what was written", seen)
		}
	}
	for _, secret := range []string{simulatortest.TestSecret, newToken, "PVE:crossplane@pve:", "password=" + oldPassword, `"` + oldPassword + `"`} {
		if i := strings.Index(b.String(), secret); i >= 0 {
			text := b.String()
			c.Errorf("a secret is written: …%s…", text[max(0, i-200):min(len(text), i+100)])
		}
	}
}

// measured writes all metrics, including those of the libraries.
func (c *chaos) measured(to io.Writer) {
	c.Helper()
	for _, r := range []prometheus.Gatherer{c.metrics, ctrlmetrics.Registry} {
		families, err := r.Gather()
		c.must(err)
		for _, f := range families {
			fmt.Fprintln(to, f)
		}
	}
}

// TestChaos ends a ticket, changes from a password to a token and rotates that, replaces the CA and loses the first endpoint while Machines are
// created, changed and removed, and checks that each operation is nevertheless done, and once.
func TestChaos(t *testing.T) {
	t.Parallel()
	c := newChaos(t, "chaos", map[string]string{"username": "crossplane@pve", "password": oldPassword})
	c.adopt()
	c.operate()
	c.progress(operations / 10)
	c.clock.shift(3 * time.Hour) // A ticket is valid for two hours.
	c.progress(operations / 5)
	c.useToken()
	c.progress(operations * 2 / 5)
	c.rotate()
	c.progress(operations * 3 / 5)
	c.replaceCA()
	c.progress(operations * 4 / 5)
	c.fronts[0].lose()
	c.settle()
}
