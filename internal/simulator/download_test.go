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
	"testing"

	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
)

func TestDownload(t *testing.T) {
	files := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/debian.iso" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte("an image")) // The client sees the error.
	}))
	t.Cleanup(files.Close)
	c := rootClient(t, simulatortest.NewTest(t, simulator.Options{}))
	cases := map[string]struct {
		reason string
		params []string
		exit   string
	}{
		"Fine":     {reason: "A file that is there is fetched.", params: []string{"url=" + files.URL + "/debian.iso"}, exit: "OK"},
		"Missing":  {reason: "A file that is not there is told.", params: []string{"url=" + files.URL + "/x.iso"}, exit: "download failed: ERROR 404: Not Found."},
		"Checksum": {reason: "What came must be what was meant.", params: []string{"url=" + files.URL + "/debian.iso", "checksum=00", "checksum-algorithm=md5"}, exit: "checksum mismatch: got '5312e17c8c92d7c946a5940990a0a9d9' != expect '00'"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			exit := c.task("POST /nodes/pve1/storage/local/download-url", append(tc.params, "content=iso", "filename=d.iso")...)
			if exit != tc.exit {
				t.Errorf("%s: got %q, want %q", tc.reason, exit, tc.exit)
			}
		})
	}
}
