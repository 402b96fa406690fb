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
	"context"
	"reflect"
	"strings"
	"testing"
	"time"

	xpcontroller "github.com/crossplane/crossplane-runtime/v2/pkg/controller"
	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource/fake"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/connect"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

func TestAllocate(t *testing.T) {
	cases := map[string]struct {
		reason    string
		machine   func(*namespaced.Machine)
		burned    []int
		want      string
		allocated string
		err       string
	}{
		"Chosen": {reason: "If none is asked for, the lowest free VMID is chosen.", want: "10000", allocated: "10000"},
		"Taken":  {reason: "A VMID that was lost is not chosen again.", burned: []int{10000, 10001}, want: "10002", allocated: "10002"},
		"Wanted": {
			reason:  "A VMID that the user names is not ours to exchange.",
			machine: func(m *namespaced.Machine) { m.Spec.ForProvider.VMID = new(int32(7777)) }, want: "7777",
		},
		"Template": {
			reason:  "A VMID below those of VMs, where others keep templates, is had by who names it.",
			machine: func(m *namespaced.Machine) { m.Spec.ForProvider.VMID = new(int32(999)) }, want: "999",
		},
		"Reserved": {
			reason:  "A VMID above the range is had by who names it.",
			machine: func(m *namespaced.Machine) { m.Spec.ForProvider.VMID = new(int32(100000)) }, want: "100000",
		},
		"Exhausted": {
			reason: "A VMID outside the range is not chosen, however many there are.",
			burned: []int{10000, 10001, 10002, 10003, 10004, 10005, 10006, 10007, 10008, 10009, 10010}, err: "no free VMID",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(m *namespaced.Machine) {
				m.Annotations = nil
				if tc.machine != nil {
					tc.machine(m)
				}
			})
			b.burned = tc.burned
			a, err := b.external().allocator().allocate(t.Context(), b.m)
			if (err != nil) != (tc.err != "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Fatalf("\n%s\nwant error %q, got %v", tc.reason, tc.err, err)
			}
			if err != nil {
				return
			}
			if _, err := uuid.Parse(a[object.AnnotationUUID]); err != nil {
				t.Errorf("\n%s\nwant a UUID, got %q", tc.reason, a[object.AnnotationUUID])
			}
			if diff := cmp.Diff([]string{tc.want, tc.allocated}, []string{a[meta.AnnotationKeyExternalName], a[object.AnnotationAllocated]}); diff != "" {
				t.Errorf("\n%s\nallocate: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
	b := newBench(t, nil)
	b.errs["ReserveVMID"] = errors.New("all are in use")
	if _, err := b.external().allocator().allocate(t.Context(), b.m); err == nil {
		t.Error("Without a free VMID there is none")
	}
}

func TestAdopt(t *testing.T) {
	adopting := func(m *namespaced.Machine) {
		m.Annotations = map[string]string{meta.AnnotationKeyExternalName: "777"}
	}
	cases := map[string]struct {
		reason  string
		machine func(*namespaced.Machine)
		vm      *guest
		want    string // UUID that is kept, or any
		err     string
	}{
		"There": {
			reason: "A VM that the user names is adopted by the UUID that it has.",
			vm:     &guest{node: "pve2", config: map[string]string{"smbios1": "uuid=" + otherUUID}}, want: otherUUID,
		},
		"ThereToObserve": {
			reason: "A VM that the user names is adopted, also if it is only observed.", machine: observed,
			vm: &guest{node: "pve2", config: map[string]string{"smbios1": "uuid=" + otherUUID}}, want: otherUUID,
		},
		"WithoutUUID": {
			reason: "A VM without a UUID could not be told from another later.", vm: &guest{node: "pve2", config: map[string]string{}},
			err: "has no SMBIOS UUID",
		},
		"Absent": {reason: "A VM that is not seen may be there all the same.", err: "cannot adopt VM 777"},
		"AbsentWanted": {
			reason:  "A VM is created where none has the VMID that is asked for.",
			machine: func(m *namespaced.Machine) { m.Spec.ForProvider.VMID = new(int32(777)) }, want: "any",
		},
		"AbsentToObserve": {reason: "What may not be created is waited for.", machine: observed, err: "cannot adopt VM 777"},
		"NoVMID": {
			reason: "A name that is no VMID names no VM.", machine: func(m *namespaced.Machine) { meta.SetExternalName(m, "99") },
			err: "must be a VMID",
		},
		"Other": {
			reason: "The VMID of the spec must be the same.", machine: func(m *namespaced.Machine) { m.Spec.ForProvider.VMID = new(int32(778)) },
			err: "a VMID cannot change",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(m *namespaced.Machine) {
				adopting(m)
				if tc.machine != nil {
					tc.machine(m)
				}
			})
			if tc.vm != nil {
				b.vms[777] = tc.vm
			}
			err := b.external().adopt(t.Context(), b.m)
			if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("\n%s\nwant error %q, got %v", tc.reason, tc.err, err)
			}
			got := b.kept(t, object.AnnotationUUID)
			if tc.want == "any" && got != "" {
				got = "any"
			}
			if got != tc.want || len(b.writes) != 0 {
				t.Errorf("\n%s\nwant UUID %q and no write, got %q and %q", tc.reason, tc.want, got, b.writes)
			}
		})
	}
}

// TestInitializeDoesNotConnect covers the cases in which nothing must be decided.
func TestInitializeDoesNotConnect(t *testing.T) {
	cases := map[string]struct {
		reason   string
		machine  resource.Managed
		connects bool
	}{
		"Settled": {reason: "What is settled stays.", machine: newBench(t, nil).m},
		"Deleted": {
			reason:  "A resource that is being deleted gets nothing.",
			machine: newBench(t, all(deleted, func(m *namespaced.Machine) { m.Annotations = nil })).m,
		},
		"Observe": {
			reason:  "A resource that may only observe is told what.",
			machine: newBench(t, all(observed, func(m *namespaced.Machine) { m.Annotations = nil })).m,
		},
		"New": {reason: "A new resource gets a VMID.", machine: newBench(t, func(m *namespaced.Machine) { m.Annotations = nil }).m, connects: true},
		"NoUpdate": {reason: "A new resource that may be created but not changed gets a VMID.", machine: newBench(t, func(m *namespaced.Machine) {
			m.Annotations = nil
			m.SetManagementPolicies(xpv2.ManagementPolicies{xpv2.ManagementActionObserve, xpv2.ManagementActionCreate})
		}).m, connects: true},
		"Adopt": {reason: "A named VM is looked at.", machine: newBench(t, all(observed, func(m *namespaced.Machine) {
			m.Annotations = map[string]string{meta.AnnotationKeyExternalName: "777"}
		})).m, connects: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			boom := errors.New("boom")
			c := &connector{
				shared:  &shared{now: time.Now},
				options: xpcontroller.Options{Logger: logging.NewNopLogger()},
				connect: func(context.Context, resource.Managed) (*connect.Connection, error) { return nil, boom },
			}
			err := c.Initialize(t.Context(), tc.machine)
			if errors.Is(err, boom) != tc.connects || (err != nil) != tc.connects {
				t.Errorf("\n%s\nwant a connection: %t, got %v", tc.reason, tc.connects, err)
			}
		})
	}
	if err := (&connector{}).Initialize(t.Context(), &fake.Managed{}); err == nil {
		t.Error("What is no Machine must be an error")
	}
}

func TestMayExchange(t *testing.T) {
	cases := map[string]struct {
		reason  string
		machine func(*namespaced.Machine)
		want    bool
	}{
		"Allocated": {reason: "A VMID that we chose may be exchanged.", want: true},
		"Named":     {reason: "One that the user named may not.", machine: func(m *namespaced.Machine) { delete(m.Annotations, object.AnnotationAllocated) }},
		"Renamed":   {reason: "A VMID that the user named instead may not be given up.", machine: func(m *namespaced.Machine) { meta.SetExternalName(m, "777") }},
		"Imaged": {reason: "The VMID of a VM which images were made for may not be given up, though the status is lost.", machine: func(m *namespaced.Machine) {
			m.Annotations[object.AnnotationImages] = "pve1=local:iso/cidata-10000-a.iso"
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := object.MayReplaceVMID(newBench(t, tc.machine).m); got != tc.want {
				t.Errorf("\n%s\nwant %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}

func TestVMIDRangeOfConnection(t *testing.T) {
	pve, err := proxmox.New(proxmox.Config{
		Endpoints: []string{"https://pve.example:8006"}, Credentials: proxmox.Credentials{TokenID: "u@pve!t", TokenSecret: "s"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pve.Close)
	c := &connector{
		shared:  &shared{},
		options: xpcontroller.Options{Logger: logging.NewNopLogger()},
		connect: func(context.Context, resource.Managed) (*connect.Connection, error) {
			return &connect.Connection{Client: pve, Config: &v1alpha1.ProviderConfigSpec{
				DefaultNode: new("n"), DefaultNodes: []string{"n", "o"}, PreferredNodes: []string{"o"}, DefaultStorage: new("s"), DefaultBridge: new("b"),
				VMIDRange: &v1alpha1.VMIDRange{Min: 1000, Max: 1001},
			}}, nil
		},
	}
	e, err := c.external(t.Context(), newBench(t, nil).m)
	if err != nil {
		t.Fatal(err)
	}
	want := defaults{Defaults: qemu.Defaults{Storage: "s", Bridge: "b"}, Node: "n", Nodes: []string{"n", "o"}, Preferred: []string{"o"}}
	if !reflect.DeepEqual(e.defaults, want) || e.vmids != (v1alpha1.VMIDRange{Min: 1000, Max: 1001}) {
		t.Errorf("The provider config's defaults must hold, got %+v and %+v", e.defaults, e.vmids)
	}
}
