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
	"maps"
	"sync"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// objects reads the data of Secrets and ConfigMaps and keeps it for a while, so that thousands of reconciles do not read the same Secret.
type objects struct {
	kube   client.Reader
	maxAge time.Duration
	now    func() time.Time

	mu      sync.Mutex
	read    map[object]reading
	version map[object]string // resource version that was read last
}

// An object is a Secret or a ConfigMap.
type object struct {
	kind string // "secret" or "config map", as in error messages
	key  client.ObjectKey
}

const (
	secret    = "secret"
	configMap = "config map"
)

// String returns the object in a form for sentences: secret "team-a/pve".
func (o object) String() string { return o.kind + " " + quoted(o.key.Namespace, o.key.Name) }

// gvk returns the kind of the object.
func (o object) gvk() schema.GroupVersionKind {
	if o.kind == secret {
		return corev1.SchemeGroupVersion.WithKind("Secret")
	}
	return corev1.SchemeGroupVersion.WithKind("ConfigMap")
}

type reading struct {
	at   time.Time
	data map[string][]byte
}

func newObjects(kube client.Reader) *objects {
	return &objects{kube: kube, maxAge: defaultMaxAge, now: time.Now, read: map[object]reading{}, version: map[object]string{}}
}

// data returns the data of the object, which is at most maxAge old and must not be changed.
func (o *objects) data(ctx context.Context, of object) (map[string][]byte, error) {
	if d, ok := o.known(of); ok {
		return d, nil
	}
	at, before := o.now(), o.noted(of)
	d, version, err := o.fetch(ctx, of)
	if kerrors.IsNotFound(err) {
		o.note(of, "")
		return nil, errors.Errorf("cannot read %s: it does not exist", of)
	}
	if err != nil {
		return nil, errors.Wrapf(err, "cannot read %s", of)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.version[of] == before { // Otherwise the object has changed meanwhile, and this may be the former content.
		o.read[of], o.version[of] = reading{at: at, data: d}, version
	}
	return d, nil
}

// noted returns the resource version that was last read or watched.
func (o *objects) noted(of object) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.version[of]
}

// note records the resource version of an object, or an empty string if it does not exist. If the version has changed, it forgets the content.
func (o *objects) note(of object, version string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if known, ok := o.version[of]; ok && known == version {
		return false
	}
	o.version[of] = version
	delete(o.read, of)
	return true
}

// ignore ignores the versions of an object from now on.
func (o *objects) ignore(of object) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.version, of)
}

// value returns the value of one key of the object.
func (o *objects) value(ctx context.Context, of object, key string) ([]byte, error) {
	d, err := o.data(ctx, of)
	if err != nil {
		return nil, err
	}
	v, ok := d[key]
	if !ok {
		return nil, errors.Errorf("%s has no key %q", of, key)
	}
	if len(v) == 0 {
		return nil, errors.Errorf("key %q of %s is empty", key, of)
	}
	return v, nil
}

func (o *objects) known(of object) (map[string][]byte, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	r, ok := o.read[of]
	return r.data, ok && !o.old(r)
}

func (o *objects) old(r reading) bool { return o.now().Sub(r.at) >= o.maxAge }

func (o *objects) fetch(ctx context.Context, of object) (map[string][]byte, string, error) {
	if of.kind == secret {
		s := &corev1.Secret{}
		err := o.kube.Get(ctx, of.key, s)
		return s.Data, s.ResourceVersion, err
	}
	m := &corev1.ConfigMap{}
	if err := o.kube.Get(ctx, of.key, m); err != nil {
		return nil, "", err
	}
	d := maps.Clone(m.BinaryData)
	if d == nil {
		d = make(map[string][]byte, len(m.Data))
	}
	for k, v := range m.Data {
		d[k] = []byte(v)
	}
	return d, m.ResourceVersion, nil
}

// sweep removes contents that are too old to be used.
func (o *objects) sweep() {
	o.mu.Lock()
	defer o.mu.Unlock()
	maps.DeleteFunc(o.read, func(_ object, r reading) bool { return o.old(r) })
}
