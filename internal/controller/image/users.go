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

package image

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/imageref"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
	"github.com/vitistack/provider-proxmox/internal/vmcache"
)

// A usage finds the users of the revisions of an Image.
type usage struct {
	reader reader

	// machines of all scopes are read from kube. For an Image of a tenant, isolation determines which of them belong to another tenant.
	kube      client.Reader
	machines  []resource.ManagedList
	tenant    *tenancy.Tenant
	isolation func(context.Context) isolation
}

func (e *external) usage() usage {
	return usage{reader: e.reader(), kube: e.kube, machines: e.kinds.Machines, tenant: e.tenant, isolation: e.isolation}
}

// inUse reports whether a revision is in use, or may be, and records its users.
func (u usage) inUse(ctx context.Context, m Image, v *view, rev *revision) (bool, error) {
	users, err := u.users(ctx, m, v, rev)
	if len(users) > 0 {
		v.users[rev.Number] = users
	}
	if off, down := (vmcache.OfflineError{}), (downError{}); errors.As(err, &off) || errors.As(err, &down) {
		v.unseen[rev.Number] = err.Error()
		return true, nil
	}
	return len(users) > 0, err
}

// A downError reports that a storage cannot be read now.
type downError struct{ error }

// mostUsers is how many users of a revision are named.
const mostUsers = 10

// users returns the users of a revision: Machines that are being created from it, VMs whose disks are linked to its templates', and VMs that have its
// ISO image in a drive. With an OfflineError, it returns the known users too.
func (u usage) users(ctx context.Context, m Image, v *view, rev *revision) ([]string, error) {
	users, err := u.machineUsers(ctx, m, rev)
	if err != nil {
		return nil, err
	}
	for _, key := range rev.templateKeys() {
		linked, err := u.linkedTo(ctx, v, rev.Templates[key])
		if err != nil {
			return nil, err
		}
		users = append(users, linked...)
	}
	if contentOf(m.Parameters()) == v1alpha1.ImageContentISO {
		inserted, err := u.insertedIn(ctx, m, v, rev)
		if err != nil {
			return users, err
		}
		users = append(users, inserted...)
	}
	slices.Sort(users)
	users = slices.Compact(users)
	return users[:min(len(users), mostUsers)], nil
}

// machineUsers returns the Machines that are being created from a revision, or are linked clones of its templates. Machines that are known to belong
// to other tenants are never created from the Image of a tenant, whatever their annotations say.
func (u usage) machineUsers(ctx context.Context, m Image, rev *revision) ([]string, error) {
	var users []string
	among := u.isolation(ctx)
	counts := func(x Machine) bool { return u.tenant == nil || !among.OtherTenant(m, x) }
	for _, empty := range u.machines {
		all, err := kind.ListCached(ctx, u.kube, empty)
		if err != nil {
			return nil, err
		}
		for _, mg := range all {
			if x, ok := mg.(Machine); ok && needs(x, m, rev) && counts(x) {
				users = append(users, "Machine "+client.ObjectKeyFromObject(x).String())
			}
		}
	}
	return users, nil
}

// needs reports whether a Machine needs a revision of an Image in the Machine's scope and namespace.
func needs(x Machine, m Image, rev *revision) bool {
	pin, ok := imageref.PinOf(x)
	if !ok || pin.UID != string(m.GetUID()) || pin.Revision != rev.Number || x.GetNamespace() != m.GetNamespace() {
		return false
	}
	making := x.Observation().UUID == "" && !meta.WasDeleted(x)
	c := x.Parameters().Clone
	linked := pin.Template && (c == nil || !ptr.Deref(c.Full, false))
	return making || linked
}

// linkedTo returns the VMs whose disks are linked to those of a template. In PVE, their names begin with the name of the base.
func (u usage) linkedTo(ctx context.Context, v *view, t *template) ([]string, error) {
	if t.VMID == 0 || !v.online(t.Node) {
		return nil, nil
	}
	if undefined, err := u.reader.undefined(ctx, v, place{Node: t.Node, Storage: t.Storage, Shared: t.Shared}); undefined || err != nil {
		return nil, err
	}
	volumes, err := u.reader.client.Volumes(ctx, t.Node, t.Storage, "images")
	if err != nil && !proxmox.IsAuthorization(err) && ctx.Err() == nil {
		err = downError{errors.Wrapf(err, "cannot see whether other VMs use the disks of VM %d", t.VMID)}
	}
	if err != nil {
		return nil, err
	}
	base := fmt.Sprintf("base-%d-", t.VMID)
	var users []string
	for _, x := range volumes {
		_, name, _ := strings.Cut(x.ID, ":")
		before, after, linked := strings.Cut(name, base)
		if linked && strings.Contains(after, "/") && (before == "" || before == fmt.Sprintf("%d/", t.VMID)) && x.VMID != t.VMID {
			users = append(users, fmt.Sprintf("VM %d", x.VMID))
		}
	}
	return users, nil
}
