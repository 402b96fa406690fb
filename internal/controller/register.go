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
	"github.com/vitistack/provider-proxmox/internal/controller/config"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/images"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/scheduler"
	"github.com/vitistack/provider-proxmox/internal/controller/pool"
	"github.com/vitistack/provider-proxmox/internal/controller/storage"
)

// A row is a kind of managed resources, which both scopes have.
type row struct {
	kind  string
	setup setupKind
}

// rows returns the kinds of managed resources in the order in which they are set up.
func rows() []row {
	sched, watch := scheduler.New(), images.NewNotifier()
	return []row{
		{"Machine", machines(sched, watch)},
		{"Image", imageKind(watch)},
		{"Snapshot", snapshots},
		{"ProxmoxCluster", clusters(sched)},
		{"ProxmoxNode", nodes(sched)},
		{"Pool", config.Setup(pool.Table())},
		{"Storage", config.Setup(storage.Table())},
	}
}
