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
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/wire"
)

// A Fault is an error that is injected into matching requests or tasks. Fields that are zero match everything or do nothing. ParseFault parses a Fault
// from a text.
type Fault struct {
	// Method is the HTTP method of matching requests.
	Method string
	// Path is the path below /api2/json. It is a pattern such as "/nodes/*/qemu/*/clone", in which "*" stands for anything within a segment and "**" for
	// anything, or a template such as "/nodes/{node}/qemu", in which names in braces stand for one segment, or a regular expression that begins with "^".
	Path string
	// Task is the type of the tasks that TaskExit and Refuse affect, such as "qmclone". ID is the ID of those tasks, such as a VMID.
	Task, ID string
	// Skip is how many matches are not affected first. Count is how many are affected then. 0 stands for all.
	Skip, Count int
	// Delay waits before the request is served, but no longer than until the fault is removed.
	Delay time.Duration
	// Status and Message answer the request without an effect. The default message is a usual one for that status.
	Status  int
	Message string
	// CutBefore closes the connection before the request has an effect, CutAfter after it.
	CutBefore, CutAfter bool
	// TaskExit makes the task end with this error, without an effect.
	TaskExit string
	// Hold stops the task at the first operation that takes time, until the fault is removed.
	Hold bool
	// Refuse makes the start of the task fail: "got no worker upid - start worker failed". The effects of the call before that stay, as in PVE: a creation
	// leaves a configuration with the lock "create".
	Refuse bool
}

// An ArmedFault is a fault in force.
type ArmedFault struct {
	Fault
	// Number identifies the fault as long as the server runs.
	Number int
	// Matched is how many requests or tasks have matched so far. Hit is how many of them were affected.
	Matched, Hit int
}

// faults holds the faults in force.
type faults struct {
	mu   sync.Mutex
	list []*armed
	// last is the number of the latest fault.
	last int
}

type armed struct {
	ArmedFault
	path *regexp.Regexp
	// removed is closed when the fault is removed.
	removed chan struct{}
}

// Inject adds a fault and returns a function that removes it. Of several matching faults, the oldest that is not used up takes effect.
func (s *Server) Inject(f Fault) func() {
	number := s.faults.add(f)
	return func() { s.faults.remove(number) }
}

// Faults returns the faults in force, oldest first.
func (s *Server) Faults() []ArmedFault {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	out := make([]ArmedFault, 0, len(s.faults.list))
	for _, a := range s.faults.list {
		out = append(out, a.ArmedFault)
	}
	return out
}

// ClearFaults removes all faults.
func (s *Server) ClearFaults() { s.faults.clear() }

func (fs *faults) add(f Fault) int {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.last++
	fs.list = append(fs.list, &armed{
		ArmedFault: ArmedFault{Fault: f, Number: fs.last}, path: regexp.MustCompile(pathPattern(f.Path)), removed: make(chan struct{}),
	})
	return fs.last
}

// remove removes the fault with a number, and reports whether it existed.
func (fs *faults) remove(number int) bool {
	return fs.removeIf(func(a *armed) bool { return a.Number == number })
}

func (fs *faults) clear() { fs.removeIf(func(*armed) bool { return true }) }

// removeIf removes a matching fault, and reports whether there was one.
func (fs *faults) removeIf(is func(*armed) bool) bool {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	before := len(fs.list)
	fs.list = slices.DeleteFunc(fs.list, func(a *armed) bool {
		if is(a) {
			close(a.removed)
			return true
		}
		return false
	})
	return len(fs.list) < before
}

// compile compiles the pattern of a fault's path.
func compile(path string) (*regexp.Regexp, error) { return regexp.Compile(pathPattern(path)) }

// pathPattern returns the regular expression of a fault's path.
func pathPattern(path string) string {
	if path == "" || strings.HasPrefix(path, "^") {
		return path
	}
	parts := regexp.MustCompile(`\{[^}]*\}|\*+|[^*{]+|\{`)
	return "^" + parts.ReplaceAllStringFunc(strings.TrimPrefix(path, "/api2/json"), func(part string) string {
		switch {
		case part == "*":
			return "[^/]*"
		case part[0] == '*':
			return ".*"
		case len(part) > 1 && part[0] == '{':
			return "[^/]+"
		}
		return regexp.QuoteMeta(part)
	}) + "$"
}

// due counts a match and reports whether the fault affects it.
func (a *armed) due() bool {
	a.Matched++
	if a.Matched <= a.Skip || (a.Count > 0 && a.Hit >= a.Count) {
		return false
	}
	a.Hit++
	return true
}

func (f Fault) forTasks() bool {
	return f.Task != "" || f.ID != "" || f.TaskExit != "" || f.Hold || f.Refuse
}

// match returns the first fault that affects a request, or nil if none does.
func (fs *faults) match(method, path string) *armed {
	return fs.first(func(a *armed) bool {
		return !a.forTasks() && (a.Method == "" || a.Method == method) && a.path.MatchString(path)
	})
}

// TaskExit returns the error that a task of a kind is to end with, if there is one.
func (fs *faults) TaskExit(kind, id string) error {
	if f := fs.first(func(a *armed) bool { return a.TaskExit != "" && a.hitsTask(kind, id) }); f != nil {
		return apierr.Errorf("%s", f.TaskExit)
	}
	return nil
}

// HoldTask returns a channel that is closed when a task of a kind may continue, or nil if nothing holds it.
func (fs *faults) HoldTask(kind, id string) <-chan struct{} {
	if a := fs.first(func(a *armed) bool { return a.Hold && a.hitsTask(kind, id) }); a != nil {
		return a.removed
	}
	return nil
}

// RefuseTask returns the error of a task that cannot start, if there is one.
func (fs *faults) RefuseTask(kind, id string) error {
	if fs.first(func(a *armed) bool { return a.Refuse && a.hitsTask(kind, id) }) != nil {
		return apierr.Errorf("got no worker upid - start worker failed")
	}
	return nil
}

func (a *armed) hitsTask(kind, id string) bool {
	return (a.Task == "" || a.Task == kind) && (a.ID == "" || a.ID == id)
}

func (fs *faults) first(matches func(*armed) bool) *armed {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for _, a := range fs.list {
		if matches(a) && a.due() {
			return a
		}
	}
	return nil
}

// before applies a fault to a request before the request has an effect.
func (s *Server) before(r *wire.Request, f *armed) *wire.Response {
	if f == nil {
		return nil
	}
	if f.Delay > 0 {
		select {
		case <-s.Clock.After(f.Delay):
		case <-f.removed:
		case <-r.Context().Done():
		}
	}
	switch {
	case f.CutBefore:
		return &wire.Response{Cut: true}
	case f.Status != 0:
		return f.answer(r)
	}
	return nil
}

// answer returns the response to a request instead of its effect. Rejected credentials have no body, except at the login.
func (f Fault) answer(r *wire.Request) *wire.Response {
	message := f.Message
	if message == "" {
		message = usualMessage(f.Status)
	}
	if f.Status == http.StatusUnauthorized && !strings.HasSuffix(r.URL.Path, "/access/ticket") {
		return &wire.Response{Status: f.Status, Reason: message}
	}
	return respond(r, nil, map[string]any{}, &apierr.Error{Status: f.Status, Message: message})
}

// usualMessage returns PVE's most frequent message for a status. From 595 on, the message is from the proxy.
func usualMessage(status int) string {
	messages := map[int]string{
		http.StatusBadRequest: "Parameter verification failed.", http.StatusUnauthorized: "Authentication failed!",
		http.StatusForbidden: "Permission check failed", http.StatusInternalServerError: "got timeout",
		apierr.StatusNoRoute: "No route to host", 596: "Connection timed out", 597: "Connection reset by peer", 599: "Too many redirections",
	}
	if m := messages[status]; m != "" {
		return m
	}
	return http.StatusText(status)
}
