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

package storage

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
	"github.com/vitistack/provider-proxmox/internal/simulator/volume"
)

// The media types of the manifests of a registry.
const (
	ociIndex     = "application/vnd.oci.image.index.v1+json"
	ociManifest  = "application/vnd.oci.image.manifest.v1+json"
	dockerList   = "application/vnd.docker.distribution.manifest.list.v2+json"
	dockerSimple = "application/vnd.docker.distribution.manifest.v2+json"
)

// A pull is the download of an OCI image from a registry to a storage by a node, like skopeo's.
type pull struct {
	storage   *state.Storage
	reference string
	name      string
}

// pullOCI makes the node pull an OCI image to a storage, as a container template.
func pullOCI(c *engine.Call) (any, error) {
	s, err := c.State.EnabledStorage(c.Str("storage"), c.Node)
	if err != nil {
		return nil, err
	}
	p := &pull{storage: s, reference: c.Str("reference")}
	p.name = p.reference
	if c.Has("filename") {
		p.name = c.Str("filename")
	}
	p.name = fileName(p.name) + ".tar"
	switch {
	case !s.FileBased():
		return nil, apierr.Errorf("can't upload to storage type '%s', not a file based storage!", s.Type)
	case !s.Holds("vztmpl"):
		return nil, apierr.Errorf("storage '%s' is not configured for content-type 'vztmpl'", s.ID)
	case c.State.Volumes[s.Key(c.Node, p.volume())] != nil:
		return nil, apierr.Errorf("refusing to override existing file '%s'", p.name)
	}
	return c.Spawn("ociregistrypull", p.name, p.run)
}

func (p *pull) volume() string { return "vztmpl/" + p.name }

// run runs the task. Until the file is complete, it has another name that no list shows.
func (p *pull) run(w *engine.Worker) error {
	if err := w.PauseFor("ociregistrypull"); err != nil {
		return err
	}
	temporary := fmt.Sprintf("%s.tmp.%d", p.storage.FilePath("vztmpl", p.volume()), w.Task.PID)
	archive, err := p.copy(w)
	full := false
	if err == nil {
		err = w.Do(func(st *state.State) error {
			full = volume.Store(w.Op(st), p.storage, p.volume(), fetched(w, "vztmpl", p.name, archive)) != nil
			return nil
		})
		if full {
			err = errors.Errorf("writing blob: write %s: no space left on device", temporary)
		}
	}
	if w.Ctx.Err() != nil || err == nil {
		return err
	}
	w.Logf("time=%q level=fatal msg=%q", w.Engine.Clock.Now().Format(time.RFC3339), err)
	return apierr.Errorf("command 'skopeo copy docker://%s oci-archive:%s' failed: exit code 1", p.reference, temporary)
}

// copy downloads the image from the registry as an archive.
func (p *pull) copy(w *engine.Worker) ([]byte, error) {
	ctx, cancel := context.WithTimeout(w.Ctx, downloadTimeout)
	defer cancel()
	r := registryOf(p.reference)
	manifest, kind, err := r.manifest(ctx)
	if err != nil {
		return nil, errors.Wrapf(err, "initializing source docker://%s", p.reference)
	}
	w.Logf("Getting image source signatures")
	var parts struct {
		Config ociPart   `json:"config"`
		Layers []ociPart `json:"layers"`
	}
	if err := json.Unmarshal(manifest, &parts); err != nil {
		return nil, errors.Wrapf(err, "reading manifest %s in %s", r.tag, r.String())
	}
	blobs := map[string][]byte{digestOf(manifest): manifest}
	for _, l := range parts.Layers {
		w.Logf("Copying blob %s", l.Digest)
		if blobs[l.Digest], err = r.blob(ctx, l.Digest); err != nil {
			return nil, err
		}
	}
	w.Logf("Copying config %s", parts.Config.Digest)
	if blobs[parts.Config.Digest], err = r.blob(ctx, parts.Config.Digest); err != nil {
		return nil, err
	}
	w.Logf("Writing manifest to image destination")
	return ociArchive(manifest, kind, blobs)
}

// An ociPart is an object that a manifest or an index references by its digest.
type ociPart struct {
	Digest   string `json:"digest"`
	Platform struct {
		Architecture string `json:"architecture"`
		OS           string `json:"os"`
	} `json:"platform"`
}

// A registry is the repository of an image on a host, and the tag.
type registry struct{ scheme, host, path, tag string }

// registryOf returns the registry of a reference. A reference without a host is one of Docker's registry. Registries on the host of the simulator itself
// are used without TLS, like those that a node's registries.conf marks as insecure.
func registryOf(reference string) registry {
	i := strings.LastIndex(reference, ":")
	r := registry{scheme: "https", host: "registry-1.docker.io", path: reference[:i], tag: reference[i+1:]}
	if host, rest, found := strings.Cut(r.path, "/"); found && (strings.ContainsAny(host, ".:") || host == "localhost") {
		r.host, r.path = host, rest
	} else if !found {
		r.path = "library/" + r.path
	}
	if r.host == "docker.io" {
		r.host = "registry-1.docker.io"
	}
	name, _, err := net.SplitHostPort(r.host)
	if ip := net.ParseIP(name); err == nil && (ip.IsLoopback() || name == "localhost") {
		r.scheme = "http"
	}
	return r
}

// String returns the name of the repository.
func (r registry) String() string { return r.host + "/" + r.path }

// get reads a path of the repository.
func (r registry) get(ctx context.Context, what string, accept ...string) ([]byte, string, error) {
	address := r.scheme + "://" + r.host + "/v2/" + path.Join(r.path, what)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, "", err
	}
	req.Header["Accept"] = accept
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, "", errors.Wrapf(err, "pinging container registry %s", r.host)
	}
	defer resp.Body.Close() //nolint:errcheck // Nothing can be done about it.
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusUnauthorized, http.StatusForbidden:
		return nil, "", errors.New("requested access to the resource is denied")
	case http.StatusNotFound:
		return nil, "", errors.New("manifest unknown")
	default:
		return nil, "", errors.Errorf("received unexpected HTTP status: %s", resp.Status)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxDownload))
	return text, resp.Header.Get("Content-Type"), err
}

// manifest returns the manifest of the image for the architecture of the nodes, and its media type.
func (r registry) manifest(ctx context.Context) (text []byte, kind string, err error) {
	read := func(tag string) error {
		text, kind, err = r.get(ctx, "manifests/"+tag, ociIndex, ociManifest, dockerList, dockerSimple)
		return errors.Wrapf(err, "reading manifest %s in %s", tag, r.String())
	}
	if err := read(r.tag); err != nil || kind != ociIndex && kind != dockerList {
		return text, kind, err
	}
	var index struct {
		Manifests []ociPart `json:"manifests"`
	}
	if err := json.Unmarshal(text, &index); err != nil {
		return nil, "", err
	}
	for _, m := range index.Manifests {
		if m.Platform.Architecture == "amd64" && m.Platform.OS == "linux" {
			return text, kind, read(m.Digest)
		}
	}
	return nil, "", errors.Errorf("no image found in image index for architecture %q, variant %q, OS %q", "amd64", "", "linux")
}

// blob returns a blob of the repository, and checks its digest.
func (r registry) blob(ctx context.Context, digest string) ([]byte, error) {
	text, _, err := r.get(ctx, "blobs/"+digest)
	if err == nil && digestOf(text) != digest {
		err = errors.New("digest mismatch")
	}
	return text, errors.Wrapf(err, "reading blob %s", digest)
}

func digestOf(text []byte) string {
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// ociArchive returns the image in OCI's layout, as a tar file.
func ociArchive(manifest []byte, kind string, blobs map[string][]byte) ([]byte, error) {
	index, err := json.Marshal(map[string]any{
		"schemaVersion": 2, "manifests": []map[string]any{{"mediaType": kind, "digest": digestOf(manifest), "size": len(manifest)}},
	})
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{"oci-layout": []byte(`{"imageLayoutVersion":"1.0.0"}`), "index.json": index}
	for digest, text := range blobs {
		files["blobs/"+strings.ReplaceAll(digest, ":", "/")] = text
	}
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(files[name]))}); err != nil {
			return nil, err
		}
		if _, err := w.Write(files[name]); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), w.Close()
}
