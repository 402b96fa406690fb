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
	"bufio"
	"bytes"
	"fmt"
	"mime"
	"net/http"
	"strings"
)

// statusVariant is pveproxy's answer to a content type and to a version of HTTP that it does not support.
const statusVariant = 506

const (
	// maxLines and maxHeader limit the lines and the bytes of a request's header, including the empty line at its end.
	maxLines, maxHeader = 64, 8 << 10
	// maxHead is the maximum length of a request before its body.
	maxHead = 32 << 10
)

// bounded reports whether the header of the next request is within its limits.
func bounded(r *bufio.Reader) bool {
	for want := 1; want <= maxHead; {
		if _, err := r.Peek(want); err != nil {
			return true // The error occurs when the request is read.
		}
		head, _ := r.Peek(r.Buffered())
		if ends, ok := measure(head); !ok || ends {
			return ok
		}
		want = len(head) + 1
	}
	return false
}

// measure reports whether the header ends within these bytes, and whether it is within its limits.
func measure(head []byte) (ends, ok bool) {
	head = bytes.TrimLeft(head, "\r\n")
	lines, size := 0, 0
	for _, line := range bytes.SplitAfter(head, []byte("\n"))[1:] {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break
		}
		line = bytes.TrimRight(line, "\r\n")
		if lines, size = lines+1, size+len(line); lines >= maxLines || size >= maxHeader {
			return false, false
		}
		if len(line) == 0 {
			return true, true
		}
	}
	return false, true
}

// refuseHead returns the answer to requests that pveproxy rejects before it checks credentials.
func refuseHead(r *Request) *Response {
	if r.ProtoMajor != 1 {
		return failure(statusVariant, fmt.Sprintf("http protocol version %d.%d not supported", r.ProtoMajor, r.ProtoMinor))
	}
	switch r.Method {
	case http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodOptions:
	default:
		return &Response{Status: http.StatusNotImplemented, Reason: "method '" + r.Method + "' not available"}
	}
	if len(r.TransferEncoding) > 0 {
		return failure(http.StatusNotImplemented, "chunked transfer encoding not supported")
	}
	return nil
}

// refuseBody returns the answer to requests whose body pveproxy does not read.
func refuseBody(r *Request) *Response {
	if r.ContentLength <= 0 {
		return nil
	}
	if r.Method != http.MethodPut && r.Method != http.MethodPost {
		return failure(http.StatusNotImplemented, "Unexpected content for method '"+r.Method+"'")
	}
	header := r.Header.Get("Content-Type")
	kind, _, err := mime.ParseMediaType(header)
	if kind == "multipart/form-data" && strings.HasSuffix(r.URL.Path, "/upload") {
		return nil
	}
	if r.ContentLength > maxPost {
		return failure(http.StatusNotImplemented, "for data too large")
	}
	if header == "" || (err == nil && (kind == "application/x-www-form-urlencoded" || kind == "application/json")) {
		return nil
	}
	return failure(statusVariant, "upload 'Content-Type '"+header+"' not implemented")
}
