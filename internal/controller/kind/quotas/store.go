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

// The ConfigMap of a tenant: what its name begins with, and the keys of its data. Many entries are packed.
const (
	configMapPrefix = "provider-proxmox-quota-"
	tenantDataKey   = "tenant"
	entriesDataKey  = "entries"
	packedDataKey   = "entries.gz"
	packedFrom      = 256 << 10
)

// errNoNamespace says what quotas need.
var errNoNamespace = errors.New("the provider runs in no pod and POD_NAMESPACE is not set, so that there is no namespace for the ConfigMap " +
	"with what was granted: set POD_NAMESPACE")

// errNoEntries is about a ConfigMap whose text is no list of entries.
var errNoEntries = errors.New("there are none")

// nameOf returns the name of the ConfigMap of all tenants with a name, which those of no other name have. It is one for all provider configurations, so that
// what was granted stays entered whichever of them have an account together.
func nameOf(tenant string) string {
	sum := sha256.Sum256([]byte(tenant))
	return configMapPrefix + hex.EncodeToString(sum[:8])
}

// A storedLedger is the ConfigMap that has the entries of an account, and those of other accounts of tenants with the same name.
type storedLedger struct {
	*corev1.ConfigMap

	others quota.Ledger
}

// read reads the entries of an account as they are now, and the ConfigMap that has them.
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

// entries are those of all accounts.
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

// write writes the entries of an account, if nobody has written others since they were read. Where a resource has an entry in another account, of before, what
// it has left counts there.
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

// enter has the ConfigMap have these entries, packed if they are many: an object has at most 1 MiB.
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
