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
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
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
	// metadataTimeout limits how long a server may take to return the metadata of a file.
	metadataTimeout = 10 * time.Second
	// maxDownload is the maximum size of a file.
	maxDownload = 1 << 30
)

// unreachable returns the host and port of a server that cannot be reached, and the reason.
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

// get downloads a file from the network of the simulator's host.
func get(ctx context.Context, verb, address string, insecure bool) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, verb, address, nil)
	if err != nil {
		return nil, err
	}
	if !insecure {
		return http.DefaultClient.Do(req)
	}
	client := &http.Client{Transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true, //nolint:gosec // The client asks for it.
	}}
	return client.Do(req)
}

// A transfer is the download of a file to a storage by a node.
type transfer struct {
	storage        *state.Storage
	content, name  string
	address        string
	algorithm, sum string
	compression    string
	insecure       bool
}

// downloadURL makes the node download a file to a storage.
func downloadURL(c *engine.Call) (any, error) {
	t, err := newTransfer(c)
	if err != nil {
		return nil, err
	}
	return c.Spawn("download", t.name, t.run)
}

// newTransfer performs the checks before the task.
func newTransfer(c *engine.Call) (*transfer, error) {
	t := &transfer{
		content: c.Str("content"), name: fileName(c.Str("filename")), address: c.Str("url"),
		algorithm: c.Str("checksum-algorithm"), sum: c.Str("checksum"), compression: c.Str("compression"),
		insecure: c.Has("verify-certificates") && !c.Flag("verify-certificates"),
	}
	var err error
	if t.storage, err = c.State.EnabledStorage(c.Str("storage"), c.Node); err != nil {
		return nil, err
	}
	switch {
	case !t.storage.FileBased():
		return nil, apierr.Errorf("can't upload to storage type '%s', not a file based storage!", t.storage.Type)
	case !t.storage.Holds(t.content):
		return nil, apierr.Errorf("storage '%s' is not configured for content-type '%s'", t.storage.ID, t.content)
	}
	return t, checkName(t.content, t.name)
}

// path returns the final path of the file.
func (t *transfer) path() string { return t.storage.FilePath(t.content, t.content+"/"+t.name) }

// temporary returns the path of the file until it is complete. No list shows it.
func (t *transfer) temporary(w *engine.Worker) string {
	return fmt.Sprintf("%s.tmp_dwnl.%d", t.path(), w.Task.PID)
}

// run runs the task.
func (t *transfer) run(w *engine.Worker) error {
	if t.compression != "" && t.content != "iso" {
		return apierr.Errorf("decompression not supported for %s", t.content)
	}
	w.Logf("downloading %s to %s", t.address, t.path())
	if there, err := t.existing(w); there || err != nil {
		return err
	}
	if err := w.PauseFor("download"); err != nil {
		return err
	}
	file, err := t.fetch(w)
	if err != nil {
		return err
	}
	if err := t.check(w, file); err != nil {
		return err
	}
	if file, err = t.decompress(w, file); err != nil {
		return err
	}
	if t.content == "import" && path.Ext(t.name) == ".qcow2" && !isQCOW2(file) {
		return apierr.Errorf("failed to verify file: qemu-img: Could not open '%s': Image is not in qcow2 format", t.temporary(w))
	}
	if err := t.keep(w, file); err != nil {
		return err
	}
	w.Logf("download of '%s' to '%s' finished", t.address, t.path())
	return nil
}

// existing checks for a file of the same name, which is never replaced.
func (t *transfer) existing(w *engine.Worker) (there bool, err error) {
	var v *state.Volume
	_ = w.Do(func(st *state.State) error {
		v = st.Volume(w.Task.Node, t.storage.ID+":"+t.content+"/"+t.name)
		return nil
	})
	switch {
	case v == nil:
		return false, nil
	case t.algorithm == "":
		return true, apierr.Errorf("refusing to override existing file '%s'", t.path())
	}
	if got := checksumOf(t.algorithm, v.Data); got != strings.ToLower(t.sum) {
		w.Logf("calculating checksum of existing file...")
		return true, apierr.Errorf("checksum mismatch: got '%s' != expect '%s', aborting", got, t.sum)
	}
	w.Logf("calculating checksum of existing file...OK, got correct file already, no need to download")
	return true, nil
}

// check compares the file with the checksum, if there is one.
func (t *transfer) check(w *engine.Worker, file []byte) error {
	if t.algorithm == "" {
		return nil
	}
	if got := checksumOf(t.algorithm, file); got != strings.ToLower(t.sum) {
		w.Logf("calculating checksum...")
		return apierr.Errorf("checksum mismatch: got '%s' != expect '%s'", got, t.sum)
	}
	w.Logf("calculating checksum...OK, checksum verified")
	return nil
}

// decompress decompresses the file. Of the methods that the schema accepts, it supports gz and bz2.
func (t *transfer) decompress(w *engine.Worker, file []byte) ([]byte, error) {
	var from io.Reader
	var err error
	switch t.compression {
	case "":
		return file, nil
	case "gz":
		if from, err = gzip.NewReader(bytes.NewReader(file)); err != nil {
			return nil, apierr.Errorf("command 'zcat %s' failed: exit code 1", t.temporary(w))
		}
	case "bz2":
		from = bzip2.NewReader(bytes.NewReader(file))
	default:
		return nil, apierr.Errorf("no decompression method found")
	}
	w.Logf("decompressing %s to %s.tmp_dcom.%d", t.temporary(w), t.path(), w.Task.PID)
	out, err := io.ReadAll(io.LimitReader(from, maxDownload))
	if err != nil {
		return nil, apierr.Errorf("command 'bzip2 -d -c -- %s' failed: exit code 2", t.temporary(w))
	}
	return out, nil
}

// keep stores the file under its final name.
func (t *transfer) keep(w *engine.Worker, file []byte) error {
	return w.Do(func(st *state.State) error {
		o := w.Op(st)
		if volume.Store(o, t.storage, t.content+"/"+t.name, fetched(w, t.content, t.name, file)) != nil {
			return apierr.Errorf("download failed: Cannot write to '%s' (No space left on device).", t.temporary(w))
		}
		return nil
	})
}

// wgetServer is the exit code of wget, which nodes use, for an error of the server. PVE reports the code because wget's last line is empty. Otherwise it
// reports the last line.
const wgetServer = 8

// fetch downloads the file, and logs the lines of wget.
func (t *transfer) fetch(w *engine.Worker) ([]byte, error) {
	ctx, cancel := context.WithTimeout(w.Ctx, downloadTimeout)
	defer cancel()
	at := func() string { return w.Engine.Clock.Now().Format(time.DateTime) }
	w.Logf("--%s--  %s", at(), t.address)
	resp, err := get(ctx, http.MethodGet, t.address, t.insecure)
	if err != nil {
		return nil, t.unfetched(w, err)
	}
	defer resp.Body.Close() //nolint:errcheck // Nothing can be done about it.
	w.Logf("HTTP request sent, awaiting response... %s", resp.Status)
	if resp.StatusCode != http.StatusOK {
		w.Logf("%s ERROR %d: %s.", at(), resp.StatusCode, http.StatusText(resp.StatusCode))
		return nil, apierr.Errorf("download failed: exit code %d", wgetServer)
	}
	length := "unspecified"
	if resp.ContentLength >= 0 {
		length = strconv.FormatInt(resp.ContentLength, 10)
	}
	w.Logf("Length: %s [%s]", length, resp.Header.Get("Content-Type"))
	w.Logf("Saving to: '%s'", t.temporary(w))
	file, err := readLogged(w, resp)
	if err != nil {
		return nil, apierr.Errorf("download failed: Read error at byte %d/%s (%s). Giving up.", len(file), length, err)
	}
	w.Logf("%s (100 MB/s) - '%s' saved [%d/%d]", at(), t.temporary(w), len(file), len(file))
	return file, nil
}

// unfetched returns why a server was not reached.
func (t *transfer) unfetched(w *engine.Worker, err error) error {
	host, why := unreachable(t.address, err)
	certificate := &tls.CertificateVerificationError{}
	dns := &net.DNSError{}
	switch {
	case errors.As(err, &certificate):
		name, _, _ := net.SplitHostPort(host)
		w.Logf("ERROR: cannot verify %s's certificate, issued by '':", name)
		w.Logf("  Unable to locally verify the issuer's authority.")
		return apierr.Errorf("download failed: To connect to %s insecurely, use `--no-check-certificate'.", name)
	case errors.As(err, &dns):
		return apierr.Errorf("download failed: wget: unable to resolve host address '%s'", dns.Name)
	}
	return apierr.Errorf("download failed: Connecting to %s... failed: %s.", host, why)
}

// lineBytes is the part of a file for which wget logs one line.
const lineBytes = 32 << 20

// readLogged reads a body. It logs the progress of a large one.
func readLogged(w *engine.Worker, resp *http.Response) ([]byte, error) {
	var file bytes.Buffer
	for {
		n, err := io.CopyN(&file, resp.Body, lineBytes)
		if n == lineBytes {
			line := fmt.Sprintf("%6dK ........ ........ ........ ........", (file.Len()-lineBytes)>>10)
			if resp.ContentLength > 0 {
				line += fmt.Sprintf(" %2d%%  100M 1s", int64(file.Len())*100/resp.ContentLength)
			}
			w.Logf("%s", line)
		}
		switch {
		case errors.Is(err, io.EOF):
			return file.Bytes(), nil
		case err != nil:
			return file.Bytes(), err
		case file.Len() > maxDownload:
			return file.Bytes(), errors.New("the simulator takes no file that large")
		}
	}
}

// urlMetadata requests the name, size and type of a file from a server.
func urlMetadata(c *engine.Call) (any, error) {
	address, parent := c.Str("url"), c.Engine.Ctx
	return engine.Outside(func() (any, error) {
		ctx, cancel := context.WithTimeout(parent, metadataTimeout)
		defer cancel()
		resp, err := get(ctx, http.MethodHead, address, c.Has("verify-certificates") && !c.Flag("verify-certificates"))
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

// describeFile returns the metadata of a file from a server's answer.
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
