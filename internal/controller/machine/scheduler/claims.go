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

package scheduler

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
)

// OtherClaimants returns the other Machines, of all scopes, that make a claim. They are the
// cache's own: they must not be changed.
func (f *Scheduler) OtherClaimants(ctx context.Context, m object.Machine, claim string) ([]object.Machine, error) {
	var all []object.Machine
	for _, s := range f.sourcesOf(func(s schedulerSource) bool { return s.machines }) {
		listed, err := kind.ListCached(ctx, s.reader, s.list, client.MatchingFields{object.ClaimIndex: claim})
		if err != nil {
			return nil, err
		}
		for _, mg := range listed {
			if other, ok := mg.(object.Machine); ok && other.GetUID() != m.GetUID() {
				all = append(all, other)
			}
		}
	}
	return all, nil
}
