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

package e2e

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vitistack/provider-proxmox/cluster/local/ipam"
	"github.com/vitistack/provider-proxmox/cluster/local/machine"
)

const (
	// inNamespace selects the namespace of the example's pools for kubectl.
	inNamespace = "--namespace=default"

	// Kubernetes has another kind IPAddress.
	ipAddresses, ipPools = "ipaddresses.ipam.cluster.x-k8s.io", "inclusterippools.ipam.cluster.x-k8s.io"
)

// testIPAM runs Cluster API's IPAM provider together with ours. It uses an older version of claims and addresses than ours.
func (s *suite) testIPAM(t *testing.T) {
	if err := ipam.Start(s.ctx, s.Environment); err != nil {
		t.Fatal(err)
	}
	before := s.holdings(t)
	var keys []machine.Key
	for _, obj := range read(t, "ipam") {
		if isMachine(obj) {
			keys = append(keys, machine.KeyOf(obj))
		}
	}
	s.kubectl(t, "apply", "-f", "examples/ipam/")
	s.untilComplete(t, keys)
	s.haveAddresses(t, keys)

	// The pool has as many addresses as are in use.
	s.kubectl(t, "patch", ipPools, "lan", inNamespace, "--type=merge", "--patch", `{"spec":{"addresses":["192.0.2.10-192.0.2.11"]}}`)
	pool := map[string]any{"apiGroup": "ipam.cluster.x-k8s.io", "kind": "InClusterIPPool", "name": "lan"}
	waits := newMachine("from-full-pool", map[string]any{
		"template": "debian-13", "cloudInit": map[string]any{"user": "debian"},
		"networks": []any{map[string]any{"name": "lan", "ipConfig": map[string]any{"poolRef": pool}}},
	})
	waiting := s.apply(t, []*unstructured.Unstructured{waits})
	s.until(t, func() string {
		said := s.kubectl(t, append([]string{"get", `--output=jsonpath={.status.conditions[?(@.type=="VMCreated")]}`}, waiting[0].Arguments()...)...)
		if !strings.Contains(said, "WaitingForIPAddress") || !strings.Contains(said, "has no address yet") {
			return "the Machine does not say that it waits for an address: " + said
		}
		return ""
	})
	s.until(t, func() string { return s.lacksClaim(t, waiting[0]) })
	if got, want := len(s.holdings(t).vms), len(before.vms)+len(keys); got != want {
		t.Errorf("the cluster holds %d VMs, want %d: none without an address", got, want)
	}

	gone, freed := keys[:1], s.address(t, keys[0])
	s.kubectl(t, append([]string{"delete"}, gone[0].Arguments()...)...)
	s.untilGone(t, gone)
	s.untilComplete(t, waiting)
	if got := s.address(t, waiting[0]); got != freed {
		t.Errorf("the Machine that waited has the address %s, want %s, which was released", got, freed)
	}
	s.haveAddresses(t, append(waiting, keys[1:]...))

	s.remove(t, waits)
	s.kubectl(t, "delete", "--ignore-not-found", "--timeout="+maxWait.String(), "-f", "examples/ipam/")
	s.untilGone(t, append(waiting, keys...))
	s.until(t, func() string {
		return s.kubectl(t, "get", "ipaddressclaims,"+ipAddresses+","+ipPools, inNamespace, "--output=name")
	})
	s.holdings(t).sameAs(t, before)
}

// lacksClaim returns a message if a Machine's claim does not exist, or has an address.
func (s *suite) lacksClaim(t *testing.T, key machine.Key) string {
	t.Helper()
	claims := s.kubectl(t, "get", "ipaddressclaims", inNamespace, `--output=jsonpath={range .items[*]}{.metadata.name}={.status.addressRef.name}{"\n"}{end}`)
	for line := range strings.Lines(claims) {
		if name, address, _ := strings.Cut(strings.TrimSpace(line), "="); strings.HasPrefix(name, key.Name+"-") && address == "" {
			return ""
		}
	}
	return fmt.Sprintf("%s has no claim without an address: %s", key, claims)
}

// cloudInit returns the cloud-init settings of a Machine's VM for its first network.
func (s *suite) cloudInit(t *testing.T, key machine.Key) map[string]string {
	t.Helper()
	m := s.machine(key)
	var config struct{ Ipconfig0 string }
	if err := json.Unmarshal(s.get(t, fmt.Sprintf("/nodes/%s/qemu/%d/config", m.Node, m.VMID)), &config); err != nil {
		t.Fatal(err)
	}
	told := map[string]string{}
	for part := range strings.SplitSeq(config.Ipconfig0, ",") {
		name, value, _ := strings.Cut(part, "=")
		told[name] = value
	}
	return told
}

// address returns the address of a Machine's VM from the pool lan.
func (s *suite) address(t *testing.T, key machine.Key) string {
	t.Helper()
	return s.cloudInit(t, key)["ip"]
}

// haveAddresses checks that each Machine's VM has different addresses from the IPAM provider, with the gateways of the pools.
func (s *suite) haveAddresses(t *testing.T, keys []machine.Key) {
	t.Helper()
	taken := 0
	for _, key := range keys {
		for _, part := range []string{"ip", "ip6"} {
			if s.cloudInit(t, key)[part] != "" {
				taken++
			}
		}
	}
	given, all := map[netip.Prefix]bool{}, ""
	s.until(t, func() string { // Released addresses are deleted some time after their VM.
		all = s.kubectl(t, "get", ipAddresses, inNamespace, `--output=jsonpath={range .items[*]}{.spec.address}/{.spec.prefix}{"\n"}{end}`)
		if n := len(strings.Fields(all)); n != taken {
			return fmt.Sprintf("the VMs have %d addresses, and there are %d:\n%s", taken, n, all)
		}
		return ""
	})
	for line := range strings.Lines(all) {
		address, err := netip.ParsePrefix(strings.TrimSpace(line))
		if err != nil {
			t.Fatalf("what is allocated cannot be read: %v", err)
		}
		given[address] = true
	}
	for _, key := range keys {
		told := s.cloudInit(t, key)
		if told["gw"] != "192.0.2.1" || told["ip6"] != "" && told["gw6"] != "2001:db8::1" {
			t.Errorf("%s: the VM has not the gateways of the pools: %v", key, told)
		}
		for _, part := range []string{"ip", "ip6"} {
			address, err := netip.ParsePrefix(told[part])
			if part == "ip6" && told[part] == "" {
				continue
			}
			if err != nil || !given[address] {
				t.Errorf("%s: nobody has given it alone the address %q of %v: given are\n%s", key, told[part], told, all)
			}
			delete(given, address)
		}
	}
	if len(given) > 0 {
		t.Errorf("addresses are allocated that no VM has: %v", given)
	}
}
