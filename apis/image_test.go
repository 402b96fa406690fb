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

package apis_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// imageOf returns an Image of the scope with parameters in YAML.
func (s scope) imageOf(t *testing.T, forProvider string) *unstructured.Unstructured {
	t.Helper()
	u := s.object(t, "Image", "{}")
	u.Object["spec"] = map[string]any{"forProvider": parse(t, forProvider)}
	return u
}

func TestImageAccepted(t *testing.T) {
	cases := map[string]struct{ reason, spec string }{
		"Download": {reason: "A URL and a storage are enough.", spec: `{source: {url: "https://example.com/a.qcow2"}, storages: [local]}`},
		"Selector": {reason: "Storages may be chosen.", spec: `{source: {url: "https://example.com/a.qcow2"}, storageSelector: {shared: true}}`},
		"Volume":   {reason: "A file that is there may be named.", spec: `{source: {volume: "local:import/a.qcow2"}}`},
		"Machine":  {reason: "A template may be made of a Machine.", spec: `{source: {machineRef: {name: golden}}, template: {}}`},
		"ISO": {
			reason: "An ISO image may be decompressed.",
			spec:   `{source: {url: "https://example.com/a.iso.gz", decompression: gz}, content: iso, storages: [local]}`,
		},
		"OCI": {
			reason: "An OCI image is a container template.",
			spec:   `{source: {oci: "docker.io/library/debian:trixie-slim"}, content: vztmpl, storages: [local]}`,
		},
		"OCIShort": {reason: "PVE knows the registry of a short name.", spec: `{source: {oci: "debian:13"}, content: vztmpl, storages: [local]}`},
		"OCIPort": {
			reason: "A registry may have a port.",
			spec:   `{source: {oci: "registry.example.com:5000/a/b_c/d--e:v1.2"}, content: vztmpl, storages: [local]}`,
		},
		"Container": {
			reason: "A template of containers may be downloaded.",
			spec:   `{source: {url: "https://example.com/a.tar.zst"}, content: vztmpl, storages: [local]}`,
		},
		"Refresh": {
			reason: "A list tells of newer files.",
			spec:   `{source: {url: "https://example.com/a.qcow2", checksumURL: "https://example.com/S"}, storages: [local], refresh: {schedule: "0 3 * * 1"}}`,
		},
	}
	for name, tc := range cases {
		for in, s := range scopes() {
			t.Run(name+"/"+in, func(t *testing.T) { wantAccepted(t, tc.reason, tryCreate(t.Context(), s.imageOf(t, tc.spec))) })
		}
	}
}

func TestImageRefused(t *testing.T) {
	cases := map[string]refusal{
		"NoSource": {reason: "An image comes from somewhere.", spec: `{source: {}}`, want: []string{"an image has one source"}},
		"TwoSources": {
			reason: "An image comes from one place.", spec: `{source: {url: "https://example.com/a.qcow2", volume: "local:import/a.qcow2"}, storages: [local]}`,
			want: []string{"an image has one source"},
		},
		"URLAndOCI": {
			reason: "A registry is another place.",
			spec:   `{source: {url: "https://example.com/a.tar.gz", oci: "debian:13"}, content: vztmpl, storages: [local]}`,
			want:   []string{"an image has one source"},
		},
		"Nowhere": {
			reason: "A download goes somewhere.", spec: `{source: {url: "https://example.com/a.qcow2"}}`,
			want: []string{"a download needs storages or storageSelector"},
		},
		"Both": {
			reason: "Storages are named or chosen.",
			spec:   `{source: {url: "https://example.com/a.qcow2"}, storages: [local], storageSelector: {shared: true}}`,
			want:   []string{"a download needs storages or storageSelector"},
		},
		"OCINowhere": {
			reason: "What is pulled needs a storage to go to.", spec: `{source: {oci: "debian:13"}, content: vztmpl}`,
			want: []string{"a download needs storages or storageSelector"},
		},
		"VolumeTo": {
			reason: "What is there goes nowhere.", spec: `{source: {volume: "local:import/a.qcow2"}, storages: [local]}`,
			want: []string{"they need source.url or source.oci"},
		},
		"OCIImport": {
			reason: "No disk image is made of an OCI image.", spec: `{source: {oci: "debian:13"}, storages: [local]}`,
			want: []string{"source.oci needs content vztmpl"},
		},
		"OCIISO": {
			reason: "No ISO image is made of an OCI image.", spec: `{source: {oci: "debian:13"}, content: iso, storages: [local]}`,
			want: []string{"source.oci needs content vztmpl"},
		},
		"OCITemplate": {
			reason: "No template VM is made of an OCI image.", spec: `{source: {oci: "debian:13"}, content: vztmpl, storages: [local], template: {}}`,
			want: []string{"a template is made of a disk image"},
		},
		"OCIChecksum": {
			reason: "PVE compares no checksum of what it pulls.",
			spec:   `{source: {oci: "debian:13", checksum: "md5:d41d8cd98f00b204e9800998ecf8427e"}, content: vztmpl, storages: [local]}`,
			want:   []string{"checksum, checksumURL, decompression, format and insecureSkipTLSVerify need url"},
		},
		"OCIRefresh": {
			reason: "Nothing tells of another image of the tag.",
			spec:   `{source: {oci: "debian:13"}, content: vztmpl, storages: [local], refresh: {schedule: "0 3 * * 1"}}`,
			want:   []string{"refresh needs source.checksumURL"},
		},
		"OCINoTag": {
			reason: "PVE wants a tag.", spec: `{source: {oci: "docker.io/library/debian"}, content: vztmpl, storages: [local]}`,
			want: []string{"spec.forProvider.source.oci", "should match"},
		},
		"OCIDigest": {
			reason: "PVE takes no digest.", spec: `{source: {oci: "debian@sha256:0123"}, content: vztmpl, storages: [local]}`,
			want: []string{"spec.forProvider.source.oci", "should match"},
		},
		"OCIUpper": {
			reason: "Names of repositories are in lower case.", spec: `{source: {oci: "docker.io/Debian:13"}, content: vztmpl, storages: [local]}`,
			want: []string{"spec.forProvider.source.oci", "should match"},
		},
		"Decompress": {
			reason: "PVE decompresses ISO images.", spec: `{source: {url: "https://example.com/a.qcow2.gz", decompression: gz}, storages: [local]}`,
			want: []string{"source.decompression is for content iso only"},
		},
		"Checksums": {
			reason: "A file has one checksum only.",
			spec: `{source: {url: "https://example.com/a.qcow2", checksum: "md5:d41d8cd98f00b204e9800998ecf8427e", checksumURL: "https://example.com/S"}, ` +
				`storages: [local]}`,
			want: []string{"set one of checksum and checksumURL"},
		},
		"Refresh": {
			reason: "A checksum never changes by itself.",
			spec:   `{source: {url: "https://example.com/a.qcow2"}, storages: [local], refresh: {schedule: "0 3 * * 1"}}`,
			want:   []string{"refresh needs source.checksumURL"},
		},
		"NoTemplate": {
			reason: "A copy of a Machine is a template.", spec: `{source: {machine: golden}}`, want: []string{"an image of a Machine is a template"},
		},
		"Format": {
			reason: "A format goes with its content.", spec: `{source: {url: "https://example.com/a", format: iso}, storages: [local]}`,
			want: []string{"source.format iso does not go with content import"},
		},
	}
	for name, tc := range cases {
		for in, s := range scopes() {
			t.Run(name+"/"+in, func(t *testing.T) {
				wantRefused(t, tc.reason, tryCreate(t.Context(), s.imageOf(t, tc.spec)), tc.want...)
			})
		}
	}
}

func TestImageChange(t *testing.T) {
	const url = `{source: {url: "https://example.com/a.qcow2"}, storages: [local]}`
	const oci = `{source: {oci: "debian:13"}, content: vztmpl, storages: [local]}`
	cases := map[string]change{
		"Kind": {
			reason: "An image keeps the kind of its source.", before: url, after: `{source: {volume: "local:import/a.qcow2"}}`,
			want: []string{"the kind of source cannot change"},
		},
		"ToOCI": {
			reason: "An image of a URL does not become one of a registry.",
			before: `{source: {url: "https://example.com/a.tar.gz"}, content: vztmpl, storages: [local]}`, after: oci,
			want: []string{"the kind of source cannot change"},
		},
		"Tag": {
			reason: "Another tag is another Image.", before: oci, after: `{source: {oci: "debian:14"}, content: vztmpl, storages: [local]}`,
			want: []string{"source.oci cannot change"},
		},
		"URL": {
			reason: "Another URL without a checksum would be the file of the same name.", before: url,
			after: `{source: {url: "https://example.com/b.qcow2"}, storages: [local]}`,
			want:  []string{"another url makes a new revision"},
		},
		"Content": {
			reason: "What a file is stays.", before: url, after: `{source: {url: "https://example.com/a.qcow2"}, content: iso, storages: [local]}`,
			want: []string{"content cannot change"},
		},
		"Default": {
			reason: "The default may be written.", before: url,
			after: `{source: {url: "https://example.com/a.qcow2"}, content: import, storages: [local]}`,
		},
		"Storages": {reason: "An image may go to further storages.", before: oci, after: `{source: {oci: "debian:13"}, content: vztmpl, storages: [local, nfs]}`},
	}
	for name, tc := range cases {
		for in, s := range scopes() {
			t.Run(name+"/"+in, func(t *testing.T) {
				before := s.imageOf(t, tc.before)
				before.SetName(objectName(t))
				create(t, before)
				after := before.DeepCopy()
				after.Object["spec"] = map[string]any{"forProvider": parse(t, tc.after)}
				err := kube.Update(t.Context(), after, client.DryRunAll)
				if len(tc.want) == 0 {
					wantAccepted(t, tc.reason, err)
					return
				}
				wantRefused(t, tc.reason, err, tc.want...)
			})
		}
	}
}
