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

package providerconfig

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/vitistack/provider-proxmox/apis"
	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/connect"
	"github.com/vitistack/provider-proxmox/internal/controller/categorytest"
	"github.com/vitistack/provider-proxmox/internal/metrics"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
)

const (
	systemNamespace = "system"

	// hidden is part of every wrong secret.
	hidden = "99999999-5ec2-4e75-8000-000000000000"
)

// A bench has a cluster that works, and a configuration for it.
type bench struct {
	*testing.T

	pve    *simulator.Server
	pc     *cluster.ProviderConfig
	secret *corev1.Secret
	more   []client.Object
	events []event.Event

	// connections of the last check.
	connections *connect.Connector
}

func newBench(t *testing.T, o simulator.Options) *bench {
	t.Helper()
	b := &bench{T: t, pve: simulatortest.NewTest(t, o)}
	b.secret = &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: "pve"},
		Data:       map[string][]byte{"tokenID": []byte(simulatortest.TestToken), "tokenSecret": []byte(simulatortest.TestSecret)},
	}
	b.pc = &cluster.ProviderConfig{
		ObjectMeta: metav1.ObjectMeta{Name: "default", Generation: 1},
		Spec: v1alpha1.ProviderConfigSpec{
			Endpoints: []string{b.pve.URL()},
			TLS:       &v1alpha1.ProviderTLS{CACertificate: ptr.To(string(b.pve.CA()))},
			Credentials: v1alpha1.ProviderCredentials{SecretRef: &v1alpha1.SecretOptionalKeyReference{
				SecretReference: v1alpha1.SecretReference{Namespace: ptr.To(systemNamespace), Name: "pve"},
			}},
			RequestTimeoutSeconds: ptr.To[int32](60), // As long as a busy computer may need for anything.
		},
	}
	return b
}

// Event records an event.
func (b *bench) Event(_ runtime.Object, e event.Event) { b.events = append(b.events, e) }

// WithAnnotations implements event.Recorder.
func (b *bench) WithAnnotations(...string) event.Recorder { return b }

func (b *bench) checker() (*checker, client.Client) {
	b.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, apis.AddToScheme} {
		if err := add(s); err != nil {
			b.Fatal(err)
		}
	}
	kube := fake.NewClientBuilder().WithScheme(s).WithObjects(append(b.more, b.pc)...).WithStatusSubresource(b.pc).Build()
	if b.secret != nil {
		if err := kube.Create(b.Context(), b.secret); err != nil {
			b.Fatal(err)
		}
	}
	return &checker{
		kube: kube, live: kube,
		kinds: Kinds{
			ProviderConfigKinds: resource.ProviderConfigKinds{Config: cluster.ProviderConfigGroupVersionKind},
			Object:              &cluster.ProviderConfig{},
		},
		connections: connect.New(kube, connect.WithMaxAge(0)),
		metrics:     metrics.New(), log: logging.NewNopLogger(), record: b,
		failures: map[client.ObjectKey]int{}, working: map[client.ObjectKey]*proxmox.Client{},
	}, kube
}

// check checks the configuration once. It returns the configuration, and when it is checked again.
func (b *bench) check() (*cluster.ProviderConfig, time.Duration) {
	b.Helper()
	c, kube := b.checker()
	b.connections = c.connections
	name := client.ObjectKeyFromObject(b.pc)
	result, err := c.Reconcile(b.Context(), reconcile.Request{NamespacedName: name})
	if err != nil {
		b.Fatal(err)
	}
	pc := &cluster.ProviderConfig{}
	if err := kube.Get(b.Context(), name, pc); err != nil {
		b.Fatal(err)
	}
	return pc, result.RequeueAfter
}

// category returns the error category that a ProxmoxVM of the examples shows if its Machine uses the configuration as last checked.
func (b *bench) category() string {
	b.Helper()
	m := &cluster.Machine{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "uid"}}
	m.SetProviderConfigReference(&xpv2.Reference{Name: b.pc.Name})
	to, err := b.connections.Connect(b.Context(), m)
	if err != nil {
		return categorytest.OfConnection(b, err)
	}
	if _, err := to.Inventory.Guests(b.Context(), 0); err != nil {
		return categorytest.Of(b, xpv2.ReconcileError(err))
	}
	return categorytest.None
}

func (b *bench) tls() *v1alpha1.ProviderTLS { return b.pc.Spec.TLS }

// hurries makes the check wait only briefly for answers.
func (b *bench) hurries() { b.pc.Spec.RequestTimeoutSeconds = ptr.To[int32](2) }

// endpoint sets the only endpoint.
func (b *bench) endpoint(s string) { b.pc.Spec.Endpoints = []string{s} }

// keys sets the keys of the Secret.
func (b *bench) keys(pairs ...string) {
	b.secret.Data = map[string][]byte{}
	for i := 0; i < len(pairs); i += 2 {
		b.secret.Data[pairs[i]] = []byte(pairs[i+1])
	}
}

// listen hands every connection to fn.
func (b *bench) listen(l net.Listener, fn func(net.Conn)) {
	b.Cleanup(func() { _ = l.Close() })
	b.endpoint("https://" + l.Addr().String())
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go fn(conn)
		}
	}()
}

// plain listens without TLS.
func (b *bench) plain(fn func(net.Conn)) {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.listen(l, fn)
}

// secure listens with a trusted certificate.
func (b *bench) secure(change func(*tls.Config), fn func(net.Conn)) {
	b.Helper()
	certs, err := simulator.NewCertificates(time.Now())
	if err != nil {
		b.Fatal(err)
	}
	pair, err := tls.X509KeyPair(certs.Certificate, certs.Key)
	if err != nil {
		b.Fatal(err)
	}
	cfg := &tls.Config{Certificates: []tls.Certificate{pair}}
	change(cfg)
	l, err := tls.Listen("tcp", "127.0.0.1:0", cfg)
	if err != nil {
		b.Fatal(err)
	}
	b.tls().CACertificate = ptr.To(string(certs.CA))
	b.listen(l, fn)
}

// serve answers requests by path, and refuses the others.
func (b *bench) serve(answers map[string]string) {
	b.secure(func(*tls.Config) {}, func(conn net.Conn) {
		l := &once{conn: conn, done: make(chan struct{})}
		s := &http.Server{
			ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0),
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				answer, ok := answers[strings.TrimPrefix(r.URL.Path, "/api2/json")]
				if !ok {
					http.Error(w, "no", http.StatusForbidden)
					return
				}
				_, _ = io.WriteString(w, answer)
			}),
		}
		_ = s.Serve(l)
	})
}

// once is a listener with one connection.
type once struct {
	conn net.Conn
	done chan struct{}
}

func (o *once) Accept() (net.Conn, error) {
	if c := o.conn; c != nil {
		o.conn = nil
		return c, nil
	}
	<-o.done
	return nil, net.ErrClosed
}

func (o *once) Close() error {
	select {
	case <-o.done:
	default:
		close(o.done)
	}
	return nil
}

func (o *once) Addr() net.Addr { return &net.TCPAddr{} }

// say returns a server that only sends a text.
func say(s string) func(net.Conn) {
	return func(c net.Conn) {
		_, _ = io.WriteString(c, s)
		_ = c.Close()
	}
}

// handshake is a server that closes after the handshake.
func handshake(c net.Conn) {
	if t, ok := c.(*tls.Conn); ok {
		_ = t.Handshake()
	}
	_ = c.Close()
}

func closed(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	return "https://" + s.Listener.Addr().String()
}

// at returns options for a cluster whose certificate begins at another time.
func at(d time.Duration) func(*testing.T) simulator.Options {
	return func(t *testing.T) simulator.Options {
		t.Helper()
		certs, err := simulator.NewCertificates(time.Now().Add(d))
		if err != nil {
			t.Fatal(err)
		}
		return simulator.Options{Certificates: certs}
	}
}

func otherCA(t *testing.T) *string {
	t.Helper()
	certs, err := simulator.NewCertificates(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return ptr.To(string(certs.CA))
}

func (b *bench) answers(status int, message string) {
	b.pve.Inject(simulator.Fault{Path: "^/", Status: status, Message: message})
}

func secretKey(name, key string) v1alpha1.SecretKeyReference {
	return v1alpha1.SecretKeyReference{Namespace: ptr.To(systemNamespace), Name: name, Key: key}
}

func requireClient(c *tls.Config) {
	c.ClientAuth, c.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
}

// A failure is a way in which a configuration does not work.
type failure struct {
	reason string
	pve    func(*testing.T) simulator.Options
	do     func(*bench)
	kind   xpv2.ConditionType
	want   xpv2.ConditionReason
	says   []string

	// category that a ProxmoxVM of the examples shows. If it is empty, the group's applies.
	category string
}
