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

package simulator_test

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
)

// newRegistry serves tools/shell:v1, and tools/broken:v1 with a wrong layer.
func newRegistry(t *testing.T) string {
	t.Helper()
	digest := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "sha256:" + hex.EncodeToString(sum[:])
	}
	const layer, config = "a layer", `{"architecture":"amd64"}`
	manifest := fmt.Sprintf(`{"schemaVersion":2,"config":{"digest":%q},"layers":[{"digest":%q}]}`, digest(config), digest(layer))
	files := map[string]string{}
	for _, name := range []string{"shell", "broken"} {
		files["/v2/tools/"+name+"/manifests/v1"] = manifest
		files["/v2/tools/"+name+"/blobs/"+digest(config)] = config
		files["/v2/tools/"+name+"/blobs/"+digest(layer)] = layer
	}
	files["/v2/tools/broken/blobs/"+digest(layer)] = "another"
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, found := files[r.URL.Path]
		if !found {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
		_, _ = w.Write([]byte(text))
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// TestPullOCI makes a node pull images from a real registry.
func TestPullOCI(t *testing.T) {
	registry := newRegistry(t)
	cases := map[string]struct {
		reason    string
		reference string
		params    []string
		exit      string
		log       string
		volume    string
	}{
		"Named": {
			reason: "An image has the name that it is given, and the extension of its format.", reference: "/tools/shell:v1", params: []string{"filename=my-shell"},
			exit: "OK", log: "Writing manifest to image destination", volume: "local:vztmpl/my-shell.tar",
		},
		"Default": {reason: "An image without a name has that of its reference.", reference: "/tools/shell:v1", exit: "OK", volume: "local:vztmpl/shell_v1.tar"},
		"Unknown": {
			reason: "Why it failed is in the log.", reference: "/tools/shell:v2", params: []string{"filename=x"},
			exit: "exit code 1", log: "reading manifest v2 in " + registry + "/tools/shell: manifest unknown",
		},
		"Broken": {
			reason: "What comes has to be what was meant.", reference: "/tools/broken:v1", params: []string{"filename=x"}, exit: "exit code 1",
			log: "digest mismatch",
		},
		"Unreached": {
			reason: "A registry that cannot be reached is named.", reference: "127.0.0.1:1/a:v1", params: []string{"filename=x"},
			exit: "exit code 1", log: "pinging container registry 127.0.0.1:1: ",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := simulatortest.NewTest(t, simulator.Options{})
			c := rootClient(t, s)
			if strings.HasPrefix(tc.reference, "/") {
				tc.reference = registry + tc.reference
			}
			if exit := c.task("POST /nodes/pve1/storage/local/oci-registry-pull", append(tc.params, "reference="+tc.reference)...); !strings.HasSuffix(exit, tc.exit) {
				t.Errorf("%s: got %q, want %q", tc.reason, exit, tc.exit)
			}
			if log := c.lastLog(t); !strings.Contains(log, tc.log) {
				t.Errorf("%s: the log lacks %q:\n%s", tc.reason, tc.log, log)
			}
			list := c.ok("GET /nodes/pve1/storage/local/content?content=vztmpl").Body
			if tc.volume != "" && !strings.Contains(list, tc.volume) || tc.volume == "" && strings.Contains(list, ".tar\"") {
				t.Errorf("%s: the storage has %s", tc.reason, list)
			}
		})
	}
}

// TestPulledArchive reads what was pulled.
func TestPulledArchive(t *testing.T) {
	s := simulatortest.NewTest(t, simulator.Options{})
	c := rootClient(t, s)
	reference := "reference=" + newRegistry(t) + "/tools/shell:v1"
	if exit := c.task("POST /nodes/pve1/storage/local/oci-registry-pull", reference, "filename=a"); exit != "OK" {
		t.Fatal(exit)
	}
	var data []byte
	s.Edit(func(st *simulator.State) {
		for key, v := range st.Volumes {
			if key.Name == "vztmpl/a.tar" {
				data = v.Data
			}
		}
	})
	var names []string
	for r := tar.NewReader(bytes.NewReader(data)); ; {
		h, err := r.Next()
		if err != nil {
			if err != io.EOF {
				t.Fatal(err)
			}
			break
		}
		names = append(names, h.Name)
	}
	if got := strings.Join(names, " "); strings.Count(got, "blobs/sha256/") != 3 || !strings.HasSuffix(got, "index.json oci-layout") {
		t.Errorf("want an image in OCI's layout, got %s", got)
	}
}

func TestPullOCIRefused(t *testing.T) {
	registry := newRegistry(t)
	cases := map[string]struct {
		reason, version, storage, reference, line string
		before                                    bool
	}{
		"Again": {
			reason: "A file that is there is not replaced, and that is told before the task.", storage: "local", reference: registry + "/tools/shell:v1", before: true,
			line: "500 refusing to override existing file 'a.tar'",
		},
		"Storage": {
			reason: "A storage of volumes takes no files.", storage: "local-lvm", reference: registry + "/tools/shell:v1",
			line: "500 can't upload to storage type 'lvmthin', not a file based storage!",
		},
		"NoTag": {reason: "A reference has a tag.", storage: "local", reference: "tools/shell", line: "400 Parameter verification failed."},
		"Before": {
			reason: "Older versions do not know it.", version: "8.4", storage: "local", reference: "tools/shell:v1",
			line: "501 Method 'POST /nodes/pve1/storage/local/oci-registry-pull' not implemented",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := rootClient(t, simulatortest.NewTest(t, simulator.Options{Version: tc.version}))
			path, params := "POST /nodes/pve1/storage/"+tc.storage+"/oci-registry-pull", []string{"reference=" + tc.reference, "filename=a"}
			if tc.before && c.task(path, params...) != "OK" {
				t.Fatal("the file that is to be there cannot be made")
			}
			if r := c.do(path, params...); r.Line != tc.line {
				t.Errorf("%s: got %q, want %q", tc.reason, r.Line, tc.line)
			}
		})
	}
}
