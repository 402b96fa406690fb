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
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestCheckAtFake(t *testing.T) {
	pve := newFakePVE(t, func(a asked) reply {
		switch strings.TrimPrefix(a.path, "/api2/json") {
		case "/version":
			return ok(`{"version":"9.2.11","release":"9.2"}`)
		case "/access/permissions":
			return ok(`{"/":{"VM.Audit":1}}`)
		case "/access/domains":
			if a.header.Get("Authorization") != "" {
				return reply{status: "400 no credentials, please"}
			}
			return ok(`[{"realm":"pam"},{"realm":"pve"}]`)
		}
		return reply{status: "403 Permission check failed (/, Sys.Audit)"}
	})
	c := pve.client(t, func(cfg *Config) { cfg.Timeout = 5 * time.Second })
	h, err := c.Check(background())
	want := Health{Version: Version{Version: "9.2.11", Release: "9.2"}, Endpoint: pve.URL, Privileges: map[string]Privileges{"/": {"VM.Audit": true}}}
	if diff := cmp.Diff(want, h); diff != "" || err != nil {
		t.Errorf("Check(): %v\n-want, +got:\n%s", err, diff)
	}
	realms, err := c.Realms(background())
	if diff := cmp.Diff([]string{"pam", "pve"}, realms); diff != "" || err != nil {
		t.Errorf("Realms(): %v\n-want, +got:\n%s", err, diff)
	}
}
