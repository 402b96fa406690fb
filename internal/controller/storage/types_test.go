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

package storage_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/vitistack/provider-proxmox/internal/controller/config/configtest"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// A variety is a type of storages with all its options, each of which has a unique value.
type variety struct {
	// spec and changed are the block of the type, and rest and restChanged the remaining spec.
	spec, changed, rest, restChanged string

	// fixed are the options that cannot change, as Proxmox VE shows them. They and others match the spec, and wantChanged are those that differ after
	// the change.
	fixed, others, wantChanged map[string]string

	// secrets are the data of the Secret named keys, by their options.
	secrets map[string]string

	// shown are options that show that there is a secret.
	shown map[string]string
}

const passwordRef = "passwordSecretRef: {namespace: team, name: keys, key: password}"

// varieties returns all types except dir.
func varieties() map[string]variety {
	const keyringRef = "keyringSecretRef: {namespace: team, name: keys, key: keyring}"
	all := map[string]variety{
		"lvm": {
			spec:    `volumeGroup: vg0, base: "san:0.0.0.lun-1", safeRemove: true, safeRemoveThroughput: "-10485760", taggedOnly: true`,
			changed: `volumeGroup: vg0, base: "san:0.0.0.lun-1", safeRemove: false, safeRemoveThroughput: "", taggedOnly: false`,
			rest:    "content: [images], shared: true", restChanged: "content: [images, rootdir], shared: false",
			fixed:  map[string]string{"vgname": "vg0", "base": "san:0.0.0.lun-1"},
			others: map[string]string{"saferemove": "1", "saferemove_throughput": "-10485760", "tagged_only": "1", "shared": "1", "content": "images"},
			wantChanged: map[string]string{
				"saferemove": "0", "saferemove_throughput": "", "tagged_only": "0", "content": "images,rootdir", "shared": "0",
			},
		},
		"lvmthin": {
			spec: "volumeGroup: vg1, thinPool: data", changed: "volumeGroup: vg1, thinPool: data",
			rest:        "content: [images, rootdir], bandwidth: {default: 1, clone: 2, migration: 3, move: 4, restore: 5}",
			restChanged: "content: [images], bandwidth: {default: 6, clone: 7, migration: 8, move: 9, restore: 0}",
			fixed:       map[string]string{"vgname": "vg1", "thinpool": "data"},
			others:      map[string]string{"content": "images,rootdir", "bwlimit": "default=1,clone=2,migration=3,move=4,restore=5"},
			wantChanged: map[string]string{"content": "images", "bwlimit": "default=6,clone=7,migration=8,move=9,restore=0"},
		},
		"zfspool": {
			spec:    "pool: rpool/data, blockSize: 16k, sparse: true, mountpoint: /rpool/other",
			changed: `pool: rpool/data, blockSize: "", sparse: false, mountpoint: ""`, rest: "content: [images]", restChanged: "content: []",
			fixed:       map[string]string{"pool": "rpool/data"},
			others:      map[string]string{"blocksize": "16k", "sparse": "1", "mountpoint": "/rpool/other", "content": "images"},
			wantChanged: map[string]string{"blocksize": "", "sparse": "0", "mountpoint": "", "content": "images,rootdir"},
		},
		"btrfs": {
			spec: `path: /srv/btrfs, mountpoint: "yes", noCOW: true`, changed: `path: /srv/btrfs, mountpoint: /srv, noCOW: false`,
			rest: "content: [images], preallocation: falloc", restChanged: `content: [images], preallocation: "off"`,
			fixed:       map[string]string{"path": "/srv/btrfs"},
			others:      map[string]string{"is_mountpoint": "yes", "nocow": "1", "preallocation": "falloc", "content": "images"},
			wantChanged: map[string]string{"is_mountpoint": "/srv", "nocow": "0", "preallocation": "off"},
		},
		"nfs": {
			spec: `server: nfs.example.com, export: /srv/nfs, options: "vers=4.2"`, changed: `server: nfs.example.com, export: /srv/nfs, options: ""`,
			rest:        "content: [backup], pruneBackups: {keepLast: 1, keepHourly: 2, keepDaily: 3, keepWeekly: 4, keepMonthly: 5, keepYearly: 6}",
			restChanged: "content: [backup], pruneBackups: {keepLast: 7, keepHourly: 8, keepDaily: 9, keepWeekly: 10, keepMonthly: 11, keepYearly: 12}",
			fixed:       map[string]string{"server": "nfs.example.com", "export": "/srv/nfs"},
			others: map[string]string{
				"options": "vers=4.2", "content": "backup", "prune-backups": "keep-last=1,keep-hourly=2,keep-daily=3,keep-weekly=4,keep-monthly=5,keep-yearly=6",
			},
			wantChanged: map[string]string{
				"options": "", "prune-backups": "keep-last=7,keep-hourly=8,keep-daily=9,keep-weekly=10,keep-monthly=11,keep-yearly=12",
			},
		},
		"cifs": {
			spec: "server: smb.example.com, share: iso, username: pve, domain: example, smbVersion: '3.0', subdir: /pve, options: 'ro', " + passwordRef,
			changed: "server: smb.example.com, share: iso, username: other, domain: '', smbVersion: '3.11', subdir: /other, options: '', " +
				passwordRef,
			rest: "content: [iso]", restChanged: "content: [iso], disabled: false", secrets: map[string]string{"password": "s3cret-of-smb"},
			fixed: map[string]string{"server": "smb.example.com", "share": "iso"},
			others: map[string]string{
				"username": "pve", "domain": "example", "smbversion": "3.0", "subdir": "/pve", "options": "ro", "content": "iso", "password": "",
			},
			wantChanged: map[string]string{"username": "other", "domain": "", "smbversion": "3.11", "subdir": "/other", "options": ""},
		},
		"iscsi": {
			spec: `portal: san.example.com, target: "iqn.2026-01.com.example:a"`, changed: `portal: san.example.com, target: "iqn.2026-01.com.example:a"`,
			rest: "content: [images]", restChanged: "content: [none]",
			fixed:  map[string]string{"portal": "san.example.com", "target": "iqn.2026-01.com.example:a"},
			others: map[string]string{"content": "images"}, wantChanged: map[string]string{"content": "none"},
		},
		"esxi": {
			spec:    "server: esxi.example.com, username: root, port: 8443, skipCertVerification: true, " + passwordRef,
			changed: "server: esxi2.example.com, username: other, port: 443, skipCertVerification: false, " + passwordRef,
			rest:    "content: [import]", restChanged: "content: [import]", secrets: map[string]string{"password": "s3cret-of-esxi"},
			others: map[string]string{
				"server": "esxi.example.com", "username": "root", "port": "8443", "skip-cert-verification": "1", "content": "import", "password": "",
			},
			wantChanged: map[string]string{"server": "esxi2.example.com", "username": "other", "port": "443", "skip-cert-verification": "0"},
		},
		"rbd": {
			spec:    "pool: vms, dataPool: ec, namespace: pve, monitors: [192.0.2.1, 192.0.2.2], username: pve1, krbd: true, " + keyringRef,
			changed: "pool: vms, dataPool: ec2, namespace: '', monitors: [192.0.2.3], username: pve2, krbd: false, " + keyringRef,
			rest:    "content: [images]", restChanged: "content: [images, rootdir]", secrets: map[string]string{"keyring": "s3cret-of-rbd"},
			others: map[string]string{
				"pool": "vms", "data-pool": "ec", "namespace": "pve", "monhost": "192.0.2.1,192.0.2.2", "username": "pve1", "krbd": "1",
				"content": "images", "keyring": "",
			},
			wantChanged: map[string]string{
				"data-pool": "ec2", "namespace": "", "monhost": "192.0.2.3", "username": "pve2", "krbd": "0", "content": "images,rootdir",
			},
		},
		"cephfs": {
			spec: "fsName: files, subdir: /pve, monitors: [192.0.2.1, 192.0.2.2], username: pve1, fuse: true, options: 'ro', " +
				keyringRef,
			changed:     "fsName: files, subdir: /other, monitors: [192.0.2.3], username: pve2, fuse: false, options: '', " + keyringRef,
			rest:        "content: [backup, iso], maxProtectedBackups: 3, pruneBackups: {keepAll: true}",
			restChanged: "content: [backup], maxProtectedBackups: -1, pruneBackups: {keepAll: false, keepLast: 2}",
			secrets:     map[string]string{"keyring": "s3cret-of-cephfs"},
			others: map[string]string{
				"fs-name": "files", "subdir": "/pve", "monhost": "192.0.2.1,192.0.2.2", "username": "pve1", "fuse": "1", "options": "ro",
				"content": "backup,iso", "max-protected-backups": "3", "prune-backups": "keep-all=1", "keyring": "",
			},
			wantChanged: map[string]string{
				"subdir": "/other", "monhost": "192.0.2.3", "username": "pve2", "fuse": "0", "options": "", "content": "backup",
				"max-protected-backups": "-1", "prune-backups": "keep-all=0,keep-last=2",
			},
		},
	}
	all["pbs"] = backupServer()
	return all
}

// backupServer returns the type of a Proxmox Backup Server.
func backupServer() variety {
	const keyRef = "encryptionKeySecretRef: {namespace: team, name: keys, key: encryption-key}"
	fingerprints := []string{strings.TrimSuffix(strings.Repeat("ab:", 32), ":"), strings.TrimSuffix(strings.Repeat("cd:", 32), ":")}
	return variety{
		spec: `server: pbs.example.com, datastore: main, namespace: a/b, port: 8008, username: "backup@pbs!pve", fingerprint: "` +
			fingerprints[0] + `", ` + passwordRef + ", " + keyRef,
		changed: `server: pbs.example.com, datastore: main, namespace: "", port: 8009, username: "other@pbs!pve", fingerprint: "` +
			fingerprints[1] + `", ` + passwordRef + ", " + keyRef,
		rest: "content: [backup], nodes: [pve1], disabled: false", restChanged: "content: [backup], nodes: [], disabled: true",
		secrets: map[string]string{"password": "s3cret-of-pbs", "encryption-key": `{"kdf":null,"data":"s3cret","fingerprint":"aa:bb"}`},
		shown:   map[string]string{"encryption-key": "aa:bb"},
		fixed:   map[string]string{"server": "pbs.example.com", "datastore": "main"},
		others: map[string]string{
			"namespace": "a/b", "port": "8008", "username": "backup@pbs!pve", "fingerprint": fingerprints[0], "content": "backup", "nodes": "pve1",
			"password": "",
		},
		wantChanged: map[string]string{
			"namespace": "", "port": "8009", "username": "other@pbs!pve", "fingerprint": fingerprints[1], "nodes": "", "disable": "1",
		},
	}
}

// with merges options. Empty ones are left out if they are to be written.
func with(written bool, all ...map[string]string) proxmox.Params {
	out := proxmox.Params{}
	for _, some := range all {
		maps.Copy(out, some)
	}
	maps.DeleteFunc(out, func(_, value string) bool { return written && value == "" })
	return out
}

// TestTypes runs each type of storages from its creation to its removal.
func TestTypes(t *testing.T) {
	for name, v := range varieties() {
		t.Run(name, func(t *testing.T) {
			k := files()
			k.Once, k.OptionsOnly = true, name != "cifs" // One type with a Secret runs in all ways and tests.
			kind := map[string]string{"type": name}
			k.Spec = "{name: files, " + name + ": {" + v.spec + "}, " + v.rest + "}"
			k.Changed = "{name: files, " + name + ": {" + v.changed + "}, " + v.restChanged + "}"
			k.Want, k.WantChanged = with(false, kind, v.fixed, v.others, v.shown), with(false, kind, v.fixed, v.wantChanged)
			k.Same = with(true, kind, v.fixed, v.others)
			k.Foreign = with(true, kind, v.fixed, map[string]string{"content": "none"})
			k.Drift = proxmox.Change{Set: proxmox.Params{"content": "none"}}
			if name == "esxi" {
				k.Foreign["server"], k.Foreign["username"] = "other.example.com", "other"
			}
			if len(v.secrets) > 0 {
				k.Secrets = map[string]map[string]string{"keys": v.secrets}
			}
			configtest.Run(t, k)
		})
	}
}
