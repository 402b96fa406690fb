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

package proxmox

import (
	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/internal/proxmox/tasklimit"
)

const clonePath = "/nodes/{node}/qemu/{vmid}/clone"

// Waiting returns the turn of what was refused since too many tasks of ours run: when it may be tried again. It is false for errors of another kind.
func Waiting(err error) (*tasklimit.Turn, bool) {
	var e *Error
	if !errors.As(err, &e) || e.waiting == nil {
		return nil, false
	}
	return e.waiting, true
}

// taskLimits are the limits of tasks among those of a configuration.
func taskLimits(l Limits) tasklimit.Limits {
	return tasklimit.Limits{All: l.Tasks, PerNode: l.TasksPerNode, ClonesPerSource: l.ClonesPerSource}
}

// limited is a request as what limits tasks knows it.
func (r request) limited() tasklimit.Request {
	asked := tasklimit.Request{Key: r.op + " " + r.url(), Node: r.args[0]}
	if r.path == clonePath {
		asked.Source = r.args[1]
	}
	return asked
}

// waits returns the error of a request that has to wait for its turn, or nil.
func (r request) waits(why *tasklimit.Refusal) error {
	if why == nil {
		return nil
	}
	return &Error{
		Op: r.op, Method: r.method, Path: r.path, waiting: why.Turn,
		Message: "it waits for its turn: as many tasks of this provider run as " + why.Limit + " allows",
	}
}

// reserve reserves a turn for a request.
func (c *conn) reserve(r request) error { return r.waits(c.limiter.Reserve(r.limited())) }

// observeTasks takes in which tasks run, by a list of all or of some.
func (c *conn) observeTasks(tasks []Task, all bool) {
	works := make(map[UPID]bool, len(tasks))
	for _, t := range tasks {
		works[t.UPID] = t.Works()
	}
	c.limiter.Observe(works, all)
}
