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

package simulator

import "testing"

func TestSHA256Crypt(t *testing.T) {
	cases := map[string]struct{ reason, password, salt, want string }{
		"Short": {
			reason: "Short passwords and salts come out.", password: "x", salt: "ab",
			want: "$5$ab$5ydlOaPxAq0VpamGFK.BZgHF7HlR0erJsH.F7VB19f0",
		},
		"Long": {
			reason: "What OpenSSL makes of it comes out.", password: "Hello world!", salt: "saltstring",
			want: "$5$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := sha256Crypt(tc.password, tc.salt); got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
			if got := hashedPassword(tc.want); got != tc.want {
				t.Errorf("a hash must stay as it is: got %q", got)
			}
		})
	}
}
