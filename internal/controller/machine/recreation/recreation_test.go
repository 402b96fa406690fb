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

package recreation

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	xpevent "github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/act"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/source"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/vmcache"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

const (
	uuid    = "11111111-2222-4333-8444-555555555555"
	another = "99999999-2222-4333-8444-555555555555"
)

// pve fakes what a Recreator queries.
type pve struct {
	guests  []proxmox.Guest
	cluster proxmox.ClusterStatus
	// clusterErr is the error of its status.
	clusterErr error
	// config of VM 100, nil if its node knows none, or the error with which it answers.
	config  qemu.Config
	err     error
	off     bool
	running bool
	hidden  bool
	others  []object.Machine
	deleted []proxmox.Ref
}

func (p *pve) Guests(context.Context, time.Duration) ([]proxmox.Guest, error) { return p.guests, nil }

func (p *pve) ClusterStatus(context.Context, time.Duration) (proxmox.ClusterStatus, error) {
	return p.cluster, p.clusterErr
}

func (p *pve) Follow(proxmox.UPID, func(proxmox.Task)) {}

func (p *pve) NodeUnreachable(context.Context, string) (bool, error) { return p.off, nil }

func (p *pve) GetConfig(_ context.Context, ref proxmox.Ref) (*vmstate.VM, error) {
	if p.config == nil || p.err != nil {
		return nil, p.err
	}
	return &vmstate.VM{Ref: ref, State: qemu.State{Config: p.config, Active: p.config}}, nil
}

func (p *pve) Status(context.Context, proxmox.Ref) (proxmox.Status, error) {
	if p.running {
		return proxmox.Status{Status: "running", QMPStatus: "running"}, nil
	}
	return proxmox.Status{Status: "stopped", QMPStatus: "stopped"}, nil
}

func (p *pve) Delete(_ context.Context, ref proxmox.Ref, _ proxmox.DeleteOptions) (proxmox.UPID, error) {
	p.deleted = append(p.deleted, ref)
	return "UPID:x", nil
}

func (p *pve) OtherClaimants(context.Context, object.Machine, string) ([]object.Machine, error) {
	return p.others, nil
}

// off is the error that the cache of VMs returns for a VM on a node that is off.
type off struct{}

func (off) Error() string { return "node pve2 is off" }

func (off) As(target any) bool {
	_, ok := target.(*vmcache.OfflineError)
	return ok
}

// lostCreation returns a Machine whose creation on pve2 was lost, and the resulting state of the cluster.
func lostCreation() (*namespaced.Machine, *pve) {
	m := &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web", UID: "u", ResourceVersion: "1", Annotations: map[string]string{
		object.AnnotationUUID: uuid, object.AnnotationAllocated: "100", meta.AnnotationKeyExternalName: "100",
		meta.AnnotationKeyExternalCreatePending: time.Now().Format(time.RFC3339),
	}}}
	m.Spec.ForProvider.Recreation = &v1alpha1.MachineRecreation{LostNode: "pve2", Token: "1"}
	return m, &pve{
		guests:  []proxmox.Guest{{VMID: 100, Node: "pve2", Type: "qemu", Lock: "create"}},
		cluster: proxmox.ClusterStatus{Name: "c", Quorate: true},
	}
}

func recreator(t *testing.T, m *namespaced.Machine, p *pve) Recreator {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := namespaced.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return Recreator{
		Kube: fake.NewClientBuilder().WithScheme(scheme).WithObjects(m.DeepCopy()).Build(), Inventory: p, Reader: p, Client: p, Machines: p,
		MayReport: func(context.Context, object.Machine, act.Remains) bool { return !p.hidden },
		Record:    xpevent.NewNopRecorder(), Now: time.Now(), Forget: func(object.Machine) {}, Wake: func() {},
		Save: func(_ context.Context, r *act.Record) error {
			meta.AddAnnotations(m, map[string]string{object.AnnotationRecreation: r.String()})
			return nil
		},
		Check: func(context.Context, object.Machine, qemu.Identity) (*source.Source, error) { return nil, nil },
		Allocate: func(context.Context) (map[string]string, error) {
			return map[string]string{meta.AnnotationKeyExternalName: "101"}, nil
		},
		Busy:      func(int) (bool, error) { return false, nil },
		Removable: func(context.Context, string, int) error { return nil },
	}
}

func TestRecreate(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(*namespaced.Machine, *pve, *Recreator)
		state  v1alpha1.MachineActState
		words  string
	}{
		"Lost": {reason: "A creation that was lost with the node is created again.", state: v1alpha1.ActSucceeded},
		"NotListed": {
			reason: "A VM that the list lacks for a moment proves nothing.", state: v1alpha1.ActPending, words: "not listed",
			change: func(_ *namespaced.Machine, p *pve, _ *Recreator) { p.guests = nil },
		},
		"NoQuorum": {
			reason: "What is cut off knows what it knew last.", state: v1alpha1.ActPending, words: "quorum",
			change: func(_ *namespaced.Machine, p *pve, _ *Recreator) { p.cluster.Quorate = false },
		},
		"QuorumHidden": {
			reason: "Who may not see the quorum cannot tell.", state: v1alpha1.ActPending, words: "Sys.Audit on /",
			change: func(_ *namespaced.Machine, p *pve, _ *Recreator) {
				p.clusterErr = &proxmox.Error{Status: http.StatusForbidden}
			},
		},
		"Elsewhere": {
			reason: "The VM is on a node that is not the one of the wish.", state: v1alpha1.ActRefused, words: "is not on node pve2",
			change: func(_ *namespaced.Machine, p *pve, _ *Recreator) { p.guests[0].Node = "pve3" },
		},
		"Complete": {
			reason: "A VM without the lock of its creation is complete.", state: v1alpha1.ActRefused, words: "comes back with its node",
			change: func(_ *namespaced.Machine, p *pve, _ *Recreator) { p.guests[0].Lock = "" },
		},
		"Backup": {
			reason: "Another lock is none of a creation.", state: v1alpha1.ActRefused, words: "comes back with its node",
			change: func(_ *namespaced.Machine, p *pve, _ *Recreator) { p.guests[0].Lock = "backup" },
		},
		"Ran": {
			reason: "A VM that has run was complete once.", state: v1alpha1.ActRefused, words: "complete once",
			change: func(m *namespaced.Machine, _ *pve, _ *Recreator) {
				meta.AddAnnotations(m, map[string]string{object.AnnotationRunningSince: "x"})
			},
		},
		"Named": {
			reason: "A VMID that the user named is never exchanged.", state: v1alpha1.ActRefused, words: "chosen by somebody else",
			change: func(m *namespaced.Machine, _ *pve, _ *Recreator) { delete(m.Annotations, object.AnnotationAllocated) },
		},
		"Used": {
			reason: "A token counts once.", state: v1alpha1.ActRefused, words: "asked for before",
			change: func(m *namespaced.Machine, _ *pve, _ *Recreator) {
				r := act.New("1", time.Now())
				r.Enter(v1alpha1.ActSucceeded, "", time.Now())
				meta.AddAnnotations(m, map[string]string{object.AnnotationRecreation: r.Next("2", time.Now()).String()})
			},
		},
		"Impossible": {
			reason: "Nothing is given up while the other VM cannot be made.", state: v1alpha1.ActPending, words: "no storage",
			change: func(_ *namespaced.Machine, _ *pve, l *Recreator) {
				l.Check = func(context.Context, object.Machine, qemu.Identity) (*source.Source, error) {
					return nil, errors.New("no storage")
				}
			},
		},
		"SourceLost": {
			reason: "The VM that it is cloned from is lost with the same node.", state: v1alpha1.ActPending, words: "is on node pve2",
			change: func(_ *namespaced.Machine, _ *pve, l *Recreator) {
				l.Check = func(context.Context, object.Machine, qemu.Identity) (*source.Source, error) {
					return &source.Source{Guest: proxmox.Guest{Node: "pve2", VMID: 9000}}, nil
				}
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m, p := lostCreation()
			l := recreator(t, m, p)
			if tc.change != nil {
				tc.change(m, p, &l)
				l.Kube = recreator(t, m, p).Kube
			}
			_, err := l.Observe(t.Context(), m, qemu.Identity{VMID: 100, UUID: uuid}, off{})
			o := m.Observation().Recreation
			if o == nil || o.State != tc.state || !strings.Contains(o.Message, tc.words) {
				t.Fatalf("\n%s\nwant %s with %q, got %+v (%v)", tc.reason, tc.state, tc.words, o, err)
			}
			want := map[bool]string{false: "100", true: "101"}[tc.state == v1alpha1.ActSucceeded]
			if got := meta.GetExternalName(m); got != want || (want == "101") != (err == nil) {
				t.Errorf("\n%s\nwant VM %s, got %s, %v", tc.reason, want, got, err)
			}
			if len(p.deleted) > 0 {
				t.Errorf("\n%s\nwant nothing removed, got %v", tc.reason, p.deleted)
			}
		})
	}
}

// TestNotAsked checks that nothing happens without a request, or if the VM cannot be read for another reason.
func TestNotAsked(t *testing.T) {
	for name, tc := range map[string]struct {
		change     func(*namespaced.Machine)
		unreadable error
	}{
		"NoWish": {change: func(m *namespaced.Machine) { m.Spec.ForProvider.Recreation = nil }, unreadable: off{}},
		"Deleted": {
			change:     func(m *namespaced.Machine) { m.DeletionTimestamp = new(metav1.Now()); m.Finalizers = []string{"x"} },
			unreadable: off{},
		},
		"Paused": {
			change:     func(m *namespaced.Machine) { meta.AddAnnotations(m, map[string]string{"crossplane.io/paused": "true"}) },
			unreadable: errors.New("boom"),
		},
		"NotRead": {change: func(*namespaced.Machine) {}, unreadable: errors.New("boom")},
		"Observed": {change: func(m *namespaced.Machine) {
			m.SetManagementPolicies(xpv2.ManagementPolicies{xpv2.ManagementActionObserve})
		}, unreadable: off{}},
	} {
		t.Run(name, func(t *testing.T) {
			m, p := lostCreation()
			tc.change(m)
			_, err := recreator(t, m, p).Observe(t.Context(), m, qemu.Identity{VMID: 100, UUID: uuid}, tc.unreadable)
			if err == nil || meta.GetExternalName(m) != "100" || m.Observation().Recreation != nil {
				t.Errorf("want nothing but the error, got %v and %+v", err, m.Observation().Recreation)
			}
		})
	}
}

func TestRemains(t *testing.T) {
	ours := func() qemu.Config { return qemu.Config{"smbios1": "uuid=" + uuid} }
	with := func(key, value string) qemu.Config {
		c := ours()
		c[key] = value
		return c
	}
	listed := []proxmox.Guest{{VMID: 100, Node: "pve2", Type: "qemu"}}
	consent := func(m *namespaced.Machine) { m.Spec.ForProvider.Recreation.RemoveRemains = new(true) }
	cases := map[string]struct {
		reason string
		pve    *pve
		change func(*namespaced.Machine)
		// says is part of the message of the condition, gone whether the record no longer has it, removed whether it is removed.
		says          string
		gone, removed bool
	}{
		"Hidden": {
			reason: "Nothing is told of what may be somebody else's.",
			pve:    &pve{guests: listed, config: with("lock", "create"), hidden: true}, change: consent,
		},
		"Away": {reason: "While its node is off nothing is known of it.", pve: &pve{guests: listed, off: true}},
		"NotListed": {
			reason: "A list that lacks it for a moment does not make it gone.",
			pve:    &pve{config: ours()}, says: "set recreation.removeRemains",
		},
		"NotShown": {reason: "A list that may not be read does not make a VM gone.", pve: &pve{err: &proxmox.Error{Status: http.StatusForbidden}}},
		"Gone":     {reason: "The node of the VM says that there is none, as the list does.", pve: &pve{}, gone: true},
		"Listed":   {reason: "The node alone does not say so.", pve: &pve{guests: listed}},
		"Container": {
			reason: "A container has its VMID.",
			pve:    &pve{guests: []proxmox.Guest{{VMID: 100, Node: "pve2", Type: "lxc"}}}, gone: true,
		},
		"Foreign": {
			reason: "Somebody else's VM has its VMID.",
			pve:    &pve{guests: listed, config: qemu.Config{"smbios1": "uuid=" + another}}, gone: true, change: consent,
		},
		"Unproven": {
			reason: "A half clone shows no UUID.",
			pve:    &pve{guests: listed, config: qemu.Config{"lock": "clone"}}, says: "shows no UUID", change: consent,
		},
		"NoConsent": {
			reason: "What is left of a VM stays without consent.",
			pve:    &pve{guests: listed, config: ours()}, says: "set recreation.removeRemains",
		},
		"Locked": {
			reason: "A lock keeps it.",
			pve:    &pve{guests: listed, config: with("lock", "create")}, says: "qm unlock 100", change: consent,
		},
		"Protected": {
			reason: "Protection keeps what is left of a VM.",
			pve:    &pve{guests: listed, config: with("protection", "1")}, says: "protected", change: consent,
		},
		"Running": {
			reason: "A VM that runs is never stopped.",
			pve:    &pve{guests: listed, config: ours(), running: true}, says: "it runs", change: consent,
		},
		"Adopted": {
			reason: "Another Machine has adopted it.",
			pve:    &pve{guests: listed, config: ours(), others: []object.Machine{nil}}, gone: true, change: consent,
		},
		"Removed": {
			reason: "What is left is removed with consent.",
			pve:    &pve{guests: listed, config: ours()}, says: "it is to be removed", removed: true, change: consent,
		},
		"MovedThere": {
			reason: "What is left of a VM is removed where it is.",
			pve:    &pve{guests: []proxmox.Guest{{VMID: 100, Node: "pve3", Type: "qemu"}}, config: ours()}, says: "on node pve3", removed: true, change: consent,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m, _ := lostCreation()
			if tc.change != nil {
				tc.change(m)
			}
			r := act.New("1", time.Now())
			r.Remains = []act.Remains{{VMID: 100, UUID: uuid, Node: "pve2"}}
			r.Enter(v1alpha1.ActSucceeded, "", time.Now())
			meta.AddAnnotations(m, map[string]string{object.AnnotationRecreation: r.String()})
			removals, err := recreator(t, m, tc.pve).Removals(t.Context(), m)
			if err != nil {
				t.Fatal(err)
			}
			for _, each := range removals {
				if _, err := each.Call(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if got := m.GetCondition("RemainsFound").Message; (got == "") != (tc.says == "") || !strings.Contains(got, tc.says) {
				t.Errorf("\n%s\nwant %q told, got %q", tc.reason, tc.says, got)
			}
			left, err := act.Recorded(Kind{}, m)
			if err != nil || (len(left.Remains) == 0) != tc.gone {
				t.Errorf("\n%s\nwant it gone: %t, got %+v, %v", tc.reason, tc.gone, left, err)
			}
			if removed := len(tc.pve.deleted) == 1; removed != tc.removed || removed && tc.pve.deleted[0].Node != tc.pve.guests[0].Node {
				t.Errorf("\n%s\nwant it removed: %t, got %v", tc.reason, tc.removed, tc.pve.deleted)
			}
		})
	}
}
