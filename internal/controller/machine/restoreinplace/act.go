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

package restoreinplace

import (
	"context"
	"fmt"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/act"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/restore"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// A restoring is the restore of one VM.
type restoring struct {
	act.Act
	kind    Kind
	machine object.Machine
	spec    v1alpha1.MachineRestoreInPlace

	// The results of preflight: the configuration with its pending changes, and the one that is in force.
	config  qemu.Config
	inForce qemu.Config
	archive *restore.Archive
	status  proxmox.Status
}

// next makes the next call, and returns the task that it has started. A request that cannot be carried out is refused permanently. A running VM is
// shut down first, so that it writes nothing that the safety backup does not have.
func (a *restoring) next(ctx context.Context) (proxmox.UPID, error) {
	if err := a.checkVM(ctx); err != nil {
		return "", err
	}
	r := a.Record
	r.Target = target(&a.spec)
	no, err := a.preflight(ctx)
	switch {
	case err != nil:
		return "", err
	case no != "":
		return "", a.Refuse(ctx, no)
	case a.status.Running() && r.Taken:
		return "", a.Refuse(ctx, fmt.Sprintf("the VM was started after its safety backup was made, and Backup %q does not have what it has written since", r.Safety))
	case a.status.Running():
		r.Ran = true
		r.Enter(v1alpha1.ActPending, "the VM is shut down first", a.Now())
		if err := a.Keep(ctx); err != nil {
			return "", err
		}
		return "", act.ErrRuns
	}
	if a.spec.SafetyBackup != nil {
		if made, err := a.makeSafety(ctx); !made || err != nil {
			return "", err
		}
		switch no, err := a.shared(ctx); {
		case err != nil:
			return "", err
		case no != "":
			return "", a.Refuse(ctx, no)
		}
	}
	return a.restore(ctx)
}

// checkVM reads the current VM. A VM that a restore has left without its configuration has no UUID: its unchanged state is the proof.
func (a *restoring) checkVM(ctx context.Context) error {
	if !a.kind.Lost {
		state, err := a.CheckVM(ctx)
		a.config, a.inForce = state.Config, state.Active
		return err
	}
	read, err := a.PVE.Config(ctx, a.Ref)
	if err != nil {
		return err
	}
	a.config = qemu.Config(read.Values)
	a.inForce = a.config
	if !restore.Unfinished(a.config) {
		return errors.Errorf("VM %d was changed since its restore has failed: it is left alone", a.Ref.VMID)
	}
	return nil
}

// restore requests the restore. The UUID in the backup is that of this Machine, so that no option is needed to prove the VM afterwards.
func (a *restoring) restore(ctx context.Context) (proxmox.UPID, error) {
	r := a.Record
	r.Target = a.archive.Volume
	r.Enter(v1alpha1.ActRestoring, "", a.Now())
	return a.Once(ctx, &r.Call, restore.TaskType, sentence, func() (proxmox.UPID, error) {
		p := proxmox.Params{"archive": a.archive.Volume, "force": "1"}
		if a.archive.Storage != nil {
			p["storage"] = *a.archive.Storage
		}
		if a.starts() {
			p["start"] = "1"
		}
		return a.kind.Client.Create(ctx, a.Ref, p)
	})
}

// starts reports whether the call asks PVE to start a VM that was stopped for the restore, and that its run strategy would leave off.
func (a *restoring) starts() bool { return a.Record.Ran && a.kind.Start }

// sentence returns in one sentence why something has failed.
func sentence(err error) string {
	var task *proxmox.TaskError
	if errors.As(err, &task) {
		return proxmox.Scrub(task.Task.ExitStatus)
	}
	return err.Error()
}

// settle determines the result of a recorded call, and records it. It starts nothing.
func (a *restoring) settle(ctx context.Context) error {
	return a.Settle(ctx, act.End{}, act.End{Type: restore.TaskType, Settle: a.settleRestore})
}

// settleRestore records how the restore has ended. The restore changes the VM only while it holds the VM's lock (PVE::API2::Qemu, create_vm): a
// restore that did not get the lock has done nothing.
func (a *restoring) settleRestore(ctx context.Context, t *proxmox.Task) error {
	r := a.Record
	switch {
	case t == nil:
		r.Enter(v1alpha1.ActUnknown, "no task of the restore is known: it was not begun, or its node has forgotten it or was removed from the cluster", a.Now())
		return nil
	case t.OK():
		r.Enter(v1alpha1.ActSucceeded, "", a.Now())
		return nil
	}
	message := sentence(t.Err())
	read, err := a.PVE.Config(ctx, a.Ref)
	if err != nil {
		return err
	}
	switch config := qemu.Config(read.Values); {
	case !strings.EqualFold(config.UUID(), a.UUID):
		message += fmt.Sprintf("; VM %d has lost its configuration and the disks that the backup has: restore it with another token, from this backup or "+
			"another one. Disks that the backup does not have are still on their storages", a.Ref.VMID)
	case config["lock"] == "" && a.WaitsForLock(&r.Call, t.Err()):
		return nil
	}
	r.Enter(v1alpha1.ActFailed, message, a.Now())
	return nil
}
