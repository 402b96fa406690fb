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
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// A pool has one client and one inventory for all equivalent configurations.
type pool struct {
	grace   time.Duration
	now     func() time.Time
	options []inventory.Option

	mu     sync.Mutex
	shared map[fingerprint]*shared
	users  map[reference]fingerprint

	// last has the last connection of each configuration, for resources that are deleted together with it.
	last map[reference]lastConnection
}

// A lastConnection is the last connection of a configuration, and the configuration at that time.
type lastConnection struct {
	fingerprint

	spec *v1alpha1.ProviderConfigSpec
}

// shared is what users of one configuration share.
type shared struct {
	endpoints []string
	client    *proxmox.Client
	inventory *inventory.Cluster
	unused    time.Time // time since when no configuration has used it; zero if one does
}

func (s *shared) close() {
	s.inventory.Close()
	s.client.Close()
}

func newPool() *pool {
	return &pool{
		grace:  defaultGrace,
		now:    time.Now,
		shared: map[fingerprint]*shared{},
		users:  map[reference]fingerprint{},
		last:   map[reference]lastConnection{},
	}
}

// get returns what the configuration shares with equivalent ones, and creates it if needed. Other configurations keep using what the configuration used
// before.
func (p *pool) get(r reference, cfg proxmox.Config, spec *v1alpha1.ProviderConfigSpec) (*shared, error) {
	f := fingerprintOf(cfg)
	p.mu.Lock()
	defer p.mu.Unlock()
	s, ok := p.shared[f]
	if !ok {
		c, err := proxmox.New(cfg)
		if err != nil {
			return nil, err
		}
		s = &shared{endpoints: cfg.Endpoints, client: c, inventory: inventory.New(c, p.options...)}
		p.shared[f] = s
	}
	if p.users[r] != f {
		p.handOver(r, s)
		p.leave(r)
		p.users[r] = f
	}
	s.unused = time.Time{}
	p.last[r] = lastConnection{fingerprint: f, spec: spec.DeepCopy()}
	return s, nil
}

// lastOf returns the last connection of a configuration, if it still exists. It is kept for the grace period from now.
func (p *pool) lastOf(r reference) (*shared, *v1alpha1.ProviderConfigSpec) {
	p.mu.Lock()
	defer p.mu.Unlock()
	last, ok := p.last[r]
	s := p.shared[last.fingerprint]
	if !ok || s == nil {
		return nil, nil
	}
	if !s.unused.IsZero() {
		s.unused = p.now()
	}
	return s, last.spec.DeepCopy()
}

// handOver passes on the tasks and watches that are followed with the former credentials of a configuration, if those were for the same cluster.
func (p *pool) handOver(r reference, to *shared) {
	f := p.users[r]
	from, ok := p.shared[f]
	if !ok || !overlap(from.endpoints, to.endpoints) {
		return
	}
	others := false
	for other, of := range p.users {
		others = others || other != r && of == f
	}
	to.inventory.Handover(from.inventory, others)
}

// references returns the references of all configurations with a connection.
func (p *pool) references() []reference {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Collect(maps.Keys(p.users))
}

// release releases the connection of a configuration that no longer exists.
func (p *pool) release(r reference) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leave(r)
}

func (p *pool) leave(r reference) {
	f, ok := p.users[r]
	if !ok {
		return
	}
	delete(p.users, r)
	for _, other := range p.users {
		if other == f {
			return
		}
	}
	p.shared[f].unused = p.now()
	p.shared[f].client.WakeWaiting()
}

// sweep closes connections that have been unused for the grace period.
func (p *pool) sweep() {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.shared, func(_ fingerprint, s *shared) bool {
		if s.unused.IsZero() || p.now().Sub(s.unused) < p.grace {
			return false
		}
		s.close()
		return true
	})
	maps.DeleteFunc(p.last, func(_ reference, h lastConnection) bool { return p.shared[h.fingerprint] == nil })
}

// close closes everything.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.shared {
		s.close()
	}
	clear(p.shared)
	clear(p.users)
	clear(p.last)
}

// A fingerprint is equal for equivalent configurations.
type fingerprint [sha256.Size]byte

func fingerprintOf(c proxmox.Config) fingerprint {
	h := sha256.New()
	write(h, c.Endpoints...)
	// The fields are written one by one, since credentials omit their secrets when they are printed.
	write(h, c.Credentials.Username, c.Credentials.Password, c.Credentials.TokenID, c.Credentials.TokenSecret)
	write(h, string(c.TLS.CA), string(c.TLS.Certificate), string(c.TLS.Key), c.TLS.ServerName)
	write(h, fmt.Sprint(c.TLS.InsecureSkipVerify, c.Timeout, c.Limits))
	return fingerprint(h.Sum(nil))
}

// write writes the values so that different lists have different output.
func write(w io.Writer, values ...string) {
	for _, v := range values {
		fmt.Fprintf(w, "%d:%s,", len(v), v)
	}
	fmt.Fprint(w, ";")
}
