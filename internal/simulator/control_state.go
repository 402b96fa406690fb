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

package simulator

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/guest"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// The maximum numbers of rows in the lists of the control API, and the defaults without a limit in the request.
const (
	maxRows     = 1000
	defaultRows = 50
)

// summary is the state in the control API.
type summary struct {
	Version string    `json:"version"`
	Cluster string    `json:"cluster"`
	Time    time.Time `json:"time"`
	Quorate bool      `json:"quorate"`

	Nodes    []nodeSummary    `json:"nodes"`
	Guests   guestList        `json:"guests"`
	Tasks    taskList         `json:"tasks"`
	Requests requestPage      `json:"requests"`
	Faults   []map[string]any `json:"faults"`
}

type nodeSummary struct {
	Name   string `json:"name"`
	Online bool   `json:"online"`
	// CPU is the used share of the processors. Memory is in bytes.
	CPU       any `json:"cpu"`
	CPUs      int `json:"cpus"`
	Memory    any `json:"memory"`
	MaxMemory any `json:"maxMemory"`
	Guests    int `json:"guests"`
}

// taskList holds the running tasks and then the latest ended ones, newest first.
type taskList struct {
	Total   int           `json:"total"`
	Running int           `json:"running"`
	Rows    []taskSummary `json:"rows"`
}

type taskSummary struct {
	UPID    string    `json:"upid"`
	Node    string    `json:"node"`
	Type    string    `json:"type"`
	ID      string    `json:"id"`
	User    string    `json:"user"`
	Started time.Time `json:"started"`
	// Ended is absent while the task runs, and so is its exit status.
	Ended *time.Time `json:"ended,omitempty"`
	Exit  string     `json:"exit,omitempty"`
}

// requestPage holds requests. Last is the number of the latest request.
type requestPage struct {
	Last int              `json:"last"`
	Rows []requestSummary `json:"rows"`
}

type requestSummary struct {
	Number   int       `json:"number"`
	Time     time.Time `json:"time"`
	Method   string    `json:"method"`
	Path     string    `json:"path"`
	Template string    `json:"template"`
	// Parameters are the names of the sent parameters. Values may be secret.
	Parameters []string `json:"parameters"`
	User       string   `json:"user"`
	Node       string   `json:"node"`
	Status     int      `json:"status"`
	Message    string   `json:"message"`
	Cut        bool     `json:"cut"`
	Bytes      int      `json:"bytes"`
	// Milliseconds is the duration of the answer.
	Milliseconds float64 `json:"milliseconds"`
}

// controlState answers with the summary. The query limits the rows: guests, tasks and requests are the numbers of rows, search is a text that each guest
// must contain, and writes=1 leaves out requests that only read.
func (s *Server) controlState(r *http.Request) (any, error) {
	query := r.URL.Query()
	limits := map[string]int{"guests": defaultRows, "tasks": defaultRows, "requests": defaultRows}
	for name, fallback := range limits {
		var err error
		if limits[name], err = rows(query, name, fallback); err != nil {
			return nil, err
		}
	}
	out := &summary{Faults: s.faultList()}
	look(s.Engine, func(o *engine.Op) {
		out.Version, out.Cluster, out.Time, out.Quorate = o.State.Version, o.State.ClusterName, s.Clock.Now(), !o.State.NoQuorum
		out.Nodes = nodeSummaries(o)
		out.Guests = listGuests(o, strings.Fields(strings.ToLower(query.Get("search"))), limits["guests"])
		out.Tasks = listTasks(o.State, limits["tasks"])
	})
	out.Requests = s.requests.latest(limits["requests"], query.Get("writes") == "1")
	return out, nil
}

// look runs fn on the state, which it must not change.
func look(s *engine.Engine, fn func(*engine.Op)) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	fn(s.Op(""))
}

// rows reads a number of rows from a query.
func rows(query url.Values, name string, fallback int) (int, error) {
	text := query.Get(name)
	if text == "" {
		return fallback, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > maxRows {
		return 0, errors.Errorf("cannot use %s=%s: want a number from 0 to %d", name, text, maxRows)
	}
	return n, nil
}

func nodeSummaries(o *engine.Op) []nodeSummary {
	guests := map[string]int{}
	for _, g := range o.State.Guests {
		guests[g.Node]++
	}
	out := []nodeSummary{}
	for _, name := range slices.Sorted(maps.Keys(o.State.Nodes)) {
		n := o.State.Nodes[name]
		row := nodeSummary{Name: name, Online: !n.Offline, CPU: 0, CPUs: n.CPUs, Memory: 0, MaxMemory: n.Memory, Guests: guests[name]}
		if !n.Offline {
			usage := guest.NodeUsage(o, n)
			row.CPU, row.Memory = usage["cpu"], usage["mem"]
		}
		out = append(out, row)
	}
	return out
}

func listTasks(st *state.State, limit int) taskList {
	out := taskList{Total: len(st.Tasks), Rows: []taskSummary{}}
	ended := []taskSummary{}
	for _, t := range slices.Backward(st.Tasks) {
		row := taskSummary{UPID: t.UPID, Node: t.Node, Type: t.Type, ID: t.ID, User: t.User, Started: t.Started, Exit: t.Exit}
		if t.Running() {
			out.Rows = append(out.Rows, row)
			continue
		}
		row.Ended = &t.Ended
		ended = append(ended, row)
	}
	out.Running = len(out.Rows)
	out.Rows = append(out.Rows, ended...)
	out.Rows = slices.Clone(out.Rows[:min(limit, len(out.Rows))])
	return out
}

// controlRequests answers with the requests after the number "after", oldest first, up to "limit" of them.
func (s *Server) controlRequests(r *http.Request) (any, error) {
	limit, err := rows(r.URL.Query(), "limit", maxRows)
	if err != nil {
		return nil, err
	}
	after := 0
	if text := r.URL.Query().Get("after"); text != "" {
		if after, err = strconv.Atoi(text); err != nil || after < 0 {
			return nil, errors.Errorf("cannot use after=%s: want the number of a request", text)
		}
	}
	return s.requests.from(after, limit), nil
}

// countPage holds the numbers of requests of each kind since the log was emptied, the most frequent first.
type countPage struct {
	Time time.Time  `json:"time"`
	Rows []countRow `json:"rows"`
}

type countRow struct {
	User     string `json:"user"`
	Method   string `json:"method"`
	Template string `json:"template"`
	Requests int    `json:"requests"`
	Bytes    int    `json:"bytes"`
}

// controlCounts answers with the numbers of requests.
func (s *Server) controlCounts(*http.Request) (any, error) {
	return countPage{Time: s.Clock.Now(), Rows: s.requests.counted()}, nil
}

func (l *requestLog) counted() []countRow {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]countRow, 0, len(l.counts))
	for sort, n := range l.counts {
		out = append(out, countRow{User: sort.user, Method: sort.method, Template: sort.template, Requests: n.requests, Bytes: n.bytes})
	}
	slices.SortFunc(out, func(a, b countRow) int {
		return cmp.Or(cmp.Compare(b.Requests, a.Requests), cmp.Compare(a.Template, b.Template), cmp.Compare(a.Method, b.Method), cmp.Compare(a.User, b.User))
	})
	return out
}

func (l *requestLog) from(after, limit int) requestPage {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := requestPage{Last: l.forgotten + len(l.entries), Rows: []requestSummary{}}
	start := min(max(after-l.forgotten, 0), len(l.entries))
	for i := start; i < len(l.entries) && i < start+limit; i++ {
		out.Rows = append(out.Rows, l.summary(i))
	}
	return out
}

// latest returns the last requests, newest first, or the last that write.
func (l *requestLog) latest(limit int, writes bool) requestPage {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := requestPage{Last: l.forgotten + len(l.entries), Rows: []requestSummary{}}
	for i := len(l.entries) - 1; i >= 0 && len(out.Rows) < limit; i-- {
		if !writes || l.entries[i].Method != http.MethodGet {
			out.Rows = append(out.Rows, l.summary(i))
		}
	}
	return out
}

func (l *requestLog) summary(i int) requestSummary {
	e := l.entries[i]
	return requestSummary{
		Number: l.forgotten + i + 1, Time: e.Time, Method: e.Method, Path: e.Path, Template: e.Template,
		Parameters: slices.Sorted(maps.Keys(e.Params)), User: e.User, Node: e.Node, Status: e.Status, Message: e.Message,
		Cut: e.Cut, Bytes: e.Bytes, Milliseconds: float64(e.Duration.Microseconds()) / 1000,
	}
}
