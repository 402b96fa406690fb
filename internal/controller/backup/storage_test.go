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

package backup

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind/target"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// A listing has backups.
type listing struct {
	Inventory

	all []proxmox.Volume
}

func (l listing) Volumes(context.Context, string, string, string, time.Duration) ([]proxmox.Volume, error) {
	return l.all, nil
}

// TestFindMade checks that a volume in a log is accepted only if it can be the backup. A log contains texts of users too.
func TestFindMade(t *testing.T) {
	const (
		begun = 0x65000000 // The time in the UPID.
		upid  = "UPID:pve1:00000001:00000001:65000000:vzdump:500:crossplane@pve:"
		named = "nas:backup/named"
	)
	ours := proxmox.Volume{ID: "nas:backup/ours", VMID: 500, Changed: begun + 1, Notes: "provider-proxmox: 1"}
	cases := map[string]struct {
		reason string
		volume proxmox.Volume
		want   string
	}{
		"Named":   {reason: "The log tells which backup was made.", volume: proxmox.Volume{VMID: 500, Changed: begun + 1}, want: named},
		"Slack":   {reason: "Names have the local time, in seconds.", volume: proxmox.Volume{VMID: 500, Changed: begun - 1}, want: named},
		"OtherVM": {reason: "The task makes a backup of one VM.", volume: proxmox.Volume{VMID: 501, Changed: begun + 1}, want: ours.ID},
		"Older":   {reason: "What was there before is not what it has made.", volume: proxmox.Volume{VMID: 500, Changed: begun - 3600}, want: ours.ID},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.volume.ID, tc.volume.Notes = named, "of others"
			e := &external{inventory: listing{all: []proxmox.Volume{tc.volume, ours}}, view: &view{
				record: &record{VMID: 500, Begun: begun, Task: upid}, target: target.VM{VMID: 500}, node: "pve1",
			}}
			b := &namespaced.Backup{ObjectMeta: metav1.ObjectMeta{UID: "1"}}
			b.Parameters().Storage = "nas"
			got, err := e.findMade(t.Context(), b, []string{"INFO: creating vzdump archive '/mnt/nas/dump/named'"})
			if err != nil || got == nil || got.ID != tc.want {
				t.Errorf("\n%s\nwant %s, got %+v, %v", tc.reason, tc.want, got, err)
			}
		})
	}
}
