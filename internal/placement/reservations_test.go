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
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestReservations(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	r := NewReservations(func() time.Time { return now })
	var seen map[string]Occupant
	choose := func(node string, final bool, err error) Choice {
		return func(reserved map[string]Occupant) (Decision, bool, error) {
			seen = reserved
			return Decision{Node: node}, final, err
		}
	}
	want := func(why string, all map[string]Occupant) {
		t.Helper()
		if _, _, err := r.Evaluate("", Occupant{}, choose("pve9", true, nil)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(all, seen); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", why, diff)
		}
	}
	if d, final, err := r.Decide("a", Occupant{CPUs: 2}, choose("pve1", true, nil)); d.Node != "pve1" || !final || err != nil {
		t.Errorf("want what was chosen, got %v, %t, %v", d, final, err)
	}
	want("A final choice is reserved", map[string]Occupant{"a": {Node: "pve1", CPUs: 2}})
	if _, final, err := r.Decide("b", Occupant{}, choose("pve1", false, nil)); final || err != nil {
		t.Errorf("want a choice that is not final, got %t, %v", final, err)
	}
	if _, _, err := r.Decide("c", Occupant{}, choose("pve1", true, errors.New("boom"))); err == nil {
		t.Error("want the error of the choice, got none")
	}
	want("Neither one that is not final nor an error is", map[string]Occupant{"a": {Node: "pve1", CPUs: 2}})
	if _, _, err := r.Decide("e", Occupant{}, choose("pve3", true, nil)); err != nil {
		t.Fatal(err)
	}
	r.Release("e")
	r.Release("unknown")
	want("What is released is free", map[string]Occupant{"a": {Node: "pve1", CPUs: 2}})
	now = now.Add(reservedFor + time.Second)
	if _, final, err := r.Decide("d", Occupant{}, choose("pve2", true, nil)); !final || err != nil {
		t.Errorf("want a final choice, got %t, %v", final, err)
	}
	want("A reservation ends", map[string]Occupant{"d": {Node: "pve2"}})
}
