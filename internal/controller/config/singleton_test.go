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

package config

import (
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	xpfake "github.com/crossplane/crossplane-runtime/v2/pkg/resource/fake"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// A thing is a resource of a kind of singletons.
type thing struct {
	xpfake.Managed

	seen observed
}

type observed struct {
	Name  string
	Load  int
	Ready bool

	Difference []v1alpha1.OptionDifference
	At         *metav1.Time
}

func (t *thing) Observation() *observed { return &t.seen }

func TestSettle(t *testing.T) {
	table := Singleton[*thing, observed, observed]{
		Observe:      func(seen, _ observed) observed { return seen },
		Status:       func(o *observed) Status { return Status{Ready: &o.Ready, Difference: &o.Difference, At: &o.At} },
		WithoutUsage: func(o *observed) observed { c := *o; c.Load = 0; return c },
	}
	at := time.Unix(1_800_000_000, 500)
	for name, tc := range map[string]struct {
		reason     string
		seen       observed
		difference []v1alpha1.OptionDifference
		after      time.Duration
		want       bool
	}{
		"Same":  {reason: "What has not changed is not written.", seen: observed{Name: "a", Load: 1}, after: time.Second},
		"Load":  {reason: "What changes all the time alone is not written.", seen: observed{Name: "a", Load: 2}, after: time.Second},
		"Later": {reason: "What changes all the time is written once in a while.", seen: observed{Name: "a", Load: 2}, after: statusInterval, want: true},
		"Other": {reason: "Other changes are written at once.", seen: observed{Name: "b", Load: 1}, after: time.Second, want: true},
		"Difference": {
			reason: "A difference is written at once.", seen: observed{Name: "a", Load: 1}, difference: []v1alpha1.OptionDifference{{Option: "x"}}, want: true,
		},
		"Backward": {reason: "A clock that was set back stops nothing.", seen: observed{Name: "a", Load: 1}, after: -time.Hour, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			now, mg := at, &thing{}
			e := &singleton[*thing, observed, observed]{table: table, env: env{now: func() time.Time { return now }}}
			e.settle(mg, observed{Name: "a", Load: 1})
			if !mg.seen.At.Time.Equal(at.Truncate(time.Second)) {
				t.Fatalf("want the time of the look, got %v", mg.seen.At)
			}
			before := mg.seen
			now, e.difference = at.Add(tc.after), tc.difference
			e.settle(mg, tc.seen)
			if written := !cmp.Equal(before, mg.seen); written != tc.want {
				t.Errorf("%s\nwritten: got %t, want %t", tc.reason, written, tc.want)
			}
		})
	}
}

// heard are the messages of events.
type heard []string

func (h *heard) Event(_ runtime.Object, e event.Event)      { *h = append(*h, e.Message) }
func (h *heard) WithAnnotations(_ ...string) event.Recorder { return h }

// TestTellChanges checks that an event reports each change of options, with the old and the new value.
func TestTellChanges(t *testing.T) {
	var h heard
	tellChanges(&h, &thing{}, "ChangedOptions", "set: ", []v1alpha1.OptionDifference{
		{Option: "keyboard", Desired: "de"},
		{Option: "migration", Current: "type=secure,network=10.0.0.0/8", Desired: "type=insecure,network=10.0.0.0/8"},
		{Option: "password", Current: hidden, Desired: hidden},
	})
	want := heard{"set: keyboard (none) → de", "set: migration type secure → insecure", "set: password ******** → ********"}
	if diff := cmp.Diff(want, h); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}
