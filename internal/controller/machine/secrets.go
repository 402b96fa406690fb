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

package machine

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
)

// An entry is a key of a Secret or ConfigMap.
type entry struct {
	object client.Object
	what   string
	key    string
}

// secretEntry is a key of a Secret. A Machine with a namespace reads its own
// only, whatever the reference says.
func secretEntry(m Machine, r v1alpha1.SecretKeyReference) entry {
	s := &corev1.Secret{}
	s.SetNamespace(cmp.Or(m.GetNamespace(), ptr.Deref(r.Namespace, "")))
	s.SetName(r.Name)
	return entry{object: s, what: "Secret", key: r.Key}
}

func configMapEntry(m Machine, r v1alpha1.SecretKeyReference) entry {
	c := &corev1.ConfigMap{}
	c.SetNamespace(cmp.Or(m.GetNamespace(), ptr.Deref(r.Namespace, "")))
	c.SetName(r.Name)
	return entry{object: c, what: "ConfigMap", key: r.Key}
}

func (n entry) String() string {
	return fmt.Sprintf("%s %s/%s", n.what, n.object.GetNamespace(), n.object.GetName())
}

// read the value of an entry. What is missing is a refusal.
func (e *external) read(ctx context.Context, n entry) (string, error) {
	if n.object.GetNamespace() == "" {
		return "", conditions.Reject(conditions.Creating, "the reference to %s %s has no namespace, which a cluster-scoped Machine has to name", n.what, n.object.GetName())
	}
	err := e.kube.Get(ctx, client.ObjectKeyFromObject(n.object), n.object)
	if kerrors.IsNotFound(err) {
		return "", conditions.Reject(conditions.Creating, "%s not found", n)
	}
	if err != nil {
		return "", errors.Wrapf(err, "cannot read %s", n)
	}
	if v, ok := n.value(); ok {
		return v, nil
	}
	return "", conditions.Reject(conditions.Creating, "%s has no key %s", n, n.key)
}

func (n entry) value() (string, bool) {
	switch o := n.object.(type) {
	case *corev1.Secret:
		v, ok := o.Data[n.key]
		return string(v), ok
	case *corev1.ConfigMap:
		if v, ok := o.Data[n.key]; ok {
			return v, true
		}
		v, ok := o.BinaryData[n.key]
		return string(v), ok
	}
	return "", false
}

// dataOf reads what is given inline or in a Secret or ConfigMap. It is nil if
// nothing is given.
func (e *external) dataOf(ctx context.Context, m Machine, d *v1alpha1.CloudInitData) (*string, error) {
	var from entry
	switch {
	case d == nil:
		return nil, nil
	case d.Inline != nil:
		return d.Inline, nil
	case d.SecretRef != nil:
		from = secretEntry(m, *d.SecretRef)
	case d.ConfigMapRef != nil:
		from = configMapEntry(m, *d.ConfigMapRef)
	default:
		return nil, nil
	}
	v, err := e.read(ctx, from)
	return &v, err
}
