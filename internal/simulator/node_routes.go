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

// nodeRoutes are the methods of nodes and of their tasks.
func nodeRoutes() map[string]handler {
	const node = "/nodes/{node}"
	return map[string]handler{
		"GET /version":                         (*call).version,
		"GET /nodes":                           (*call).listNodes,
		"GET " + node:                          (*call).nodeIndex,
		"GET " + node + "/status":              (*call).nodeStatus,
		"GET " + node + "/version":             (*call).version,
		"GET " + node + "/lxc":                 (*call).empty,
		"GET " + node + "/network":             (*call).listNetwork,
		"POST " + node + "/network":            (*call).createInterface,
		"PUT " + node + "/network":             (*call).applyNetwork,
		"DELETE " + node + "/network":          (*call).revertNetwork,
		"GET " + node + "/network/{iface}":     (*call).getInterface,
		"PUT " + node + "/network/{iface}":     (*call).updateInterface,
		"DELETE " + node + "/network/{iface}":  (*call).deleteInterface,
		"GET " + node + "/tasks":               (*call).listTasks,
		"GET " + node + "/tasks/{upid}":        (*call).taskIndex,
		"DELETE " + node + "/tasks/{upid}":     (*call).stopTask,
		"GET " + node + "/tasks/{upid}/status": (*call).taskStatus,
		"GET " + node + "/tasks/{upid}/log":    (*call).taskLog,
		"GET " + node + "/config":              (*call).nodeConfig,
		"PUT " + node + "/config":              (*call).setNodeConfig,
		"GET " + node + "/dns":                 (*call).nodeDNS,
		"PUT " + node + "/dns":                 (*call).setNodeDNS,
		"GET " + node + "/time":                (*call).nodeTime,
		"PUT " + node + "/time":                (*call).setNodeTime,
		"GET " + node + "/hosts":               (*call).nodeHosts,
		"POST " + node + "/hosts":              (*call).setNodeHosts,
	}
}
