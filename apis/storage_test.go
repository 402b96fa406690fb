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

package apis_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// storageOf returns a Storage of the scope with parameters in YAML.
func (s scope) storageOf(t *testing.T, forProvider string) *unstructured.Unstructured {
	t.Helper()
	u := s.object(t, "Storage", "{}")
	u.Object["spec"] = map[string]any{"forProvider": parse(t, forProvider)}
	return u
}

// storageTypes returns the shortest block of each type of storages.
func storageTypes() map[string]string {
	return map[string]string{
		"dir":     `{path: /srv/a}`,
		"nfs":     `{server: nas, export: /srv/a}`,
		"cifs":    `{server: nas, share: a}`,
		"lvm":     `{volumeGroup: vg0}`,
		"lvmthin": `{volumeGroup: vg0, thinPool: data}`,
		"zfspool": `{pool: rpool/data}`,
		"btrfs":   `{path: /srv/b}`,
		"rbd":     `{pool: vms}`,
		"cephfs":  `{fsName: cephfs}`,
		"iscsi":   `{portal: san, target: "iqn.2026-01.com.example:a"}`,
		"pbs":     `{server: pbs, datastore: main}`,
		"esxi":    `{server: esxi, username: root, passwordSecretRef: {namespace: team, name: esxi, key: password}}`,
	}
}

// allBut returns the names of all types of storages but those given.
func allBut(names ...string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(storageTypes())), func(name string) bool { return slices.Contains(names, name) })
}

// TestStorageTypes admits each type by itself, and no two.
func TestStorageTypes(t *testing.T) {
	const one = "a Storage is of one type"
	types := storageTypes()
	for name, block := range types {
		for in, s := range scopes() {
			t.Run(name+"/"+in, func(t *testing.T) {
				wantAccepted(t, "A Storage of one type is complete.", tryCreate(t.Context(), s.storageOf(t, "{"+name+": "+block+"}")))
				for _, other := range allBut(name) {
					spec := "{" + name + ": " + block + ", " + other + ": " + types[other] + "}"
					wantRefused(t, "A Storage of the types "+name+" and "+other+" cannot be.", tryCreate(t.Context(), s.storageOf(t, spec)), one)
				}
			})
		}
	}
	for in, s := range scopes() {
		t.Run("None/"+in, func(t *testing.T) {
			wantRefused(t, "A Storage without a type cannot be.", tryCreate(t.Context(), s.storageOf(t, "{content: [iso]}")), one)
		})
	}
}

// TestStorageOptions has options that only some types have, with the types that have them.
func TestStorageOptions(t *testing.T) {
	backups := []string{"dir", "nfs", "cifs", "btrfs", "cephfs", "pbs"}
	cases := map[string]struct {
		option string
		types  []string
		want   string
	}{
		"Shared":              {option: "shared: true", types: []string{"dir", "lvm", "btrfs", "esxi"}, want: "shared is for dir, lvm, btrfs and esxi"},
		"Preallocation":       {option: "preallocation: full", types: []string{"dir", "nfs", "cifs", "btrfs"}, want: "preallocation is for dir"},
		"PruneBackups":        {option: "pruneBackups: {keepLast: 3}", types: backups, want: "are for storages that can hold backups"},
		"MaxProtectedBackups": {option: "maxProtectedBackups: 3", types: backups, want: "are for storages that can hold backups"},
		"Bandwidth":           {option: "bandwidth: {default: 1024}", types: allBut("btrfs", "pbs", "esxi"), want: "bandwidth is not for btrfs"},
	}
	for name, tc := range cases {
		for kind, block := range storageTypes() {
			for in, s := range scopes() {
				t.Run(name+"/"+kind+"/"+in, func(t *testing.T) {
					err := tryCreate(t.Context(), s.storageOf(t, "{"+kind+": "+block+", "+tc.option+"}"))
					if slices.Contains(tc.types, kind) {
						wantAccepted(t, "Proxmox VE has the option for the type.", err)
						return
					}
					wantRefused(t, "Proxmox VE has no such option for the type.", err, tc.want)
				})
			}
		}
	}
}

func TestStorageRefused(t *testing.T) {
	fingerprint := strings.Repeat("ab:", 31) + "xy"
	cases := map[string]refusal{
		"NameShort":     {reason: "A name has two characters.", spec: `{name: a, dir: {path: /srv/a}}`, want: []string{"spec.forProvider.name"}},
		"NameBegin":     {reason: "A name begins with a letter.", spec: `{name: 1a, dir: {path: /srv/a}}`, want: []string{"spec.forProvider.name"}},
		"NameEnd":       {reason: "A name does not end with a hyphen.", spec: `{name: a-, dir: {path: /srv/a}}`, want: []string{"spec.forProvider.name"}},
		"Node":          {reason: "A node has a name.", spec: `{nodes: [""], dir: {path: /srv/a}}`, want: []string{"nodes"}},
		"NodeTwice":     {reason: "A node is named once.", spec: `{nodes: [a, a], dir: {path: /srv/a}}`, want: []string{"nodes", "Duplicate"}},
		"Content":       {reason: "Only what PVE knows can be kept.", spec: `{content: [disks], dir: {path: /srv/a}}`, want: []string{"content", "rootdir"}},
		"Preallocation": {reason: "PVE knows four modes.", spec: `{preallocation: none, dir: {path: /srv/a}}`, want: []string{"preallocation", "falloc"}},
		"Protected":     {reason: "-1 stands for any number.", spec: `{maxProtectedBackups: -2, dir: {path: /srv/a}}`, want: []string{"maxProtectedBackups"}},
		"Path":          {reason: "A path is absolute.", spec: `{dir: {path: srv}}`, want: []string{"dir.path"}},
		"PathSigns":     {reason: "PVE takes no semicolon in a path.", spec: `{dir: {path: "/srv;a"}}`, want: []string{"dir.path"}},
		"PathMissing":   {reason: "A directory has a path.", spec: `{dir: {}}`, want: []string{"dir.path", "Required"}},
		"Export":        {reason: "An export is absolute.", spec: `{nfs: {server: nas, export: a}}`, want: []string{"nfs.export"}},
		"ServerMissing": {reason: "An export is of a server.", spec: `{nfs: {export: /a}}`, want: []string{"nfs.server", "Required"}},
		"ShareMissing":  {reason: "A share has a name.", spec: `{cifs: {server: nas}}`, want: []string{"cifs.share", "Required"}},
		"SMB":           {reason: "PVE knows some versions of SMB.", spec: `{cifs: {server: nas, share: a, smbVersion: "1.0"}}`, want: []string{"smbVersion"}},
		"Group":         {reason: "A volume group has a name.", spec: `{lvm: {volumeGroup: ""}}`, want: []string{"lvm.volumeGroup"}},
		"ThinPool":      {reason: "A thin pool has a name.", spec: `{lvmthin: {volumeGroup: vg0}}`, want: []string{"lvmthin.thinPool", "Required"}},
		"BlockSize":     {reason: "A block size is a number with a unit.", spec: `{zfspool: {pool: a, blockSize: 16 KiB}}`, want: []string{"zfspool.blockSize"}},
		"BTRFS":         {reason: "The path of BTRFS is absolute.", spec: `{btrfs: {path: srv}}`, want: []string{"btrfs.path"}},
		"Target":        {reason: "A portal has targets.", spec: `{iscsi: {portal: san}}`, want: []string{"iscsi.target", "Required"}},
		"Datastore":     {reason: "A backup server has datastores.", spec: `{pbs: {server: pbs}}`, want: []string{"pbs.datastore", "Required"}},
		"Port":          {reason: "A port has 16 bits.", spec: `{pbs: {server: pbs, datastore: a, port: 65536}}`, want: []string{"pbs.port"}},
		"Fingerprint": {
			reason: "A fingerprint is hexadecimal.", spec: `{pbs: {server: pbs, datastore: a, fingerprint: "` + fingerprint + `"}}`, want: []string{"fingerprint"},
		},
		"Password": {reason: "ESXi wants a password.", spec: `{esxi: {server: a, username: root}}`, want: []string{"esxi.passwordSecretRef", "Required"}},
		"PortZero": {
			reason: "A port is positive.", spec: `{esxi: {server: a, username: root, port: 0, passwordSecretRef: {namespace: b, name: b, key: b}}}`,
			want: []string{"esxi.port"},
		},
		"PruneNothing": {reason: "Rules are at least one.", spec: `{pruneBackups: {}, dir: {path: /srv/a}}`, want: []string{"pruneBackups"}},
		"PruneBelow":   {reason: "A number of backups is not negative.", spec: `{pruneBackups: {keepDaily: -1}, dir: {path: /srv/a}}`, want: []string{"keepDaily"}},
	}
	for _, rule := range []string{"keepLast", "keepHourly", "keepDaily", "keepWeekly", "keepMonthly", "keepYearly"} {
		cases["KeepAll/"+rule] = refusal{
			reason: "A rule that keeps some backups contradicts one that keeps all.",
			spec:   `{pruneBackups: {keepAll: true, ` + rule + `: 1}, dir: {path: /srv/a}}`, want: []string{"keepAll leaves nothing to the other rules"},
		}
	}
	for name, tc := range cases {
		for in, s := range scopes() {
			t.Run(name+"/"+in, func(t *testing.T) {
				wantRefused(t, tc.reason, tryCreate(t.Context(), s.storageOf(t, tc.spec)), tc.want...)
			})
		}
	}
}

func TestStorageAccepted(t *testing.T) {
	cases := map[string]struct{ reason, spec string }{
		"Resets": {reason: "Empty lists and texts stand for defaults.", spec: `{nodes: [], content: [], nfs: {server: nas, export: /a, options: ""}}`},
		"Keep":   {reason: "A rule beside keepAll that is off is in force.", spec: `{pruneBackups: {keepAll: false, keepLast: 3}, dir: {path: /a}}`},
		"Names":  {reason: "A name has letters, digits and signs.", spec: `{name: a-b_c.d1, dir: {path: /a}}`},
		"Block":  {reason: "An empty block size resets it.", spec: `{zfspool: {pool: rpool, blockSize: ""}}`},
		"Fingerprint": {
			reason: "A fingerprint has 32 bytes.", spec: `{pbs: {server: pbs, datastore: a, fingerprint: "` + strings.Repeat("aB:", 31) + `09"}}`,
		},
	}
	for name, tc := range cases {
		for in, s := range scopes() {
			t.Run(name+"/"+in, func(t *testing.T) { wantAccepted(t, tc.reason, tryCreate(t.Context(), s.storageOf(t, tc.spec))) })
		}
	}
}

func TestStorageChange(t *testing.T) {
	const again = " cannot change: delete the Storage and create it again"
	cases := map[string]change{
		"Name":       {before: `{name: ab, dir: {path: /a}}`, after: `{name: cd, dir: {path: /a}}`, want: []string{"name cannot change"}},
		"Dir":        {before: `{dir: {path: /a}}`, after: `{dir: {path: /b}}`, want: []string{"path" + again}},
		"NFSServer":  {before: `{nfs: {server: a, export: /a}}`, after: `{nfs: {server: b, export: /a}}`, want: []string{"server" + again}},
		"NFSExport":  {before: `{nfs: {server: a, export: /a}}`, after: `{nfs: {server: a, export: /b}}`, want: []string{"export" + again}},
		"CIFSServer": {before: `{cifs: {server: a, share: a}}`, after: `{cifs: {server: b, share: a}}`, want: []string{"server" + again}},
		"CIFSShare":  {before: `{cifs: {server: a, share: a}}`, after: `{cifs: {server: a, share: b}}`, want: []string{"share" + again}},
		"LVM":        {before: `{lvm: {volumeGroup: a}}`, after: `{lvm: {volumeGroup: b}}`, want: []string{"volumeGroup" + again}},
		"LVMBase": {
			before: `{lvm: {volumeGroup: a, base: "san:a"}}`, after: `{lvm: {volumeGroup: a, base: "san:b"}}`, want: []string{"base" + again},
		},
		"LVMThinGroup": {
			before: `{lvmthin: {volumeGroup: a, thinPool: a}}`, after: `{lvmthin: {volumeGroup: b, thinPool: a}}`, want: []string{"volumeGroup" + again},
		},
		"LVMThinPool": {
			before: `{lvmthin: {volumeGroup: a, thinPool: a}}`, after: `{lvmthin: {volumeGroup: a, thinPool: b}}`, want: []string{"thinPool" + again},
		},
		"ZFSPool":     {before: `{zfspool: {pool: a}}`, after: `{zfspool: {pool: b}}`, want: []string{"pool" + again}},
		"BTRFS":       {before: `{btrfs: {path: /a}}`, after: `{btrfs: {path: /b}}`, want: []string{"path" + again}},
		"ISCSIPortal": {before: `{iscsi: {portal: a, target: a}}`, after: `{iscsi: {portal: b, target: a}}`, want: []string{"portal" + again}},
		"ISCSITarget": {before: `{iscsi: {portal: a, target: a}}`, after: `{iscsi: {portal: a, target: b}}`, want: []string{"target" + again}},
		"PBSServer":   {before: `{pbs: {server: a, datastore: a}}`, after: `{pbs: {server: b, datastore: a}}`, want: []string{"server" + again}},
		"PBSStore":    {before: `{pbs: {server: a, datastore: a}}`, after: `{pbs: {server: a, datastore: b}}`, want: []string{"datastore" + again}},
		"Type":        {before: `{dir: {path: /a}}`, after: `{btrfs: {path: /a}}`, want: []string{"the type of a Storage cannot change"}},
		"Rest": {
			before: `{rbd: {pool: a, monitors: [a]}, content: [images]}`,
			after:  `{name: admission, rbd: {pool: b, monitors: [b], krbd: true}, nodes: [a], content: [], disabled: true}`,
		},
		"Server": {
			before: `{esxi: {server: a, username: a, passwordSecretRef: {namespace: a, name: a, key: a}}}`,
			after:  `{esxi: {server: b, username: b, passwordSecretRef: {namespace: b, name: b, key: b}}}`,
		},
	}
	for name, tc := range cases {
		tc.reason = "Proxmox VE changes it."
		if len(tc.want) > 0 {
			tc.reason = "Proxmox VE does not change it."
		}
		for in, s := range scopes() {
			t.Run(name+"/"+in, func(t *testing.T) { testChange(t, s.storageOf(t, tc.before), tc) })
		}
	}
}
