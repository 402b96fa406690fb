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

package composition

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	externaldns "sigs.k8s.io/external-dns/apis/v1alpha1"
	"sigs.k8s.io/external-dns/endpoint"
	"sigs.k8s.io/yaml"
)

// dnsExample is the folder of the example for external-dns, beside that of the Configuration.
const dnsExample = "../external-dns"

// installExternalDNS gives the API server the definition of external-dns.
func installExternalDNS(cfg *rest.Config) error {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/external-dns").Output()
	if err != nil {
		return err
	}
	_, err = envtest.InstallCRDs(cfg, envtest.CRDInstallOptions{
		MaxTime: callTimeout, ErrorIfPathMissing: true, Paths: []string{filepath.Join(strings.TrimSpace(string(dir)), "config", "crd", "standard")},
	})
	return err
}

// TestExternalDNS composes the example: external-dns reads from the DNSEndpoint the record of the Machine's address.
func TestExternalDNS(t *testing.T) {
	cases := map[string]struct {
		reason    string
		addresses []any
		want      []string
	}{
		"IPv4": {
			reason: "the first address is the record", addresses: []any{"192.0.2.7", "2001:db8::7"},
			want: []string{record(endpoint.RecordTypeA, "192.0.2.7")},
		},
		"None": {reason: "a guest without an address has no record"},
		"IPv6Only": {
			reason: "an address of IPv6 has a record of its type", addresses: []any{"2001:db8::7"},
			want: []string{record(endpoint.RecordTypeAAAA, "2001:db8::7")},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.observe = func(obj *unstructured.Unstructured) {
				running(obj)
				if obj.GetKind() == "Machine" {
					seen, _, _ := unstructured.NestedFieldNoCopy(obj.Object, "status", "atProvider")
					seen.(map[string]any)["ipAddresses"] = tc.addresses
					if len(tc.addresses) == 0 {
						delete(seen.(map[string]any), "ipAddresses")
					}
				}
			}
			for _, xr := range load(t, dnsExample+"/host.yaml") {
				if err := w.create(xr); err != nil {
					t.Fatal(err)
				}
				w.settle(xr)
			}
			if diff := cmp.Diff(tc.want, w.records()); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// record of the example, as external-dns makes one itself.
func record(kind, address string) string {
	return endpoint.NewEndpointWithTTL("web.example.org", kind, 300, address).String()
}

// records that external-dns reads in the world's namespace.
func (w *world) records() []string {
	w.t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(externaldns.GroupVersion.WithKind("DNSEndpointList"))
	if err := kube.List(w.t.Context(), list, client.InNamespace(w.namespace)); err != nil {
		w.t.Fatal(err)
	}
	var out []string
	for _, item := range list.Items {
		var read externaldns.DNSEndpoint
		if err := yaml.UnmarshalStrict([]byte(text(w.t, item.Object)), &read); err != nil {
			w.t.Fatal(err)
		}
		for _, e := range read.Spec.Endpoints {
			if !e.CheckEndpoint() {
				w.t.Errorf("external-dns would skip %v", e)
			}
			out = append(out, e.String())
		}
	}
	return out
}
