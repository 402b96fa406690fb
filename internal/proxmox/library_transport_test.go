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

package proxmox

import (
	"net/http"
	"testing"

	telmate "github.com/Telmate/proxmox-api-go/proxmox"

	"github.com/vitistack/provider-proxmox/internal/proxmox/transport"
)

// TestLibraryBehindTransport calls a typed interface of the library, which sends a failed write without an answer again, and panics for an error in an
// unexpected form. With the transport it does neither, and the call returns the original error.
func TestLibraryBehindTransport(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		reply   reply
		unknown bool
	}{
		"Lost":    {reason: "A write without an answer is sent once.", reply: reply{cut: true}, unknown: true},
		"Errors":  {reason: "The errors may be of any shape.", reply: reply{status: "400 Parameter verification failed", body: `{"errors":"x"}`}},
		"Message": {reason: "The message may be of any shape.", reply: reply{status: "400 Parameter verification failed", body: `{"message":5}`}},
	} {
		t.Run(name, func(t *testing.T) {
			pve := fixed(t, tc.reply)
			c := pve.client(t)
			r := request{op: "make a pool", method: http.MethodPost, path: "/pools"}
			x := newCall(r, nil)
			lib, err := telmate.NewClient(transport.Root().String(), c.http, "", nil, "", 1, false)
			if err != nil {
				t.Fatal(err)
			}
			lib.Username = "tester@pve"
			if err := lib.New().Pool.Create(transport.With(t.Context(), x.sent), telmate.ConfigPool{Name: "lost"}); err == nil {
				t.Errorf("%s\nwant an error of the library", tc.reason)
			}
			if n := pve.count(http.MethodPost, "/api2/json/pools"); n != 1 {
				t.Errorf("%s\nwant one request, got %d", tc.reason, n)
			}
			if err := x.failed(); err == nil || IsOutcomeUnknown(err) != tc.unknown {
				t.Errorf("%s\nwant an error whose outcome is unknown: %t, got %v", tc.reason, tc.unknown, err)
			}
		})
	}
}
