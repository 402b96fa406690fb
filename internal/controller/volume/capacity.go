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

package volume

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"

	"github.com/vitistack/provider-proxmox/internal/capacity"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// growth returns what the disk is to take of a storage in addition to what it has, and the node of the storage; zero for nothing. A disk that moves
// takes all of its size, including the size that it then grows to.
func (v *view) growth() (g qemu.Growth, node string) {
	switch v.action {
	case makeStub:
		if v.Made() {
			return g, ""
		}
		return qemu.Growth{Storage: v.storage, Size: v.size, More: v.size}, v.node
	case grow:
		return qemu.Growth{Storage: storageOf(v.Volume), Size: v.size, More: v.size - v.diskSize()}, v.from.Node
	case move:
		all := max(v.size, v.diskSize())
		return qemu.Growth{Storage: v.state.storage, Size: all, More: all}, v.from.Node
	case keep, wait, settle, arrive, follow, forget, migrate, give, attach, protect, destroy, release, lose, stuck:
	}
	return g, ""
}

// diskSize returns the size of the disk that is to grow or to move; zero if the VM does not report it.
func (v *view) diskSize() proxmox.Size {
	d, err := proxmox.ParseDisk(v.from.Config[v.key])
	if err != nil {
		return 0
	}
	has, _ := d.Size()
	return has
}

// judge checks whether the disk of a Volume fits on its storage. If not, that is a problem. If it may fill the storage, that is a warning.
func (v *view) judge(ctx context.Context, from capacity.Inventory, volume string) error {
	g, node := v.growth()
	if v.problem != nil || g.More <= 0 {
		return nil
	}
	g.Name = volume
	var err error
	v.fit, err = capacity.Of(ctx, from, []qemu.Growth{g}, node)
	if no := strings.Join(v.fit.Rejections, "; "); no != "" {
		v.problem = &kind.Problem{Reason: reasonStorageFull, Message: no}
	}
	return err
}

// warn reports that the disk, for which a request was sent, may fill its storage.
func (e *external) warn(m Volume) {
	for _, warning := range slices.Sorted(maps.Values(e.view.fit.Warnings)) {
		e.Event(m, event.Warning(eventOvercommitted, errors.New(warning)))
	}
}
