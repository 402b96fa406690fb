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
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	backend "github.com/diskfs/go-diskfs/backend/file"
	"github.com/diskfs/go-diskfs/filesystem/iso9660"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// read reads an image like a guest with Rock Ridge.
func read(t *testing.T, image []byte) map[string]string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "image.iso")
	if err := os.WriteFile(name, image, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	fs, err := iso9660.Read(backend.New(f, true), 0, 0, sector)
	if err != nil {
		t.Fatalf("cannot read the image: %v", err)
	}
	if got := strings.TrimSpace(fs.Label()); got != "cidata" {
		t.Errorf("want label cidata, got %q", got)
	}
	entries, err := fs.ReadDir("/")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, e := range entries {
		in, err := fs.OpenFile("/"+e.Name(), os.O_RDONLY)
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(content)
	}
	return files
}

// jolietNames returns the names that a guest without Rock Ridge reads.
func jolietNames(image []byte) []string {
	var names []string
	dir := image[jolietDirAt*sector:]
	for len(dir) > 33 && dir[0] > 0 {
		name := dir[33 : 33+int(dir[32])]
		var units []uint16
		for i := 0; i+1 < len(name); i += 2 {
			units = append(units, uint16(name[i])<<8|uint16(name[i+1]))
		}
		if len(units) > 0 {
			names = append(names, string(utf16.Decode(units)))
		}
		dir = dir[dir[0]:]
	}
	return names
}

func TestImage(t *testing.T) {
	large := strings.Repeat("# a line of a long script\n", 5000)
	cases := map[string]struct {
		reason string
		data   Data
		want   map[string]string
	}{
		"Fields": {
			reason: "The fields make the user-data where none is given.",
			data:   Data{InstanceID: "i-1", Hostname: "web", User: "admin", SSHKeys: []string{"ssh-ed25519 AAAA a"}},
			want: map[string]string{
				"meta-data":   "instance-id: i-1\nlocal-hostname: web\n",
				"user-data":   "#cloud-config\nssh_authorized_keys:\n- ssh-ed25519 AAAA a\nuser: admin\nusers:\n- default\n",
				"vendor-data": "",
			},
		},
		"UserData": {
			reason: "User-data are what somebody has written, to the byte; the fields are vendor-data.",
			data:   Data{InstanceID: "i-1", Hostname: "web.example.org", UserData: new("#!/bin/sh\n" + large), PasswordHash: "$5$salt$hash", Upgrade: new(false)},
			want: map[string]string{
				"meta-data":   "instance-id: i-1\nlocal-hostname: web.example.org\n",
				"user-data":   "#!/bin/sh\n" + large,
				"vendor-data": "#cloud-config\nchpasswd:\n  expire: false\npackage_upgrade: false\npassword: $5$salt$hash\nusers:\n- default\n",
			},
		},
		"Root": {
			reason: "Who is to log in as root has not to be told to log in as somebody else.",
			data:   Data{InstanceID: "i-1", Hostname: "web", SearchDomains: []string{"example.org", "example.com"}, User: "root"},
			want: map[string]string{
				"meta-data":   "instance-id: i-1\nlocal-hostname: web.example.org\n",
				"user-data":   "#cloud-config\ndisable_root: false\nuser: root\n",
				"vendor-data": "",
			},
		},
		"VendorData": {
			reason: "Vendor-data are as written if no field says anything.",
			data:   Data{UserData: new("#cloud-config\n"), VendorData: new("#cloud-config\npackages: [vim]\n"), NetworkConfig: new("version: 1\n")},
			want: map[string]string{
				"meta-data": "instance-id: \"\"\nlocal-hostname: \"\"\n", "network-config": "version: 1\n",
				"user-data": "#cloud-config\n", "vendor-data": "#cloud-config\npackages: [vim]\n",
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			image, err := tc.data.Image()
			if err != nil {
				t.Fatal(err)
			}
			got := read(t, image)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\n-want, +got:\n%s", tc.reason, diff)
			}
			if names := jolietNames(image); len(names) != len(tc.want) || names[0] != "meta-data" {
				t.Errorf("\n%s\nJoliet names are %q", tc.reason, names)
			}
			again, err := tc.data.Image()
			if err != nil || !bytes.Equal(image, again) {
				t.Errorf("\n%s\nthe same data became another image, or %v", tc.reason, err)
			}
		})
	}
}

func TestJoined(t *testing.T) {
	d := Data{UserData: new("#cloud-config\n"), VendorData: new("#!/bin/sh\necho hello\n"), User: "admin"}
	files, err := d.files()
	if err != nil {
		t.Fatal(err)
	}
	vendor := string(files[len(files)-1].content)
	for _, want := range []string{"Content-Type: multipart/mixed; boundary=", "#cloud-config\nuser: admin\n", "#!/bin/sh\necho hello\n"} {
		if !strings.Contains(vendor, want) {
			t.Errorf("want %q in the vendor-data, got:\n%s", want, vendor)
		}
	}
	d.VendorData = new("Content-Type: multipart/mixed; boundary=x\n\n--x--\n")
	if _, err := d.Image(); err == nil {
		t.Error("An archive was put into an archive, where cloud-init does not look")
	}
	d.VendorData = new("\x1f\x8b\x08\x00")
	if _, err := d.Image(); err == nil {
		t.Error("Compressed data were put into an archive, where cloud-init does not unpack them")
	}
}

func TestUnderstood(t *testing.T) {
	cases := map[string]struct {
		reason string
		data   Data
		want   string
	}{
		"Good": {
			reason: "What is YAML is taken.",
			data:   Data{UserData: new("#cloud-config\nruncmd:\n- [sh, -c, 'echo 1']\n"), NetworkConfig: new("version: 1\nconfig: disabled\n")},
		},
		"Empty": {reason: "Data that say nothing are taken.", data: Data{UserData: new("#cloud-config\n"), VendorData: new(""), NetworkConfig: new("")}},
		"Keys":  {reason: "YAML knows more than JSON does.", data: Data{UserData: new("#cloud-config\n1: a\ntrue: b\ndate: 2026-11-21\n")}},
		"UserData": {
			reason: "Cloud-config that is not YAML would be left out.",
			data:   Data{UserData: new("#cloud-config\npackages:\n - a\n  b: hush-hush: x\n")}, want: "cloudInit.userData is not YAML, near line",
		},
		"Tab": {
			reason: "YAML has no tabs.", data: Data{VendorData: new("#cloud-config\r\nusers:\n\t- hush-hush\n")},
			want: "cloudInit.vendorData is not YAML, near line",
		},
		"Network": {
			reason: "Network configuration has no header.", data: Data{NetworkConfig: new("version: 1\n config: hush-hush\n")},
			want: "cloudInit.networkConfig is not YAML, near line",
		},
		"Script": {reason: "What is not cloud-config need not be YAML.", data: Data{UserData: new("#!/bin/sh\n\tset -e: :\n")}},
		"Template": {
			reason: "A template is YAML only when it is filled in.",
			data:   Data{UserData: new("## template: jinja\n#cloud-config\n{% if true %}\na: b: c\n{% endif %}\n")},
		},
		"Ignition": {reason: "What is for Ignition need not be YAML.", data: Data{UserData: new("{\"ignition\": {\"version\": \"3.4.0\"}}")}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := tc.data.Image()
			switch {
			case (err != nil) != (tc.want != ""), err != nil && !strings.HasPrefix(err.Error(), tc.want):
				t.Errorf("%s Want error %q, got %v", tc.reason, tc.want, err)
			case err != nil && strings.Contains(err.Error(), "hush-hush"):
				t.Errorf("%s The error has the data: %v", tc.reason, err)
			}
		})
	}
}

func TestNetwork(t *testing.T) {
	d := Data{
		Nameservers: []string{"192.0.2.53"}, SearchDomains: []string{"example.org"},
		Networks: []Network{
			{Number: 0, MAC: "BC:24:11:00:00:01", Address: "192.0.2.10/24", Gateway: "192.0.2.1", Address6: "auto"},
			{Number: 3, MAC: "BC:24:11:00:00:02", Address: "dhcp", Address6: "2001:db8::2/64", Gateway6: "2001:db8::1"},
			{Number: 4, MAC: "10:20:30:40:50:10", Address: "manual"},
		},
	}
	out, err := d.network()
	if err != nil {
		t.Fatal(err)
	}
	want := `
version: 1
config:
- type: physical
  name: eth0
  mac_address: "bc:24:11:00:00:01"
  subnets:
  - {type: static, address: 192.0.2.10, netmask: 255.255.255.0, gateway: 192.0.2.1}
  - {type: ipv6_slaac}
- type: physical
  name: eth3
  mac_address: "bc:24:11:00:00:02"
  subnets:
  - {type: dhcp4}
  - {type: static6, address: "2001:db8::2/64", gateway: "2001:db8::1"}
- type: physical
  name: eth4
  mac_address: "10:20:30:40:50:10"
- {type: nameserver, address: [192.0.2.53], search: [example.org]}
`
	var got, wanted any
	if err := yaml.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal([]byte(want), &wanted); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Errorf("network-config: -want, +got:\n%s", diff)
	}
}

func TestWithInstance(t *testing.T) {
	with := func(user string) string {
		d, err := Data{UserData: &user}.WithInstance("uuid")
		if err != nil {
			t.Fatal(err)
		}
		return d.InstanceID
	}
	if a, b := with("#cloud-config\n"), with("#cloud-config\n"); a != b || !strings.HasPrefix(a, "uuid-") {
		t.Errorf("The same data are the same instance, got %q and %q", a, b)
	}
	if with("#cloud-config\n") == with("#cloud-config\npackages: []\n") {
		t.Error("Other data are another instance")
	}
}
