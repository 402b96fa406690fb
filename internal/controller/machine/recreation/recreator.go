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

package recreation

import (
	"context"
	"time"

	xpevent "github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/internal/controller/machine/act"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/source"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// An Inventory finds VMs and their nodes.
type Inventory interface {
	Guests(ctx context.Context, maxAge time.Duration) ([]proxmox.Guest, error)
	ClusterStatus(ctx context.Context, maxAge time.Duration) (proxmox.ClusterStatus, error)
	Follow(u proxmox.UPID, done func(proxmox.Task))
}

// A Reader reads VMs.
type Reader interface {
	NodeUnreachable(ctx context.Context, node string) (bool, error)
	GetConfig(ctx context.Context, ref proxmox.Ref) (*vmstate.VM, error)
}

// A Remover is the part of a Client that removes VMs.
type Remover interface {
	Status(ctx context.Context, ref proxmox.Ref) (proxmox.Status, error)
	Delete(ctx context.Context, ref proxmox.Ref, o proxmox.DeleteOptions) (proxmox.UPID, error)
}

// Machines finds other Machines that claim a VM.
type Machines interface {
	OtherClaimants(ctx context.Context, m object.Machine, claim string) ([]object.Machine, error)
}

// A Recreator creates the VM of a Machine again, and watches the remains of lost creations.
type Recreator struct {
	Kube      client.Client
	Inventory Inventory
	Reader    Reader
	Client    Remover
	Machines  Machines
	Record    xpevent.Recorder
	Now       time.Time

	// Forget drops what is remembered of a Machine, and Wake wakes it.
	Forget func(m object.Machine)
	Wake   func()

	// Save saves the record where it outlives the provider.
	Save func(ctx context.Context, r *act.Record) error

	// Check checks whether a VM can be created with an identity, and returns its source, or nil if it has none.
	Check func(ctx context.Context, m object.Machine, id qemu.Identity) (*source.Source, error)

	// Allocate allocates another VMID and UUID, and returns the annotations that save them.
	Allocate func(ctx context.Context) (map[string]string, error)

	// Busy reports whether a task works on a VM.
	Busy func(vmid int) (bool, error)

	// MayReport reports whether the user of a Machine may be informed of the remains: annotations can name any VM.
	MayReport func(ctx context.Context, m object.Machine, r act.Remains) bool

	// Removable returns an error while something else needs a VM.
	Removable func(ctx context.Context, uuid string, vmid int) error
}
