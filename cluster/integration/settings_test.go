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

package integration

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestFromEnvironment(t *testing.T) {
	whole := map[string]string{VMIDs: "9900-9949", Pool: "tests", Storage: "local-lvm"}
	cases := map[string]struct {
		reason  string
		env     map[string]string
		want    Settings
		problem string
	}{
		"Least": {
			reason: "range, pool and storage are enough",
			want:   Settings{First: 9900, Last: 9949, Pool: "tests", Storage: "local-lvm", Timeout: 10 * time.Minute},
		},
		"Everything": {
			reason: "each variable counts",
			env:    map[string]string{Bridge: "vmbr0", Template: "9000", Node: "pve1", Timeout: "90s"},
			want: Settings{
				First: 9900, Last: 9949, Pool: "tests", Storage: "local-lvm", Bridge: "vmbr0", Template: "9000", Node: "pve1", Timeout: 90 * time.Second,
			},
		},
		"NoRange":   {reason: "without a range any VMID could be taken", env: map[string]string{VMIDs: ""}, problem: VMIDs},
		"NoPool":    {reason: "without a pool VMs could not be told from others", env: map[string]string{Pool: ""}, problem: Pool},
		"NoStorage": {reason: "no storage is guessed", env: map[string]string{Storage: ""}, problem: Storage},
		"OneVMID":   {reason: "a single number is no range", env: map[string]string{VMIDs: "9900"}, problem: "such as 9900-9949"},
		"Narrow":    {reason: "several VMs exist at the same time", env: map[string]string{VMIDs: "9900-9902"}, problem: "4 VMIDs at least"},
		"Backwards": {reason: "a range that ends before it begins is empty", env: map[string]string{VMIDs: "9949-9900"}, problem: "4 VMIDs at least"},
		"TooLow":    {reason: "Proxmox VE has no such VMIDs", env: map[string]string{VMIDs: "1-50"}, problem: "100 to 999999999"},
		"Timeout":   {reason: "a number has no unit", env: map[string]string{Timeout: "90"}, problem: "such as 10m"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := FromEnvironment(func(name string) string {
				if value, ok := tc.env[name]; ok {
					return value
				}
				return whole[name]
			})
			if tc.problem != "" {
				if err == nil || !strings.Contains(err.Error(), tc.problem) {
					t.Errorf("%s: want an error with %q, got %v", tc.reason, tc.problem, err)
				}
				return
			}
			if err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestUnused(t *testing.T) {
	s := Settings{First: 9900, Last: 9910}
	for name, tc := range map[string]struct {
		reason   string
		existing []int64
		refused  bool
	}{
		"Empty": {reason: "guests around the range are none of the tests' business", existing: []int64{100, 9899, 9911}},
		"First": {reason: "the range has its first VMID", existing: []int64{9900}, refused: true},
		"Last":  {reason: "the range has its last VMID", existing: []int64{9910}, refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			if err := s.Unused(tc.existing); (err != nil) != tc.refused {
				t.Errorf("%s: refused %t, got %v", tc.reason, tc.refused, err)
			}
		})
	}
}
