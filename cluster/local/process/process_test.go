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

package process

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// behaviour makes this test program behave like a program that the tests start.
const behaviour = "PROCESS_TEST_BEHAVIOUR"

func TestMain(m *testing.M) {
	switch os.Getenv(behaviour) {
	case "run":
		stop := make(chan os.Signal, 1)
		signal.Notify(stop, syscall.SIGTERM)
		_, _ = fmt.Fprintln(os.Stdout, "running")
		<-stop
		os.Exit(0)
	case "fail":
		_, _ = fmt.Fprintln(os.Stdout, "cannot go on")
		os.Exit(3)
	}
	os.Exit(m.Run())
}

func spec(t *testing.T, name string) Spec {
	t.Helper()
	return Spec{
		Name: name,
		Path: os.Args[0],
		Env:  append(os.Environ(), behaviour+"="+name),
		Log:  filepath.Join(t.TempDir(), "logs", name+".log"),
	}
}

func logged(s Spec, text string) Probe {
	return func(context.Context) error {
		if !strings.Contains(LogTail(s.Log, 5), text) {
			return errors.New("not yet")
		}
		return nil
	}
}

func TestStartAndStop(t *testing.T) {
	s := spec(t, "run")
	s.Ready = logged(s, "running")
	p, err := Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if p.Err() != nil {
		t.Errorf("a running program has the error %v", p.Err())
	}
	if group, err := syscall.Getpgid(p.Pid()); err != nil || group != p.Pid() {
		t.Errorf("the program is in group %d, %v, not in its own", group, err)
	}
	if err := p.Stop(); err != nil {
		t.Errorf("Stop fails with %v", err)
	}
	if p.Err() == nil {
		t.Error("a stopped program has no error that says how it ended")
	}
	if err := p.Stop(); err != nil {
		t.Errorf("a second Stop fails with %v", err)
	}
}

func TestStartReportsAnEarlyEnd(t *testing.T) {
	s := spec(t, "fail")
	s.Ready = func(context.Context) error { return errors.New("not yet") }
	_, err := Start(t.Context(), s)
	if err == nil {
		t.Fatal("Start succeeds for a program that ends at once")
	}
	for _, want := range []string{"exit status 3", "cannot go on"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error %q does not say %q", err, want)
		}
	}
}

func TestStartStopsWhatDoesNotBecomeReady(t *testing.T) {
	s := spec(t, "run")
	ctx, cancel := context.WithCancel(t.Context())
	s.Ready = func(context.Context) error {
		if strings.Contains(LogTail(s.Log, 5), "running") {
			cancel()
		}
		return errors.New("not yet")
	}
	if _, err := Start(ctx, s); err == nil {
		t.Fatal("Start succeeds for a program that never was ready")
	}
}

func TestHTTP(t *testing.T) {
	status := http.StatusServiceUnavailable
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	defer server.Close()
	probe := HTTP(server.URL)

	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if probe(ctx) == nil {
		t.Error("the probe is satisfied with 503")
	}
	status = http.StatusOK
	if err := probe(ctx); err != nil {
		t.Errorf("the probe fails with %v for 200", err)
	}
}

func TestLogTail(t *testing.T) {
	long := strings.Repeat(strings.Repeat("x", 99)+"\n", 2000) + "last\n"
	cases := map[string]struct {
		reason  string
		content string
		lines   int
		want    string
	}{
		"Short": {reason: "a log shorter than asked comes whole", content: "a\nb\n", lines: 5, want: "a\nb"},
		"Last":  {reason: "only the last lines come", content: "a\nb\nc\n", lines: 2, want: "b\nc"},
		"Empty": {reason: "an empty log has no lines", content: "", lines: 2, want: ""},
		"Long":  {reason: "of a long log the end is read", content: long, lines: 1, want: "last"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.log")
			if err := os.WriteFile(path, []byte(tc.content), 0o600); err != nil {
				t.Fatal(err)
			}
			if got := LogTail(path, tc.lines); got != tc.want {
				t.Errorf("%s: LogTail = %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
	if got := LogTail(filepath.Join(t.TempDir(), "none.log"), 3); !strings.Contains(got, "no log") {
		t.Errorf("LogTail of a missing log = %q", got)
	}
}

func TestFreeAddressIsFree(t *testing.T) {
	address, err := FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatalf("cannot listen on the free address: %v", err)
	}
	defer l.Close() //nolint:errcheck // Nothing was sent or received.
	if !l.Addr().(*net.TCPAddr).IP.IsLoopback() {
		t.Errorf("the address %q is open to the network", address)
	}
}
