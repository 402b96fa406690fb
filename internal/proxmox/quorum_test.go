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
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// member answers like a node of a cluster of two, which may be cut off from the other one.
func member(t *testing.T, name, other string, cutOff *bool) *fakePVE {
	t.Helper()
	return newFakePVE(t, func(a asked) reply {
		status, online := "online", "1"
		if *cutOff {
			status, online = "offline", "0"
		}
		switch strings.TrimPrefix(a.path, "/api2/json") {
		case "/version":
			return ok(`{"version":"9.2.11","release":"9.2"}`)
		case "/access/permissions":
			return ok(`{"/":{"Sys.Audit":1}}`)
		case "/cluster/status":
			return ok(`[{"type":"cluster","name":"c","quorate":` + online + `},{"type":"node","name":"` + name + `","local":1,"online":1},` +
				`{"type":"node","name":"` + other + `","local":0,"online":` + online + `}]`)
		case "/cluster/resources":
			return ok(`[{"type":"node","node":"` + name + `","status":"online"},{"type":"node","node":"` + other + `","status":"` + status + `"}]`)
		}
		if *cutOff {
			return reply{status: "500 cluster not ready - no quorum?"}
		}
		return ok(`"UPID:pve1:00000EF8:000629DA:6B00B985:qmstart:100:tester@pve!full:"`)
	})
}

// TestCutOffIsNotBelieved cuts off the node at the first endpoint while that at the second has quorum. What the first reports of other nodes must be read
// again, and a write that it has rejected must not be sent again.
func TestCutOffIsNotBelieved(t *testing.T) {
	off, on := false, false
	pve1, pve2 := member(t, "pve1", "pve2", &off), member(t, "pve2", "pve1", &on)
	c := pve1.client(t, endpoints(pve1.URL, pve2.URL))
	online := func(reason string) {
		t.Helper()
		r, err := c.Resources(background())
		for _, n := range r.Nodes {
			if n.Offline() {
				t.Errorf("%s Node %s is said to be offline.", reason, n.Name)
			}
		}
		if err != nil || len(r.Nodes) != 2 {
			t.Errorf("%s Got %+v, %v", reason, r, err)
		}
	}
	online("All is well.")
	if n := pve1.count(http.MethodGet, "/api2/json/cluster/status"); n != 0 {
		t.Errorf("the quorum is not asked for while all nodes are online, got %d calls", n)
	}
	off = true
	online("What is cut off is not believed.")
	online("It is not asked again.")
	if n := pve1.count(http.MethodGet, "/api2/json/cluster/resources"); n != 2 {
		t.Errorf("want two lists of the first endpoint, got %d", n)
	}
	h, err := c.Check(background())
	if err != nil || h.Endpoint != pve2.URL || !h.Status.Quorate || !cmp.Equal(h.CutOff, []string{pve1.URL}) || len(h.Down) > 0 {
		t.Errorf("the endpoint with quorum is used, got %+v, %v", h, err)
	}
	off = false
	for range 2 {
		if h, err = c.Check(background()); err != nil || len(h.CutOff) > 0 {
			t.Errorf("it has quorum again, got %+v, %v", h, err)
		}
	}
	off = true
	if _, err := c.Start(background(), vm100); !IsUnavailable(err) {
		t.Errorf("want the refusal, got %v", err)
	}
	path := "/api2/json/nodes/pve1/qemu/100/status/start"
	if a, b := pve1.count(http.MethodPost, path), pve2.count(http.MethodPost, path); a != 1 || b != 0 {
		t.Errorf("a write is sent once, got %d and %d", a, b)
	}
	if h, err = c.Check(background()); err != nil || h.Endpoint != pve2.URL || !cmp.Equal(h.CutOff, []string{pve1.URL}) {
		t.Errorf("the check leaves it too, got %+v, %v", h, err)
	}
}

// TestNoQuorumAnywhere checks that nodes are trusted if none has quorum, and that the check reports it.
func TestNoQuorumAnywhere(t *testing.T) {
	off := true
	pve1, pve2 := member(t, "pve1", "pve2", &off), member(t, "pve2", "pve1", &off)
	c := pve1.client(t, endpoints(pve1.URL, pve2.URL))
	r, err := c.Resources(background())
	if err != nil || len(r.Nodes) != 2 || !r.Nodes[1].Offline() {
		t.Errorf("got %+v, %v", r, err)
	}
	h, err := c.Check(background())
	if err != nil || h.Endpoint != pve1.URL || h.Status.Quorate || len(h.CutOff)+len(h.Down) > 0 {
		t.Errorf("got %+v, %v", h, err)
	}
}
