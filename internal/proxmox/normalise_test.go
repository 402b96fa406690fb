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
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func contentLength(line string) int {
	var n int
	if _, err := fmt.Sscanf(strings.ToLower(line), "content-length: %d", &n); err != nil {
		return 0
	}
	return n
}

func TestWireFormat(t *testing.T) {
	cases := map[string]struct {
		reason string
		call   func(*Client)
		has    []string
		hasNot []string
	}{
		"Get": {
			reason: "PVE refuses a GET with a body.",
			call:   func(c *Client) { _, _ = c.Config(background(), vm100) },
			has:    []string{"GET /api2/json/nodes/pve1/qemu/100/config HTTP/1.1\r\n", "Accept: application/json\r\n"},
			hasNot: []string{"Content-Length", "Content-Type", "Transfer-Encoding"},
		},
		"Delete": {
			reason: "PVE refuses a DELETE with a body.",
			call:   func(c *Client) { _, _ = c.Delete(background(), vm100, DeleteOptions{Purge: true}) },
			has:    []string{"DELETE /api2/json/nodes/pve1/qemu/100?purge=1 HTTP/1.1\r\n"},
			hasNot: []string{"Content-Length", "Content-Type", "Transfer-Encoding", "destroy-unreferenced-disks"},
		},
		"Empty": {
			reason: "A POST without parameters has a length all the same.",
			call:   func(c *Client) { _, _ = c.Start(background(), vm100) },
			has:    []string{"POST /api2/json/nodes/pve1/qemu/100/status/start HTTP/1.1\r\n", "Content-Length: 0\r\n"},
			hasNot: []string{"Transfer-Encoding", "application/json\r\nContent-Length"},
		},
		"Form": {
			reason: "A semicolon would split the form.",
			call: func(c *Client) {
				_ = c.Configure(background(), vm100, Change{Set: Params{"tags": "a;b", "description": "x&y=ü"}})
			},
			has: []string{
				"PUT /api2/json/nodes/pve1/qemu/100/config HTTP/1.1\r\n", "Content-Type: application/x-www-form-urlencoded\r\n", "tags=a%3Bb",
				"description=x%26y%3D%C3%BC",
			},
			hasNot: []string{"Transfer-Encoding"},
		},
		"Path": {
			reason: "A UPID is one part of the path.",
			call: func(c *Client) {
				_, _ = c.Task(background(), "UPID:pve1:00000EF8:000629DA:6B00B985:qmstart:100:tester@pve!full:")
			},
			has: []string{"GET /api2/json/nodes/pve1/tasks/UPID:pve1:00000EF8:000629DA:6B00B985:qmstart:100:tester@pve%21full:/status HTTP/1.1\r\n"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			raw := rawRequest(t, tc.call)
			for _, s := range tc.has {
				if !strings.Contains(raw, s) {
					t.Errorf("%s\nwant %q in:\n%s", tc.reason, s, raw)
				}
			}
			for _, s := range tc.hasNot {
				if strings.Contains(raw, s) {
					t.Errorf("%s\ndo not want %q in:\n%s", tc.reason, s, raw)
				}
			}
		})
	}
}

// TestWriteDoesNotRepeat checks that a write is not sent again if there is no well-formed answer.
func TestWriteDoesNotRepeat(t *testing.T) {
	replies := map[string]reply{
		"Cut":     {cut: true},
		"Short":   {status: "200 OK", body: "{", short: true},
		"NotJSON": {status: "200 OK", body: "<html>"},
		"Empty":   {status: "500 no body"},
		"Text":    {status: "500 x", body: "some text"},
		"596":     {status: "596 lost"},
	}
	for name, r := range replies {
		t.Run(name, func(t *testing.T) {
			pve := fixed(t, r)
			_, err := pve.client(t).Start(background(), vm100)
			if err == nil {
				t.Error("got success")
			}
			if n := len(pve.asked()); n != 1 {
				t.Errorf("requests: got %d, want 1", n)
			}
		})
	}
}

func TestAnswerOfAnotherShape(t *testing.T) {
	cases := map[string]string{
		"List":      `[]`,
		"Result":    `{"result":{"error":"x"}}`,
		"Text":      `{"result":"x"}`,
		"Interface": `{"result":["lo"]}`,
		"Null":      `null`,
	}
	for name, data := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := fixed(t, ok(data)).client(t).Interfaces(background(), vm100)
			if ClassOf(err) != ClassUnknown || !strings.HasSuffix(err.Error(), "unexpected answer") {
				t.Errorf("got %v, want an unexpected answer", err)
			}
		})
	}
}

func TestRedirectIsNotFollowed(t *testing.T) {
	elsewhere := fixed(t, ok(`{"version":"9.2.11"}`))
	pve := fixed(t, reply{status: "302 Found", header: "Location: " + elsewhere.URL + "/api2/json/version\r\n"})
	if _, err := pve.client(t, func(c *Config) { c.TLS = TLS{InsecureSkipVerify: true} }).Version(background()); err == nil {
		t.Error("got success, want an error")
	}
	if n := len(elsewhere.asked()); n != 0 {
		t.Errorf("the token went elsewhere %d times", n)
	}
}

func TestObserve(t *testing.T) {
	pve := newTicketPVE(t)
	var mu sync.Mutex
	var got []Call
	c := pve.client(t, withPassword(newManualClock()), func(cfg *Config) {
		cfg.Observe = func(call Call) { mu.Lock(); defer mu.Unlock(); got = append(got, call) }
	})
	if err := c.Configure(background(), vm100, Change{Delete: []string{"cores"}}); err != nil {
		t.Fatal(err)
	}
	pve.Close()
	if _, err := c.Config(background(), vm100); err == nil {
		t.Fatal("got an answer of a server that is gone")
	}
	want := []Call{
		{Method: http.MethodPost, Path: "/access/ticket", Status: 200},
		{Method: http.MethodPut, Path: "/nodes/{node}/qemu/{vmid}/config", Status: 200},
		{Method: http.MethodGet, Path: "/nodes/{node}/qemu/{vmid}/config"},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Call{}, "Duration")); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

func TestConcurrencyLimit(t *testing.T) {
	var now, peak atomic.Int64
	reached := make(chan struct{}, 10)
	release := make(chan struct{})
	pve := newFakePVE(t, func(asked) reply {
		n := now.Add(1)
		defer now.Add(-1)
		for p := peak.Load(); n > p; p = peak.Load() {
			if peak.CompareAndSwap(p, n) {
				break
			}
		}
		reached <- struct{}{}
		<-release
		return ok(`{"version":"9.2.11"}`)
	})
	c := pve.client(t, func(cfg *Config) { cfg.Limits.Concurrency = 2 })
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			if _, err := c.Version(background()); err != nil {
				t.Error(err)
			}
		})
	}
	<-reached
	<-reached
	ctx, cancel := context.WithTimeout(background(), 50*time.Millisecond)
	defer cancel()
	if _, err := c.Start(ctx, vm100); !IsUnavailable(err) || IsOutcomeUnknown(err) {
		t.Errorf("a call without a slot: got %v, want unavailable and not sent", err)
	}
	close(release)
	wg.Wait()
	if peak.Load() != 2 {
		t.Errorf("requests at once: got %d, want 2", peak.Load())
	}
}

func TestRateLimit(t *testing.T) {
	pve := fixed(t, ok(`{"version":"9.2.11"}`))
	c := pve.client(t, func(cfg *Config) { cfg.Limits = Limits{PerSecond: 0.001, Burst: 3} })
	for range 3 {
		if _, err := c.Version(background()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Version(background()); !IsUnavailable(err) {
		t.Errorf("beyond the burst: got %v, want unavailable", err)
	}
	if n := len(pve.asked()); n != 3 {
		t.Errorf("requests: got %d, want 3", n)
	}
}
