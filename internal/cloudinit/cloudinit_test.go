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

package cloudinit

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

// read an image as a guest with Rock Ridge does.
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

// jolietNames are the names that a guest without Rock Ridge sees.
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
			reason: "Without user-data, the fields are it.",
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
}

func TestNetwork(t *testing.T) {
	d := Data{
		Nameservers: []string{"192.0.2.53"}, SearchDomains: []string{"example.org"},
		Networks: []Network{
			{Number: 0, MAC: "BC:24:11:00:00:01", Address: "192.0.2.10/24", Gateway: "192.0.2.1", Address6: "auto"},
			{Number: 3, MAC: "BC:24:11:00:00:02", Address: "dhcp", Address6: "2001:db8::2/64", Gateway6: "2001:db8::1"},
		},
	}
	out, err := d.network()
	if err != nil {
		t.Fatal(err)
	}
	want := `
version: 2
ethernets:
  eth0:
    match: {macaddress: "bc:24:11:00:00:01"}
    set-name: eth0
    accept-ra: true
    addresses: [192.0.2.10/24]
    routes: [{to: 0.0.0.0/0, via: 192.0.2.1}]
    nameservers: {addresses: [192.0.2.53], search: [example.org]}
  eth3:
    match: {macaddress: "bc:24:11:00:00:02"}
    set-name: eth3
    dhcp4: true
    addresses: ["2001:db8::2/64"]
    routes: [{to: "::/0", via: "2001:db8::1"}]
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
