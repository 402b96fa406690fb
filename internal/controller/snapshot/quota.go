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

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"

	"github.com/vitistack/provider-proxmox/internal/controller/kind/target"
	"github.com/vitistack/provider-proxmox/internal/tenancy/quota"
)

// there is what a Snapshot is seen to have of a quota.
func there(mg resource.Managed) (quota.Amounts, int) {
	if m, ok := mg.(Snapshot); ok && m.Observation().Time != nil {
		return quota.Amounts{quota.Snapshots: 1}, 0
	}
	return nil, 0
}

// checkRoom finds whether the quota keeps a snapshot from being taken now.
func (e *external) checkRoom(ctx context.Context) error {
	p, err := target.NoRoom(ctx, e.room)
	if p != nil {
		e.view.decision = because(wait, *p)
	}
	return err
}
