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
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
)

// TestExplainClosed checks a server that closes a connection at once. Depending on whether it is faster than the request, package http returns different
// errors.
func TestExplainClosed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
		}
	}()
	for range 200 {
		resp, err := (&http.Client{Transport: &http.Transport{}}).Get("http://" + l.Addr().String())
		if err == nil {
			_ = resp.Body.Close()
			t.Fatal("a closed connection has answered")
		}
		if got, text := transportError(err); got != ProblemClosed {
			t.Fatalf("explain(%v): got %q %q, want %q", err, got, text, ProblemClosed)
		}
	}
}

// TestExplainNoRoute checks the error if there is no route to the host.
func TestExplainNoRoute(t *testing.T) {
	for _, errno := range []syscall.Errno{syscall.EHOSTUNREACH, syscall.ENETUNREACH} {
		dial := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", errno)}
		err := &url.Error{Op: "Get", URL: "https://pve.example.com:8006", Err: dial}
		if got, text := transportError(err); got != ProblemUnreachable || !strings.Contains(text, errno.Error()) {
			t.Errorf("%v: got %q %q, want %q with the reason", err, got, text, ProblemUnreachable)
		}
	}
}
