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
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBackupConfig(t *testing.T) {
	const file = `"#first%3A 50%25\n#\n#last\nboot: order=scsi0\nide2: local:iso/a.iso,media=cdrom\nlock: backup\nparent: before\n` +
		`scsi0: local-lvm:vm-100-disk-0,size=4G\nscsi1: local-lvm:vm-100-disk-1,backup=0,size=1G\nsmbios1: uuid=u\ntags:  \nunused0: local-lvm:vm-100-disk-2\n` +
		`#qmdump#map:scsi0:drive-scsi0:local-lvm:raw:\n[before]\ncores: 8\n"`
	pve := fixed(t, ok(file))
	got, err := pve.client(t).BackupConfig(background(), "pve1", "local:backup/vzdump-qemu-100-2026_11_22-17_00_00.vma.zst")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"description": "first: 50%\n\nlast", "boot": "order=scsi0", "ide2": "local:iso/a.iso,media=cdrom", "scsi0": "local-lvm:vm-100-disk-0,size=4G",
		"smbios1": "uuid=u", "tags": "",
	}
	if diff := cmp.Diff(want, got.Values); diff != "" {
		t.Errorf("A VM gets neither what was left out of its backup nor what PVE drops: -want, +got:\n%s", diff)
	}
	sent := pve.asked()[0]
	if sent.method != http.MethodGet || sent.path != "/api2/json/nodes/pve1/vzdump/extractconfig" {
		t.Errorf("got %s %s", sent.method, sent.path)
	}
	if _, err := pve.client(t).BackupConfig(background(), "../x", "a:b"); err == nil || len(pve.asked()) != 1 {
		t.Errorf("What is no node is not asked, got %v", err)
	}
}
