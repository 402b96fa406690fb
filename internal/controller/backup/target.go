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

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/kind/target"
)

// findTarget finds the VM without a request to PVE. A backup that was begun belongs to the VM for which it was begun. An adopted backup, and one that
// is only observed, need no VM. findTarget returns the problem that there is no VM yet.
func (e *external) findTarget(ctx context.Context, m Backup) (*kind.Problem, error) {
	r, p := e.view.record, m.Parameters()
	switch {
	case r.made():
		e.view.target = target.VM{VMID: r.VMID, UUID: r.UUID}
		return nil, nil
	case meta.GetExternalName(m) != "":
		return nil, nil
	case p.Machine == nil:
		return e.Unselected(), nil
	}
	var (
		problem *kind.Problem
		err     error
	)
	e.view.target, problem, err = e.VMOf(ctx, m, *p.Machine)
	return problem, err
}
