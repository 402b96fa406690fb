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
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

func TestPublishReadsTheKeyFirst(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s %s was sent", r.Method, r.URL.Path) }))
	defer server.Close()
	missing := filepath.Join(t.TempDir(), "cosign.key")
	c := publishCommand{Registry: strings.TrimPrefix(server.URL, "http://") + "/org", Tag: "v1", Key: missing}
	if err := c.Run(t.Context(), io.Discard); err == nil || !strings.Contains(err.Error(), missing) {
		t.Errorf("want an error about %q, got %v", missing, err)
	}
}
