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
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/kind/target"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/act"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/proxmox/proxmoxtest"
	"github.com/vitistack/provider-proxmox/internal/tasktrack"
)

// neverMade removes the record that a call to create the VM was made.
func neverMade(m *namespaced.Machine) { delete(m.Annotations, meta.AnnotationKeyExternalCreatePending) }

// failsToMake makes the call that creates the VM fail, after which the Machine is deleted.
func (b *bench) failsToMake(t *testing.T, err error) {
	t.Helper()
	b.errs["Create"] = err
	if s := b.reconcile(t.Context()); s.err == nil || len(b.writes) != 1 {
		t.Fatalf("want a call that fails, got %+v and %q", s, b.writes)
	}
	delete(b.errs, "Create")
	meta.SetExternalCreateFailed(b.m, b.clock.now())
	deleted(b.m)
	b.m.Generation++
}

// gone reports whether the Machine no longer exists after a reconcile.
func (b *bench) gone(t *testing.T) bool {
	t.Helper()
	s := b.reconcile(t.Context())
	if s.err != nil && !kind.IsWait(s.err) {
		t.Fatal(s.err)
	}
	return !s.exists
}

// TestDeleteLostCreation deletes a Machine right after the answer to its creation was lost. A VM that Proxmox VE creates anyway is removed.
func TestDeleteLostCreation(t *testing.T) {
	b := newBench(t, neverMade)
	b.failsToMake(t, proxmoxtest.LostAnswer(t))
	b.clock.wait(5 * time.Second)
	if b.gone(t) {
		t.Fatal("the VM may still be made, and nobody would remove it")
	}
	ready := b.m.GetCondition(xpv2.TypeReady)
	if ready.Reason != xpv2.ReasonDeleting || !strings.Contains(ready.Message, "the answer to the call that creates VM 10000 was lost") {
		t.Errorf("what is waited for is told, got %s: %s", ready.Reason, ready.Message)
	}
	b.vms[10000] = ourVM("stopped")
	b.clock.wait(5 * time.Second)
	if b.gone(t) || !slices.ContainsFunc(b.writes, func(w string) bool { return strings.HasPrefix(w, "Delete ") }) {
		t.Fatalf("the VM is removed, got %q", b.writes)
	}
	delete(b.vms, 10000)
	b.end(t, upid("pve1", "qmdestroy", 10000), "OK")
	if !b.gone(t) {
		t.Error("what was made is gone, and nothing else is made")
	}
}

// TestDeleteNotMade checks that a Machine without a VM is deleted once no VM can be created any more, and at once if no creation was begun.
func TestDeleteNotMade(t *testing.T) {
	restarted := func(b *bench) { b.tasks = tasktrack.New(b.clock.now) }
	cases := map[string]struct {
		reason string
		err    error
		then   func(*bench)
		waits  bool
	}{
		"Lost":    {reason: "The call may still be carried out.", err: proxmoxtest.LostAnswer(t), waits: true},
		"Refused": {reason: "Proxmox VE has refused the call.", err: refused(http.StatusBadRequest, "no such thing")},
		"Failed":  {reason: "Proxmox VE has answered, and nothing was begun.", err: refused(http.StatusInternalServerError, "got timeout")},
		"NotSent": {reason: "Nobody was asked to make it.", err: outOfTurn(t)},
		"Restart": {reason: "After a restart nobody knows why it has failed.", err: proxmoxtest.LostAnswer(t), then: restarted, waits: true},
		"Unclear": {reason: "A failure with an answer looks the same after a restart.", err: refused(http.StatusBadRequest, "no"), then: restarted, waits: true},
		"Killed": {
			reason: "A provider that was killed has seen no answer.", err: proxmoxtest.LostAnswer(t), waits: true,
			then: func(b *bench) { restarted(b); delete(b.m.Annotations, meta.AnnotationKeyExternalCreateFailed) },
		},
		"LostBefore": {
			reason: "A call before a restart may still be carried out, whatever the one after it has come to.", err: proxmoxtest.LostAnswer(t), waits: true,
			then: func(b *bench) {
				restarted(b)
				b.m.DeletionTimestamp = nil
				b.errs["Create"] = refused(http.StatusBadRequest, "no")
				b.reconcile(t.Context())
				deleted(b.m)
			},
		},
		"Succeeded": {
			reason: "The task of the call was known, and is not there any more.", err: proxmoxtest.LostAnswer(t),
			then: func(b *bench) { restarted(b); meta.SetExternalCreateSucceeded(b.m, b.clock.now().Add(time.Second)) },
		},
		"Seen": {
			reason: "The VM was seen, and is gone.", err: proxmoxtest.LostAnswer(t),
			then: func(b *bench) { restarted(b); b.m.Observation().UUID = ourUUID },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, neverMade)
			b.failsToMake(t, tc.err)
			if tc.then != nil {
				tc.then(b)
			}
			b.clock.wait(5 * time.Second)
			if gone := b.gone(t); gone == tc.waits {
				t.Fatalf("%s Want it to wait: %t", tc.reason, tc.waits)
			}
			b.clock.wait(target.Arrival*time.Second - 6*time.Second)
			if tc.waits && b.gone(t) {
				t.Errorf("%s Want it to wait for a minute", tc.reason)
			}
			b.clock.wait(time.Second)
			if !b.gone(t) {
				t.Errorf("%s Want it gone after a minute", tc.reason)
			}
			if n := len(b.writes); n > 2 {
				t.Errorf("%s Want no other call, got %q", tc.reason, b.writes)
			}
		})
	}
}

// TestDeleteLostRestore deletes a Machine right after the answer to its restore in place was lost, which would create the VM again.
func TestDeleteLostRestore(t *testing.T) {
	cases := map[string]struct {
		reason string
		call   act.Call
		waits  bool
	}{
		"Lost":     {reason: "The call may still be carried out.", call: act.Call{Lost: 30}, waits: true},
		"Answered": {reason: "The task of the call is known.", call: act.Call{Task: upid("pve1", "qmrestore", 10000)}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, neverMade)
			begun := b.clock.now().Unix()
			r := act.New("1", b.clock.now())
			r.Node, r.Call = "pve1", tc.call
			r.Enter(v1alpha1.ActRestoring, "", b.clock.now())
			if r.Call.Begun = begun; r.Call.Lost != 0 {
				r.Call.Lost += begun
			}
			meta.AddAnnotations(b.m, map[string]string{object.AnnotationRestoreInPlace: r.String()})
			deleted(b.m)
			b.clock.wait(89 * time.Second)
			if gone := b.gone(t); gone == tc.waits {
				t.Fatalf("%s Want it to wait: %t", tc.reason, tc.waits)
			}
			b.clock.wait(time.Second)
			if !b.gone(t) {
				t.Errorf("%s Want it gone after a minute", tc.reason)
			}
		})
	}
}

// TestDeleteNeverMade checks that a Machine for which no call was made is deleted at once.
func TestDeleteNeverMade(t *testing.T) {
	b := newBench(t, neverMade)
	deleted(b.m)
	if !b.gone(t) || len(b.writes) > 0 {
		t.Errorf("want it gone without a call, got %q", b.writes)
	}
}
