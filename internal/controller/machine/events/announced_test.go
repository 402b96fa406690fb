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

package events

import (
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/objectstate"
)

// TestRetainedOnce checks that a retained device is reported once, even in reconciles that begin with an older status, and again if it was managed
// meanwhile.
func TestRetainedOnce(t *testing.T) {
	const m = objectstate.UID("a")
	none := &v1alpha1.MachineObservation{}
	root := &v1alpha1.MachineObservation{RetainedDevices: []v1alpha1.MachineRetainedDevice{
		{List: "disks", Name: "root", Device: "scsi0", Reason: "the VM boots from it"},
	}}
	var told Announced
	for i, step := range []struct {
		reason        string
		before, after *v1alpha1.MachineObservation
		want          int
	}{
		{"No device is retained at first.", none, none, 0},
		{"A device is retained.", none, root, 1},
		{"The status is older than that.", none, root, 0},
		{"The status is of then.", root, root, 0},
		{"The device is managed again.", root, none, 0},
		{"The device is retained again.", none, root, 1},
	} {
		if got := told.Retained(m, step.before, step.after); len(got) != step.want {
			t.Errorf("step %d: %s\nwant %d events, got %v", i, step.reason, step.want, got)
		}
	}
	told.Forget(m)
	if got := told.Retained(m, root, root); len(got) > 0 {
		t.Errorf("want what the status has not told by a provider that starts again, got %v", got)
	}
}

// TestOvercommittedOnce checks that it is reported once for each generation of a Machine that a disk may fill its storage.
func TestOvercommittedOnce(t *testing.T) {
	const m = objectstate.UID("a")
	var told Announced
	for i, step := range []struct {
		generation int64
		disk       string
		want       bool
	}{{1, "data", true}, {1, "data", false}, {1, "more", true}, {2, "data", true}, {2, "data", false}} {
		if got := told.Overcommitted(m, step.generation, step.disk); got != step.want {
			t.Errorf("step %d: want news %t, got %t", i, step.want, got)
		}
	}
}

// TestFaultOnce checks the same for a fault.
func TestFaultOnce(t *testing.T) {
	const m = objectstate.UID("a")
	var told Announced
	for i, step := range []struct {
		in    xpv2.ConditionType
		fault string
		want  bool
	}{
		{"Ready", "", false},
		{"Ready", "no disk", true},
		{"Ready", "no disk", false},
		{"Ready", "no bridge", true},
		{"Full", "no disk", true},
		{"Ready", "no bridge", false},
		{"Ready", "", false},
		{"Ready", "no bridge", true},
		{"Full", "no disk", false},
	} {
		if got := told.Fault(m, step.in, step.fault); got != step.want {
			t.Errorf("step %d: fault %q: want news %t, got %t", i, step.fault, step.want, got)
		}
	}
}
