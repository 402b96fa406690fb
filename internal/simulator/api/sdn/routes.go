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

package sdn

import "github.com/vitistack/provider-proxmox/internal/simulator/engine"

// Routes returns the methods of SDN.
func Routes() map[string]engine.Handler {
	return map[string]engine.Handler{
		"GET /cluster/sdn/zones":           listZones,
		"POST /cluster/sdn/zones":          createZone,
		"GET /cluster/sdn/zones/{zone}":    getZone,
		"PUT /cluster/sdn/zones/{zone}":    updateZone,
		"DELETE /cluster/sdn/zones/{zone}": deleteZone,
		"GET /cluster/sdn":                 engine.IndexOf("vnets", "zones", "controllers", "ipams", "dns", "fabrics"),
		"GET /cluster/sdn/vnets":           listVNets,
		"POST /cluster/sdn/vnets":          createVNet,
		"GET /cluster/sdn/vnets/{vnet}":    getVNet,
		"PUT /cluster/sdn/vnets/{vnet}":    updateVNet,
		"DELETE /cluster/sdn/vnets/{vnet}": deleteVNet,
		"PUT /cluster/sdn":                 applySDN,
	}
}
