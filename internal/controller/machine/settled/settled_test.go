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

package settled

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
)

func machine(uid string, generation int64) *namespaced.Machine {
	return &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid), Generation: generation}}
}

func TestSums(t *testing.T) {
	s, m := New(), machine("a", 1)
	first, err := s.Sum("cores", 2)
	if err != nil {
		t.Fatal(err)
	}
	other, err := s.Sum("cores", 4)
	if err != nil || first == other {
		t.Fatalf("other values have another checksum: %v", err)
	}
	if s.Is(m, first) {
		t.Error("nothing was kept yet")
	}
	s.Keep(m, first)
	if !s.Is(m, first) || s.Is(m, other) || s.Is(machine("b", 1), first) {
		t.Error("the checksum is kept for this Machine alone")
	}
	s.Reset(m)
	if s.Is(m, first) {
		t.Error("the checksum was reset")
	}
	if _, err := s.Sum(func() {}); err == nil {
		t.Error("what cannot be written has no checksum")
	}
}

func TestUpToDate(t *testing.T) {
	s := New()
	s.MarkUpToDate(machine("a", 2), 7)
	for wanted, want := range map[uint64]bool{0: false, 7: true, 8: false} {
		if got := s.WasUpToDate(machine("a", 2), wanted); got != want {
			t.Errorf("checksum %d: got %t, want %t", wanted, got, want)
		}
	}
	if s.Reset(machine("a", 2)); !s.WasUpToDate(machine("a", 2), 7) {
		t.Error("a reset concerns the checksum only")
	}
	if s.Forget(machine("a", 2)); s.WasUpToDate(machine("a", 2), 7) || s.WasUpToDate(machine("b", 2), 7) {
		t.Error("the Machine was forgotten, and another one never known")
	}
}
