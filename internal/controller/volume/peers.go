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
	"context"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
	"github.com/vitistack/provider-proxmox/internal/volumeref"
)

// peers are the other Volumes in the cluster of a Volume, in all scopes.
type peers struct {
	kube  client.Reader
	lists []resource.ManagedList

	// of is the Volume itself, and cluster its cluster; empty if that is unknown.
	of      Volume
	cluster string

	// recordCounts reports whether the record of another Volume counts.
	recordCounts func(resource.Managed) bool

	// confined is true for a Volume of a tenant, which may know the names of Volumes in its own namespace only.
	confined bool
}

// peers returns the other Volumes of the cluster.
func (e *external) peers(m Volume) peers {
	return peers{
		kube: e.Kube, lists: e.Peers.Lists, of: m, cluster: e.view.cluster, recordCounts: e.recordCounts, confined: e.confinement.tenant != nil,
	}
}

// find returns the name of another Volume of the cluster that matches and whose record counts, as far as the user may know the name.
func (p peers) find(ctx context.Context, is func(resource.Managed) bool) (string, error) {
	for _, empty := range p.lists {
		all, err := kind.ListCached(ctx, p.kube, empty)
		if err != nil {
			return "", err
		}
		i := slices.IndexFunc(all, func(other resource.Managed) bool {
			return other.GetUID() != p.of.GetUID() && p.sharesCluster(other) && is(other) && p.recordCounts(other)
		})
		switch of := tenancy.NamespaceOf(p.of); {
		case i < 0:
		case p.confined && (of == "" || of != tenancy.NamespaceOf(all[i])):
			return "another Volume", nil
		default:
			return strings.TrimPrefix(client.ObjectKeyFromObject(all[i]).String(), "/"), nil
		}
	}
	return "", nil
}

// sharesCluster reports whether the disk of another Volume may be in the same cluster.
func (p peers) sharesCluster(other resource.Managed) bool {
	has := other.GetAnnotations()[kind.AnnotationCluster]
	return has == "" || p.cluster == "" || has == p.cluster
}

// withDisk returns the name of another Volume that has a disk, or of an older one that may be about to adopt it. A Volume that has a disk keeps it.
func (p peers) withDisk(ctx context.Context, volume string) (string, error) {
	return p.find(ctx, func(other resource.Managed) bool {
		return claims(other, volume) || kind.Older(other, p.of) && meta.GetExternalName(other) == volume && !wasNamed(other, volume)
	})
}

// withStub returns the name of another Volume to which a stub VM belongs, or may belong, because its record cannot be read and names the VM or its
// disk.
func (p peers) withStub(ctx context.Context, uuid, volume string) (string, error) {
	return p.find(ctx, func(other resource.Managed) bool {
		r, err := volumeref.RecordOf(other)
		if err != nil { // Any user may have written it, and it may name any VM.
			return volumeref.Mentions(other, uuid) || volumeref.Mentions(other, volume)
		}
		return strings.EqualFold(r.UUID, uuid)
	})
}

// neighbours returns the Volumes that concern a VM. The VM has the volume there in place of the disk.
func (p peers) neighbours(ctx context.Context, uuid, there string) ([]neighbour, error) {
	var all []neighbour
	_, err := p.find(ctx, func(other resource.Managed) bool {
		r, err := volumeref.RecordOf(other)
		switch {
		case !p.recordCounts(other): // Any user may have forged it.
		case err != nil && (volumeref.Mentions(other, uuid) || volumeref.Mentions(other, there)):
			all = append(all, neighbour{volume: there}) // It is unknown which disk it has.
		case err == nil && r.Made() && !r.Lost && (r.On(uuid) || r.Volume == there):
			all = append(all, neighbour{volume: r.Volume, device: volumeref.PlaceOf(other, r).Device, held: r.On(uuid)})
		}
		return false
	})
	return all, err
}

// claims reports whether a Volume has a disk.
func claims(mg resource.Managed, volume string) bool {
	r, err := volumeref.RecordOf(mg)
	return err == nil && r.Volume == volume && !r.Lost
}

// wasNamed reports whether a volume ID is a former name of a Volume's disk, which an external name may still contain.
func wasNamed(mg resource.Managed, volume string) bool {
	r, err := volumeref.RecordOf(mg)
	return err == nil && r.WasNamed(volume)
}
