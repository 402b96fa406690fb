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

package inventory

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// A VolumeLister lists the volumes of a content type on a storage of a node.
type VolumeLister interface {
	Volumes(ctx context.Context, node, storage, content string, maxAge time.Duration) ([]proxmox.Volume, error)
}

// SizeOf returns the size of the disk with a volume ID on a storage of a node, or 0 if the storage does not list it. It is always read, because the disk
// may have grown a moment ago, and the size is recorded in a quota for long.
func SizeOf(ctx context.Context, in VolumeLister, node, volume string) (proxmox.Size, error) {
	storage, _, _ := strings.Cut(volume, ":")
	all, err := in.Volumes(ctx, node, storage, "images", Fresh)
	if i := slices.IndexFunc(all, func(v proxmox.Volume) bool { return v.ID == volume }); i >= 0 && err == nil {
		return proxmox.Size(all[i].Size), nil
	}
	return 0, err
}
