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

package nodenet_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitistack/provider-proxmox/internal/nodenet"
)

// rewritten is a diff of a file that PVE has written again because of a bridge. It has the loopback interface, a bridge with two addresses, and a line
// that has moved.
const rewritten = `@@ -1,14 +1,15 @@
 auto lo
 iface lo inet loopback
-	address 127.0.0.1
-	netmask 255.0.0.0
+	address 127.0.0.1/8
 
-source /etc/network/interfaces.d/*
-
 auto vmbr0
 iface vmbr0 inet static
-	address 192.0.2.50
-	address 192.0.2.11
-	netmask 255.255.255.0
+	address 192.0.2.11/24
 	gateway 192.0.2.1
@@ -30,3 +31,9 @@
+auto vmbr9
+iface vmbr9 inet manual
+	bridge-ports none
+#source of much trouble
+
+source  /etc/network/interfaces.d/*
`

func TestOutsideOf(t *testing.T) {
	cases := map[string]struct {
		reason, diff string
		want         []string
	}{
		"Nothing":   {reason: "No line is outside of interfaces where nothing is staged."},
		"Rewritten": {reason: "PVE writes lines in its own form and order, and comments are no lines.", diff: rewritten},
		"Source":    {reason: "Somebody has added a line by hand.", diff: rewritten + "+source /tmp/mine\n", want: []string{"+source /tmp/mine"}},
		"Removed": {
			reason: "Somebody has removed one.", diff: "@@ -9,4 +9,3 @@\n \tbridge-fd 0\n \n-source-directory /etc/network/mine\n",
			want: []string{"-source-directory /etc/network/mine"},
		},
		"Changed": {
			reason: "One in place of another is both.", diff: "@@ -9,1 +9,1 @@\n-source /a\n+source /b\n", want: []string{"+source /b", "-source /a"},
		},
		"Loopback": {
			reason: "PVE does not list the loopback interface.", diff: "@@ -1,3 +1,4 @@\n auto lo\n iface lo inet loopback\n+\tup ip route add 192.0.2.0/24 dev lo\n",
			want: []string{"+up ip route add 192.0.2.0/24 dev lo"},
		},
		"BesideLoopback": {
			reason: "What follows is of another interface, or may be.",
			diff:   "@@ -1,3 +1,5 @@\n iface lo inet loopback\n \n+allow-vmbr9 port9\n+\tup x\n@@ -40,3 +42,4 @@\n \tbridge-fd 0\n+\tup x\n",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := slices.Sorted(maps.Keys(nodenet.OutsideOf(tc.diff)))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestGone(t *testing.T) {
	cases := map[string]struct {
		reason, diff string
		want         []string
	}{
		"Nothing":   {reason: "No address goes where nothing is staged."},
		"Rewritten": {reason: "PVE keeps the last address of an interface, in its own form.", diff: rewritten, want: []string{"192.0.2.50"}},
		"Moved": {
			reason: "Another interface has it then.",
			diff:   "@@ -1,9 +1,9 @@\n iface vmbr0 inet static\n-\taddress 192.0.2.11/24\n iface vmbr1 inet static\n+\taddress 192.0.2.11/25\n",
		},
		"IPv6": {
			reason: "An address has several forms.", want: []string{"2001:db8::7"},
			diff: "@@ -1,9 +1,9 @@\n iface vmbr0 inet6 static\n-\taddress 2001:DB8::1/64\n-\taddress 2001:db8:0::7\n+\taddress 2001:db8::1/64\n",
		},
		"Added": {reason: "A new one takes nothing away.", diff: "@@ -1,2 +1,3 @@\n iface vmbr0 inet static\n+\taddress 192.0.2.11/24\n"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, ip := range nodenet.Gone(tc.diff) {
				got = append(got, ip.String())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
