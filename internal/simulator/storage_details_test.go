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
	"strings"
	"testing"

	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// TestStorageDetails makes requests to storages and checks the answers of pve-storage.
func TestStorageDetails(t *testing.T) {
	const content = "/nodes/pve1/storage/local/content"
	sc := lab()
	sc.Storages = append(sc.Storages,
		simulator.ScenarioStorage{ID: "tank", Type: "zfspool", Content: []string{"images"}, Total: "10G"},
		simulator.ScenarioStorage{ID: "thin", Type: "lvmthin", Content: []string{"images"}, Total: "10G"},
	)
	s := simulatortest.NewTest(t, simulator.Options{Scenario: sc})
	c := connect(t, s)
	unparsable := func(name string) string { return "500 unable to parse directory volume name '" + name + "'" }
	converse(t, c, []step{
		{request: "DELETE " + content + "/local:iso/a.txt", line: unparsable("iso/a.txt")},
		{request: "DELETE " + content + "/local:vztmpl/a.zip", line: unparsable("vztmpl/a.zip")},
		{request: "DELETE " + content + "/local:backup/x", line: unparsable("backup/x")},
		{request: "DELETE " + content + "/local:import/a.txt", line: unparsable("import/a.txt")},
		{request: "DELETE " + content + "/local:snippets/a/b", line: unparsable("snippets/a/b")},
		{request: "DELETE " + content + "/local:iso/none.iso"},
		{request: "POST /storage", params: []string{"storage=d1", "type=dir", "path=/d1", "shared=0", "disable=0"}},
		{request: "GET /storage/d1", has: `"disable":0`},
		{request: "GET /storage/d1", has: `"shared":0`},
		{request: "PUT /storage/d1", params: []string{"delete=shared"}},
		{request: "PUT /storage/d1", params: []string{"shared=1"}},
		{request: "GET /storage/d1", has: `"shared":1`},
		{
			request: "POST /storage",
			params: []string{
				"storage=b1", "type=pbs", "server=10.0.0.9", "datastore=d", "master-pubkey=eA==", "encryption-key=autogen", "username=u@pbs",
				"password=p",
			},
			has: `"config":{"encryption-key":"{`,
		},
		{request: "GET /storage/b1", has: `"master-pubkey":"1"`},
	})
	fingerprint := regexp.MustCompile(`"encryption-key":"[0-9a-f]{2}(:[0-9a-f]{2}){31}"`)
	if got := c.ok("GET /storage/b1").Body; !fingerprint.MatchString(got) || strings.Contains(got, `data\`) {
		t.Errorf("the key is told once, and its fingerprint then: %s", got)
	}
	for storage, size := range map[string]string{"tank": "1M", "thin": "4M", "local": "528K"} {
		vmid := map[string]string{"tank": "301", "thin": "302", "local": "303"}[storage]
		c.task("POST /nodes/pve1/qemu", "vmid="+vmid, "bios=ovmf", "efidisk0="+storage+":1,efitype=4m")
		if got, _ := c.config("/nodes/pve1/qemu/" + vmid)["efidisk0"].(string); !strings.HasSuffix(got, "size="+size) {
			t.Errorf("an EFI disk on %s: %s, want size=%s", storage, got, size)
		}
	}
	for name, tc := range map[string]struct{ reason, given, want string }{
		"Folders": {reason: "Folders of Windows are cut off.", given: `..\\..\\x.iso`, want: "x.iso"},
		"Blanks":  {reason: "What is neither a letter nor a digit becomes an underscore.", given: "a b+c.iso", want: "a_b_c.iso"},
		"Bytes":   {reason: "Each byte by itself.", given: "\xff\xfe.iso", want: "__.iso"},
		"Nothing": {reason: "A name needs more than its extension.", given: ".iso"},
	} {
		t.Run(name, func(t *testing.T) {
			body := "--x\r\nContent-Disposition: form-data; name=\"content\"\r\n\r\niso\r\n" +
				"--x\r\nContent-Disposition: form-data; name=\"filename\"; filename=\"" + tc.given + "\"\r\n\r\ndata\r\n--x--\r\n"
			got := c.send("POST", "/nodes/pve1/storage/local/upload", "multipart/form-data; boundary=x", body)
			there := false
			s.Edit(func(st *state.State) {
				there = st.Volume("pve1", "local:iso/"+tc.want) != nil
				delete(st.Volumes, state.VolumeKey{Storage: "local", Node: "pve1", Name: "iso/" + tc.want})
			})
			if tc.want != "" && !there {
				t.Errorf("%s %s %s", tc.reason, got.Line, got.Body)
			}
			if tc.want == "" && got.Line != wrong {
				t.Errorf("%s %s", tc.reason, got.Line)
			}
		})
	}
}

// TestInterfaceDetails checks settings of interfaces that PVE::INotify adds.
func TestInterfaceDetails(t *testing.T) {
	const network = "/nodes/pve1/network"
	sc := lab()
	sc.Nodes[0].Interfaces = append(sc.Nodes[0].Interfaces, simulator.ScenarioInterface{Name: "ens18", Type: "eth"})
	c := connect(t, simulatortest.NewTest(t, simulator.Options{Scenario: sc}))
	converse(t, c, []step{
		{request: "POST " + network, params: []string{"iface=vmbr7", "type=bridge", "bridge_vlan_aware=1", "bridge_vids=2-10"}},
		{request: "GET " + network + "/vmbr7", has: `"bridge_vids":"2-10"`},
		{request: "POST " + network, params: []string{"iface=bond0", "type=bond"}},
		{request: "GET " + network + "/bond0", has: `"bond_mode":"balance-rr"`},
		{request: "POST " + network, params: []string{"iface=ens18.100", "type=vlan"}},
		{request: "GET " + network + "/ens18.100", has: `"vlan-id":"100","vlan-raw-device":"ens18"`},
	})
}

// TestFirmwareCertificates checks that a new EFI disk with keys shows that its firmware came with Microsoft's certificate of 2023.
func TestFirmwareCertificates(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, version, keys string
		firmware, want        bool
	}{
		"Recent":  {reason: "The marker is PVE's own.", version: "9.2", keys: "1", firmware: true, want: true},
		"NoKeys":  {reason: "No certificate is there without keys.", version: "9.2", keys: "0", firmware: true},
		"Former":  {reason: "A firmware without the certificate has no marker.", version: "9.2", keys: "1"},
		"Release": {reason: "PVE 8.4 knows of no marker.", version: "8.4", keys: "1", firmware: true},
	} {
		t.Run(name, func(t *testing.T) {
			sc := lab()
			sc.Version, sc.Firmware2023 = tc.version, tc.firmware
			c := connect(t, simulatortest.NewTest(t, simulator.Options{Scenario: sc}))
			c.task("POST /nodes/pve1/qemu", "vmid=301", "bios=ovmf", "efidisk0=local:1,efitype=4m,pre-enrolled-keys="+tc.keys)
			got, _ := c.config("/nodes/pve1/qemu/301")["efidisk0"].(string)
			if strings.Contains(got, "ms-cert=2023k") != tc.want {
				t.Errorf("efidisk0 is %q, want the marker: %t; %s", got, tc.want, tc.reason)
			}
		})
	}
}

// TestFirmwareEnrolled checks that an EFI disk with a new marker of 2023 gets the certificates when the marker is applied
// (PVE::QemuServer::OVMF::drive_change).
func TestFirmwareEnrolled(t *testing.T) {
	c := connect(t, simulatortest.NewTest(t, simulator.Options{Scenario: lab()}))
	for vmid, tc := range map[string]struct{ reason, keys, set, want string }{
		"301": {reason: "All certificates are added.", keys: "1", set: "2023w", want: "2023k"},
		"302": {reason: "No certificates are added without keys.", keys: "0", set: "2023k"},
		"303": {reason: "An older marker is taken as it is.", keys: "1", set: "2011", want: "2011"},
	} {
		t.Run(vmid, func(t *testing.T) {
			vm := "/nodes/pve1/qemu/" + vmid
			c.task("POST /nodes/pve1/qemu", "vmid="+vmid, "bios=ovmf", "efidisk0=local:1,efitype=4m,pre-enrolled-keys="+tc.keys)
			disk, _ := c.config(vm)["efidisk0"].(string)
			c.ok("PUT "+vm+"/config", "efidisk0="+disk+",ms-cert="+tc.set)
			got, _ := c.config(vm)["efidisk0"].(string)
			if _, marker, _ := strings.Cut(got, "ms-cert="); !strings.HasPrefix(got, strings.SplitN(disk, ",", 2)[0]) || strings.SplitN(marker, ",", 2)[0] != tc.want {
				t.Errorf("%s efidisk0 is %q, want the marker %q", tc.reason, got, tc.want)
			}
		})
	}
}
