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

package checksum

import (
	"strings"
	"testing"
)

// sum returns a sum with a number of hexadecimal digits.
func sum(digit string, digits int) string { return strings.Repeat(digit, digits) }

// lists returns lists in the form of distributions, shortened.
func lists() map[string]string {
	return map[string]string{
		"Debian": sum("a", 128) + "  debian-13-generic-amd64.qcow2\n" +
			sum("b", 128) + "  debian-13-generic-amd64.raw\n" +
			sum("c", 128) + "  debian-13-generic-amd64.tar.xz\n",
		"Ubuntu": sum("1", 64) + " *noble-server-cloudimg-amd64-root.tar.xz\n" +
			sum("2", 64) + " *noble-server-cloudimg-amd64.img\n",
		"Fedora": "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\n" +
			"# Fedora-Cloud-Base-Generic-43-1.6.x86_64.qcow2: 583532544 bytes\n" +
			"SHA256 (Fedora-Cloud-Base-Generic-43-1.6.x86_64.qcow2) = " + sum("d", 64) + "\n" +
			"# Fedora-Cloud-Base-GCE-43-1.6.x86_64.tar.gz: 583532544 bytes\n" +
			"SHA256 (Fedora-Cloud-Base-GCE-43-1.6.x86_64.tar.gz) = " + sum("e", 64) + "\n" +
			"-----BEGIN PGP SIGNATURE-----\n\n" + sum("f", 64) + "\n=abcd\n-----END PGP SIGNATURE-----\n",
		"Alma": sum("3", 64) + "  AlmaLinux-10-GenericCloud-10.1-20251125.0.x86_64.qcow2\n" +
			sum("4", 64) + "  AlmaLinux-10-GenericCloud-latest.x86_64.qcow2\n",
		"Alone":   sum("5", 128) + "\n",
		"Folders": sum("6", 64) + "  ./amd64/disk.qcow2\r\n" + sum("7", 64) + "  ./arm64/disk.qcow2\r\n",
		"Several": "MD5 (disk.qcow2) = " + sum("8", 32) + "\nSHA256 (disk.qcow2) = " + sum("9", 64) + "\n",
		"Twice":   sum("1", 64) + "  disk.qcow2\n" + sum("2", 64) + "  disk.qcow2\n",
		"Upper":   strings.ToUpper(sum("a", 64)) + "  disk.qcow2\n",
		"Page":    "<html><body>404</body></html>\n",
		"Mislaid": "SHA512 (disk.qcow2) = " + sum("9", 64) + "\n",
	}
}

func TestFind(t *testing.T) {
	cases := map[string]struct {
		reason string
		list   string
		url    string
		want   string
	}{
		"Debian": {
			reason: "Lines of sha512sum are read.", list: "Debian",
			url: "https://cloud.debian.org/images/cloud/trixie/latest/debian-13-generic-amd64.qcow2", want: "sha512:" + sum("a", 128),
		},
		"Ubuntu": {
			reason: "The star of a binary file does not belong to its name.", list: "Ubuntu",
			url: "https://cloud-images.ubuntu.com/noble/current/noble-server-cloudimg-amd64.img?x=1", want: "sha256:" + sum("2", 64),
		},
		"Fedora": {
			reason: "BSD's form is read, within a signature and beside comments.", list: "Fedora",
			url: "https://download.fedoraproject.org/x/Fedora-Cloud-Base-Generic-43-1.6.x86_64.qcow2", want: "sha256:" + sum("d", 64),
		},
		"Alma": {
			reason: "The name that always means the newest is one among others.", list: "Alma",
			url: "https://repo.almalinux.org/x/AlmaLinux-10-GenericCloud-latest.x86_64.qcow2", want: "sha256:" + sum("4", 64),
		},
		"Alone": {reason: "A sum that stands alone is the file's.", list: "Alone", url: "https://example.org/disk.qcow2", want: "sha512:" + sum("5", 128)},
		"Folders": {
			reason: "The name in the URL's folder counts among equal names.", list: "Folders", url: "https://example.org/arm64/disk.qcow2",
			want: "sha256:" + sum("7", 64),
		},
		"OtherFolders": {reason: "Which of equal names is meant is not guessed.", list: "Folders", url: "https://example.org/x/disk.qcow2"},
		"Several":      {reason: "The longest of several sums counts.", list: "Several", url: "https://example.org/disk.qcow2", want: "sha256:" + sum("9", 64)},
		"Twice":        {reason: "A list that contradicts itself proves nothing.", list: "Twice", url: "https://example.org/disk.qcow2"},
		"Upper":        {reason: "Digits are compared in lower case.", list: "Upper", url: "https://example.org/disk.qcow2", want: "sha256:" + sum("a", 64)},
		"Missing":      {reason: "A file that is not listed has no checksum.", list: "Debian", url: "https://example.org/debian-12.qcow2"},
		"Page":         {reason: "A page of HTML is no list.", list: "Page", url: "https://example.org/disk.qcow2"},
		"Mislaid":      {reason: "A sum that is not as long as its algorithm's is none.", list: "Mislaid", url: "https://example.org/disk.qcow2"},
		"Prefix":       {reason: "A name that only ends in the file's is another file.", list: "Upper", url: "https://example.org/isk.qcow2"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Find([]byte(lists()[tc.list]), tc.url)
			if got.String() != tc.want || (err == nil) != (tc.want != "") {
				t.Errorf("\n%s\nFind(): want %q, got %q, %v", tc.reason, tc.want, got, err)
			}
		})
	}
}

func TestParse(t *testing.T) {
	for given, want := range map[string]string{
		"":                               "",
		"sha256:" + sum("A", 64):         "sha256:" + sum("a", 64),
		"md5:" + sum("0", 32):            "md5:" + sum("0", 32),
		"sha256:" + sum("a", 63):         "error",
		"sha256:" + sum("g", 64):         "error",
		"crc32:01234567":                 "error",
		sum("a", 64):                     "error",
		"sha256:" + sum("a", 64) + "\n":  "error",
		"sha256: " + sum("a", 63):        "error",
		"sha512:sha512:" + sum("a", 121): "error",
	} {
		got, err := Parse(given)
		if err != nil && want == "error" {
			continue
		}
		if err != nil || got.String() != want {
			t.Errorf("Parse(%q): want %q, got %q, %v", given, want, got, err)
		}
	}
}

// FuzzFind checks that a result is a valid checksum and is in the list.
func FuzzFind(f *testing.F) {
	for _, list := range lists() {
		f.Add(list, "https://example.org/a/disk.qcow2")
	}
	f.Fuzz(func(t *testing.T, list, address string) {
		c, err := Find([]byte(list), address)
		if err != nil {
			return
		}
		back, err := Parse(c.String())
		if err != nil || back != c {
			t.Errorf("Find() returned %q, which is no checksum: %v", c, err)
		}
		if !strings.Contains(strings.ToLower(list), c.Sum) {
			t.Errorf("Find() returned %q, which the list does not have", c)
		}
	})
}
