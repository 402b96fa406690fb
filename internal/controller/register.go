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

// Package controller registers all controllers: each kind in each scope.
package controller

import (
	"github.com/vitistack/provider-proxmox/internal/controller/backupjob"
	"github.com/vitistack/provider-proxmox/internal/controller/cluster"
	"github.com/vitistack/provider-proxmox/internal/controller/config"
	"github.com/vitistack/provider-proxmox/internal/controller/kind/quotas"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/images"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/restore"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/scheduler"
	"github.com/vitistack/provider-proxmox/internal/controller/node"
	"github.com/vitistack/provider-proxmox/internal/controller/nodenetwork"
	"github.com/vitistack/provider-proxmox/internal/controller/pool"
	"github.com/vitistack/provider-proxmox/internal/controller/storage"
)

// A row is a kind of managed resources that exists in both scopes.
type row struct {
	kind  string
	setup setupKind

	// needs lists the other kinds of the same scope that it cannot run without.
	needs []string
}

// rows returns the kinds of managed resources in the order in which they are set up.
func rows(keeper *quotas.Keeper) []row {
	sched, watch, watchBackups := scheduler.New(), images.NewNotifier(), restore.NewNotifier()
	return []row{
		{kind: "Machine", setup: machines(sched, watch, watchBackups, keeper)},
		{kind: "Image", setup: imageKind(watch)},
		{kind: "Snapshot", setup: copies("Snapshot", snapshots(keeper))},
		{kind: "SnapshotPolicy", setup: policies, needs: []string{"Snapshot", "Machine"}},
		{kind: "Backup", setup: copies("Backup", backups(watchBackups, keeper))},
		{kind: "Volume", setup: diskVolumes(keeper)},
		{kind: "BackupJob", setup: copies("BackupJob", config.Setup(backupjob.Table()))},
		{kind: "ProxmoxCluster", setup: scheduled("ProxmoxCluster", sched, config.SetupSingleton(cluster.Table()))},
		{kind: "ProxmoxNode", setup: scheduled("ProxmoxNode", sched, config.SetupSingleton(node.Table()))},
		{kind: "Pool", setup: config.Setup(pool.Table())},
		{kind: "Storage", setup: config.Setup(storage.Table())},
		{kind: "NodeNetwork", setup: config.Setup(nodenetwork.Table())},
	}
}
