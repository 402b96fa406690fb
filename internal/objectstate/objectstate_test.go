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

package objectstate

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestStore(t *testing.T) {
	a, b := &metav1.ObjectMeta{UID: "a"}, &metav1.ObjectMeta{UID: "b"}
	var s Store[int]
	if s.Get(a) != nil || s.Len() != 0 {
		t.Error("a new store has a value")
	}
	*s.Ensure(a) = 1
	*s.Ensure(a)++
	if v := s.Get(a); v == nil || *v != 2 {
		t.Errorf("want the value that was kept, got %v", v)
	}
	if s.Get(b) != nil {
		t.Error("an object has the value of another")
	}
	s.Set(b, new(int))
	if v := s.Get(UID("a")); v == nil || *v != 2 {
		t.Errorf("want the value of the object with the UID, got %v", v)
	}
	if s.DeleteFunc(func(v *int) bool { return *v > 2 }); s.Len() != 2 {
		t.Errorf("want all values kept, got %v", s.All())
	}
	if s.Delete(a); s.Get(a) != nil || s.Get(b) == nil || s.Len() != 1 || len(s.All()) != 1 {
		t.Errorf("want only the value of the object that was not deleted, got %v", s.All())
	}
}
