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
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// A policy of either scope.
type policy interface {
	resource.Managed

	Parameters() *v1alpha1.SnapshotPolicyParameters
	Observation() *v1alpha1.SnapshotPolicyObservation
}

// policyIn returns a policy of a scope, for the Machines of the test.
func policyIn(scopeName, name string) policy {
	var p policy
	if scopeName == "Cluster" {
		p = &cluster.SnapshotPolicy{}
	} else {
		p = &namespaced.SnapshotPolicy{}
		p.SetNamespace(namespace)
	}
	p.SetName("nightly-" + name)
	p.SetLabels(map[string]string{label: name})
	*p.Parameters() = v1alpha1.SnapshotPolicyParameters{
		Schedule: "0 3 * * *", MachineSelector: metav1.LabelSelector{MatchLabels: map[string]string{label: name}},
		SnapshotTemplate: &v1alpha1.SnapshotPolicyTemplate{Description: new("Taken every night")},
		Retention:        &v1alpha1.SnapshotRetention{Last: new(int32(2))},
	}
	return p
}

// TestSnapshotPolicy checks a policy that takes snapshots of a Machine for some nights, in which the provider restarts and the clock is set back.
func TestSnapshotPolicy(t *testing.T) {
	t.Parallel()
	eachScope(t, func(t *testing.T, scopeName string) {
		t.Helper()
		tasks := map[string]string{"qmsnapshot": "200ms", "qmdelsnapshot": "200ms"}
		w := emptyWorld(t, scopes()[scopeName], "policy-"+strings.ToLower(scopeName), tasks, versionOf(scopeName))
		days := &atomic.Int64{}
		w.options = func(mgr ctrl.Manager) kind.Options {
			o := kindOptions(mgr)
			o.Now = func() time.Time { return time.Now().Add(time.Duration(days.Load()) * 24 * time.Hour) }
			o.Shard = kind.Shard{Selector: labels.SelectorFromSet(labels.Set{label: w.name})}
			return o
		}
		w.begin()
		w.grant("/", "PVEVMAdmin")
		w.create(ubuntu())
		w.ready()
		nights(w, policyIn(scopeName, w.name), days)
	})
}

func nights(w *world, p policy, days *atomic.Int64) {
	w.Helper()
	p.Parameters().Schedule = fmt.Sprintf("0 %d * * *", (time.Now().UTC().Hour()+12)%24) // Not while the test runs.
	if err := w.kube.Create(w.Context(), p); err != nil {
		w.Fatal(err)
	}
	w.untilPolicy(p, "nothing is due", func() bool { return p.Observation().NextScheduleTime != nil })
	var all []string
	for night := range int64(3) {
		days.Store(night + 1)
		if night == 1 {
			w.stop()
			w.start()
		}
		w.untilPolicy(p, "there is another snapshot", func() bool {
			o := p.Observation()
			return o.LastScheduleTime != nil && o.ActiveRun == nil && len(o.Active) == 0 && len(o.MachineStatuses) == 1 &&
				!slices.Contains(all, o.MachineStatuses[0].Newest) && o.Snapshots == int32(min(night+1, 2))
		})
		all = append(all, p.Observation().MachineStatuses[0].Newest)
	}
	names := w.snapshotNames()
	if len(names) != 2 || !strings.HasPrefix(names[0], "nightly-policy-") {
		w.Errorf("want the last two of three snapshots, got %q", names)
	}
	days.Store(1)
	w.untilPolicy(p, "it is told that the clock is behind", func() bool { return p.GetCondition(xpv2.TypeReady).Reason == "ClockBehind" })
	days.Store(3)
	w.untilPolicy(p, "all is well again", func() bool { return w.isReady(p) && w.isUpToDate(p) })
	if now := w.snapshotNames(); !slices.Equal(now, names) {
		w.Errorf("want %q as before the clock was set, got %q", names, now)
	}
	if n := w.taken(); n != 3 {
		w.Errorf("want a snapshot on each of three nights, got %d", n)
	}
	if err := w.kube.Delete(w.Context(), p); err != nil {
		w.Fatal(err)
	}
	w.eventually("the policy is gone", func() bool {
		return kerrors.IsNotFound(w.kube.Get(w.Context(), client.ObjectKeyFromObject(p), p))
	})
	if names := w.snapshotNames(); len(names) != 0 {
		w.Errorf("want no snapshots without the policy, got %q", names)
	}
}

// untilPolicy waits until holds returns true for the policy.
func (w *world) untilPolicy(p policy, what string, holds func() bool) {
	w.Helper()
	w.eventually(what, func() bool {
		if err := w.kube.Get(w.Context(), client.ObjectKeyFromObject(p), p); err != nil {
			w.Fatal(err)
		}
		return holds()
	})
}

func (w *world) isReady(mg resource.Managed) bool {
	return mg.GetCondition(xpv2.TypeReady).Status == corev1.ConditionTrue
}

func (w *world) isUpToDate(mg resource.Managed) bool {
	return mg.GetCondition(kind.TypeUpToDate).Status == corev1.ConditionTrue
}

// snapshotNames returns the names of the VM's snapshots in PVE, oldest first.
func (w *world) snapshotNames() []string {
	w.Helper()
	o := w.m.Observation()
	tree, err := w.admin.SnapshotTree(w.Context(), proxmox.Ref{Node: o.Node, VMID: int(*o.VMID)})
	if err != nil {
		w.Fatal(err)
	}
	var names []string
	for _, s := range tree.Snapshots {
		names = append(names, s.Name)
	}
	slices.Sort(names)
	return names
}

// taken returns how many snapshots were requested from PVE.
func (w *world) taken() int {
	w.Helper()
	n := 0
	for _, r := range w.writes() {
		if r.Method == http.MethodPost && strings.HasSuffix(r.Path, "/snapshot") {
			n++
		}
	}
	return n
}
