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

package controller

import (
	"context"
	"slices"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/backup"
	"github.com/vitistack/provider-proxmox/internal/controller/image"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/kind/quotas"
	"github.com/vitistack/provider-proxmox/internal/controller/machine"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/images"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/restore"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/scheduler"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/volumes"
	"github.com/vitistack/provider-proxmox/internal/controller/providerconfig"
	"github.com/vitistack/provider-proxmox/internal/controller/snapshot"
	"github.com/vitistack/provider-proxmox/internal/controller/snapshotpolicy"
	"github.com/vitistack/provider-proxmox/internal/controller/volume"
)

// An entry describes one controller.
type entry struct {
	// needs lists the kinds that the controller cannot run without.
	needs []schema.GroupVersionKind
	setup func(ctrl.Manager, kind.Options) error
}

// table returns the controllers of all kinds, first those of provider configurations, then those of managed resources, each in both scopes.
func table() []entry {
	keeper := quotas.New()
	all := configurations(keeper)
	for _, r := range rows(keeper) {
		for _, s := range scopes() {
			all = append(all, managed(r, s))
		}
	}
	return all
}

func configurations(keeper *quotas.Keeper) []entry {
	return []entry{
		configuration(providerconfig.Kinds{
			Quotas: keeper,
			ProviderConfigKinds: resource.ProviderConfigKinds{
				Config:    cluster.ProviderConfigGroupVersionKind,
				Usage:     cluster.ProviderConfigUsageGroupVersionKind,
				UsageList: cluster.ProviderConfigUsageListGroupVersionKind,
			},
			Object:      &cluster.ProviderConfig{},
			UsageObject: &cluster.ProviderConfigUsage{},
		}),
		configuration(providerconfig.Kinds{
			Quotas:              keeper,
			ProviderConfigKinds: namespacedConfig(namespaced.ProviderConfigGroupVersionKind),
			Object:              &namespaced.ProviderConfig{},
			UsageObject:         &namespaced.ProviderConfigUsage{},
		}),
		configuration(providerconfig.Kinds{
			Quotas:              keeper,
			ProviderConfigKinds: namespacedConfig(namespaced.ClusterProviderConfigGroupVersionKind),
			Object:              &namespaced.ClusterProviderConfig{},
			UsageObject:         &namespaced.ProviderConfigUsage{},
		}),
	}
}

// A scope is one API group with the kinds of its provider configurations.
type scope struct {
	kind.Scope

	configs []schema.GroupVersionKind
}

func scopes() []scope {
	all := []v1alpha1.Kinds{cluster.Kinds(), namespaced.Kinds()}
	return []scope{
		{
			Scope:   kind.Scope{GroupVersion: cluster.SchemeGroupVersion, Kinds: all[0], All: all},
			configs: []schema.GroupVersionKind{cluster.ProviderConfigGroupVersionKind, cluster.ProviderConfigUsageGroupVersionKind},
		},
		{
			Scope: kind.Scope{GroupVersion: namespaced.SchemeGroupVersion, Kinds: all[1], All: all},
			configs: []schema.GroupVersionKind{
				namespaced.ProviderConfigGroupVersionKind,
				namespaced.ClusterProviderConfigGroupVersionKind,
				namespaced.ProviderConfigUsageGroupVersionKind,
			},
		},
	}
}

// namespacedConfig returns the kinds of a provider configuration of the namespaced group, where one kind of usages serves both.
func namespacedConfig(config schema.GroupVersionKind) resource.ProviderConfigKinds {
	return resource.ProviderConfigKinds{
		Config:    config,
		Usage:     namespaced.ProviderConfigUsageGroupVersionKind,
		UsageList: namespaced.ProviderConfigUsageListGroupVersionKind,
	}
}

func configuration(k providerconfig.Kinds) entry {
	return entry{
		needs: []schema.GroupVersionKind{k.Config, k.Usage},
		setup: func(mgr ctrl.Manager, o kind.Options) error { return providerconfig.Setup(mgr, o, k) },
	}
}

// setupKind adds the controller of a kind in one scope to the manager.
type setupKind func(ctrl.Manager, kind.Options, kind.Scope) error

// managed returns the controller of a kind in one scope.
func managed(r row, s scope) entry {
	needs := append([]schema.GroupVersionKind{s.GroupVersion.WithKind(r.kind)}, s.configs...)
	for _, kind := range r.needs {
		needs = append(needs, s.GroupVersion.WithKind(kind))
	}
	return entry{
		needs: needs,
		setup: func(mgr ctrl.Manager, o kind.Options) error { return r.setup(mgr, o, s.Scope) },
	}
}

// machines sets up Machines, which wait for Images and Backups, and counts them.
func machines(sched *scheduler.Scheduler, watch *images.Notifier, watchBackups *restore.Notifier, keeper *quotas.Keeper) setupKind {
	return func(mgr ctrl.Manager, o kind.Options, s kind.Scope) error {
		id := s.Identity("Machine")
		disks := volumes.Reader{Kube: mgr.GetClient(), Direct: mgr.GetAPIReader(), Object: s.Identity("Volume").Object, Lists: s.Lists("Volume")}
		o.Holds = kind.Holds{Reader: mgr.GetClient(), Direct: mgr.GetAPIReader(), Lists: s.Lists("Snapshot")}
		if err := machine.Setup(mgr, o, id, sched, machine.Dependencies{
			Image: s.Identity("Image").Object, Networks: s.Identity("NodeNetwork").List, Volumes: disks, Images: watch, Backups: watchBackups,
			Quotas: keeper,
		}); err != nil {
			return err
		}
		if o.Metrics != nil {
			o.Metrics.Machines(kind.CachedLister(o.Shard.Client(mgr.GetClient()), id.List), mgr.Elected())
		}
		return nil
	}
}

// copies sets up a kind whose resources record copies of Machines.
func copies(of string, setup setupKind) setupKind {
	return func(mgr ctrl.Manager, o kind.Options, s kind.Scope) error {
		if err := setup(mgr, o, s); err != nil {
			return err
		}
		if o.Metrics != nil {
			o.Metrics.Copies(kind.CachedLister(o.Shard.Client(mgr.GetClient()), s.Identity(of).List), mgr.Elected())
		}
		return nil
	}
}

// scheduled sets up a kind whose resources determine where Machines may be placed.
func scheduled(of string, sched *scheduler.Scheduler, setup setupKind) setupKind {
	return func(mgr ctrl.Manager, o kind.Options, s kind.Scope) error {
		sched.Add(mgr.GetClient(), s.Identity(of).List)
		return setup(mgr, o, s)
	}
}

// imageKind sets up Images, and wakes Machines that wait for them. Images of all scopes can create the same file, and Machines of all scopes can need
// one.
func imageKind(watch *images.Notifier) setupKind {
	return func(mgr ctrl.Manager, o kind.Options, s kind.Scope) error {
		if err := watch.Watch(mgr.GetCache(), s.GroupVersion.Group, s.Identity("Image").Object); err != nil {
			return errors.Wrap(err, "cannot watch Images")
		}
		return image.Setup(mgr, o, image.Kinds{
			Identity: s.Identity("Image"), Lists: s.Lists("Image"), Machines: s.Lists("Machine"), Machine: s.Identity("Machine").Object,
		})
	}
}

// snapshots sets up Snapshots. Snapshots of all scopes can stand for the same snapshot, and Machines of all scopes can manage its VM.
func snapshots(keeper *quotas.Keeper) setupKind {
	return func(mgr ctrl.Manager, o kind.Options, s kind.Scope) error {
		return snapshot.Setup(mgr, o, snapshot.Kinds{
			Identity: s.Identity("Snapshot"), Lists: s.Lists("Snapshot"), Machines: s.Lists("Machine"), Machine: s.Identity("Machine").Object,
			Quotas: keeper,
		})
	}
}

// policies sets up SnapshotPolicies, whose Snapshots and Machines have the same scope.
func policies(mgr ctrl.Manager, o kind.Options, s kind.Scope) error {
	return snapshotpolicy.Setup(mgr, o, snapshotpolicy.Kinds{
		Identity: s.Identity("SnapshotPolicy"), Snapshot: s.Identity("Snapshot"), Machine: s.Identity("Machine"),
	})
}

// backups sets up Backups, and wakes Machines that wait for them. Backups of all scopes can stand for the same backup.
func backups(watch *restore.Notifier, keeper *quotas.Keeper) setupKind {
	return func(mgr ctrl.Manager, o kind.Options, s kind.Scope) error {
		id := s.Identity("Backup")
		if err := watch.Watch(mgr.GetCache(), s.GroupVersion.Group, id.Object); err != nil {
			return errors.Wrap(err, "cannot watch Backups")
		}
		return backup.Setup(mgr, o, backup.Kinds{
			Identity: id, Lists: s.Lists("Backup"), Machines: s.Lists("Machine"), Machine: s.Identity("Machine").Object,
			Quotas: keeper,
		})
	}
}

// diskVolumes sets up Volumes. Volumes of all scopes can stand for the same disk.
func diskVolumes(keeper *quotas.Keeper) setupKind {
	return func(mgr ctrl.Manager, o kind.Options, s kind.Scope) error {
		return volume.Setup(mgr, o, volume.Kinds{Identity: s.Identity("Volume"), Lists: s.Lists("Volume"), Machine: s.Identity("Machine"), Quotas: keeper})
	}
}

// Setup adds all controllers to the manager. All kinds must exist when it starts.
func Setup(mgr ctrl.Manager, o kind.Options) error {
	for _, e := range table() {
		if err := e.setup(mgr, o); err != nil {
			return err
		}
	}
	return nil
}

// SetupGated adds each controller to the manager once o.Gate knows that the kinds it needs exist. If a controller cannot be added then, the manager
// ends with the error.
func SetupGated(mgr ctrl.Manager, o kind.Options) error {
	return setupGated(mgr, o, table())
}

func setupGated(mgr ctrl.Manager, o kind.Options, entries []entry) error {
	failed := make(failures, len(entries))
	if err := mgr.Add(failed); err != nil {
		return errors.Wrap(err, "cannot add controllers")
	}
	for _, e := range entries {
		o.Gate.Register(func() {
			e.await(mgr.GetRESTMapper())
			if err := e.setup(mgr, o); err != nil {
				failed <- err
			}
		}, e.needs...)
	}
	return nil
}

// A kind that exists may be discovered with a delay, on a slow API server of seconds.
const (
	discoverEvery  = 100 * time.Millisecond
	discoverWithin = time.Minute
)

// await waits until the API server reports the needed kinds. If it never does, setting up the controller fails and reports why.
func (e entry) await(kinds meta.RESTMapper) {
	_ = wait.PollUntilContextTimeout(context.Background(), discoverEvery, discoverWithin, true, func(context.Context) (bool, error) {
		return !slices.ContainsFunc(e.needs, func(k schema.GroupVersionKind) bool {
			_, err := kinds.RESTMapping(k.GroupKind(), k.Version)
			return err != nil
		}), nil
	})
}

// failures of controllers that were added after the start.
type failures chan error

// Start waits for a failure, which it returns, or for the end of the context.
func (f failures) Start(ctx context.Context) error {
	select {
	case err := <-f:
		return err
	case <-ctx.Done():
		return nil
	}
}
