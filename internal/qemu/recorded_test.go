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
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/proxmox/propertystring"
	"github.com/vitistack/provider-proxmox/internal/qemu/fields"
)

// recordedConfigs returns the configurations in the recordings of a version of PVE.
func recordedConfigs(t *testing.T, version string) []Config {
	t.Helper()
	f, err := os.Open("../simulator/testdata/recordings-" + version + ".json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // It is only read.
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var recordings []struct {
		Request string   `json:"request"`
		Body    string   `json:"body"`
		After   []string `json:"after"`
	}
	if err := json.NewDecoder(z).Decode(&recordings); err != nil {
		t.Fatal(err)
	}
	var configs []Config
	for _, r := range recordings {
		texts := r.After
		if strings.Contains(r.Request, "/config") {
			texts = append(texts, r.Body)
		}
		for _, s := range texts {
			if c := recordedConfig(s); c != nil {
				configs = append(configs, c)
			}
		}
	}
	return configs
}

// recordedConfig parses a configuration, or returns nothing for other texts. Values are as the client reads them.
func recordedConfig(s string) Config {
	if _, rest, ok := strings.Cut(s, ": {"); ok && strings.HasPrefix(s, "conf") {
		s = `{"data":{` + rest + "}"
	}
	var answer struct {
		Data map[string]any `json:"data"`
	}
	if err := json.Unmarshal([]byte(s), &answer); err != nil || answer.Data["smbios1"] == nil {
		return nil
	}
	config := Config{}
	for k, v := range answer.Data {
		if text := strings.TrimSpace(fmt.Sprint(v)); text != "" && k != "digest" {
			config[k] = fmt.Sprint(v)
		}
	}
	return config
}

// printed returns a value after it was parsed and written, for options with a parser.
func printed(option, value string) (string, error) {
	s, _ := fields.Stem(option)
	structured := map[string]string{
		"agent": "enabled", "cpu": "cputype", "machine": "type", "vga": "type", "startup": "order", "audio": "device", "rng": "source",
		"watchdog": "model", "smbios": "uuid", "ipconfig": "", "numa": "", "hostpci": "host", "usb": "host", "virtiofs": "dirid", "boot": "legacy",
	}
	key, ok := structured[s]
	switch b := BusOf(option); {
	case b == "net":
		n, err := proxmox.ParseNIC(value)
		return n.String(), err
	case b != "", s == "efidisk", s == "tpmstate", s == "unused":
		d, err := proxmox.ParseDisk(value)
		return d.String(), err
	case ok && option != "numa" && strings.TrimSpace(value) != "":
		p, err := propertystring.Parse(value, key)
		return p.String(), err
	}
	return value, nil
}

// TestRecordedConfigs checks that real configurations are read and written unchanged, and that what the spec leaves open is not changed.
func TestRecordedConfigs(t *testing.T) {
	for _, version := range []string{"8.4", "9.2"} {
		t.Run(version, func(t *testing.T) {
			configs := recordedConfigs(t, version)
			if len(configs) < 100 {
				t.Fatalf("there are %d configurations, want more than 100", len(configs))
			}
			for _, config := range configs {
				for option, value := range config {
					if got, err := printed(option, value); err != nil || got != value {
						t.Errorf("%s: %q is written %q, %v", option, value, got, err)
					}
				}
				d := desiredOf(t, v1alpha1.MachineParameters{}, Devices{}, config)
				d.Identity.UUID = config.UUID()
				if diff, no := d.Difference(config), d.Rejections(config); !diff.Empty() || len(no) > 0 {
					t.Errorf("%v: want no difference and no refusal, got %v and %q", config, diff, no)
				}
			}
		})
	}
}

// fullSpec declares everything that the fullest of the recorded VMs has.
const fullSpec = `
name: full
cpu: {cores: 2, sockets: 1, type: x86-64-v2-AES, numa: true}
memory: 128Mi
memoryOptions: {minimum: 64Mi}
osType: linux
machineType: q35
bios: ovmf
scsiController: virtio-scsi-single
onBoot: true
agent: true
tablet: false
tags: [web, prod]
description: "line1\nline2 ü % : #x"
efiDisk: {storage: local, type: 4m, preEnrolledKeys: true}
tpm: {storage: local, version: v2.0}
disks:
  - {name: root, size: 2G, storage: local, type: scsi, format: qcow2, ioThread: true, discard: true, ssd: true, serial: ABC}
  - {name: tiny, size: 32M, storage: data2, type: scsi, format: raw, cache: none, backup: true}
networks:
  - {name: a, model: virtio, macAddress: "BC:24:11:AA:BB:CC", bridge: vmbr0, vlan: 10, firewall: true, ipConfig: {address: 10.0.0.5/24, gateway: 10.0.0.1}}
  - {name: b, model: e1000, bridge: vmbr1, linkDown: true, rateMBps: 10, ipConfig: {address: dhcp, address6: auto}}
cloudInit:
  user: admin
  nameservers: [1.1.1.1]
  searchDomains: [example.org]
  sshKeys: ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPEVXq6hbhApzpH+Wpd82EF2IoKl/eJXORNjzBf9plsI me@x"]
bootOrder: [root, a]
serialPorts: [socket]
vga: {type: serial0}
rng: {source: /dev/urandom, maxBytes: 1024}
startup: {order: 2, upSeconds: 5}
protection: true
`

func TestRecordedVMDeclared(t *testing.T) {
	for _, version := range []string{"8.4", "9.2"} {
		t.Run(version, func(t *testing.T) {
			found := false
			for _, config := range recordedConfigs(t, version) {
				if config["name"] != "full" || config["efidisk0"] == "" {
					continue
				}
				found = true
				d := desiredOf(t, parameters(t, fullSpec), Devices{}, config)
				d.Identity.UUID = config.UUID()
				if diff := cmp.Diff(Difference{Set: proxmox.Params{}}, d.Difference(config)); diff != "" {
					t.Errorf("difference: -want, +got:\n%s", diff)
				}
				if no := d.Rejections(config); len(no) > 0 {
					t.Errorf("refusals: %q", no)
				}
			}
			if !found {
				t.Error("the VM is not in the recordings")
			}
		})
	}
}
