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
	"context"
	"net"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// endpointSet holds endpoints with fake connections.
type endpointSet struct {
	*failover

	clock *manualClock
	fate  map[string]error // by host, nil for an answer
	reply int              // status of answers
	tried []string
}

func newEndpointSet(t *testing.T, hosts ...string) *endpointSet {
	t.Helper()
	f := &endpointSet{clock: newManualClock(), fate: map[string]error{}, reply: http.StatusOK}
	urls, err := Config{Endpoints: slices.Collect(func(yield func(string) bool) {
		for _, h := range hosts {
			if !yield("https://" + h) {
				return
			}
		}
	})}.urls()
	if err != nil {
		t.Fatal(err)
	}
	f.failover = newFailover(urls, f.clock.Now, roundTripper(func(r *http.Request) (*http.Response, error) {
		host := r.URL.Hostname()
		f.tried = append(f.tried, host)
		if err := f.fate[host]; err != nil {
			return nil, err
		}
		return answer(r, f.reply, []byte(`{"data":null}`)), nil
	}))
	return f
}

// ask makes a request for a node, or for the cluster, and returns where it was tried.
func (f *endpointSet) ask(t *testing.T, node string) ([]string, error) {
	t.Helper()
	f.tried = nil
	x, path := &Request{Template: "/version"}, "/version"
	if node != "" {
		x, path = &Request{Template: "/nodes/{node}/status", Args: []string{node}}, "/nodes/"+node+"/status"
	}
	r, err := http.NewRequestWithContext(With(context.Background(), x), http.MethodGet, root.String()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := f.RoundTrip(r)
	if err == nil {
		_ = resp.Body.Close()
	}
	return f.tried, err
}

var refused = &net.OpError{Op: "dial", Err: &net.AddrError{Err: "refused"}} //nolint:gochecknoglobals // A constant.

func (f *endpointSet) wants(t *testing.T, reason, node string, want ...string) {
	t.Helper()
	got, _ := f.ask(t, node)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s\n-want, +got:\n%s", reason, diff)
	}
}

func TestCallsOfNodeGoThere(t *testing.T) {
	f := newEndpointSet(t, "pve1.example.org", "192.0.2.12", "front.example.org")
	f.wants(t, "Nothing is known yet.", "pve2", "pve1.example.org")
	f.learn([]Node{{Name: "pve1", Address: "192.0.2.11"}, {Name: "pve2", Address: "192.0.2.12"}, {Name: "pve3", Address: "192.0.2.13"}})
	f.wants(t, "An address tells whose the endpoint is.", "pve2", "192.0.2.12")
	f.wants(t, "A name does too.", "pve1", "pve1.example.org")
	f.wants(t, "This one has no endpoint known.", "pve3", "pve1.example.org")
	f.see(f.endpoints[2], []Node{{Name: "pve1"}, {Name: "pve3", Local: true}})
	f.wants(t, "The node that answers there says so.", "pve3", "front.example.org")
	f.wants(t, "The cluster is asked at the first.", "", "pve1.example.org")
	f.fate["192.0.2.12"] = refused
	f.wants(t, "Another endpoint stands in.", "pve2", "192.0.2.12", "pve1.example.org")
	f.wants(t, "It is remembered.", "pve2", "pve1.example.org")
}

func TestDeadClusterFailsFast(t *testing.T) {
	f := newEndpointSet(t, "a", "b")
	f.fate["a"], f.fate["b"] = refused, refused
	_, first := f.ask(t, "")
	tried, second := f.ask(t, "pve1")
	if len(tried) > 0 || second == nil || first.Error() != second.Error() {
		t.Errorf("a call right after: tried %v, got %v; want none, and what was wrong with the last: %v", tried, second, first)
	}
	f.clock.Add(firstPause)
	f.wants(t, "After a pause one is let through.", "", "a", "b")
	f.clock.Add(firstPause)
	f.wants(t, "The pause is longer now.", "")
	f.clock.Add(firstPause)
	delete(f.fate, "b")
	f.wants(t, "It is back.", "", "a", "b")
	f.wants(t, "All calls go through again.", "", "b")
}

func TestOneProbeAtATime(t *testing.T) {
	clock := newManualClock()
	c := &circuit{clock: clock.Now}
	if c.enter() != nil {
		t.Fatal("a new circuit is closed")
	}
	c.leave(dead, &Failure{Message: "gone"})
	clock.Add(firstPause)
	if c.enter() != nil {
		t.Error("the first after the pause must be let through")
	}
	if f := c.enter(); f == nil || f.Message != "gone" {
		t.Errorf("a second probe: got %v, want gone", f)
	}
	c.leave(noOutcome, nil)
	if c.enter() != nil {
		t.Error("a probe that was given up is followed by another")
	}
	c.leave(alive, nil)
	for range 3 {
		if c.enter() != nil {
			t.Error("a closed circuit lets all through")
		}
	}
}

func TestDeadNodeFailsFast(t *testing.T) {
	f := newEndpointSet(t, "a")
	f.reply = statusNoNode
	f.wants(t, "The node's state is not known yet.", "pve2", "a")
	f.wants(t, "It is not asked for again at once.", "pve2")
	f.reply = http.StatusOK
	f.wants(t, "Other nodes are not slowed down.", "pve1", "a")
	f.clock.Add(firstPause)
	f.wants(t, "It is asked for after a pause.", "pve2", "a")
	f.wants(t, "It is back.", "pve2", "a")
}

func TestSilentEndpointIsLeft(t *testing.T) {
	f := newEndpointSet(t, "a", "b")
	f.endpoints[0].silent = silences - 1
	f.note(f.endpoints[0], silent)
	f.wants(t, "What gives no answers is tried last.", "", "b")
	f.clock.Add(retryDown)
	f.wants(t, "For a while.", "", "a")
}

func TestSickEndpointIsLeft(t *testing.T) {
	for _, status := range []int{http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout, statusNoNode} {
		f := newEndpointSet(t, "a", "b")
		f.reply = status
		f.wants(t, "The answer is what it is.", "", "a")
		f.wants(t, "The next call tries another endpoint.", "", "b")
	}
}

// TestCutOffAnswerIsLeft checks that a write that was rejected without quorum is not sent again, and that later requests use another endpoint for a while.
func TestCutOffAnswerIsLeft(t *testing.T) {
	f := newEndpointSet(t, "a", "b")
	f.reply = http.StatusInternalServerError
	f.cutOff = func(string) bool { return true }
	f.wants(t, "The answer is what it is.", "", "a")
	f.reply = http.StatusOK
	f.wants(t, "The next call tries another endpoint.", "", "b")
	f.clock.Add(retryDown)
	f.wants(t, "For a while.", "", "a")
}

// memberships answers by the endpoint that is asked, and counts the calls.
type memberships struct {
	quorate map[string]bool // an endpoint without an entry does not answer
	asked   []string
}

func (m *memberships) ask(ctx context.Context) (Membership, error) {
	e, _ := ctx.Value(pinKey{}).(*Endpoint)
	host := e.url.Hostname()
	m.asked = append(m.asked, host)
	quorate, ok := m.quorate[host]
	if !ok {
		return Membership{}, refused
	}
	return Membership{Quorate: quorate, Nodes: []Node{{Name: "node-" + host, Local: true}}}, nil
}

// TestExcludeWithoutQuorum checks a used endpoint with and without quorum.
func TestExcludeWithoutQuorum(t *testing.T) {
	cases := map[string]struct {
		reason  string
		hosts   []string
		quorate map[string]bool
		want    bool
		asked   []string
		order   []string
	}{
		"Alone": {reason: "Nobody else can be asked.", hosts: []string{"a"}, quorate: map[string]bool{"a": false}, order: []string{"a"}},
		"Quorum": {
			reason: "The endpoint has quorum.",
			hosts:  []string{"a", "b"}, quorate: map[string]bool{"a": true, "b": true}, asked: []string{"a"}, order: []string{"a"},
		},
		"CutOff": {
			reason: "Another one has quorum.", hosts: []string{"a", "b", "c"}, quorate: map[string]bool{"a": false, "b": false, "c": true}, want: true,
			asked: []string{"a", "b", "c"}, order: []string{"c"},
		},
		"Nobody": {
			reason: "No endpoint has a quorum.",
			hosts:  []string{"a", "b"}, quorate: map[string]bool{"a": false, "b": false}, asked: []string{"a", "b"}, order: []string{"a"},
		},
		"Silent": {
			reason: "The other one does not answer.",
			hosts:  []string{"a", "b"}, quorate: map[string]bool{"a": false}, asked: []string{"a", "b"}, order: []string{"a"},
		},
		"Forbidden": {
			reason: "Whether the endpoint has quorum may not be asked.",
			hosts:  []string{"a", "b"}, quorate: map[string]bool{"b": true}, asked: []string{"a"}, order: []string{"a"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f, m := newEndpointSet(t, tc.hosts...), &memberships{quorate: tc.quorate}
			tr := &Transport{failover: f.failover}
			if got := tr.ExcludeWithoutQuorum(t.Context(), f.endpoints[0], m.ask); got != tc.want {
				t.Errorf("%s\ngot %t", tc.reason, got)
			}
			if diff := cmp.Diff(tc.asked, m.asked); diff != "" {
				t.Errorf("%s\nasked: -want, +got:\n%s", tc.reason, diff)
			}
			f.wants(t, tc.reason, "", tc.order...)
		})
	}
}

// TestCutOffEndpoint checks that an endpoint is not used as long as it has no quorum while another one has, even by calls for its own node, and that it is
// used if no other one answers.
func TestCutOffEndpoint(t *testing.T) {
	f, m := newEndpointSet(t, "a", "b"), &memberships{quorate: map[string]bool{"a": false, "b": true}}
	tr := &Transport{failover: f.failover}
	tr.See(f.endpoints[0], []Node{{Name: "pve1", Local: true}})
	if !tr.ExcludeWithoutQuorum(t.Context(), f.endpoints[0], m.ask) {
		t.Fatal("the other one has quorum")
	}
	f.clock.Add(2 * retryDown)
	f.wants(t, "It is left for good.", "", "b")
	f.wants(t, "Its own node is asked elsewhere.", "pve1", "b")
	f.fate["b"] = refused
	f.wants(t, "Nobody else answers.", "", "b", "a")
	delete(f.fate, "b")
	down, cutOff := tr.CheckSuspectEndpoints(t.Context(), f.endpoints[1], true, m.ask)
	if len(down) > 0 || !slices.Equal(cutOff, []string{f.endpoints[0].String()}) {
		t.Errorf("it is told, got %v and %v", down, cutOff)
	}
	m.quorate["a"] = true
	if down, cutOff := tr.CheckSuspectEndpoints(t.Context(), f.endpoints[1], true, m.ask); len(down)+len(cutOff) > 0 {
		t.Errorf("it has quorum again, got %v and %v", down, cutOff)
	}
	f.clock.Add(retryDown)
	f.wants(t, "It is used again.", "", "a")
}
