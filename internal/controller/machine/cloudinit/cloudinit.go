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

// Package cloudinit keeps the NoCloud images of Machines, which hold cloud-init data that PVE's own drive cannot hold. It decides which image a spec
// asks for, uploads it, and removes images that are no longer used.
package cloudinit

import (
	"context"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	xpevent "github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/password"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/preflight"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/tasktrack"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// A Client puts images onto storages and removes them.
type Client interface {
	Volumes(ctx context.Context, node, storage, content string) ([]proxmox.Volume, error)
	UploadISO(ctx context.Context, node, storage, name string, image []byte) (proxmox.UPID, error)
	DeleteVolume(ctx context.Context, node, volume string) (proxmox.UPID, error)

	Snapshots(ctx context.Context, ref proxmox.Ref) ([]string, error)
	SnapshotConfig(ctx context.Context, ref proxmox.Ref, snapshot string) (proxmox.VMConfig, error)

	RenewCloudInit(ctx context.Context, ref proxmox.Ref) error
}

// An Inventory reads the storages.
type Inventory interface {
	Storages(ctx context.Context) ([]proxmox.Storage, error)
}

// Nodes reports which nodes can be reached.
type Nodes interface {
	NodeOffline(ctx context.Context, node string) (bool, error)
	NodeUnreachable(ctx context.Context, node string) (bool, error)
}

// A Keeper creates, uploads and removes the images of one VM.
type Keeper struct {
	Client    Client
	Inventory Inventory
	Nodes     Nodes
	Checks    *preflight.Checks
	Kube      client.Client
	Secrets   client.Reader // of the Secrets and ConfigMaps that specs refer to
	Tasks     *tasktrack.Tracker
	Record    xpevent.Recorder
	Log       logging.Logger
	Now       func() time.Time

	// Password returns the password of cloud-init's user, or nil if none is declared.
	Password func(context.Context, object.Machine, *v1alpha1.MachineCloudInit) (*password.Password, error)

	// Stores reports whether images may be on a storage. If it is nil, they may be on all.
	Stores func(storage string) bool

	// VM is nil if it no longer exists.
	VM *vmstate.VM

	// OwnershipProven is true if this reconcile has proven that the VM is ours.
	OwnershipProven bool

	// ObstacleTime is how long to wait for a node that is off.
	ObstacleTime time.Duration
}

// RegenerateDrive renews the drive so that a running guest finds its changes at its next boot, even if the guest reboots by itself. If the provider
// ends before that, PVE renews the drive when it starts the VM.
func (k Keeper) RegenerateDrive(ctx context.Context, m object.Machine) error {
	if !k.Tasks.DriveStale(m) {
		return nil
	}
	err := k.Client.RenewCloudInit(ctx, k.VM.Ref)
	if proxmox.IsAuthorization(err) {
		k.Log.Debug("Cloud-init drive is written when the VM starts next", "vmid", k.VM.VMID, "error", err)
		err = nil
	}
	if err == nil {
		k.Tasks.MarkDriveFresh(m)
	}
	return errors.Wrap(err, "cannot renew the cloud-init drive, which has old data until the VM is started next")
}
