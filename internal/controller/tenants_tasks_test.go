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

package controller_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/simulator"
)

// hiddenExit is the exit status of the tasks of others.
const hiddenExit = "what-became-of-it"

// theirTask creates a task of the VM of team-b, of which team-a knows the name, and that has failed.
func (w *tenantWorld) theirTask(taskType string) string {
	w.Helper()
	at := time.Unix(0x65000000, 0)
	t := &simulator.Task{
		UPID: fmt.Sprintf("UPID:pve1:00000001:00000001:65000000:%s:%d:root@pam:", taskType, victim), Node: "pve1", Type: taskType, ID: fmt.Sprint(victim),
		User: "root@pam", Started: at, Ended: at.Add(time.Second), Exit: hiddenExit, Gone: make(chan struct{}),
	}
	close(t.Gone)
	w.pve.Edit(func(s *simulator.State) { s.Tasks = append(s.Tasks, t) })
	return t.UPID
}

// tellsNothing checks that neither a resource nor its events contain the exit status of a task of others.
func (w *tenantWorld) tellsNothing(mg resource.Managed) {
	w.Helper()
	if text, err := yaml.Marshal(mg); err != nil || strings.Contains(string(text), hiddenExit) {
		w.Errorf("it tells of a task of others: %v\n%s", err, text)
	}
	events := &corev1.EventList{}
	if err := w.kube.List(w.Context(), events, client.MatchingFields{"involvedObject.name": mg.GetName()}); err != nil {
		w.Fatal(err)
	}
	for _, e := range events.Items {
		if strings.Contains(e.Message, hiddenExit) {
			w.Errorf("the event %s tells of a task of others: %s", e.Reason, e.Message)
		}
	}
}

// TestTenantsTasks makes team-a name tasks of the VM of team-b where the provider records those that it has started for team-a, and checks that their
// exit status is not revealed.
func TestTenantsTasks(t *testing.T) {
	t.Parallel()
	rarePairings(t, func(t *testing.T, p pairing) {
		t.Helper()
		w := newPairedWorld(t, p, "tasks")
		w.m = w.of("a", "own", linux())
		w.make(w.m)
		w.ready()
		w.forgesActs()
		own := fmt.Sprintf(`"uuid":%q,"vmid":%d,"node":%q,"begun":1700000000`, w.m.Observation().UUID, w.vmid(), w.m.Observation().Node)
		taking := w.takes("taking")
		meta.AddAnnotations(taking, map[string]string{kind.AnnotationSnapshot: fmt.Sprintf(`{%s,"name":"taking","task":%q}`, own, w.theirTask("qmsnapshot"))})
		taking.Parameters().Name = new("taking")
		w.make(taking)
		w.well(taking)
		w.tellsNothing(taking)
		text := taking.GetAnnotations()[kind.AnnotationSnapshot]
		removal := fmt.Sprintf(`{"removal":%q,`, w.theirTask("qmdelsnapshot"))
		w.edit(taking, func() {
			meta.AddAnnotations(taking, map[string]string{kind.AnnotationSnapshot: removal + strings.TrimPrefix(text, "{")})
			meta.AddFinalizer(taking, managed.FinalizerName)
		})
		w.remove(taking)
		w.tellsNothing(taking)
	})
}

// forgesActs makes team-a request acts, whose annotations name tasks of others.
func (w *tenantWorld) forgesActs() {
	w.Helper()
	node := w.m.Observation().Node
	record := func(state v1alpha1.MachineActState, taskType string) string {
		return fmt.Sprintf(`{"token":"1","state":%q,"at":1700000000,"node":%q,"target":"before","call":{"begun":1700000000,"task":%q}}`,
			state, node, w.theirTask(taskType))
	}
	w.rewrite(func() {
		w.m.Parameters().Rollback = &v1alpha1.MachineRollback{Snapshot: "before", Token: "1"}
		meta.AddAnnotations(w.m, map[string]string{object.AnnotationRollback: record(v1alpha1.ActRollingBack, "qmrollback")})
	})
	w.becomes(w.m, "has an act of which nothing is known", func() bool {
		o := w.m.Observation().Rollback
		return o != nil && o.State.Final()
	})
	w.tellsNothing(w.m)
	w.rewrite(func() {
		w.m.Parameters().Rollback = nil
		w.m.Parameters().PowerAction = &v1alpha1.MachinePowerAction{Action: "Reset", Token: "1"}
		meta.AddAnnotations(w.m, map[string]string{object.AnnotationPowerAction: `{"token":"1","state":"Succeeded","at":1700000000}`})
	})
	task := w.theirTask("qmreset")
	w.forgeStatus(w.m, func() {
		w.m.Observation().PowerAction = &v1alpha1.MachinePowerActionObservation{Action: "Reset", Token: "1", UPID: task}
	})
	w.edit(w.m, func() { meta.AddAnnotations(w.m, map[string]string{meta.AnnotationKeyReconcileRequestedAt: "1"}) })
	w.becomes(w.m, "has an action of which nothing is known", func() bool {
		o := w.m.Observation().PowerAction
		return o != nil && o.Result != ""
	})
	w.tellsNothing(w.m)
	w.rewrite(func() { w.m.Parameters().PowerAction = nil })
	w.ready()
}
