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

// Package simulator is an in-memory Proxmox VE API. It serves the paths of the real API over HTTPS, with its validation, permissions, messages, tasks and
// locks. It does not depend on Kubernetes. It is for tests and for trying out clients. See cmd/pve-simulator for the program.
package simulator

import (
	"crypto/tls"
	"io"
	"maps"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/internal/simulator/api/ha"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/guest"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
	"github.com/vitistack/provider-proxmox/internal/simulator/wire"
)

// Options configure a Server. The zero value is the quickstart scenario on a free loopback port, with instant tasks.
type Options struct {
	// Scenario is the cluster at the start. nil means the built-in quickstart scenario.
	Scenario *Scenario
	// Version overrides the scenario's version: "8.4" or "9.2".
	Version string
	// Address is the address to listen on, "127.0.0.1:0" by default.
	Address string
	// NodeAddresses are addresses to listen on for single nodes, by node name. Address serves the first node.
	NodeAddresses map[string]string
	// Speed divides the durations of tasks. 1 is real time. 0 makes tasks instant: the call that starts one returns when it has ended.
	Speed float64
	// Reports is how often nodes report their guests to the cluster if tasks are instant. 0 means that /cluster/resources is always up to date. If tasks are
	// not instant, the scenario's duration "resources" applies.
	Reports time.Duration
	// Certificates are those of the server and of the authority that clients trust. nil means new ones in memory.
	Certificates *Certificates
	// Hosts are names and addresses of the server, in addition to localhost, for new certificates.
	Hosts []string
	// Clock is the clock. nil means real time.
	Clock engine.Clock
	// Faults are in force from the start, and again after a reset.
	Faults []Fault
	// State is the output of WriteState. The server continues from it instead of the scenario. nil means a new start.
	State io.Reader
	// ControlToken is the token that clients of the control API must send as "Authorization: Bearer …". Without one, the control API only answers on
	// loopback.
	ControlToken string
	// OnRequest is called after every request, in the order in which they end. It must not call the server.
	OnRequest func(Request)
}

// Server is a simulated cluster.
type Server struct {
	*engine.Engine
	options  Options
	faults   *faults
	requests *requestLog
	controls *http.ServeMux
	// gate is held by requests while they are served, and exclusively by a reset.
	gate sync.RWMutex
	// tokens holds the secrets of SetToken. first is the node that Address serves.
	tokens map[string]string
	first  string

	certs   *Certificates
	wire    *wire.Server
	address map[string]string
}

// New returns a server that does not listen yet.
func New(o Options) (*Server, error) {
	saved, err := o.complete()
	if err != nil {
		return nil, err
	}
	facts, err := schema.Load(o.Version)
	if err != nil {
		return nil, err
	}
	s := &Server{
		options: o, faults: &faults{}, requests: &requestLog{}, certs: o.Certificates, address: map[string]string{},
		tokens: map[string]string{},
	}
	s.Engine = engine.New(engine.Pace{Clock: o.Clock, Speed: o.Speed}, facts, s.faults)
	s.Reports, s.Routes, s.controls = o.Reports, table(), s.controlRoutes()
	s.BeforeChange = []func(*engine.Op){guest.Replicate, guest.ReportGuests}
	maps.Copy(s.Durations, ha.Durations())
	maps.Copy(s.Durations, o.Scenario.durations())
	if err := s.begin(); err != nil {
		return nil, errors.Wrap(err, "cannot build the scenario")
	}
	if saved != nil {
		s.resume(saved)
	}
	s.first = s.State.FirstNode()
	return s, nil
}

// complete sets defaults, and returns the saved state if there is one, which determines the version.
func (o *Options) complete() (*savedState, error) {
	saved, err := o.saved()
	if err != nil {
		return nil, err
	}
	if o.Clock == nil {
		o.Clock = engine.WallClock{}
	}
	if o.Scenario == nil {
		if o.Scenario, err = Quickstart(); err != nil {
			return nil, err
		}
	}
	if o.Version == "" {
		o.Version = o.Scenario.version()
	}
	return saved, nil
}

// Start listens. The server runs until Close.
func (s *Server) Start() error {
	if s.certs == nil {
		certs, err := NewCertificates(s.Clock.Now(), s.options.Hosts...)
		if err != nil {
			return err
		}
		s.certs = certs
	}
	pair, err := tls.X509KeyPair(s.certs.Certificate, s.certs.Key)
	if err != nil {
		return errors.Wrap(err, "cannot use the server certificate")
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}
	s.Certificate = s.certs.Certificate
	s.wire = wire.NewServer(s, config, s.Clock.Now)
	if err := s.listen(s.options.Address, s.first); err != nil {
		return err
	}
	for node, address := range s.options.NodeAddresses {
		if err := s.listen(address, node); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) listen(address, node string) error {
	if address == "" {
		address = "127.0.0.1:0"
	}
	ln, err := net.Listen("tcp", address) //nolint:noctx // It does not block.
	if err != nil {
		return errors.Wrapf(err, "cannot listen on %q", address)
	}
	s.address[node] = ln.Addr().String()
	s.wire.Serve(ln, node)
	return nil
}

// Close stops the server. It interrupts running tasks, and returns when everything has ended.
func (s *Server) Close() {
	s.Stop()
	if s.wire != nil {
		s.wire.Close()
	}
	s.Engine.Close()
}

// URL returns the address of the API's server, such as "https://127.0.0.1:8006".
func (s *Server) URL() string { return s.NodeURL(s.first) }

// NodeURL returns the address of a node that has its own, or nothing otherwise.
func (s *Server) NodeURL(node string) string {
	if s.address[node] == "" {
		return ""
	}
	return "https://" + s.address[node]
}

// CA returns the certificate of the authority that signed the server's, in PEM. It is available after Start.
func (s *Server) CA() []byte { return s.certs.CA }

// Edit changes the state without the API, like other users and broken hardware.
func (s *Server) Edit(fn func(*state.State)) {
	s.Update(func(*state.State) { s.watch(fn, false) })
}

// PowerOff cuts the power of nodes. Everything that runs there ends at once, without an exit status.
func (s *Server) PowerOff(nodes ...string) {
	s.Update(func(*state.State) {
		s.watch(func(st *state.State) {
			for _, name := range nodes {
				st.Nodes[name].Offline = true
			}
		}, true)
	})
}

// PowerOn brings nodes back. The tasks that went down with them have ended.
func (s *Server) PowerOn(nodes ...string) {
	s.Update(func(*state.State) {
		s.watch(func(st *state.State) {
			for _, name := range nodes {
				st.Nodes[name].Offline = false
			}
		}, true)
	})
}

// CutOff disconnects nodes from the network of the cluster. They keep running and answer clients from their last known data, without quorum.
func (s *Server) CutOff(nodes ...string) {
	s.Edit(func(st *state.State) {
		for _, name := range nodes {
			st.Nodes[name].CutOff, st.Nodes[name].Offline = true, true
		}
	})
}

// watch runs fn on the state and makes the cluster notice which nodes have left or returned. The state must be held.
func (s *Server) watch(fn func(*state.State), power bool) {
	before, quorate := map[string]bool{}, !s.State.NoQuorum
	for name, n := range s.State.Nodes {
		before[name] = n.Offline
	}
	fn(s.State)
	if quorate && s.State.NoQuorum {
		s.State.QuorumLost = s.Clock.Now()
	}
	for name, n := range s.State.Nodes {
		switch {
		case n.Offline == before[name]:
		case n.Offline:
			guest.Leave(s.Op(""), n, power)
		default:
			guest.Return(s.Op(""), n)
		}
	}
	ha.Keep(s.Op(""))
}
