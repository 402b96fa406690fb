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

package placement

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestReservations(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	r := NewReservations(func() time.Time { return now })
	want := func(why string, all map[string]Occupant) {
		t.Helper()
		seen := map[string]Occupant{}
		for _, id := range []string{"a", "b", "c"} {
			if o, ok := r.Of(id); ok {
				seen[id] = o
			}
		}
		if diff := cmp.Diff(all, seen); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", why, diff)
		}
	}
	r.Reserve("a", Occupant{Node: "pve1", CPUs: 2})
	r.Reserve("b", Occupant{Node: "pve3"})
	want("What is reserved", map[string]Occupant{"a": {Node: "pve1", CPUs: 2}, "b": {Node: "pve3"}})
	if !r.Release("b") || r.Release("b") || r.Release("unknown") {
		t.Error("want that there was a reservation for b, once")
	}
	want("What is released is free", map[string]Occupant{"a": {Node: "pve1", CPUs: 2}})
	now = now.Add(reservedFor + time.Second)
	want("A reservation ends", map[string]Occupant{})
	r.Reserve("c", Occupant{Node: "pve2"})
	want("Others go on", map[string]Occupant{"c": {Node: "pve2"}})
	if len(r.all) != 1 {
		t.Errorf("want what has ended to be forgotten, got %d", len(r.all))
	}
}
