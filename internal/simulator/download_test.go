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
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
)

// TestDownload makes a node download files from a real server, and compares the results of the tasks with those of a real node.
func TestDownload(t *testing.T) {
	files := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/debian.iso":
			_, _ = w.Write([]byte("an image")) // The client sees the error.
		case "/large.iso":
			w.Header().Set("Content-Length", strconv.Itoa(80<<20))
			_, _ = w.Write(make([]byte, 80<<20))
		case "/once":
			http.Redirect(w, r, "/debian.iso", http.StatusFound)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(files.Close)
	const sum = "5312e17c8c92d7c946a5940990a0a9d9"
	md5 := func(sum string) []string { return []string{"checksum-algorithm=md5", "checksum=" + sum} }
	cases := map[string]struct {
		reason string
		before []string // of a download that has created the file
		params []string
		exit   string
		log    string // beginning or end of a line
	}{
		"Fine":     {reason: "A file that is there is fetched.", params: []string{"url=/debian.iso"}, exit: "OK"},
		"Redirect": {reason: "Redirects of a download are followed.", params: []string{"url=/once"}, exit: "OK"},
		"Checked": {
			reason: "What came is compared.", params: append(md5(sum), "url=/debian.iso"), exit: "OK",
			log: "calculating checksum...OK, checksum verified",
		},
		"Missing": {reason: "Why it failed is in the log.", params: []string{"url=/x.iso"}, exit: "download failed: exit code 8", log: "ERROR 404: Not Found."},
		"Unreached": {
			reason: "A server that cannot be reached is named.", params: []string{"url=http://127.0.0.1:1/x.iso"},
			exit: "download failed: Connecting to 127.0.0.1:1... failed: Connection refused.",
		},
		"Mismatch": {
			reason: "What came must be what was meant.", params: append(md5("00"), "url=/debian.iso"),
			exit: "checksum mismatch: got '" + sum + "' != expect '00'",
		},
		"Again": {
			reason: "A file that is there is not fetched again.", before: []string{"url=/debian.iso"}, params: append(md5(sum), "url=/x.iso"),
			exit: "OK", log: "got correct file already, no need to download",
		},
		"Another": {
			reason: "A file that is there is not replaced by another.", before: []string{"url=/debian.iso"}, params: append(md5("00"), "url=/debian.iso"),
			exit: "checksum mismatch: got '" + sum + "' != expect '00', aborting",
		},
		"Unchecked": {
			reason: "A file that is there is not replaced without a checksum.", before: []string{"url=/debian.iso"}, params: []string{"url=/debian.iso"},
			exit: "refusing to override existing file '/var/lib/vz/template/iso/d.iso'",
		},
		"Progress": {
			reason: "A line tells of 32 MiB.", params: []string{"url=/large.iso"}, exit: "OK",
			log: "     0K ........ ........ ........ ........ 40%  100M 1s",
		},
		"Compressed": {
			reason: "What is not compressed cannot be decompressed.", params: []string{"url=/debian.iso", "compression=lzo"},
			exit: "no decompression method found",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := rootClient(t, simulatortest.NewTest(t, simulator.Options{}))
			download := func(params []string) string {
				all := []string{"content=iso", "filename=d.iso"}
				for _, p := range params {
					all = append(all, strings.Replace(p, "url=/", "url="+files.URL+"/", 1))
				}
				return c.task("POST /nodes/pve1/storage/local/download-url", all...)
			}
			if tc.before != nil && download(tc.before) != "OK" {
				t.Fatal("the file that is to be there cannot be made")
			}
			if exit := download(tc.params); exit != tc.exit {
				t.Errorf("%s: got %q, want %q", tc.reason, exit, tc.exit)
			}
			if log := c.lastLog(t); !strings.Contains(log, tc.log) {
				t.Errorf("%s: the log lacks %q:\n%s", tc.reason, tc.log, log)
			}
		})
	}
}

// lastLog returns the log of the latest task.
func (c *client) lastLog(t *testing.T) string {
	t.Helper()
	tasks := c.server.Tasks()
	return strings.Join(tasks[len(tasks)-1].Log, "\n")
}

func TestDownloadRefused(t *testing.T) {
	c := rootClient(t, simulatortest.NewTest(t, simulator.Options{}))
	cases := map[string]struct {
		reason string
		params []string
		line   string
	}{
		"Image": {
			reason: "An image to import has the extension of its format.", params: []string{"content=import", "filename=a.img"},
			line: "400 Parameter verification failed.",
		},
		"Upper": {
			reason: "The ending of a file is in lower case.",
			params: []string{"content=import", "filename=a.QCOW2"}, line: "400 Parameter verification failed.",
		},
		"Storage": {
			reason: "A storage of volumes takes no files.", params: []string{"content=iso", "filename=a.iso"},
			line: "500 can't upload to storage type 'lvmthin', not a file based storage!",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			storage := "local"
			if name == "Storage" {
				storage = "local-lvm"
			}
			r := c.do("POST /nodes/pve1/storage/"+storage+"/download-url", append(tc.params, "url=http://127.0.0.1:1/x")...)
			if r.Line != tc.line {
				t.Errorf("%s: got %q, want %q", tc.reason, r.Line, tc.line)
			}
		})
	}
}
