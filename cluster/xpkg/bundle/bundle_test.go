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

package bundle

import (
	"io"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

func built() time.Time { return time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC) }

func file(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }

func TestRead(t *testing.T) {
	cases := map[string]struct {
		reason string
		files  fstest.MapFS
		want   Contents
		err    string
	}{
		"MetadataFirst": {
			reason: "the metadata leads the stream, whatever its file is called",
			files: fstest.MapFS{
				"z.yaml": file("kind: Provider\n"), "crds/a.yaml": file("---\nkind: A\n"), "crds/note.md": file("no object"),
				"shown/b.yaml": file("kind: B\n---\nkind: C\n"),
			},
			want: Contents{Package: []byte("kind: Provider\n---\nkind: A\n"), Examples: []byte("kind: B\n---\nkind: C\n")},
		},
		"NoExamples": {
			reason: "a package without examples has no layer for them",
			files:  fstest.MapFS{"z.yaml": file("kind: Provider\n"), "crds/a.yaml": file("kind: A\n"), "shown/README.md": file("nothing")},
			want:   Contents{Package: []byte("kind: Provider\n---\nkind: A\n")},
		},
		"NoObject": {
			reason: "Crossplane would refuse the whole package when it is installed",
			files:  fstest.MapFS{"z.yaml": file("kind: Provider\n"), "crds/a.yaml": file("name: A\n"), "shown/b.yaml": file("kind: B\n")},
			err:    `"crds/a.yaml"`,
		},
		"NoMetadata": {
			reason: "the name of the missing file is said",
			files:  fstest.MapFS{"crds/a.yaml": file("kind: A\n")},
			err:    "z.yaml",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Read(tc.files, "z.yaml", []string{"crds"}, []string{"shown"})
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("%s: got %v", tc.reason, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestOntoMarksItsLayersTwice(t *testing.T) {
	base, err := Empty("amd64", built())
	if err != nil {
		t.Fatal(err)
	}
	img, err := Onto(base, Contents{Package: []byte("kind: Provider\n"), Examples: []byte("kind: A\n")}, built())
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Image(img); err != nil {
		t.Error(err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := img.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	for i, mark := range []string{"base", "upbound"} {
		layer := manifest.Layers[i]
		if got := layer.Annotations[annotation]; got != mark {
			t.Errorf("layer %d is annotated %q, not %q", i, got, mark)
		}
		if got := config.Config.Labels[annotation+":"+layer.Digest.String()]; got != mark {
			t.Errorf("layer %d is labelled %q, not %q", i, got, mark)
		}
	}
	if got := contents(t, img); !strings.Contains(got, "kind: Provider\n") {
		t.Errorf("the package holds %q", got)
	}
}

// TestOntoKeepsFilesAndTimes checks that a package has the exact content of the files, including comments and fields that Crossplane's Go types do not
// have, and that each of its layers has the time of the commit, so that two builds are equal.
func TestOntoKeepsFilesAndTimes(t *testing.T) {
	const text = "# What it is.\nkind: Provider\nmetadata: {name: a}\nspec:\n  later: true\n"
	var digests []string
	for range 2 {
		base, err := Empty("amd64", built())
		if err != nil {
			t.Fatal(err)
		}
		img, err := Onto(base, Contents{Package: []byte(text), Examples: []byte("kind: A\n")}, built())
		if err != nil {
			t.Fatal(err)
		}
		if got := contents(t, img); !strings.Contains(got, text) {
			t.Errorf("want the file in the package as it is, got %q", got)
		}
		config, err := img.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if len(config.History) != 2 || config.Created.Time != built() {
			t.Errorf("want two layers in a history, made at %v, got %+v of %v", built(), config.History, config.Created)
		}
		for _, h := range config.History {
			if h.Created.Time != built() || h.CreatedBy == "" {
				t.Errorf("want the time and the file of each layer, got %+v", h)
			}
		}
		digest, err := img.Digest()
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, digest.String())
	}
	if digests[0] != digests[1] {
		t.Errorf("two builds of one package differ: %v", digests)
	}
}

func contents(t *testing.T, img v1.Image) string {
	t.Helper()
	all, err := io.ReadAll(mutate.Extract(img))
	if err != nil {
		t.Fatal(err)
	}
	return string(all)
}
