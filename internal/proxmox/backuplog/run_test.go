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

package backuplog

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

func TestCommand(t *testing.T) {
	job := map[string]string{
		"type": "vzdump", "schedule": "02:30", "enabled": "1", "comment": "Nightly", "next-run": "1", "node": "pve1",
		"vmid": "101,100", "storage": "nas", "mode": "snapshot", "prune-backups": "keep-daily=7,keep-last=3", "fleecing": "enabled=1,storage=fast",
		"notes-template": "it's {{guestname}}, on {{node}}", "mailto": "b@example.com,a@example.com",
	}
	const options = ` --prune-backups 'keep-last=3,keep-daily=7' --mode snapshot --fleecing '1,storage=fast' --storage nas` +
		` --notes-template 'it'\''s {{guestname}}, on {{node}}' --mailto a@example.com,b@example.com`
	cases := map[string]struct {
		reason, log             string
		equal, alike, scheduled bool
	}{
		"Scheduled": {reason: "The scheduler runs it.", log: "vzdump 100 101 --quiet 1 --node pve1" + options, equal: true, alike: true, scheduled: true},
		"Now":       {reason: "Somebody runs it now.", log: "vzdump 100 101 --all 0" + options, equal: true, alike: true},
		"Guests":    {reason: "A guest is new since.", log: "vzdump 100 --quiet 1" + options, alike: true, scheduled: true},
		"All":       {reason: "All are others than some.", log: "vzdump --all 1 --quiet 1" + options, scheduled: true},
		"Excluded":  {reason: "All but one are others than some.", log: "vzdump --exclude 102 --quiet 1" + options, scheduled: true},
		"Other":     {reason: "Another mode is another run's.", log: "vzdump 100 101 --quiet 1" + strings.Replace(options, "snapshot", "stop", 1), scheduled: true},
		"More":      {reason: "An option more is another run's.", log: "vzdump 100 101 --quiet 1 --protected 1" + options, scheduled: true},
		"Fewer":     {reason: "A backup of one guest by hand.", log: "vzdump 100 --storage nas --mode snapshot --remove 0"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c, ok := commandOf("INFO: starting new backup job: " + tc.log)
			own := Started(job)
			if !ok || own.Equal(c) != tc.equal || own.Alike(c) != tc.alike || c.Scheduled != tc.scheduled {
				t.Errorf("%s got %+v beside %+v", tc.reason, c, own)
			}
		})
	}
	for a, b := range map[string]string{"vzdump --exclude 102": "vzdump --all 1 --exclude '102'", `vzdump --mailto "a;b"`: `vzdump --mailto b,a`} {
		x, _ := commandOf("INFO: starting new backup job: " + a)
		y, _ := commandOf("INFO: starting new backup job: " + b)
		if !x.Equal(y) {
			t.Errorf("%+v and %+v are the same", x, y)
		}
	}
}

const runLog = `INFO: trying to get global lock - waiting...
INFO: got global lock
INFO: starting new backup job: vzdump 100 101 102 103 104 --storage nas --quiet 1
INFO: skip external VMs: 103, 105
INFO: Starting Backup of VM 100 (qemu)
INFO: Backup started at 2026-11-22 02:30:04
INFO: status = running
INFO: creating vzdump archive '/mnt/pve/nas/dump/vzdump-qemu-100-2026_11_22-02_30_04.vma.zst'
INFO: 100% (2.2 GiB of 2.2 GiB) in 9s, read: 250.0 MiB/s, write: 0 B/s
INFO: archive file size: 612MB
INFO: Finished Backup of VM 100 (00:00:10)
INFO: Backup finished at 2026-11-22 02:30:14
INFO: Starting Backup of VM 101 (qemu)
INFO: creating vzdump archive '/mnt/pve/nas/dump/vzdump-qemu-101-2026_11_22-02_30_14.vma.zst'
zstd: error 70 : Write error : cannot write block : No space left on device
INFO: aborting backup job
ERROR: Backup of VM 101 failed - vma_queue_write: write error - Broken pipe
INFO: Failed at 2026-11-22 02:30:20
ERROR: Backup of VM 102 failed - unable to find VM '102'
INFO: Failed at 2026-11-22 02:30:21
INFO: Starting Backup of VM 104 (lxc)
`

func TestReader(t *testing.T) {
	r := NewReader()
	for line := range strings.Lines(runLog) {
		r.Read(strings.TrimSuffix(line, "\n"))
	}
	run := r.Run()
	if run.Command == nil || !run.Command.Scheduled || len(run.Command.Guests) != 5 {
		t.Errorf("the command is %+v", run.Command)
	}
	if diff := cmp.Diff([]int{103, 105}, run.Elsewhere); diff != "" {
		t.Errorf("guests on other nodes: -want, +got:\n%s", diff)
	}
	want := map[int]Outcome{
		100: {Finished: true, Archive: "/mnt/pve/nas/dump/vzdump-qemu-100-2026_11_22-02_30_04.vma.zst"},
		101: {
			Archive: "/mnt/pve/nas/dump/vzdump-qemu-101-2026_11_22-02_30_14.vma.zst",
			Problem: StorageFull, Message: "no space is left on the storage",
		},
		102: {Problem: NoVM, Message: "VM 102 does not exist"},
		104: {},
	}
	if diff := cmp.Diff(want, run.Guests); diff != "" {
		t.Errorf("guests: -want, +got:\n%s", diff)
	}
	if got := run.Guests[100].VolumeOn("nas"); got != "nas:backup/vzdump-qemu-100-2026_11_22-02_30_04.vma.zst" {
		t.Errorf("the volume is %q", got)
	}
	if got := run.Guests[101].VolumeOn("nas"); got != "" {
		t.Errorf("what has failed has the volume %q", got)
	}
}

func TestRunFailure(t *testing.T) {
	cases := map[string]struct {
		reason, exit, storage string
		log                   []string
		want                  Problem
	}{
		"OK":       {reason: "The run has ended well.", exit: "OK"},
		"Warnings": {reason: "Warnings are no failure.", exit: "WARNINGS: 2"},
		"Guests":   {reason: "Guests have failed, not the run.", exit: jobErrors},
		"Storage": {
			reason: "The storage cannot be used.", exit: "could not activate storage 'nas': storage 'nas' is not online", storage: "nas", want: StorageUnavailable,
		},
		"Content": {
			reason: "The storage takes no backups.", exit: "could not get storage information for 'nas': can't use storage 'nas' for backups - wrong content type",
			storage: "nas", want: NotSupported,
		},
		"Busy": {
			reason: "Another run has kept the node busy.", exit: unexpected, want: Locked,
			log: []string{"INFO: trying to get global lock - waiting...", "ERROR: can't acquire lock '/var/run/vzdump.lock' - got timeout"},
		},
		"Down": {reason: "The node went down.", exit: unexpected, want: Stopped},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r, task := NewReader(), proxmox.Task{ExitStatus: tc.exit}
			for _, line := range tc.log {
				r.Read(line)
			}
			got, _ := r.Run().Failure(task)
			if storage := StorageOf(task); got != tc.want || storage != tc.storage {
				t.Errorf("%s got %s of storage %q", tc.reason, got, storage)
			}
		})
	}
}
