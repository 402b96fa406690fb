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
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// send makes a request like curl and returns the status line and the body.
func (p *replay) send(x *exchange) (status, body string) {
	p.t.Helper()
	if p.direct != nil {
		return p.direct(x)
	}
	conn := p.dial(x.plain)
	defer conn.Close() //nolint:errcheck // A test's connection.
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		p.t.Fatal(err)
	}
	head := &strings.Builder{}
	fmt.Fprintf(head, "%s %s HTTP/1.1\r\nHost: pve1:8006\r\n", x.verb, strings.ReplaceAll(x.path, " ", "%20"))
	for name, values := range x.header {
		fmt.Fprintf(head, "%s: %s\r\n", name, values[0])
	}
	if x.header.Get("Transfer-Encoding") != "" {
		x.body = fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(x.body), x.body)
	} else if x.body != "" || x.verb == http.MethodPost || x.verb == http.MethodPut {
		fmt.Fprintf(head, "Content-Length: %d\r\n", len(x.body))
	}
	if _, err := io.WriteString(conn, head.String()+"\r\n"+x.body); err != nil {
		p.t.Fatal(err)
	}
	return p.receive(conn, x.verb)
}

func (p *replay) receive(conn net.Conn, verb string) (status, body string) {
	reader := bufio.NewReader(conn)
	for {
		resp, err := http.ReadResponse(reader, &http.Request{Method: verb})
		if err != nil {
			p.t.Fatal(err)
		}
		content, err := io.ReadAll(resp.Body)
		if err != nil {
			p.t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusContinue {
			return resp.Proto + " " + resp.Status, string(content)
		}
	}
}

func (p *replay) dial(plain bool) net.Conn {
	p.t.Helper()
	address := strings.TrimPrefix(p.server.URL(), "https://")
	var conn net.Conn
	var err error
	if plain {
		conn, err = (&net.Dialer{}).DialContext(context.Background(), "tcp", address)
	} else {
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(p.server.CA())
		conn, err = (&tls.Dialer{Config: &tls.Config{
			RootCAs: pool, MinVersion: tls.VersionTLS12, CurvePreferences: quickCurve(),
		}}).DialContext(context.Background(), "tcp", address)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return conn
}
