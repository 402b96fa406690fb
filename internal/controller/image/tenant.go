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
	"cmp"
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
)

// A confinement limits an Image to what its tenant may have.
type confinement struct {
	// tenant that confines it, or nil; and warned, the one that would if its rules were enforced.
	tenant, warned *tenancy.Tenant

	records tenancy.Records

	// trusted is true if the provider has signed the record, or if there was none.
	trusted bool
}

// confine limits an Image to what the provider has recorded as its own. Otherwise, users who can write annotations could make it remove files and
// stop tasks of others, and reveal them. Without a valid signature, an Image of a tenant has nothing.
func (e *external) confine(m Image, r *record) error {
	_, signed := e.records.Image(m)
	if e.trusted = signed || r.String() == ""; e.tenant == nil {
		return nil
	}
	switch deleted := meta.WasDeleted(m); {
	case !deleted && len(e.records.Key) == 0:
		return errors.New("cannot sign the record of an Image, which a tenant needs: set POD_NAMESPACE of the provider")
	case deleted && !e.trusted:
		e.event(m, event.Warning(eventLeftBehind, errors.New("nothing is removed from Proxmox VE: the record of this Image is not the provider's")))
	}
	if !e.trusted {
		*r, e.trusted = record{}, true
	}
	return nil
}

// signed returns a record with its signature. While refusals are only shown, it is signed if nothing would be refused.
func (c confinement) signed(m Image, text string) map[string]string {
	a := map[string]string{AnnotationRecord: text}
	checked := c.tenant != nil || c.warned != nil && c.warned.CheckSpec(m) == nil
	if signature := c.records.SignImage(m, text); checked && c.trusted && signature != "" {
		a[tenancy.AnnotationImageSignature] = signature
	}
	return a
}

// prefix returns the default prefix of the names of the Image's files if it belongs to a tenant, even if refusals are only shown.
func (c confinement) prefix() string {
	return cmp.Or(tenancy.ImagesOf(c.tenant).Prefix(), tenancy.ImagesOf(c.warned).Prefix())
}

// usable returns the storages of the nodes that may download files.
func (c confinement) usable(all []proxmox.Storage) []proxmox.Storage {
	return slices.DeleteFunc(slices.Clone(all), func(s proxmox.Storage) bool { return c.tenant.CheckNode(s.Node) != nil })
}
