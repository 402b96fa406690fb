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

// TestLibraryBehindTransport calls a typed interface of the library, which sends a write again that failed without an
// answer. Behind the transport it does not, and the call has the error as it was.
func TestLibraryBehindTransport(t *testing.T) {
	pve := fixed(t, reply{cut: true})
	c := pve.client(t)
	r := request{op: "make a pool", method: http.MethodPost, path: "/pools"}
	x := newCall(r, nil)
	lib, err := telmate.NewClient(transport.Root().String(), c.http, "", nil, "", 1, false)
	if err != nil {
		t.Fatal(err)
	}
	lib.Username = "tester@pve"
	if err := lib.New().Pool.Create(transport.With(t.Context(), x.sent), telmate.ConfigPool{Name: "lost"}); err == nil {
		t.Error("want an error of the library")
	}
	if n := pve.count(http.MethodPost, "/api2/json/pools"); n != 1 {
		t.Errorf("want one request, got %d", n)
	}
	if err := x.failed(); !IsOutcomeUnknown(err) {
		t.Errorf("want an outcome that is not known, got %v", err)
	}
}
