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
	"context"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/vitistack/provider-proxmox/cluster/local/externaldns"
	"github.com/vitistack/provider-proxmox/cluster/local/process"
)

// dnsExample is the folder of the example for external-dns, next to that of the Configuration.
const dnsExample = "../external-dns"

// installExternalDNS installs the definition of external-dns in the API server.
func installExternalDNS(ctx context.Context, cfg *rest.Config) error {
	dir, err := externaldns.Definitions(ctx, checkout)
	if err != nil {
		return err
	}
	_, err = envtest.InstallCRDs(cfg, envtest.CRDInstallOptions{MaxTime: callTimeout, ErrorIfPathMissing: true, Paths: []string{dir}})
	return err
}

// TestExternalDNS composes the example: external-dns creates the record of the Machine's address from the DNSEndpoint.
func TestExternalDNS(t *testing.T) {
	cases := map[string]struct {
		reason    string
		addresses []any
		want      []string
	}{
		"IPv4": {
			reason: "the first address is the record", addresses: []any{"192.0.2.7", "2001:db8::7"},
			want: []string{"web.example.org 300 A 192.0.2.7"},
		},
		"None": {reason: "a guest without an address has no record"},
		"IPv6Only": {
			reason: "an address of IPv6 has a record of its type", addresses: []any{"2001:db8::7"},
			want: []string{"web.example.org 300 AAAA 2001:db8::7"},
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
			if diff := cmp.Diff(tc.want, w.records(), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// records returns the records that external-dns creates for the world's namespace.
func (w *world) records() []string {
	w.t.Helper()
	spec, records, err := externaldns.Spec(w.t.Context(), checkout, kubeconfig, w.namespace)
	if err != nil {
		w.t.Fatal(err)
	}
	spec.Log = filepath.Join(w.t.TempDir(), "external-dns.log")
	program, err := process.Start(w.t.Context(), spec)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if err := program.Stop(); err != nil {
			w.t.Error(err)
		}
	})
	got, err := records.Now(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return got
}
