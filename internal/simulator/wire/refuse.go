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
	"mime"
	"net/http"
	"strings"
)

// statusUploadType is what pveproxy answers to a body of a type that it does not read.
const statusUploadType = 506

// refuseHead returns the answer to requests that pveproxy refuses before it looks at credentials.
func refuseHead(r *Request) *Response {
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
	return failure(statusUploadType, "upload 'Content-Type '"+header+"' not implemented")
}
