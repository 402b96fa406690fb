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

// The program runs external-dns without its DNS services: with the source, registry and plan of external-dns, and its in-memory provider. It has the
// command line of external-dns. Each request to its metrics address runs one round, as external-dns does once in each interval, and returns the records
// of its zones.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"sigs.k8s.io/external-dns/endpoint"
	"sigs.k8s.io/external-dns/pkg/apis/externaldns"
	"sigs.k8s.io/external-dns/pkg/apis/externaldns/validation"
	"sigs.k8s.io/external-dns/plan"
	"sigs.k8s.io/external-dns/provider/inmemory"
	"sigs.k8s.io/external-dns/registry"
	"sigs.k8s.io/external-dns/registry/txt"
	"sigs.k8s.io/external-dns/source"
	"sigs.k8s.io/external-dns/source/wrappers"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	cfg := externaldns.NewConfig()
	if err := cfg.ParseFlags(args); err != nil {
		return err
	}
	if err := validation.ValidateConfig(cfg); err != nil {
		return err
	}
	c, err := newController(ctx, cfg)
	if err != nil {
		return err
	}
	server := &http.Server{Addr: cfg.MetricsAddress, Handler: c, ReadHeaderTimeout: time.Minute}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// A controller does the work of external-dns's controller, which is in a package with all DNS services.
type controller struct {
	config   *externaldns.Config
	source   source.Source
	registry registry.Registry

	mu sync.Mutex
}

func newController(ctx context.Context, cfg *externaldns.Config) (*controller, error) {
	sources, err := source.NewSourceConfig(cfg)
	if err != nil {
		return nil, err
	}
	from, err := wrappers.Build(ctx, sources)
	if err != nil {
		return nil, err
	}
	to, err := inmemory.New(ctx, cfg, endpoint.NewDomainFilter(cfg.DomainFilter))
	if err != nil {
		return nil, err
	}
	owned, err := txt.New(cfg, to)
	return &controller{config: cfg, source: from, registry: owned}, err
}

// ServeHTTP runs a round and writes the records.
func (c *controller) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	records, err := c.round(r.Context())
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	lines := make([]string, 0, len(records))
	for _, e := range records {
		lines = append(lines, fmt.Sprintf("%s %d %s %s\n", e.DNSName, e.RecordTTL, e.RecordType, e.Targets))
	}
	slices.Sort(lines)
	_, _ = io.WriteString(w, strings.Join(lines, ""))
}

// round updates the zones to match the source, and returns the resulting records.
func (c *controller) round(ctx context.Context) ([]*endpoint.Endpoint, error) {
	current, err := c.registry.Records(ctx)
	if err != nil {
		return nil, err
	}
	endpoints, err := c.source.Endpoints(ctx)
	if err != nil {
		return nil, err
	}
	desired, err := c.registry.AdjustEndpoints(endpoints)
	if err != nil {
		return nil, err
	}
	changes := (&plan.Plan{
		Policies:       []plan.Policy{plan.Policies[c.config.Policy]},
		Current:        current,
		Desired:        desired,
		DomainFilter:   endpoint.MatchAllDomainFilters{c.registry.GetDomainFilter()},
		ManagedRecords: c.config.ManagedDNSRecordTypes,
		ExcludeRecords: c.config.ExcludeDNSRecordTypes,
		OwnerID:        c.registry.OwnerID(),
	}).Calculate().Changes
	if !changes.HasChanges() {
		return current, nil
	}
	if err := c.registry.ApplyChanges(ctx, changes); err != nil {
		return nil, err
	}
	return c.registry.Records(ctx)
}
