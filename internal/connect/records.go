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

package connect

import (
	"context"
	"crypto/rand"
	"sync"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The Secret with the key that the provider signs its records with, and the name of that key in the Secret.
const (
	recordSecret  = "provider-proxmox-records" //nolint:gosec // Its name.
	recordDataKey = "key"
	recordKeySize = 32
)

// WithRecordsIn sets the namespace of the Secret with the key that the provider signs its records with: which VM it has observed to be a tenant's.
// Without it, nothing is signed.
func WithRecordsIn(namespace string) Option {
	return func(c *Connector) { c.records.namespace = namespace }
}

// A recordKey signs records. All replicas and shards of the provider in a namespace share it.
type recordKey struct {
	namespace string

	mu  sync.Mutex
	key []byte
}

// get reads the key, and creates it if there is none. It returns nil without a namespace for the key.
func (r *recordKey) get(ctx context.Context, kube client.Client) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.namespace == "" || r.key != nil {
		return r.key, nil
	}
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: recordSecret}}
	err := kube.Get(ctx, client.ObjectKeyFromObject(s), s)
	if kerrors.IsNotFound(err) {
		s.Data = map[string][]byte{recordDataKey: make([]byte, recordKeySize)}
		_, _ = rand.Read(s.Data[recordDataKey]) // Reading random data does not fail.
		if err = kube.Create(ctx, s); kerrors.IsAlreadyExists(err) {
			err = kube.Get(ctx, client.ObjectKeyFromObject(s), s)
		}
	}
	if err != nil {
		return nil, errors.Wrapf(err, "cannot read or make Secret %q in namespace %q, by whose key it is known which VMs are a tenant's", recordSecret, r.namespace)
	}
	if len(s.Data[recordDataKey]) < recordKeySize {
		return nil, errors.Errorf("the key of Secret %q in namespace %q has less than %d bytes: delete the Secret: the provider creates it again",
			recordSecret, r.namespace, recordKeySize)
	}
	r.key = s.Data[recordDataKey]
	return r.key, nil
}
