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
	"strconv"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// A body is what a request has in place of a form.
type body struct {
	contentType string
	content     []byte
}

// UploadISO starts to put an ISO image onto a storage as a node sees it, by a
// name that ends in .iso: the volume is storage:iso/name. The task compares the
// image with its checksum. One that has the name already is replaced.
func (c *Client) UploadISO(ctx context.Context, node, storage, name string, image []byte) (UPID, error) {
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

// isoBody has the file last, as PVE wants it, and a known length: PVE takes no
// chunks.
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
