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
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/connect"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/restore"
)

// longestObject is the maximum length of the name of an object.
const longestObject = 253

// SafetyName returns the name of the Backup that is created before the restore of a token: the name of the Machine, and the hash of its UID and the token.
func SafetyName(m resource.Managed, token string) string {
	sum := sha256.Sum256([]byte(string(m.GetUID()) + "/" + token))
	end := "-before-restore-" + hex.EncodeToString(sum[:])[:8]
	name := m.GetName()
	return strings.TrimRight(name[:min(len(name), longestObject-len(end))], "-.") + end
}

// makeSafety creates the safety backup by a Backup, and reports whether it exists. A provider that is killed meanwhile finds it again by its name,
// which was recorded before.
func (a *restoring) makeSafety(ctx context.Context) (bool, error) {
	r, name := a.Record, SafetyName(a.machine, a.Record.Token)
	b, err := a.kind.Finder.Get(ctx, client.ObjectKey{Namespace: a.machine.GetNamespace(), Name: name})
	switch {
	case err != nil:
		return false, err
	case b != nil && (r.Safety == "" || !a.isSafety(b)):
		return false, a.Refuse(ctx, fmt.Sprintf("another Backup has the name of the safety backup, %s", name))
	case b == nil && r.Taken:
		return false, a.Refuse(ctx, fmt.Sprintf("Backup %q, which is the safety backup, was deleted", name))
	case b == nil:
		return false, a.createSafety(ctx, name)
	case b.Observation().State == v1alpha1.BackupGone:
		return false, a.Refuse(ctx, fmt.Sprintf("the safety backup of Backup %q was removed", name))
	case b.Observation().State != v1alpha1.BackupComplete:
		return false, a.awaitSafety(ctx, b)
	case r.Taken:
		return true, nil
	}
	r.Taken = true
	return true, a.Keep(ctx)
}

// isSafety reports whether a Backup is, or is to be, of the VM.
func (a *restoring) isSafety(b restore.Backup) bool {
	of := b.Observation().VMUUID
	return ptr.Deref(b.Parameters().Machine, "") == a.machine.GetName() && (of == "" || strings.EqualFold(of, a.UUID))
}

// createSafety creates the Backup, after its name is recorded. It is protected, so that no retention removes it.
func (a *restoring) createSafety(ctx context.Context, name string) error {
	if a.Record.Safety == "" {
		a.Record.Safety = name
		a.Record.Enter(v1alpha1.ActMakingSafetyBackup, "", a.Now())
		if err := a.Keep(ctx); err != nil {
			return err
		}
	}
	b, err := a.kind.Finder.New()
	if err != nil {
		return err
	}
	b.SetName(name)
	b.SetNamespace(a.machine.GetNamespace())
	b.SetLabels(a.kind.Labels(a.machine))
	v1alpha1.CopyConfiguration(b, a.machine)
	if err := connect.CopyTenantLabels(ctx, a.kind.Kube, a.machine, b); err != nil {
		return err
	}
	*b.Parameters() = v1alpha1.BackupParameters{
		Machine: ptr.To(a.machine.GetName()), Storage: a.spec.SafetyBackup.Storage, StorageRef: a.spec.SafetyBackup.StorageRef,
		Protected: ptr.To(true), Notes: ptr.To("Before the restore of " + a.archive.Volume),
	}
	err = a.kind.Kube.Create(ctx, b)
	switch {
	case apimeta.IsNoMatchError(err):
		return a.Refuse(ctx, "no safety backup can be made: the kind Backup is not installed")
	case kerrors.IsForbidden(err), kerrors.IsInvalid(err):
		return a.Refuse(ctx, "no safety backup can be made: "+err.Error())
	case err != nil && !kerrors.IsAlreadyExists(err):
		return errors.Wrapf(err, "cannot create Backup %q", b.GetName())
	}
	return kind.Wait(errors.Errorf("waiting for Backup %q", name))
}

// awaitSafety shows what the Backup waits for.
func (a *restoring) awaitSafety(ctx context.Context, b restore.Backup) error {
	why := b.GetCondition(xpv2.TypeReady).Message
	message := strings.TrimSuffix(fmt.Sprintf("waiting for Backup %q: %s", b.GetName(), why), ": ")
	a.Record.Enter(v1alpha1.ActMakingSafetyBackup, message, a.Now())
	return errors.Join(a.Keep(ctx), kind.Wait(errors.New(message)))
}
