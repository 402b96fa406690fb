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

import "maps"

// clusterRoutes are the methods of the cluster and of pools.
func clusterRoutes() map[string]handler {
	out := map[string]handler{
		"GET /cluster/resources": (*call).resources,
		"GET /cluster/nextid":    (*call).nextID,
		"GET /cluster/tasks":     (*call).clusterTasks,
		"GET /cluster/log":       (*call).clusterLog,
		"GET /cluster/status":    (*call).clusterStatus,
		"GET /cluster/options":   (*call).clusterOptions,
		"PUT /cluster/options":   (*call).setClusterOptions,
		"GET /cluster": indexOf("replication", "metrics", "notifications", "config", "firewall", "backup", "backup-info", "ha", "acme", "ceph",
			"jobs", "mapping", "sdn", "log", "resources", "tasks", "options", "status", "nextid"),
		"GET /pools":             (*call).listPools,
		"POST /pools":            (*call).createPool,
		"GET /pools/{poolid}":    (*call).getPool,
		"PUT /pools":             (*call).updatePool,
		"PUT /pools/{poolid}":    (*call).updatePool,
		"DELETE /pools":          (*call).deletePool,
		"DELETE /pools/{poolid}": (*call).deletePool,
	}
	maps.Copy(out, mappingRoutes())
	maps.Copy(out, replicationRoutes())
	return out
}
