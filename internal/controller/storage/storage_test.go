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

// use makes a VM name the storage, and release ends that.
func use(s configtest.Simulator) {
	s.Edit(func(st *simulator.State) { st.Guests[9000].Config["ide3"] = "files:iso/tools.iso,media=cdrom" })
}

func release(s configtest.Simulator) {
	s.Edit(func(st *simulator.State) { delete(st.Guests[9000].Config, "ide3") })
}

// files returns a storage of that name.
func files() configtest.Kind {
	return configtest.Kind{
		Setup: config.Setup(storage.Table()), Kind: "Storage", Collection: storage.Table().Collection, Name: "files",
		Use: use, Release: release, User: "VM 9000",
		Denied: proxmox.Privilege{Path: "/storage", Names: []string{"Datastore.Allocate"}},
	}
}

// TestStorage runs a directory with all its options through its life, in both scopes and on both versions.
func TestStorage(t *testing.T) {
	k := files()
	k.Spec = `{name: files, dir: {path: /srv/files, mountpoint: "yes", createBasePath: false, createSubdirs: false}, content: [iso, images],
		nodes: [pve1], pruneBackups: {keepLast: 3}, preallocation: falloc, shared: true}`
	k.Want = map[string]string{
		"type": "dir", "path": "/srv/files", "is_mountpoint": "yes", "create-base-path": "0", "create-subdirs": "0", "content": "images,iso",
		"nodes": "pve1", "prune-backups": "keep-last=3", "preallocation": "falloc", "shared": "1",
	}
	k.Changed = `{name: files, dir: {path: /srv/files, mountpoint: "", createBasePath: true, createSubdirs: true}, content: [iso], nodes: [],
		pruneBackups: {keepLast: 5, keepDaily: 7}, preallocation: full, shared: false}`
	k.WantChanged = map[string]string{
		"is_mountpoint": "", "create-base-path": "1", "create-subdirs": "1", "content": "iso", "nodes": "",
		"prune-backups": "keep-daily=7,keep-last=5", "preallocation": "full", "shared": "0",
	}
	k.Foreign = proxmox.Params{"type": "dir", "path": "/srv/files", "content": "backup"}
	k.Same = proxmox.Params{
		"type": "dir", "path": "/srv/files", "is_mountpoint": "yes", "create-base-path": "0", "create-subdirs": "0", "content": "iso,images",
		"nodes": "pve1", "prune-backups": "keep-last=3", "preallocation": "falloc", "shared": "1",
	}
	k.Drift = proxmox.Change{Set: proxmox.Params{"content": "iso"}, Delete: []string{"nodes"}}
	configtest.Run(t, k)
}
