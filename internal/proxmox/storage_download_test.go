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
	"testing"
)

func TestDownloadFailure(t *testing.T) {
	const pull = "command 'skopeo copy docker://x oci-archive:/y' failed: exit code 1"
	cases := map[string]struct {
		reason string
		exit   string
		log    []string
		want   DownloadProblem
		text   string
	}{
		"Mismatch": {
			reason: "Another checksum is named.", exit: "checksum mismatch: got 'aa' != expect 'bb'",
			want: DownloadMismatch, text: "the file has the checksum aa, not bb",
		},
		"Aborting": {
			reason: "What lies there has another checksum.", exit: "checksum mismatch: got 'aa' != expect 'bb', aborting",
			want: DownloadExists, text: "another file has the name, with another checksum",
		},
		"Exists": {
			reason: "What lies there is kept.", exit: "refusing to override existing file '/var/lib/vz/import/a.qcow2'",
			want: DownloadExists, text: "another file has the name",
		},
		"NotFound": {
			reason: "What the server answered is in the log.", exit: "download failed: exit code 8",
			log:  []string{"HTTP request sent, awaiting response... 404 Not Found", "2026-01-01 10:00:00 ERROR 404: Not Found."},
			want: DownloadAnswer, text: "the server answered 404: Not Found",
		},
		"Format": {
			reason: "A file with a false extension is named.", exit: "failed to verify file: qemu-img: Could not open: Image is not in qcow2 format",
			want: DownloadFormat, text: "the file is not what its extension says: qemu-img: Could not open: Image is not in qcow2 format",
		},
		"Full": {
			reason: "A full storage is named.", exit: "download failed: exit code 3",
			log:  []string{"Cannot write to '/var/lib/vz/import/a.qcow2.tmp_dwnl.1' (No space left on device)."},
			want: DownloadFull, text: "no space is left on the storage",
		},
		"Resolve": {
			reason: "A name that is not known is named.", exit: "download failed: exit code 4",
			log:  []string{"wget: unable to resolve host address 'nosuch.example.org'"},
			want: DownloadNetwork, text: "the node cannot resolve the name nosuch.example.org",
		},
		"Connect": {
			reason: "A server that does not listen is named.", exit: "download failed: Connecting to 192.0.2.1:80... failed: Connection refused.",
			want: DownloadNetwork, text: "the node cannot connect to 192.0.2.1:80: Connection refused",
		},
		"Certificate": {
			reason: "A certificate that is not trusted is named.", exit: "download failed: exit code 5",
			log:  []string{"ERROR: cannot verify files.example.org's certificate, issued by 'CN=x':"},
			want: DownloadCertificate, text: "the certificate of files.example.org is not trusted by the node",
		},
		"Insecure": {
			reason: "A certificate that is not trusted is told by a short log.",
			exit:   "download failed: To connect to files.example.org insecurely, use `--no-check-certificate'.",
			want:   DownloadCertificate, text: "the certificate of files.example.org is not trusted by the node",
		},
		"Stopped": {
			reason: "A stopped task is no fault of the file.", exit: "got interrupted by signal",
			want: DownloadStopped, text: "the download was stopped",
		},
		"Interrupted": {
			reason: "A task whose worker was interrupted is no fault of the file.", exit: "received interrupt", want: DownloadStopped, text: "the download was stopped",
		},
		"PullAnswer": {
			reason: "What a registry answers is told.", exit: pull,
			log: []string{`time="2025-11-20T10:00:00Z" level=fatal msg="initializing source docker://docker.io/library/debian:potato: ` +
				`reading manifest potato in docker.io/library/debian: manifest unknown"`},
			want: DownloadAnswer, text: "the registry answered: manifest unknown",
		},
		"PullDenied": {
			reason: "The answer of a registry that wants a login is told.", exit: pull,
			log: []string{`time="2025-11-20T10:00:00Z" level=fatal msg="initializing source docker://ghcr.io/a/b:1: ` +
				`reading manifest 1 in ghcr.io/a/b: requested access to the resource is denied"`},
			want: DownloadAnswer, text: "the registry answered: requested access to the resource is denied",
		},
		"PullResolve": {
			reason: "A registry that has no address is named.", exit: pull,
			log: []string{`time="2025-11-20T10:00:00Z" level=fatal msg="initializing source docker://registry.example.com/a:1: ` +
				`pinging container registry registry.example.com: Get \"https://registry.example.com/v2/\": dial tcp: lookup registry.example.com: no such host"`},
			want: DownloadNetwork, text: "the node cannot reach the registry: dial tcp: lookup registry.example.com: no such host",
		},
		"PullCertificate": {
			reason: "A certificate that is not trusted is told.", exit: pull,
			log: []string{`time="2025-11-20T10:00:00Z" level=fatal msg="initializing source docker://registry.example.com/a:1: pinging container registry ` +
				`registry.example.com: Get \"https://registry.example.com/v2/\": tls: failed to verify certificate: x509: certificate signed by unknown authority"`},
			want: DownloadCertificate, text: "the certificate of the registry is not trusted by the node: certificate signed by unknown authority",
		},
		"PullFull": {
			reason: "A storage that is full is named.", exit: pull,
			log:  []string{`time="2025-11-20T10:00:00Z" level=fatal msg="writing blob: write /var/lib/vz/template/cache/a.tar.tmp.1: no space left on device"`},
			want: DownloadFull, text: "no space is left on the storage",
		},
		"PullOther": {
			reason: "Anything else is repeated.", exit: pull,
			log:  []string{"Getting image source signatures", `time="2025-11-20T10:00:00Z" level=fatal msg="writing manifest: something else"`},
			want: DownloadFailed, text: "writing manifest: something else",
		},
		"Other": {reason: "What is not known is repeated.", exit: "no decompression method found", want: DownloadFailed, text: "no decompression method found"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			problem, text := DownloadFailure(tc.exit, tc.log)
			if problem != tc.want || text != tc.text {
				t.Errorf("\n%s\nDownloadFailure(): want %s, %q, got %s, %q", tc.reason, tc.want, tc.text, problem, text)
			}
		})
	}
}

func TestDownloadProgress(t *testing.T) {
	cases := map[string]struct {
		reason string
		log    []string
		want   int
		known  bool
	}{
		"None": {reason: "A small file shows nothing.", log: []string{"downloading http://x/a to /b", "Length: 10 [text/plain]"}},
		"Middle": {
			reason: "The last line counts.",
			log:    []string{"     0K ........ ........ ........ ........  9% 38.4M 8s", " 32768K ........ ........ ........ ........ 19% 100M 6s"},
			want:   19, known: true,
		},
		"Checksum": {reason: "What is checked is there.", log: []string{" 32768K ........ 99% 100M 0s", "calculating checksum..."}, want: 100, known: true},
		"NoLength": {reason: "Without a size there are no percents.", log: []string{"     0K ........ ........ 38.4M"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got, known := DownloadProgress(tc.log); got != tc.want || known != tc.known {
				t.Errorf("\n%s\nDownloadProgress(): want %d, %t, got %d, %t", tc.reason, tc.want, tc.known, got, known)
			}
		})
	}
}
