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
	"testing"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/agentpoll"
	"github.com/vitistack/provider-proxmox/internal/guestagent"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

const ed25519 = "/etc/ssh/ssh_host_ed25519_key.pub"

func published(m *namespaced.Machine) {
	m.Spec.WriteConnectionSecretToReference = &xpv2.LocalSecretReference{Name: "web"}
}

func answering() *guest {
	g := ourVM("running")
	g.config["agent"], g.agent = "1", []proxmox.Interface{{Name: "lo", Addresses: addrs("127.0.0.1")}}
	g.now.Uptime = time.Hour
	g.files = map[string]string{ed25519: "ssh-ed25519 AAAAC3 root@web\n"}
	return g
}

func TestHostKeys(t *testing.T) {
	cases := map[string]struct {
		reason  string
		machine func(*namespaced.Machine)
		vm      func(*guest)
		errs    map[string]error
		may     proxmox.Privileges
		want    string
		asked   int
	}{
		"Told":    {reason: "The key is told without the name that the guest gives it.", want: "ssh-ed25519 AAAAC3", asked: 3},
		"Nobody":  {reason: "Nobody is asked for what nobody wants.", machine: func(m *namespaced.Machine) { m.Spec.WriteConnectionSecretToReference = nil }},
		"Windows": {reason: "Windows keeps none there.", vm: func(g *guest) { g.config["ostype"] = "win11" }},
		"NoAgent": {reason: "An agent that does not answer is asked no more.", vm: func(g *guest) { g.agent = nil }},
		"Several": {
			reason: "Each kind of key is a line.", vm: func(g *guest) { g.files["/etc/ssh/ssh_host_rsa_key.pub"] = "ssh-rsa AAAAB3" },
			want: "ssh-ed25519 AAAAC3\nssh-rsa AAAAB3", asked: 3,
		},
		"Forbidden": {
			reason: "A file that cannot be read is no error.",
			errs:   map[string]error{"ReadFile " + ed25519: refused(403, "Permission check failed")}, asked: 3,
		},
		"NotAsked": {reason: "A token that may not read files at all does not try.", may: proxmox.Privileges{"VM.GuestAgent.Audit": true}},
		"NoKey":    {reason: "What is no key is not passed on.", vm: func(g *guest) { g.files[ed25519] = "-----BEGIN OPENSSH PRIVATE KEY-----\nsecret" }, asked: 3},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, published)
			if tc.machine != nil {
				tc.machine(b.m)
			}
			b.vms[10000] = answering()
			if tc.vm != nil {
				tc.vm(b.vms[10000])
			}
			b.errs, b.privileges = tc.errs, tc.may
			if tc.may == nil {
				b.privileges = proxmox.Privileges{"VM.GuestAgent.FileRead": true}
			}
			asked := 0
			for _, file := range guestagent.HostKeyFiles() {
				b.on["ReadFile "+file] = func() { asked++ }
			}
			for range 2 {
				o, err := b.external().Observe(t.Context(), b.m)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tc.want, string(o.ConnectionDetails[agentpoll.DetailHostKeys])); diff != "" {
					t.Errorf("\n%s\nkeys: -want, +got:\n%s", tc.reason, diff)
				}
			}
			if asked != tc.asked {
				t.Errorf("\n%s\nthe guest was asked %d times in two looks, want %d", tc.reason, asked, tc.asked)
			}
		})
	}
}

// TestAnswersTooLate checks that a late answer of a guest no longer counts if the Machine was deleted or the guest was started again meanwhile.
func TestAnswersTooLate(t *testing.T) {
	cases := map[string]struct {
		reason string
		during string
		then   func(*bench)
		want   int
	}{
		"GoneWhileAsked":     {reason: "An answer about addresses is dropped.", during: "Interfaces", then: gone},
		"GoneWhilePermitted": {reason: "An answer about what the token may do is dropped.", during: "Permissions", then: gone},
		"GoneWhileRead":      {reason: "A key that was read is dropped.", during: "ReadFile " + ed25519, then: gone},
		"StartedAgain":       {reason: "What is known since the last start is kept.", during: "Interfaces", then: startedAgain, want: 1},
		"StartedAgainWhileRead": {
			reason: "What is known since the last start is kept also while keys are read.",
			during: "ReadFile " + ed25519, then: startedAgain, want: 1,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, published)
			b.vms[10000], b.privileges = answering(), proxmox.Privileges{"VM.GuestAgent.FileRead": true}
			var answer func()
			b.background = func(ask func()) { answer = ask }
			if _, err := b.external().Observe(t.Context(), b.m); err != nil || answer == nil {
				t.Fatalf("the guest is not asked: %v", err)
			}
			met := false
			b.on[tc.during] = func() { met = true; tc.then(b) }
			answer()
			if !met {
				t.Fatalf("%s is not called", tc.during)
			}
			if n := b.agents.Len(); n != tc.want {
				t.Errorf("\n%s\nwant %d guests remembered, got %d", tc.reason, tc.want, n)
			}
			if tc.want > 0 && !b.agents.StillRunning(b.m, b.clock.now()) {
				t.Errorf("\n%s\nthe last start is not remembered", tc.reason)
			}
			if tc.want == 0 && b.hostKeys.Len() > 0 {
				t.Errorf("\n%s\nkeys are remembered", tc.reason)
			}
		})
	}
}

func gone(b *bench) { b.external().forget(b.m) }

func startedAgain(b *bench) { b.agents.Addresses(b.m, b.clock.now()) }
