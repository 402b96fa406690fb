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
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"maps"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/internal/connect"
	"github.com/vitistack/provider-proxmox/internal/tenancy/quota"
)

// The ConfigMap of a tenant: the prefix of its name, and the keys of its data. Many entries are packed.
const (
	configMapPrefix = "provider-proxmox-quota-"
	tenantDataKey   = "tenant"
	entriesDataKey  = "entries"
	packedDataKey   = "entries.gz"
	packedFrom      = 256 << 10
)

// errNoNamespace reports what quotas need.
var errNoNamespace = errors.New("the provider runs in no pod and POD_NAMESPACE is not set, so that there is no namespace for the ConfigMap " +
	"with what was granted: set POD_NAMESPACE")

// errNoEntries reports a ConfigMap whose text is not a list of entries.
var errNoEntries = errors.New("there are none")

// nameOf returns the name of the ConfigMap of all tenants with a name, which no other tenant name has. One ConfigMap serves all provider
// configurations, so that grants stay entered whichever configurations share an account.
func nameOf(tenant string) string {
	sum := sha256.Sum256([]byte(tenant))
	return configMapPrefix + hex.EncodeToString(sum[:8])
}

// A storedLedger is the ConfigMap with the entries of an account, and with those of other accounts of tenants with the same name.
type storedLedger struct {
	*corev1.ConfigMap

	others quota.Ledger
}

// read reads the current entries of an account, and the ConfigMap that has them.
func (k *Keeper) read(ctx context.Context, of connect.Account) (storedLedger, quota.Ledger, error) {
	b := storedLedger{ConfigMap: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: k.connections.RecordsNamespace(), Name: nameOf(of.Tenant)}}}
	if b.Namespace == "" {
		return b, nil, errNoNamespace
	}
	err := k.kube.Get(ctx, client.ObjectKeyFromObject(b.ConfigMap), b.ConfigMap)
	if kerrors.IsNotFound(err) {
		b.Data = map[string]string{tenantDataKey: of.Tenant}
		return b, quota.Ledger{}, nil
	}
	if err != nil {
		return b, nil, errors.Wrapf(err, "cannot read ConfigMap %q in namespace %q", b.Name, b.Namespace)
	}
	all, err := b.entries()
	if err != nil {
		return b, nil, errors.Wrapf(err,
			"cannot read the entries of ConfigMap %q in namespace %q: delete it, and the provider creates it again from the existing resources", b.Name,
			b.Namespace)
	}
	b.others = quota.Ledger{}
	for uid, e := range all {
		if e.Config != "" && !of.Shares(e.Config) {
			b.others[uid] = e
			delete(all, uid)
		}
	}
	return b, all, nil
}

// entries returns the entries of all accounts.
func (b storedLedger) entries() (quota.Ledger, error) {
	text := []byte(b.Data[entriesDataKey])
	if packed, is := b.BinaryData[packedDataKey]; is {
		r, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			return nil, err
		}
		if text, err = io.ReadAll(r); err != nil {
			return nil, err
		}
	}
	all := quota.Ledger{}
	if err := json.Unmarshal(text, &all); err != nil || all == nil {
		return nil, cmp.Or(err, errNoEntries)
	}
	return all, nil
}

// write writes the entries of an account, unless the ConfigMap has changed since they were read. If a resource has an older entry in another account,
// what it has left counts there.
func (k *Keeper) write(ctx context.Context, b storedLedger, entries quota.Ledger) error {
	all := quota.Ledger{}
	maps.Copy(all, b.others)
	for uid := range entries {
		if _, was := all[uid]; was {
			all.Leave(uid, false, k.now())
		}
	}
	maps.Copy(all, entries)
	if err := b.enter(all); err != nil {
		return err
	}
	var err error
	if b.ResourceVersion == "" {
		err = k.kube.Create(ctx, b.ConfigMap)
	} else {
		err = k.kube.Update(ctx, b.ConfigMap)
	}
	return errors.Wrapf(err, "cannot write ConfigMap %q in namespace %q", b.Name, b.Namespace)
}

// enter puts these entries into the ConfigMap. It packs them if they are many, because an object has at most 1 MiB.
func (b storedLedger) enter(all quota.Ledger) error {
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	delete(b.BinaryData, packedDataKey)
	if len(text) < packedFrom {
		b.Data = map[string]string{tenantDataKey: b.Data[tenantDataKey], entriesDataKey: string(text)}
		return nil
	}
	delete(b.Data, entriesDataKey)
	packed := &bytes.Buffer{}
	w := gzip.NewWriter(packed)
	if _, err := w.Write(text); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	b.BinaryData = map[string][]byte{packedDataKey: packed.Bytes()}
	return nil
}
