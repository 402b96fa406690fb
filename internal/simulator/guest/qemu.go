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

package guest

import (
	"slices"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// QemuVersions returns the versions in the names of machines, latest first.
func QemuVersions() []string {
	return strings.Fields("10.0 9.2 9.1 9.0 8.2 8.1 8.0 7.2 7.1 7.0 6.2 6.1 6.0 5.2 5.1 5.0 4.2 4.1 4.0 3.1 3.0 2.12 2.11 2.10 2.9 2.8 2.7 2.6 2.5 2.4")
}

// MachineRevisions returns Proxmox' own revisions of machines and their changes, latest first.
func MachineRevisions(version string) [][2]string {
	return map[string][][2]string{
		"10.0": {{"+pve1", "Set host_mtu vNIC option even with default value for migration compat."}},
		"9.2":  {{"+pve1", "Disables S3/S4 power states by default."}},
		"4.1": {
			{"+pve2", "Increases the number of SCSI drives supported."}, {"+pve1", "Introduction of pveX versioning, no changes."},
		},
	}[version]
}

// QemuFrom reports whether the nodes' QEMU is of a version or a later one.
func QemuFrom(st *state.State, version string) bool {
	list := QemuVersions()
	have, want := slices.Index(list, machine(st)), slices.Index(list, version)
	return have < 0 || have <= want
}

// ModelsOfCPUs returns the built-in models of CPUs and their vendors.
func ModelsOfCPUs() map[string]string {
	return map[string]string{
		"default": "kvm32 kvm64 qemu32 qemu64 max host x86-64-v2 x86-64-v2-AES x86-64-v3 x86-64-v4",
		"AuthenticAMD": "athlon phenom Opteron_G1 Opteron_G2 Opteron_G3 Opteron_G4 Opteron_G5 EPYC EPYC-IBPB EPYC-v3 EPYC-v4 EPYC-Rome " +
			"EPYC-Rome-v2 EPYC-Rome-v3 EPYC-Rome-v4 EPYC-Milan EPYC-Milan-v2 EPYC-Genoa",
		"GenuineIntel": "486 pentium pentium2 pentium3 coreduo core2duo Conroe Penryn Nehalem Nehalem-IBRS Westmere Westmere-IBRS SandyBridge " +
			"SandyBridge-IBRS IvyBridge IvyBridge-IBRS Haswell Haswell-IBRS Haswell-noTSX Haswell-noTSX-IBRS Broadwell Broadwell-IBRS " +
			"Broadwell-noTSX Broadwell-noTSX-IBRS Skylake-Client Skylake-Client-IBRS Skylake-Client-noTSX-IBRS Skylake-Client-v4 " +
			"Skylake-Server Skylake-Server-IBRS Skylake-Server-noTSX-IBRS Skylake-Server-v4 Skylake-Server-v5 Cascadelake-Server " +
			"Cascadelake-Server-v2 Cascadelake-Server-noTSX Cascadelake-Server-v4 Cascadelake-Server-v5 Cooperlake Cooperlake-v2 KnightsMill " +
			"Icelake-Client Icelake-Client-noTSX Icelake-Server Icelake-Server-noTSX Icelake-Server-v3 Icelake-Server-v4 Icelake-Server-v5 " +
			"Icelake-Server-v6 SapphireRapids SapphireRapids-v2 GraniteRapids",
	}
}

// support returns the features of Proxmox' QEMU patches. QEMU without them has none of these.
func support(st *state.State) map[string]any {
	out := map[string]any{"pbs-library-version": "1.4.1"}
	if st.StockQEMU {
		out["pbs-library-version"] = "none"
	}
	for _, feature := range []string{
		"backup-max-workers", "pbs-dirty-bitmap", "pbs-dirty-bitmap-migration", "pbs-dirty-bitmap-savevm", "pbs-masterkey", "query-bitmap-info",
	} {
		out[feature] = !st.StockQEMU
	}
	return out
}

// blockStatistics returns QEMU's counters of every drive, and how long ago a drive was used.
func blockStatistics(o *engine.Op, g *state.Guest) map[string]any {
	kinds := []string{"rd", "wr", "flush", "unmap"}
	if QemuFrom(o.State, "8.1") {
		kinds = append(kinds, "zone_append")
	}
	out := map[string]any{}
	for key := range g.Config {
		if !IsDrive(key) || key == "efidisk0" || key == "tpmstate0" {
			continue
		}
		counters := map[string]any{"account_failed": true, "account_invalid": true, "timed_stats": []any{}, "wr_highest_offset": 0}
		for _, kind := range kinds {
			counters[kind+"_operations"], counters[kind+"_total_time_ns"] = 0, 0
			counters["failed_"+kind+"_operations"], counters["invalid_"+kind+"_operations"] = 0, 0
			if kind != "flush" {
				counters[kind+"_bytes"], counters[kind+"_merged"] = 0, 0
			}
		}
		v := o.State.Volume(g.Node, ParseDrive(o.Engine, key, g.Config[key]).File())
		if idle := o.Engine.Clock.Now().Sub(g.Started) - o.Engine.Scale(o.Engine.Duration("boot")); v != nil && v.System && idle > 0 {
			counters["idle_time_ns"] = idle.Nanoseconds()
		}
		out[key] = counters
	}
	return out
}
