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

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
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
				return c.ChangeVolume(ctx, "pve1", volume, nil, new(bool))
			},
			want: want{http.MethodPut, path, map[string]string{"protected": "0"}},
		},
		"Notes": {
			reason: "Empty notes are sent.",
			call: func(ctx context.Context, c *Client) error {
				return c.ChangeVolume(ctx, "pve1", volume, new(""), nil)
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

// TestBackupWithoutTask checks that answers without a task are distinguished by their meaning.
func TestBackupWithoutTask(t *testing.T) {
	backUp := func(data string) error {
		_, err := fixed(t, ok(data)).client(t).BackUp(background(), vm100, BackupOptions{Storage: "nas"})
		return err
	}
	if err := backUp(`"OK"`); !errors.Is(err, ErrNotOnNode) || IsOutcomeUnknown(err) {
		t.Errorf("nothing was started for a VM of another node, got %v", err)
	}
	if err := backUp(`null`); !IsOutcomeUnknown(err) || errors.Is(err, ErrNotOnNode) {
		t.Errorf("an answer without a task may have started one, got %v", err)
	}
}

func TestTaskHead(t *testing.T) {
	pve := fixed(t, reply{status: "200 OK", body: `{"data":[{"n":2,"t":"b"},{"n":1,"t":"a"}],"total":9}`})
	got, err := pve.client(t).TaskHead(background(), UPID(strings.Trim(backupTask, `"`)), 2)
	if diff := cmp.Diff([]string{"a", "b"}, got); err != nil || diff != "" || !strings.Contains(pve.asked()[0].query, "start=0") {
		t.Errorf("%v -want, +got:\n%s", err, diff)
	}
}
