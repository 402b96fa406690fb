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

package wire

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// compressFrom is the size above which pveproxy compresses a body.
const compressFrom = 1024

// compressors holds the compressors between two answers. Each needs a megabyte, and its creation takes longer than its use.
//
//nolint:gochecknoglobals // They remember nothing.
var compressors = sync.Pool{New: func() any {
	z, _ := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed) // It fails only for unknown levels.
	return z
}}

// write sends a response. Only the first line of the reason is sent.
func (c *conn) write(resp *Response, req *Request, keep bool) error {
	_ = c.raw.SetWriteDeadline(time.Now().Add(readTimeout))
	content, encoding := encode(resp.Content, req)
	b := &bytes.Buffer{}
	b.WriteString("HTTP/1.1 " + itoa(resp.Status) + " " + reason(resp) + "\r\n")
	for _, h := range [][2]string{
		{"Cache-Control", "max-age=0"},
		{"Connection", connection(keep)},
		{"Date", c.server.now().UTC().Format(http.TimeFormat)},
		{"Pragma", "no-cache"},
		{"Server", "pve-api-daemon/3.0"},
		{"Location", resp.Location},
		{"Content-Encoding", encoding},
		{"Content-Type", resp.Type},
		{"Content-Length", itoa(len(content))},
	} {
		if h[1] != "" {
			b.WriteString(h[0] + ": " + h[1] + "\r\n")
		}
	}
	b.WriteString("\r\n")
	b.Write(content)
	_, err := c.stream.Write(b.Bytes())
	return err
}

func connection(keep bool) string {
	if keep {
		return "Keep-Alive"
	}
	return "close"
}

func reason(resp *Response) string {
	line, _, _ := strings.Cut(resp.Reason, "\n")
	line = strings.ReplaceAll(line, "\r", "")
	if line == "" {
		return http.StatusText(resp.Status)
	}
	return line
}

func encode(content []byte, req *Request) ([]byte, string) {
	if len(content) <= compressFrom || req == nil || !strings.Contains(req.Header.Get("Accept-Encoding"), "gzip") {
		return content, ""
	}
	b := &bytes.Buffer{}
	z := compressors.Get().(*gzip.Writer) //nolint:forcetypeassert // There is nothing else in it.
	defer compressors.Put(z)
	z.Reset(b)
	if _, err := z.Write(content); err != nil {
		return content, ""
	}
	if err := z.Close(); err != nil {
		return content, ""
	}
	return b.Bytes(), "gzip"
}
