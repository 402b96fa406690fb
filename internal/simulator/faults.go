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
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Fault is something that goes wrong for requests or tasks that match. Fields that are zero match everything or do
// nothing.
type Fault struct {
	// Method is the HTTP method of the requests it hits.
	Method string
	// Path is the path below /api2/json: either a template such as "/nodes/{node}/qemu/{vmid}/clone", in which names in
	// braces stand for one segment, or a regular expression that begins with "^".
	Path string
	// Task is the type of the tasks that TaskExit hits, such as "qmclone".
	Task string
	// Skip lets that many matches pass first; Count is how many are hit then, 0 stands for all.
	Skip, Count int
	// Delay waits before the request is served.
	Delay time.Duration
	// Status and Message answer the request without an effect.
	Status  int
	Message string
	// CutBefore closes the connection before the request has an effect, CutAfter after it.
	CutBefore, CutAfter bool
	// TaskExit makes the task end with this error, without an effect.
	TaskExit string
	// Refuse makes the start of the task fail: "got no worker upid - start worker failed". What the call did before it
	// stays, as in PVE: a creation leaves a configuration with the lock "create".
	Refuse bool
}

// faults are the faults in force.
type faults struct {
	clock Clock

	mu   sync.Mutex
	list []*armed
}

type armed struct {
	Fault
	path *regexp.Regexp
	seen int
}

func newFaults(clock Clock) *faults { return &faults{clock: clock} }

// Inject adds a fault. It returns a function that takes it away.
func (s *Server) Inject(f Fault) func() {
	a := &armed{Fault: f, path: pathPattern(f.Path)}
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.list = append(s.faults.list, a)
	return func() {
		s.faults.mu.Lock()
		defer s.faults.mu.Unlock()
		s.faults.list = slices.DeleteFunc(s.faults.list, func(x *armed) bool { return x == a })
	}
}

// ClearFaults takes all faults away.
func (s *Server) ClearFaults() {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.list = nil
}

func pathPattern(path string) *regexp.Regexp {
	if path == "" || strings.HasPrefix(path, "^") {
		return regexp.MustCompile(path)
	}
	parts := regexp.MustCompile(`\{[^}]*\}`).Split(path, -1)
	for i, p := range parts {
		parts[i] = regexp.QuoteMeta(p)
	}
	return regexp.MustCompile("^" + strings.Join(parts, "[^/]+") + "$")
}

// due counts a match and reports whether the fault hits it.
func (a *armed) due() bool {
	a.seen++
	return a.seen > a.Skip && (a.Count == 0 || a.seen <= a.Skip+a.Count)
}

func (a *armed) forTasks() bool { return a.TaskExit != "" || a.Refuse }

// match returns the first fault that hits a request, nil if none does.
func (fs *faults) match(method, path string) *Fault {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for _, a := range fs.list {
		if !a.forTasks() && (a.Method == "" || a.Method == method) && a.path.MatchString(path) && a.due() {
			f := a.Fault
			return &f
		}
	}
	return nil
}

// taskExit returns the error that a task of a kind is to end with, if there is one.
func (fs *faults) taskExit(kind string) error {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for _, a := range fs.list {
		if a.TaskExit != "" && (a.Task == "" || a.Task == kind) && a.due() {
			return die("%s", a.TaskExit)
		}
	}
	return nil
}

// refuseTask returns the error of a task that cannot start, if there is one.
func (fs *faults) refuseTask(kind string) error {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for _, a := range fs.list {
		if a.Refuse && (a.Task == "" || a.Task == kind) && a.due() {
			return die("got no worker upid - start worker failed")
		}
	}
	return nil
}
