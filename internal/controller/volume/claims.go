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

package volume

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
	"github.com/vitistack/provider-proxmox/internal/volumeref"
)

// readClaims finds the Machines that list the Volume, and determines which of them has the VM with the disk.
func (e *external) readClaims(ctx context.Context, m Volume, s *state) error {
	all, err := kind.ListCached(ctx, e.Kube, e.machines.List, client.InNamespace(m.GetNamespace()))
	if err != nil {
		return err
	}
	var listing []Machine
	s.claims, s.owned, s.leaving, s.others = nil, false, false, nil
	for _, mg := range all {
		x, ok := mg.(Machine)
		if !ok {
			continue
		}
		if s.On(x.Observation().UUID) {
			s.owned, s.leaving, s.others = !meta.WasDeleted(x), meta.WasDeleted(x), othersOf(x, m.GetName(), s.Volume)
		}
		if !volumeref.Listed(x.Parameters(), m.GetName()) || !e.reaches(x) {
			continue
		}
		of, err := e.ofTenant(ctx, m, x)
		if err != nil {
			return err
		}
		if of {
			listing = append(listing, x)
		}
	}
	slices.SortFunc(listing, func(a, b Machine) int { return s.rank(a, b) })
	for _, x := range listing {
		c := claim{uid: string(x.GetUID()), name: x.GetName(), deleted: meta.WasDeleted(x)}
		if len(s.claims) == 0 && !c.deleted {
			if c.vm, err = e.vmOf(ctx, x, s); err != nil {
				return err
			}
		}
		s.claims = append(s.claims, c)
	}
	return nil
}

// reaches reports whether a Machine is in the same cluster, by the names of the clusters, or by the endpoints of its provider config if these are
// unknown.
func (e *external) reaches(x Machine) bool {
	if theirs := x.Observation().Cluster; theirs != "" && e.view.cluster != "" {
		return theirs == e.view.cluster
	}
	return e.shares(x)
}

// ofTenant reports whether a Machine is in the same namespace, or belongs to a claim there, or belongs to the same tenant if neither has a namespace.
// Other Machines get no disk of a tenant.
func (e *external) ofTenant(ctx context.Context, m Volume, x Machine) (bool, error) {
	of := tenancy.NamespaceOf(m)
	switch {
	case e.confinement.tenant == nil:
		return true, nil
	case of != "" || tenancy.NamespaceOf(x) != "":
		return of == tenancy.NamespaceOf(x), nil
	}
	return e.sharesTenant(ctx, x)
}

// rank orders Machines that list the Volume: those that are not being deleted come first, and among them the one for which the disk is kept, then the
// oldest.
func (s *state) rank(a, b Machine) int {
	if d, e := meta.WasDeleted(a), meta.WasDeleted(b); d != e {
		return compareBools(d, e)
	}
	if d, e := string(a.GetUID()) == s.Machine, string(b.GetUID()) == s.Machine; d != e {
		return compareBools(e, d)
	}
	return cmp.Or(compareBools(kind.Older(b, a), kind.Older(a, b)), strings.Compare(a.GetName(), b.GetName()))
}

// compareBools sorts false before true.
func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// vmOf reads the VM of a Machine. It returns nil while no VM is proven to belong to the Machine.
func (e *external) vmOf(ctx context.Context, x Machine, s *state) (*vm, error) {
	o := x.Observation()
	if !kind.HasVM(o) {
		return nil, nil
	}
	if h := s.holder; h != nil && h.VMID == int(*o.VMID) && h.offline == "" && strings.EqualFold(h.Config.UUID(), o.UUID) {
		return h, nil
	}
	if is, err := e.confinement.has(ctx, int(*o.VMID)); !is || err != nil {
		return nil, err
	}
	v, err := e.reader.readVM(ctx, int(*o.VMID), o.Node)
	if v == nil || err != nil {
		return nil, err
	}
	if v.offline == "" && !strings.EqualFold(v.Config.UUID(), o.UUID) {
		return nil, nil
	}
	if s.holder != nil && s.holder.VMID == v.VMID {
		return s.holder, nil
	}
	return v, e.reader.readBusy(ctx, v)
}

// stillListed returns an error unless the Machine that is to get the disk exists, is not being deleted, and lists the Volume. It reads from the API
// server. A Machine that is deleted from then on finds the handover in the record before it destroys its VM.
func (e *external) stillListed(ctx context.Context, m Volume, c *claim) error {
	x, ok := e.Machine.DeepCopyObject().(Machine)
	if !ok {
		return errors.Errorf("cannot copy a %T", e.Machine)
	}
	err := e.direct.Get(ctx, client.ObjectKey{Namespace: m.GetNamespace(), Name: c.name}, x)
	switch {
	case kerrors.IsNotFound(err):
		return errors.Errorf("the disk is not handed over: Machine %s is gone", c.name)
	case err != nil:
		return errors.Wrapf(err, "cannot read Machine %s", c.name)
	case string(x.GetUID()) != c.uid || meta.WasDeleted(x) || !volumeref.Listed(x.Parameters(), m.GetName()):
		return errors.Errorf("the disk is not handed over: Machine %s does not list the Volume any more", c.name)
	}
	return nil
}

// A machineWatch wakes the Volumes that a Machine lists, or has listed, when it changes.
type machineWatch struct {
	machine client.Object
	volume  client.Object
	wake    func(Volume)
}

// watch returns the watch of the Machines.
func (c *connector) watch(volume client.Object) machineWatch {
	return machineWatch{machine: c.Machine, volume: volume, wake: c.Wake}
}

// Start begins to watch. Without the kind Machine there is nothing to watch.
func (w machineWatch) Start(all cache.Informers) error {
	informer, err := all.GetInformer(context.Background(), w.machine, cache.BlockUntilSynced(false))
	if apimeta.IsNoMatchError(err) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { w.wakeFor(o) },
		UpdateFunc: func(before, after any) { w.wakeFor(before, after) },
		DeleteFunc: func(o any) {
			if last, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
				o = last.Obj
			}
			w.wakeFor(o)
		},
	})
	return err
}

// wakeFor wakes the Volumes that any of these states of a Machine lists, if the states differ in what concerns Volumes.
func (w machineWatch) wakeFor(states ...any) {
	var names []string
	for _, o := range states {
		x, ok := o.(Machine)
		if !ok {
			return
		}
		for _, k := range x.Parameters().Disks {
			if k.VolumeRef != nil && !slices.Contains(names, k.VolumeRef.Name) {
				names = append(names, k.VolumeRef.Name)
			}
		}
	}
	if len(names) == 0 || len(states) == 2 && same(states[0], states[1]) {
		return
	}
	x, _ := states[0].(Machine)
	for _, name := range names {
		v, ok := w.volume.DeepCopyObject().(Volume)
		if !ok {
			return
		}
		v.SetNamespace(x.GetNamespace())
		v.SetName(name)
		go w.wake(v)
	}
}

// same reports whether two states of a Machine are equivalent for a Volume.
func same(before, after any) bool {
	a, ok := before.(Machine)
	b, alsoOK := after.(Machine)
	return ok && alsoOK && a.GetGeneration() == b.GetGeneration() && meta.WasDeleted(a) == meta.WasDeleted(b) &&
		kind.HasVM(a.Observation()) == kind.HasVM(b.Observation()) && a.Observation().Node == b.Observation().Node &&
		slices.EqualFunc(disksOf(a), disksOf(b), func(x, y string) bool { return x == y }) && a.Observation().Phase == b.Observation().Phase
}

// disksOf returns the disks of the VM of a Machine, with their volumes.
func disksOf(m resource.Managed) []string {
	x, ok := m.(Machine)
	if !ok {
		return nil
	}
	var all []string
	for _, k := range x.Observation().Disks {
		all = append(all, k.Device+" "+k.Volume)
	}
	return all
}
