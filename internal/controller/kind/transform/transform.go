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

// Package transform shrinks objects before the provider's cache stores them. With thousands of Machines, the cache is most of its memory.
package transform

import (
	"hash/maphash"
	"maps"
	"reflect"
	"sync/atomic"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// Cached removes the parts of an object that the provider does not need, and shares the memory of equal strings of all objects. If the annotations of
// a Machine equal those that its status keeps, the two are one map.
//
// It also removes the annotation of kubectl apply from resources. Such a resource must not be written as a whole, or the annotation would be lost.
// The reconcilers' client writes differences only.
func Cached(obj any) (any, error) {
	o, err := meta.Accessor(obj)
	if err != nil {
		return obj, nil //nolint:nilerr // The last state of what was deleted unseen is no object.
	}
	o.SetManagedFields(nil)
	if _, ok := obj.(resource.Managed); ok {
		delete(o.GetAnnotations(), corev1.LastAppliedConfigAnnotation)
	}
	share(reflect.ValueOf(obj))
	if m, ok := obj.(machine); ok && maps.Equal(m.Observation().Annotations, m.GetAnnotations()) {
		m.Observation().Annotations = m.GetAnnotations()
	}
	return obj, nil
}

// A machine keeps annotations in its status.
type machine interface {
	metav1.Object

	Observation() *v1alpha1.MachineObservation
}

// longest is the maximum length of strings that share their memory. Even an identity has several copies in an object.
const longest = 128

// recent holds some of the strings that were seen last, by their checksums. It nearly always contains those that many objects have, and always those
// that recur in one object. Unlike in a table of all strings, a string that only one object has takes no additional memory.
//
//nolint:gochecknoglobals // All caches of the process share them.
var (
	seed   = maphash.MakeSeed()
	recent [1 << 13]atomic.Pointer[string]
)

// shared returns a string that shares the memory of an equal one, if that was seen lately.
func shared(s string) string {
	if s == "" || len(s) > longest {
		return s
	}
	slot := &recent[maphash.String(seed, s)%uint64(len(recent))]
	if known := slot.Load(); known != nil && *known == s {
		return *known
	}
	slot.Store(&s)
	return s
}

// share shares the memory of the strings in a value.
func share(v reflect.Value) {
	switch v.Kind() { //nolint:exhaustive // All other kinds hold no texts.
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			share(v.Elem())
		}
	case reflect.String:
		if v.CanSet() {
			v.SetString(shared(v.String()))
		}
	case reflect.Struct:
		for field, value := range v.Fields() {
			if field.IsExported() { // The unexported fields of a time lead to the time zone that all times share.
				share(value)
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			share(v.Index(i))
		}
	case reflect.Map:
		shareMap(v)
	}
}

// shareMap shares the strings of a map of strings.
func shareMap(v reflect.Value) {
	m, ok := v.Interface().(map[string]string)
	if !ok || m == nil || !v.CanSet() {
		return
	}
	out := make(map[string]string, len(m))
	for key, value := range m {
		out[shared(key)] = shared(value)
	}
	v.Set(reflect.ValueOf(out))
}
