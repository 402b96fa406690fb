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

package qemu

import (
	"net/url"
	"strings"
	"testing"
)

func TestSSHKeys(t *testing.T) {
	keys := []string{"ssh-ed25519 AAAA+b/c= a b@example", "ssh-rsa BBBB ü"}
	encoded := joinKeys(keys)
	if strings.ContainsAny(encoded, "+ /=\n@") {
		t.Errorf("%q has characters that PVE's own encoding escapes", encoded)
	}
	if !strings.Contains(encoded, "%20") {
		t.Errorf("%q: a space must be %%20", encoded)
	}
	plain, err := url.PathUnescape(encoded)
	if err != nil || plain != strings.Join(keys, "\n") {
		t.Errorf("%q decodes to %q, %v", encoded, plain, err)
	}

	cases := map[string]struct {
		reason string
		stored string
		want   bool
	}{
		"Same":         {reason: "What PVE stores as we sent it is equal.", stored: encoded, want: true},
		"EndOfLine":    {reason: "PVE's GUI ends the keys with a line end.", stored: encoded + "%0A", want: true},
		"LowerCaseHex": {reason: "Escapes are equal in any case.", stored: strings.ReplaceAll(encoded, "%2F", "%2f"), want: true},
		"Other":        {reason: "A key that is missing is a difference.", stored: strings.Split(encoded, "%0A")[0]},
		"Absent":       {reason: "No key is a difference.", stored: ""},
		"Broken":       {reason: "What cannot be decoded is a difference.", stored: "%zz"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := sameKeys(tc.stored, encoded); got != tc.want {
				t.Errorf("\n%s\nsameKeys(%q): want %t, got %t", tc.reason, tc.stored, tc.want, got)
			}
		})
	}
}
