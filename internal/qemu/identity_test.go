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

package qemu

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

const (
	ourUUID   = "11111111-2222-4333-8444-55555555555a"
	otherUUID = "99999999-2222-4333-8444-55555555555f"
)

// TestProveState checks a change that failed halfway. The description without the marker may be pending, and the UUID not.
func TestProveState(t *testing.T) {
	id := Identity{VMID: 100, UUID: ourUUID}
	marked, other := "full\n"+id.marker(), Config{"smbios1": "uuid=" + otherUUID, "description": "full"}
	cases := map[string]struct {
		reason string
		state  State
		want   Proof
	}{
		"Halfway": {
			reason: "The marker in force proves a clone ours.", want: Ours,
			state: State{Config: other, Active: Config{"smbios1": "uuid=" + otherUUID, "description": marked}},
		},
		"Foreign": {reason: "A VM without a proof is somebody else's.", want: Foreign, state: State{Config: other, Active: other}},
		"Pending": {
			reason: "A UUID that is pending proves a VM ours.", want: Ours,
			state: State{Config: Config{"smbios1": "uuid=" + ourUUID}, Active: other},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := id.ProveState(tc.state); got != tc.want {
				t.Errorf("\n%s\nwant %v, got %v", tc.reason, tc.want, got)
			}
		})
	}
}

func TestProve(t *testing.T) {
	id := Identity{VMID: 100, UUID: ourUUID}
	cases := map[string]struct {
		reason string
		id     Identity
		config map[string]string
		want   Proof
	}{
		"UUID": {reason: "The UUID proves a VM ours.", id: id, config: map[string]string{"smbios1": "uuid=" + ourUUID}, want: Ours},
		"UUIDInUpperCase": {
			reason: "The case of a UUID is of no meaning.", id: id, config: map[string]string{"smbios1": "uuid=" + strings.ToUpper(ourUUID)},
			want: Ours,
		},
		"UUIDAmongOthers": {
			reason: "The option has other parts beside the UUID.", id: id,
			config: map[string]string{"smbios1": "base64=1,manufacturer=QQ==,uuid=" + ourUUID}, want: Ours,
		},
		"Marker": {
			reason: "A clone is ours by its marker before it has its UUID.", id: id,
			config: map[string]string{"smbios1": "uuid=" + otherUUID, "description": "x\n" + id.marker() + "\n", "lock": "clone"}, want: Ours,
		},
		"OtherUUID": {reason: "A VM of another UUID is somebody else's.", id: id, config: map[string]string{"smbios1": "uuid=" + otherUUID}, want: Foreign},
		"OtherUUIDLocked": {
			reason: "A VM of another UUID is somebody else's, also while it is created.", id: id,
			config: map[string]string{"smbios1": "uuid=" + otherUUID, "lock": "clone"}, want: Foreign,
		},
		"OtherMarker": {
			reason: "The marker of another resource proves nothing.", id: id,
			config: map[string]string{"description": Identity{UUID: otherUUID}.marker()}, want: Foreign,
		},
		"NoUUID": {reason: "A VM that shows no identity is not ours.", id: id, config: map[string]string{"name": "x"}, want: Foreign},
		"BeingCreated": {
			reason: "A VM that is being created does not show whose it is yet.", id: id, config: map[string]string{"lock": "create"},
			want: Unproven,
		},
		"BeingCloned":     {reason: "A VM that is being cloned does not show whose it is yet.", id: id, config: map[string]string{"lock": "clone"}, want: Unproven},
		"LockedOtherwise": {reason: "Other locks are not those of creation.", id: id, config: map[string]string{"lock": "backup"}, want: Foreign},
		"NoIdentity": {
			reason: "Without an identity nothing is ours, least of all what has none either.", config: map[string]string{"name": "x"},
			want: Foreign,
		},
		"NoIdentityLocked": {reason: "Without an identity nothing can become ours.", config: map[string]string{"lock": "create"}, want: Foreign},
		"EmptyMarker":      {reason: "A marker without a UUID proves nothing.", config: map[string]string{"description": Identity{}.marker()}, want: Foreign},
		"UnreadableSMBIOS": {
			reason: "What cannot be read proves nothing.", id: id, config: map[string]string{"smbios1": "uuid=" + ourUUID + ",uuid=" + ourUUID},
			want: Foreign,
		},
		"UUIDInDescription": {
			reason: "The UUID in a person's own words proves nothing.", id: id,
			config: map[string]string{"description": "copy of uuid=" + ourUUID}, want: Foreign,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.id.Prove(tc.config); got != tc.want {
				t.Errorf("\n%s\nwant %d, got %d", tc.reason, tc.want, got)
			}
		})
	}
}

func TestMark(t *testing.T) {
	id := Identity{UUID: ourUUID}
	cases := map[string]struct {
		reason      string
		description string
		want        string
	}{
		"Empty":   {reason: "No description stays none."},
		"Line":    {reason: "A text without a marker stays.", description: "A template", want: "A template"},
		"LineEnd": {reason: "The line end that PVE adds does not pile up.", description: "A template\n", want: "A template"},
		"Lines":   {reason: "All lines of a text stay.", description: "# A\n\ntemplate", want: "# A\n\ntemplate"},
		"OtherMarker": {
			reason: "The marker of a template that was cloned itself is not inherited.", description: Identity{UUID: otherUUID}.Mark("A template"),
			want: "A template",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			marked := id.Mark(tc.description)
			if id.Prove(map[string]string{"description": marked + "\n"}) != Ours {
				t.Errorf("\n%s\n%q is not proven ours", tc.reason, marked)
			}
			if got := Unmark(marked); got != tc.want {
				t.Errorf("\n%s\nunmark: want %q, got %q", tc.reason, tc.want, got)
			}
			if got := Unmark(marked + "\n"); got != tc.want {
				t.Errorf("\n%s\nunmark with a line end: want %q, got %q", tc.reason, tc.want, got)
			}
		})
	}
}

func TestUnmark(t *testing.T) {
	marker := Identity{UUID: ourUUID}.marker()
	cases := map[string]struct {
		reason      string
		description string
		want        string
	}{
		"None":   {reason: "A text without a marker stays as it is.", description: "a\n\n", want: "a\n\n"},
		"Edited": {reason: "What a person wrote below the marker stays.", description: "a\n" + marker + "\nb", want: "a\nb"},
		"Alone":  {reason: "A marker alone leaves nothing.", description: marker},
		"Cut":    {reason: "A marker without its end is removed.", description: "a\n" + markerStart + "xyz", want: "a"},
		"Twice":  {reason: "All markers of a text go.", description: "a\n" + marker + "\n" + marker, want: "a"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Unmark(tc.description); got != tc.want {
				t.Errorf("\n%s\nwant %q, got %q", tc.reason, tc.want, got)
			}
		})
	}
}

func TestIdentityOptions(t *testing.T) {
	id := Identity{VMID: 100, UUID: ourUUID}
	type want struct {
		set    proxmox.Params
		remove []string
	}
	done := "uuid=" + ourUUID
	cases := map[string]struct {
		reason      string
		description *string
		config      map[string]string
		want        want
	}{
		"New": {reason: "A new VM gets the UUID.", want: want{set: proxmox.Params{"smbios1": done}}},
		"Done": {
			reason: "A VM that has the UUID is left alone.", config: map[string]string{"smbios1": done, "description": "x"},
			want: want{set: proxmox.Params{}},
		},
		"UpperCase": {
			reason: "A VM that has the UUID in capitals is left alone.", config: map[string]string{"smbios1": "uuid=" + strings.ToUpper(ourUUID)},
			want: want{set: proxmox.Params{}},
		},
		"KeepsParts": {
			reason: "The other parts of the option stay.", config: map[string]string{"smbios1": "base64=1,uuid=" + otherUUID + ",family=QQ=="},
			want: want{set: proxmox.Params{"smbios1": "base64=1,uuid=" + ourUUID + ",family=QQ=="}},
		},
		"Marker": {
			reason: "A clone loses its marker.", config: map[string]string{"smbios1": done, "description": id.Mark("x")},
			want: want{set: proxmox.Params{"description": "x"}},
		},
		"MarkerAlone": {
			reason: "A description that was a marker only goes.", config: map[string]string{"smbios1": done, "description": id.Mark("") + "\n"},
			want: want{set: proxmox.Params{}, remove: []string{"description"}},
		},
		"Declared": {
			reason: "A declared description takes the marker's place.", description: new("mine"),
			config: map[string]string{"smbios1": done, "description": id.Mark("x")}, want: want{set: proxmox.Params{"description": "mine"}},
		},
		"DeclaredSame": {
			reason: "The line end that PVE adds is no difference.", description: new("mine"),
			config: map[string]string{"smbios1": done, "description": "mine\n"}, want: want{set: proxmox.Params{}},
		},
		"DeclaredEmpty": {
			reason: "An empty description removes what is there.", description: new(""),
			config: map[string]string{"smbios1": done, "description": "x"}, want: want{set: proxmox.Params{}, remove: []string{"description"}},
		},
		"DeclaredLineBreak": {
			reason: "Line ends of the spec are no difference.", description: new("mine\n"),
			config: map[string]string{"smbios1": done, "description": "mine"}, want: want{set: proxmox.Params{}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got want
			got.set, got.remove = changeOf(id.options(tc.description, nil), tc.config)
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("\n%s\nchange: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
