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

package kind

import (
	"strings"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

func TestChanges(t *testing.T) {
	cases := map[string]struct {
		reason, option, current, desired string
		want                             []string
	}{
		"Value": {reason: "A value is shown from what to what.", option: "memory", current: "4096", desired: "8192", want: []string{"memory 4096 → 8192"}},
		"Added": {reason: "One that is not there is none.", option: "onboot", desired: "1", want: []string{"onboot (none) → 1"}},
		"Removed": {
			reason: "One that goes is none after that.", option: "net1", current: "virtio=AA,bridge=vmbr0",
			want: []string{"net1 virtio=AA,bridge=vmbr0 → (none)"},
		},
		"Property": {
			reason: "Only the property is named that changes.", option: "net0", current: "virtio=AA,bridge=vmbr9",
			desired: "virtio=AA,bridge=vmbr0", want: []string{"net0 bridge vmbr9 → vmbr0"},
		},
		"Properties": {
			reason: "Each property has a line.", option: "net0", current: "virtio=AA,bridge=vmbr9,tag=2",
			desired: "virtio=AA,bridge=vmbr0,mtu=9000",
			want:    []string{"net0 bridge vmbr9 → vmbr0", "net0 mtu (none) → 9000", "net0 tag 2 → (none)"},
		},
		"Unnamed": {
			reason: "The first property of a disk has no name.", option: "scsi0", current: "a:1,size=8G", desired: "b:1,size=8G",
			want: []string{"scsi0 a:1 → b:1"},
		},
		"Description": {
			reason: "A text is shortened to a line.", option: "description", current: "a = b\nc", desired: strings.Repeat("x", 61),
			want: []string{"description a = b c → " + strings.Repeat("x", 60) + "…"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Changes(tc.option, tc.current, tc.desired)); diff != "" {
				t.Errorf("%s Changes(): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestUpToDate(t *testing.T) {
	differs := []v1alpha1.OptionDifference{{Option: "comment", Current: "a", Desired: "b"}, {Option: "nodes", Desired: "pve1"}}
	exists := Problem{Reason: ReasonAlreadyExists, Message: "pool exists"}
	cases := map[string]struct {
		reason     string
		difference []v1alpha1.OptionDifference
		problems   []Problem
		want       xpv2.Condition
	}{
		"Equal": {
			reason: "Without a difference or a problem the condition is True.",
			want:   xpv2.Condition{Status: corev1.ConditionTrue, Reason: ReasonUpToDate},
		},
		"Different": {
			reason: "The options that differ are named.", difference: differs,
			want: xpv2.Condition{Status: corev1.ConditionFalse, Reason: ReasonDifferent, Message: "comment a → b; nodes (none) → pve1"},
		},
		"Problem": {
			reason: "A problem gives the reason, whatever differs.", difference: differs[:1], problems: []Problem{exists},
			want: xpv2.Condition{Status: corev1.ConditionFalse, Reason: ReasonAlreadyExists, Message: "comment a → b; pool exists"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.want.Type = TypeUpToDate
			got := UpToDate(tc.difference, tc.problems...)
			if diff := cmp.Diff(tc.want, got, cmpopts.IgnoreFields(xpv2.Condition{}, "LastTransitionTime")); diff != "" {
				t.Errorf("%s UpToDate(): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestUpToDateWithoutConnection checks that UpToDate is unknown while there is no connection to observe the resource.
func TestUpToDateWithoutConnection(t *testing.T) {
	boom := errors.New("the Secret does not exist")
	unknown := xpv2.Condition{Type: TypeUpToDate, Status: corev1.ConditionUnknown, Reason: xpv2.ReasonUnavailable, Message: boom.Error()}
	waits := UpToDate(nil, Problem{Reason: xpv2.ReasonUpdateFailed, Message: "it waits"})
	cases := map[string]struct {
		reason    string
		was, want xpv2.Condition
		err       error
	}{
		"Connected": {reason: "The condition stays while a connection lets the resource be looked at.", was: UpToDate(nil), want: UpToDate(nil)},
		"Lost":      {reason: "Nobody can tell without a connection whether a resource is up to date.", was: UpToDate(nil), err: boom, want: unknown},
		"Waits":     {reason: "What is not up to date keeps its reason.", was: waits, err: boom, want: waits},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m := &cluster.Machine{}
			m.SetConditions(tc.was)
			_, err := upToDateConnector[*cluster.Machine]{next: connecting(nil, tc.err)}.Connect(t.Context(), m)
			if got := m.GetCondition(TypeUpToDate); !got.Equal(tc.want) || !errors.Is(err, tc.err) {
				t.Errorf("%s\nwant %v, got %v with error %v", tc.reason, tc.want, got, err)
			}
		})
	}
}
