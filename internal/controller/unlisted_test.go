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
	"sync/atomic"
	"testing"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/simulator"
)

// TestUnlistedTask shuts down a VM with a token to which PVE lists no task. The task takes longer than a list may omit a task that has just begun,
// and the provider is restarted meanwhile.
func TestUnlistedTask(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t, scopes()["Cluster"], "unlisted", map[string]string{"qmshutdown": "5s"}, "9.2")
	privileges := proxmox.Needed(updated()["9.2"], proxmox.FeatureMachines)
	delete(privileges, "/")
	w.pve.Edit(func(s *simulator.State) { grantOnly(s, privileges) })
	var ahead atomic.Int64
	w.options = func(mgr ctrl.Manager) kind.Options {
		o := kindOptions(mgr)
		o.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
		return o
	}
	w.begin()
	w.create(ubuntu())
	w.ready()
	w.change(func(p *v1alpha1.MachineParameters) { p.PowerState = new(v1alpha1.PowerStateStopped) })
	w.eventually("the VM is shut down", func() bool { return w.tasks("qmshutdown") == 1 })
	ahead.Store(int64(3 * time.Minute))
	seen := len(w.pve.Requests())
	w.eventually("the provider goes on looking", func() bool { return len(w.pve.Requests()) > seen+10 })
	w.stop()
	w.start()
	w.eventually("the VM is off", func() bool { return w.vm().Power == simulator.Stopped })
	w.eventually("the end of the task is known", func() bool {
		return w.exists() && w.m.Observation().PowerState == "stopped"
	})
	if n := w.tasks("qmshutdown") + w.tasks("qmstop"); n != 1 {
		t.Errorf("want one task, got %d:\n%s", n, w)
	}
	w.finish()
}
