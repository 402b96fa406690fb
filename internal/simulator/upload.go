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

package simulator

import (
	"bytes"
	"io"
	"mime"
	"mime/multipart"
	"regexp"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/wire"
)

// decodeMultipart reads the fields of an upload and returns the file.
func decodeMultipart(r *wire.Request, into schema.Values) ([]byte, error) {
	_, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return nil, errors.Wrap(err, "cannot parse the content type")
	}
	reader := multipart.NewReader(bytes.NewReader(r.Content), params["boundary"])
	var file []byte
	for {
		part, err := reader.NextPart()
		if errors.Is(err, io.EOF) {
			return file, nil
		}
		if err != nil {
			return nil, errors.Wrap(err, "cannot read the upload")
		}
		content, err := io.ReadAll(part)
		if err != nil {
			return nil, errors.Wrap(err, "cannot read the upload")
		}
		disposition := part.Header.Get("Content-Disposition")
		name, isFile := parameter(disposition, "filename")
		if !isFile {
			field, _ := parameter(disposition, "name")
			into[field] = string(content)
			continue
		}
		into["filename"] = name
		file = content
	}
}

// parameter returns a parameter of a header like pveproxy: the text between quotes, whatever its bytes are.
func parameter(header, name string) (string, bool) {
	m := regexp.MustCompile(`(?:^|[\s;])` + name + `="([^"]*)"`).FindStringSubmatch(header)
	if m == nil {
		return "", false
	}
	return m[1], true
}
