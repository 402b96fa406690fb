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

package main

import (
	"context"
	"slices"
	"strings"
	"time"
)

// A journal is what a user asked of the simulator since it was begun.
type journal struct {
	*pve

	user string
	// read is the number of the last request that was read.
	read int
	rows []request
	// vms are those that requests were about.
	vms map[string]bool
}

// journal begins one of a user's requests.
func (p *pve) journal(ctx context.Context, user string) (*journal, error) {
	var page struct{ Last int }
	err := p.control(ctx, "GET /requests?limit=1", &page)
	return &journal{pve: p, user: user, read: page.Last, vms: map[string]bool{}}, err
}

// follow reads what was asked since the last time.
func (j *journal) follow(ctx context.Context) error {
	rows, last, err := j.requests(ctx, j.read)
	if err != nil {
		return err
	}
	j.read = max(j.read, last)
	for _, r := range rows {
		if r.User != j.user {
			continue
		}
		j.rows = append(j.rows, r)
		if id := r.vmid(); id != "" {
			j.vms[id] = true
		}
	}
	return nil
}

// vmid of the VM that the request is about; empty if it is about none.
func (r request) vmid() string {
	_, rest, ok := strings.Cut(r.Path, "/qemu/")
	if !ok {
		return ""
	}
	id, _, _ := strings.Cut(rest, "/")
	return id
}

// count the requests that count.
func (j *journal) count(counts func(request) bool) int {
	n := 0
	for _, r := range j.rows {
		if counts(r) {
			n++
		}
	}
	return n
}

// busiest is the highest number of requests that ended within a second, of those that count.
func (j *journal) busiest(counts func(request) bool) int {
	var times []time.Time
	for _, r := range j.rows {
		if counts(r) {
			times = append(times, r.Time)
		}
	}
	slices.SortFunc(times, time.Time.Compare)
	most, first := 0, 0
	for i, t := range times {
		for t.Sub(times[first]) >= time.Second {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

func anything(request) bool { return true }

// toAgent says whether Proxmox VE passes the request on to a guest's agent.
func toAgent(r request) bool { return strings.Contains(r.Template, "/agent/") }

// toWorkers says whether one of the three workers that each node has for such requests has to answer it.
func toWorkers(r request) bool { return toAgent(r) || strings.HasSuffix(r.Template, "/status/current") }

// forOne says whether the request is made for one VM: about it, or to make it from the template, which all read.
func forOne(r request) bool { return r.vmid() != "" && (r.vmid() != itoa(templateID) || clones(r, "")) }
