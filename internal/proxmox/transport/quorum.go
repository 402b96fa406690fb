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

package transport

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"sync"
)

// A Membership is what the node at an endpoint knows of its cluster.
type Membership struct {
	Nodes []Node

	// Quorate is false for a node without quorum. Such a node still answers requests from its last known data, and reports all nodes as offline that it does
	// not reach.
	Quorate bool
}

// An Ask reads the membership from the endpoint to which the context is pinned.
type Ask func(ctx context.Context) (Membership, error)

// A DownEndpoint is an endpoint that does not answer, with the reason.
type DownEndpoint struct {
	Endpoint string
	Err      error
}

type servedKey struct{}

// Served returns a context whose requests record the last endpoint that answered.
func Served(ctx context.Context, by **Endpoint) context.Context {
	return context.WithValue(ctx, servedKey{}, by)
}

// served records which endpoint has answered.
func served(r *http.Request, e *Endpoint) {
	if by, ok := r.Context().Value(servedKey{}).(**Endpoint); ok {
		*by = e
	}
}

// ExcludeWithoutQuorum reports whether the node at an endpoint has no quorum while the node at another one has. Such an endpoint is not trusted, and is
// used only if no other one answers. If there is no other endpoint, nothing is asked.
func (t *Transport) ExcludeWithoutQuorum(ctx context.Context, e *Endpoint, ask Ask) bool {
	others := slices.DeleteFunc(t.Order(), func(o *Endpoint) bool { return o == e })
	if e == nil || len(others) == 0 {
		return false
	}
	if own, err := ask(Pin(ctx, e)); err != nil || own.Quorate {
		return false
	}
	without := []*Endpoint{e}
	for _, o := range others {
		m, err := ask(Pin(ctx, o))
		switch {
		case err != nil:
		case m.Quorate:
			t.failover.cut(false, o)
			t.failover.cut(true, without...)
			return true
		default:
			without = append(without, o)
		}
	}
	t.failover.cut(false, without...)
	return false
}

// CheckSuspectEndpoints checks the doubtful endpoints other than the one in use. It returns those that do not answer, and those without quorum if the one
// in use has it. The latter are not used.
func (t *Transport) CheckSuspectEndpoints(ctx context.Context, used *Endpoint, quorate bool, ask Ask) (down []DownEndpoint, cutOff []string) {
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, e := range t.failover.others(used) {
		all.Go(func() {
			m, err := ask(Pin(ctx, e))
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				down = append(down, DownEndpoint{Endpoint: e.String(), Err: err})
				return
			}
			t.See(e, m.Nodes)
			t.failover.cut(quorate && !m.Quorate, e)
			if quorate && !m.Quorate {
				cutOff = append(cutOff, e.String())
			}
		})
	}
	all.Wait()
	slices.Sort(cutOff)
	slices.SortFunc(down, func(a, b DownEndpoint) int { return cmp.Compare(a.Endpoint, b.Endpoint) })
	return down, cutOff
}

// cut records whether endpoints are cut off while another one is not.
func (f *failover) cut(off bool, endpoints ...*Endpoint) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range endpoints {
		e.cutOff = off
	}
}
