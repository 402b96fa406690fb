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

// Package proxmoxtest has helpers for tests that use the client of Proxmox VE.
package proxmoxtest

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// LostAnswer returns the error of a call that Proxmox VE received and whose answer was lost.
func LostAnswer(t *testing.T) error {
	t.Helper()
	s := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer s.Close()
	c, err := proxmox.New(proxmox.Config{
		Endpoints: []string{s.URL}, TLS: proxmox.TLS{InsecureSkipVerify: true},
		Credentials: proxmox.Credentials{TokenID: "u@pve!t", TokenSecret: "s"},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = c.Start(t.Context(), proxmox.Ref{Node: "pve1", VMID: 10000})
	if !proxmox.IsOutcomeUnknown(err) {
		t.Fatalf("want an error that leaves open what became of the call, got %v", err)
	}
	return err
}
