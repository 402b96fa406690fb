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
	"regexp"
	"testing"

	"github.com/go-crypt/crypt"

	"github.com/vitistack/provider-proxmox/internal/simulator/api/qemu"
)

func TestHashedPassword(t *testing.T) {
	got, err := qemu.HashedPassword("Hello world!")
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`^\$5\$[0-9a-f]{8}\$[./0-9A-Za-z]{43}$`).MatchString(got) {
		t.Errorf("the hash %q does not have PVE's form", got)
	}
	if ok, err := crypt.CheckPassword("Hello world!", got); !ok || err != nil {
		t.Errorf("the hash %q is not that of the password: %v", got, err)
	}
	if again, err := qemu.HashedPassword(got); again != got || err != nil {
		t.Errorf("a hash must stay as it is: got %q, %v", again, err)
	}
}
