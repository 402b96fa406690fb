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

package snapshot

import (
	"context"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"

	"github.com/vitistack/provider-proxmox/internal/controller/kind/target"
)

// unused returns an error while the VM of a Machine is being put back to the snapshot, or is to be. That needs the snapshot.
func (e *external) unused(ctx context.Context, m Snapshot) error {
	users, err := e.Users(ctx, e.Kube, e.machines, func(x target.Machine) []string {
		if strings.EqualFold(x.Observation().UUID, e.view.record.UUID) && e.rollsBack(x, m) {
			return target.UseBy(x, "rollback")
		}
		return nil
	})
	if err != nil {
		return err
	}
	return e.CheckUnused(e.view.name, users)
}

// rollsBack reports whether the VM of a Machine is being put back to the snapshot, whatever its spec requests meanwhile, or is to be.
func (e *external) rollsBack(x target.Machine, m Snapshot) bool {
	named := func(name string) bool {
		return name == e.view.name || name == m.GetName() && x.GetNamespace() == m.GetNamespace()
	}
	p, o := x.Parameters().Rollback, x.Observation().Rollback
	if o != nil && !o.State.Final() && named(o.Snapshot) {
		return true
	}
	return p != nil && !meta.WasDeleted(x) && (o == nil || o.Token != p.Token) && named(p.Snapshot)
}
