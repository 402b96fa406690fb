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

package cluster

import (
	"encoding/base64"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/config"
	"github.com/vitistack/provider-proxmox/internal/controller/config/configtest"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/settings"
	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
)

// everything returns a spec that sets every field.
func everything(t *testing.T) *v1alpha1.ProxmoxClusterOptions {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "apis", "testdata", "cluster-every-field.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var p v1alpha1.ProxmoxClusterParameters
	if err := yaml.UnmarshalStrict(text, &p); err != nil {
		t.Fatal(err)
	}
	return p.Options
}

func TestDeclared(t *testing.T) {
	c, err := declared(everything(t), nil).Change(proxmox.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	want := proxmox.Params{
		"description": "The lab.\n", "consent-text": base64.StdEncoding.EncodeToString([]byte("Be nice.")),
		"console": "xtermjs", "keyboard": "no", "language": "nb", "email_from": "pve@example.com",
		"http_proxy": "http://proxy.example.com:3128", "mac_prefix": "BC:24:11:0", "max_workers": "4", "fencing": "watchdog",
		"bwlimit":   "clone=100000,default=0,migration=200000,move=300000,restore=400000",
		"migration": "network=192.0.2.0/24,type=secure", "replication": "network=2001:db8::/64,type=insecure",
		"ha": "shutdown_policy=migrate",
		"crs": "ha=dynamic,ha-auto-rebalance=1,ha-auto-rebalance-hold-duration=4,ha-auto-rebalance-margin=5," +
			"ha-auto-rebalance-method=topsis,ha-auto-rebalance-threshold=20,ha-rebalance-on-start=1",
		"next-id": "lower=1000,upper=2000",
		"notify": "fencing=always,package-updates=never,replication=always," +
			"target-fencing=admins,target-package-updates=admins,target-replication=admins",
		"tag-style":       "case-sensitive=1,color-map=production:ff0000:ffffff;test:00ff00,ordering=config,shape=full",
		"user-tag-access": "user-allow=list,user-allow-list=team-a;team-b", "registered-tags": "production",
		"u2f":      "appid=https://pve.example.com,origin=https://pve.example.com",
		"webauthn": "allow-subdomains=0,id=pve.example.com,origin=https://pve.example.com,rp=The lab",
		"location": "latitude=59.91,longitude=10.75,name=Oslo",
	}
	if diff := cmp.Diff(want, c.Set); diff != "" || len(c.Delete) > 0 {
		t.Errorf("-want, +got:\n%s\ndeleted: %v", diff, c.Delete)
	}
}

// TestEveryOptionOfPVE compares the options that can be declared with those in PVE's description, and checks their values against PVE's rules.
func TestEveryOptionOfPVE(t *testing.T) {
	for version, unknown := range map[string][]string{"8.4": {"replication", "location", "crs"}, "9.2": nil} {
		t.Run(version, func(t *testing.T) {
			facts, err := schema.Load(version)
			if err != nil {
				t.Fatal(err)
			}
			d := declared(everything(t), nil)
			var missing []string
			for name := range facts.Parameters("PUT", "/cluster/options") {
				// delete is not an option, and migration has replaced migration_unsecure.
				if _, ok := d[name]; !ok && name != "delete" && name != "migration_unsecure" {
					missing = append(missing, name)
				}
			}
			if len(missing) > 0 {
				t.Errorf("options that cannot be declared: %v", missing)
			}
			maps.DeleteFunc(d, func(name string, _ settings.Setting) bool { return slices.Contains(unknown, name) })
			c, err := d.Change(proxmox.Settings{})
			if err != nil {
				t.Fatal(err)
			}
			match, ok := facts.Find("PUT", "/cluster/options")
			if !ok {
				t.Fatal("no such method")
			}
			values := schema.Values{}
			for k, v := range c.Set {
				values[k] = v
			}
			if _, errs := facts.Check(match.Method, values); len(errs) > 0 {
				t.Errorf("PVE %s refuses: %v", version, errs)
			}
		})
	}
}

func TestKnown(t *testing.T) {
	full := everything(t)
	cases := map[string]struct {
		reason  string
		options v1alpha1.ProxmoxClusterOptions
		version string
		want    string
	}{
		"All": {reason: "A new release knows all.", options: *full, version: "9.2.11"},
		"Replication": {
			reason: "Replication has settings of its own since 9.0.", options: v1alpha1.ProxmoxClusterOptions{Replication: full.Replication},
			version: "8.4.21", want: "options.replication needs Proxmox VE 9.0, the cluster has 8.4.21",
		},
		"Location": {
			reason: "Nobody asked where an old cluster was.", options: v1alpha1.ProxmoxClusterOptions{Location: full.Location}, version: "9.0.3",
			want: "options.location needs",
		},
		"Dynamic": {
			reason: "A value may be new.", options: v1alpha1.ProxmoxClusterOptions{CRS: &v1alpha1.CRSOptions{HA: new("dynamic")}},
			version: "8.4.21", want: "options.crs.ha dynamic needs",
		},
		"Static": {
			reason:  "A value that an old version knows may be set there.",
			options: v1alpha1.ProxmoxClusterOptions{CRS: &v1alpha1.CRSOptions{HA: new("static")}}, version: "8.4.21",
		},
		"Rebalance": {
			reason: "A part may be new.", options: v1alpha1.ProxmoxClusterOptions{CRS: &v1alpha1.CRSOptions{AutoRebalance: new(false)}},
			version: "8.4.21", want: "options.crs.autoRebalance needs",
		},
		"RebalanceStart": {
			reason:  "A part that an old version knows may be set there.",
			options: v1alpha1.ProxmoxClusterOptions{CRS: &v1alpha1.CRSOptions{RebalanceOnStart: new(true)}},
			version: "8.0.2",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := known(declared(&tc.options, nil), proxmox.Version{Version: tc.version})
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s\ngot %v, want %q", tc.reason, err, tc.want)
			}
		})
	}
}

func TestDeclaredProxyOfSecret(t *testing.T) {
	d := declared(&v1alpha1.ProxmoxClusterOptions{HTTPProxySecretRef: &v1alpha1.SecretKeyReference{}}, new("http://u:p@proxy"))
	if s := d["http_proxy"]; !s.Secret || s.Whole.Text != "http://u:p@proxy" {
		t.Errorf("want a secret setting, got %+v", s)
	}
	if d := declared(nil, nil); len(d) != 0 {
		t.Errorf("want nothing declared without options, got %v", d)
	}
}

func TestOptions(t *testing.T) {
	configtest.RunSingleton(t, configtest.Singleton{
		Setup: config.SetupSingleton(Table()), Kind: "ProxmoxCluster", Path: "/cluster/options", Denied: "Sys.Modify",
		Spec:        "{onDelete: Reset, options: {console: vv, bandwidth: {clone: 100}, registeredTags: [b, a]}}",
		Changed:     "{onDelete: Reset, options: {console: html5, bandwidth: {clone: 200}, registeredTags: [a]}}",
		Want:        map[string]string{"console": "vv", "bwlimit": "clone=100", "registered-tags": "a;b", "language": "de"},
		WantChanged: map[string]string{"console": "html5", "bwlimit": "clone=200", "registered-tags": "a", "language": "de"},
		Left:        map[string]string{"console": "", "bwlimit": "", "registered-tags": "", "language": "de"},
		Prepare: func(s configtest.Simulator) {
			s.Edit(func(state *simulator.State) { state.Options = map[string]string{"language": "de"} })
		},
		Read: func(s configtest.Simulator) map[string]string {
			var all map[string]string
			s.Edit(func(state *simulator.State) { all = maps.Clone(state.Options) })
			return all
		},
		Drift: func(s configtest.Simulator) {
			s.Edit(func(state *simulator.State) {
				state.Options = maps.Clone(state.Options)
				state.Options["console"] = "xtermjs"
			})
		},
	})
}
