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
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	telmate "github.com/Telmate/proxmox-api-go/proxmox"
	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/google/go-cmp/cmp"

	"github.com/vitistack/provider-proxmox/internal/proxmox/transport"
)

// everyCall returns all calls of a Client.
func everyCall() map[string]func(context.Context, *Client) error {
	return map[string]func(context.Context, *Client) error{
		"Version":        func(ctx context.Context, c *Client) error { _, err := c.Version(ctx); return err },
		"Nodes":          func(ctx context.Context, c *Client) error { _, err := c.Nodes(ctx); return err },
		"Guests":         func(ctx context.Context, c *Client) error { _, err := c.Guests(ctx); return err },
		"Storages":       func(ctx context.Context, c *Client) error { _, err := c.Storages(ctx); return err },
		"Bridges":        func(ctx context.Context, c *Client) error { _, err := c.Bridges(ctx, "pve1"); return err },
		"ClusterOptions": func(ctx context.Context, c *Client) error { _, err := c.ClusterOptions(ctx); return err },
		"NodeConfig":     func(ctx context.Context, c *Client) error { _, err := c.NodeConfig(ctx, "pve1"); return err },
		"NodeDNS":        func(ctx context.Context, c *Client) error { _, err := c.NodeDNS(ctx, "pve1"); return err },
		"NodeTimeZone":   func(ctx context.Context, c *Client) error { _, err := c.NodeTimeZone(ctx, "pve1"); return err },
		"NodeStatus":     func(ctx context.Context, c *Client) error { _, err := c.NodeStatus(ctx, "pve1"); return err },
		"Fingerprints":   func(ctx context.Context, c *Client) error { _, err := c.Fingerprints(ctx); return err },
		"PCIMappings":    func(ctx context.Context, c *Client) error { _, err := c.PCIMappings(ctx); return err },
		"VNets":          func(ctx context.Context, c *Client) error { _, err := c.VNets(ctx); return err },
		"Zones":          func(ctx context.Context, c *Client) error { _, err := c.Zones(ctx); return err },
		"HAResources":    func(ctx context.Context, c *Client) error { _, err := c.HAResources(ctx); return err },
		"HAStatus":       func(ctx context.Context, c *Client) error { _, err := c.HAStatus(ctx); return err },
		"ClusterStatus":  func(ctx context.Context, c *Client) error { _, err := c.ClusterStatus(ctx); return err },
		"Permissions":    func(ctx context.Context, c *Client) error { _, err := c.Permissions(ctx, ""); return err },
		"Config":         func(ctx context.Context, c *Client) error { _, err := c.Config(ctx, vm100); return err },
		"Pending":        func(ctx context.Context, c *Client) error { _, err := c.Pending(ctx, vm100); return err },
		"Status":         func(ctx context.Context, c *Client) error { _, err := c.Status(ctx, vm100); return err },
		"Interfaces":     func(ctx context.Context, c *Client) error { _, err := c.Interfaces(ctx, vm100); return err },
		"Task":           func(ctx context.Context, c *Client) error { _, err := c.Task(ctx, startUPID); return err },
		"TaskLog":        func(ctx context.Context, c *Client) error { _, err := c.TaskLog(ctx, startUPID, 5); return err },
		"EndedTasks": func(ctx context.Context, c *Client) error {
			_, err := c.EndedTasks(ctx, "pve1", time.Time{})
			return err
		},
		"OwnTasks": func(ctx context.Context, c *Client) error { _, err := c.OwnTasks(ctx, "pve1"); return err },
		"Tasks":    func(ctx context.Context, c *Client) error { _, err := c.Tasks(ctx); return err },
		"Start":    func(ctx context.Context, c *Client) error { _, err := c.Start(ctx, vm100); return err },
		"Configure": func(ctx context.Context, c *Client) error {
			return c.Configure(ctx, vm100, Change{Set: Params{"cores": "1"}})
		},
	}
}

// FuzzAnswer gives every call any answer. No call may panic, fail with anything except an *Error in one line, or take an invalid answer for success.
func FuzzAnswer(f *testing.F) {
	for _, body := range []string{
		``, `null`, `{}`, `[]`, `{"data":null}`, `{"data":[]}`, `{"data":{}}`, `{"data":[{}]}`, `{"data":"x"}`, `{"data":[[]]}`,
		`{"data":"` + startUPID + `"}`, `{"data":{"result":[{"name":"lo","ip-addresses":[{}]}]}}`, `{"data":{"n":1,"t":"x"},"total":1}`,
		`{"message":5,"errors":{"a":{}}}`, `{"errors":"x","message":"a\n"}`, `{"data":[{"vmid":"1e9","tags":" ","ha":0}]}`, "\xff\xfe", `<html>`,
	} {
		f.Add(200, "200 OK", body)
		f.Add(500, "500 nothing works", body)
	}
	f.Fuzz(func(t *testing.T, code int, status, body string) {
		if code < 100 || code > 999 {
			return
		}
		c := offline(t, func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: code, Status: status, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
		})
		for name, call := range everyCall() {
			err := call(background(), c)
			if err == nil && (code < 200 || code > 299 || !isObject([]byte(body))) {
				t.Errorf("%s: success with status %d and body %q", name, code, body)
			}
			var e *Error
			if err != nil && (!errors.As(err, &e) || strings.ContainsAny(err.Error(), "\r\n")) {
				t.Errorf("%s: got %T %q, want an *Error in one line", name, err, err)
			}
		}
	})
}

func TestDecodeData(t *testing.T) {
	cases := map[string]struct {
		reason, body string
		optional     bool
		want         []string
		fails        bool
	}{
		"List":     {reason: "A list is decoded.", body: `{"data":["a"]}`, want: []string{"a"}},
		"Later":    {reason: "What comes beside the data is passed over.", body: `{"total":1,"data":["a"],"success":1}`, want: []string{"a"}},
		"Null":     {reason: "A read that brings nothing is no empty list.", body: `{"data":null}`, fails: true},
		"Missing":  {reason: "A read without data is no empty list.", body: `{"success":1}`, fails: true},
		"Optional": {reason: "A write may bring nothing.", body: `{"data":null}`, optional: true},
		"Broken":   {reason: "What is cut off is an error.", body: `{"data":["a"`, fails: true},
		"Other":    {reason: "What is no list is an error.", body: `{"data":"a"}`, fails: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got list[string]
			err := decodeData([]byte(tc.body), &got, tc.optional)
			if diff := cmp.Diff(tc.want, []string(got)); diff != "" || (err != nil) != tc.fails {
				t.Errorf("%s\n-want, +got:\n%s\n%v", tc.reason, diff, err)
			}
		})
	}
}

// offline returns a Client whose requests are passed to a function.
func offline(t testing.TB, answer func(*http.Request) (*http.Response, error)) *Client {
	t.Helper()
	c, err := New(Config{Endpoints: []string{"https://pve"}, Credentials: tokenCredentials()})
	if err != nil {
		t.Fatal(err)
	}
	c.http.Transport = transport.Normalise(roundTripper(answer))
	return c
}

func TestPanicsBecomeErrors(t *testing.T) {
	for name, call := range everyCall() {
		t.Run(name, func(t *testing.T) {
			c := offline(t, func(*http.Request) (*http.Response, error) { panic("boom " + tokenSecret) })
			err := call(background(), c)
			if ClassOf(err) != ClassUnknown {
				t.Errorf("got %v, want an error of no particular class", err)
			}
			hides(t, err.Error())
		})
	}
}

// TestLibraryPanicBecomesError makes the library itself panic in a call, as it does for errors in an unexpected form. No answer is known that causes this
// behind our transport, so the library gets one that did not pass the transport.
func TestLibraryPanicBecomesError(t *testing.T) {
	answered := false
	c := offline(t, func(*http.Request) (*http.Response, error) { return nil, errors.New("not asked") })
	lib, err := telmate.NewClient(transport.Root().String(), &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		answered = true
		body := `{"errors":"` + tokenSecret + `"}`
		return &http.Response{Status: "400 Bad Request", StatusCode: http.StatusBadRequest, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
	})}, "", nil, "", 0, false)
	if err != nil {
		t.Fatal(err)
	}
	lib.Username = "tester@pve"
	c.library = lib.New()
	err = c.CreateObject(background(), Collection{Noun: "pool", Path: poolsPath, Key: "poolid"}, "a", nil)
	if !answered || ClassOf(err) != ClassUnknown {
		t.Fatalf("got %v, want an error of no particular class after an answer, which was given: %t", err, answered)
	}
	hides(t, err.Error())
}

func TestConcurrentUse(t *testing.T) {
	pve := newTicketPVE(t)
	c := pve.client(t, withPassword(newManualClock()))
	var wg sync.WaitGroup
	for range 3 {
		for name, call := range everyCall() {
			wg.Go(func() {
				// The answer does not fit most calls. This test is for the race detector.
				if err := call(background(), c); err != nil && ClassOf(err) != ClassUnknown {
					t.Errorf("%s: %v", name, err)
				}
			})
		}
	}
	wg.Wait()
}
