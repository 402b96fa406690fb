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

package assets

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/tools/setup-envtest/remote"
	"sigs.k8s.io/controller-runtime/tools/setup-envtest/store"
	"sigs.k8s.io/controller-runtime/tools/setup-envtest/versions"
)

// A Release is an archive of etcd, kube-apiserver and kubectl for each platform, as listed in the index of setup-envtest.
type Release struct {
	// IndexURL is the address of the index.
	IndexURL string
	// Version is the version of Kubernetes.
	Version versions.Concrete
	// Digests are the SHA-512 digests of the archives in hexadecimal, by OS/ARCH. Other platforms cannot be downloaded.
	Digests map[string]string
	// Timeout is how long the server may send no data before the download fails.
	Timeout time.Duration
}

// ControlPlaneRelease returns the release of the version that the launcher's module pins. The digests are those of the index.
func ControlPlaneRelease() Release {
	return Release{
		IndexURL: remote.DefaultIndexURL,
		Version:  versions.Concrete{Major: 1, Minor: 36, Patch: 2},
		Digests: map[string]string{
			"darwin/amd64": "b4fe9f973cd1992e3880f8b230ed32c0c243b83371591e3e3315f4404df2cdbe" +
				"f8ee94eeb9bb245b7e5feb987d5c4a76c43e0877654ab73f00d7bbc2b9984514",
			"darwin/arm64": "9278f9e5af556b2f1f2d139769c1f0d717c7b4426917fdebdba898bcb725a916" +
				"e4910d6160886194ff9be9589ea7c5c32c2b8ae0754703874b7c8ba8ddfc41ce",
			"linux/amd64": "ea743186c8a799f5cf8faf16969f86189d003cb7d130e0ac4b58789f1e5748dc" +
				"f30ebe91c837a10d5ac415383da3e10b9e64d65785c938c23e739781cfb76f08",
			"linux/arm64": "2d72ee985a8e262a3c57dc9f7f0fd891f6a8c7bf7ebaa2db6dc6d8eac8ae2818" +
				"1afe51c1f368b67756cdb40b10de9b205609e1726e5f27f7c6d824dd9c6649ac",
		},
		Timeout: 5 * time.Second,
	}
}

// item returns the entry of this platform in a store of setup-envtest.
func (r Release) item() store.Item {
	return store.Item{Version: r.Version, Platform: versions.Platform{OS: runtime.GOOS, Arch: runtime.GOARCH}}
}

// downloaded returns the folder into which Download unpacks the release.
func (p Provider) downloaded() string {
	item := p.Release.item()
	return filepath.Join(p.Cache, "envtest", "k8s", item.Platform.BaseName(item.Version))
}

// download downloads the release for this platform, checks its digest and unpacks it into the cache.
func (p Provider) download(ctx context.Context) error {
	digest, ok := p.Release.Digests[runtime.GOOS+"/"+runtime.GOARCH]
	if !ok {
		return fmt.Errorf("there is no release for %s/%s", runtime.GOOS, runtime.GOARCH)
	}
	if err := os.MkdirAll(p.Cache, 0o750); err != nil {
		return err
	}
	archive, err := os.CreateTemp(p.Cache, ".download-")
	if err != nil {
		return err
	}
	defer os.Remove(archive.Name()) //nolint:errcheck // What is left is removed with the cache.
	defer archive.Close()           //nolint:errcheck // The archive is read completely or not used.
	if err := p.receive(ctx, archive, digest); err != nil {
		return err
	}
	if _, err := archive.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return p.unpack(ctx, archive)
}

// receive writes the archive of the release to a file and fails unless the archive has the digest.
func (p Provider) receive(ctx context.Context, archive io.Writer, digest string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stalled := time.AfterFunc(p.Release.Timeout, func() {
		cancel(fmt.Errorf("%s sends nothing for %s", p.Release.IndexURL, p.Release.Timeout))
	})
	defer stalled.Stop()
	progress := writerFunc(func(b []byte) (int, error) {
		stalled.Reset(p.Release.Timeout)
		return archive.Write(b)
	})
	client := &remote.HTTPClient{Log: logr.Discard(), IndexURL: p.Release.IndexURL}
	err := client.GetVersion(ctx, p.Release.Version, versions.PlatformItem{
		Platform: p.Release.item().Platform,
		Hash:     &versions.Hash{Type: versions.SHA512HashType, Encoding: versions.HexHashEncoding, Value: digest},
	}, progress)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	return err
}

// unpack unpacks the archive of the release into the cache.
func (p Provider) unpack(ctx context.Context, archive io.Reader) error {
	cache := store.NewAt(filepath.Join(p.Cache, "envtest"))
	if err := cache.Add(logr.NewContext(ctx, logr.Discard()), p.Release.item(), archive); err != nil {
		return err
	}
	// The store removes the write permission, without which only root could remove the folder.
	if err := os.Chmod(p.downloaded(), 0o750); err != nil { //nolint:gosec // It is a folder.
		return err
	}
	if lacks := missing(p.downloaded(), ControlPlane().programs); len(lacks) > 0 {
		return errors.New("the archive lacks " + lacks[0].name)
	}
	return nil
}

// writerFunc is a function as an io.Writer.
type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }
