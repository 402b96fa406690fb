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

// A requestLog holds the requests that a user has sent to the simulator since the log was started.
type requestLog struct {
	*pve

	user string
	// read is the number of the last request that was read.
	read int
	rows []request
	// vms are the VMIDs in the paths of the requests.
	vms map[string]bool
}

// requestLog starts a log of a user's requests.
func (p *pve) requestLog(ctx context.Context, user string) (*requestLog, error) {
	var page struct{ Last int }
	err := p.control(ctx, "GET /requests?limit=1", &page)
	return &requestLog{pve: p, user: user, read: page.Last, vms: map[string]bool{}}, err
}

// follow reads the requests since its last call.
func (j *requestLog) follow(ctx context.Context) error {
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

// vmid returns the VMID in the path of the request, or an empty string.
func (r request) vmid() string {
	_, rest, ok := strings.Cut(r.Path, "/qemu/")
	if !ok {
		return ""
	}
	id, _, _ := strings.Cut(rest, "/")
	return id
}

// count returns the number of requests for which counts returns true.
func (j *requestLog) count(counts func(request) bool) int {
	n := 0
	for _, r := range j.rows {
		if counts(r) {
			n++
		}
	}
	return n
}

// maxPerSecond is the highest number of requests that ended within a second, of those for which counts returns true.
func (j *requestLog) maxPerSecond(counts func(request) bool) int {
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

// endpoints is a table of the calls about n VMs by what they are, and for whom.
func (j *requestLog) endpoints(name string, n int) table {
	one, all := counts{}, counts{}
	for _, c := range j.rows {
		if forOne(c) {
			one[c.Method+" "+c.Template]++
		} else {
			all[c.Method+" "+c.Template]++
		}
	}
	t := table{name: name, rows: [][]string{{"call", "for each Machine", "for all"}}}
	for _, k := range one.names() {
		t.rows = append(t.rows, []string{"`" + k + "`", number(float64(one[k]) / float64(n)), ""})
	}
	for _, k := range all.names() {
		t.rows = append(t.rows, []string{"`" + k + "`", "", itoa(all[k])})
	}
	return t
}

func anything(request) bool { return true }

// toAgent reports whether Proxmox VE forwards the request to a guest agent.
func toAgent(r request) bool { return strings.Contains(r.Template, "/agent/") }

// toWorkers reports whether the request occupies one of the three workers that each node has for such requests.
func toWorkers(r request) bool { return toAgent(r) || strings.HasSuffix(r.Template, "/status/current") }

// forOne reports whether the request concerns one VM, or clones the template, which all VMs read.
func forOne(r request) bool { return r.vmid() != "" && (r.vmid() != itoa(templateID) || clones(r, "")) }
