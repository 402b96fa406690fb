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

// Package objectstate keeps state of Kubernetes objects in memory. The state is lost when the provider ends.
package objectstate

import (
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// An Object has a UID.
type Object interface{ GetUID() types.UID }

// A UID is an Object with only its UID.
type UID types.UID

// GetUID returns the UID.
func (u UID) GetUID() types.UID { return types.UID(u) }

// A Store keeps a value for each object. Callers must hold its lock when they call its methods, and while they use the value.
type Store[T any] struct {
	sync.Mutex

	all map[types.UID]*T
}

// Get returns the value of an object, or nil if there is none.
func (s *Store[T]) Get(o Object) *T { return s.all[o.GetUID()] }

// Ensure returns the value of an object, which is the zero value at first.
func (s *Store[T]) Ensure(o Object) *T {
	if v := s.Get(o); v != nil {
		return v
	}
	v := new(T)
	s.Set(o, v)
	return v
}

// Set sets the value of an object.
func (s *Store[T]) Set(o Object, v *T) {
	if s.all == nil {
		s.all = map[types.UID]*T{}
	}
	s.all[o.GetUID()] = v
}

// Delete deletes the value of an object.
func (s *Store[T]) Delete(o Object) { delete(s.all, o.GetUID()) }

// DeleteFunc deletes the values for which a function returns true.
func (s *Store[T]) DeleteFunc(del func(*T) bool) {
	maps.DeleteFunc(s.all, func(_ types.UID, v *T) bool { return del(v) })
}

// All returns the values by UID. The map must not be changed.
func (s *Store[T]) All() map[types.UID]*T { return s.all }

// Len returns the number of objects that have a value.
func (s *Store[T]) Len() int { return len(s.all) }
