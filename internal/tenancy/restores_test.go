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

package tenancy

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
)

func TestRestores(t *testing.T) {
	mine := Records{Key: []byte("a key that users do not know at all"), Config: "ClusterProviderConfig/shared"}
	const volume = "nas:backup/a"
	cases := map[string]struct {
		reason, of, record string
		by                 Records
		unsigned           bool
		want               string
	}{
		"Own": {reason: "A backup of an own VM may be restored.", of: "a", by: mine, record: `{"vmid":205,"done":true,"volume":"nas:backup/a","tenant":"a"}`},
		"OtherTenant": {
			reason: "The namespace may have had another tenant.", of: "a", by: mine, record: `{"vmid":205,"done":true,"volume":"nas:backup/a","tenant":"b"}`,
			want: "Backup b, whose backup is not proven",
		},
		"NoTenant": {
			reason: "Whose VM it was of is not known.", of: "a", by: mine, record: `{"vmid":205,"done":true,"volume":"nas:backup/a"}`, want: "is not proven",
		},
		"OtherVolume": {
			reason: "A status names what users want.", of: "a", by: mine, record: `{"vmid":205,"done":true,"volume":"nas:backup/b","tenant":"a"}`, want: "is not proven",
		},
		"Begun": {
			reason: "What is not there is not restored.", of: "a", by: mine, record: `{"vmid":205,"volume":"nas:backup/a","tenant":"a"}`, want: "is not proven",
		},
		"Unsigned": {
			reason: "Records are for users to write.", of: "a", by: mine, record: `{"vmid":205,"done":true,"volume":"nas:backup/a","tenant":"a"}`,
			unsigned: true, want: "is not proven",
		},
		"OtherConfig": {
			reason: "Another cluster has another backup by this name.", of: "a", by: Records{Key: mine.Key, Config: "ProviderConfig/a/own"},
			record: `{"vmid":205,"done":true,"volume":"nas:backup/a","tenant":"a"}`, want: "is not proven",
		},
		"Denied": {
			reason: "A resource of no tenant restores nothing.", of: "x", by: mine, record: `{"vmid":205,"done":true,"volume":"nas:backup/a","tenant":""}`,
			want: "belongs to no tenant",
		},
		"Unrestricted": {reason: "Operators restore every backup.", of: "ops", unsigned: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := &namespaced.Backup{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "b", UID: "1"}}
			b.Annotations = map[string]string{AnnotationBackup: tc.record, AnnotationBackupSignature: mine.SignBackup(b, tc.record)}
			if tc.unsigned {
				delete(b.Annotations, AnnotationBackupSignature)
			}
			_, err := tenant(t, tc.of).CheckBackup(tc.by, b, volume)
			compare(t, tc.reason, err, tc.want)
		})
	}
	_, err := tenant(t, "a").CheckBackup(mine, nil, volume)
	compare(t, "What no Backup stands for is not restored.", err, "is not proven")
}

func TestRestored(t *testing.T) {
	cases := map[string]struct {
		reason string
		config map[string]string
		want   string
	}{
		"Own": {
			reason: "What a VM of the tenant has may come back.",
			config: map[string]string{
				"scsi0": "ceph:vm-205-disk-0,size=4G", "scsi1": "ceph:vm-205-disk-1,backup=0", "ide2": "ceph:vm-205-cloudinit,media=cdrom", "vmgenid": "x",
				"net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0", "ostype": "l26", "tags": "a", "ide0": "none,media=cdrom", "parent": "before",
			},
		},
		"Storage": {reason: "Disks go where they were.", config: map[string]string{"scsi0": "nfs:205/vm-205-disk-0.qcow2"}, want: "(storages): scsi0 on storage nfs"},
		"Bridge":  {reason: "Networks come back with a backup.", config: map[string]string{"net0": "virtio,bridge=vmbr9"}, want: "net0 on bridge vmbr9"},
		"Options": {
			reason: "Operators may have given it more.", config: map[string]string{"args": "-x", "hookscript": "local:snippets/x", "affinity": "0"},
			want: "option affinity; (allow.extraConfig): option args; (allow.extraConfig): option hookscript",
		},
		"Device": {reason: "A device of the node is none of the backup.", config: map[string]string{"scsi3": "/dev/sdb"}, want: "scsi3 is /dev/sdb of the node"},
		"ISO":    {reason: "A medium is none of it either.", config: map[string]string{"ide0": "nfs:iso/x.iso,media=cdrom"}, want: "(images): ide0 is nfs:iso/x.iso"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			compare(t, tc.reason, tenant(t, "a").CheckRestored(tc.config, []string{"scsi0", "ide2"}), tc.want)
		})
	}
	if err := tenant(t, "ops").CheckRestored(map[string]string{"args": "-x"}, nil); err != nil {
		t.Error(err)
	}
}
