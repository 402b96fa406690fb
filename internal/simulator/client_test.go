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

package simulator_test

import (
	"bufio"
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
)

// client uses a server at the level of HTTP, so that tests see status lines and bodies unchanged.
type client struct {
	t      *testing.T
	server *simulator.Server
	header map[string]string
	node   string // the address of the node that is asked, if not the first one's
}

// answer is the answer to a request.
type answer struct {
	// Line is the status line without the protocol.
	Line    string
	Data    any               `json:"data"`
	Errors  map[string]string `json:"errors"`
	Message string            `json:"message"`
	Total   int               `json:"total"`
	// Body is the body as text.
	Body string `json:"-"`
}

func (c *client) with(name, value string) *client {
	out := &client{t: c.t, server: c.server, header: maps.Clone(c.header), node: c.node}
	out.header[name] = value
	return out
}

func connect(t *testing.T, s *simulator.Server) *client {
	t.Helper()
	c := &client{t: t, server: s, header: map[string]string{}}
	return c.with("Authorization", "PVEAPIToken="+simulatortest.TestToken+"="+simulatortest.TestSecret)
}

// do sends a request such as "POST /nodes/pve1/qemu" with parameters "vmid=100", as a form or in the query.
func (c *client) do(request string, params ...string) answer {
	c.t.Helper()
	verb, path, _ := strings.Cut(request, " ")
	form := url.Values{}
	for _, p := range params {
		k, v, _ := strings.Cut(p, "=")
		form.Add(k, v)
	}
	body := ""
	if verb == http.MethodGet || verb == http.MethodDelete {
		if len(form) > 0 {
			path += "?" + form.Encode()
		}
	} else {
		body = form.Encode()
	}
	return c.send(verb, path, "application/x-www-form-urlencoded", body)
}

func (c *client) send(verb, path, kind, body string) answer {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), verb, cmp.Or(c.node, c.server.URL())+"/api2/json"+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", kind)
	}
	for k, v := range c.header {
		req.Header.Set(k, v)
	}
	return c.exchange(req)
}

func (c *client) exchange(req *http.Request) answer {
	c.t.Helper()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(c.server.CA())
	conn, err := (&tls.Dialer{Config: &tls.Config{
		RootCAs: pool, MinVersion: tls.VersionTLS12, CurvePreferences: quickCurve(),
	}}).DialContext(c.t.Context(), "tcp", req.URL.Host)
	if err != nil {
		c.t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // A test's connection.
	req.Close = true
	if err := req.Write(conn); err != nil {
		c.t.Fatal(err)
	}
	reader := bufio.NewReader(conn)
	resp, err := http.ReadResponse(reader, req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close() //nolint:errcheck // A test's connection.
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	out := answer{Line: resp.Status, Body: string(raw)}
	_ = json.Unmarshal(raw, &out) // Not every body is JSON.
	return out
}

// ok sends a request that must succeed.
func (c *client) ok(request string, params ...string) answer {
	c.t.Helper()
	a := c.do(request, params...)
	if a.Line != "200 OK" {
		c.t.Fatalf("%s %v: %s %s", request, params, a.Line, a.Body)
	}
	return a
}

// task sends a request that starts a task and returns the task's exit status.
func (c *client) task(request string, params ...string) string {
	c.t.Helper()
	upid, _ := c.ok(request, params...).Data.(string)
	for _, t := range c.server.Tasks() {
		if t.UPID == upid {
			return t.Exit
		}
	}
	c.t.Fatalf("%s %v: no task %q", request, params, upid)
	return ""
}

// config reads a configuration.
func (c *client) config(path string) map[string]any {
	c.t.Helper()
	out, _ := c.ok("GET " + path + "/config").Data.(map[string]any)
	return out
}

// quickCurve returns a curve with a fast key exchange, because each request has a separate connection.
func quickCurve() []tls.CurveID { return []tls.CurveID{tls.X25519} }
