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

// Package cluster serves /cluster and /pools: resources, tasks, log, options, mappings, replication jobs.
package cluster

import (
	"maps"

	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
)

// Routes returns the methods of the cluster and of pools.
func Routes() map[string]engine.Handler {
	out := map[string]engine.Handler{
		"GET /":                  root,
		"GET /cluster/resources": Resources,
		"GET /cluster/nextid":    nextID,
		"GET /cluster/tasks":     clusterTasks,
		"GET /cluster/log":       clusterLog,
		"GET /cluster/status":    clusterStatus,
		"GET /cluster/options":   clusterOptions,
		"PUT /cluster/options":   setClusterOptions,
		"GET /cluster": engine.IndexOf("replication", "metrics", "notifications", "config", "firewall", "backup", "backup-info", "ha", "acme", "ceph",
			"jobs", "mapping", "sdn", "log", "resources", "tasks", "options", "status", "nextid"),
		"GET /pools":             listPools,
		"POST /pools":            createPool,
		"GET /pools/{poolid}":    getPool,
		"PUT /pools":             updatePool,
		"PUT /pools/{poolid}":    updatePool,
		"DELETE /pools":          deletePool,
		"DELETE /pools/{poolid}": deletePool,
	}
	out["GET /cluster/config/nodes"] = corosyncNodes
	maps.Copy(out, mappingRoutes())
	maps.Copy(out, replicationRoutes())
	return out
}
