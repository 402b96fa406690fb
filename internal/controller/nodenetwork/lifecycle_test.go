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

package nodenetwork_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	xpmeta "github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/config"
	"github.com/vitistack/provider-proxmox/internal/controller/config/configtest"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/nodenetwork"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

const (
	apply  = "PUT /nodes/pve1/network"
	bridge = "{node: pve1, interface: vmbr9, type: bridge, confirmUnmappedAddresses: true}"
)

// lives runs a test in both scopes and on both versions, on nodes with additional cards.
func lives(t *testing.T, run func(*configtest.Life)) {
	t.Helper()
	configtest.RunIn(t, configtest.Kind{
		Setup: config.Setup(nodenetwork.Table()), Kind: "NodeNetwork", Collection: proxmox.NetworkCollection("pve1"),
		Prepare: func(s configtest.Simulator) {
			s.Edit(func(st *state.State) {
				for _, node := range st.Nodes {
					for number := 2; number <= 5; number++ {
						name := fmt.Sprintf("eno%d", number)
						node.Interfaces[name] = &state.Interface{Name: name, Type: "eth", Priority: number, Options: map[string]string{}}
					}
				}
			})
		},
	}, run)
}

func observation(t *testing.T, mg resource.Managed) *v1alpha1.NodeNetworkObservation {
	t.Helper()
	o, ok := mg.(interface {
		Observation() *v1alpha1.NodeNetworkObservation
	})
	if !ok {
		t.Fatalf("%T is no NodeNetwork", mg)
	}
	return o.Observation()
}

// applied checks that a resource is in force.
func applied(l *configtest.Life, mg resource.Managed) {
	l.Helper()
	l.Settle(mg)
	if c := mg.GetCondition(nodenetwork.TypeApplied); c.Status != corev1.ConditionTrue {
		l.Errorf("%s is not applied: %s %s", mg.GetName(), c.Reason, c.Message)
	}
}

// reloads returns how often the provider has applied staged changes.
func reloads(l *configtest.Life) int {
	n := 0
	for _, w := range l.Writes() {
		if w == apply {
			n++
		}
	}
	return n
}

// staging stages a bridge on the node as another user.
func staging(l *configtest.Life, name string) {
	l.Helper()
	options := proxmox.Params{"type": "bridge", "comments": "others"}
	l.Must(l.Client.CreateObject(l.Context(), proxmox.NetworkCollection("pve1"), "pve1/"+name, options))
}

// inForce reports whether the node has an interface in force.
func inForce(l *configtest.Life, name string) bool {
	found := false
	l.Edit(func(st *state.State) { found = st.Nodes["pve1"].Interfaces[name] != nil })
	return found
}

// TestTypes checks that each type is created, found to match its declaration, and removed.
func TestTypes(t *testing.T) {
	lives(t, func(l *configtest.Life) {
		specs := []string{
			"interface: bond0, type: bond, mtu: 9000, bond: {slaves: [eno3, eno2], mode: 802.3ad, transmitHashPolicy: layer3+4}",
			"interface: vmbr9, type: bridge, bridge: {ports: [bond0], vlanAware: true, vlans: 2-100}, cidr6: 'FD00::1/64'",
			"interface: vmbr9.7, type: vlan, cidr: 10.7.0.1/24, comments: \"one \\n\\ntwo\\n\"",
			"interface: vlan8, type: vlan, vlan: {rawDevice: vmbr9}",
			"interface: vmbr8, type: OVSBridge, ovs: {ports: [eno4]}",
			"interface: port8, type: OVSIntPort, ovs: {bridge: vmbr8, tag: 8, options: other_config=x}, cidr: 10.8.0.1/24",
			"interface: bond1, type: OVSBond, ovs: {bridge: vmbr8}, bond: {slaves: [eno5], mode: lacp-balance-tcp}",
		}
		var all []resource.Managed
		for number, spec := range specs {
			mg := l.Resource(number+1, "{node: pve1, confirmUnmappedAddresses: true, "+spec+"}", nil)
			applied(l, mg)
			all = append(all, mg)
		}
		for _, mg := range all {
			applied(l, mg)
		}
		for _, mg := range slices.Backward(all) {
			l.Delete(mg)
		}
		for _, name := range []string{"bond0", "vmbr9", "vmbr9.7", "vlan8", "vmbr8", "port8", "bond1"} {
			if inForce(l, name) {
				l.Errorf("%s is left", name)
			}
		}
	})
}

// TestOneReload stages three interfaces, and applies them at once.
func TestOneReload(t *testing.T) {
	lives(t, func(l *configtest.Life) {
		var all []resource.Managed
		for number := range 3 {
			spec := fmt.Sprintf("{node: pve1, interface: vmbr%d, type: bridge, confirmUnmappedAddresses: true}", number+5)
			all = append(all, l.Resource(number+1, spec, nil))
		}
		for range 3 {
			l.Reconcile(all[0])
		}
		l.Until(all[0], nodenetwork.TypeApplied, nodenetwork.ReasonStaged, "together with that of NodeNetwork")
		l.Until(all[1], nodenetwork.TypeApplied, nodenetwork.ReasonStaged, "together with that of NodeNetwork")
		for _, mg := range []resource.Managed{all[2], all[1], all[0]} {
			applied(l, mg)
		}
		if n := reloads(l); n != 1 {
			l.Errorf("%d reloads for three interfaces, want one: %v", n, l.Writes())
		}
	})
}

// TestNoQuorum changes the network of a node without quorum, which Proxmox VE allows because the network belongs to the node alone. The change is
// staged and applied once, as usual.
func TestNoQuorum(t *testing.T) {
	lives(t, func(l *configtest.Life) {
		l.Edit(func(st *state.State) { st.NoQuorum = true })
		mg := l.Resource(1, bridge, nil)
		applied(l, mg)
		if n := reloads(l); n != 1 || !inForce(l, "vmbr9") {
			l.Errorf("want it applied once, got %d reloads", n)
		}
		l.Edit(func(st *state.State) { st.NoQuorum = false })
		applied(l, mg)
		if n := reloads(l); n != 1 {
			l.Errorf("want nothing done again, got %d reloads", n)
		}
	})
}

// TestStagedByOthers checks that what others have staged is left alone until there is consent to exactly that.
func TestStagedByOthers(t *testing.T) {
	lives(t, func(l *configtest.Life) {
		staging(l, "vmbr7")
		mg := l.Resource(1, bridge, nil)
		l.Until(mg, xpv2.TypeReady, nodenetwork.ReasonStagedByOthers, "applyStaged")
		l.Until(mg, nodenetwork.TypeApplied, nodenetwork.ReasonStagedByOthers)
		l.Until(mg, nodenetwork.TypeStaged, nodenetwork.ReasonNothingStaged) // What others have staged is not a change by the resource.
		s := observation(l.T, mg).Staged
		if w := l.Writes(); len(w) > 0 || s == nil || !s.ByOthers || !strings.Contains(s.Changes, "+iface vmbr7") {
			l.Fatalf("written: %v, shown: %v", w, s)
		}
		consent := func(sum string) string {
			return "{node: pve1, interface: vmbr9, type: bridge, confirmUnmappedAddresses: true, applyStaged: '" + sum + "'}"
		}
		staging(l, "vmbr6")
		l.EditSpec(mg, consent(s.Checksum))
		l.Until(mg, xpv2.TypeReady, nodenetwork.ReasonStagedByOthers, "applyStaged")
		if w := l.Writes(); len(w) > 0 {
			l.Fatalf("what was staged after the consent is applied: %v", w)
		}
		l.EditSpec(mg, consent(observation(l.T, mg).Staged.Checksum))
		applied(l, mg)
		if !inForce(l, "vmbr6") || !inForce(l, "vmbr7") || reloads(l) != 1 {
			l.Errorf("what was consented to is not in force: %v", l.Writes())
		}
	})
}

// TestStagedBetween stages a change as another user after ours was staged and before it is applied, on another interface and on ours.
func TestStagedBetween(t *testing.T) {
	for name, stage := range map[string]func(*configtest.Life){
		"Other": func(l *configtest.Life) { staging(l, "vmbr7") },
		"Ours": func(l *configtest.Life) {
			change := proxmox.Change{Set: proxmox.Params{"type": "bridge", "mtu": "1400"}}
			l.Must(l.Client.UpdateObject(l.Context(), proxmox.NetworkCollection("pve1"), "pve1/vmbr9", change))
		},
		"ByHand": func(l *configtest.Life) {
			l.Edit(func(st *state.State) { st.Nodes["pve1"].StagedLines = []string{"source /etc/network/mine"} })
		},
	} {
		t.Run(name, func(t *testing.T) {
			lives(t, func(l *configtest.Life) {
				mg := l.Resource(1, bridge, nil)
				for l.Options("pve1/vmbr9") == nil {
					l.Reconcile(mg)
				}
				stage(l)
				l.Restart()
				l.Until(mg, nodenetwork.TypeApplied, nodenetwork.ReasonStagedByOthers)
				for range 3 {
					l.Reconcile(mg)
				}
				if reloads(l) > 0 || inForce(l, "vmbr9") {
					l.Fatalf("what others have staged is applied: %v", l.Writes())
				}
				l.Edit(func(st *state.State) { st.Nodes["pve1"].PendingInterfaces, st.Nodes["pve1"].StagedLines = nil, nil })
				applied(l, mg)
			})
		})
	}
}

// TestFurtherAddresses checks that a file is not applied from which Proxmox VE has left out addresses that were written into it manually. Proxmox VE
// lists and keeps one address of each family. An address of an endpoint, or of a link of corosync, is kept regardless of any consent.
func TestFurtherAddresses(t *testing.T) {
	for name, tc := range map[string]struct {
		link    []string
		consent bool
		words   string
	}{
		"Unasked": {words: "it takes away the address 10.9.0.50, for which no NodeNetwork asks"},
		"Link":    {link: []string{"10.9.0.50"}, consent: true, words: "it takes away 10.9.0.50, through which link 1 of corosync"},
	} {
		t.Run(name, func(t *testing.T) {
			lives(t, func(l *configtest.Life) {
				l.Edit(func(st *state.State) {
					n := st.Nodes["pve1"]
					n.Links, n.Interfaces["vmbr1"].CIDR, n.Interfaces["vmbr1"].Addresses = tc.link, "10.9.0.11/24", []string{"10.9.0.50/24"}
				})
				mg := l.Resource(1, bridge, nil)
				l.Until(mg, xpv2.TypeSynced, xpv2.ReasonReconcileError, "the change is refused")
				if tc.consent {
					sum := observation(l.T, mg).Staged.Checksum
					l.EditSpec(mg, strings.Replace(bridge, "}", ", applyStaged: '"+sum+"'}", 1))
				}
				l.Until(mg, xpv2.TypeSynced, xpv2.ReasonReconcileError, tc.words)
				if reloads(l) > 0 || inForce(l, "vmbr9") {
					l.Fatalf("the address is taken away: %v", l.Writes())
				}
				l.Edit(func(st *state.State) { st.Nodes["pve1"].Interfaces["vmbr1"].Addresses = nil }) // The addresses are in a separate file from now on.
				applied(l, mg)
			})
		})
	}
}

// TestAddressesTaken checks that addresses are removed whose removal resources require, including those of changes that were never applied, and those
// of others with consent.
func TestAddressesTaken(t *testing.T) {
	lives(t, func(l *configtest.Life) {
		l.Edit(func(st *state.State) { st.Nodes["pve1"].Interfaces["vmbr1"].CIDR = "10.9.0.11/24" })
		spec := "{node: pve1, interface: vmbr9, type: bridge, cidr: 10.77.0.1/24, confirmUnmappedAddresses: true}"
		mg := l.Resource(1, spec, nil)
		applied(l, mg)
		for number := 2; number < 4; number++ {
			l.EditSpec(mg, strings.Replace(spec, "0.1/24", fmt.Sprintf("0.%d/24, apply: Manual", number), 1))
			l.Until(mg, nodenetwork.TypeApplied, nodenetwork.ReasonStaged, "Manual")
		}
		l.EditSpec(mg, strings.Replace(spec, "0.1/24", "0.3/24", 1))
		applied(l, mg)
		change := proxmox.Change{Set: proxmox.Params{"type": "bridge", "autostart": "1"}}
		l.Must(l.Client.UpdateObject(l.Context(), proxmox.NetworkCollection("pve1"), "pve1/vmbr1", change))
		spec = strings.Replace(spec, "0.1/24", "0.4/24", 1)
		l.EditSpec(mg, spec)
		l.Until(mg, xpv2.TypeReady, nodenetwork.ReasonStagedByOthers, "applyStaged")
		l.EditSpec(mg, strings.Replace(spec, "}", ", applyStaged: '"+observation(l.T, mg).Staged.Checksum+"'}", 1))
		applied(l, mg)
	})
}

// during calls a function when the provider, in a reconcile of a resource, makes a request for the path, after some requests were skipped.
func during(l *configtest.Life, mg resource.Managed, path string, skip int, do func()) {
	l.Helper()
	release := l.Inject(simulator.Fault{Method: http.MethodGet, Path: path, Skip: skip, Count: 1, Delay: time.Hour})
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer release()
		for !slices.ContainsFunc(l.Faults(), func(f simulator.ArmedFault) bool { return f.Path == path && f.Hit > 0 }) {
			<-time.After(time.Millisecond)
		}
		do()
	}()
	l.Runner.Until(mg, "the call to "+path+" is made", func() bool {
		select {
		case <-done:
			return true
		default:
			return false
		}
	})
}

// TestStagedDuringChecks stages a change as another user while the provider checks what must not be cut off, after the staged changes were found to
// be ours and before it is applied.
func TestStagedDuringChecks(t *testing.T) {
	collection := proxmox.NetworkCollection("pve1")
	for name, stage := range map[string]func(*configtest.Life){
		"Other": func(l *configtest.Life) { staging(l, "vmbr7") },
		"Ours": func(l *configtest.Life) {
			change := proxmox.Change{Set: proxmox.Params{"type": "bridge", "mtu": "1400"}}
			l.Must(l.Client.UpdateObject(l.Context(), collection, "pve1/vmbr9", change))
		},
		"Instead": func(l *configtest.Life) {
			l.Edit(func(st *state.State) { st.Nodes["pve1"].PendingInterfaces = nil })
			staging(l, "vmbr7")
		},
	} {
		t.Run(name, func(t *testing.T) {
			lives(t, func(l *configtest.Life) {
				mg := l.Resource(1, bridge, nil)
				for l.Options("pve1/vmbr9") == nil {
					l.Reconcile(mg)
				}
				during(l, mg, "/cluster/config/nodes", 0, func() { stage(l) })
				if reloads(l) > 0 || inForce(l, "vmbr7") || inForce(l, "vmbr9") {
					l.Fatalf("what others have staged is applied: %v", l.Writes())
				}
				l.Until(mg, nodenetwork.TypeApplied, nodenetwork.ReasonStagedByOthers)
				l.Edit(func(st *state.State) { st.Nodes["pve1"].PendingInterfaces = nil })
				applied(l, mg)
			})
		})
	}
}

// TestStagedBeforeOurs stages a change of the interface as another user while the provider checks whether it may stage its own.
func TestStagedBeforeOurs(t *testing.T) {
	lives(t, func(l *configtest.Life) {
		mg := l.Resource(1, bridge, nil)
		applied(l, mg)
		before := len(l.Writes())
		l.EditSpec(mg, "{node: pve1, interface: vmbr9, type: bridge, mtu: 1300, confirmUnmappedAddresses: true}")
		during(l, mg, "/cluster/config/nodes", 1, func() {
			change := proxmox.Change{Set: proxmox.Params{"type": "bridge", "comments": "others", "autostart": "1"}}
			l.Must(l.Client.UpdateObject(l.Context(), proxmox.NetworkCollection("pve1"), "pve1/vmbr9", change))
		})
		if w := l.Writes()[before:]; len(w) > 0 || l.Options("pve1/vmbr9")["comments"] != "others" {
			l.Fatalf("what others have staged is written over: %v", w)
		}
		l.Until(mg, nodenetwork.TypeApplied, nodenetwork.ReasonStagedByOthers)
	})
}

// TestManagement checks that changes of an adopted bridge that would cut off the node are refused.
func TestManagement(t *testing.T) {
	lives(t, func(l *configtest.Life) {
		adopted := map[string]string{xpmeta.AnnotationKeyExternalName: "pve1/vmbr0"}
		mg := l.Resource(1, "{node: pve1, interface: vmbr0, type: bridge, confirmUnmappedAddresses: true}", adopted)
		applied(l, mg)
		for spec, words := range map[string]string{
			"bridge: {ports: []}": "bridge_ports of vmbr0", "autostart: false": "autostart of vmbr0", "cidr: 192.0.2.99/24": "192.0.2.11",
			"cidr: 192.0.2.11/24, gateway: 192.0.2.254": "default route",
		} {
			l.EditSpec(mg, "{node: pve1, interface: vmbr0, type: bridge, confirmUnmappedAddresses: true, "+spec+"}")
			l.Until(mg, xpv2.TypeReady, nodenetwork.ReasonRefused, words)
		}
		l.EditSpec(mg, "{node: pve1, interface: vmbr0, type: bridge, comments: uplink}")
		l.Until(mg, xpv2.TypeReady, nodenetwork.ReasonRefused, "confirmUnmappedAddresses")
		if w := l.Writes(); len(w) > 0 {
			l.Fatalf("a refused change is staged: %v", w)
		}
		l.EditSpec(mg, "{node: pve1, interface: vmbr0, type: bridge, comments: uplink, confirmUnmappedAddresses: true}")
		applied(l, mg)
		if o := l.Options("pve1/vmbr0"); o["cidr"] != "192.0.2.11/24" || o["gateway"] != "192.0.2.1" || o["bridge_ports"] != "eno1" || o["comments"] != "uplink" {
			l.Errorf("a change of one option changes others: %v", o)
		}
		l.StartDelete(mg)
		l.Until(mg, xpv2.TypeSynced, xpv2.ReasonReconcileError, "in use", "192.0.2.11")
	})
}

// TestCorosyncLink checks that the address of an additional link of corosync is protected.
func TestCorosyncLink(t *testing.T) {
	lives(t, func(l *configtest.Life) {
		l.Edit(func(st *state.State) {
			st.Nodes["pve1"].Links = []string{"10.9.0.11"}
			st.Nodes["pve1"].Interfaces["vmbr1"].CIDR = "10.9.0.11/24"
		})
		adopted := map[string]string{xpmeta.AnnotationKeyExternalName: "pve1/vmbr1"}
		mg := l.Resource(1, "{node: pve1, interface: vmbr1, type: bridge, cidr: '', confirmUnmappedAddresses: true}", adopted)
		l.Until(mg, xpv2.TypeReady, nodenetwork.ReasonRefused, "link 1 of corosync")
		if w := l.Writes(); len(w) > 0 {
			l.Errorf("a refused change is staged: %v", w)
		}
	})
}

// TestCard checks a network card, which is adopted, and stays.
func TestCard(t *testing.T) {
	lives(t, func(l *configtest.Life) {
		const spec = "{node: pve1, interface: eno2, type: eth, mtu: 9000, autostart: true, confirmUnmappedAddresses: true}"
		found := l.Resource(2, spec, nil)
		l.Until(found, xpv2.TypeReady, kind.ReasonAlreadyExists, "external-name")
		l.Delete(found)
		mg := l.Resource(1, spec, map[string]string{xpmeta.AnnotationKeyExternalName: "pve1/eno2"})
		applied(l, mg)
		before := len(l.Writes())
		l.Delete(mg)
		if w := l.Writes(); len(w) != before || l.Options("pve1/eno2")["mtu"] != "9000" {
			l.Errorf("a card stays as it is: %v, %v", w[before:], l.Options("pve1/eno2"))
		}
	})
}

// TestManual checks that a change is staged, and left to a user to apply.
func TestManual(t *testing.T) {
	lives(t, func(l *configtest.Life) {
		mg := l.Resource(1, "{node: pve1, interface: vmbr9, type: bridge, apply: Manual, confirmUnmappedAddresses: true}", nil)
		l.Until(mg, nodenetwork.TypeApplied, nodenetwork.ReasonStaged, "Manual")
		l.Until(mg, xpv2.TypeReady, nodenetwork.ReasonStaged)
		if c := mg.GetCondition(nodenetwork.TypeStaged); c.Status != corev1.ConditionTrue || c.Reason != nodenetwork.ReasonStaged {
			l.Errorf("nobody can wait for the condition Staged: %v", c)
		}
		for range 3 {
			l.Reconcile(mg)
		}
		if reloads(l) > 0 || inForce(l, "vmbr9") {
			l.Fatalf("the change is applied: %v", l.Writes())
		}
		reload(l.Simulator)
		applied(l, mg)
		l.Until(mg, nodenetwork.TypeStaged, nodenetwork.ReasonNothingStaged)
		l.StartDelete(mg)
		l.Until(mg, xpv2.TypeSynced, xpv2.ReasonReconcileError, "apply it on node")
		reload(l.Simulator)
		for l.Reconcile(mg) {
		}
		if inForce(l, "vmbr9") || reloads(l) > 0 {
			l.Errorf("the removal is applied by the provider: %v", l.Writes())
		}
	})
}

// TestManualBesideAutomatic checks two changes of one node, one of which a user has to apply.
func TestManualBesideAutomatic(t *testing.T) {
	lives(t, func(l *configtest.Life) {
		byHand := l.Resource(1, "{node: pve1, interface: vmbr8, type: bridge, apply: Manual, confirmUnmappedAddresses: true}", nil)
		l.Until(byHand, nodenetwork.TypeApplied, nodenetwork.ReasonStaged, "Manual")
		mg := l.Resource(2, bridge, nil)
		l.Until(mg, xpv2.TypeSynced, xpv2.ReasonReconcileError, "has staged a change for somebody to apply")
		if reloads(l) > 0 || inForce(l, "vmbr8") {
			l.Fatalf("what somebody is to look at is applied: %v", l.Writes())
		}
		reload(l.Simulator)
		applied(l, byHand)
		applied(l, mg)
	})
}

// TestRefusedChange checks a change that PVE refuses, which is then undone.
func TestRefusedChange(t *testing.T) {
	lives(t, func(l *configtest.Life) {
		mg := l.Resource(1, bridge, nil)
		applied(l, mg)
		before := reloads(l)
		l.Inject(simulator.Fault{Method: http.MethodPut, Path: "/nodes/pve1/network/vmbr9", Status: http.StatusBadRequest})
		l.EditSpec(mg, strings.Replace(bridge, "type: bridge", "type: bridge, mtu: 1400", 1))
		l.Until(mg, xpv2.TypeSynced, xpv2.ReasonReconcileError)
		l.EditSpec(mg, bridge)
		applied(l, mg)
		if n := reloads(l) - before; n > 0 {
			l.Errorf("the network is reloaded %d times for a change that was refused: %v", n, l.Writes())
		}
	})
}

// TestReload loses the reload, its answer, or its success.
func TestReload(t *testing.T) {
	for name, fault := range map[string]simulator.Fault{
		"Request": {Method: http.MethodPut, Path: "/nodes/pve1/network", CutBefore: true, Count: 1},
		"Answer":  {Method: http.MethodPut, Path: "/nodes/pve1/network", CutAfter: true, Count: 1},
		"Failure": {Task: "srvreload", TaskExit: "command 'ifreload -a' failed: exit code 1", Count: 1},
		"Refused": {Method: http.MethodPut, Path: "/nodes/pve1/network", Status: http.StatusInternalServerError, Count: 1},
	} {
		t.Run(name, func(t *testing.T) {
			lives(t, func(l *configtest.Life) {
				l.Inject(fault)
				mg := l.Resource(1, bridge, nil)
				applied(l, mg)
				if !inForce(l, "vmbr9") || reloads(l) != 2 {
					l.Errorf("the reload that was lost is not made up for: %v", l.Writes())
				}
			})
		})
	}
}

// reloading makes the provider, by reconciles, stage a change and start a reload, which runs until the returned function is called. Meanwhile, an
// interface is down.
func reloading(l *configtest.Life, look func(), down string) func() {
	l.Helper()
	until := func(what string, done func() bool) {
		for looks := 0; !done(); looks++ {
			if look(); looks == 10 {
				l.Fatalf("after %d looks %s: %v", looks, what, l.Writes())
			}
		}
	}
	writes, before := len(l.Writes()), reloads(l)
	until("nothing is staged", func() bool { return len(l.Writes()) > writes })
	// The provider must not see that the task of the simulator has ended immediately.
	seen := l.Inject(simulator.Fault{Method: http.MethodGet, Path: "/cluster/tasks", Delay: time.Hour})
	defer seen()
	until("nothing is applied", func() bool { return reloads(l) > before })
	var task *state.Task
	l.Edit(func(st *state.State) {
		task = st.Tasks[len(st.Tasks)-1]
		task.Ended, task.Exit = time.Time{}, ""
		st.Nodes["pve1"].Down = map[string]bool{down: true}
	})
	return func() {
		l.Edit(func(st *state.State) {
			task.Ended, task.Exit = time.Now(), "OK"
			st.Nodes["pve1"].Down = nil
		})
	}
}

// TestLookWhileReloading reconciles an interface while a reload brings it up. Once the reload has ended, the first reconcile finds the interface in
// force, whatever was read before.
func TestLookWhileReloading(t *testing.T) {
	lives(t, func(l *configtest.Life) {
		// It does not notice the end of a task.
		p := configtest.Start(l.T, l.Kube, config.Setup(nodenetwork.Table()), l.Scope, 0,
			inventory.WithPollInterval(time.Hour), inventory.WithEventPollInterval(time.Hour), inventory.WithMaxAge(time.Hour))
		mg := l.Resource(1, bridge, nil)
		look := func() {
			if err := p.Reconcile(client.ObjectKeyFromObject(mg)); err != nil {
				l.Log(err)
			}
			l.Read(mg)
		}
		end := reloading(l, look, "vmbr9")
		look()
		if c := mg.GetCondition(nodenetwork.TypeApplied); c.Reason != nodenetwork.ReasonReloading {
			l.Fatalf("while the network is reloaded: %s %s", c.Reason, c.Message)
		}
		end()
		look()
		for _, of := range []xpv2.ConditionType{nodenetwork.TypeApplied, xpv2.TypeReady} {
			if c := mg.GetCondition(of); c.Status != corev1.ConditionTrue {
				l.Errorf("after the reload %s is %s: %s %s", of, c.Status, c.Reason, c.Message)
			}
		}
	})
}

// TestReadAfterReload reconciles another interface of the node, which is down during a reload. It is found in force once the reload has ended,
// although cached data is still valid.
func TestReadAfterReload(t *testing.T) {
	lives(t, func(l *configtest.Life) {
		changes, other := l.Resource(1, bridge, nil), l.Resource(2, second, nil)
		applied(l, changes)
		applied(l, other)
		l.RestartBySigns()
		l.Reconcile(other)
		l.EditSpec(changes, strings.Replace(bridge, "}", ", comments: Changed}", 1))
		end := reloading(l, func() { l.Reconcile(changes) }, "vmbr8")
		l.Until(other, nodenetwork.TypeApplied, nodenetwork.ReasonInactive)
		end()
		l.UntilHolds(other, "it is in force", func() bool { return other.GetCondition(nodenetwork.TypeApplied).Status == corev1.ConditionTrue })
	})
}

// TestReloadFails checks that a reload that has failed after it had applied the staged changes is shown, and repeated five minutes later.
func TestReloadFails(t *testing.T) {
	lives(t, func(l *configtest.Life) {
		l.Inject(simulator.Fault{Task: "srvreload", TaskExit: "command 'ifreload -a' failed: exit code 1", Count: 1})
		mg := l.Resource(1, bridge, nil)
		for reloads(l) == 0 {
			l.Reconcile(mg)
		}
		l.Edit(func(st *state.State) { // PVE does the same before ifreload fails.
			n := st.Nodes["pve1"]
			n.Interfaces, n.PendingInterfaces = n.PendingInterfaces, nil
		})
		l.Until(mg, nodenetwork.TypeApplied, nodenetwork.ReasonReloadFailed, "ifreload")
		l.Until(mg, xpv2.TypeReady, nodenetwork.ReasonReloadFailed)
		if n := reloads(l); n != 1 {
			l.Errorf("want no other reload at once, got %d", n)
		}
		l.Clock.Pass(5 * time.Minute)
		applied(l, mg)
		if n := reloads(l); n != 2 {
			l.Errorf("want another reload after five minutes, got %d", n)
		}
	})
}

// TestStandUpon checks that an interface is not removed while another one is configured on it.
func TestStandUpon(t *testing.T) {
	lives(t, func(l *configtest.Life) {
		below := l.Resource(1, bridge, nil)
		applied(l, below)
		above := l.Resource(2, "{node: pve1, interface: vmbr9.7, type: vlan, confirmUnmappedAddresses: true}", nil)
		applied(l, above)
		l.StartDelete(below)
		l.Until(below, xpv2.TypeSynced, xpv2.ReasonReconcileError, "in use", "vmbr9.7")
		l.Delete(above)
		for l.Reconcile(below) {
		}
		if inForce(l, "vmbr9") {
			l.Error("the interface is left although nothing stands upon it any more")
		}
	})
}

// onBridge configures a zone of SDN on the bridge of the tests.
func onBridge(l *configtest.Life, zone map[string]string, inForce, configured bool) {
	l.Helper()
	l.Edit(func(st *state.State) {
		st.SDN.Zones, st.SDN.AppliedZones = state.Sections{}, state.Sections{}
		if configured {
			st.SDN.Zones["z1"] = zone
		}
		if inForce {
			st.SDN.AppliedZones["z1"] = zone
		}
	})
}

// TestZones checks that a bridge is not removed while a zone of SDN uses it.
func TestZones(t *testing.T) {
	vlan := map[string]string{"type": "vlan", "bridge": "vmbr9"}
	for name, tc := range map[string]struct {
		reason              string
		zone                map[string]string
		inForce, configured bool
	}{
		"InForce": {reason: "The zone is in force, and as it is configured.", zone: vlan, inForce: true, configured: true},
		"Removed": {reason: "The zone was removed, and is in force until SDN is applied.", zone: vlan, inForce: true},
		"New":     {reason: "The zone is in force once SDN is applied.", zone: vlan, configured: true},
		"Node": {
			reason: "The zone is on the node, among others.", inForce: true, configured: true,
			zone: map[string]string{"type": "qinq", "bridge": "vmbr9", "nodes": "pve2,pve1"},
		},
		"Peers": {
			reason: "The bridge has the node's address in a VXLAN zone.", inForce: true, configured: true,
			zone: map[string]string{"type": "vxlan", "peers": "10.77.0.1,10.77.0.2"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			lives(t, func(l *configtest.Life) {
				mg := l.Resource(1, "{node: pve1, interface: vmbr9, type: bridge, cidr: 10.77.0.1/24, confirmUnmappedAddresses: true}", nil)
				applied(l, mg)
				onBridge(l, tc.zone, tc.inForce, tc.configured)
				l.StartDelete(mg)
				l.Until(mg, xpv2.TypeSynced, xpv2.ReasonReconcileError, "in use", "SDN zone z1")
				if l.Options("pve1/vmbr9") == nil {
					l.Errorf("%s The bridge is removed.", tc.reason)
				}
				onBridge(l, map[string]string{"type": "vlan", "bridge": "vmbr9", "nodes": "pve2"}, true, true) // The zone is on another node from now on.
				l.Runner.Until(mg, configtest.Gone, func() bool { return false })
			})
		})
	}
}

// TestZonePeer checks that an address is not removed that a VXLAN zone has among its peers, and none at all while there may be zones that the user
// may not see.
func TestZonePeer(t *testing.T) {
	lives(t, func(l *configtest.Life) {
		spec := "{node: pve1, interface: vmbr9, type: bridge, cidr: 10.77.0.1/24, confirmUnmappedAddresses: true}"
		mg := l.Resource(1, spec, nil)
		applied(l, mg)
		before := len(l.Writes())
		onBridge(l, map[string]string{"type": "vxlan", "peers": "10.77.0.1,10.77.0.2"}, true, true)
		l.EditSpec(mg, strings.Replace(spec, "0.1/24", "0.3/24", 1))
		l.Until(mg, xpv2.TypeReady, nodenetwork.ReasonRefused, "it takes away 10.77.0.1, which SDN zone z1 has among its peers")
		grants := hideZones(l)
		l.Until(mg, xpv2.TypeSynced, xpv2.ReasonReconcileError, "/sdn/zones", "SDN.Audit")
		if w := l.Writes()[before:]; len(w) > 0 {
			l.Fatalf("the address is taken away: %v", w)
		}
		l.Edit(func(st *state.State) { st.ACL = grants })
		onBridge(l, nil, false, false)
		applied(l, mg)
	})
}

// hideZones hides the zones of SDN from the user, and returns the previous grants.
func hideZones(l *configtest.Life) []simulator.Grant {
	l.Helper()
	var before []simulator.Grant
	l.Edit(func(st *state.State) {
		before = slices.Clone(st.ACL)
		for path, role := range map[string]string{"/": "Administrator", "/sdn/zones": "NoAccess", "/sdn/zones/localnetwork": "PVESDNUser"} {
			st.ACL = append(st.ACL, simulator.Grant{Path: path, Kind: "user", ID: "crossplane@pve", Role: role, Propagate: true})
		}
	})
	return before
}

// TestHiddenZones checks that no bridge is removed while there may be zones of SDN that the user may not see.
func TestHiddenZones(t *testing.T) {
	lives(t, func(l *configtest.Life) {
		mg := l.Resource(1, bridge, nil)
		applied(l, mg)
		onBridge(l, map[string]string{"type": "vlan", "bridge": "vmbr9"}, true, true)
		hideZones(l)
		l.StartDelete(mg)
		l.Until(mg, xpv2.TypeSynced, xpv2.ReasonReconcileError, "/sdn/zones", "SDN.Audit")
		if l.Options("pve1/vmbr9") == nil {
			l.Error("the bridge is removed")
		}
	})
}

// TestGuestsOn checks that a bridge is not removed while a NIC of a VM or container of the node is on it, or will be after a restart of the guest.
func TestGuestsOn(t *testing.T) {
	for name, tc := range map[string]struct {
		words string
		on    func(st *state.State, bridge string)
	}{
		"PendingNIC": {words: "VM 100", on: func(st *state.State, bridge string) {
			st.Guests[100].Pending = map[string]string{"net0": "virtio=BC:24:11:00:00:07,bridge=" + bridge}
		}},
		"Container":        {words: "container 910", on: func(st *state.State, bridge string) { contain(st, "vmbr0", bridge, nil) }},
		"PendingContainer": {words: "container 910", on: func(st *state.State, bridge string) { contain(st, bridge, "vmbr0", nil) }},
		"NewNIC": {words: "container 910", on: func(st *state.State, bridge string) {
			contain(st, "", "vmbr0", map[string]string{"net3": "name=eth3,bridge=" + bridge + ",type=veth"})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			lives(t, func(l *configtest.Life) {
				mg := l.Resource(1, bridge, nil)
				applied(l, mg)
				l.Edit(func(st *state.State) { tc.on(st, "vmbr9") })
				l.StartDelete(mg)
				l.Until(mg, xpv2.TypeSynced, xpv2.ReasonReconcileError, "in use", tc.words)
				if l.Options("pve1/vmbr9") == nil {
					l.Error("the bridge is removed")
				}
				l.Edit(func(st *state.State) { tc.on(st, "vmbr0") })
				l.Runner.Until(mg, configtest.Gone, func() bool { return false })
			})
		})
	}
}

// contain adds a container to the node, with a NIC on a bridge, and another one to another node. If pending is not empty, the NIC is on that bridge
// from the next start. Otherwise, others are the pending options of the container.
func contain(st *state.State, pending, bridge string, others map[string]string) {
	for vmid, node := range map[int]string{910: "pve1", 911: "pve2"} {
		g := &state.Guest{VMID: vmid, Node: node, Power: state.Running, Pending: others, Config: map[string]string{
			"hostname": "a", "net0": "name=eth0,bridge=" + bridge + ",hwaddr=BC:24:11:00:09:10,ip=dhcp,type=veth", "rootfs": "local-lvm:vm-910-disk-0,size=8G",
		}}
		if node == "pve2" {
			g.Config["net0"], g.Pending = "name=eth0,bridge=vmbr9,type=veth", nil // A bridge of that name on another node is a different one.
		} else if pending != "" {
			g.Pending = map[string]string{"net0": "name=eth0,bridge=" + pending + ",type=veth"}
		}
		st.Containers[vmid] = g
	}
}

// TestUsedMeanwhile checks that a staged removal is not applied if the bridge has come into use since.
func TestUsedMeanwhile(t *testing.T) {
	lives(t, func(l *configtest.Life) {
		mg := l.Resource(1, bridge, nil)
		applied(l, mg)
		before := reloads(l)
		l.StartDelete(mg)
		for l.Options("pve1/vmbr9") != nil {
			l.Reconcile(mg)
		}
		nic("virtio=BC:24:11:00:00:07,bridge=vmbr9")(l.Simulator)
		l.Until(mg, xpv2.TypeSynced, xpv2.ReasonReconcileError, "it removes vmbr9, which VM 100 uses")
		if c := mg.GetCondition(nodenetwork.TypeStaged); c.Status != corev1.ConditionTrue || !strings.Contains(c.Message, "removal") {
			l.Errorf("the removal is not shown as staged: %v", c)
		}
		if !inForce(l, "vmbr9") || reloads(l) != before {
			l.Fatalf("the bridge is removed under VM 100: %v", l.Writes())
		}
		nic("virtio=BC:24:11:00:00:07,bridge=vmbr0")(l.Simulator)
		l.Runner.Until(mg, configtest.Gone, func() bool { return false })
	})
}

// TestOVSPort checks a card that is a port of an Open vSwitch bridge: it is adopted, and stays a port when its resource is deleted.
func TestOVSPort(t *testing.T) {
	lives(t, func(l *configtest.Life) {
		const spec = "{node: pve1, interface: eno4, type: OVSPort, mtu: 1400, ovs: {bridge: vmbr8, tag: 7}, confirmUnmappedAddresses: true}"
		adopted := map[string]string{xpmeta.AnnotationKeyExternalName: "pve1/eno4"}
		early := l.Resource(3, "{node: pve1, interface: eno9, type: OVSPort, ovs: {bridge: vmbr8}, confirmUnmappedAddresses: true}", nil)
		l.Until(early, xpv2.TypeReady, nodenetwork.ReasonRefused, "a card cannot be created")
		if w := l.Writes(); len(w) > 0 {
			l.Fatalf("a card that is not there is created: %v", w)
		}
		l.Delete(early)
		below := l.Resource(1, "{node: pve1, interface: vmbr8, type: OVSBridge, ovs: {ports: [eno4]}, confirmUnmappedAddresses: true}", nil)
		applied(l, below)
		found := l.Resource(2, spec, nil)
		l.Until(found, xpv2.TypeReady, kind.ReasonAlreadyExists, "external-name")
		l.Delete(found)
		port := l.Resource(4, spec, adopted)
		applied(l, port)
		if o := l.Options("pve1/eno4"); o["type"] != "OVSPort" || o["mtu"] != "1400" || o["ovs_tag"] != "7" || o["ovs_bridge"] != "vmbr8" {
			l.Errorf("the port is not as its spec asks: %v", o)
		}
		if o := l.Options("pve1/vmbr8"); o["ovs_ports"] != "eno4" {
			l.Errorf("the bridge has lost its port: %v", o)
		}
		applied(l, below)
		before := len(l.Writes())
		l.Delete(port)
		if w := l.Writes(); len(w) != before || l.Options("pve1/eno4")["type"] != "OVSPort" {
			l.Errorf("a port stays as it is: %v, %v", w[before:], l.Options("pve1/eno4"))
		}
		l.Delete(below)
		if inForce(l, "vmbr8") || l.Options("pve1/eno4")["type"] != "eth" {
			l.Errorf("the bridge is left, or its card is no plain one again: %v", l.Options("pve1/eno4"))
		}
	})
}

// TestInactive checks an interface that is not started.
func TestInactive(t *testing.T) {
	lives(t, func(l *configtest.Life) {
		mg := l.Resource(1, "{node: pve1, interface: vmbr9, type: bridge, autostart: false, confirmUnmappedAddresses: true}", nil)
		l.Until(mg, nodenetwork.TypeApplied, nodenetwork.ReasonInactive)
		l.Settle(mg)
		if active := observation(l.T, mg).Active; active == nil || *active {
			l.Error("an interface that was not started is shown as active")
		}
	})
}

// TestUnknownNode checks that nothing is staged on a node that does not exist.
func TestUnknownNode(t *testing.T) {
	lives(t, func(l *configtest.Life) {
		mg := l.Resource(1, "{node: pve9, interface: vmbr9, type: bridge, confirmUnmappedAddresses: true}", nil)
		l.Until(mg, xpv2.TypeSynced, xpv2.ReasonReconcileError, `node "pve9" does not exist: delete this resource`)
		l.Must(l.Kube.Delete(l.Context(), mg))
		l.UntilGone(mg)
		if w := l.Writes(); len(w) > 0 {
			l.Errorf("written: %v", w)
		}
	})
}

// TestNodeLeft removes a node from the cluster permanently. The objects of resources there no longer exist, and the deletion of these resources ends
// once there is quorum.
func TestNodeLeft(t *testing.T) {
	lives(t, func(l *configtest.Life) {
		mg := l.Resource(1, strings.Replace(bridge, "pve1", "pve3", 1), nil)
		applied(l, mg)
		l.Edit(func(st *state.State) {
			delete(st.Nodes, "pve3")
			for id, g := range st.Guests {
				if g.Node == "pve3" {
					delete(st.Guests, id)
				}
			}
			st.NoQuorum = true
		})
		l.Must(l.Kube.Delete(l.Context(), mg))
		for range 5 {
			if !l.Reconcile(mg) {
				l.Fatal("want the deletion to wait for quorum")
			}
		}
		l.Edit(func(st *state.State) { st.NoQuorum = false })
		l.UntilGone(mg)
	})
}

// TestDHCP checks that an interface with a dynamic address is not changed.
func TestDHCP(t *testing.T) {
	lives(t, func(l *configtest.Life) {
		l.Edit(func(st *state.State) { st.Nodes["pve1"].Interfaces["eno2"].Options["method"] = "dhcp" })
		adopted := map[string]string{xpmeta.AnnotationKeyExternalName: "pve1/eno2"}
		mg := l.Resource(1, "{node: pve1, interface: eno2, type: eth, mtu: 9000, confirmUnmappedAddresses: true}", adopted)
		l.Until(mg, xpv2.TypeReady, nodenetwork.ReasonRefused, "DHCP")
		if w := l.Writes(); len(w) > 0 {
			l.Errorf("written: %v", w)
		}
	})
}

// exampleOf returns the NodeNetworks of an example, in the scope of the test, as in the manifests.
func exampleOf(l *configtest.Life, file string) []*unstructured.Unstructured {
	l.Helper()
	folder := "cluster"
	if strings.Contains(l.Scope.GroupVersion.Group, ".m.") {
		folder = "namespaced"
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "examples", folder, file))
	l.Must(err)
	var all []*unstructured.Unstructured
	for part := range strings.SplitSeq(string(text), "\n---\n") {
		u := &unstructured.Unstructured{}
		l.Must(yaml.Unmarshal([]byte(part), &u.Object))
		if u.GetKind() == "NodeNetwork" && u.GroupVersionKind().GroupVersion() == l.Scope.GroupVersion {
			all = append(all, u)
		}
	}
	return all
}

// selected creates the NodeNetworks of an example that have a label, as kubectl apply -l does, and confirms that the endpoint of the test, which is
// on loopback, is not an address of a node.
func selected(l *configtest.Life, all []*unstructured.Unstructured, label, value string) []resource.Managed {
	l.Helper()
	var made []resource.Managed
	for number, u := range all {
		if u.GetLabels()[label] != value {
			continue
		}
		l.Must(unstructured.SetNestedField(u.Object, true, "spec", "forProvider", "confirmUnmappedAddresses"))
		spec, err := yaml.Marshal(u.Object["spec"].(map[string]any)["forProvider"])
		l.Must(err)
		mg := configtest.NewResource(l.T, l.Scope, "NodeNetwork", u.GetName(), number, string(spec), nil)
		mg.SetLabels(u.GetLabels())
		l.Create(mg)
		made = append(made, mg)
	}
	return made
}

// together reconciles all resources until each is in force.
func together(l *configtest.Life, all []resource.Managed) {
	l.Helper()
	for range 3 {
		for _, mg := range all {
			l.Reconcile(mg)
		}
	}
	for _, mg := range all {
		applied(l, mg)
	}
}

// TestThreeNodes applies the examples of sets for three nodes as the documentation describes: the manifests of one node, by their label, and those of
// the next one once these are applied. A failed reload on the second node is repeated there. Finally, all of it is removed at the same time.
func TestThreeNodes(t *testing.T) {
	for file, interfaces := range map[string][]string{
		"machine-network-ref.yaml": {"vmbr20"}, "node-network-set.yaml": {"bond0", "vmbr2", "vmbr2.20"},
	} {
		t.Run(file, func(t *testing.T) {
			lives(t, func(l *configtest.Life) {
				example := exampleOf(l, file)
				var all []resource.Managed
				for _, node := range []string{"pve1", "pve2", "pve3"} {
					set := selected(l, example, "node", node)
					if len(set) != len(interfaces) {
						l.Fatalf("the example has %d interfaces of node %s, want %v", len(set), node, interfaces)
					}
					applyNode(l, node, set)
					all = append(all, set...)
				}
				removeAll(l, all)
				l.Edit(func(st *state.State) {
					for node, n := range st.Nodes {
						for _, name := range interfaces {
							if n.Interfaces[name] != nil {
								l.Errorf("%s of node %s is left", name, node)
							}
						}
					}
				})
			})
		})
	}
}

// applyNode applies the set of one node with one reload, and changes no other node.
func applyNode(l *configtest.Life, node string, set []resource.Managed) {
	l.Helper()
	before := len(l.Writes())
	if node == "pve2" {
		l.Inject(simulator.Fault{Task: "srvreload", TaskExit: "command 'ifreload -a' failed: exit code 1", Count: 1})
	}
	together(l, set)
	want := map[string]int{"pve1": 1, "pve2": 2, "pve3": 1}[node]
	if n := count(l.Writes()[before:], "PUT /nodes/"+node+"/network"); n != want {
		l.Errorf("node %s: %d reloads, want %d: %v", node, n, want, l.Writes()[before:])
	}
	for _, w := range l.Writes()[before:] {
		if !strings.Contains(w, "/nodes/"+node+"/network") {
			l.Errorf("another node is written to while it is the turn of %s: %s", node, w)
		}
	}
}

// removeAll deletes resources at the same time, in any order of dependency, and reconciles them until none exists.
func removeAll(l *configtest.Life, all []resource.Managed) {
	l.Helper()
	for _, mg := range all {
		l.StartDelete(mg)
	}
	last := all[0]
	l.Runner.Until(last, configtest.Gone, func() bool {
		for _, mg := range all[1:] {
			l.Reconcile(mg)
		}
		return false
	})
	for _, mg := range all[1:] {
		l.Runner.Until(mg, configtest.Gone, func() bool { return false })
	}
}

// count returns how many elements are equal to one.
func count(all []string, one string) int {
	return len(slices.DeleteFunc(slices.Clone(all), func(s string) bool { return s != one }))
}
