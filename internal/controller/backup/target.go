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

package backup

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// A target is the VM that a backup is of.
type target struct {
	vmid int
	uuid string
}

// findTarget finds the VM without asking PVE. A backup that was begun is of the VM that it
// was begun of, and one that is adopted or only looked at needs none. It returns the problem
// that there is no VM yet.
func (e *external) findTarget(ctx context.Context, m Backup) (*kind.Problem, error) {
	r, p := e.view.record, m.Parameters()
	switch {
	case r.made():
		e.view.target = target{vmid: r.VMID, uuid: r.UUID}
		return nil, nil
	case meta.GetExternalName(m) != "":
		return nil, nil
	case p.Machine == nil:
		return &kind.Problem{Reason: reasonMachineNotFound, Message: "no Machine has the labels of machineSelector: the backup is made once there is one"}, nil
	}
	return e.targetOfMachine(ctx, m, *p.Machine)
}

// targetOfMachine is the VM of a Machine of the Backup's scope and namespace.
func (e *external) targetOfMachine(ctx context.Context, m Backup, name string) (*kind.Problem, error) {
	x, ok := e.kinds.Machine.DeepCopyObject().(Machine)
	if !ok {
		return nil, errors.Errorf("cannot copy a %T", e.kinds.Machine)
	}
	problem := func(reason xpv2.ConditionReason, why string) *kind.Problem {
		return &kind.Problem{Reason: reason, Message: fmt.Sprintf("Machine %q %s", name, why)}
	}
	err := e.kube.Get(ctx, client.ObjectKey{Namespace: m.GetNamespace(), Name: name}, x)
	switch {
	case kerrors.IsNotFound(err), apimeta.IsNoMatchError(err):
		return problem(reasonMachineNotFound, "does not exist: the backup is made once it has its VM"), nil
	case err != nil:
		return nil, errors.Wrapf(err, "cannot read Machine %q", name)
	case meta.WasDeleted(x):
		return problem(reasonMachineNotReady, "is being deleted: no backup is made"), nil
	case !kind.HasVM(x.Observation()):
		return problem(reasonMachineNotReady, "does not have its VM yet: the backup is made then"), nil
	}
	e.view.target = target{vmid: int(*x.Observation().VMID), uuid: x.Observation().UUID}
	return nil, nil
}

// findVM finds where the VM is. It returns nil if there is no VM of its VMID, which is
// believed of a list that was read now, and of PVE's word.
func (e *external) findVM(ctx context.Context) (*proxmox.Guest, error) {
	id := e.view.target.vmid
	for _, maxAge := range []time.Duration{inventory.Current, inventory.Fresh} {
		guests, err := e.inventory.Guests(ctx, maxAge)
		if err != nil {
			return nil, err
		}
		if i := slices.IndexFunc(guests, func(g proxmox.Guest) bool { return g.VMID == id }); i >= 0 {
			return &guests[i], nil
		}
	}
	taken, err := e.client.VMIDTaken(ctx, id)
	if err == nil && taken {
		err = proxmox.Denial(fmt.Sprintf("see VM %d", id), proxmox.Privilege{Path: fmt.Sprintf("/vms/%d", id), Names: []string{"VM.Audit"}})
	}
	return nil, err
}
