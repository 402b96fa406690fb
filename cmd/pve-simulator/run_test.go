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

package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
)

// output collects what the program writes.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) url() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	m := regexp.MustCompile(`listens on (https://\S+)`).FindStringSubmatch(o.b.String())
	if m == nil {
		return ""
	}
	return m[1]
}

func TestRun(t *testing.T) {
	dir := t.TempDir()
	tokens := filepath.Join(dir, "tokens")
	if err := os.WriteFile(tokens, []byte("# secrets\ncrossplane@pve!demo=other\nroot@pam!mine=secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := &options{Address: "127.0.0.1:0", TLSDir: filepath.Join(dir, "tls"), TokenFile: tokens, LogRequests: true, Version: "8.4"}
	url, stop := start(t, o)
	for name, tc := range map[string]struct {
		reason string
		path   string
		token  string
		want   int
	}{
		"Health":    {reason: "Health needs no credentials.", path: "/healthz", want: 200},
		"NoTicket":  {reason: "Everything but the ticket needs credentials.", path: "/api2/json/version", want: 401},
		"Overrides": {reason: "The token file replaces the scenario's secret.", path: "/api2/json/version", token: "crossplane@pve!demo=other", want: 200},
		"Adds":      {reason: "The token file adds tokens.", path: "/api2/json/version", token: "root@pam!mine=secret", want: 200},
	} {
		t.Run(name, func(t *testing.T) {
			if got := send(t, o.TLSDir, http.MethodGet, url+tc.path, tc.token); got != tc.want {
				t.Errorf("%s: got status %d, want %d", tc.reason, got, tc.want)
			}
		})
	}
	stop()
}

// start runs the program. It returns the address and a function that ends the program, which must succeed.
func start(t *testing.T, o *options) (url string, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, ended := &output{}, make(chan error, 1)
	go func() { ended <- o.run(ctx, out) }()
	for out.url() == "" {
		select {
		case err := <-ended:
			t.Fatal(err)
		case <-time.After(time.Millisecond):
		}
	}
	return out.url(), func() {
		t.Helper()
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
	}
}

const token = simulatortest.TestToken + "=" + simulatortest.TestSecret

func TestStateFile(t *testing.T) {
	dir := t.TempDir()
	o := &options{Address: "127.0.0.1:0", TLSDir: filepath.Join(dir, "tls"), State: filepath.Join(dir, "state")}
	url, stop := start(t, o)
	if got := send(t, o.TLSDir, http.MethodPost, url+"/api2/json/nodes/pve1/qemu?vmid=300", token); got != http.StatusOK {
		t.Fatalf("create: %d", got)
	}
	stop()
	info, err := os.Stat(o.State)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the state's file: %v, %v", info, err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 2 {
		t.Errorf("the folder has %v, %v", files, err)
	}
	url, stop = start(t, o)
	if got := send(t, o.TLSDir, http.MethodGet, url+"/api2/json/nodes/pve1/qemu/300/config", token); got != http.StatusOK {
		t.Errorf("after a restart: %d", got)
	}
	stop()
	// A running task does not delay the end, and leaves nothing that would affect a second run.
	for range 2 {
		o.Speed = 1e-3
		url, stop = start(t, o)
		if got := send(t, o.TLSDir, http.MethodPost, url+"/api2/json/nodes/pve1/qemu/9000/clone?newid=301", token); got != http.StatusOK {
			t.Errorf("clone: %d", got)
		}
		stop()
	}
}

// TestStateIsSavedSoon checks that the state is saved before the program ends.
func TestStateIsSavedSoon(t *testing.T) {
	s, err := simulator.New(simulator.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	k := &keeper{path: filepath.Join(t.TempDir(), "state"), server: s, out: io.Discard}
	sizes := []int64{}
	for range 3 {
		if err := k.save(); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(k.path)
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, info.Size())
		if err := os.Remove(k.path); err != nil {
			t.Fatal(err)
		}
		s.Edit(func(st *simulator.State) { st.NewGuest(300+len(sizes), "pve1", nil) })
	}
	if sizes[0] >= sizes[1] || sizes[1] >= sizes[2] {
		t.Errorf("the state does not grow: %v", sizes)
	}
	if err := k.save(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(k.path); err != nil {
		t.Fatal(err)
	}
	if err := k.save(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(k.path); err == nil {
		t.Error("an unchanged state is written again")
	}
}

func TestRunRefuses(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	half := filepath.Join(dir, "half")
	if err := os.MkdirAll(half, 0o700); err != nil {
		t.Fatal(err)
	}
	file("half/ca.crt", "x")
	for name, tc := range map[string]struct {
		reason string
		o      options
		want   string
	}{
		"State":       {reason: "Another file is no state.", o: options{State: file("other", "x")}, want: "it was not written by pve-simulator"},
		"StateFolder": {reason: "A folder is no state.", o: options{State: dir}, want: "cannot read the state"},
		"Scenario": {
			reason: "Errors of a scenario name its line.", o: options{Scenario: file("bad.yaml", "nodes:\n- nam: x\n")},
			want: "bad.yaml\": cannot parse the scenario: line 2",
		},
		"Guests": {
			reason: "Errors of what a scenario holds name its line.", o: options{Scenario: file("guest.yaml", "nodes: [{name: a}]\nguests:\n- {vmid: 1, node: b}\n")},
			want: "guest.yaml\": cannot build the scenario: line 3",
		},
		"Tokens":       {reason: "Lines of tokens have a form.", o: options{TokenFile: file("tokens", "# x\nnothing\n")}, want: "line 2: want user@realm!id=secret"},
		"ControlToken": {reason: "A token is not empty.", o: options{ControlTokenFile: file("empty", "\n")}, want: "it is empty"},
		"Certificates": {reason: "Half the certificates are not replaced.", o: options{TLSDir: half}, want: "it lacks"},
		"Fault":        {reason: "A fault is one.", o: options{Fault: []string{"status=1"}}, want: "the status must be 400 to 599"},
		"Address":      {reason: "An address can be listened on.", o: options{Address: "nowhere"}, want: "cannot listen"},
	} {
		t.Run(name, func(t *testing.T) {
			err := tc.o.run(t.Context(), io.Discard)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: got %v, want %q", tc.reason, err, tc.want)
			}
		})
	}
}

func TestFlags(t *testing.T) {
	cli := &options{}
	parser, err := newParser(cli)
	if err != nil {
		t.Fatal(err)
	}
	_, err = parser.Parse([]string{"--fault", `POST /nodes/* status=500 message="a, b"`, "--fault", "cut=after", "--tls-host", "pve"})
	if err != nil {
		t.Fatal(err)
	}
	faults, err := cli.faults()
	if err != nil {
		t.Fatal(err)
	}
	want := []simulator.Fault{{Method: "POST", Path: "/nodes/*", Status: 500, Message: "a, b"}, {CutAfter: true}}
	if diff := cmp.Diff(want, faults); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"pve", "127.0.0.1"}, cli.hosts()); diff != "" {
		t.Errorf("hosts: -want +got:\n%s", diff)
	}
}

func send(t *testing.T, tlsDir, verb, url, token string) int {
	t.Helper()
	ca, err := os.ReadFile(filepath.Join(tlsDir, "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), verb, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "PVEAPIToken="+token)
	}
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close() //nolint:errcheck // A test's body.
	return resp.StatusCode
}

func TestCertificatesStay(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tls")
	first, err := certificates(dir, []string{"pve.example.org"})
	if err != nil {
		t.Fatal(err)
	}
	second, err := certificates(dir, []string{"pve.example.org"})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first.CA, second.CA) {
		t.Error("the CA of the folder is not used again")
	}
}
