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

package simulator

import (
	"maps"

	"github.com/vitistack/provider-proxmox/internal/simulator/api/access"
	"github.com/vitistack/provider-proxmox/internal/simulator/api/backup"
	"github.com/vitistack/provider-proxmox/internal/simulator/api/cluster"
	"github.com/vitistack/provider-proxmox/internal/simulator/api/firewall"
	"github.com/vitistack/provider-proxmox/internal/simulator/api/ha"
	"github.com/vitistack/provider-proxmox/internal/simulator/api/nodes"
	"github.com/vitistack/provider-proxmox/internal/simulator/api/qemu"
	"github.com/vitistack/provider-proxmox/internal/simulator/api/sdn"
	"github.com/vitistack/provider-proxmox/internal/simulator/api/storage"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
)

// table returns the behaviour of all simulated methods, by verb and path of the API description. Other methods are answered with 501, "… is not
// simulated".
func table() map[string]engine.Handler {
	out := map[string]engine.Handler{}
	for _, area := range []map[string]engine.Handler{
		access.Routes(), backup.Routes(), cluster.Routes(), firewall.Routes(), ha.Routes(), nodes.Routes(), qemu.Routes(), sdn.Routes(), storage.Routes(),
	} {
		maps.Copy(out, area)
	}
	return out
}
