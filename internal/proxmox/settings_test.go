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

package proxmox

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestSettingsRead decodes options as PVE returns them: split, and not all in the same way.
func TestSettingsRead(t *testing.T) {
	cases := map[string]struct {
		reason string
		data   string
		call   func(context.Context, *Client) (any, error)
		path   string
		want   any
	}{
		"ClusterOptionsUnset": {
			reason: "What PVE answers of a new cluster.",
			data:   `{"allowed-tags":[],"description":"","mac_prefix":"BC:24:11"}`,
			call:   func(ctx context.Context, c *Client) (any, error) { return read(c.ClusterOptions(ctx)) },
			path:   "/cluster/options",
			want:   Settings{Values: map[string]string{"description": "", "mac_prefix": "BC:24:11"}},
		},
		"ClusterOptions": {
			reason: "Objects and lists are the texts again that they were made from.",
			data: `{"allowed-tags":["a"],"bwlimit":"clone=100,default=0","console":"html5","max_workers":"4","description":"a\nb\n",
				"crs":{"ha":"static","ha-rebalance-on-start":1},"migration":{"type":"secure","network":"192.0.2.0/24"},
				"next-id":{"upper":"2000","lower":1000},"registered-tags":["b","a"],
				"user-tag-access":{"user-allow":"list","user-allow-list":["x","y"]},"tag-style":{"color-map":"a:ff0000;b:00ff00:000000"}}`,
			call: func(ctx context.Context, c *Client) (any, error) { return read(c.ClusterOptions(ctx)) },
			path: "/cluster/options",
			want: Settings{Values: map[string]string{
				"bwlimit": "clone=100,default=0", "console": "html5", "max_workers": "4", "description": "a\nb\n",
				"crs": "ha=static,ha-rebalance-on-start=1", "migration": "network=192.0.2.0/24,type=secure",
				"next-id": "lower=1000,upper=2000", "registered-tags": "b;a",
				"user-tag-access": "user-allow=list,user-allow-list=x;y", "tag-style": "color-map=a:ff0000;b:00ff00:000000",
			}},
		},
		"NodeConfig": {
			reason: "The digest is none of the options.",
			data:   `{"description":"hello\n","digest":"abc","wakeonlan":"mac=BC:24:11:00:00:01","startall-onboot-delay":30}`,
			call:   func(ctx context.Context, c *Client) (any, error) { return read(c.NodeConfig(ctx, "pve1")) },
			path:   "/nodes/pve1/config",
			want: Settings{Digest: "abc", Values: map[string]string{
				"description": "hello\n", "wakeonlan": "mac=BC:24:11:00:00:01", "startall-onboot-delay": "30",
			}},
		},
		"NodeConfigUnset": {
			reason: "What PVE answers of a new node.",
			data:   `{}`,
			call:   func(ctx context.Context, c *Client) (any, error) { return read(c.NodeConfig(ctx, "pve1")) },
			path:   "/nodes/pve1/config",
			want:   Settings{Values: map[string]string{}},
		},
		"NodeDNS": {
			reason: "A server that is not set is none.",
			data:   `{"dns1":"192.0.2.53","dns3":"2001:db8::53","search":"example.com"}`,
			call:   func(ctx context.Context, c *Client) (any, error) { return read(c.NodeDNS(ctx, "pve1")) },
			path:   "/nodes/pve1/dns",
			want:   DNS{SearchDomain: "example.com", Servers: []string{"192.0.2.53", "2001:db8::53"}},
		},
		"NodeTimeZone": {
			reason: "The time itself is nobody's business.",
			data:   `{"localtime":0,"time":0,"timezone":"Etc/UTC"}`,
			call:   func(ctx context.Context, c *Client) (any, error) { return read(c.NodeTimeZone(ctx, "pve1")) },
			path:   "/nodes/pve1/time",
			want:   "Etc/UTC",
		},
		"NodeStatus": {
			reason: "The version is the middle of three.",
			data: `{"pveversion":"pve-manager/9.2.11/14a22df35955d97d","cpu":0.5,"cpuinfo":{"cpus":16,"cores":8},"uptime":60,
				"current-kernel":{"release":"6.14.8-2-pve"},"memory":{"total":100,"used":40,"free":60},"loadavg":["0.1"]}`,
			call: func(ctx context.Context, c *Client) (any, error) { return read(c.NodeStatus(ctx, "pve1")) },
			path: "/nodes/pve1/status",
			want: NodeStatus{Version: "9.2.11", Kernel: "6.14.8-2-pve", CPU: 0.5, CPUs: 16, Memory: 40, MaxMemory: 100, Uptime: time.Minute},
		},
		"Fingerprints": {
			reason: "Fingerprints are told by the names of nodes.",
			data:   `[{"node":"pve1","ssl_fingerprint":"AA:BB","status":"online"},{"node":"pve2","status":"offline"}]`,
			call:   func(ctx context.Context, c *Client) (any, error) { return read(c.Fingerprints(ctx)) },
			path:   "/nodes",
			want:   map[string]string{"pve1": "AA:BB", "pve2": ""},
		},
		"PCIMappings": {
			reason: "Each entry has one node, whose devices have several functions.",
			data: `[{"id":"gpu","type":"pci","description":"x","digest":"abc","map":[
				"id=10de:2204,node=pve1,path=0000:01:00.0;0000:01:00.1,subsystem-id=1","id=10de:2204,node=pve1,path=0000:02:00","id=10de:2204,` +
				`node=pve2,path=0000:01:00","garbage,","id=1"]},
				{"id":"none"}]`,
			call: func(ctx context.Context, c *Client) (any, error) { return read(c.PCIMappings(ctx)) },
			path: "/cluster/mapping/pci",
			want: []PCIMapping{
				{Name: "gpu", Devices: map[string][]string{"pve1": {"0000:01:00.0", "0000:01:00.1", "0000:02:00"}, "pve2": {"0000:01:00"}}},
				{Name: "none", Devices: map[string][]string{}},
			},
		},
		"VNets": {
			reason: "A tag is a number, if there is one.",
			data:   `[{"digest":"…","type":"vnet","vnet":"vn1","zone":"z1"},{"vnet":"vn2","zone":"z1","tag":"100","alias":"lan","vlanaware":1}]`,
			call:   func(ctx context.Context, c *Client) (any, error) { return read(c.VNets(ctx)) },
			path:   "/cluster/sdn/vnets",
			want:   []VNet{{Name: "vn1", Zone: "z1"}, {Name: "vn2", Zone: "z1", Tag: 100, Alias: "lan", VLANAware: true}},
		},
		"Zones": {
			reason: "A zone is as it is in force and as it is to be: a change that waits has what changes.",
			data: `[{"type":"simple","zone":"s1","digest":null},
				{"type":"vlan","zone":"v1","bridge":"vmbr1","nodes":"pve2,pve1","state":"changed","pending":{"bridge":"vmbr2"}},
				{"type":"vlan","zone":"v2","bridge":"vmbr1","nodes":"pve1","state":"changed","pending":{"nodes":"deleted"}},
				{"type":"qinq","zone":"q1","state":"new","pending":{"bridge":"vmbr1","nodes":"pve3","tag":7}},
				{"type":"vlan","zone":"v3","bridge":"vmbr3","state":"deleted","pending":{}},
				{"type":"vxlan","zone":"x1","peers":"192.0.2.1,192.0.2.2","state":"changed","pending":{"peers":"192.0.2.2 192.0.2.3"}}]`,
			call: func(ctx context.Context, c *Client) (any, error) { return read(c.Zones(ctx)) },
			path: "/cluster/sdn/zones?pending=1",
			want: []Zone{
				{Name: "s1", Type: "simple"},
				{Name: "v1", Type: "vlan", Bridges: []string{"vmbr1", "vmbr2"}, Nodes: []string{"pve1", "pve2"}},
				{Name: "v2", Type: "vlan", Bridges: []string{"vmbr1"}},
				{Name: "q1", Type: "qinq", Bridges: []string{"vmbr1"}, Nodes: []string{"pve3"}},
				{Name: "v3", Type: "vlan", Bridges: []string{"vmbr3"}},
				{Name: "x1", Type: "vxlan", Peers: []string{"192.0.2.1", "192.0.2.2", "192.0.2.3"}},
			},
		},
		"HAUnused": {
			reason: "What PVE answers where nothing is managed.",
			data: `[{"id":"quorum","node":"pve1","quorate":1,"status":"OK","type":"quorum"},
				{"armed-state":"standby","id":"fencing","node":"pve1","status":"standby (CRM watchdog standby)","type":"fencing"}]`,
			call: func(ctx context.Context, c *Client) (any, error) { return read(c.HAStatus(ctx)) },
			path: "/cluster/ha/status/current",
			want: HAStatus{Quorum: "OK", Armed: "standby"},
		},
		"HA": {
			reason: "The manager, and what it manages.",
			data: `[{"id":"quorum","node":"pve1","quorate":1,"status":"OK","type":"quorum"},
				{"id":"master","node":"pve2","status":"pve2 (active, Sat Nov 21 08:00:00 2026)","timestamp":1,"type":"master"},
				{"id":"lrm:pve1","node":"pve1","status":"pve1 (active, …)","timestamp":1,"type":"lrm"},
				{"id":"service:vm:100","sid":"vm:100","node":"pve1","crm_state":"started","state":"started","request_state":"started",` +
				`"status":"pve1 (started)","type":"service"}]`,
			call: func(ctx context.Context, c *Client) (any, error) { return read(c.HAStatus(ctx)) },
			path: "/cluster/ha/status/current",
			want: HAStatus{Quorum: "OK", Manager: "pve2", Resources: []HAResource{{ID: "vm:100", Node: "pve1", State: "started"}}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pve := fixed(t, ok(tc.data))
			got, err := tc.call(background(), pve.client(t))
			if err != nil {
				t.Fatalf("%s\n%v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
			r, want := pve.asked()[0], "/api2/json"+tc.path
			if got := strings.TrimSuffix(r.path+"?"+r.query, "?"); got != want {
				t.Errorf("path: got %q, want %q", got, want)
			}
		})
	}
}

func TestSettingsWritten(t *testing.T) {
	cases := map[string]struct {
		reason string
		call   func(context.Context, *Client) error
		path   string
		form   map[string]string
	}{
		"ClusterOptions": {
			reason: "PVE knows no digest for the options of a cluster.",
			call: func(ctx context.Context, c *Client) error {
				return c.SetClusterOptions(ctx, Change{Set: Params{"console": "vv"}, Delete: []string{"crs", "ha"}, Digest: "abc"})
			},
			path: "/cluster/options",
			form: map[string]string{"console": "vv", "delete": "crs,ha"},
		},
		"NodeConfig": {
			reason: "PVE knows a digest for the options of a node.",
			call: func(ctx context.Context, c *Client) error {
				return c.SetNodeConfig(ctx, "pve1", Change{Set: Params{"description": "a"}, Digest: "abc"})
			},
			path: "/nodes/pve1/config",
			form: map[string]string{"description": "a", "digest": "abc"},
		},
		"NodeDNS": {
			reason: "The search domain is always said: PVE insists.",
			call: func(ctx context.Context, c *Client) error {
				return c.SetNodeDNS(ctx, "pve1", DNS{Servers: []string{"192.0.2.1", "192.0.2.2"}})
			},
			path: "/nodes/pve1/dns",
			form: map[string]string{"search": "", "dns1": "192.0.2.1", "dns2": "192.0.2.2"},
		},
		"NodeTimeZone": {
			reason: "A time zone is a name.",
			call:   func(ctx context.Context, c *Client) error { return c.SetNodeTimeZone(ctx, "pve1", "Europe/Oslo") },
			path:   "/nodes/pve1/time",
			form:   map[string]string{"timezone": "Europe/Oslo"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pve := fixed(t, ok("null"))
			if err := tc.call(background(), pve.client(t)); err != nil {
				t.Fatalf("%s\n%v", tc.reason, err)
			}
			r := pve.asked()[0]
			if r.method != http.MethodPut || r.path != "/api2/json"+tc.path {
				t.Errorf("%s\ngot %s %s", tc.reason, r.method, r.path)
			}
			if diff := cmp.Diff(tc.form, form(t, r.body)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestSettingsNotSent(t *testing.T) {
	for name, call := range map[string]func(context.Context, *Client) error{
		"empty change of a cluster": func(ctx context.Context, c *Client) error { return c.SetClusterOptions(ctx, Change{Digest: "abc"}) },
		"empty change of a node":    func(ctx context.Context, c *Client) error { return c.SetNodeConfig(ctx, "pve1", Change{Digest: "abc"}) },
	} {
		pve := fixed(t, ok("null"))
		if err := call(background(), pve.client(t)); err != nil || len(pve.asked()) != 0 {
			t.Errorf("%s: got error %v and %d requests, want none", name, err, len(pve.asked()))
		}
	}
	for name, call := range map[string]func(context.Context, *Client) error{
		"a path for a node": func(ctx context.Context, c *Client) error { return c.SetNodeTimeZone(ctx, "../x", "UTC") },
		"too many DNS servers": func(ctx context.Context, c *Client) error {
			return c.SetNodeDNS(ctx, "pve1", DNS{Servers: make([]string, 4)})
		},
	} {
		pve := fixed(t, ok("null"))
		if err := call(background(), pve.client(t)); !IsInvalid(err) || len(pve.asked()) != 0 {
			t.Errorf("%s: got error %v and %d requests, want it refused before", name, err, len(pve.asked()))
		}
	}
}

// TestProxyIsSecret checks that a proxy stays secret. It may contain a password, and PVE repeats it when it rejects it.
func TestProxyIsSecret(t *testing.T) {
	const proxy = "http://user:hunter2secret@proxy.example.com:3128"
	pve := fixed(t, reply{status: "400 Parameter verification failed.", body: `{"data":null,"errors":{"http_proxy":"value '` + proxy + `' does not match"}}`})
	err := pve.client(t).SetClusterOptions(background(), Change{Set: Params{"http_proxy": proxy}})
	if err == nil || strings.Contains(err.Error(), "hunter2secret") {
		t.Errorf("want an error without the proxy, got: %v", err)
	}
}
