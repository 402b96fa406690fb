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

package ha

import "github.com/vitistack/provider-proxmox/internal/simulator/engine"

// Routes returns the methods of HA.
func Routes() map[string]engine.Handler {
	const resource, group, rule = "/cluster/ha/resources", "/cluster/ha/groups", "/cluster/ha/rules"
	return map[string]engine.Handler{
		"GET /cluster/ha":                       haIndex,
		"GET /cluster/ha/status":                engine.IndexOf("current", "manager_status"),
		"GET /cluster/ha/status/current":        haStatus,
		"GET /cluster/ha/status/manager_status": fullStatus,
		"GET " + resource:                       listHA,
		"POST " + resource:                      createHA,
		"GET " + resource + "/{sid}":            getHA,
		"PUT " + resource + "/{sid}":            updateHA,
		"DELETE " + resource + "/{sid}":         deleteHA,
		"POST " + resource + "/{sid}/migrate":   migrateHA,
		"POST " + resource + "/{sid}/relocate":  migrateHA,
		"GET " + group:                          haGroup("index groups", listHAGroups),
		"POST " + group:                         haGroup("create group", createHAGroup),
		"GET " + group + "/{group}":             haGroup("read group", getHAGroup),
		"PUT " + group + "/{group}":             haGroup("update group", updateHAGroup),
		"DELETE " + group + "/{group}":          haGroup("delete group", deleteHAGroup),
		"GET " + rule:                           listHARules,
		"POST " + rule:                          createHARule,
		"GET " + rule + "/{rule}":               getHARule,
		"PUT " + rule + "/{rule}":               updateHARule,
		"DELETE " + rule + "/{rule}":            deleteHARule,
	}
}
