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

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
	"github.com/vitistack/provider-proxmox/internal/simulator/wire"
)

// Admit answers requests that need no body, mainly those with wrong credentials.
func (s *Server) Admit(r *wire.Request) *wire.Response {
	if r.URL.Path == "/healthz" {
		return &wire.Response{Status: http.StatusOK, Type: "text/plain", Content: []byte("ok\n")}
	}
	if outsideAPI(r) {
		return s.admitControl(r)
	}
	path, ok := apiPath(r)
	if !ok {
		return plain(http.StatusNotImplemented, "no such uri")
	}
	if engine.NeedsNoTicket(r.Method, path) {
		return nil
	}
	if err := s.Authenticate(r); err != nil {
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

// Answer answers a request whose body was received.
func (s *Server) Answer(r *wire.Request) *wire.Response {
	if outsideAPI(r) {
		return s.control(r)
	}
	start := s.Clock.Now()
	path, _ := apiPath(r)
	c := &engine.Call{Engine: s.Engine, Facts: s.Facts, Local: r.Endpoint, Path: path}
	if !engine.NeedsNoTicket(r.Method, path) {
		c.Who, _ = s.Identify(r)
	}
	values, upload, err := decode(r, s.Facts.Version)
	c.Upload = upload
	if err != nil {
		return plain(http.StatusInternalServerError, err.Error())
	}
	fault := s.faults.match(r.Method, path)
	resp := s.before(r, fault)
	if resp == nil {
		s.gate.RLock()
		result, total, err := c.Perform(r, values)
		s.gate.RUnlock()
		resp = respond(r, result, attributes(total, c.Changes), err)
	}
	cut := resp.Cut || (fault != nil && fault.CutAfter) || s.reset(r.Endpoint, start)
	s.record(r, Request{
		Template: c.Template(), User: string(c.Who), Params: masked(values), Status: resp.Status, Message: resp.Reason,
		Bytes: len(resp.Content), Duration: s.Clock.Now().Sub(start), Cut: cut,
	})
	if cut {
		return &wire.Response{Cut: true}
	}
	return resp
}

// reset reports whether the node that was asked is booting, or has booted since, so that it does not answer.
func (s *Server) reset(node string, since time.Time) bool {
	out := false
	s.Update(func(st *state.State) {
		n := st.Nodes[node]
		out = n != nil && (n.Starting || n.Reset.After(since))
	})
	return out
}

// attributes returns the fields of an answer in addition to its data.
func attributes(total int, changes string) map[string]any {
	body := map[string]any{}
	if total > 0 {
		body["total"] = total
	}
	if changes != "" {
		body["changes"] = changes
	}
	return body
}

// respond writes the answer in the format that the request asks for.
func respond(r *wire.Request, result any, body map[string]any, err error) *wire.Response {
	body["data"] = result
	resp := &wire.Response{Status: http.StatusOK, Reason: "OK", Type: "application/json;charset=UTF-8"}
	if f := (&apierr.Error{}); errors.As(err, &f) && f.Bare {
		return &wire.Response{Status: f.Status, Reason: f.Message}
	}
	if err != nil {
		describe(resp, body, err)
	}
	raw, ready := result.(engine.InJSON)
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
	f := &apierr.Error{}
	if !errors.As(err, &f) {
		f = &apierr.Error{Status: http.StatusInternalServerError, Message: err.Error()}
	}
	resp.Status, resp.Reason = f.Status, f.Message
	body["data"] = nil
	body["message"] = f.Message
	if f.Status != http.StatusNotImplemented {
		body["message"] = f.Message + "\n"
	}
	if len(f.Params) > 0 {
		body["errors"] = f.Params
	}
}

// extjs moves the status to the body.
func extjs(resp *wire.Response, body map[string]any, err error) {
	body["success"] = 1
	if err != nil {
		body["success"], body["status"] = 0, resp.Status
	}
	resp.Status, resp.Reason = http.StatusOK, "OK"
}

// decode reads the parameters of query and body. Those of the query take precedence. The content of an uploaded file is returned separately.
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

// decodeForm splits a form like pveproxy: at "&" and ";". Anything after a second "=" is lost.
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

// parserLines returns the line numbers at which pveproxy fails to parse a JSON body.
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
	if rest := bytes.TrimLeft(content[dec.InputOffset():], " \t\r\n"); len(rest) > 0 {
		//nolint:revive // PVE's words.
		return errors.Errorf(`garbage after JSON object, at character offset %d (before "%s") at /usr/share/perl5/PVE/APIServer/AnyEvent.pm line %d.`,
			len(content)-len(rest), rest, lines[0])
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

// jsonValue converts numbers and lists to the texts that Perl sees.
func jsonValue(v any) any {
	switch t := v.(type) {
	case json.Number:
		return number(t)
	case []any:
		out := make([]string, 0, len(t))
		for _, item := range t {
			out = append(out, engine.First(jsonValue(item)))
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
