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
	"testing"

	"github.com/vitistack/provider-proxmox/internal/controller/config"
	"github.com/vitistack/provider-proxmox/internal/controller/config/configtest"
	"github.com/vitistack/provider-proxmox/internal/controller/storage"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/simulator"
)

// use has a VM name the storage, and release ends that.
func use(s configtest.Simulator) {
	s.Edit(func(st *simulator.State) { st.Guests[9000].Config["ide3"] = "files:iso/tools.iso,media=cdrom" })
}

func release(s configtest.Simulator) {
	s.Edit(func(st *simulator.State) { delete(st.Guests[9000].Config, "ide3") })
}

func TestStorage(t *testing.T) {
	k := configtest.Kind{
		Setup: config.Setup(storage.Table()), Kind: "Storage", Collection: storage.Table().Collection, Name: "files",
		Use: use, Release: release, User: "VM 9000",
		Denied: proxmox.Privilege{Path: "/storage", Names: []string{"Datastore.Allocate"}},
	}
	t.Run("Dir", func(t *testing.T) {
		dir := k
		dir.Spec = "{name: files, dir: {path: /srv/files}, content: [iso, images], nodes: [pve1], pruneBackups: {keepLast: 3}}"
		dir.Want = map[string]string{"type": "dir", "path": "/srv/files", "content": "images,iso", "nodes": "pve1", "prune-backups": "keep-last=3"}
		dir.Changed = "{name: files, dir: {path: /srv/files}, content: [iso], nodes: [], pruneBackups: {keepLast: 5, keepDaily: 7}}"
		dir.WantChanged = map[string]string{"content": "iso", "nodes": "", "prune-backups": "keep-daily=7,keep-last=5"}
		dir.Foreign = proxmox.Params{"type": "dir", "path": "/srv/files", "content": "backup"}
		dir.Same = proxmox.Params{"type": "dir", "path": "/srv/files", "content": "iso,images", "nodes": "pve1", "prune-backups": "keep-last=3"}
		dir.Drift = proxmox.Change{Set: proxmox.Params{"content": "iso"}, Delete: []string{"nodes"}}
		configtest.Run(t, dir)
	})
	t.Run("CIFS", func(t *testing.T) {
		cifs := k
		cifs.Once = true
		ref := "passwordSecretRef: {namespace: team, name: smb, key: password}"
		cifs.Secrets = map[string]map[string]string{"smb": {"password": "s3cret-of-smb"}}
		cifs.Spec = "{name: files, cifs: {server: smb.example.com, share: iso, username: pve, " + ref + "}, content: [iso]}"
		cifs.Want = map[string]string{"type": "cifs", "server": "smb.example.com", "share": "iso", "username": "pve", "password": ""}
		cifs.Changed = "{name: files, cifs: {server: smb.example.com, share: iso, username: other, " + ref + "}, content: [iso], disabled: false}"
		cifs.WantChanged = map[string]string{"username": "other"}
		cifs.Foreign = proxmox.Params{"type": "cifs", "server": "smb.example.com", "share": "iso", "username": "someone", "content": "iso"}
		cifs.Same = proxmox.Params{"type": "cifs", "server": "smb.example.com", "share": "iso", "username": "pve", "content": "iso", "password": "x"}
		cifs.Drift = proxmox.Change{Set: proxmox.Params{"username": "drift"}}
		configtest.Run(t, cifs)
	})
}
