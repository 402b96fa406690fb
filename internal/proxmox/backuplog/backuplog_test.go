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
	"testing"
)

func TestVolume(t *testing.T) {
	cases := map[string]struct {
		reason, line, want string
	}{
		"File": {"The name of a file.", "INFO: creating vzdump archive '/mnt/pve/nas/dump/vzdump-qemu-100-x.vma.zst'", "nas:backup/vzdump-qemu-100-x.vma.zst"},
		"Server": {
			"The name of a backup on a backup server.", "INFO: creating Proxmox Backup Server archive 'vm/100/2026-11-22T17:00:00Z'",
			"nas:backup/vm/100/2026-11-22T17:00:00Z",
		},
		"None": {"The log does not tell it yet.", "INFO: Starting Backup of VM 100 (qemu)", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Volume([]string{"INFO: other", tc.line}, "nas"); got != tc.want {
				t.Errorf("%s got %q", tc.reason, got)
			}
		})
	}
}

func TestFailure(t *testing.T) {
	log := func(why string) []string {
		return []string{"ERROR: Backup of VM 100 failed - " + why, "INFO: Backup job finished with errors"}
	}
	cases := map[string]struct {
		reason, exit string
		log          []string
		want         Problem
		sentence     string
	}{
		"Content": {
			"The task sees what the storage takes.",
			"could not get storage information for 'x1': can't use storage 'x1' for backups - wrong content type", nil,
			NotSupported, "storage x1 does not take backups: its content types lack backup",
		},
		"Storage": {
			"A storage that is not there.", "could not activate storage 'x1': storage 'x1' does not exist", nil,
			StorageUnavailable, "storage x1 cannot be used: storage 'x1' does not exist",
		},
		"Limit": {
			"The log tells what the exit status does not.", "job errors",
			log("There is a max backup limit of 2 enforced by the target storage or the vzdump parameters."),
			Limit, "the storage keeps at most 2 backups of the VM, and none is removed for this one",
		},
		"HA": {
			"HA would start what the backup stops.", "job errors", log("Cannot execute a backup with stop mode on a HA managed and enabled Service."),
			NotSupported, "mode stop is not for a VM that HA keeps running",
		},
		"Full":    {"The storage has no room left.", "job errors", log("vma_queue_write: write error - Broken pipe"), StorageFull, "no space is left on the storage"},
		"Locked":  {"A lock of the VM is named.", "job errors", log("VM is locked (snapshot)"), Locked, "the VM is locked by something else that works on it"},
		"NoVM":    {"The VM does not exist any more.", "job errors", log("unable to find VM '100'"), NoVM, "VM 100 does not exist"},
		"Stopped": {"Somebody has stopped the task.", "interrupted by signal", nil, Stopped, "the task was stopped"},
		"Kept":    {"The older backup is protected.", "cannot remove protected volume 'x' on 'nas'", nil, IsProtected, "the backup is protected in Proxmox VE"},
		"Other":   {"Any other is told as it is.", "job errors", log("some new reason"), Failed, "some new reason"},
		"NoLog":   {"Without a log there is the exit status.", "job errors", nil, Failed, "job errors"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			problem, sentence := Failure(tc.exit, tc.log)
			if problem != tc.want || sentence != tc.sentence {
				t.Errorf("%s got %s, %q", tc.reason, problem, sentence)
			}
		})
	}
}
