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

package inventory

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// seldom returns reads of data that seldom changes.
func seldom() map[string]func(context.Context, *Cluster) error {
	return map[string]func(context.Context, *Cluster) error{
		"HAResources":    func(ctx context.Context, c *Cluster) error { _, err := c.HAResources(ctx, Stable); return err },
		"HAStatus":       func(ctx context.Context, c *Cluster) error { _, err := c.HAStatus(ctx); return err },
		"ClusterStatus":  func(ctx context.Context, c *Cluster) error { _, err := c.ClusterStatus(ctx, Relaxed); return err },
		"Fingerprints":   func(ctx context.Context, c *Cluster) error { _, err := c.Fingerprints(ctx); return err },
		"Bridges":        func(ctx context.Context, c *Cluster) error { _, err := c.Bridges(ctx, "pve1", Stable); return err },
		"PCIMappings":    func(ctx context.Context, c *Cluster) error { _, err := c.PCIMappings(ctx, Stable); return err },
		"VNets":          func(ctx context.Context, c *Cluster) error { _, err := c.VNets(ctx); return err },
		"Zones":          func(ctx context.Context, c *Cluster) error { _, err := c.Zones(ctx, Stable); return err },
		"ClusterOptions": func(ctx context.Context, c *Cluster) error { _, err := c.ClusterOptions(ctx); return err },
		"NodeStatus":     func(ctx context.Context, c *Cluster) error { _, err := c.NodeStatus(ctx, "pve1"); return err },
		"NodeConfig":     func(ctx context.Context, c *Cluster) error { _, err := c.NodeConfig(ctx, "pve1"); return err },
		"NodeDNS":        func(ctx context.Context, c *Cluster) error { _, err := c.NodeDNS(ctx, "pve1"); return err },
		"BackupTasks":    func(ctx context.Context, c *Cluster) error { _, err := c.BackupTasks(ctx, "pve1"); return err },
		"NodeTimeZone":   func(ctx context.Context, c *Cluster) error { _, err := c.NodeTimeZone(ctx, "pve1"); return err },
	}
}

// TestSigns checks that data that seldom changes is read again after a sign that it has.
func TestSigns(t *testing.T) {
	ended := func(kind, node, id string) func(*pve, *Cluster) {
		return func(p *pve, _ *Cluster) {
			p.set(func() {
				p.tasks = []proxmox.Task{{UPID: upidOf("1", kind, id, "root@pam"), Type: kind, Node: node, ID: id, ExitStatus: "OK"}}
			})
		}
	}
	nodeIs := func(n proxmox.Node) func(*pve, *Cluster) {
		return func(p *pve, _ *Cluster) { p.set(func() { p.nodes = []proxmox.Node{n} }) }
	}
	cases := map[string]struct {
		reason string
		sign   func(*pve, *Cluster)
		again  []string
	}{
		"Nothing": {reason: "Everything is kept while there is no sign.", sign: func(*pve, *Cluster) {}},
		"ToldHA":  {reason: "What we have told HA is read.", sign: func(_ *pve, c *Cluster) { c.InvalidateHA() }, again: []string{"HAResources", "HAStatus"}},
		"HAActs": {reason: "HA does something else with a guest.", sign: func(p *pve, _ *Cluster) {
			p.set(func() { p.guests = []proxmox.Guest{{VMID: 100, HAState: "stopped"}} })
		}, again: []string{"HAResources", "HAStatus"}},
		"HAAsked": {reason: "Somebody stops a guest of HA, which is told so.", sign: ended("hastop", "pve1", "100"), again: []string{"HAResources", "HAStatus"}},
		"Other":   {reason: "What happens to other guests is no sign.", sign: ended("qmstop", "pve1", "101")},
		"Backup":  {reason: "A run of a backup job has ended.", sign: ended("vzdump", "pve1", ""), again: []string{"BackupTasks"}},
		"Offline": {
			reason: "Without a node much is different.", sign: nodeIs(proxmox.Node{Name: "pve1", Status: "offline"}),
			again: []string{"HAResources", "HAStatus", "ClusterStatus", "Fingerprints", "NodeStatus"},
		},
		"Rebooted": {
			reason: "A node that was started again may be another release.",
			sign:   nodeIs(proxmox.Node{Name: "pve1", Status: "online", Uptime: time.Second}), again: []string{"NodeStatus"},
		},
		"Networks":  {reason: "Networks of the node were reloaded.", sign: ended("srvreload", "pve1", "networking"), again: []string{"Bridges"}},
		"Elsewhere": {reason: "Networks of another node do not matter.", sign: ended("srvreload", "pve2", "networking")},
		"SDN":       {reason: "Networks of all nodes were reloaded.", sign: ended("reloadnetworkall", "pve2", ""), again: []string{"Bridges", "VNets", "Zones"}},
		"Options":   {reason: "We have changed options of the cluster.", sign: func(_ *pve, c *Cluster) { c.InvalidateOptions() }, again: []string{"ClusterOptions"}},
		"Settings": {
			reason: "We have changed settings of the node.", sign: func(_ *pve, c *Cluster) { c.InvalidateNode("pve1") },
			again: []string{"NodeConfig", "NodeDNS", "NodeTimeZone"},
		},
		"OtherNode": {reason: "Settings of another node do not matter.", sign: func(_ *pve, c *Cluster) { c.InvalidateNode("pve2") }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &pve{guests: []proxmox.Guest{{VMID: 100, HAState: "started"}}, nodes: []proxmox.Node{{Name: "pve1", Status: "online", Uptime: time.Hour}}}
				c := New(p, WithMaxAge(time.Minute), WithEventPollInterval(10*time.Second))
				defer c.Close()
				c.Watch(t.Context(), "a", 100, &witness{})
				pass(time.Minute + time.Second)
				again := map[string]bool{}
				for _, read := range []bool{false, true} {
					for name, get := range seldom() {
						before := p.calls.Load()
						if err := get(t.Context(), c); err != nil {
							t.Errorf("%s(): %v", name, err)
						}
						again[name] = p.calls.Load() > before
					}
					if !read {
						tc.sign(p, c)
						pass(time.Minute)
					}
				}
				for name, is := range again {
					if want := slices.Contains(tc.again, name); is != want {
						t.Errorf("%s\n%s(): want it read again %t, got %t", tc.reason, name, want, is)
					}
				}
			})
		})
	}
}

// TestSeldom checks that data that seldom changes is read again after some time without any sign.
func TestSeldom(t *testing.T) {
	for name, get := range seldom() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &pve{}
				c := New(p)
				defer c.Close()
				for i, wait := range []time.Duration{0, Relaxed, Stable + time.Second} {
					pass(wait)
					want := []int64{1, 1, 2}[i]
					if err := get(t.Context(), c); err != nil || p.calls.Load() != want {
						t.Errorf("%s() after %s: want %d calls in all, got %d, %v", name, wait, want, p.calls.Load(), err)
					}
				}
			})
		})
	}
}

// TestRefused checks data of HA and the cluster that PVE does not permit to read: callers get the error, PVE is not asked each time, and a later grant is
// noticed.
func TestRefused(t *testing.T) {
	cases := map[string]struct {
		reason string
		get    func(context.Context, *Cluster) error
		within time.Duration
	}{
		"HAResources": {reason: "What HA was told is seen soon.", get: seldom()["HAResources"], within: Relaxed},
		"ClusterName": {reason: "The name is read once a day, but for as long as it is not " +
			"permitted.", within: Stable, get: func(ctx context.Context, c *Cluster) error {
			name, err := c.ClusterName(ctx)
			if err == nil && name != "lab" {
				t.Errorf("ClusterName(): got %q", name)
			}
			return err
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &pve{err: &proxmox.Error{Status: http.StatusForbidden, Message: "Permission check failed (/, Sys.Audit)"}}
				c := New(p)
				defer c.Close()
				for range 50 {
					if err := tc.get(t.Context(), c); !proxmox.IsAuthorization(err) {
						t.Fatalf("%s\nwant a refusal, got %v", tc.reason, err)
					}
				}
				if n := p.calls.Load(); n != 1 {
					t.Errorf("%s\nwant one call, got %d", tc.reason, n)
				}
				p.set(func() { p.err = nil })
				pass(tc.within + time.Second)
				if err := tc.get(t.Context(), c); err != nil {
					t.Errorf("%s\ngot %v", tc.reason, err)
				}
			})
		})
	}
}

// TestOutdated changes data while it is being read. Later callers must not get the result of that read.
func TestOutdated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pve{gate: make(chan struct{})}
		c := New(p)
		defer c.Close()
		for range 2 {
			go func() { _, _ = c.HAResources(t.Context(), Stable) }()
			synctest.Wait()
			c.InvalidateHA()
		}
		close(p.gate)
		synctest.Wait()
		if n := p.calls.Load(); n != 2 {
			t.Errorf("want a call before and one after the change, got %d", n)
		}
		if _, err := c.HAResources(t.Context(), Stable); err != nil || p.calls.Load() != 3 {
			t.Errorf("want a call after both changes, got %d in all, %v", p.calls.Load(), err)
		}
	})
}
