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

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/kind/target"
)

// findTarget finds the VM without a request to PVE. A snapshot that was begun belongs to the VM for which it was begun. findTarget returns the
// problem that there is no VM yet.
func (e *external) findTarget(ctx context.Context, m Snapshot) (*kind.Problem, error) {
	r, p := e.view.record, m.Parameters()
	switch {
	case r.made():
		e.view.target = target.VM{VMID: r.VMID, UUID: r.UUID}
		return nil, nil
	case p.VMID != nil:
		e.view.target = target.VM{VMID: int(*p.VMID)}
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

// managedBy returns the name of the Machine, of any scope, that manages the VM with the UUID.
func (e *external) managedBy(ctx context.Context, uuid string) (string, error) {
	for _, empty := range e.machines {
		all, err := kind.ListCached(ctx, e.Kube, empty)
		if err != nil {
			return "", err
		}
		for _, mg := range all {
			if x, ok := mg.(target.Machine); ok && strings.EqualFold(x.Observation().UUID, uuid) && kind.Manages(x) {
				return strings.TrimPrefix(client.ObjectKeyFromObject(x).String(), "/"), nil
			}
		}
	}
	return "", nil
}
