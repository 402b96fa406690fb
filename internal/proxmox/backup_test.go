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

package proxmox

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const backupTask = `"UPID:pve1:00000EF8:000629DA:6B00B985:vzdump:100:tester@pve!full:"`

func TestBackupRequests(t *testing.T) {
	const volume = "nas:backup/vzdump-qemu-100-2026_11_22-17_00_00.vma.zst"
	const path = "/api2/json/nodes/pve1/storage/nas/content/nas:backup/vzdump-qemu-100-2026_11_22-17_00_00.vma.zst"
	type want struct {
		Method, Path string
		Form         map[string]string
	}
	cases := map[string]struct {
		reason string
		call   func(context.Context, *Client) error
		want   want
	}{
		"Plain": {
			reason: "Older backups are never removed for a new one.",
			call: func(ctx context.Context, c *Client) error {
				return task(c.BackUp(ctx, vm100, BackupOptions{Storage: "nas"}))
			},
			want: want{http.MethodPost, "/api2/json/nodes/pve1/vzdump", map[string]string{"vmid": "100", "storage": "nas", "remove": "0"}},
		},
		"All": {
			reason: "Notes are escaped as a template.",
			call: func(ctx context.Context, c *Client) error {
				return task(c.BackUp(ctx, vm100, BackupOptions{
					Storage: "nas", Mode: "stop", Compress: "0", Notes: "a\\b\nc", Protected: true, Bandwidth: new(int64(5)),
				}))
			},
			want: want{http.MethodPost, "/api2/json/nodes/pve1/vzdump", map[string]string{
				"vmid": "100", "storage": "nas", "remove": "0", "mode": "stop", "compress": "0", "notes-template": `a\\b\nc`, "protected": "1", "bwlimit": "5",
			}},
		},
		"Change": {
			reason: "What is nil stays.",
			call: func(ctx context.Context, c *Client) error {
				return c.ChangeVolume(ctx, "pve1", volume, VolumeChange{Protected: new(bool)})
			},
			want: want{http.MethodPut, path, map[string]string{"protected": "0"}},
		},
		"Notes": {
			reason: "Empty notes are sent.",
			call: func(ctx context.Context, c *Client) error {
				return c.ChangeVolume(ctx, "pve1", volume, VolumeChange{Notes: new("")})
			},
			want: want{http.MethodPut, path, map[string]string{"notes": ""}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pve := fixed(t, ok(backupTask))
			if err := tc.call(background(), pve.client(t)); err != nil {
				t.Fatalf("%s\n%v", tc.reason, err)
			}
			a := pve.asked()[0]
			if diff := cmp.Diff(tc.want, want{a.method, a.path, form(t, a.body)}); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// Answers that are no task differ in what they mean.
func TestBackupWithoutTask(t *testing.T) {
	backUp := func(data string) error {
		_, err := fixed(t, ok(data)).client(t).BackUp(background(), vm100, BackupOptions{Storage: "nas"})
		return err
	}
	if err := backUp(`"OK"`); !IsNotOnNode(err) || IsOutcomeUnknown(err) {
		t.Errorf("nothing was started for a VM of another node, got %v", err)
	}
	if err := backUp(`null`); !IsOutcomeUnknown(err) || IsNotOnNode(err) {
		t.Errorf("an answer without a task may have started one, got %v", err)
	}
}

func TestBackupVolume(t *testing.T) {
	cases := map[string]struct {
		reason, line, want string
	}{
		"File":   {"The name of a file.", "INFO: creating vzdump archive '/mnt/pve/nas/dump/vzdump-qemu-100-x.vma.zst'", "nas:backup/vzdump-qemu-100-x.vma.zst"},
		"Server": {"That on a backup server.", "INFO: creating Proxmox Backup Server archive 'vm/100/2026-11-22T17:00:00Z'", "nas:backup/vm/100/2026-11-22T17:00:00Z"},
		"None":   {"Not told yet.", "INFO: Starting Backup of VM 100 (qemu)", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := BackupVolume([]string{"INFO: other", tc.line}, "nas"); got != tc.want {
				t.Errorf("%s got %q", tc.reason, got)
			}
		})
	}
}

func TestTaskHead(t *testing.T) {
	pve := fixed(t, reply{status: "200 OK", body: `{"data":[{"n":2,"t":"b"},{"n":1,"t":"a"}],"total":9}`})
	got, err := pve.client(t).TaskHead(background(), UPID(strings.Trim(backupTask, `"`)), 2)
	if diff := cmp.Diff([]string{"a", "b"}, got); err != nil || diff != "" || !strings.Contains(pve.asked()[0].query, "start=0") {
		t.Errorf("%v -want, +got:\n%s", err, diff)
	}
}

func TestBackupFailure(t *testing.T) {
	log := func(why string) []string {
		return []string{"ERROR: Backup of VM 100 failed - " + why, "INFO: Backup job finished with errors"}
	}
	cases := map[string]struct {
		reason, exit string
		log          []string
		want         BackupProblem
		sentence     string
	}{
		"Content": {
			"The task sees what the storage takes.",
			"could not get storage information for 'x1': can't use storage 'x1' for backups - wrong content type", nil,
			BackupNotSupported, "storage x1 does not take backups: its content types lack backup",
		},
		"Storage": {
			"A storage that is not there.", "could not activate storage 'x1': storage 'x1' does not exist", nil,
			BackupStorageUnavailable, "storage x1 cannot be used: storage 'x1' does not exist",
		},
		"Limit": {
			"The log tells what the exit status does not.", "job errors", log("There is a max backup limit of 2 enforced by the target storage or the vzdump parameters."),
			BackupLimit, "the storage keeps at most 2 backups of the VM, and none is removed for this one",
		},
		"HA": {
			"HA would start what the backup stops.", "job errors", log("Cannot execute a backup with stop mode on a HA managed and enabled Service."),
			BackupNotSupported, "mode stop is not for a VM that HA keeps running",
		},
		"Full":    {"No room.", "job errors", log("vma_queue_write: write error - Broken pipe"), BackupStorageFull, "no space is left on the storage"},
		"Locked":  {"A lock.", "job errors", log("VM is locked (snapshot)"), BackupLocked, "the VM is locked by something else that works on it"},
		"NoVM":    {"No VM.", "job errors", log("unable to find VM '100'"), BackupNoVM, "VM 100 does not exist"},
		"Stopped": {"Stopped.", "interrupted by signal", nil, BackupStopped, "the task was stopped"},
		"Kept":    {"Protected.", "cannot remove protected volume 'x' on 'nas'", nil, BackupIsProtected, "the backup is protected in Proxmox VE"},
		"Other":   {"Any other is told as it is.", "job errors", log("some new reason"), BackupFailed, "some new reason"},
		"NoLog":   {"Without a log there is the exit status.", "job errors", nil, BackupFailed, "job errors"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			problem, sentence := BackupFailure(tc.exit, tc.log)
			if problem != tc.want || sentence != tc.sentence {
				t.Errorf("%s got %s, %q", tc.reason, problem, sentence)
			}
		})
	}
}

func TestBackupConfig(t *testing.T) {
	pve := fixed(t, ok(`"#a note\nname: web\nsmbios1: uuid=1\n#qmdump#map:scsi0:drive-scsi0:local::\n"`))
	got, err := pve.client(t).BackupConfig(background(), "pve1", "nas:backup/x.vma")
	if diff := cmp.Diff(map[string]string{"name": "web", "smbios1": "uuid=1"}, got); err != nil || diff != "" {
		t.Errorf("%v -want, +got:\n%s", err, diff)
	}
}
