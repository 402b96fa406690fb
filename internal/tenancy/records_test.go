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
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

func TestRecords(t *testing.T) {
	key := []byte("a key that users do not know at all")
	seen := func() *namespaced.Machine {
		m := &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "m", UID: "1"}}
		m.Status.AtProvider = v1alpha1.MachineObservation{VMID: new(int32(200)), UUID: "aa-bb"}
		return m
	}
	mine := Records{Key: key, Config: "ClusterProviderConfig/shared"}
	cases := map[string]struct {
		reason string
		signer Records
		change func(m *namespaced.Machine)
		by     Records
		want   int
	}{
		"Signed": {reason: "What the provider has recorded holds.", signer: mine, by: mine, want: 200},
		"Case": {
			reason: "Proxmox VE writes UUIDs as it likes.", signer: mine, by: mine, want: 200,
			change: func(m *namespaced.Machine) { m.Status.AtProvider.UUID = "AA-BB" },
		},
		"Unsigned": {
			reason: "What has no signature was not recorded by it.", signer: mine, by: mine,
			change: func(m *namespaced.Machine) { m.Status.AtProvider.RecordSignature = "" },
		},
		"OtherVM": {
			reason: "A signature is of one VM.", signer: mine, by: mine,
			change: func(m *namespaced.Machine) { m.Status.AtProvider.VMID = new(int32(201)) },
		},
		"OtherUUID": {
			reason: "A signature is of one UUID.", signer: mine, by: mine,
			change: func(m *namespaced.Machine) { m.Status.AtProvider.UUID = "cc" },
		},
		"OtherResource": {
			reason: "A signature is of one resource, also among those of one name.", signer: mine, by: mine,
			change: func(m *namespaced.Machine) { m.UID = "2" },
		},
		"OtherConfig": {
			reason: "A server of their own tells nothing of another.", signer: Records{Key: key, Config: "ProviderConfig/a/own"}, by: mine,
		},
		"OtherKey": {reason: "Who has not the key signs nothing.", signer: Records{Key: []byte("guessed"), Config: mine.Config}, by: mine},
		"NoKey":    {reason: "Without a key nothing holds.", signer: Records{}, by: Records{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m := seen()
			tc.signer.Sign(m)
			if tc.change != nil {
				tc.change(m)
			}
			vmid, uuid := tc.by.VMOf(m)
			if vmid != tc.want || (uuid != "") != (tc.want != 0) {
				t.Errorf("\n%s\nwant VM %d, got %d, %q", tc.reason, tc.want, vmid, uuid)
			}
		})
	}
	m := seen()
	of := mine
	of.Tenant = "team-a"
	of.Sign(m)
	if vmid, _ := mine.VMOf(m); vmid != 200 || mine.TenantOf(m) != "team-a" {
		t.Errorf("want VM 200 of team-a, got VM %d of %q", vmid, mine.TenantOf(m))
	}
	if mine.Sign(m); mine.TenantOf(m) != "team-a" {
		t.Errorf("want the former tenant kept by one of no tenant, got %q", mine.TenantOf(m))
	}
	m.Status.AtProvider.RecordSignature = strings.Replace(m.Status.AtProvider.RecordSignature, "dGVhbS1h", "dGVhbS1i", 1) // team-b
	if vmid, _ := mine.VMOf(m); vmid != 0 || mine.TenantOf(m) != "" {
		t.Errorf("want nothing of a record with another tenant, got VM %d of %q", vmid, mine.TenantOf(m))
	}
	if vmid, _ := mine.VMOf(&namespaced.Image{}); vmid != 0 {
		t.Error("an Image has no VM")
	}
}

func TestBackupRecords(t *testing.T) {
	mine := Records{Key: []byte("a key that users do not know at all"), Config: "ClusterProviderConfig/shared"}
	const record = `{"uuid":"u","vmid":200,"done":true,"volume":"nas:backup/a"}`
	cases := map[string]struct {
		reason string
		change func(b *namespaced.Backup)
		by     Records
		want   BackupRecord
	}{
		"Signed": {reason: "What the provider has written holds.", by: mine, want: BackupRecord{VMID: 200, UUID: "u", Volume: "nas:backup/a", Done: true}},
		"OtherVolume": {reason: "A signature is of the whole record.", by: mine, change: func(b *namespaced.Backup) {
			b.Annotations[AnnotationBackup] = strings.Replace(record, "/a", "/b", 1)
		}},
		"Unsigned":      {reason: "What has none is the user's.", by: mine, change: func(b *namespaced.Backup) { delete(b.Annotations, AnnotationBackupSignature) }},
		"OtherResource": {reason: "A signature is of one resource.", by: mine, change: func(b *namespaced.Backup) { b.UID = "2" }},
		"OtherConfig":   {reason: "A record is of one configuration.", by: Records{Key: mine.Key, Config: "ProviderConfig/a/own"}},
		"NoKey": {reason: "Without a key nothing holds.", change: func(b *namespaced.Backup) {
			b.Annotations[AnnotationBackupSignature] = Records{}.SignBackup(b, record)
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := &namespaced.Backup{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "b", UID: "1"}}
			b.Annotations = map[string]string{AnnotationBackup: record, AnnotationBackupSignature: mine.SignBackup(b, record)}
			if tc.change != nil {
				tc.change(b)
			}
			got, signed := tc.by.Backup(b)
			if vmid, _ := tc.by.VMOf(b); got != tc.want || signed != (tc.want.VMID != 0) || vmid != tc.want.VMID {
				t.Errorf("\n%s\nwant %+v, got %+v, %t, VM %d", tc.reason, tc.want, got, signed, vmid)
			}
		})
	}
	if _, signed := mine.Backup(&namespaced.Machine{}); signed {
		t.Error("a Machine is no Backup")
	}
}

func TestVolumeRecords(t *testing.T) {
	mine := Records{Key: []byte("a key that users do not know at all"), Config: "ClusterProviderConfig/shared"}
	const record = `{"vmid":200,"uuid":"u","volume":"ceph:vm-200-disk-0"}`
	cases := map[string]struct {
		reason string
		change func(v *namespaced.Volume)
		by     Records
		want   VolumeRecord
	}{
		"Signed":   {reason: "What the provider has written holds.", by: mine, want: VolumeRecord{VMID: 200, UUID: "u", Volume: "ceph:vm-200-disk-0"}},
		"Unsigned": {reason: "What has none is the user's.", by: mine, change: func(v *namespaced.Volume) { delete(v.Annotations, AnnotationVolumeSignature) }},
		"OtherRecord": {
			reason: "A signature is of the whole record.",
			by:     mine, change: func(v *namespaced.Volume) { v.Annotations[AnnotationVolume] = `{"vmid":201}` },
		},
		"OtherResource": {reason: "A signature is of one resource.", by: mine, change: func(v *namespaced.Volume) { v.UID = "2" }},
		"OfBackup": {reason: "A signature of another annotation is no use.", by: mine, change: func(v *namespaced.Volume) {
			v.Annotations[AnnotationVolumeSignature] = mine.SignBackup(v, record)
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			v := &namespaced.Volume{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "b", UID: "1"}}
			v.Annotations = map[string]string{AnnotationVolume: record, AnnotationVolumeSignature: mine.SignVolume(v, record)}
			if tc.change != nil {
				tc.change(v)
			}
			got, signed := tc.by.Volume(v)
			if vmid, _ := tc.by.VMOf(v); got != tc.want || signed != (tc.want.VMID != 0) || vmid != tc.want.VMID {
				t.Errorf("\n%s\nwant %+v, got %+v, %t, VM %d", tc.reason, tc.want, got, signed, vmid)
			}
		})
	}
	if _, signed := mine.Volume(&namespaced.Machine{}); signed {
		t.Error("a Machine is no Volume")
	}
}
