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

package crossplane

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vitistack/provider-proxmox/cluster/local/externaldns"
	"github.com/vitistack/provider-proxmox/cluster/local/ipam"
)

// The example for external-dns.
const (
	dnsRights      = "examples/external-dns/rbac.yaml"
	dnsDefinition  = "examples/external-dns/definition.yaml"
	dnsComposition = "examples/external-dns/composition.yaml"
	dnsHost        = "examples/external-dns/host.yaml"
)

// prepareExternalDNS serves the kinds of the example for external-dns long before they are used: Kubernetes' garbage collector discovers new kinds
// every half minute.
func (s *suite) prepareExternalDNS(t *testing.T) {
	t.Helper()
	definitions, err := externaldns.Definitions(s.ctx, checkout)
	if err != nil {
		t.Fatal(err)
	}
	s.kubectl(t, "apply", "--server-side", "-f", definitions)
	s.kubectl(t, "apply", "-f", dnsDefinition, "-f", dnsComposition)
	s.untilTrue(t, read(t, dnsDefinition), "Established")
}

// testExternalDNS lets Crossplane compose the example for external-dns, which creates the record of the VM's address. The permission to write
// DNSEndpoints is part of the example. A label aggregates it into Crossplane's own ClusterRole.
func (s *suite) testExternalDNS(t *testing.T) {
	const group, resource = "externaldns.k8s.io", "dnsendpoints"
	before := s.vmNames(t)
	verbs := []string{"get", "list", "watch", "create", "update", "patch", "delete"}
	for _, verb := range verbs {
		if s.deniedTo(t, "crossplane", verb, group, resource) == "" {
			t.Errorf("Crossplane may %s %s without the example", verb, resource)
		}
	}
	s.kubectl(t, "apply", "-f", dnsRights)
	for _, verb := range verbs {
		s.until(t, func() string { return s.deniedTo(t, "crossplane", verb, group, resource) })
	}
	spec, records, err := externaldns.Spec(s.ctx, checkout, s.Kubeconfig, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(s.ctx, spec); err != nil {
		t.Fatal(err)
	}
	hosts := s.apply(t, dnsHost)
	s.untilTrue(t, hosts, "Ready", "Synced")
	s.untilRecords(t, records, s.recordOf(t, hosts[0]))

	s.kubectl(t, "delete", patience, "-f", dnsHost)
	s.untilVMs(t, before)
	s.untilRecords(t, records)
	s.kubectl(t, "delete", patience, "-f", dnsDefinition, "-f", dnsComposition, "-f", dnsRights)
}

// recordOf returns the record of a Host, with the address that the guest of its Machine reports.
func (s *suite) recordOf(t *testing.T, host *unstructured.Unstructured) string {
	t.Helper()
	name, _, _ := unstructured.NestedString(host.Object, "spec", "dnsName")
	address := s.kubectl(t, "get", "machines.proxmox.m.vitistack.io", "--namespace", namespaceOf(host),
		"--selector=crossplane.io/composite="+host.GetName(), "--output=jsonpath={.items[*].status.atProvider.ipAddresses[0]}")
	return name + " 300 A " + address
}

// untilRecords waits until external-dns has these records.
func (s *suite) untilRecords(t *testing.T, records externaldns.Records, want ...string) {
	t.Helper()
	s.until(t, func() string {
		got, err := records.Now(s.ctx)
		if err != nil {
			return err.Error()
		}
		return cmp.Diff(want, got, cmpopts.EquateEmpty())
	})
}

// testIPAM checks that Machines of both scopes get their addresses from pools of Cluster API's IPAM provider, with the permissions of the example.
func (s *suite) testIPAM(t *testing.T) {
	const rights, group = "examples/crossplane/ipam.yaml", "ipam.cluster.x-k8s.io"
	before := s.vmNames(t)
	if err := ipam.Start(s.ctx, s.Environment); err != nil {
		t.Fatal(err)
	}
	if s.deniedTo(t, "x", "create", group, "ipaddressclaims") == "" {
		t.Error("the provider may claim addresses without the example")
	}
	s.kubectl(t, "apply", "-f", rights) // They are kept: without them, watches that have started are denied.
	s.until(t, func() string { return s.deniedTo(t, "x", "create", group, "ipaddressclaims") })

	machines := slices.DeleteFunc(s.apply(t, "examples/ipam"), func(o *unstructured.Unstructured) bool { return o.GetKind() != "Machine" })
	s.untilTrue(t, machines, "Ready", "Synced")
	for _, m := range machines {
		s.kubectl(t, "delete", patience, argument(m), "--namespace", namespaceOf(m))
	}
	s.untilVMs(t, before)
	s.until(t, func() string {
		return s.kubectl(t, "get", "ipaddressclaims,ipaddresses."+group, "--all-namespaces", "--output=name")
	})
	s.kubectl(t, "delete", patience, "-f", "examples/ipam/pools.yaml")
}
