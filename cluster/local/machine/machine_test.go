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

package machine

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	b, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(b); err != nil {
		t.Fatal(err)
	}
	return u
}

const readyMachine = `
apiVersion: proxmox.m.vitistack.io/v1alpha1
kind: Machine
metadata: {name: web, namespace: team}
spec:
  writeConnectionSecretToRef: {name: web-login}
status:
  atProvider: {vmid: 10000, node: pve1, phase: Running, ipAddresses: [10.0.0.5, "2001:db8::5"]}
  conditions:
  - {type: Ready, status: "True", reason: Available}
  - {type: Synced, status: "True", reason: ReconcileSuccess}
`

func TestOf(t *testing.T) {
	cases := map[string]struct {
		reason   string
		text     string
		want     Machine
		complete bool
	}{
		"Ready": {
			reason: "a ready Machine shows what it became", text: readyMachine,
			want: Machine{
				Key: Key{Namespace: "team", Name: "web"}, VMID: 10000, Node: "pve1", Phase: "Running", IP: "10.0.0.5",
				Ready: "True", Synced: "True", Secret: types.NamespacedName{Namespace: "team", Name: "web-login"},
			},
			complete: true,
		},
		"New": {
			reason: "one that was just created shows nothing",
			text:   "{apiVersion: proxmox.vitistack.io/v1alpha1, kind: Machine, metadata: {name: web}}",
			want:   Machine{Key: Key{Name: "web"}},
		},
		"Refused": {
			reason: "a condition that is not true explains itself",
			text: `
apiVersion: proxmox.vitistack.io/v1alpha1
kind: Machine
metadata: {name: web}
spec: {writeConnectionSecretToRef: {name: login, namespace: secrets}}
status:
  conditions:
  - {type: RestartRequired, status: "False", message: other}
  - {type: Synced, status: "False", message: "cannot find node \"pve9\""}
`,
			want: Machine{
				Key: Key{Name: "web"}, Synced: "False", Message: `cannot find node "pve9"`,
				Secret: types.NamespacedName{Namespace: "secrets", Name: "login"},
			},
		},
		"Deleting": {
			reason: "a Machine that goes is not complete, whatever its conditions say",
			text:   strings.Replace(readyMachine, "namespace: team", `namespace: team, deletionTimestamp: "2026-01-01T00:00:00Z"`, 1),
			want: Machine{
				Key: Key{Namespace: "team", Name: "web"}, VMID: 10000, Node: "pve1", Phase: "Running", IP: "10.0.0.5", Deleting: true,
				Ready: "True", Synced: "True", Secret: types.NamespacedName{Namespace: "team", Name: "web-login"},
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := Of(object(t, tc.text))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
			if got.Complete() != tc.complete {
				t.Errorf("%s: Complete is %t", tc.reason, got.Complete())
			}
			if len(got.Row()) != len(Headings()) {
				t.Errorf("%s: a row has %d columns, the heading %d", tc.reason, len(got.Row()), len(Headings()))
			}
		})
	}
}

func TestString(t *testing.T) {
	m := Machine{Key: Key{Namespace: "team", Name: "web"}, VMID: 10000, Phase: "Creating", Ready: "False", Message: "clone runs\nmore"}
	want := "machine team/web: VMID 10000, node -, phase Creating, IP -, ready False: clone runs"
	if got := m.String(); got != want {
		t.Errorf("String = %q, want %q", got, want)
	}
}

func TestArguments(t *testing.T) {
	cases := map[string]struct {
		reason string
		key    Key
		want   string
	}{
		"Cluster": {reason: "a cluster-scoped Machine has no namespace", key: Key{Name: "web"}, want: "machines.proxmox.vitistack.io web"},
		"Namespaced": {
			reason: "a namespaced one is of the other group",
			key:    Key{Namespace: "team", Name: "web"}, want: "machines.proxmox.m.vitistack.io web --namespace=team",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := strings.Join(tc.key.Arguments(), " "); got != tc.want {
				t.Errorf("%s: Arguments = %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
