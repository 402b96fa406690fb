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

package quota

import (
	"math"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// Names of the amounts that quotas limit.
const (
	VMs       = "vms"
	Cores     = "cores"
	Memory    = "memory"
	Snapshots = "snapshots"
	Backups   = "backups"

	disks     = "disks/"
	addresses = "publicAddresses/"
)

// Disks returns the name of the disks on a storage, which are counted in bytes.
func Disks(storage string) string { return disks + storage }

// Addresses returns the name of the interfaces on a bridge.
func Addresses(bridge string) string { return addresses + bridge }

// StorageOf returns the storage in a name of disks.
func StorageOf(name string) (string, bool) { return strings.CutPrefix(name, disks) }

// BridgeOf returns the bridge in a name of interfaces.
func BridgeOf(name string) (string, bool) { return strings.CutPrefix(name, addresses) }

// Amounts has numbers by name: memory and disks are in bytes.
type Amounts map[string]int64

// Limits returns the limits of a quota.
func Limits(q *v1alpha1.TenantQuota) Amounts {
	if q == nil {
		return nil
	}
	all := Amounts{}
	for name, n := range map[string]*int32{VMs: q.VMs, Cores: q.Cores, Snapshots: q.Snapshots, Backups: q.Backups} {
		if n != nil {
			all[name] = int64(*n)
		}
	}
	if q.Memory != nil {
		all[Memory] = q.Memory.Value()
	}
	for _, d := range q.Disks {
		all[Disks(d.Storage)] = d.Size.Value()
	}
	for _, a := range q.PublicAddresses {
		all[Addresses(a.Bridge)] = int64(a.Count)
	}
	return all
}

// Quantity returns an amount in a form for people.
func Quantity(name string, n int64) resource.Quantity {
	format := resource.DecimalSI
	if _, isDisks := StorageOf(name); isDisks || name == Memory {
		format = resource.BinarySI
	}
	return *resource.NewQuantity(n, format)
}

// Add adds an amount. Sums are limited to the largest number: values that users write in a status must not overflow.
func (a Amounts) Add(name string, n int64) { a[name] = sum(a[name], n) }

// add adds other amounts.
func (a Amounts) add(o Amounts) {
	for name, n := range o {
		a.Add(name, n)
	}
}

// sum returns the sum of two amounts, at most the largest number.
func sum(a, b int64) int64 {
	if b > 0 && a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// Most returns the larger of each amount. It leaves out amounts of 0.
func Most(a, b Amounts) Amounts {
	all := Amounts{}
	for _, o := range []Amounts{a, b} {
		for name, n := range o {
			if n > all[name] {
				all[name] = n
			}
		}
	}
	return all
}

// Beyond returns how much more each amount is than in another.
func (a Amounts) Beyond(o Amounts) Amounts {
	more := Amounts{}
	for name, n := range a {
		if n > o[name] {
			more[name] = n - o[name]
		}
	}
	return more
}
