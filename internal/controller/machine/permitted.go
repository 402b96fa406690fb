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

package machine

import (
	"context"

	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// prohibited are the changes that PVE would refuse for who we are or for what
// version it is. Besides what is configured there may be more that depends on that.
func (e *external) prohibited(ctx context.Context, d qemu.Difference, config qemu.Config, more ...qemu.Demand) ([]string, error) {
	var no []string
	if !e.superuser {
		no = d.Forbidden(config)
	}
	unknown, err := e.unknown(ctx, append(d.Demands(config), more...))
	return append(no, unknown...), err
}

// unknown are the demands that the version of PVE does not meet. PVE is asked for
// it only if that matters.
func (e *external) unknown(ctx context.Context, demands []qemu.Demand) ([]string, error) {
	if len(demands) == 0 {
		return nil, nil
	}
	v, err := e.inventory.Version(ctx)
	if err != nil {
		return nil, err
	}
	var no []string
	for _, a := range demands {
		if why := a.Unmet(v); why != "" {
			no = append(no, why)
		}
	}
	return no, nil
}
