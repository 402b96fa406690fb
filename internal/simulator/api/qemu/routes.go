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

// Package qemu serves /nodes/{node}/qemu: VMs, their snapshots and their agents.
package qemu

import (
	"maps"
	"slices"

	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// Routes returns the methods of VMs.
func Routes() map[string]engine.Handler {
	const list, guest = "/nodes/{node}/qemu", "/nodes/{node}/qemu/{vmid}"
	const capabilities = "/nodes/{node}/capabilities/qemu"
	out := map[string]engine.Handler{
		"GET " + list:                                listGuests,
		"POST " + list:                               createGuest,
		"GET " + guest:                               guestIndex,
		"DELETE " + guest:                            deleteGuest,
		"GET " + guest + "/config":                   GetConfig,
		"PUT " + guest + "/config":                   putConfig,
		"POST " + guest + "/config":                  postConfig,
		"GET " + guest + "/pending":                  getPending,
		"PUT " + guest + "/unlink":                   unlink,
		"PUT " + guest + "/resize":                   resizeDisk,
		"POST " + guest + "/move_disk":               moveDisk,
		"POST " + guest + "/clone":                   cloneGuest,
		"POST " + guest + "/template":                templateGuest,
		"GET " + guest + "/feature":                  feature,
		"GET " + guest + "/migrate":                  migrateCheck,
		"POST " + guest + "/migrate":                 migrateGuest,
		"POST /nodes/{node}/migrateall":              migrateAll,
		"GET " + guest + "/cloudinit":                getCloudInit,
		"PUT " + guest + "/cloudinit":                regenerateCloudInit,
		"GET " + guest + "/cloudinit/dump":           dumpCloudInit,
		"GET " + guest + "/status":                   statusIndex,
		"GET " + guest + "/status/current":           guestStatus,
		"POST " + guest + "/status/start":            startGuest,
		"POST " + guest + "/status/stop":             stopGuest,
		"POST " + guest + "/status/shutdown":         shutdownGuest,
		"POST " + guest + "/status/reboot":           rebootGuest,
		"POST " + guest + "/status/reset":            resetGuest,
		"POST " + guest + "/status/suspend":          suspendGuest,
		"POST " + guest + "/status/resume":           resumeGuest,
		"GET " + guest + "/agent":                    agentIndex,
		"POST " + guest + "/agent/exec":              agentExec,
		"GET " + guest + "/agent/exec-status":        agentExecStatus,
		"POST " + guest + "/agent/file-write":        agentFileWrite,
		"GET " + guest + "/agent/file-read":          agentFileRead,
		"POST " + guest + "/agent/shutdown":          agentShutdown,
		"POST " + guest + "/agent":                   agentLegacy,
		"POST " + guest + "/agent/set-user-password": agentSetPassword,
		"PUT " + guest + "/sendkey":                  sendKey,
		"GET " + capabilities + "/cpu":               cpuModels,
		"GET " + capabilities + "/machines":          machines,
	}
	maps.Copy(out, snapshotRoutes())
	maps.Copy(out, agentCommands(guest))
	maps.Copy(out, containerRoutes())
	return out
}

// containerRoutes returns the methods that read containers.
func containerRoutes() map[string]engine.Handler {
	const list, container = "/nodes/{node}/lxc", "/nodes/{node}/lxc/{vmid}"
	return map[string]engine.Handler{
		"GET " + list:                    listContainers,
		"GET " + container + "/config":   GetConfig,
		"GET " + container + "/pending":  getPending,
		"GET " + container + "/snapshot": listSnapshots,
	}
}

// listContainers returns the containers of a node.
func listContainers(c *engine.Call) (any, error) {
	out, view := []map[string]any{}, c.State.View(c.Who)
	for _, vmid := range slices.Sorted(maps.Keys(c.State.Containers)) {
		if g := c.State.Containers[vmid]; g.Node == c.Node && view.May(state.VMPath(vmid), "VM.Audit") {
			out = append(out, map[string]any{"vmid": vmid, "status": string(g.Power), "name": g.Config["hostname"]})
		}
	}
	return out, nil
}

func snapshotRoutes() map[string]engine.Handler {
	const list, one = "/nodes/{node}/qemu/{vmid}/snapshot", "/nodes/{node}/qemu/{vmid}/snapshot/{snapname}"
	return map[string]engine.Handler{
		"GET " + list:               listSnapshots,
		"POST " + list:              createSnapshot,
		"GET " + one:                snapshotIndex,
		"DELETE " + one:             deleteSnapshot,
		"GET " + one + "/config":    getSnapshotConfig,
		"PUT " + one + "/config":    putSnapshotConfig,
		"POST " + one + "/rollback": rollbackSnapshot,
	}
}
