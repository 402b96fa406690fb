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

package snapshot_test

import (
	"testing"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/vitistack/provider-proxmox/internal/controller/config/configtest"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/kind/quotas"
	"github.com/vitistack/provider-proxmox/internal/controller/snapshot"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

const (
	vmid = configtest.VMID
	uuid = configtest.UUID
	gone = configtest.Gone
)

var ref = configtest.GuestRef() //nolint:gochecknoglobals // It is a constant.

// lab is a simulated cluster with a VM, a Kubernetes API, and a provider that is started and killed.
type lab struct{ *configtest.Guest }

// everywhere runs a test in its ways.
func everywhere(t *testing.T, run func(*lab)) {
	t.Helper()
	configtest.EachWay(t, func(t *testing.T, w configtest.Way) {
		t.Helper()
		run(newLab(t, w))
	})
}

// here runs a test in one scope and on one version.
func here(t *testing.T) *lab {
	t.Helper()
	return newLab(t, configtest.Way{Scope: configtest.Scopes()["Namespaced"], Version: "9.2"})
}

func newLab(t *testing.T, w configtest.Way) *lab {
	t.Helper()
	return &lab{configtest.NewGuest(t, func(mgr ctrl.Manager, o kind.Options, s kind.Scope) error {
		return snapshot.Setup(mgr, o, snapshot.Kinds{
			Identity: s.Identity("Snapshot"), Lists: s.Lists("Snapshot"), Machines: s.Lists("Machine"), Machine: s.Identity("Machine").Object,
			Quotas: quotas.New(),
		})
	}, w)}
}

// taken takes a snapshot as someone else.
func (l *lab) taken(name, description string) {
	l.Helper()
	l.Succeeded(l.Client.TakeSnapshot(l.Context(), ref, proxmox.SnapshotOptions{Name: name, Description: description}))
}

// snapshots returns the snapshots of the VM, by their names.
func (l *lab) snapshots() map[string]proxmox.Snapshot {
	l.Helper()
	tree, err := l.Client.SnapshotTree(l.Context(), ref)
	l.Must(err)
	all := map[string]proxmox.Snapshot{}
	for _, s := range tree.Snapshots {
		all[s.Name] = s
	}
	return all
}

// snapshot creates a Snapshot.
func (l *lab) snapshot(name, spec string) snapshot.Snapshot {
	l.Helper()
	s, ok := l.Object("Snapshot", name, len(name), spec, nil).(snapshot.Snapshot)
	if !ok {
		l.Fatal("it is no Snapshot")
	}
	return s
}
