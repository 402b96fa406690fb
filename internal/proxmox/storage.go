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
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"mime/multipart"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// A Volume of a storage.
type Volume struct {
	// ID of the volume with its storage, such as local:iso/debian.iso.
	ID string

	// Content is the type of the volume: images, iso, import, vztmpl, backup or snippets.
	Content string

	// Format of the volume, such as qcow2.
	Format string

	// Size in bytes.
	Size int64

	// VMID of the guest that owns the volume, or 0.
	VMID int

	// Changed is when the volume's file was created or replaced, in seconds of the node's clock, or 0 if the storage does not report it. For a backup it is
	// when the backup began.
	Changed int64

	// Notes of a backup, of which file storages list only the first line, whether it is Protected, and the result of its latest Verification on a backup
	// server: ok, failed or none.
	Notes        string
	Protected    bool
	Verification string
}

// File returns the name of the volume on its storage, without the folder of its content
// type: debian.iso of local:iso/debian.iso.
func (v Volume) File() string { return v.ID[strings.LastIndexAny(v.ID, ":/")+1:] }

// StorageCollection returns the configured storages of a cluster.
func StorageCollection() Collection {
	return Collection{Noun: "storage", Path: "/storage", Key: "storage"}
}

// storageRequest returns a request about a storage on a node.
func storageRequest(op, method, node, storage, path string, args ...string) (request, string) {
	r := request{
		op: op + " storage " + strconv.Quote(storage) + " of node " + strconv.Quote(node), method: method,
		path: "/nodes/{node}/storage/{storage}" + path, args: append([]string{node, storage}, args...),
	}
	if !validNode(node) || !reStorage.MatchString(storage) {
		return r, "node or storage name is not valid"
	}
	return r, ""
}

var reStorage = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9._-]*[a-zA-Z0-9]$`)

// Volumes returns the volumes of one content type on a storage that the user may see. The duration depends on the storage.
func (c StorageAPI) Volumes(ctx context.Context, node, storage, content string) ([]Volume, error) {
	r, why := storageRequest("list the content of", http.MethodGet, node, storage, "/content")
	if why != "" {
		return nil, r.refuse(why)
	}
	r.query = url.Values{"content": {content}}
	var data list[struct {
		ID           text    `json:"volid"`
		Content      text    `json:"content"`
		Format       text    `json:"format"`
		Size         integer `json:"size"`
		VMID         integer `json:"vmid"`
		Changed      integer `json:"ctime"`
		Notes        text    `json:"notes"`
		Protected    flag    `json:"protected"`
		Verification struct {
			State text `json:"state"`
		} `json:"verification"`
	}]
	if err := c.do(ctx, r, &data); err != nil {
		return nil, err
	}
	volumes := make([]Volume, 0, len(data))
	for _, d := range data {
		volumes = append(volumes, Volume{
			ID: string(d.ID), Content: string(d.Content), Format: string(d.Format), Size: int64(d.Size), VMID: int(d.VMID),
			Changed: int64(d.Changed), Notes: string(d.Notes), Protected: bool(d.Protected), Verification: string(d.Verification.State),
		})
	}
	return volumes, nil
}

// DeleteVolume starts to permanently remove a volume, such as local:iso/debian.iso. It also succeeds if the volume does not exist.
func (c StorageAPI) DeleteVolume(ctx context.Context, node, volume string) (UPID, error) {
	storage, _, _ := strings.Cut(volume, ":")
	r, why := storageRequest("delete volume "+`"`+volume+`" from`, http.MethodDelete, node, storage, "/content/{volume}", volume)
	if why != "" {
		return "", r.refuse(why)
	}
	return c.begin(ctx, r)
}

// A Download is a file that a node downloads from the network.
type Download struct {
	// URL of the file, http or https.
	URL string

	// Content is the type of the file: import, iso or vztmpl.
	Content string

	// FileName on the storage, with the extension that PVE requires for the content.
	FileName string

	// Algorithm and Checksum of the file. They are empty for no check.
	Algorithm, Checksum string

	// Compression to undo after the download, or empty for none. PVE supports that only for ISO images.
	Compression string

	// Insecure accepts any certificate.
	Insecure bool
}

func (d Download) form() map[string]string {
	f := map[string]string{"url": d.URL, "content": d.Content, "filename": d.FileName}
	if d.Checksum != "" {
		f["checksum-algorithm"], f["checksum"] = d.Algorithm, d.Checksum
	}
	if d.Compression != "" {
		f["compression"] = d.Compression
	}
	if d.Insecure {
		f["verify-certificates"] = "0"
	}
	return f
}

// DownloadURL starts to download a file to a file storage on a node. An existing file of the same name is never replaced: with a checksum, the task
// succeeds without a download if the file has it. Otherwise the task fails. Two tasks for one name at the same time both succeed, and the file of the last
// one stays. The ID of the task is the name of the file.
func (c StorageAPI) DownloadURL(ctx context.Context, node, storage string, d Download) (UPID, error) {
	r, why := storageRequest("download "+strconv.Quote(d.FileName)+" to", http.MethodPost, node, storage, "/download-url")
	if why != "" {
		return "", r.refuse(why)
	}
	r.form = d.form()
	u, err := c.begin(ctx, r)
	if err == nil && u == "" {
		return "", newCall(r, nil).unexpected()
	}
	return u, err
}

// TaskDownload and TaskPullOCI are the types of the tasks that download files.
const (
	TaskDownload = "download"
	TaskPullOCI  = "ociregistrypull"
)

// ociExtension is the extension that PVE adds to the name of a file that it pulls from a registry.
const ociExtension = ".tar"

// PullOCI starts to pull an OCI image from a registry to a file storage on a node, with the logins and certificates of the node. It becomes a container
// template of that name, which ends in .tar. An existing file of the same name is not replaced. Two tasks for one name at the same time both succeed, and
// the file of the last one stays. The ID of the task is the name of the file. PVE supports this from 9.1 on.
func (c StorageAPI) PullOCI(ctx context.Context, node, storage, reference, fileName string) (UPID, error) {
	r, why := storageRequest("pull "+strconv.Quote(reference)+" to", http.MethodPost, node, storage, "/oci-registry-pull")
	name, found := strings.CutSuffix(fileName, ociExtension)
	if why == "" && !found {
		why = "file name does not end in " + ociExtension
	}
	if why != "" {
		return "", r.refuse(why)
	}
	r.form = map[string]string{"reference": reference, "filename": name}
	u, err := c.begin(ctx, r)
	if err == nil && u == "" {
		return "", newCall(r, nil).unexpected()
	}
	return u, err
}

// nodeTaskLimit is the maximum number of tasks of one type that are read from a node.
const nodeTaskLimit = 500

// A DownloadProblem is the reason why a download failed.
type DownloadProblem string

// The problems of downloads.
const (
	// DownloadMismatch means that the file does not have the checksum.
	DownloadMismatch DownloadProblem = "ChecksumMismatch"

	// DownloadExists means that another file has the name.
	DownloadExists DownloadProblem = "AlreadyExists"

	// DownloadAnswer means that the server answered with an error.
	DownloadAnswer DownloadProblem = "ServerError"

	// DownloadNetwork means that the server cannot be reached.
	DownloadNetwork DownloadProblem = "ServerUnreachable"

	// DownloadCertificate means that the server's certificate is not trusted.
	DownloadCertificate DownloadProblem = "CertificateNotTrusted"

	// DownloadFull means that the storage has no free space.
	DownloadFull DownloadProblem = "StorageFull"

	// DownloadFormat means that the file does not match its extension.
	DownloadFormat DownloadProblem = "WrongFormat"

	// DownloadStopped means that a user stopped the task.
	DownloadStopped DownloadProblem = "Stopped"

	// DownloadFailed is any other problem.
	DownloadFailed DownloadProblem = "DownloadFailed"
)

// DownloadFailure returns why a download failed, from its exit status and the last lines of its log, and a sentence about it without its full stop.
func DownloadFailure(exit string, log []string) (DownloadProblem, string) {
	for _, f := range downloadFailures() {
		for _, text := range append([]string{exit}, log...) {
			if m := f.pattern.FindStringSubmatch(text); m != nil {
				return f.problem, scrub(f.sentence(m), nil)
			}
		}
	}
	return DownloadFailed, scrub(exit, nil)
}

// DownloadProgress returns the progress of a download in percent, from the last lines of its log. It is unknown for small files, and if the server does
// not report a size.
func DownloadProgress(log []string) (percent int, known bool) {
	for _, line := range slices.Backward(log) {
		if m := reDownloadPercent.FindStringSubmatch(line); m != nil {
			percent, err := strconv.Atoi(m[1])
			return min(percent, 100), err == nil
		}
		if reDownloadCheck.MatchString(line) {
			return 100, true
		}
	}
	return 0, false
}

// A body is the body of a request that has no form.
type body struct {
	contentType string
	content     []byte
}

// UploadISO starts to upload an ISO image to a storage on a node, under a name that ends in .iso. The volume is storage:iso/name. The task compares the
// image with its checksum. An existing image of the same name is replaced.
func (c StorageAPI) UploadISO(ctx context.Context, node, storage, name string, image []byte) (UPID, error) {
	r, why := storageRequest("upload "+strconv.Quote(name)+" to", http.MethodPost, node, storage, "/upload")
	if why != "" {
		return "", r.refuse(why)
	}
	b, err := isoBody(name, image)
	if err != nil {
		return "", r.refuse("file cannot be encoded")
	}
	r.body = b
	u, err := c.begin(ctx, r)
	if err == nil && u == "" {
		return "", newCall(r, nil).unexpected()
	}
	return u, err
}

// isoBody returns a body with the file last, as PVE requires, and with a known length, because PVE does not accept chunks.
func isoBody(name string, image []byte) (*body, error) {
	sum := sha256.Sum256(image)
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, field := range [][2]string{{"content", "iso"}, {"checksum-algorithm", "sha256"}, {"checksum", hex.EncodeToString(sum[:])}} {
		if err := w.WriteField(field[0], field[1]); err != nil {
			return nil, errors.Wrap(err, "cannot write field")
		}
	}
	file, err := w.CreateFormFile("filename", name)
	if err == nil {
		_, err = file.Write(image)
	}
	if err != nil {
		return nil, errors.Wrap(err, "cannot write file")
	}
	err = w.Close()
	return &body{contentType: w.FormDataContentType(), content: b.Bytes()}, errors.Wrap(err, "cannot end the body")
}
