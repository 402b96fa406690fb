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

// Package nodes serves /nodes: status, network, settings and tasks of nodes.
package nodes

import (
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
)

// Routes returns the methods of nodes and of their tasks.
func Routes() map[string]engine.Handler {
	const node = "/nodes/{node}"
	return map[string]engine.Handler{
		"GET /version":                         version,
		"GET /nodes":                           listNodes,
		"GET " + node:                          nodeIndex,
		"GET " + node + "/status":              nodeStatus,
		"GET " + node + "/version":             version,
		"GET " + node + "/network":             listNetwork,
		"POST " + node + "/network":            createInterface,
		"PUT " + node + "/network":             applyNetwork,
		"DELETE " + node + "/network":          revertNetwork,
		"GET " + node + "/network/{iface}":     getInterface,
		"PUT " + node + "/network/{iface}":     updateInterface,
		"DELETE " + node + "/network/{iface}":  deleteInterface,
		"GET " + node + "/tasks":               listTasks,
		"GET " + node + "/tasks/{upid}":        taskIndex,
		"DELETE " + node + "/tasks/{upid}":     stopTask,
		"GET " + node + "/tasks/{upid}/status": taskStatus,
		"GET " + node + "/tasks/{upid}/log":    taskLog,
		"GET " + node + "/config":              nodeConfig,
		"PUT " + node + "/config":              setNodeConfig,
		"GET " + node + "/dns":                 nodeDNS,
		"PUT " + node + "/dns":                 setNodeDNS,
		"GET " + node + "/time":                nodeTime,
		"PUT " + node + "/time":                setNodeTime,
		"GET " + node + "/hosts":               nodeHosts,
		"POST " + node + "/hosts":              setNodeHosts,
	}
}
