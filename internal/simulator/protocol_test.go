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
	"crypto/tls"
	"crypto/x509"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

func TestStatusLines(t *testing.T) {
	s := simulatortest.NewTest(t, simulator.Options{})
	c := connect(t, s)
	none := &client{t: t, server: s, header: map[string]string{}}
	token := func(id string) *client { return none.with("Authorization", "PVEAPIToken="+id) }
	const missing = "500 Configuration file 'nodes/pve1/qemu-server/999.conf' does not exist"

	for name, tc := range map[string]struct {
		reason  string
		client  *client
		request string
		params  []string
		line    string
		body    string
	}{
		"NoCredentials":   {reason: "A request without credentials has no body in its answer.", client: none, request: "GET /version", line: "401 No ticket"},
		"NoCredentialsOn": {reason: "Writes are no different.", client: none, request: "POST /nodes/pve1/qemu", params: []string{"vmid=1"}, line: "401 No ticket"},
		"Malformed":       {reason: "A token has a secret.", client: token("foo"), request: "GET /version", line: "401 Authentication failed!"},
		"UnknownToken": {
			reason: "The token must exist.", client: token("crossplane@pve!nope=" + simulatortest.TestSecret), request: "GET /version",
			line: "401 Authentication failed!",
		},
		"WrongSecret": {
			reason: "The secret must match.", client: token(simulatortest.TestToken + "=1"), request: "GET /version",
			line: "401 Authentication failed!",
		},
		"UnknownUser": {
			reason: "The user must exist.", client: token("ghost@pve!demo=" + simulatortest.TestSecret), request: "GET /version",
			line: "401 Authentication failed!",
		},
		"Bearer": {reason: "Other schemes are not seen.", client: none.with("Authorization", "Bearer x"), request: "GET /version", line: "401 No ticket"},
		"LowerCase": {
			reason: "The scheme's case counts.",
			client: none.with("Authorization", "pveapitoken="+simulatortest.TestToken+"="+simulatortest.TestSecret), request: "GET /version",
			line: "401 No ticket",
		},
		"Space": {
			reason: "A space will do for the equals sign.",
			client: none.with("Authorization", "PVEAPIToken "+simulatortest.TestToken+"="+simulatortest.TestSecret), request: "GET /version",
			line: "200 OK", body: `{"data":{"release":"9.2","repoid":"14a22df35955d97d","version":"9.2.11"}}`,
		},
		"BadTicket": {
			reason: "A ticket has to be signed.", client: none.with("Cookie", "PVEAuthCookie=PVE:root@pam:66::x"), request: "GET /version",
			line: "401 Authentication failed!",
		},
		"UnknownPath": {
			reason: "Unknown paths are 501.", client: c, request: "GET /nope", line: "501 Method 'GET /nope' not implemented",
			body: `{"data":null,"message":"Method 'GET /nope' not implemented"}`,
		},
		"WrongMethod": {reason: "Unknown methods of a path are 501.", client: c, request: "DELETE /version", line: "501 Method 'DELETE /version' not implemented"},
		"UnknownParam": {
			reason: "Unknown parameters of reads are refused.", client: c, request: "GET /version", params: []string{"foo=1"},
			line: "400 Parameter verification failed.",
			body: `{"data":null,"errors":{"foo":"property is not defined in schema and the schema does not allow additional properties"},` +
				`"message":"Parameter verification failed.\n"}`,
		},
		"UnknownNode": {
			reason: "An unknown node is a name that does not resolve.", client: c, request: "GET /nodes/nosuch/qemu",
			line: "500 hostname lookup 'nosuch' failed - failed to get address info for: nosuch: Temporary failure in name resolution",
		},
		"ConfigMissing": {
			reason: "A missing VM is a 500.", client: c, request: "GET /nodes/pve1/qemu/999/config", line: missing,
			body: `{"data":null,"message":"Configuration file 'nodes/pve1/qemu-server/999.conf' does not exist\n"}`,
		},
		"StatusMissing": {reason: "The same for its status.", client: c, request: "GET /nodes/pve1/qemu/999/status/current", line: missing},
		"DeleteMissing": {reason: "The same for its removal.", client: c, request: "DELETE /nodes/pve1/qemu/999", line: missing},
		"CloneMissing": {
			reason: "Clone looks for the process first.", client: c, request: "POST /nodes/pve1/qemu/999/clone", params: []string{"newid=998"},
			line: "500 unable to find configuration file for VM 999 on node 'pve1'",
		},
		"OtherNode": {
			reason: "A VM is found on its own node only.", client: c, request: "GET /nodes/pve2/qemu/9000/config",
			line: "500 Configuration file 'nodes/pve2/qemu-server/9000.conf' does not exist",
		},
		"VMIDRange": {
			reason: "A VMID has at least three digits.", client: c, request: "GET /nodes/pve1/qemu/99/config",
			line: "400 Parameter verification failed.",
			body: `{"data":null,"errors":{"vmid":"invalid format - value does not look like a valid VM ID\n"},"message":"Parameter verification failed.\n"}`,
		},
		"Taken": {
			reason: "A VMID is taken on every node.", client: c, request: "POST /nodes/pve2/qemu", params: []string{"vmid=100"},
			line: "500 unable to create VM 100 - VM 100 already exists on node 'pve1'",
		},
		"NextIDTaken": {
			reason: "nextid tells when a VMID is taken.", client: c, request: "GET /cluster/nextid", params: []string{"vmid=100"},
			line: "400 Parameter verification failed.",
			body: `{"data":null,"errors":{"vmid":"VM 100 already exists"},"message":"Parameter verification failed.\n"}`,
		},
		"NextID": {reason: "A free VMID is a string.", client: c, request: "GET /cluster/nextid", line: "200 OK", body: `{"data":"102"}`},
		"RootOnly": {
			reason: "Some options are for root@pam.", client: c, request: "POST /nodes/pve1/qemu", params: []string{"vmid=556", "args=-foo"},
			line: "500 only root can set 'args' config",
		},
		"RawDevice": {
			reason: "Devices of the host are for root@pam.", client: c, request: "POST /nodes/pve1/qemu",
			params: []string{"vmid=556", "hostpci0=01:00.0"}, line: "500 only root can set 'hostpci0' config for non-mapped devices",
		},
		"SharedDir": {
			reason: "Directories need a privilege on their mapping.", client: c, request: "POST /nodes/pve1/qemu",
			params: []string{"vmid=556", "virtiofs0=data"}, line: "403 Permission check failed (/mapping/dir/data, Mapping.Use)",
		},
		"SkipLock": {
			reason: "Skipping locks is for root.", client: c, request: "PUT /nodes/pve1/qemu/100/config", params: []string{"skiplock=1", "cores=1"},
			line: "400 Parameter verification failed.",
		},
		"NotSimulated": {
			reason: "What has no behaviour says so.", client: c, request: "GET /cluster/sdn/dns",
			line: "501 Method 'GET /cluster/sdn/dns' is not simulated",
		},
		"Conflict": {
			reason: "A parameter must not contradict the path.", client: c, request: "PUT /nodes/pve1/qemu/100/config",
			params: []string{"vmid=951", "cores=1"}, line: "400 Parameter verification failed.",
		},
		"UnknownTask": {
			reason: "An unknown task is a wrong parameter.", client: c,
			request: "GET /nodes/pve1/tasks/UPID:pve1:00000001:00000001:00000001:qmcreate:100:tester@pve!full:/status",
			line:    "400 Parameter verification failed.",
		},
		"MalformedTask": {
			reason: "A task has a UPID.", client: c, request: "GET /nodes/pve1/tasks/foo/status", line: "400 Parameter verification failed.",
			body: `{"data":null,"errors":{"upid":"unable to parse worker upid"},"message":"Parameter verification failed.\n"}`,
		},
		"NoLog": {
			reason: "The log of an unknown task is a line.", client: c,
			request: "GET /nodes/pve1/tasks/UPID:pve1:00000001:00000001:00000001:qmcreate:100:tester@pve!full:/log", line: "200 OK",
			body: `{"data":[{"n":1,"t":"unable to open file - No such file or directory"}],"total":1}`,
		},
		"WrongPassword": {
			reason: "A login needs the password.", client: none, request: "POST /access/ticket",
			params: []string{"username=crossplane@pve", "password=x"}, line: "401 authentication failure",
			body: `{"data":null,"message":"authentication failure\n"}`,
		},
		"NoPassword": {
			reason: "The password is a parameter.", client: none, request: "POST /access/ticket", params: []string{"username=crossplane@pve"},
			line: "400 Parameter verification failed.",
			body: `{"data":null,"errors":{"password":"property is missing and it is not optional"},"message":"Parameter verification failed.\n"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc.client.t = t
			got := tc.client.do(tc.request, tc.params...)
			if got.Line != tc.line {
				t.Errorf("%s: got %q, want %q", tc.reason, got.Line, tc.line)
			}
			if tc.body != "" && got.Body != tc.body {
				t.Errorf("%s: -want +got:\n%s", tc.reason, cmp.Diff(tc.body, got.Body))
			}
			if strings.HasPrefix(got.Line, "401 No") && got.Body != "" {
				t.Errorf("%s: a body: %s", tc.reason, got.Body)
			}
		})
	}
}

func TestBodies(t *testing.T) {
	s := simulatortest.NewTest(t, simulator.Options{})
	c := connect(t, s)
	for name, tc := range map[string]struct {
		reason             string
		verb, path         string
		kind, body         string
		line               string
		wantCores, wantTag any
	}{
		"JSON": {
			reason: "Numbers, texts and booleans of JSON are taken.", verb: "PUT", kind: "application/json; charset=utf-8",
			body: `{"cores":"3","onboot":true,"tags":["b","a"]}`, line: "200 OK", wantCores: 3.0, wantTag: "a;b",
		},
		"WholeNumber": {reason: "1.0 is the integer 1.", verb: "PUT", kind: "application/json", body: `{"cores":1.0}`, line: "200 OK", wantCores: 1.0},
		"Null": {
			reason: "An undefined value cannot be stored.", verb: "PUT", kind: "application/json", body: `{"cores":null}`,
			line: "500 unable to parse value of 'cores' - got undefined value",
		},
		"Object": {
			reason: "An object is no text.", verb: "PUT", kind: "application/json", body: `{"net0":{"model":"virtio"}}`,
			line: "400 Parameter verification failed.",
		},
		"List": {
			reason: "The body must be an object.", verb: "PUT", kind: "application/json", body: `[]`,
			line: "500 Not a HASH reference at /usr/share/perl5/PVE/APIServer/AnyEvent.pm line 978.",
		},
		"Empty": {reason: "Nothing to change is an error.", verb: "PUT", kind: "application/json", body: `{}`, line: "500 no options specified"},
		"Type": {
			reason: "Other types are not read.", verb: "PUT", kind: "text/plain", body: "cores=1",
			line: "506 upload 'Content-Type 'text/plain' not implemented",
		},
		"Semicolon": {
			reason: "A bare semicolon splits a form.", verb: "PUT", kind: "application/x-www-form-urlencoded", body: "cores=2;tags=x",
			line: "200 OK", wantCores: 2.0, wantTag: "x",
		},
		"GetBody": {
			reason: "Reads have no body.", verb: "GET", kind: "application/x-www-form-urlencoded", body: "current=1",
			line: "501 Unexpected content for method 'GET'",
		},
		"DeleteBody": {
			reason: "Removals have none either.", verb: "DELETE", kind: "application/x-www-form-urlencoded", body: "purge=1",
			line: "501 Unexpected content for method 'DELETE'",
		},
		"TooLarge": {
			reason: "A form has half a megabyte at most.", verb: "PUT", kind: "application/x-www-form-urlencoded",
			body: strings.Repeat("x", 513<<10), line: "501 for data too large",
		},
		"Head": {reason: "HEAD is not served.", verb: "HEAD", line: "501 method 'HEAD' not available"},
	} {
		t.Run(name, func(t *testing.T) {
			c.t = t
			s.Edit(func(st *state.State) {
				maps.DeleteFunc(st.Guests[101].Config, func(k, _ string) bool { return k == "cores" || k == "tags" })
			})
			got := c.send(tc.verb, "/nodes/pve3/qemu/101/config", tc.kind, tc.body)
			if got.Line != tc.line {
				t.Fatalf("%s: got %q, want %q", tc.reason, got.Line, tc.line)
			}
			config := c.config("/nodes/pve3/qemu/101")
			if tc.wantCores != nil && config["cores"] != tc.wantCores {
				t.Errorf("%s: cores: %v", tc.reason, config["cores"])
			}
			if tc.wantTag != nil && config["tags"] != tc.wantTag {
				t.Errorf("%s: tags: %v", tc.reason, config["tags"])
			}
		})
	}
}

func TestTicket(t *testing.T) {
	s := simulatortest.NewTest(t, simulator.Options{})
	none := &client{t: t, server: s, header: map[string]string{}}
	data, _ := none.ok("POST /access/ticket", "username=crossplane", "realm=pve", "password=crossplane").Data.(map[string]any)
	ticket, _ := data["ticket"].(string)
	csrf, _ := data["CSRFPreventionToken"].(string)
	c := none.with("Cookie", "PVEAuthCookie="+strings.ReplaceAll(ticket, "+", "%2B"))
	for name, tc := range map[string]struct {
		reason  string
		client  *client
		request string
		line    string
	}{
		"Read": {reason: "Reads need the ticket alone.", client: c, request: "GET /version", line: "200 OK"},
		"NoCSRF": {
			reason: "Writes need the token.", client: c, request: "POST /nodes/pve1/qemu/999/status/start",
			line: "401 Permission denied - invalid csrf token",
		},
		"WrongCSRF": {
			reason: "The token is signed.", client: c.with("CSRFPreventionToken", "66:x"), request: "POST /nodes/pve1/qemu/999/status/start",
			line: "401 Permission denied - invalid csrf token",
		},
		"CSRF": {
			reason: "With the token writes work.", client: c.with("CSRFPreventionToken", csrf), request: "POST /nodes/pve1/qemu/999/status/start",
			line: "200 OK",
		},
		"Header": {
			reason: "The ticket may stand in the header.", client: none.with("Authorization", "PVEAuthCookie="+ticket), request: "GET /version",
			line: "200 OK",
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc.client.t = t
			if got := tc.client.do(tc.request); got.Line != tc.line {
				t.Errorf("%s: got %q, want %q", tc.reason, got.Line, tc.line)
			}
		})
	}
	none.t = t
	none.ok("POST /access/ticket", "username=crossplane@pve", "password="+ticket)
}

// TestHeaderBounds sends headers of the maximum length of pveproxy, and longer ones, which it does not answer.
func TestHeaderBounds(t *testing.T) {
	s := simulatortest.NewTest(t, simulator.Options{})
	lines := func(n int) string { return strings.Repeat("X-Line: 1\r\n", n) }
	for name, tc := range map[string]struct {
		reason  string
		version string
		header  string
		answer  string
	}{
		"Lines":        {reason: "62 lines and an empty one are read.", version: "1.1", header: lines(62), answer: "HTTP/1.1 401 No ticket"},
		"TooManyLines": {reason: "One more is not.", version: "1.1", header: lines(63)},
		"Bytes":        {reason: "8191 bytes are read.", version: "1.1", header: "X: " + strings.Repeat("a", 8188) + "\r\n", answer: "HTTP/1.1 401 No ticket"},
		"TooManyBytes": {reason: "A header of 8192 bytes is not read.", version: "1.1", header: "X: " + strings.Repeat("a", 8189) + "\r\n"},
		"Endless":      {reason: "The simulator does not wait for the end of a line.", version: "1.1", header: strings.Repeat("a", 100_000)},
		"Version": {
			reason: "There is no such version.", version: "9.9", answer: "HTTP/1.1 506 http protocol version 9.9 not supported",
		},
		"OldVersion": {reason: "An old one will do.", version: "1.0", answer: "HTTP/1.1 401 No ticket"},
	} {
		t.Run(name, func(t *testing.T) {
			pool := x509.NewCertPool()
			pool.AppendCertsFromPEM(s.CA())
			dialer := &tls.Dialer{Config: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12, CurvePreferences: quickCurve()}}
			conn, err := dialer.DialContext(t.Context(), "tcp", strings.TrimPrefix(s.URL(), "https://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()                                                                             //nolint:errcheck // A test's connection.
			_, _ = io.WriteString(conn, "GET /api2/json/version HTTP/"+tc.version+"\r\n"+tc.header+"\r\n") // The connection may be cut.
			got, _ := bufio.NewReader(conn).ReadString('\n')
			if strings.TrimSpace(got) != tc.answer {
				t.Errorf("%s: want %q, got %q", tc.reason, tc.answer, got)
			}
		})
	}
}

// TestKeepAlive makes many requests over one connection, as Go's client does.
func TestKeepAlive(t *testing.T) {
	s := simulatortest.NewTest(t, simulator.Options{})
	c := httpClient(t, s)
	for range 20 {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL()+"/api2/json/cluster/resources", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "PVEAPIToken="+simulatortest.TestToken+"="+simulatortest.TestSecret)
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != http.StatusOK || resp.Proto != "HTTP/1.1" {
			t.Errorf("%s %s", resp.Proto, resp.Status)
		}
		if err := resp.Body.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
