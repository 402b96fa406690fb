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

package backup_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/vitistack/provider-proxmox/internal/controller/backup"
	"github.com/vitistack/provider-proxmox/internal/controller/config/configtest"
)

// nodeCalls returns the calls about nodes, their VMs and storages so far. One reader makes those about the cluster for all resources.
func (l *lab) nodeCalls() []string {
	var all []string
	for _, r := range l.Requests() {
		if strings.HasPrefix(r.Path, "/nodes/") {
			all = append(all, r.Method+" "+r.Path)
		}
	}
	return all
}

func count(calls []string, call string) int {
	return len(slices.DeleteFunc(slices.Clone(calls), func(c string) bool { return c != call }))
}

// TestCost reconciles Backups while nothing happens. However many a storage has, its list is read once, and nothing else is read again.
func TestCost(t *testing.T) {
	counts := map[int]int{}
	for _, n := range []int{2, 8} {
		l := here(t)
		l.Machine(uuid)
		var all []backup.Backup
		for i := range n {
			b := l.backup(fmt.Sprintf("b%d", i), spec+"notes: of web\n")
			l.Until(b, "it is made", configtest.Settled(b))
			all = append(all, b)
		}
		look := func() {
			for _, b := range all {
				l.Reconcile(b)
			}
		}
		l.RestartBySigns()
		before := len(l.nodeCalls())
		look()
		first := l.nodeCalls()[before:]
		counts[n] = len(first)
		if lists := count(first, "GET /nodes/pve1/storage/nas/content"); lists != 1 {
			t.Errorf("a look at each of %d Backups reads the list of their storage %d times, want once", n, lists)
		}
		for range 5 {
			look()
		}
		if again := l.nodeCalls()[before+len(first):]; len(again) > 0 {
			t.Errorf("5 more looks at each of %d Backups cost %d calls, such as %s", n, len(again), again[0])
		}
		l.Restart() // Another provider does not take a list that was read before for a new one.
		l.Must(l.Client.ChangeVolume(l.Context(), "pve1", all[0].Observation().Volume, nil, new(false)))
		l.Succeeded(l.Client.DeleteVolume(l.Context(), "pve1", all[0].Observation().Volume))
		l.Until(all[0], "it is gone", configtest.Says(all[0], xpv2.TypeReady, "Gone"))
	}
	if counts[2] != counts[8] || counts[2] == 0 {
		t.Errorf("want the same calls for 2 Backups and for 8, got %v", counts)
	}
}
