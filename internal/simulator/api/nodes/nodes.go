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

package nodes

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/guest"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// release returns the version information of a release.
func release(st *state.State) map[string]any {
	if st.Version == "8.4" {
		return map[string]any{"release": "8.4", "version": "8.4.21", "repoid": "2606ac850d46da29"}
	}
	return map[string]any{"release": "9.2", "version": "9.2.11", "repoid": "14a22df35955d97d"}
}

func version(c *engine.Call) (any, error) { return release(c.State), nil }

func listNodes(c *engine.Call) (any, error) {
	out := []map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(c.State.Nodes)) {
		n := c.State.Nodes[name]
		entry := map[string]any{
			"id": "node/" + name, "type": "node", "node": name, "status": guest.NodeStatus(c.Engine, n),
			"ssl_fingerprint": fingerprint(c.Engine, name),
		}
		maps.Copy(entry, guest.NodeReport(c.Op(), n, c.State.May(c.Who, "/nodes/"+name, "Sys.Audit")))
		out = append(out, entry)
	}
	return out, nil
}

// fingerprint returns a stable text in the form of a certificate's fingerprint. As with real certificates, nodes of the same
// name in different clusters have different ones.
func fingerprint(s *engine.Engine, name string) string {
	content := []byte(name)
	content = append(content, s.Certificate...)
	sum := sha256.Sum256(content)
	h := strings.ToUpper(hex.EncodeToString(sum[:]))
	parts := []string{}
	for i := 0; i < len(h); i += 2 {
		parts = append(parts, h[i:i+2])
	}
	return strings.Join(parts, ":")
}

func nodeStatus(c *engine.Call) (any, error) {
	n := c.State.Nodes[c.Node]
	u, r := guest.NodeUsage(c.Op(), n), release(c.State)
	used := u["mem"].(int64) //nolint:forcetypeassert // It is ours.
	kernel := "6.14.8-2-pve"
	out := map[string]any{
		"pveversion": fmt.Sprintf("pve-manager/%s/%s", r["version"], r["repoid"]), "uptime": u["uptime"], "cpu": u["cpu"], "wait": 0,
		"loadavg": []string{"0.10", "0.08", "0.05"}, "kversion": "Linux " + kernel + " #1 SMP PREEMPT_DYNAMIC",
		"current-kernel": map[string]any{"sysname": "Linux", "release": kernel, "machine": "x86_64", "version": "#1 SMP PREEMPT_DYNAMIC"},
		"memory":         map[string]any{"total": n.Memory, "used": used, "free": n.Memory - used, "available": n.Memory - used},
		"swap":           map[string]any{"total": 0, "used": 0, "free": 0},
		"rootfs":         map[string]any{"total": n.Disk, "used": n.Disk / 10, "free": n.Disk - n.Disk/10, "avail": n.Disk - n.Disk/10},
		"ksm":            map[string]any{"shared": 0}, "boot-info": map[string]any{"mode": "efi", "secureboot": 0},
		"cpuinfo": map[string]any{
			"cpus": n.CPUs, "cores": n.CPUs, "sockets": 1, "model": "AMD EPYC", "vendor": "AuthenticAMD", "mhz": "2600.000", "hvm": "1",
			"user_hz": 100, "flags": "fpu sse sse2 svm",
		},
	}
	if c.State.Version == "8.4" {
		out["idle"] = 0
	}
	return out, nil
}

func nodeIndex(*engine.Call) (any, error) {
	out := []map[string]any{}
	for _, name := range []string{
		"aplinfo", "apt", "capabilities", "ceph", "certificates", "config", "disks", "dns", "firewall", "hardware", "hosts",
		"journal", "lxc", "netstat", "network", "qemu", "query-url-metadata", "replication", "report", "rrd", "rrddata", "scan",
		"services", "status", "storage", "subscription", "syslog", "tasks", "time", "version", "vncshell", "vzdump",
	} {
		out = append(out, map[string]any{"name": name})
	}
	return out, nil
}
