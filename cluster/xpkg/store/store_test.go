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

package store

import (
	"context"
	"io"
	"log"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

func index(t *testing.T) v1.ImageIndex {
	t.Helper()
	out := v1.ImageIndex(empty.Index)
	for _, arch := range []string{"amd64", "arm64"} {
		img, err := random.Image(64, 1)
		if err != nil {
			t.Fatal(err)
		}
		out = mutate.AppendManifests(out, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}}})
	}
	return out
}

func TestLayoutGivesBackWhatItKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "image")
	for range 2 { // The second replaces the first.
		kept := index(t)
		if err := Layout(dir, kept); err != nil {
			t.Fatal(err)
		}
		found, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if same(t, kept, found); t.Failed() {
			return
		}
	}
}

func TestPush(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.WithReferrersSupport(true), registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	pushed := index(t)
	bom := Attachment{Arch: "arm64", MediaType: "application/x-test", Content: []byte("{}")}

	digest, err := Push(context.Background(), host+"/org/provider:v1", pushed, []Attachment{bom})
	if err != nil {
		t.Fatal(err)
	}
	for _, reference := range []string{digest, host + "/org/provider:v1"} {
		ref, err := name.ParseReference(reference)
		if err != nil {
			t.Fatal(err)
		}
		pulled, err := remote.Index(ref)
		if err != nil {
			t.Fatal(err)
		}
		same(t, pushed, pulled)
	}
	subject, err := descriptor(pushed, "arm64")
	if err != nil {
		t.Fatal(err)
	}
	referrers(t, host+"/org/provider@"+subject.Digest.String(), "application/x-test")
}

func same(t *testing.T, want, got v1.ImageIndex) {
	t.Helper()
	a, errA := want.Digest()
	b, errB := got.Digest()
	if a != b || errA != nil || errB != nil {
		t.Errorf("got %s (%v), want %s (%v)", b, errB, a, errA)
	}
}

func referrers(t *testing.T, reference, mediaType string) {
	t.Helper()
	ref, err := name.NewDigest(reference)
	if err != nil {
		t.Fatal(err)
	}
	found, err := remote.Referrers(ref)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := found.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(manifest.Manifests) != 1 || manifest.Manifests[0].ArtifactType != mediaType {
		t.Errorf("got referrers %+v", manifest.Manifests)
	}
}

func TestPushSaysWhatIsWrong(t *testing.T) {
	cases := map[string]struct {
		reason    string
		reference string
		arch      string
		want      string
	}{
		"NoTag":    {"a tag is never guessed", "127.0.0.1:1/org/provider", "", `cannot understand the reference "127.0.0.1:1/org/provider"`},
		"NoHost":   {"no public registry is ever meant by leaving out the host", "provider:v1", "", `cannot understand the reference "provider:v1"`},
		"NoAnswer": {"the reference that cannot be reached is named", "127.0.0.1:1/org/provider:v1", "", `cannot push "127.0.0.1:1/org/provider:v1"`},
	}
	for n, tc := range cases {
		t.Run(n, func(t *testing.T) {
			_, err := Push(context.Background(), tc.reference, index(t), nil)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: got %v", tc.reason, err)
			}
		})
	}
}
