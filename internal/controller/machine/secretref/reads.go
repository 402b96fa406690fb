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

package secretref

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Versions are the versions of the Secrets and ConfigMaps that were read. The version of a missing one is empty.
type Versions map[source]string

// A source is a Secret or a ConfigMap.
type source struct {
	configMap bool
	key       client.ObjectKey
}

// Reads reads Secrets and ConfigMaps, and records the versions of those that one reconcile has read.
type Reads struct {
	kube     client.Reader
	versions Versions
}

// NewReads returns a Reads that has read nothing yet.
func NewReads(kube client.Reader) *Reads { return &Reads{kube: kube} }

// Get reads a Secret or a ConfigMap, and records the version of its first read. If it changes meanwhile, results of that version are out of date.
func (r *Reads) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	err := r.kube.Get(ctx, key, o, opts...)
	if err != nil && !kerrors.IsNotFound(err) {
		return err
	}
	version := ""
	if err == nil {
		version = string(o.GetUID()) + "/" + o.GetResourceVersion()
	}
	_, configMap := o.(*corev1.ConfigMap)
	if r.versions == nil {
		r.versions = Versions{}
	}
	if at := (source{configMap: configMap, key: key}); !r.has(at) {
		r.versions[at] = version
	}
	return err
}

// List reads a list, of which nothing is recorded.
func (r *Reads) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	return r.kube.List(ctx, list, opts...)
}

func (r *Reads) has(at source) bool {
	_, yes := r.versions[at]
	return yes
}

// Versions returns the versions of everything that was read. They must not be changed.
func (r *Reads) Versions() Versions { return r.versions }

// Unchanged reports whether everything that another reconcile has read is unchanged. It reads it again, except for what this reconcile has already read.
func (r *Reads) Unchanged(ctx context.Context, before Versions) bool {
	for at, version := range before {
		if !r.has(at) {
			_ = r.Get(ctx, at.key, at.empty()) // What cannot be read has no version.
		}
		if !r.has(at) || r.versions[at] != version {
			return false
		}
	}
	return true
}

// empty returns an empty object of the kind.
func (s source) empty() client.Object {
	if s.configMap {
		return &corev1.ConfigMap{}
	}
	return &corev1.Secret{}
}
