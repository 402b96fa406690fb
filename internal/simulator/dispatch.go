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
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/wire"
)

// call is one request while it is answered.
type call struct {
	s     *engine
	state *State
	facts *schema.Facts
	// who makes the request; empty without credentials.
	who identity
	// local is the node that took the request, node the one that answers it.
	local, node string
	// offline is true when that node is off.
	offline bool
	method  *schema.Method
	path    string
	// upload is the content of an uploaded file.
	upload []byte
	schema.Params
}

// handler is the behaviour of one method. It runs alone on the state.
type handler func(*call) (any, error)

// Admit answers requests that need no body: wrong credentials above all.
func (s *Server) Admit(r *wire.Request) *wire.Response {
	if r.URL.Path == "/healthz" {
		return &wire.Response{Status: http.StatusOK, Type: "text/plain", Content: []byte("ok\n")}
	}
	if beside(r) {
		return s.admitControl(r)
	}
	path, ok := apiPath(r)
	if !ok {
		return plain(http.StatusNotImplemented, "no such uri")
	}
	if needsNoTicket(r.Method, path) {
		return nil
	}
	if err := s.authenticate(r); err != nil {
		s.record(r, Request{Status: http.StatusUnauthorized, Message: err.Error()})
		return &wire.Response{Status: http.StatusUnauthorized, Reason: err.Error()}
	}
	return nil
}

// apiPath returns the path below the API's root, for both formatters.
func apiPath(r *wire.Request) (string, bool) {
	for _, prefix := range []string{"/api2/json", "/api2/extjs"} {
		if rest, ok := strings.CutPrefix(r.URL.Path, prefix); ok && (rest == "" || rest[0] == '/') {
			return rest, true
		}
	}
	return "", false
}

func plain(status int, message string) *wire.Response {
	return &wire.Response{Status: status, Reason: message, Content: []byte(message)}
}

// Answer answers a request whose body is there.
func (s *Server) Answer(r *wire.Request) *wire.Response {
	if beside(r) {
		return s.control(r)
	}
	start := s.clock.Now()
	path, _ := apiPath(r)
	c := &call{s: s.engine, facts: s.facts, local: r.Endpoint, path: path}
	if !needsNoTicket(r.Method, path) {
		c.who, _ = s.identify(r)
	}
	values, upload, err := decode(r, s.facts.Version)
	c.upload = upload
	if err != nil {
		return plain(http.StatusInternalServerError, err.Error())
	}
	fault := s.faults.match(r.Method, path)
	resp := s.before(r, fault)
	if resp == nil {
		s.gate.RLock()
		result, total, err := c.perform(r, values)
		s.gate.RUnlock()
		resp = respond(r, result, total, err)
	}
	cut := resp.Cut || (fault != nil && fault.CutAfter)
	s.record(r, Request{
		Template: c.template(), User: string(c.who), Params: masked(values), Status: resp.Status, Message: resp.Reason,
		Bytes: len(resp.Content), Duration: s.clock.Now().Sub(start), Cut: cut,
	})
	if cut {
		return &wire.Response{Cut: true}
	}
	return resp
}

func (c *call) template() string {
	if c.method != nil {
		return c.method.Path
	}
	return ""
}

// perform finds, checks and runs the method. Locks are waited for and tasks are started outside of the state's lock.
func (c *call) perform(r *wire.Request, values schema.Values) (any, int, error) {
	var result any
	err := c.prepare(r.Method, values)
	if err == nil {
		err = c.connect(r)
	}
	if err == nil {
		result, err = c.handle()
	}
	for err == nil {
		switch t := result.(type) {
		case *spawned:
			c.s.run(t)
			return t.task.UPID, 0, nil
		case *locked:
			result, err = t.run(c)
		case outside:
			result, err = t()
		case page:
			return t.data, t.total, nil
		default:
			return result, 0, nil
		}
	}
	return nil, 0, err
}

// handle runs the method's behaviour.
func (c *call) handle() (any, error) {
	h := c.s.routes[c.method.Verb+" "+c.method.Path]
	if h == nil {
		return nil, notSimulated(c.method.Verb, c.path)
	}
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.state = c.s.state
	c.s.collect()
	return h(c)
}

// locked is the result of a call that must hold a guest's lock.
type locked struct {
	vmid int
	wait time.Duration
	then handler
}

func (l *locked) run(c *call) (any, error) {
	var out any
	err := c.s.withLock(c.s.ctx, l.vmid, exclusive, l.wait, func() error {
		c.s.mu.Lock()
		defer c.s.mu.Unlock()
		var err error
		out, err = l.then(c)
		return err
	})
	return out, err
}

// page is a list with the number of all its entries.
type page struct {
	data  any
	total int
}

// prepare finds the method and checks permissions and parameters, in PVE's order.
func (c *call) prepare(verb string, values schema.Values) error {
	match, ok := c.facts.Find(verb, c.path)
	if !ok {
		return &failure{status: http.StatusNotImplemented, message: "Method '" + verb + " " + c.path + "' not implemented"}
	}
	c.method = match.Method
	known := map[string]string{}
	for name, v := range values {
		known[name] = first(v)
	}
	for name, v := range match.Values {
		if given, dup := values[name]; dup && first(given) != v {
			return paramError(name, "duplicate parameter (already defined in URI) with conflicting values!")
		}
		values[name], known[name] = v, v
	}
	if err := c.admitted(known); err != nil {
		return err
	}
	if c.offline {
		return nil
	}
	var wrong schema.Errors
	if c.Params, wrong = c.facts.Check(c.method, values); len(wrong) > 0 {
		return paramErrors(wrong)
	}
	return nil
}

// admitted makes the checks that come before those of the parameters.
func (c *call) admitted(params map[string]string) error {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.state = c.s.state
	if c.method.NoToken && c.who.token() != "" {
		return forbidden("URI '" + c.path + "' not available with API token, need proper ticket.\n")
	}
	if err := c.permitted(c.method, params); err != nil {
		return err
	}
	if c.state.NoQuorum && c.method.Verb != http.MethodGet && c.method.Path != "/access/ticket" {
		return die("cluster not ready - no quorum?")
	}
	return c.reach(params[c.method.ProxyTo])
}

// statusNoRoute is what the node that proxies a request answers when the other one is not there.
const statusNoRoute = 595

// statusProxyTLS is what a node answers when it proxies a request to a name that is somebody's, but no member's: it knows no
// certificate for it. The body is empty.
const statusProxyTLS = 596

// resolves reports whether a name that is no member's is still a node's: its address, or its name in other letters.
func (st *State) resolves(name string) bool {
	for _, n := range st.Nodes {
		if strings.EqualFold(n.Name, name) || n.Address == name {
			return true
		}
		for _, i := range n.Interfaces {
			if address, _, ok := strings.Cut(i.CIDR, "/"); ok && address == name {
				return true
			}
		}
	}
	return false
}

// reach finds the node that answers. Its parameters are checked there, so that one that is off refuses nothing.
func (c *call) reach(node string) error {
	c.node = c.local
	if node == "" || node == "localhost" {
		return nil
	}
	c.node = node
	n := c.state.Nodes[node]
	if n == nil && c.state.resolves(node) {
		return &failure{status: statusProxyTLS, message: "error:0A000086:SSL routines::certificate verify failed", bare: true}
	}
	if n == nil {
		return die("hostname lookup '%s' failed - failed to get address info for: %s: Temporary failure in name resolution", node, node)
	}
	c.offline = n.Offline
	return nil
}

// connect fails when the node that answers is off; the node that was asked notices after a while.
func (c *call) connect(r *wire.Request) error {
	if !c.offline {
		return nil
	}
	if !c.s.instant() {
		select {
		case <-c.s.clock.After(c.s.scale(c.s.duration("offline"))):
		case <-r.Context().Done():
		}
	}
	return &failure{status: statusNoRoute, message: "No route to host", bare: true}
}

func first(v any) string {
	switch t := v.(type) {
	case string:
		return t
	case []string:
		return strings.Join(t, ",")
	case bool:
		if t {
			return "1"
		}
		return "0"
	}
	return ""
}

// respond writes the answer in the format that the request asks for.
func respond(r *wire.Request, result any, total int, err error) *wire.Response {
	body := map[string]any{"data": result}
	resp := &wire.Response{Status: http.StatusOK, Reason: "OK", Type: "application/json;charset=UTF-8"}
	if total > 0 {
		body["total"] = total
	}
	if f := (&failure{}); errors.As(err, &f) && f.bare {
		return &wire.Response{Status: f.status, Reason: f.message}
	}
	if err != nil {
		describe(resp, body, err)
	}
	raw, ready := result.(inJSON)
	if ready && err == nil && !strings.HasPrefix(r.URL.Path, "/api2/extjs") {
		resp.Content = slices.Concat([]byte(`{"data":`), raw, []byte("}"))
		return resp
	}
	if ready && err == nil {
		body["data"] = json.RawMessage(raw)
	}
	if strings.HasPrefix(r.URL.Path, "/api2/extjs") {
		extjs(resp, body, err)
	}
	buffer := &bytes.Buffer{}
	enc := json.NewEncoder(buffer)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(body); err != nil {
		return plain(http.StatusInternalServerError, err.Error())
	}
	resp.Content = bytes.TrimSuffix(buffer.Bytes(), []byte("\n"))
	return resp
}

func describe(resp *wire.Response, body map[string]any, err error) {
	f := &failure{}
	if !errors.As(err, &f) {
		f = &failure{status: http.StatusInternalServerError, message: err.Error()}
	}
	resp.Status, resp.Reason = f.status, f.message
	body["data"] = nil
	body["message"] = f.message
	if f.status != http.StatusNotImplemented {
		body["message"] = f.message + "\n"
	}
	if len(f.params) > 0 {
		body["errors"] = f.params
	}
}

// extjs moves the status into the body.
func extjs(resp *wire.Response, body map[string]any, err error) {
	body["success"] = 1
	if err != nil {
		body["success"], body["status"] = 0, resp.Status
	}
	resp.Status, resp.Reason = http.StatusOK, "OK"
}

// decode reads the parameters of query and body; those of the query win. The content of an uploaded file comes apart.
func decode(r *wire.Request, version string) (schema.Values, []byte, error) {
	values, upload := schema.Values{}, []byte(nil)
	var err error
	kind := r.Header.Get("Content-Type")
	switch {
	case r.Method == http.MethodGet || r.Method == http.MethodDelete:
	case strings.HasPrefix(kind, "application/json"):
		err = decodeJSON(r.Content, values, parserLines(version))
	case strings.HasPrefix(kind, "multipart/form-data"):
		upload, err = decodeMultipart(r, values)
	default:
		decodeForm(string(r.Content), values)
	}
	query := schema.Values{}
	decodeForm(r.URL.RawQuery, query)
	maps.Copy(values, query)
	delete(values, "_dc")
	return values, upload, err
}

// decodeForm splits a form as pveproxy does: at "&" and ";", and what follows a second "=" is lost.
func decodeForm(form string, into schema.Values) {
	for _, pair := range strings.FieldsFunc(form, func(r rune) bool { return r == '&' || r == ';' }) {
		parts := strings.Split(pair, "=")
		name := unescape(parts[0])
		value := ""
		if len(parts) > 1 {
			value = unescape(parts[1])
		}
		switch old := into[name].(type) {
		case string:
			into[name] = []string{old, value}
		case []string:
			into[name] = append(old, value)
		default:
			into[name] = value
		}
	}
}

func unescape(s string) string {
	if out, err := url.QueryUnescape(s); err == nil {
		return out
	}
	return s
}

// parserLines are the lines of pveproxy in which it fails to read a JSON body.
func parserLines(version string) [2]int {
	if version == "8.4" {
		return [2]int{917, 957}
	}
	return [2]int{934, 978}
}

func decodeJSON(content []byte, into schema.Values, lines [2]int) error {
	var raw any
	dec := json.NewDecoder(bytes.NewReader(content))
	dec.UseNumber()
	if err := dec.Decode(&raw); err != nil {
		return errors.Errorf("malformed JSON string, neither tag, array, object, number, string or atom, at character offset %d "+
			`(before "(end of string)") at /usr/share/perl5/PVE/APIServer/AnyEvent.pm line %d.`, len(content), lines[0])
	}
	object, ok := raw.(map[string]any)
	if !ok {
		return errors.Errorf("Not a HASH reference at /usr/share/perl5/PVE/APIServer/AnyEvent.pm line %d.", lines[1]) //nolint:revive // PVE's words.
	}
	for name, v := range object {
		into[name] = jsonValue(v)
	}
	return nil
}

// jsonValue turns numbers and lists into the texts that Perl sees.
func jsonValue(v any) any {
	switch t := v.(type) {
	case json.Number:
		return number(t)
	case []any:
		out := make([]string, 0, len(t))
		for _, item := range t {
			out = append(out, first(jsonValue(item)))
		}
		return out
	}
	return v
}

// number writes a JSON number as Perl prints it: 1.0 is 1.
func number(n json.Number) string {
	if i, _, ok := strings.Cut(n.String(), "."); ok && strings.Trim(n.String()[len(i)+1:], "0") == "" {
		return i
	}
	return n.String()
}
