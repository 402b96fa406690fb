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
	"strings"
	"testing"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

const (
	ed25519Key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEXAMPLEEXAMPLEEXAMPLEEXAMPLEEXAMPLEEXAMPLEA"
	ecdsaKey   = "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBD9XK8AAvVRiWhBG5K9Pp8rkZxYHGy5zT/jHeA+a89/TPkQfqQJS0FHYYqEFFqZftkxOe4eXeTKZv1SFI/n3Rf0="
	offCurve   = "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBBFPIrrkzF8FzkOaLn6e3cMAv6i4mLgIR0apMM2GdbtThn1h5UIIrGlJwxHFKFr0AUk8fPO0eXfnBj0DjLAlYQE="
)

// What ssh-keygen -l reads is a key, and what it does not read is none.
func TestPublicKeys(t *testing.T) {
	cases := map[string]struct {
		reason string
		key    string
		want   bool
	}{
		"ED25519":      {reason: "A type and a blob are a key.", key: ed25519Key, want: true},
		"ECDSA":        {reason: "Of any type.", key: ecdsaKey, want: true},
		"Comment":      {reason: "A comment may follow.", key: ed25519Key + " me at home", want: true},
		"Options":      {reason: "Options may come first.", key: `from="192.0.2.1",command="a b" ` + ed25519Key + " me", want: true},
		"Tabs":         {reason: "Tabs part words too.", key: strings.ReplaceAll(ed25519Key, " ", "\t"), want: true},
		"Cut":          {reason: "A key whose end is missing is none.", key: ed25519Key[:len(ed25519Key)-1]},
		"Padded":       {reason: "Padding does not mend it.", key: ed25519Key[:len(ed25519Key)-4]},
		"Long":         {reason: "Nor is one with something after its end.", key: ed25519Key + "AAAA"},
		"OffCurve":     {reason: "Nor is one whose point is on no curve.", key: offCurve},
		"TwoLines":     {reason: "Two keys are two entries.", key: ed25519Key + "\n" + ecdsaKey},
		"AnotherType":  {reason: "A blob of another type is none.", key: strings.Replace(ed25519Key, "ssh-ed25519", "ssh-rsa", 1)},
		"TypeAlone":    {reason: "The type alone is none.", key: "ssh-ed25519"},
		"BlobOfType":   {reason: "A blob with nothing but the type is none.", key: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5"},
		"Placeholder":  {reason: "Nor is what stands for a key.", key: "ssh-ed25519 AAAA... me@example.com"},
		"LengthTooBig": {reason: "A length beyond the end is no reason to fall over.", key: "ssh-ed25519 /////w=="},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := isPublicKey(tc.key); got != tc.want {
				t.Errorf("%s Want %v, got %v.", tc.reason, tc.want, got)
			}
			p := v1alpha1.MachineParameters{CloudInit: &v1alpha1.MachineCloudInit{SSHKeys: []string{ed25519Key, tc.key}}}
			d := desiredOf(t, p, Devices{}, nil)
			if no := d.sshKeyRejections(nil); tc.want != (len(no) == 0) || !tc.want && !strings.HasPrefix(no[0], "cloudInit.sshKeys[1]") {
				t.Errorf("%s Refused: %q.", tc.reason, no)
			}
			if no := d.sshKeyRejections(Config{"sshkeys": joinKeys(p.CloudInit.SSHKeys)}); len(no) > 0 {
				t.Errorf("What the VM has is not sent, and refused: %q.", no)
			}
		})
	}
}
