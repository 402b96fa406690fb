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

package nocloud

import (
	"strings"
	"testing"
)

func TestPasswordHash(t *testing.T) {
	cases := map[string]struct {
		reason         string
		password, seed string
		want           string
	}{
		// From openssl passwd -6 -salt 19b25856e1c150ca 'correct horse'.
		"Plain": {
			reason: "A password is hashed as crypt(3) does.", password: "correct horse", seed: "seed",
			want: "$6$19b25856e1c150ca$h74y6uAPt04OumDCibQ.eaf3/mgta2CKaYpRpgRjDxeIvXBD8s/df.XAYFrJU3NsBNJ6CwvU6SplAzpHfrj/90",
		},
		"SHA256":   {reason: "A hash is left as it is.", password: "$5$salt$hash", seed: "seed", want: "$5$salt$hash"},
		"Bcrypt":   {reason: "A hash of any kind that PVE takes stays.", password: "$2y$10$salthash", seed: "seed", want: "$2y$10$salthash"},
		"Yescrypt": {reason: "A password is not hashed in a way that PVE does not take.", password: "$y$j9T$salt$hash", seed: "seed"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := PasswordHash(tc.password, tc.seed)
			if err != nil || tc.want != "" && got != tc.want || tc.want == "" && !strings.HasPrefix(got, "$6$19b25856e1c150ca$") {
				t.Errorf("%s Got %q and error %v", tc.reason, got, err)
			}
			if again, err := PasswordHash(tc.password, tc.seed); again != got || err != nil {
				t.Errorf("The hash does not stay: %q became %q, %v", got, again, err)
			}
		})
	}
	a, errA := PasswordHash("secret", "a")
	b, errB := PasswordHash("secret", "b")
	if a == b || errA != nil || errB != nil {
		t.Errorf("Two guests have the same hash %q of the same password, %v, %v", a, errA, errB)
	}
}
