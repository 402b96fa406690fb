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

package validate

import (
	"testing"
)

func TestReserved(t *testing.T) {
	cases := map[string]struct {
		reason string
		option string
		value  string
		want   bool
	}{
		"Args":         {reason: "Whoever sets arguments of QEMU may do anything.", option: "args", value: "-s", want: true},
		"ArgsRemoved":  {reason: "To remove an option is to set it.", option: "args", want: true},
		"Hookscript":   {reason: "Scripts run as root.", option: "hookscript", value: "local:snippets/a", want: true},
		"Cores":        {reason: "Most options need a privilege only.", option: "cores", value: "4"},
		"Socket":       {reason: "A socket is nobody's device.", option: "serial0", value: "socket"},
		"SerialDevice": {reason: "A serial port of the node is.", option: "serial0", value: "/dev/ttyS0", want: true},
		"USBSpice":     {reason: "Redirection is no device of the node.", option: "usb0", value: "spice"},
		"USBSpiceKey":  {reason: "The case of it does not matter.", option: "usb0", value: "host=SPICE,usb3=1"},
		"USBHost":      {reason: "A device by its address is.", option: "usb0", value: "046d:c52b", want: true},
		"USBMapping":   {reason: "Mappings have privileges of their own.", option: "usb0", value: "mapping=key"},
		"PCIHost":      {reason: "A device by its address.", option: "hostpci0", value: "0000:01:00.0,pcie=1", want: true},
		"PCIMapping":   {reason: "Mappings have privileges of their own.", option: "hostpci0", value: "mapping=gpu,pcie=1"},
		"PCINothing":   {reason: "What is not there is nothing.", option: "hostpci0"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := reserved(tc.option, tc.value); (got != "") != tc.want {
				t.Errorf("\n%s\nreserved(%q, %q): want reserved %t, got %q", tc.reason, tc.option, tc.value, tc.want, got)
			}
		})
	}
}
