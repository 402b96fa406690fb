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
	"context"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"path"
	"syscall"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
	"github.com/vitistack/provider-proxmox/internal/simulator/volume"
)

const (
	// downloadTimeout limits how long a download may take.
	downloadTimeout = 10 * time.Minute
	// metadataTimeout limits how long a server may take to tell of a file.
	metadataTimeout = 10 * time.Second
	// maxDownload is the size of the largest file that is taken.
	maxDownload = 1 << 30
)

// unreachable tells of a server that cannot be reached: host with port, and why.
func unreachable(address string, err error) (host, why string) {
	host = address
	if u, parseErr := url.Parse(address); parseErr == nil {
		host = u.Host
		if u.Port() == "" {
			host = net.JoinHostPort(u.Host, map[string]string{"https": "443"}[u.Scheme]+map[string]string{"http": "80"}[u.Scheme])
		}
	}
	dns := &net.DNSError{}
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return host, "Connection refused"
	case errors.As(err, &dns):
		return host, "Name or service not known"
	case errors.Is(err, context.DeadlineExceeded):
		return host, "Connection timed out"
	}
	return host, "No route to host"
}

// get fetches a file from the network of the simulator's host.
func get(ctx context.Context, verb, address string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, verb, address, nil)
	if err != nil {
		return nil, err
	}
	return http.DefaultClient.Do(req)
}

// downloadURL lets the node fetch a file into a storage.
func downloadURL(c *engine.Call) (any, error) {
	s, content, name, err := incoming(c)
	if err != nil {
		return nil, err
	}
	address := c.Str("url")
	algorithm, checksum := c.Str("checksum-algorithm"), c.Str("checksum")
	return c.Spawn("download", name, func(w *engine.Worker) error {
		w.Logf("downloading %s to %s", address, s.FilePath(content, content+"/"+name))
		file, err := download(w, address)
		if err != nil {
			return err
		}
		if err := checkFile(content, name, file, algorithm, checksum); err != nil {
			return err
		}
		return w.Do(func(st *state.State) error {
			o := w.Op(st)
			if volume.Store(o, s, content+"/"+name, fetched(w, content, name, file)) != nil {
				o.Logf("Cannot write to '%s' (No space left on device).", s.FilePath(content, content+"/"+name))
				return apierr.Errorf("download failed: No space left on device")
			}
			return nil
		})
	})
}

func download(w *engine.Worker, address string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(w.Ctx, downloadTimeout)
	defer cancel()
	resp, err := get(ctx, http.MethodGet, address)
	if err != nil {
		host, why := unreachable(address, err)
		return nil, apierr.Errorf("download failed: Connecting to %s... failed: %s.", host, why)
	}
	defer resp.Body.Close() //nolint:errcheck // Nothing can be done about it.
	if resp.StatusCode != http.StatusOK {
		return nil, apierr.Errorf("download failed: ERROR %d: %s.", resp.StatusCode, http.StatusText(resp.StatusCode))
	}
	file, err := io.ReadAll(io.LimitReader(resp.Body, maxDownload))
	if err != nil {
		return nil, apierr.Errorf("download failed: Read error (%s).", err)
	}
	return file, nil
}

// urlMetadata asks a server for the name, size and type of a file.
func urlMetadata(c *engine.Call) (any, error) {
	address, parent := c.Str("url"), c.Engine.Ctx
	return engine.Outside(func() (any, error) {
		ctx, cancel := context.WithTimeout(parent, metadataTimeout)
		defer cancel()
		resp, err := get(ctx, http.MethodHead, address)
		if err != nil {
			host, why := unreachable(address, err)
			return nil, apierr.Errorf("invalid server response: '500 Can't connect to %s (%s)'", host, why)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return nil, apierr.Errorf("invalid server response: '%s'", resp.Status)
		}
		return describeFile(resp), nil
	}), nil
}

// describeFile reads what a server tells of a file.
func describeFile(resp *http.Response) map[string]any {
	out := map[string]any{}
	if resp.ContentLength >= 0 {
		out["size"] = resp.ContentLength
	}
	if kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err == nil {
		out["mimetype"] = kind
	}
	name := path.Base(resp.Request.URL.Path)
	if _, params, err := mime.ParseMediaType(resp.Header.Get("Content-Disposition")); err == nil && params["filename"] != "" {
		name = params["filename"]
	}
	if name != "/" && name != "." {
		out["filename"] = name
	}
	return out
}
