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

package backup_test

import (
	"testing"

	xpmeta "github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/vitistack/provider-proxmox/internal/controller/backup"
	"github.com/vitistack/provider-proxmox/internal/controller/config/configtest"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/kind/quotas"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
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
	l := &lab{configtest.NewGuest(t, func(mgr ctrl.Manager, o kind.Options, s kind.Scope) error {
		return backup.Setup(mgr, o, backup.Kinds{
			Identity: s.Identity("Backup"), Lists: s.Lists("Backup"), Machines: s.Lists("Machine"), Machine: s.Identity("Machine").Object,
			Quotas: quotas.New(),
		})
	}, w)}
	l.Edit(func(s *simulator.State) {
		s.Storages["nas"] = &state.Storage{ID: "nas", Type: "nfs", Content: []string{"backup"}, Shared: true, Total: 1 << 40, Options: map[string]string{}}
		s.Storages["pbs"] = &state.Storage{ID: "pbs", Type: "pbs", Content: []string{"backup"}, Shared: true, Total: 1 << 40, Options: map[string]string{}}
	})
	return l
}

// volumes returns the backups of a storage as the node lists them, by their IDs.
func (l *lab) volumes(storage string) map[string]proxmox.Volume {
	l.Helper()
	list, err := l.Client.Volumes(l.Context(), "pve1", storage, "backup")
	l.Must(err)
	all := map[string]proxmox.Volume{}
	for _, v := range list {
		all[v.ID] = v
	}
	return all
}

// only returns the only backup of the storage for files.
func (l *lab) only() proxmox.Volume {
	l.Helper()
	all := l.volumes("nas")
	if len(all) != 1 {
		l.Fatalf("want one backup, got %v", all)
	}
	for _, v := range all {
		return v
	}
	return proxmox.Volume{}
}

// theirs returns a backup that someone else has created.
func (l *lab) theirs(notes string) proxmox.Volume {
	l.Helper()
	l.Succeeded(l.Client.BackUp(l.Context(), ref, proxmox.BackupOptions{Storage: "nas", Notes: notes}))
	return l.only()
}

// backup creates a Backup.
func (l *lab) backup(name, spec string) backup.Backup {
	l.Helper()
	return l.named(name, spec, "")
}

// named creates a Backup with an external name.
func (l *lab) named(name, spec, volume string) backup.Backup {
	l.Helper()
	a := map[string]string{}
	if volume != "" {
		a[xpmeta.AnnotationKeyExternalName] = volume
	}
	b, ok := l.Object("Backup", name, len(name), spec, a).(backup.Backup)
	if !ok {
		l.Fatal("it is no Backup")
	}
	return b
}
