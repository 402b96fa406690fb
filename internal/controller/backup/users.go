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
	"encoding/json"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/kind/target"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
)

// users returns the Machines, of all scopes, whose VMs are being put back to the backup or created from it. When PVE puts a VM back, it removes the
// VM's disks before it reads those of the backup. Without the backup, nothing would be left of them.
func (e *external) users(ctx context.Context, m Backup) ([]string, error) {
	usesOf := func(x target.Machine) []string {
		volume := e.view.record.Volume
		switch {
		case !e.view.sameCluster(x):
		case restores(x, volume) || asksFor(x, m, volume):
			return e.useBy(m, x, "restoreInPlace")
		case isMadeFrom(x, volume):
			return e.useBy(m, x, "restore")
		}
		return nil
	}
	if users, err := e.Users(ctx, e.Kube, e.machines, usesOf); len(users) > 0 || err != nil {
		return users, err
	}
	return e.Users(ctx, e.Direct, e.machines, usesOf) // A Machine may have been changed a moment ago.
}

// useBy describes which part of a Machine uses the backup. A tenant does not learn the names of Machines in other namespaces, or of cluster-scoped
// Machines, which may belong to another tenant.
func (e *external) useBy(m Backup, x target.Machine, what string) []string {
	if of := tenancy.NamespaceOf(m); e.tenant != nil && (of == "" || of != tenancy.NamespaceOf(x)) {
		return []string{what + " of a Machine of others"}
	}
	return target.UseBy(x, what)
}

// isMadeFrom reports whether a Machine that has no VM yet is created from a backup: the call was recorded, or its spec names the volume. A Machine
// that names a Backup that is being deleted, and that has not begun, does not begin.
func isMadeFrom(m target.Machine, volume string) bool {
	r := m.Parameters().Restore
	if r == nil || kind.HasVM(m.Observation()) || volume == "" {
		return false
	}
	noted := struct {
		Volume string `json:"volume"`
	}{}
	text := m.GetAnnotations()[kind.AnnotationRestore]
	if text != "" && json.Unmarshal([]byte(text), &noted) == nil && noted.Volume == volume {
		return true
	}
	return ptr.Deref(r.Volume, "") == volume && !meta.WasDeleted(m)
}

// sameCluster reports whether a Machine may be in the cluster of the backup.
func (v *view) sameCluster(m target.Machine) bool {
	in := m.Observation().Cluster
	return in == "" || v.cluster == "" || in == v.cluster
}

// restores reports whether the VM of a Machine is being put back to a backup, whatever its spec requests meanwhile.
func restores(m target.Machine, volume string) bool {
	o := m.Observation().RestoreInPlace
	return o != nil && !o.State.Final() && o.Volume == volume
}

// asksFor reports whether the spec of a Machine requests that its VM be put back to a backup, and that is yet to be done.
func asksFor(m target.Machine, b Backup, volume string) bool {
	p, o := m.Parameters().RestoreInPlace, m.Observation().RestoreInPlace
	if p == nil || meta.WasDeleted(m) || o != nil && o.Token == p.Token && o.State.Final() {
		return false
	}
	named := p.BackupRef != nil && p.BackupRef.Name == b.GetName() && m.GetNamespace() == b.GetNamespace()
	return named || ptr.Deref(p.Volume, "") == volume
}
