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

// qemuRoutes are the methods of VMs.
func qemuRoutes() map[string]handler {
	const list, guest = "/nodes/{node}/qemu", "/nodes/{node}/qemu/{vmid}"
	const capabilities = "/nodes/{node}/capabilities/qemu"
	out := map[string]handler{
		"GET " + list:                                (*call).listGuests,
		"POST " + list:                               (*call).createGuest,
		"GET " + guest:                               (*call).guestIndex,
		"DELETE " + guest:                            (*call).deleteGuest,
		"GET " + guest + "/config":                   (*call).getConfig,
		"PUT " + guest + "/config":                   (*call).putConfig,
		"POST " + guest + "/config":                  (*call).postConfig,
		"GET " + guest + "/pending":                  (*call).getPending,
		"PUT " + guest + "/unlink":                   (*call).unlink,
		"PUT " + guest + "/resize":                   (*call).resizeDisk,
		"POST " + guest + "/move_disk":               (*call).moveDisk,
		"POST " + guest + "/clone":                   (*call).cloneGuest,
		"POST " + guest + "/template":                (*call).templateGuest,
		"GET " + guest + "/feature":                  (*call).feature,
		"GET " + guest + "/migrate":                  (*call).migrateCheck,
		"POST " + guest + "/migrate":                 (*call).migrateGuest,
		"GET " + guest + "/cloudinit":                (*call).getCloudInit,
		"PUT " + guest + "/cloudinit":                (*call).regenerateCloudInit,
		"GET " + guest + "/cloudinit/dump":           (*call).dumpCloudInit,
		"GET " + guest + "/status":                   (*call).statusIndex,
		"GET " + guest + "/status/current":           (*call).guestStatus,
		"POST " + guest + "/status/start":            (*call).startGuest,
		"POST " + guest + "/status/stop":             (*call).stopGuest,
		"POST " + guest + "/status/shutdown":         (*call).shutdownGuest,
		"POST " + guest + "/status/reboot":           (*call).rebootGuest,
		"POST " + guest + "/status/reset":            (*call).resetGuest,
		"POST " + guest + "/status/suspend":          (*call).suspendGuest,
		"POST " + guest + "/status/resume":           (*call).resumeGuest,
		"GET " + guest + "/agent":                    (*call).agentIndex,
		"POST " + guest + "/agent/exec":              (*call).agentExec,
		"GET " + guest + "/agent/exec-status":        (*call).agentExecStatus,
		"POST " + guest + "/agent/file-write":        (*call).agentFileWrite,
		"GET " + guest + "/agent/file-read":          (*call).agentFileRead,
		"POST " + guest + "/agent/shutdown":          (*call).agentShutdown,
		"POST " + guest + "/agent":                   (*call).agentLegacy,
		"POST " + guest + "/agent/set-user-password": (*call).agentSetPassword,
		"PUT " + guest + "/sendkey":                  (*call).sendKey,
		"GET " + capabilities + "/cpu":               (*call).cpuModels,
		"GET " + capabilities + "/machines":          (*call).machines,
	}
	maps.Copy(out, snapshotRoutes())
	maps.Copy(out, agentCommands(guest))
	return out
}

func snapshotRoutes() map[string]handler {
	const list, one = "/nodes/{node}/qemu/{vmid}/snapshot", "/nodes/{node}/qemu/{vmid}/snapshot/{snapname}"
	return map[string]handler{
		"GET " + list:               (*call).listSnapshots,
		"POST " + list:              (*call).createSnapshot,
		"GET " + one:                (*call).snapshotIndex,
		"DELETE " + one:             (*call).deleteSnapshot,
		"GET " + one + "/config":    (*call).getSnapshotConfig,
		"PUT " + one + "/config":    (*call).putSnapshotConfig,
		"POST " + one + "/rollback": (*call).rollbackSnapshot,
	}
}
