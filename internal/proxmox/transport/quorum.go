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

	// Quorate is false for a node without quorum. It goes on answering what it is asked, by what it knew last, and says that
	// all nodes are offline that it does not reach.
	Quorate bool
}

// An Ask asks the node at the endpoint that the context is pinned to.
type Ask func(ctx context.Context) (Membership, error)

// A DownEndpoint does not answer, with why.
type DownEndpoint struct {
	Endpoint string
	Err      error
}

type servedKey struct{}

// Served returns a context whose requests note the endpoint that has answered last.
func Served(ctx context.Context, by **Endpoint) context.Context {
	return context.WithValue(ctx, servedKey{}, by)
}

// served notes which endpoint has answered.
func served(r *http.Request, e *Endpoint) {
	if by, ok := r.Context().Value(servedKey{}).(**Endpoint); ok {
		*by = e
	}
}

// ExcludeWithoutQuorum reports whether the node at an endpoint has no quorum while that at another one has, so that what it says is not
// believed: the endpoint is not used then, unless no other one answers. It asks nobody if there is no other endpoint.
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

// CheckSuspectEndpoints asks the endpoints beside the one in use that are in doubt. It returns those that do not answer, and those without
// quorum if the one in use has it: they are not used.
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

// cut notes whether endpoints are cut off while another one is not.
func (f *failover) cut(off bool, endpoints ...*Endpoint) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range endpoints {
		e.cutOff = off
	}
}
