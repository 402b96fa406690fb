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

package machine

import (
	"context"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

func (*pve) SnapshotTree(context.Context, proxmox.Ref) (proxmox.SnapshotTree, error) {
	return proxmox.SnapshotTree{}, nil
}

func (*pve) CanSnapshot(context.Context, proxmox.Ref) (bool, error) { return true, nil }

func (p *pve) TakeSnapshot(context.Context, proxmox.Ref, proxmox.SnapshotOptions) (proxmox.UPID, error) {
	return "", p.call("TakeSnapshot")
}

func (p *pve) RollbackSnapshot(context.Context, proxmox.Ref, proxmox.RollbackOptions) (proxmox.UPID, error) {
	return "", p.call("RollbackSnapshot")
}

func (p *pve) NodeTasks(context.Context, string, string) ([]proxmox.Task, error) { return p.tasks, nil }

func (p *pve) BackupConfig(context.Context, string, string) (proxmox.VMConfig, error) {
	return proxmox.VMConfig{Values: p.backup}, p.call("BackupConfig")
}

func (*pve) Identity() proxmox.Identity { return proxmox.Identity{} }

func (*pve) Superuser() bool { return false }
