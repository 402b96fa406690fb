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
	"crypto/subtle"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	frontpage "github.com/vitistack/provider-proxmox/internal/simulator/page"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
	"github.com/vitistack/provider-proxmox/internal/simulator/wire"
)

// controlPath is the path of the control API. Proxmox VE does not use it.
const controlPath = "/_simulator/"

// outsideAPI reports whether a request is for a part of the simulator outside the API of Proxmox VE.
func outsideAPI(r *wire.Request) bool {
	return (r.URL.Path == "/" && r.Method == http.MethodGet) || strings.HasPrefix(r.URL.Path, controlPath)
}

// admitControl rejects clients that may not control the server. The page and the certificate are public.
func (s *Server) admitControl(r *wire.Request) *wire.Response {
	if r.URL.Path == "/" || r.URL.Path == controlPath+"ca.crt" {
		return nil
	}
	if err := s.mayControl(r); err != nil {
		return refusal(http.StatusForbidden, err)
	}
	return nil
}

// mayControl requires the token if there is one, and otherwise a client on this machine. It rejects requests that pages of other sites make in a user's
// browser.
func (s *Server) mayControl(r *wire.Request) error {
	if origin := r.Header.Get("Origin"); origin != "" && origin != "https://"+r.Host {
		return errors.New("the control API takes no requests from other sites' pages")
	}
	if want := s.options.ControlToken; want != "" {
		got, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if subtle.ConstantTimeCompare([]byte(got), []byte(want)) != 1 {
			return errors.New("the control API needs its token: Authorization: Bearer TOKEN")
		}
		return nil
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
		return errors.New("the control API without a token answers on loopback alone")
	}
	return nil
}

// controlRoutes returns the page and the methods of the control API.
func (s *Server) controlRoutes() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(frontpage.HTML())
	})
	mux.HandleFunc("GET "+controlPath+"ca.crt", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-pem-file")
		_, _ = w.Write(s.CA())
	})
	for pattern, m := range map[string]controlMethod{
		"GET state":              s.controlState,
		"GET requests":           s.controlRequests,
		"GET counts":             s.controlCounts,
		"DELETE requests":        func(*http.Request) (any, error) { s.ClearRequests(); return nil, nil },
		"GET faults":             func(*http.Request) (any, error) { return s.faultList(), nil },
		"POST faults":            s.addFault,
		"DELETE faults":          func(*http.Request) (any, error) { s.ClearFaults(); return nil, nil },
		"DELETE faults/{number}": s.removeFault,
		"PUT nodes/{node}":       s.setNode,
		"PUT quorum":             s.setQuorum,
		"PUT files/{node}/{storage}/{content}/{name}": s.putFile,
		"POST backup-jobs/{id}/run":                   s.controlBackupJob,
		"POST reset":                                  func(*http.Request) (any, error) { return nil, s.Reset() },
	} {
		verb, path, _ := strings.Cut(pattern, " ")
		mux.Handle(verb+" "+controlPath+path, m)
	}
	return mux
}

// A controlMethod is a method of the control API. Its result is the body of the answer. nil is an empty object.
type controlMethod func(*http.Request) (any, error)

// ServeHTTP answers with JSON.
func (m controlMethod) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	result, err := m(r)
	status := http.StatusOK
	if err != nil {
		status, result = http.StatusBadRequest, map[string]string{"error": err.Error()}
		if errors.Is(err, errUnknown) {
			status = http.StatusNotFound
		}
	}
	if result == nil {
		result = struct{}{}
	}
	w.Header().Set("Content-Type", "application/json")
	content, err := json.Marshal(result)
	if err != nil {
		status = http.StatusInternalServerError
	}
	w.WriteHeader(status)
	_, _ = w.Write(append(content, '\n'))
}

// errUnknown is the error for a path that names an unknown object.
var errUnknown = errors.New("there is no such thing")

func refusal(status int, err error) *wire.Response {
	w := &recorder{header: http.Header{}}
	controlMethod(func(*http.Request) (any, error) { return nil, err }).ServeHTTP(w, nil)
	return &wire.Response{Status: status, Type: w.header.Get("Content-Type"), Content: w.content.Bytes()}
}

// control answers a request for the page or the control API.
func (s *Server) control(r *wire.Request) *wire.Response {
	w := &recorder{header: http.Header{}, status: http.StatusOK}
	request := r.Clone(r.Context())
	request.Body = io.NopCloser(bytes.NewReader(r.Content))
	s.controls.ServeHTTP(w, request)
	return &wire.Response{
		Status: w.status, Type: w.header.Get("Content-Type"), Location: w.header.Get("Location"), Content: w.content.Bytes(),
	}
}

// A recorder stores what a handler writes.
type recorder struct {
	header  http.Header
	status  int
	content bytes.Buffer
}

// Header returns the header to set.
func (w *recorder) Header() http.Header { return w.header }

// Write stores content.
func (w *recorder) Write(p []byte) (int, error) { return w.content.Write(p) }

// WriteHeader stores the status.
func (w *recorder) WriteHeader(status int) { w.status = status }

// body reads a JSON object. Its values become texts.
func body(r *http.Request) (map[string]string, error) {
	raw := map[string]any{}
	dec := json.NewDecoder(r.Body)
	dec.UseNumber()
	if err := dec.Decode(&raw); err != nil {
		return nil, errors.Wrap(err, "cannot read the body, want a JSON object")
	}
	out := map[string]string{}
	for name, v := range raw {
		switch t := v.(type) {
		case string:
			out[name] = t
		case json.Number:
			out[name] = t.String()
		case bool:
			out[name] = strconv.FormatBool(t)
		default:
			return nil, errors.Errorf("cannot use %q: want a text, a number, true or false", name)
		}
	}
	return out, nil
}

// boolean reads a JSON object with one boolean field.
func boolean(r *http.Request, name string) (bool, error) {
	values, err := body(r)
	if err != nil {
		return false, err
	}
	return only(values, name)
}

// only returns the only field of an object, which is a boolean.
func only(values map[string]string, name string) (bool, error) {
	if on, err := strconv.ParseBool(values[name]); err == nil && len(values) == 1 {
		return on, nil
	}
	return false, errors.Errorf(`want {"%s": true} or {"%s": false}`, name, name)
}

func (s *Server) addFault(r *http.Request) (any, error) {
	settings, err := body(r)
	if err != nil {
		return nil, err
	}
	f, err := newFault(settings)
	if err != nil {
		return nil, err
	}
	return map[string]int{"number": s.faults.add(f)}, nil
}

func (s *Server) removeFault(r *http.Request) (any, error) {
	number, err := strconv.Atoi(r.PathValue("number"))
	if err != nil || !s.faults.remove(number) {
		return nil, errors.Wrapf(errUnknown, "cannot find fault %q", r.PathValue("number"))
	}
	return nil, nil
}

// faultList lists the faults in force, oldest first.
func (s *Server) faultList() []map[string]any {
	out := []map[string]any{}
	for _, f := range s.Faults() {
		out = append(out, map[string]any{
			"number": f.Number, "fault": f.String(), "settings": f.settings(), "matched": f.Matched, "hit": f.Hit,
		})
	}
	return out
}

// setNode removes a node from the cluster, either as one that is off or as one that is cut off from the others and keeps running, or brings it back.
func (s *Server) setNode(r *http.Request) (any, error) {
	values, err := body(r)
	if err != nil {
		return nil, err
	}
	name, field := r.PathValue("node"), "online"
	if values["cutOff"] != "" {
		field = "cutOff"
	}
	on, err := only(values, field)
	if err != nil {
		return nil, err
	}
	found := false
	s.Edit(func(st *state.State) {
		if n := st.Nodes[name]; n != nil {
			n.CutOff, n.Offline, found = on && field == "cutOff", on == (field == "cutOff"), true
		}
	})
	if !found {
		return nil, errors.Wrapf(errUnknown, "cannot find node %q", name)
	}
	return nil, nil
}

// putFile stores a file on a storage of a node, like a user who logs in there. The API has no other way for snippets.
func (s *Server) putFile(r *http.Request) (any, error) {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, errors.Wrap(err, "cannot read the file")
	}
	node, id, content := r.PathValue("node"), r.PathValue("storage"), r.PathValue("content")
	name := content + "/" + r.PathValue("name")
	s.Edit(func(st *state.State) {
		on := st.Storages[id]
		switch {
		case st.Nodes[node] == nil || on == nil || !on.StorageOn(node):
			err = errors.Wrapf(errUnknown, "cannot find storage %q on node %q", id, node)
		case !on.Holds(content):
			err = errors.Errorf("cannot put %q on storage %q: it does not hold such files", name, id)
		default:
			size := int64(len(data))
			st.Volumes[on.Key(node, name)] = file(content, name, size, size, s.Clock.Now())
			st.Volumes[on.Key(node, name)].Data = data
		}
	})
	return nil, err
}

func (s *Server) setQuorum(r *http.Request) (any, error) {
	quorate, err := boolean(r, "quorate")
	if err != nil {
		return nil, err
	}
	s.Edit(func(st *state.State) { st.NoQuorum = !quorate })
	return nil, nil
}
