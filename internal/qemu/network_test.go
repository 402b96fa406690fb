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

package qemu

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

func TestIPConfigOption(t *testing.T) {
	cases := map[string]struct {
		reason, now, want string
		config            v1alpha1.MachineIPConfig
	}{
		"ToDHCP": {
			reason: "PVE ignores dhcp beside a gateway, which goes with the static address.",
			now:    "ip=192.0.2.2/24,gw=192.0.2.1", config: v1alpha1.MachineIPConfig{Address: new("dhcp")}, want: "ip=dhcp",
		},
		"ToAuto": {
			reason: "The same holds for IPv6.",
			now:    "ip=dhcp,ip6=2001:db8::2/64,gw6=2001:db8::1", config: v1alpha1.MachineIPConfig{Address6: new("auto")}, want: "ip=dhcp,ip6=auto",
		},
		"Static": {
			reason: "A gateway that is not declared stays with a static address.",
			now:    "ip=192.0.2.2/24,gw=192.0.2.1", config: v1alpha1.MachineIPConfig{Address: new("192.0.2.3/24")}, want: "ip=192.0.2.3/24,gw=192.0.2.1",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, _ := ipConfigOption("net0", &tc.config, nil).Want(tc.now)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
