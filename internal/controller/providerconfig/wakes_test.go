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

package providerconfig

import (
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
)

// Another token of the user, and its secret.
const otherToken, otherSecret = "crossplane@pve!other", "00000000-0000-4000-8000-000000000002"

// separated makes the token have separate privileges, of which there are none, or those of its user.
func (b *bench) separated(yes bool) {
	b.user(func(u *simulator.User) { u.Tokens["demo"].NoSeparation = !yes })
}

// quorum makes the cluster lose or regain its quorum.
func (b *bench) quorum(there bool) {
	b.pve.Edit(func(s *simulator.State) { s.NoQuorum = !there })
}

// TestWakes checks when resources that failed because of a configuration are woken: once it works, has more privileges than before, or is another
// one.
func TestWakes(t *testing.T) {
	cases := map[string]struct {
		reason         string
		before, change func(*bench)
		want           bool
	}{
		"Permitted": {
			reason: "What was refused for a privilege is allowed now.", want: true,
			before: func(b *bench) { b.separated(true) }, change: func(b *bench) { b.separated(false) },
		},
		"StillRefused": {
			reason: "Nobody has granted anything.",
			before: func(b *bench) { b.separated(true) }, change: func(*bench) {},
		},
		"Refused": {
			reason: "What may do less than before has nothing to try again.",
			before: func(*bench) {}, change: func(b *bench) { b.separated(true) },
		},
		"Quorate": {
			reason: "The cluster takes writes again.", want: true,
			before: func(b *bench) { b.quorum(false) }, change: func(b *bench) { b.quorum(true) },
		},
		"Authenticated": {
			reason: "The credentials are accepted now.", want: true,
			before: func(b *bench) { b.keys("tokenID", simulatortest.TestToken, "tokenSecret", hidden) },
			change: func(b *bench) { b.keys("tokenID", simulatortest.TestToken, "tokenSecret", simulatortest.TestSecret) },
		},
		"AnotherToken": {
			reason: "Another token may do more, also where the one before was accepted.", want: true,
			before: func(b *bench) {
				if err := b.pve.SetToken(otherToken, otherSecret); err != nil {
					b.Fatal(err)
				}
			},
			change: func(b *bench) { b.keys("tokenID", otherToken, "tokenSecret", otherSecret) },
		},
		"Spec": {
			reason: "Another spec may allow more, as that of a tenant does.", want: true,
			before: func(*bench) {}, change: func(b *bench) { b.pc.Generation++ },
		},
		"Same": {
			reason: "Each check of a configuration that works would otherwise wake all that fail for other reasons.",
			before: func(*bench) {}, change: func(*bench) {},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, simulator.Options{})
			tc.before(b)
			c, kube := b.checker()
			check := func() {
				t.Helper()
				if _, err := c.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(b.pc)}); err != nil {
					t.Fatal(err)
				}
			}
			check()

			m := &cluster.Machine{}
			m.SetProviderConfigReference(&xpv2.Reference{Name: b.pc.Name})
			woken := false
			c.connections.OnRecovered(func(used func(resource.Managed) bool) { woken = woken || used(m) })
			tc.change(b)
			now := &cluster.ProviderConfig{}
			if err := kube.Get(t.Context(), client.ObjectKeyFromObject(b.pc), now); err != nil {
				t.Fatal(err)
			}
			now.Generation = b.pc.Generation
			for _, o := range []client.Object{now, b.secret} {
				if err := kube.Update(t.Context(), o); err != nil {
					t.Fatal(err)
				}
			}
			check()
			if woken != tc.want {
				t.Errorf("%s\nwoken: want %t, got %t", tc.reason, tc.want, woken)
			}
		})
	}
}
