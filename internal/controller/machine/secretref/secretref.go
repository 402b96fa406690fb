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

// Package secretref reads the Secrets and ConfigMaps that the specs of Machines refer to.
package secretref

import (
	"cmp"
	"context"
	"fmt"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
)

// An Entry is a key of a Secret or ConfigMap.
type Entry struct {
	Object client.Object
	what   string
	Key    string
}

// OfSecret returns a key of a Secret. A Machine with a namespace only reads Secrets of that namespace, whatever the reference says.
func OfSecret(m object.Machine, r v1alpha1.SecretKeyReference) Entry {
	s := &corev1.Secret{}
	s.SetNamespace(cmp.Or(m.GetNamespace(), ptr.Deref(r.Namespace, "")))
	s.SetName(r.Name)
	return Entry{Object: s, what: "Secret", Key: r.Key}
}

func ofConfigMap(m object.Machine, r v1alpha1.SecretKeyReference) Entry {
	c := &corev1.ConfigMap{}
	c.SetNamespace(cmp.Or(m.GetNamespace(), ptr.Deref(r.Namespace, "")))
	c.SetName(r.Name)
	return Entry{Object: c, what: "ConfigMap", Key: r.Key}
}

// String returns the name of the entry.
func (n Entry) String() string {
	return fmt.Sprintf("%s %s/%s", n.what, n.Object.GetNamespace(), n.Object.GetName())
}

// Read returns the value of an entry. If it is missing, Read returns a refusal.
func Read(ctx context.Context, kube client.Reader, n Entry) (string, error) {
	if n.Object.GetNamespace() == "" {
		return "", conditions.Reject(conditions.Creating, "the reference to %s %s has no namespace, which a cluster-scoped Machine has to name",
			n.what, n.Object.GetName())
	}
	err := kube.Get(ctx, client.ObjectKeyFromObject(n.Object), n.Object)
	if kerrors.IsNotFound(err) {
		return "", conditions.Reject(conditions.Creating, "%s not found", n)
	}
	if err != nil {
		return "", errors.Wrapf(err, "cannot read %s", n)
	}
	if v, ok := n.value(); ok {
		return v, nil
	}
	return "", conditions.Reject(conditions.Creating, "%s has no key %s", n, n.Key)
}

func (n Entry) value() (string, bool) {
	switch o := n.Object.(type) {
	case *corev1.Secret:
		v, ok := o.Data[n.Key]
		return string(v), ok
	case *corev1.ConfigMap:
		if v, ok := o.Data[n.Key]; ok {
			return v, true
		}
		v, ok := o.BinaryData[n.Key]
		return string(v), ok
	}
	return "", false
}

// DataOf reads data that is given inline or in a Secret or ConfigMap. It returns nil if none is given.
func DataOf(ctx context.Context, kube client.Reader, m object.Machine, d *v1alpha1.CloudInitData) (*string, error) {
	var from Entry
	switch {
	case d == nil:
		return nil, nil
	case d.Inline != nil:
		return d.Inline, nil
	case d.SecretRef != nil:
		from = OfSecret(m, *d.SecretRef)
	case d.ConfigMapRef != nil:
		from = ofConfigMap(m, *d.ConfigMapRef)
	default:
		return nil, nil
	}
	v, err := Read(ctx, kube, from)
	return &v, err
}
