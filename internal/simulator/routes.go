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

// method makes a handler of a method of call.
func method(fn func(*call) (any, error)) handler { return fn }

// table holds the behaviour of all methods that have one, by verb and path of the API description. What is not here
// is answered with 501, "… is not simulated".
func table() map[string]handler {
	out := map[string]handler{}
	for _, part := range []map[string]handler{
		guestRoutes(), snapshotRoutes(), clusterRoutes(), nodeRoutes(), accessRoutes(), firewallRoutes(), jobRoutes(), sdnRoutes(),
		domainRoutes(), agentCommands("/nodes/{node}/qemu/{vmid}"),
		downloadRoutes(), optionRoutes(), mappingRoutes(), haRoutes(), replicationRoutes(), backupRoutes(),
	} {
		maps.Copy(out, part)
	}
	return out
}

func guestRoutes() map[string]handler {
	const list, guest = "/nodes/{node}/qemu", "/nodes/{node}/qemu/{vmid}"
	return map[string]handler{
		"GET " + list:                                method((*call).listGuests),
		"POST " + list:                               method((*call).createGuest),
		"GET " + guest:                               method((*call).guestIndex),
		"DELETE " + guest:                            method((*call).deleteGuest),
		"GET " + guest + "/config":                   method((*call).getConfig),
		"PUT " + guest + "/config":                   method((*call).putConfig),
		"POST " + guest + "/config":                  method((*call).postConfig),
		"GET " + guest + "/pending":                  method((*call).getPending),
		"PUT " + guest + "/unlink":                   method((*call).unlink),
		"PUT " + guest + "/resize":                   method((*call).resizeDisk),
		"POST " + guest + "/move_disk":               method((*call).moveDisk),
		"POST " + guest + "/clone":                   method((*call).cloneGuest),
		"POST " + guest + "/template":                method((*call).templateGuest),
		"GET " + guest + "/feature":                  method((*call).feature),
		"GET " + guest + "/migrate":                  method((*call).migrateCheck),
		"POST " + guest + "/migrate":                 method((*call).migrateGuest),
		"GET " + guest + "/cloudinit":                method((*call).getCloudInit),
		"PUT " + guest + "/cloudinit":                method((*call).regenerateCloudInit),
		"GET " + guest + "/cloudinit/dump":           method((*call).dumpCloudInit),
		"GET " + guest + "/status":                   method((*call).statusIndex),
		"GET " + guest + "/status/current":           method((*call).guestStatus),
		"POST " + guest + "/status/start":            method((*call).startGuest),
		"POST " + guest + "/status/stop":             method((*call).stopGuest),
		"POST " + guest + "/status/shutdown":         method((*call).shutdownGuest),
		"POST " + guest + "/status/reboot":           method((*call).rebootGuest),
		"POST " + guest + "/status/reset":            method((*call).resetGuest),
		"POST " + guest + "/status/suspend":          method((*call).suspendGuest),
		"POST " + guest + "/status/resume":           method((*call).resumeGuest),
		"GET " + guest + "/agent":                    method((*call).agentIndex),
		"POST " + guest + "/agent/exec":              method((*call).agentExec),
		"GET " + guest + "/agent/exec-status":        method((*call).agentExecStatus),
		"POST " + guest + "/agent/file-write":        method((*call).agentFileWrite),
		"GET " + guest + "/agent/file-read":          method((*call).agentFileRead),
		"POST " + guest + "/agent/shutdown":          method((*call).agentShutdown),
		"POST " + guest + "/agent":                   method((*call).agentLegacy),
		"POST " + guest + "/agent/set-user-password": method((*call).agentSetPassword),
		"PUT " + guest + "/sendkey":                  method((*call).sendKey),
	}
}

func snapshotRoutes() map[string]handler {
	const list, one = "/nodes/{node}/qemu/{vmid}/snapshot", "/nodes/{node}/qemu/{vmid}/snapshot/{snapname}"
	return map[string]handler{
		"GET " + list:               method((*call).listSnapshots),
		"POST " + list:              method((*call).createSnapshot),
		"GET " + one:                method((*call).snapshotIndex),
		"DELETE " + one:             method((*call).deleteSnapshot),
		"GET " + one + "/config":    method((*call).getSnapshotConfig),
		"PUT " + one + "/config":    method((*call).putSnapshotConfig),
		"POST " + one + "/rollback": method((*call).rollbackSnapshot),
	}
}

func clusterRoutes() map[string]handler {
	return map[string]handler{
		"GET /version":              method((*call).version),
		"GET /cluster/resources":    method((*call).resources),
		"GET /cluster/nextid":       method((*call).nextID),
		"GET /cluster/tasks":        method((*call).clusterTasks),
		"GET /cluster/log":          method((*call).clusterLog),
		"GET /cluster/status":       method((*call).clusterStatus),
		"GET /pools":                method((*call).listPools),
		"POST /pools":               method((*call).createPool),
		"GET /pools/{poolid}":       method((*call).getPool),
		"PUT /pools":                method((*call).updatePool),
		"PUT /pools/{poolid}":       method((*call).updatePool),
		"DELETE /pools":             method((*call).deletePool),
		"DELETE /pools/{poolid}":    method((*call).deletePool),
		"GET /storage":              method((*call).listStorage),
		"GET /storage/{storage}":    method((*call).getStorage),
		"POST /storage":             method((*call).createStorage),
		"PUT /storage/{storage}":    method((*call).updateStorage),
		"DELETE /storage/{storage}": method((*call).deleteStorage),
	}
}

func nodeRoutes() map[string]handler {
	const node, storage = "/nodes/{node}", "/nodes/{node}/storage/{storage}"
	return map[string]handler{
		"GET /nodes":                                  method((*call).listNodes),
		"GET " + node:                                 method((*call).nodeIndex),
		"GET " + node + "/status":                     method((*call).nodeStatus),
		"GET " + node + "/version":                    method((*call).version),
		"GET " + node + "/capabilities/qemu/cpu":      method((*call).cpuModels),
		"GET " + node + "/capabilities/qemu/machines": method((*call).machines),
		"GET " + node + "/lxc":                        method((*call).empty),
		"GET " + node + "/network":                    method((*call).listNetwork),
		"POST " + node + "/network":                   method((*call).createInterface),
		"PUT " + node + "/network":                    method((*call).applyNetwork),
		"DELETE " + node + "/network":                 method((*call).revertNetwork),
		"GET " + node + "/network/{iface}":            method((*call).getInterface),
		"PUT " + node + "/network/{iface}":            method((*call).updateInterface),
		"DELETE " + node + "/network/{iface}":         method((*call).deleteInterface),
		"GET " + node + "/tasks":                      method((*call).listTasks),
		"GET " + node + "/tasks/{upid}":               method((*call).taskIndex),
		"DELETE " + node + "/tasks/{upid}":            method((*call).stopTask),
		"GET " + node + "/tasks/{upid}/status":        method((*call).taskStatus),
		"GET " + node + "/tasks/{upid}/log":           method((*call).taskLog),
		"GET " + node + "/storage":                    method((*call).listNodeStorage),
		"GET " + storage:                              method((*call).nodeStorageIndex),
		"GET " + storage + "/status":                  method((*call).getStorageStatus),
		"GET " + storage + "/content":                 method((*call).listContent),
		"POST " + storage + "/content":                method((*call).allocVolume),
		"GET " + storage + "/content/{volume}":        method((*call).getVolume),
		"DELETE " + storage + "/content/{volume}":     method((*call).deleteVolume),
		"POST " + storage + "/upload":                 method((*call).uploadFile),
	}
}

func accessRoutes() map[string]handler {
	const user = "/access/users/{userid}"
	return map[string]handler{
		"POST /access/ticket":                 method((*call).createTicket),
		"GET /access/permissions":             method((*call).permissions),
		"GET /access":                         indexOfSubdirs("users", "groups", "roles", "acl", "domains", "openid", "tfa", "ticket", "password"),
		"GET /access/ticket":                  method((*call).null),
		"PUT /access/password":                method((*call).changePassword),
		"PUT /access/groups/{groupid}":        method((*call).updateGroup),
		"GET /access/users":                   method((*call).listUsers),
		"GET " + user:                         method((*call).getUser),
		"GET " + user + "/token":              method((*call).listTokens),
		"GET " + user + "/token/{tokenid}":    method((*call).getToken),
		"POST " + user + "/token/{tokenid}":   method((*call).createToken),
		"DELETE " + user + "/token/{tokenid}": method((*call).deleteToken),
		"GET /access/roles":                   method((*call).listRoles),
		"GET /access/roles/{roleid}":          method((*call).getRole),
		"GET /access/acl":                     method((*call).listACL),
		"GET /access/groups":                  method((*call).listGroups),
		"POST /access/groups":                 method((*call).createGroup),
		"GET /access/groups/{groupid}":        method((*call).getGroup),
		"DELETE /access/groups/{groupid}":     method((*call).deleteGroup),
		"POST /access/users":                  method((*call).createUser),
		"PUT " + user:                         method((*call).updateUser),
		"DELETE " + user:                      method((*call).deleteUser),
		"PUT " + user + "/token/{tokenid}":    method((*call).updateToken),
		"POST /access/roles":                  method((*call).createRole),
		"PUT /access/roles/{roleid}":          method((*call).updateRole),
		"DELETE /access/roles/{roleid}":       method((*call).deleteRole),
		"PUT /access/acl":                     method((*call).updateACL),
	}
}
