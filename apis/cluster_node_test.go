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

package apis_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespacedv1alpha1 "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// TestClustersAndNodesAccepted creates resources that together set every field of their kind.
func TestClustersAndNodesAccepted(t *testing.T) {
	for kind, pattern := range map[string]string{"ProxmoxCluster": "cluster-every-field*.yaml", "ProxmoxNode": "node-every-field*.yaml"} {
		files, err := filepath.Glob(filepath.Join("testdata", pattern))
		if err != nil || len(files) == 0 {
			t.Fatal("no files", err)
		}
		for name, s := range scopes() {
			t.Run(kind+name, func(t *testing.T) { everyField(t, s, kind, files) })
		}
	}
}

func everyField(t *testing.T, s scope, kind string, files []string) {
	t.Helper()
	set := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want := parse(t, string(text))
		collect(set, "", want)
		o := s.object(t, kind, "{}")
		o.Object["spec"] = map[string]any{"forProvider": want}
		wantAccepted(t, "Every field has a value that is accepted: "+file, tryCreate(t.Context(), o))
		spec, _ := o.Object["spec"].(map[string]any)
		if diff := cmp.Diff(normal(t, want), normal(t, spec["forProvider"])); diff != "" {
			t.Errorf("%s: nothing is added and nothing lost\n-want, +got:\n%s", file, diff)
		}
	}
	for _, path := range servedFields(parametersOf(t, s, kind)) {
		if !set[path] {
			t.Errorf("no %s has %s", kind, path)
		}
	}
}

func parametersOf(t *testing.T, s scope, kind string) schema {
	t.Helper()
	for _, crd := range definitions(t) {
		if crd.Spec.Group == s.group && crd.Spec.Names.Kind == kind {
			return root(crd).Properties["spec"].Properties["forProvider"]
		}
	}
	t.Fatalf("cannot find the %s of %q", kind, s.group)
	return extv1.JSONSchemaProps{}
}

func TestClustersAndNodesRefused(t *testing.T) {
	cases := map[string]struct {
		reason string
		kind   string
		spec   string
		parts  []string
	}{
		"NoOption":  {reason: "Options without any are a mistake.", kind: "ProxmoxCluster", spec: `options: {}`, parts: []string{"options"}},
		"OnDelete":  {reason: "Deleting knows two ways.", kind: "ProxmoxCluster", spec: `onDelete: Destroy`, parts: []string{"onDelete"}},
		"NodeTwice": {reason: "A set has no duplicates.", kind: "ProxmoxCluster", spec: `nodes: [pve1, pve1]`, parts: []string{"nodes"}},
		"ProxyPassword": {
			reason: "A password has no place in a spec.", kind: "ProxmoxCluster", spec: `options: {httpProxy: "http://u:p@proxy:3128"}`,
			parts: []string{"httpProxySecretRef"},
		},
		"TwoProxies": {
			reason: "There is one proxy.", kind: "ProxmoxCluster",
			spec: `options: {httpProxy: "http://proxy:3128", httpProxySecretRef: {name: a, key: b}}`, parts: []string{"only one"},
		},
		"ProxyScheme": {
			reason: "PVE takes http:// only.", kind: "ProxmoxCluster", spec: `options: {httpProxy: "https://proxy:3128"}`,
			parts: []string{"httpProxy"},
		},
		"MACPrefix": {
			reason: "A multicast address is none of a VM's.", kind: "ProxmoxCluster", spec: `options: {macPrefix: "BD:24:11"}`,
			parts: []string{"macPrefix"},
		},
		"MigrationNetwork": {
			reason: "A network is in CIDR notation.", kind: "ProxmoxCluster", spec: `options: {migration: {type: secure, network: 192.0.2.1}}`,
			parts: []string{"CIDR"},
		},
		"MigrationType": {reason: "PVE wants a type.", kind: "ProxmoxCluster", spec: `options: {migration: {network: 192.0.2.0/24}}`, parts: []string{"type"}},
		"Rebalance": {
			reason: "PVE wants the switch with its settings.", kind: "ProxmoxCluster", spec: `options: {crs: {autoRebalanceMargin: 5}}`,
			parts: []string{"need autoRebalance"},
		},
		"NextID": {
			reason: "A range begins before it ends.", kind: "ProxmoxCluster", spec: `options: {nextID: {lower: 2000, upper: 1000}}`,
			parts: []string{"lower is not above upper"},
		},
		"Latitude": {
			reason: "The earth ends at the pole.", kind: "ProxmoxCluster", spec: `options: {location: {latitude: "91", longitude: "0"}}`,
			parts: []string{"-90 to 90"},
		},
		"Tag":      {reason: "A tag has no blanks.", kind: "ProxmoxCluster", spec: `options: {registeredTags: ["a b"]}`, parts: []string{"registeredTags"}},
		"NodeName": {reason: "A path is no node.", kind: "ProxmoxNode", spec: `nodeName: ../pve1`, parts: []string{"nodeName"}},
		"MaxVMs":   {reason: "Fewer than none are none.", kind: "ProxmoxNode", spec: `maxVMs: -1`, parts: []string{"maxVMs"}},
		"Delay":    {reason: "PVE waits five minutes at most.", kind: "ProxmoxNode", spec: `startAllOnBootDelay: 301`, parts: []string{"startAllOnBootDelay"}},
		"DNSServer": {
			reason: "A name server has an address.", kind: "ProxmoxNode", spec: `dns: {servers: [ns.example.com]}`,
			parts: []string{"servers are IP addresses"},
		},
		"DNSServers": {
			reason: "A resolver asks three.", kind: "ProxmoxNode", spec: `dns: {servers: [192.0.2.1, 192.0.2.2, 192.0.2.3, 192.0.2.4]}`,
			parts: []string{"servers"},
		},
		"NoDNS": {reason: "Nothing to set is a mistake.", kind: "ProxmoxNode", spec: `dns: {}`, parts: []string{"dns"}},
		"WakeOnLAN": {
			reason: "A packet goes to one interface.", kind: "ProxmoxNode", spec: `wakeOnLAN: {macAddress: "01:00:5E:00:00:01"}`,
			parts: []string{"macAddress"},
		},
		"TimeZone": {reason: "A time zone is a name.", kind: "ProxmoxNode", spec: `timeZone: "../etc/passwd"`, parts: []string{"timeZone"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for scope, s := range scopes() {
				t.Run(scope, func(t *testing.T) {
					o := s.object(t, tc.kind, "{}")
					o.Object["spec"] = map[string]any{"forProvider": parse(t, tc.spec)}
					wantRefused(t, tc.reason, tryCreate(t.Context(), o), tc.parts...)
				})
			}
		})
	}
}

func TestNodeStaysTheSame(t *testing.T) {
	for scope, s := range scopes() {
		t.Run(scope, func(t *testing.T) {
			o := s.object(t, "ProxmoxNode", `{forProvider: {nodeName: pve1}}`)
			o.SetName(objectName(t))
			if err := kube.Create(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = kube.Delete(t.Context(), o) }()
			o.Object["spec"] = parse(t, `{forProvider: {nodeName: pve2}}`)
			wantRefused(t, "A node cannot become another one.", kube.Update(t.Context(), o, client.DryRunAll), "cannot become another node")
		})
	}
}

// What an empty list of options means differs from none, and must outlive the whole objects that the provider writes.
func TestEmptyListsOfClusterKept(t *testing.T) {
	want := v1alpha1.ProxmoxClusterOptions{
		RegisteredTags: []string{}, TagStyle: &v1alpha1.TagStyle{Colors: []v1alpha1.TagColor{}}, UserTagAccess: &v1alpha1.UserTagAccess{AllowList: []string{}},
	}
	meta := metav1.ObjectMeta{Name: strings.ToLower(objectName(t))}
	inNamespace := *meta.DeepCopy()
	inNamespace.Namespace = "default"
	a, b := &clusterv1alpha1.ProxmoxCluster{ObjectMeta: meta}, &namespacedv1alpha1.ProxmoxCluster{ObjectMeta: inNamespace}
	for o, p := range map[client.Object]*v1alpha1.ProxmoxClusterParameters{a: a.Parameters(), b: b.Parameters()} {
		p.Options = want.DeepCopy()
		if err := kube.Create(t.Context(), o, client.DryRunAll); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&want, p.Options); diff != "" {
			t.Errorf("%T\n-want, +got:\n%s", o, diff)
		}
	}
}
