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

package kind

import (
	"context"
	"slices"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// A PermissionReader reads the permissions of the user or token of a connection.
type PermissionReader interface {
	Permissions(ctx context.Context, path string) (map[string]proxmox.Privileges, error)
	Superuser() bool
}

// CheckPrivileges returns an error that names all privileges that are missing for an operation, with their paths, in the wording of Proxmox VE. It
// makes one request per path, so call it before a write and not at each reconcile.
func CheckPrivileges(ctx context.Context, c PermissionReader, op string, needed ...proxmox.Privilege) error {
	if c.Superuser() {
		return nil
	}
	known := map[string]proxmox.Privileges{}
	var missing []proxmox.Privilege
	for _, p := range needed {
		if _, ok := known[p.Path]; !ok {
			all, err := c.Permissions(ctx, p.Path)
			if err != nil {
				return err
			}
			known[p.Path] = all[p.Path]
		}
		has := func(name string) bool { _, ok := known[p.Path][name]; return ok }
		if !slices.ContainsFunc(p.Names, has) {
			missing = append(missing, p)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return proxmox.Denial(op, missing...)
}
