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

package quotas

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/internal/tenancy/quota"
)

// The ConfigMap of a tenant: what its name begins with, and the keys of its data.
const (
	configMapPrefix = "provider-proxmox-quota-"
	configDataKey   = "providerConfig"
	tenantDataKey   = "tenant"
	entriesDataKey  = "entries"
)

// errNoNamespace says what quotas need.
var errNoNamespace = errors.New("the provider runs in no pod and POD_NAMESPACE is not set, so that there is no namespace for the ConfigMap " +
	"with what was let have: set POD_NAMESPACE")

// errNoEntries says what somebody has written in their place.
var errNoEntries = errors.New("there are none")

// name returns the name of the ConfigMap, which no two tenants of any two configurations share.
func (k key) name() string {
	sum := sha256.Sum256([]byte(k.config + "\n" + k.tenant))
	return configMapPrefix + hex.EncodeToString(sum[:8])
}

// read reads the entries of a tenant as they are now, and the ConfigMap that has them.
func (k *Keeper) read(ctx context.Context, of key) (*corev1.ConfigMap, quota.Ledger, error) {
	o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: k.connections.RecordsNamespace(), Name: of.name()}}
	if o.Namespace == "" {
		return nil, nil, errNoNamespace
	}
	entries := quota.Ledger{}
	err := k.kube.Get(ctx, client.ObjectKeyFromObject(o), o)
	if kerrors.IsNotFound(err) {
		o.Data = map[string]string{configDataKey: of.config, tenantDataKey: of.tenant}
		return o, entries, nil
	}
	if err != nil {
		return nil, nil, errors.Wrapf(err, "cannot read ConfigMap %q in namespace %q", o.Name, o.Namespace)
	}
	if err := json.Unmarshal([]byte(o.Data[entriesDataKey]), &entries); err != nil || entries == nil {
		return nil, nil, errors.Wrapf(cmp.Or(err, errNoEntries),
			"cannot read the entries of ConfigMap %q in namespace %q: delete it, and it is made anew of what is there", o.Name, o.Namespace)
	}
	return o, entries, nil
}

// write writes the entries, if nobody has written others since they were read.
func (k *Keeper) write(ctx context.Context, o *corev1.ConfigMap, entries quota.Ledger) error {
	text, err := json.Marshal(entries)
	if err != nil {
		return err
	}
	o.Data[entriesDataKey] = string(text)
	if o.ResourceVersion == "" {
		err = k.kube.Create(ctx, o)
	} else {
		err = k.kube.Update(ctx, o)
	}
	return errors.Wrapf(err, "cannot write ConfigMap %q in namespace %q", o.Name, o.Namespace)
}
